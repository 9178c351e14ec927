#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# For the same options, record opens events with the attrs that perf's record uses.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
command -v perf >/dev/null || skip "perf is not installed"
case $(perf --version) in
"perf version 6.1."*) ;;
*) skip "attrs are compared with perf 6.1, this is $(perf --version)" ;;
esac
need_recording
need_root

compare() {
	perf record -B -N -o theirs.data "$@" -- true >/dev/null 2>&1 || fail "perf record $*: status $?"
	"$RETICLE" record -q -o ours.data "$@" -- true 2>err || fail "record $*: $(cat err)"
	perf evlist -v -i theirs.data >theirs
	perf evlist -v -i ours.data >ours 2>err || fail "record $*: perf evlist: $(cat err)"
	# When cycles cannot be had, perf leaves exclude_guest on the clock that takes their place, or not, as the
	# processor's maker is; the clock does not look at it.
	sed -E -i '/^cpu-clock:[a-z]*pppH:/{s/pppH:/ppp:/;s/, exclude_guest: 1//}' theirs
	diff theirs ours >differ || fail "record $*: $(cat differ)"
}
# perf waits for most of its second per recording, so three are made at a time, each in a directory of its own.
made=0 running=0
same() {
	mkdir "same.$((++made))"
	(cd "same.$made" && compare "$@") &
	((++running < 3)) || finish_one
}
finish_one() {
	wait -n || exit 1 # it has said why
	running=$((running - 1))
}
# Periods are long: the clock of a whole machine at one of a microsecond keeps the machine from doing anything else.
for target in "" -a "-p $$" "-t $$" "-C 0" "-p $$ -D 5" "--per-thread"; do
	# shellcheck disable=SC2086 # words
	same -e cpu-clock $target
done
for options in "-g" "-g -a" "-c 100000" "-F 99 -i" "-T" "--sample-cpu" "-d" "--phys-data" "-k monotonic" "-P" "-R" \
	"-W" "-s" "-n" "-n -c 1000000" "--call-graph dwarf" "--call-graph dwarf,4096 --user-callchains" \
	"--call-graph fp,16" "--user-callchains -g" "--kernel-callchains -g" "--all-user" "--all-kernel" \
	"--namespaces" "--all-cgroups" "--switch-events" "--switch-events -a" "--no-bpf-event" "--buildid-mmap" \
	"-F max" "-D 5" "-a -s" "-a -n" "-i -a" "-a -F 99" "-a -c 1000000" "-a -P -c 100000 --all-cgroups" "-a -R -W" \
	"-a --call-graph dwarf" "-a --all-user" "-a -D 5" "-m 16" "--user-regs" "--user-regs=ax,IP -a" "-I" \
	"-Iax,r15 -g" "--user-regs=ax --call-graph dwarf -a" "--code-page-size" "--data-page-size -d -a" \
	"--transaction" "--transaction --intr-regs -D 5"; do
	# shellcheck disable=SC2086 # words
	same $options
done
for options in "-g -d" "-a -P -c 1000000" "-D 5 --all-user" "--per-thread"; do
	# shellcheck disable=SC2086
	same -e cpu-clock,page-faults $options
done
same -e '{cpu-clock,page-faults}'
same -e '{cpu-clock,page-faults}:S'
same -a -e '{cpu-clock,page-faults}:S'
same -e cpu-clock:S
same -e page-faults -c 1 -d
same -e mem:0x1000:rw
same -e cpu-clock/call-graph=no/,page-faults -g
same -e cpu-clock/period=1000000/,page-faults/freq=100/ -F 99
same -I --user-regs=sp -e '{cpu-clock,page-faults}:S'
least=70
if can_trace; then
	same -e sched:sched_switch
	same -a -e cpu-clock,sched:sched_switch
	same -e sched:sched_switch -F 99
else
	least=67
fi

while ((running)); do finish_one; done
[ "$made" -gt "$least" ] || fail "only $made recordings were compared"
end
