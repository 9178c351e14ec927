#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A user without rights: what he gets, and what he is told.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
need_root
command -v setpriv >/dev/null || skip "setpriv is not installed"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || skip "kernel.perf_event_paranoid is not 2"

# Where nobody may run and write.
dir=$(mktemp -d /tmp/reticle-user-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cp "$RETICLE" "$dir/reticle"
chown 65534:65534 "$dir"
chmod 755 "$dir/reticle"
cd "$dir" || exit 1
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
}
cp "$(type -P true)" true
as_nobody ./true || skip "nobody cannot run a program in $dir"

as_nobody ./reticle record -e cpu-clock -g -o own.data -- timeout 0.3 sh -c 'while :; do :; done' 2>err
[ $? = 124 ] || fail "own command: $(cat err)"
grep -q 'recording user space only: kernel.perf_event_paranoid is 2' err || fail "own command: $(cat err)"
[ "$(count own.data SAMPLE)" -gt 20 ] || fail "own command: $(count own.data SAMPLE) samples"
"$RETICLE" evlist -i own.data | grep -q '^cpu-clock:u$' || fail "own command: $("$RETICLE" evlist -i own.data)"
as_nobody ./reticle stat -a -e cpu-clock,page-faults -- touch ran 2>err && fail "stat -a: no error"
grep -q 'may not count any of these events on whole CPUs (reticle check' err || fail "stat -a: $(cat err)"
[ -e ran ] && fail "stat -a: the command ran, and nothing was counted"
# Counted at one place, and refused at another.
# shellcheck disable=SC2016 # the inner shell's
as_nobody sh -c 'echo $$ >mine; exec sleep 60' &
await test -s mine || fail "stat -p MINE,ROOTS: mine does not run"
mine=$(cat mine)
sleep 60 &
theirs=$!
as_nobody ./reticle stat -p "$mine,$theirs" -e page-faults -- touch ran 2>err
[ $? = 1 ] || fail "stat -p MINE,ROOTS: $(cat err)"
grep -q 'may not count any of these events (reticle check' err || fail "stat -p MINE,ROOTS: $(cat err)"
[ -e ran ] && fail "stat -p MINE,ROOTS: the command ran, and nothing was counted"
kill "$mine" "$theirs"
as_nobody ./reticle record -q -e cpu-clock -a -- true 2>err && fail "-a: no error"
grep -q 'on whole CPUs: not allowed .*paranoid at 2 .*perf_event_paranoid=0' err || fail "-a: $(cat err)"
as_nobody ./reticle record -q -e cpu-clock -p 1 -- true 2>err && fail "-p 1: no error"
grep -q "the process belongs to another user" err || fail "-p 1: $(cat err)"
as_nobody ./reticle record -q -e cpu-clock -m 100000 -- true 2>err && fail "-m 100000: no error"
grep -q 'over the limit for locked memory' err || fail "-m 100000: $(cat err)"
exit 0
