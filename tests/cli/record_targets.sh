#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each kind of target, and that threads, children and execs are followed.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
R=("$RETICLE" record -q -e cpu-clock -F 1000)

"${R[@]}" -o cmd.data -- sh -c 'sh -c "$BURN"; exit 7'
[ $? = 7 ] || fail "command: its exit status is not passed on"
[ "$(count cmd.data SAMPLE)" -gt 30 ] || fail "command: $(count cmd.data SAMPLE) samples"
"$RETICLE" dump -i cmd.data --type COMM | grep -q ' sh$\| dash$\| bash$' ||
	fail "command: the exec of a child is not recorded"
[ "$(count cmd.data FORK)" -ge 1 ] || fail "command: no FORK of a child"

"${R[@]}" -i -o noinherit.data -- sh -c 'sh -c "$BURN"; exit 0'
[ "$(count noinherit.data SAMPLE)" -lt 50 ] || fail "-i: children are recorded"

sh -c 'while :; do :; done' &
BUSY=$!
trap 'kill $BUSY' EXIT
"${R[@]}" -o pid.data -p $BUSY -- sh -c "$UNTIL_BUSY" $BUSY || fail "-p: status $?"
[ "$(count pid.data SAMPLE)" -gt 20 ] || fail "-p: no samples"
"$RETICLE" dump -i pid.data --type SAMPLE | grep -vq "tid $BUSY/$BUSY\|$BUSY" && fail "-p: samples of others"
[ "$(count pid.data MMAP2)" -ge 1 ] || fail "-p: no mappings of a process that runs"
"${R[@]}" -o tid.data -t $BUSY -- sh -c "$UNTIL_BUSY" $BUSY || fail "-t: status $?"
[ "$(count tid.data SAMPLE)" -gt 20 ] || fail "-t: no samples"
"${R[@]}" --per-thread -o pt.data -p $BUSY -- sh -c "$UNTIL_BUSY" $BUSY || fail "--per-thread: status $?"
[ "$(count pt.data SAMPLE)" -gt 20 ] || fail "--per-thread: no samples"

# An ended target ends the recording.
await test -s ended.data &
timeout 10 "${R[@]}" -o ended.data -p $! || fail "-p of a process that ends: status $?"

# Late start: none of what ends before it, and the rest of what does not.
"${R[@]}" -D 20000 -o never.data -- sh -c "$BURN"
has_more never.data SAMPLE 0 && fail "-D 20000: samples of before the start"
TICKS=60 "${R[@]}" -D 200 -o late.data -- sh -c "$BURN"
has_more late.data SAMPLE 20 || fail "-D 200: $(count late.data SAMPLE) samples"
[ "$(count late.data MMAP2)" -ge 1 ] || fail "-D: mappings of before the start are missing"

if [ "$(id -u)" = 0 ]; then
	"${R[@]}" -a -o all.data -- sh -c "$UNTIL_BUSY" $BUSY || fail "-a: status $?"
	[ "$(count all.data SAMPLE)" -gt 20 ] || fail "-a: no samples"
	"$RETICLE" dump -i all.data --type FORK | grep -q " pid 1 tid 1 " ||
		fail "-a: process 1 is not in /proc's side-band"
	"${R[@]}" -C 0 -o cpu.data -- sleep 0.1 || fail "-C: status $?"
	"$RETICLE" dump -i cpu.data --type SAMPLE | grep -q 'cpu [1-9]' && fail "-C 0: samples of other CPUs"
	"${R[@]}" -C 9999 -o none.data -- true 2>err && fail "-C 9999: no error"
	grep -q "CPU 9999" err || fail "-C 9999: $(cat err)"
fi
if can_trace; then
	# shellcheck disable=SC2016 # the recorder is what runs it
	show='echo $PPID; sleep 0.1'
	own() {
		local pid

		pid=$("$RETICLE" record -q -a -e raw_syscalls:sys_enter "$@" -o who.data -- sh -c "$show") ||
			fail "$*: status $?"
		"$RETICLE" script -i who.data -F pid | grep -cw "$pid"
	}
	[ "$(own)" -gt 0 ] || fail "-a -e raw_syscalls:sys_enter: no samples of the recorder"
	[ "$(own --exclude-perf)" = 0 ] || fail "--exclude-perf: samples of the recorder"
	[ "$(own --filter 'id >= 0' --exclude-perf)" = 0 ] ||
		fail "--exclude-perf with a filter: samples of the recorder"
fi
"$RETICLE" record -e cpu-clock --exclude-perf -o no.data -- true 2>err
[ $? = 2 ] || fail "--exclude-perf of a clock: not status 2"
grep -q "'cpu-clock' is not one" err || fail "--exclude-perf of a clock: $(cat err)"
end
