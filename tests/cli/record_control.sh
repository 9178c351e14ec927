#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record --control: perf's commands, answered as perf does.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
mkfifo ctl ack || skip "no FIFOs here"
exec {ctl}<>ctl {ack}<>ack

# Says $1, and expects answer $2 (10 seconds to give it; none within half a second where none is due).
say() {
	local answer="" wait=10
	[ -n "$2" ] || wait=0.5
	echo "$1" >&"$ctl"
	read -r -t $wait -u "$ack" answer
	[ "$answer" = "$2" ] || fail "'$1' is answered '$answer': $(cat log)"
}
# The same words for both recorders. Events are off at first, and the program changes meanwhile.
session() {
	local file=$1 pid status
	shift
	rm -f child
	# shellcheck disable=SC2016 # for the program
	"$@" -D -1 -e cpu-clock:u -o "$file" --control "$how" -- timeout 60 sh -c \
		'echo $$ >child; while :; do :; done' >log 2>&1 &
	pid=$!
	say ping ack
	await test -s child || fail "the program does not run: $(cat log)"
	say enable ack
	sh -c "$UNTIL_BUSY" "$(cat child)"
	say disable ack
	say 'evlist -v' ack
	say snapshot ack
	say frobnicate ''
	say 'enable cpu-clock:u' ack
	sh -c "$UNTIL_BUSY" "$(cat child)"
	say 'disable cpu-clock:u' ack
	say 'enable nix' ack
	printf 'ping\nping\n' >&"$ctl"
	say ping ack
	read -r -t 10 -u "$ack" _ || fail "two commands at once: not both are answered"
	read -r -t 10 -u "$ack" _ || fail "two commands at once: not both are answered"
	# With a NUL, as clients in C write it; without an end; and the answer is of five bytes in any case.
	head -c 1 <&"$ack" >/dev/null
	for command in 'ping\n\0' 'ping\0' ping; do
		# shellcheck disable=SC2059 # they are formats
		printf "$command" >&"$ctl"
		timeout 10 head -c 5 <&"$ack" >answer || fail "'$command' is not answered: $(cat log)"
		printf 'ack\n\0' | cmp -s - answer || fail "'$command' is answered: $(od -c answer)"
	done
	say stop ack
	wait "$pid"
	status=$?
	[ $status = 143 ] || fail "status $status: the command is told to end (143): $(cat log)"
	grep -q '^cpu-clock:u: type: 1, size: ' log || fail "evlist -v: $(cat log)"
}
for how in fifo:ctl,ack "fd:$ctl,$ack"; do
	session ours.data "$RETICLE" record
	grep -q 'no snapshot to take' log || fail "snapshot: $(cat log)"
	grep -q "'frobnicate' is not a command" log || fail "frobnicate: $(cat log)"
	grep -q "no event 'nix' to enable" log || fail "enable nix: $(cat log)"
	# Mappings that were made while events were off are known.
	"$RETICLE" script -i ours.data -F comm,ip,dso >out
	[ "$(wc -l <out)" -gt 100 ] || fail "$how: $(wc -l <out) samples"
	[ "$(grep -c unknown out)" -lt 5 ] || fail "$how: $(grep unknown out | head -3)"
	# Between the two: not a sample for a while.
	"$RETICLE" script --json -i ours.data -F time | tr -dc '0-9\n' |
		awk 'NR > 1 && $1 - last > 450e6 { n++ } { last = $1 } END { exit !n }' ||
		fail "$how: samples while events were disabled"
done
if command -v perf >/dev/null && [[ $(perf --version) == "perf version 6.1."* ]]; then
	session theirs.data perf record
fi

# A delay of a millisecond, and what is there to read before it: the others go on all the same; off is off.
late() {
	echo "$1" >&"$ctl"
	"$RETICLE" record -q -D 1 -e cpu-clock:u,task-clock:u -o late.data --control fifo:ctl -- sh -c "$BURN" ||
		fail "-D, '$1': status $?"
	"$RETICLE" script -i late.data -F event 2>err >out || fail "-D, '$1': $(cat err)"
	sort -u out | tr -d ' :\n' | grep -qx "$2" || fail "-D, '$1': samples of $(sort out | uniq -c), not of $2"
}
late 'enable cpu-clock:u' cpu-clockutask-clocku
late 'disable cpu-clock:u' task-clocku
late ping cpu-clockutask-clocku
echo disable >&"$ctl"
"$RETICLE" record -q -D 1 -e cpu-clock:u -o late.data --control fifo:ctl -- sh -c "$BURN" ||
	fail "-D, disable: status $?"
[ "$(count late.data SAMPLE)" = 0 ] || fail "-D, disable: $(count late.data SAMPLE) samples"

# Without a command, by stop; whatever else comes.
head -c 9000 /dev/zero | tr '\0' x >&"$ctl"
"$RETICLE" record -q -p $$ -e cpu-clock -o p.data --control "fifo:ctl" 2>log &
pid=$!
printf '\nping\n\n  stop\n' >&"$ctl"
wait $pid || fail "-p: status $?: $(cat log)"
read -r -t 0.2 -u "$ack" _ && fail "an answer where none was asked for"
# Who is at the other end may go.
"$RETICLE" record -q -e cpu-clock -o p.data --control fd:9 -- sleep 0.2 9< <(echo ping) || fail "closed: status $?"

timeout 60 "$RETICLE" record -q -p $$ -e cpu-clock -o p.data --control fd:9 9< <(printf stop) ||
	fail "the last command has no end: status $?"

refused() {
	"$RETICLE" record -e cpu-clock -o no.data --control "$1" -- touch ran 2>err
	[ $? = 2 ] || fail "--control $1: not status 2"
	grep -q -- "--control: $2" err || fail "--control $1: $(cat err)"
	[ -e ran ] && fail "--control $1: the command ran"
}
refused ctl "'ctl' is neither"
refused fifo: "'fifo:' is neither"
refused fd:x "'x' is not the number"
refused fd:999 'descriptor 999 is not open'
refused fd:9 'descriptor 9 cannot be waited for' 9</dev/null
refused fd:9,8 'descriptor 9 cannot be waited for' 9<log 8>out
refused fd:9,19 'descriptor 19 is not open' 9<ctl
refused fifo:nix "cannot open 'nix'"
refused fifo:log "'log' is not a FIFO"
refused fifo:ctl,log "'log' is not a FIFO"
exit 0
