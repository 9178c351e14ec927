#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How a recording ends: exit statuses, signals, kill -9.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
R=("$RETICLE" record -q -e cpu-clock)

"${R[@]}" -- sh -c 'exit 7'
[ $? = 7 ] || fail "exit 7: another status"
"${R[@]}" -- sh -c 'kill -KILL $$'
[ $? = 137 ] || fail "death by SIGKILL: not 137"
"${R[@]}" -- ./no-such-command 2>err
[ $? = 127 ] || fail "no such command: not 127"
grep -q "cannot run './no-such-command': No such file" err || fail "no such command: $(cat err)"
: >plain
"${R[@]}" -- ./plain 2>err
[ $? = 126 ] || fail "not executable: not 126"
"${R[@]}" -p 999999999 2>err
[ $? = 1 ] || fail "no such process: not 1"
grep -q "there is no process 999999999" err || fail "no such process: $(cat err)"
"${R[@]}" 2>err
[ $? = 2 ] || fail "no target: not 2"

# A failed start leaves the older recording where it was.
"${R[@]}" -o kept.data -- true
cp kept.data copy
"${R[@]}" -o kept.data -- ./no-such-command 2>err
cmp -s kept.data copy || fail "a failed start took the older recording"

for sig in INT TERM HUP; do
	"${R[@]}" -o sig.data -- sh -c 'while :; do :; done' &
	pid=$!
	await test -s sig.data || fail "$sig: no file"
	sleep 0.3
	kill -$sig $pid
	wait $pid
	status=$?
	[ $status -ge 128 ] || fail "$sig: status $status, the command's is over 128"
	[ "$(count sig.data SAMPLE)" -gt 10 ] || fail "$sig: samples are missing"
	"$RETICLE" evlist -i sig.data >/dev/null 2>err || fail "$sig: unreadable"
	[ -s err ] && fail "$sig: the file is not finished: $(cat err)"
	rm -f sig.data
done

# A command that does not listen: the second signal ends the waiting for it.
"${R[@]}" -o deaf.data -- sh -c 'echo $$ >child; trap "" INT TERM; while :; do :; done' &
pid=$!
await test -s deaf.data || fail "deaf command: no file"
sleep 0.5
kill -INT $pid
sleep 0.5
kill -INT $pid
wait $pid
status=$?
kill -KILL "$(cat child)"
[ $status = 130 ] || fail "deaf command: status $status after two SIGINT"
[ "$(count deaf.data SAMPLE)" -gt 10 ] || fail "deaf command: samples are missing"

# A killed recorder: what it had flushed, at least once per second, is there.
"${R[@]}" -o killed.data -- sh -c 'echo $$ >child; while :; do :; done' &
pid=$!
sleep 2.5
kill -KILL $pid
wait $pid 2>/dev/null
kill "$(cat child)"
[ "$(count killed.data SAMPLE)" -gt 100 ] || fail "kill -9: $(count killed.data SAMPLE) samples"
if command -v perf >/dev/null; then
	perf report -i killed.data --stdio >out 2>err || fail "kill -9: perf cannot read it: $(cat err)"
	grep -q '^# Samples: ' out || fail "kill -9: perf finds no samples"
fi
exit 0
