#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
# script prints what perf script prints, byte for byte, of recordings that perf makes here and now.
set -u
command -v perf >/dev/null || {
	echo "perf is not installed"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
perf record -q -e cpu-clock -o probe.data -- true >/dev/null 2>&1 || {
	echo "perf cannot record here"
	exit 77
}
# shellcheck disable=SC2016
work='i=0; while [ $i -lt 300 ]; do i=$((i + 1)); : $(echo $i); done'

# record NAME OPTIONS...: what this kernel or these privileges do not allow is left out.
recordings=0
record() {
	local name=$1
	shift
	if perf record -q -o "$name.data" "$@" -- sh -c "$work" >/dev/null 2>&1 && [ -s "$name.data" ]; then
		recordings=$((recordings + 1))
	else
		rm -f "$name.data"
	fi
}
record flat -e cpu-clock -F 999
record chains -e cpu-clock -F 999 -g
record all -a -e cpu-clock -F 199 -g
# Each event has its own period: a sample per thousand nanoseconds would be too many to compare.
record events -e cpu-clock/period=1000000/ -e page-faults/period=10/ -e context-switches/period=1/ -g
record faults -e page-faults -c 1 -d
record group -e '{cpu-clock,page-faults,task-clock}:S' -c 1000000
record registers -e cpu-clock -F 499 --user-regs=ip,sp --intr-regs=ip,ax
record switches -e cpu-clock -F 199 --switch-events -a
record tracepoint -e sched:sched_switch -e sched:sched_wakeup -g -a
record syscalls -e raw_syscalls:sys_enter -e cpu-clock
[ "$recordings" -gt 0 ] || {
	echo "no recording could be made"
	exit 77
}

failed=0
# compare FILE OPTIONS...: perf's own refusal is no case. Out of order records, which perf prints late, are left alone:
# perf says so.
compare() {
	local file=$1
	shift
	perf script -i "$file" "$@" >want 2>want.err || return 0
	grep -q 'out of order' want.err && return 0
	if ! "$RETICLE" script -i "$file" "$@" >got 2>err; then
		echo "script -i $file $*: $(cat err)"
		failed=1
	elif ! cmp -s want got; then
		echo "script -i $file $*: differs from perf"
		diff want got | head -5
		failed=1
	fi
}
for file in *.data; do
	compare "$file"
done
for file in events.data tracepoint.data; do
	[ -f "$file" ] || continue
	compare "$file" -G --ns
	compare "$file" -F comm,pid,tid,time,event,ip,sym,symoff,dso,period
	compare "$file" -F +misc
	compare "$file" -c sh --max-stack 3
done
if [ -f faults.data ]; then compare faults.data -F +addr; fi
if [ -f registers.data ]; then compare registers.data -F +iregs,+uregs; fi
# perf 6.1 looks all up that has a file; capstone does not know each instruction that perf does.
if [ -f flat.data ] && "$RETICLE" script -i flat.data -F +insn,+insnlen >ours 2>err &&
	[[ $(perf --version) == "perf version 6."* ]]; then
	perf script -i flat.data -F +insn,+insnlen >theirs 2>/dev/null
	diff theirs ours | grep '^> ' | grep -v 'ilen: 0' && {
		echo "script -F +insn: differs from perf"
		failed=1
	}
	[ "$(diff theirs ours | grep -c '^> ')" -le $(($(wc -l <ours) / 20)) ] || {
		echo "script -F +insn: many instructions are not known: $(diff theirs ours | head -3)"
		failed=1
	}
fi
if [ -f chains.data ]; then compare chains.data --show-task-events --show-mmap-events; fi
if [ -f switches.data ]; then compare switches.data --show-switch-events; fi

# The number of threads changes nothing.
for file in *.data; do
	"$RETICLE" script --threads 1 -i "$file" >one 2>/dev/null
	"$RETICLE" script --threads 3 -i "$file" >three 2>/dev/null
	cmp -s one three || {
		echo "script -i $file: one thread and three differ"
		failed=1
	}
done
exit $failed
