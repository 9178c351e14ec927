#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# list and check on this machine; a wrong event is pointed at.
set -u
fail() {
	echo "$1"
	exit 1
}

"$RETICLE" list sw >out 2>err || fail "list sw: status $?: $(cat err)"
grep -q '^software events: 12, usable here:' out || fail "list sw: $(head -1 out)"
grep -qE '^  [+-] context-switches OR cs' out || fail "list sw: no context-switches"
grep -q '^hardware' out && fail "list sw lists hardware events"
"$RETICLE" list sw hw >out 2>err
grep -q '^hardware events: 10' out || fail "list sw hw"
"$RETICLE" list 'L1-ICACHE-*' >out 2>err
grep -q '^  [+-] L1-icache-loads' out || fail "list GLOB"
"$RETICLE" list sim >out 2>err
grep -q '^events of the virtual PMU (--pmu=sim): 47, usable here: ' out || fail "list sim: $(head -1 out)"
grep -qE '^  [+-] r10002 +.*calls' out || fail "list sim: r10002 is not explained"
grep -qE '^  [+-] arm_spe_0// +.*Arm SPE' out || fail "list sim: arm_spe_0 is not there"
"$RETICLE" list --json sim >before 2>err
"$RETICLE" list sim --json >behind 2>err || fail "list sim --json: $(cat err)"
cmp -s before behind || fail "list sim --json is not list --json sim: $(head -c 300 behind)"
"$RETICLE" list sim --no-such >out 2>err
[ $? = 2 ] || fail "list sim --no-such: not status 2"
"$RETICLE" list -- --json >out 2>err
[ $? = 1 ] || fail "list -- --json: not a word"
"$RETICLE" list >out 2>err
grep -q 'virtual PMU' out && fail "list: the virtual PMU's are no events of this machine"
"$RETICLE" check >out 2>err
grep -qE '^virtual PMU +(ok|limited|no) ' out || fail "check: no row of the virtual PMU"
(PATH=/nonexistent "$RETICLE" check) >out 2>err
grep -A1 '^virtual PMU  *no ' out | grep -qE 'install qemu-user|build with capstone' ||
	fail "check without QEMU: no remedy"
"$RETICLE" list no-such-event-anywhere >out 2>err
[ $? = 1 ] || fail "list of nothing: not status 1"
grep -q 'no event of that name' err || fail "list of nothing: $(cat err)"
"$RETICLE" list --json sw | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert len(rows) == 12 and all(r["class"] == "software" for r in rows), rows
assert [r["alias"] for r in rows if r["name"] == "page-faults"] == ["faults"]
' || fail "list --json"

"$RETICLE" check >out 2>err
status=$?
[ $status -le 1 ] || fail "check: status $status: $(cat err)"
grep -qE '^software clock +(ok|no) ' out || fail "check: no software clock"
if grep -qE '^software clock +ok ' out; then
	[ $status = 0 ] || fail "check: status $status although the software clock works"
	grep -q '^recording works$' out || fail "check: $(tail -1 out)"
fi
"$RETICLE" check --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert {r["state"] for r in rows} <= {"ok", "limited", "no"} and all(r["detail"] for r in rows), rows
' || fail "check --json"
"$RETICLE" check word >out 2>err
[ $? = 2 ] || fail "check word: not status 2"

"$RETICLE" record -e cs,cycels:u true >out 2>err && fail "record -e cycels:u: status 0"
printf '%s\n' "reticle record: unknown event 'cycels'" '    cs,cycels:u' '       ^^^^^^' "  did you mean 'cycles'?" \
	>want
head -4 err | cmp -s - want || fail "record -e cs,cycels:u: $(cat err)"
# The event is known; what stands in the wrong place is named, and not the event suggested for itself.
for pmu in hw sim; do
	"$RETICLE" record --pmu=$pmu -e cycles:u/period=1000/ true >out 2>err && fail "cycles:u/period/: status 0"
	printf '%s\n' "reticle record: modifiers before the terms" '    cycles:u/period=1000/' '           ^' \
		'  modifiers follow the terms: EVENT/TERMS/MODIFIERS' >want
	cmp -s err want || fail "cycles:u/period/ with --pmu=$pmu: $(cat err)"
done
exit 0
