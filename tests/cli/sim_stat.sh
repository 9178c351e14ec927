#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# stat: its three forms, with this machine's PMU and with the virtual one.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_program cc
need_program python3
build_busy
S=("$RETICLE" stat)

# Without the virtual PMU: software events count anywhere.
"${S[@]}" -o text -- ./busy 1 5 >out
[ $? = 5 ] || fail "exit status: not the command's"
[ "$(cat out)" = "busy is done" ] || fail "the command's output: $(cat out)"
grep -qE "^ Performance counter stats for './busy 1 5':" text || fail "no head: $(cat text)"
grep -qE '^ +[0-9.]+ msec task-clock' text || skip "nothing can be counted here: $(cat text)"
grep -qE '^ +[0-9,]+ +page-faults' text || fail "no page-faults: $(cat text)"
grep -qE '^ +[0-9.]+ seconds time elapsed' text || fail "no time: $(cat text)"
"${S[@]}" -e page-faults:u -- sh -c './busy 1; ./busy 1' 2>text >out
"${S[@]}" -e page-faults:u -i -- sh -c './busy 1; ./busy 1' 2>alone >out
all=$(sed -nE 's/^ +([0-9,]+) +page-faults.*/\1/p' text | tr -d ,)
alone=$(sed -nE 's/^ +([0-9,]+) +page-faults.*/\1/p' alone | tr -d ,)
[ "$all" -gt $((alone + 50)) ] || fail "children: $all page faults with them, $alone without"
"${S[@]}" -x: -e task-clock,page-faults -- ./busy 1 2>fields >out
grep -qE '^[0-9.]+:msec:task-clock:[0-9]+:100.00:[0-9.]+:CPUs utilized$' fields || fail "-x: $(cat fields)"
"${S[@]}" --json -r 3 -e task-clock:u -- ./busy 1 2>json >out
python3 -c '
import json, sys
s = json.load(open("json"))
e = s["events"][0]
assert s["simulated"] is None and s["runs"] == 3 and s["command"] == ["./busy", "1"], s
assert e["name"] == "task-clock:u" and len(e["values"]) == 3 and e["value"] == e["values"][2] > 100000, e
' || fail "--json: $(cat json)"
"${S[@]}" -e cycles -o hw -- ./busy 1 >out
grep -qE ' cycles(:u)?( |$)' hw || fail "cycles: $(cat hw)"
"${S[@]}" -- ./no-such-command 2>err
[ $? = 127 ] || fail "no such command: not 127"
"${S[@]}" 2>err
[ $? = 2 ] || fail "no command: not 2"
"${S[@]}" -e no-such-event -- ./busy 1 2>err
[ $? = 2 ] || fail "no such event: not 2"
"${S[@]}" --per-thread -- ./busy 1 2>err
[ $? = 2 ] || fail "--per-thread without the virtual PMU: not 2"
"${S[@]}" -e page-faults -- sh -c 'kill -TERM $$' 2>err
[ $? = 143 ] || fail "death by SIGTERM: not 143"

need_sim
V=("${S[@]}" --pmu=sim)
"${V[@]}" -o text -- ./busy 2 6 >out
[ $? = 6 ] || fail "sim: exit status"
grep -q "stats for './busy 2 6', simulated (generic-x86):" text || fail "sim: not marked: $(cat text)"
grep -qE '^ +[0-9,]{7,} +instructions:u +# +[0-9.]+ +insn per cycle' text || fail "sim: no instructions: $(cat text)"
grep -qE '^ +slots: [0-9.]+% retiring, .* backend$' text || fail "sim: no slots: $(cat text)"
grep -qE '^ +[0-9.]+ seconds of virtual time, 1 thread$' text || fail "sim: no virtual time: $(cat text)"

# The same in each run, and what -c counts by.
"${V[@]}" --json -r 2 -e instructions,cycles,branches,branch-misses,L1-dcache-load-misses -- ./busy 2 2>json >out
python3 -c '
import json
s = json.load(open("json"))
assert s["simulated"] == "generic-x86" and s["runs"] == 2, s
for e in s["events"]:
    assert e["values"][0] == e["values"][1] > 0, e
n = {e["name"]: e["value"] for e in s["events"]}
assert 2000 * 100 * 4 < n["instructions"] < 2000 * 100 * 12, n
assert n["branches"] > 2000 * 100 and n["branch-misses"] < n["branches"] / 10, n
' || fail "sim --json: $(cat json)"
"${V[@]}" -x, -e instructions -- ./busy 2 2>fields >out
[ "$(head -1 fields)" = "# simulated (generic-x86)" ] || fail "sim -x: not marked: $(cat fields)"
"${V[@]}" --per-thread --json -e instructions -- sh -c './busy 1; ./busy 2' 2>json >out
python3 -c '
import json
s = json.load(open("json"))
t = [x["values"]["instructions"] for x in s["threads"]]
assert len(t) == 3 and sum(t) == s["events"][0]["value"], s
' || fail "sim --per-thread: $(cat json)"
"${S[@]}" --pmu=sim,models=none -o none -e instructions,branch-misses -- ./busy 2 >out
grep -q '<not modelled> *branch-misses' none || fail "models=none: $(cat none)"
stalls=stalled-cycles-frontend,r3e,stalled-cycles-backend,r3d
for models in none,0 tlb,2 branch,4; do
	"${S[@]}" --pmu=sim,models="${models%,*}" -x, -o fields -e "$stalls" -- ./busy 2 >out
	[ "$(grep -cE '^[1-9][0-9]*,' fields)" = "${models#*,}" ] || fail "models=${models%,*}: $(cat fields)"
	[ "$(grep -c '^<not modelled>' fields)" = $((4 - ${models#*,})) ] || fail "models=${models%,*}: $(cat fields)"
done
"$RETICLE" record --pmu=sim,models=none -o none.data -e r3e -- ./busy 2 2>err &&
	fail "models=none: stalls are recorded"
grep -q 'models= leaves out the model that counts r3e' err || fail "models=none: $(cat err)"
"${V[@]}" -e page-faults -- touch ran 2>err
[ $? = 2 ] || fail "sim: an event that it has not: not 2"
[ -e ran ] && fail "sim: an event that it has not: the command ran"

# Terms between slashes, as perf has them; what is wrong with one is told of the virtual PMU, not of this machine's.
"${V[@]}" -x, -e instructions,cpu/instructions/,cpu/event=8/u,cpu/config=0x8,name=eight/,armv8_pmuv3_0/r8/ \
	-- ./busy 2 2>fields >out
[ "$(sed 1d fields | cut -d, -f1 | uniq -c | awk '{ print $1 }')" = 5 ] || fail "sim: cpu/.../: $(cat fields)"
for wrong in slots cpu/slots/ msr/tsc/ sched:sched_switch; do
	"${V[@]}" -e "$wrong" -- touch ran 2>err
	[ $? = 2 ] || fail "sim: $wrong: not 2"
	grep -q "'reticle list sim'" err || fail "sim: $wrong: $(cat err)"
	grep -q 'this machine' err && fail "sim: $wrong is looked for in this machine: $(cat err)"
done

# What a killed program had done by then is counted.
"${V[@]}" -x, -e instructions -- sh -c './busy 2; kill -KILL $$' >out 2>err
[ $? = 137 ] || fail "sim: death by SIGKILL: not 137"
n=$(sed -n 's/^\([0-9]*\),,instructions.*/\1/p' err)
[ "$n" -gt 800000 ] || fail "sim: death by SIGKILL: $(cat err)"
grep -q 'killed or still running' err || fail "sim: death by SIGKILL: not told: $(cat err)"
exit 0
