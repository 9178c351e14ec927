#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How a recording with the virtual PMU ends: exit statuses, signals, kill -9 of either side, what cannot be run.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program cc
build_busy
build ender <<-'C'
	#include <signal.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <unistd.h>
	volatile unsigned long sum;
	static void work(int n) { for (int i = 0; i < n; i++) sum += (unsigned long)i * sum; }
	static void caught(int sig) { work(1000000); _exit(sig + 1); }
	int main(int argc, char **argv)
	{
		int sig = atoi(argv[1]);
		if (argc > 2)
			signal(sig, caught);
		work(1000000);
		if (sig == SIGSEGV)
			*(volatile int *)8 = 1;
		kill(getpid(), sig);
		pause();
	}
C
R=("$RETICLE" record -q --pmu=sim -c 100000)
enough() {
	"$RETICLE" evlist -i "$1" >/dev/null 2>err || fail "$2: unreadable: $(cat err)"
	[ -s err ] && fail "$2: $(cat err)"
	[ "$(count "$1" SAMPLE)" -ge "$3" ] || fail "$2: $(count "$1" SAMPLE) samples"
}

# Whatever ends the program, its last samples are there. QEMU's own words on fatal signals are let through.
ulimit -c 0
for sig in 6 9 11 15; do
	"${R[@]}" -o end.data -- ./ender $sig 2>/dev/null
	status=$?
	[ $status = $((128 + sig)) ] || fail "signal $sig: status $status"
	enough end.data "signal $sig" 5
done
"${R[@]}" -o end.data -- ./ender 15 caught
[ $? = 16 ] || fail "caught signal: status $?"
enough end.data "caught signal" 10
"$RETICLE" report -i end.data --no-children | grep -q 'work' || fail "caught signal: no work in it"

# Killed from outside, in the midst of things.
"${R[@]}" --pmu=sim,ids=real -o killed.data -- ./busy 100000 >/dev/null &
pid=$!
await has_more killed.data SAMPLE 20 || fail "SIGKILL of the program: nothing comes"
pkill -KILL -P $pid
wait $pid
status=$?
[ $status = 137 ] || fail "SIGKILL of the program: status $status"
enough killed.data "SIGKILL of the program" 20

# Signals to the recorder end the program, and keep what was recorded.
for sig in INT TERM HUP; do
	"${R[@]}" -c 20000 -o sig.data -- ./busy 100000 >/dev/null &
	pid=$!
	await has_more sig.data SAMPLE 10 || fail "$sig: nothing comes"
	child=$(pgrep -P $pid)
	kill -$sig $pid
	wait $pid
	status=$?
	[ $status -ge 128 ] || fail "$sig: status $status"
	await eval "! kill -0 $child 2>/dev/null" || fail "$sig: the program runs on"
	enough sig.data "$sig" 10
	rm -f sig.data
done

# Ctrl-C reaches the program, too, which may have a handler.
cat >handler.sh <<'E'
trap 'echo handled; exit 33' INT
echo ready
while :; do :; done
E
setsid env --default-signal=INT "${R[@]}" -c 1000000 -o sig.data -- sh handler.sh >handled 2>err &
pid=$!
await grep -q ready handled || fail "Ctrl-C: nothing runs: $(cat err)"
kill -INT -- -$pid
wait $pid
[ "$?:$(tail -1 handled)" = 33:handled ] || fail "Ctrl-C: the program's handler did not run: $(cat handled err)"

# One that ignores it is told to end, and a second Ctrl-C does not wait.
cat >ignores.sh <<'E'
trap '' INT
trap 'echo told; exit 34' TERM
echo ready
while :; do :; done
E
for times in 1 2; do
	rm -f ignored # else what the one before has said is taken for its own
	setsid env --default-signal=INT "${R[@]}" -c 1000000 -o sig.data -- sh ignores.sh >ignored 2>err &
	pid=$!
	await grep -q ready ignored || fail "Ctrl-C: nothing runs: $(cat err)"
	kill -INT -- -$pid
	[ $times = 1 ] || { sleep 0.1; kill -INT -- -$pid; }
	wait $pid
	status=$?
	await grep -q told ignored || fail "Ctrl-C $times times: the program is not told to end: $(cat ignored err)"
	[ $status = $((times == 1 ? 34 : 130)) ] || fail "Ctrl-C $times times: status $status"
done

