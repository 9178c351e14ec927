#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each kind of target, and that threads, children and execs are followed.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
R=("$RETICLE" record -q -e cpu-clock -F 1000)

"${R[@]}" -o cmd.data -- timeout 0.3 sh -c 'while :; do :; done'
[ $? = 124 ] || fail "command: its exit status is not passed on"
[ "$(count cmd.data SAMPLE)" -gt 30 ] || fail "command: $(count cmd.data SAMPLE) samples"
"$RETICLE" dump -i cmd.data --type COMM | grep -q ' sh$\| dash$\| bash$' || fail "command: the exec of a child is not recorded"
[ "$(count cmd.data FORK)" -ge 1 ] || fail "command: no FORK of a child"

"${R[@]}" -i -o noinherit.data -- timeout 0.3 sh -c 'while :; do :; done'
[ "$(count noinherit.data SAMPLE)" -lt 50 ] || fail "-i: children are recorded"

sh -c 'while :; do :; done' &
BUSY=$!
trap 'kill $BUSY' EXIT
"${R[@]}" -o pid.data -p $BUSY -- sleep 0.3 || fail "-p: status $?"
[ "$(count pid.data SAMPLE)" -gt 20 ] || fail "-p: no samples"
"$RETICLE" dump -i pid.data --type SAMPLE | grep -vq "tid $BUSY/$BUSY\|$BUSY" && fail "-p: samples of others"
[ "$(count pid.data MMAP2)" -ge 1 ] || fail "-p: no mappings of a process that runs"
"${R[@]}" -o tid.data -t $BUSY -- sleep 0.3 || fail "-t: status $?"
[ "$(count tid.data SAMPLE)" -gt 20 ] || fail "-t: no samples"
"${R[@]}" --per-thread -o pt.data -p $BUSY -- sleep 0.3 || fail "--per-thread: status $?"
[ "$(count pt.data SAMPLE)" -gt 20 ] || fail "--per-thread: no samples"

# An ended target ends the recording.
sleep 0.3 &
timeout 10 "${R[@]}" -o ended.data -p $! || fail "-p of a process that ends: status $?"

# Late start: the busy loop runs all the time, samples come in the last part only.
"${R[@]}" -D 400 -o late.data -- timeout 0.6 sh -c 'while :; do :; done'
n=$(count late.data SAMPLE)
if [ "$n" -lt 20 ] || [ "$n" -gt 400 ]; then
	fail "-D 400: $n samples"
fi
[ "$(count late.data MMAP2)" -ge 1 ] || fail "-D: mappings of before the start are missing"

if [ "$(id -u)" = 0 ]; then
	"${R[@]}" -a -o all.data -- sleep 0.3 || fail "-a: status $?"
	[ "$(count all.data SAMPLE)" -gt 20 ] || fail "-a: no samples"
	"$RETICLE" dump -i all.data --type FORK | grep -q " pid 1 tid 1 " || fail "-a: process 1 is not in /proc's side-band"
	"${R[@]}" -C 0 -o cpu.data -- sleep 0.3 || fail "-C: status $?"
	"$RETICLE" dump -i cpu.data --type SAMPLE | grep -q 'cpu [1-9]' && fail "-C 0: samples of other CPUs"
	"${R[@]}" -C 9999 -o none.data -- true 2>err && fail "-C 9999: no error"
	grep -q "CPU 9999" err || fail "-C 9999: $(cat err)"
fi
exit 0
