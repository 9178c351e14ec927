#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How a recording ends: exit statuses, signals, kill -9.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
R=("$RETICLE" record -q -e cpu-clock)

"${R[@]}" -o status.data -- sh -c 'exit 7'
[ $? = 7 ] || fail "exit 7: another status"
"${R[@]}" -o status.data -- sh -c 'kill -KILL $$'
[ $? = 137 ] || fail "death by SIGKILL: not 137"
"${R[@]}" -o status.data -- ./no-such-command 2>err
[ $? = 127 ] || fail "no such command: not 127"
grep -q "cannot run './no-such-command': No such file" err || fail "no such command: $(cat err)"
: >plain
"${R[@]}" -o status.data -- ./plain 2>err
[ $? = 126 ] || fail "not executable: not 126"
"${R[@]}" -o status.data -p 999999999 2>err
[ $? = 1 ] || fail "no such process: not 1"
grep -q "there is no process 999999999" err || fail "no such process: $(cat err)"
"${R[@]}" 2>err
[ $? = 2 ] || fail "no target: not 2"

"${R[@]}" -o status.data -e no-such-event -- true 2>err
[ $? = 2 ] || fail "unknown event: not 2"
"${R[@]}" -o status.data -e cpu-clock,, -- true 2>err
[ $? = 2 ] || fail "wrong syntax of an event: not 2"
"${R[@]}" --dry-run -- sh -c 'exit 7' || fail "--dry-run: status $?"
"${R[@]}" --dry-run -c 100B -- true || fail "-c 100B: status $?"
"${R[@]}" --dry-run -c 18446744073709551617 -- true 2>err && fail "-c over 64 bits: no error"

# A failed start leaves the older recording where it was.
"${R[@]}" -o kept.data -- true
cp kept.data copy
"${R[@]}" -o kept.data -- ./no-such-command 2>err
cmp -s kept.data copy || fail "a failed start took the older recording"

for sig in INT TERM HUP; do
	"${R[@]}" -o sig.data -- sh -c "$BURN; : >burnt; while :; do :; done" &
	pid=$!
	await test -e burnt || fail "$sig: the command does not run"
	kill -$sig $pid
	wait $pid
	status=$?
	[ $status -ge 128 ] || fail "$sig: status $status, the command's is over 128"
	[ "$(count sig.data SAMPLE)" -gt 10 ] || fail "$sig: samples are missing"
	"$RETICLE" evlist -i sig.data >/dev/null 2>err || fail "$sig: unreadable"
	[ -s err ] && fail "$sig: the file is not finished: $(cat err)"
	rm -f sig.data burnt
done

# Under nohup a hangup ends nothing.
(
	trap '' HUP
	exec "${R[@]}" -o hup.data -- sh -c ': >started; until [ -e "$0" ]; do sleep 0.05; done; exit 5' "$PWD/hung_up"
) &
pid=$!
await test -e started || fail "ignored SIGHUP: the command does not run"
kill -HUP $pid
sleep 0.2
: >hung_up
wait $pid
status=$?
[ $status = 5 ] || fail "ignored SIGHUP: status $status"

# A FIFO that nobody reads: waiting for its reader can be interrupted.
mkfifo fifo
"${R[@]}" -o fifo -- true 2>err &
pid=$!
await pgrep -P $pid >/dev/null || fail "FIFO: the recorder does not run"
sleep 0.2
kill -TERM $pid
await eval "! kill -0 $pid 2>/dev/null" || fail "FIFO without a reader: SIGTERM does not end the waiting"

# A command that does not listen: the second signal ends the waiting for it.
"${R[@]}" -o deaf.data -- sh -c 'trap ": >heard" TERM; eval "$BURN"; echo $$ >child; while :; do :; done' &
pid=$!
await test -s child || fail "deaf command: it does not run"
kill -TERM $pid
await test -e heard || fail "deaf command: the signal is not passed on"
kill -TERM $pid
wait $pid
status=$?
kill -KILL "$(cat child)"
[ $status = 143 ] || fail "deaf command: status $status after two SIGTERM"
[ "$(count deaf.data SAMPLE)" -gt 10 ] || fail "deaf command: samples are missing"

# A killed recorder: what it had flushed, at least once per second, is there.
rm -f child
"${R[@]}" -o killed.data -- sh -c 'echo $$ >child; while :; do :; done' &
pid=$!
await has_more killed.data SAMPLE 100 || fail "kill -9: nothing was flushed"
kill -KILL $pid
wait $pid 2>/dev/null
kill "$(cat child)"
[ "$(count killed.data SAMPLE)" -gt 100 ] || fail "kill -9: $(count killed.data SAMPLE) samples"
if command -v perf >/dev/null; then
	perf report -i killed.data --stdio >out 2>err || fail "kill -9: perf cannot read it: $(cat err)"
	grep -q '^# Samples: ' out || fail "kill -9: perf finds no samples"
fi

# Tracepoints and compressed data, for which perf needs features, killed at any moment after the file was begun.
killed_any_time() {
	local what=$1 i
	shift
	for i in 0.02 0.1 0.3 samples; do
		rm -f any.data*
		"$RETICLE" record -q -o any.data "$@" -- sh -c 'while :; do :; done' 2>err &
		pid=$!
		await test -s any.data || fail "$what: not recorded: $(cat err)"
		if [ $i = samples ]; then
			await has_more any.data SAMPLE 100 2>/dev/null || fail "$what: nothing was flushed"
		else
			sleep $i
		fi
		child=$(pgrep -P $pid)
		kill -KILL $pid
		wait $pid 2>/dev/null
		kill -KILL $child
		"$RETICLE" report -i any.data >ours 2>err || fail "$what, killed ($i): $(cat err)"
		grep -q 'did not finish this file' err || fail "$what, killed ($i): nothing said: $(cat err)"
		[ "$(wc -l <err)" = 1 ] || fail "$what, killed ($i): $(cat err)"
		"$RETICLE" dump -i any.data >/dev/null 2>&1 || fail "$what, killed ($i): dump"
		command -v perf >/dev/null || continue
		if ! perf report -i any.data --stdio >theirs 2>err; then
			grep -q 'has no samples' err || fail "$what, killed ($i): perf cannot read it: $(cat err)"
		fi
		perf script -i any.data >/dev/null 2>err || fail "$what, killed ($i): perf script: $(cat err)"
		theirs=$(perf script -i any.data -F time 2>/dev/null | wc -l)
		[ "$theirs" = "$(count any.data SAMPLE 2>/dev/null)" ] ||
			fail "$what, killed ($i): perf has another number of samples"
	done
}
killed_any_time "compressed" -z -e cpu-clock -F 4000
if can_trace; then
	killed_any_time "tracepoints" -e sched:sched_switch -e sched:sched_stat_runtime -a
fi
end