# A killed recorder leaves a file; the program runs on to its end, and so do those that begin behind that.
"${R[@]}" -c 20000 -o norec.data -- sh -c './busy 600 >said; first=$?; ./busy 1 4 >said; echo $first $? >ended' 2>err &
pid=$!
await has_more norec.data SAMPLE 100 || fail "kill -9 of the recorder: nothing comes"
kill -KILL $pid
wait $pid 2>/dev/null
[ "$(count norec.data SAMPLE)" -gt 100 ] || fail "kill -9 of the recorder: $(count norec.data SAMPLE) samples"
"$RETICLE" report -i norec.data >out 2>err
grep -q '^# Source: simulated' out || fail "kill -9 of the recorder: not marked: $(head -3 out)"
grep -q 'did not finish this file' err || fail "kill -9 of the recorder: nobody says so: $(cat err)"
await test -s ended || await test -s ended || fail "kill -9 of the recorder: the program does not end"
[ "$(cat ended)" = "0 4" ] || fail "kill -9 of the recorder: programs end with $(cat ended)"
if command -v perf >/dev/null; then
	perf report -i norec.data --stdio >out 2>err || fail "kill -9 of the recorder: perf cannot read it: $(cat err)"
fi

# One thread's samples come at least once per second, however few they are.
"$RETICLE" record -q --pmu=sim -F 1000 -o slow.data -- ./busy 100000 >/dev/null 2>&1 &
pid=$!
await has_more slow.data SAMPLE 3 || fail "kill -9 of the recorder: few samples do not come"
child=$(pgrep -P $pid)
kill -KILL $pid
kill -KILL $child
wait $pid 2>/dev/null

# A child that outlives the command: the recording ends, the child goes on.
rm -f late
"${R[@]}" -o outlived.data -- sh -c '(sleep 1; ./busy 1 >late) & exec ./busy 1' >/dev/null ||
	fail "outlived: status $?"
enough outlived.data outlived 5
await test -s late || fail "outlived: the child did not go on"

# A recorder with capabilities of its own, run by a user who has none.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && command -v setcap >/dev/null; then
	chmod 755 .
	mkdir caps
	cp "$RETICLE" caps/reticle
	chmod 777 caps
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	if setcap cap_perfmon,cap_sys_ptrace+ep caps/reticle 2>err && "${nobody[@]}" test -w "$PWD/caps" &&
		"${nobody[@]}" test -r "${RETICLE_VPMU:-/}"; then
		"${nobody[@]}" ./caps/reticle record -q --pmu=sim -o caps/data -- ./busy 1 4 >out 2>err
		[ $? = 4 ] || fail "with capabilities: $(cat err)"
		enough caps/data "with capabilities" 1
	fi
fi

# What cannot be run, as natively.
"${R[@]}" -o no.data -- ./no-such-command 2>err
[ $? = 127 ] || fail "no such command: not 127"
grep -q "cannot run './no-such-command': No such file" err || fail "no such command: $(cat err)"
: >plain
"${R[@]}" -o no.data -- ./plain 2>err
[ $? = 126 ] || fail "not executable: not 126"
printf '#!/no/such/interpreter\n' >script
chmod +x script
"${R[@]}" -o no.data -- ./script 2>err
[ $? = 127 ] || fail "no interpreter: not 127"
printf '#!./loop\n' >loop
chmod +x loop
"${R[@]}" -o no.data -- ./loop 2>err
[ $? = 126 ] || fail "a script that interprets itself: not 126"
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\363\000' >foreign
head -c 100 /dev/zero >>foreign
chmod +x foreign
"${R[@]}" -o no.data -- ./foreign 2>err
[ $? = 1 ] || fail "foreign ELF: not 1"
grep -q 'ELF machine 243.*runs x86_64 and aarch64' err || fail "foreign ELF: $(cat err)"
[ -e no.data ] && fail "a file is left of what cannot be run"
mkdir bin
(PATH=$PWD/bin "${R[@]}" -o no.data -- ./busy 1) 2>err
[ $? = 1 ] || fail "no QEMU: not 1"
grep -q 'cannot find qemu-x86_64.*install the package qemu-user' err || fail "no QEMU: $(cat err)"
(RETICLE_VPMU=/no/plugin "${R[@]}" -o no.data -- ./busy 1) 2>err
grep -q 'no plugin for QEMU' err || fail "no plugin: $(cat err)"
exit 0
