#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diff: two recordings (tests/recipe/diff-*.recipe) row by row, in all formats; and what fails a CI job."""
# check: leaks, threads
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

reticle, source = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
tool = pathlib.Path(reticle).parent / "tests/recipe/recipe"
for name in "old", "new":
    subprocess.run([tool, source / f"tests/recipe/diff-{name}.recipe", f"{name}.data"], check=True)


def run(*args):
    p = subprocess.run([reticle, "diff", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return p.returncode, p.stdout, p.stderr


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}:\n{got}\ninstead of\n{want}")


def text(*args):
    status, out, err = run("-q", *args, "old.data", "new.data")
    check(f"status of {args} ({err})", status, 0)
    return [line.rstrip() for line in out.splitlines()]


def messages(err):
    return [line[len("reticle diff: "):] for line in err.splitlines() if "warning" not in line]


STEADY, SLOWER, UNRESOLVED, NEW, REMOVED = (
    "bpf_prog_steady", "bpf_prog_slower", "[unresolved in app]", 'bpf_prog_n?,"w', "bpf_prog_removed")
check("delta-abs", text("-s", "symbol"), [
    "    30.00%    +18.00%  [k] " + SLOWER,
    "    50.00%    -10.00%  [k] " + STEADY,
    "               +4.00%  [k] " + NEW,
    "    10.00%     -2.00%  [.] " + UNRESOLVED,
    "    10.00%             [k] " + REMOVED,
    "",
    "   100.00%     +0.00%  [k] " + STEADY])
check("delta", [line.split("] ")[-1] for line in text("-c", "delta", "-s", "symbol")[:5]],
      [SLOWER, NEW, "[unresolved in app]".split("] ")[-1], STEADY, REMOVED])
check("ratio", text("-c", "ratio", "-s", "symbol", "-b")[:4], [
    "    30.00%        2.000000  [k] " + SLOWER,
    "    50.00%        1.000000  [k] " + STEADY,
    "    10.00%        1.000000  [.] " + UNRESOLVED,
    "    10.00%                  [k] " + REMOVED])
check("wdiff", text("-c", "wdiff:2,3", "-s", "symbol", "-F")[0].split(), [
    "30.00%", "12000", "(6000", "*", "3)", "-", "(3000", "*", "2)", "[k]", SLOWER])
check("periods", text("-p", "-s", "comm")[:2], [
    "    90.00%            9000     -2.00%           11000           +2000  alpha",
    "    10.00%            1000     +2.00%            1500            +500  beta"])
check("order", [line.split("] ")[-1] for line in text("-o", "0", "-s", "symbol")[:2]], [STEADY, SLOWER])
check("limit", len(text("--percent-limit", "5", "-s", "symbol")), 6)
check("filters", text("-S", SLOWER, "-C", "alpha", "-t", ";", "-s", "comm,symbol")[:1], [
    "30.00%;+10.00%;alpha;[k] " + SLOWER])
check("relative", text("-d", "app,bpf_prog_slower", "--percentage", "relative", "-s", "dso")[:2], [
    "    75.00%    +10.71%  bpf_prog_slower",
    "    25.00%    -10.71%  app"])
check("totals", text("--totals", "-t", "|"),
      ["10000|12500|+2500|+25.00%|cycles", "1|1|+0|+0.00%|faults", "1|0|-1|-100.00%|idle"])
check("totals of names that have the separator", text("--totals", "-t", "s")[0], "10000s12500s+2500s+25.00%scycle.")
check("totals, aligned", text("--totals"), [
    "               10000               12500               +2500    +25.00%  cycles",
    "                   1                   1                  +0     +0.00%  faults",
    "                   1                   0                  -1   -100.00%  idle"])
for parted, header in ((), "#           Baseline               Total          Difference    Percent  Event"), (
        ("-t", ";"), "# Baseline;Total;Difference;Percent;Event"):
    head = run("--totals", *parted, "old.data", "new.data")[1].splitlines()[4]
    check(f"head of totals {parted}", head, header)

# Rows of perf's own layout above; the head says what each recording is.
status, out, err = run("old.data", "new.data")
head = [line for line in out.splitlines() if line.startswith("#")]
check("head", [head[1], head[2], head[-1]], [
    "#  [0] old.data (Baseline): 7 samples, 3 lost, 0 throttled",
    "#  [1] new.data: 6 samples, 0 lost, 0 throttled, simulated (generic-x86)",
    "# Event 'idle' has samples in old.data only"])
check("mixed", err, "reticle diff: warning: some of these recordings are simulated and some are not\n")

# Data formats, and hostile names in them.
status, out, err = run("--csv", "old.data", "new.data")
rows = [row for row in csv.DictReader(io.StringIO(out)) if row["event"] == "cycles"]
check("csv", [(r["symbol"], r["weight_0"], r["weight_1"], r["delta-abs_1"], r["difference_1"]) for r in rows], [
    (SLOWER, "3000", "6000", "18.000000", "3000"), (STEADY, "5000", "5000", "-10.000000", "0"),
    ('bpf_prog_n?,"w', "0", "500", "4.000000", "500"), (UNRESOLVED, "1000", "1000", "-2.000000", "0"),
    (REMOVED, "1000", "0", "", "-1000")])
check("csv: of what", {(r["simulated_0"], r["simulated_1"]) for r in rows}, {("", "generic-x86")})
for args, rest in (((), "difference_1,simulated_0,simulated_1"),
                   (("--fail-above", "0"), "difference_1,failed,simulated_0,simulated_1")):
    for more in ((), ("--totals",)):
        lines = run("--csv", *args, *more, "new.data", "new.data")[1].splitlines()
        check(f"csv: {args} {more}", lines[0].endswith(rest), True)
        check(f"csv: fields {args} {more}", {len(fields) for fields in csv.reader(lines)}, {len(lines[0].split(","))})
        check(f"csv: cores {args} {more}", {line.endswith(",generic-x86,generic-x86") for line in lines[1:]}, {True})
check("csv: not simulated", "simulated" in run("--csv", "old.data", "old.data")[1], False)
status, out, err = run("--json", "--fail-above", "10", "old.data", "new.data", "new.data")
check("status", status, 1)
doc = json.loads(out)
check("json files", [(f["path"], f["samples"], f["lost"], f["simulated"]) for f in doc["meta"]["files"]],
      [("old.data", 7, 3, None), ("new.data", 6, 0, "generic-x86"), ("new.data", 6, 0, "generic-x86")])
check("json rows", [(r["symbol"], r["weight"], r["value"], r["failed"]) for r in doc["events"][0]["rows"]][:3], [
    (SLOWER, [3000, 6000, 6000], [18, 18], True), (STEADY, [5000, 5000, 5000], [-10, -10], False),
    ('bpf_prog_n\x01,"w', [0, 500, 500], [4, 4], False)])
check("json failed", doc["failed"], 1)

# The verdict: shares, counts, the rows' own growth, totals; options behind the recordings, too.
for args, want in {
    ("--fail-above", "18"): [],
    ("--fail-above", "17.9%"): ["cycles: bpf_prog_slower bpf_prog_slower: 30.00% -> 48.00%, +18.00% of the whole",
                                "1 above 17.9%"],
    ("-p", "--fail-above", "24"): ["cycles: the whole: 10000 -> 12500, +25.00%",
                                   "cycles: bpf_prog_slower bpf_prog_slower: 3000 -> 6000, +30.00% of the whole",
                                   "2 above 24%"],
    ("-c", "ratio", "--fail-above", "50", "-s", "symbol"): [
        "cycles: bpf_prog_slower: 3000 -> 6000, +100.00%",
        'cycles: bpf_prog_n?,"w: 0 -> 500, new', "2 above 50%"],
    ("-c", "ratio", "--fail-above", "50", "--percent-limit", "5", "-s", "symbol"): [
        "cycles: bpf_prog_slower: 3000 -> 6000, +100.00%", "1 above 50%"],
    ("--totals", "--fail-above", "24"): ["cycles: the whole: 10000 -> 12500, +25.00%", "1 above 24%"],
    ("--totals", "--fail-above", "25"): [],
}.items():
    status, out, err = run("old.data", "new.data", *args)
    check(f"verdict of {args}", messages(err), want)
    check(f"status of {args}", status, 1 if want else 0)
# Two simulated recordings are compared by their counts.
status, out, err = run("-q", "-s", "symbol", "new.data", "new.data", "--fail-above", "0")
check("the same twice", (status, err), (0, ""))
check("counts", out.splitlines()[5].split()[1:5], ["500", "+0.00%", "500", "+0"])

recipe = (source / "tests/recipe/diff-new.recipe").read_text()
pathlib.Path("other.recipe").write_text(recipe.replace("generic-x86", "neoverse-n1"))
subprocess.run([tool, "other.recipe", "other.data"], check=True)
check("other core", run("-q", "new.data", "new.data", "other.data")[::2],
      (0, "reticle diff: warning: other.data was simulated on a different core (neoverse-n1) than new.data "
          "(generic-x86)\n"))

# Usage, and what cannot be read or compared.
os.rename("old.data", "perf.data.old")
check("one name", run("new.data")[0], 0)
os.rename("new.data", "perf.data")
check("no name", run()[0], 0)
for args, status, want in (
    (("-s", "time"), 2,
     "option --sort: 'time' is not one of comm, pid, tid, cpu, socket, cgroup, cgroup_id, addr, local_weight, weight, "
     "local_ins_lat, ins_lat, p_stage_cyc, transaction, code_page_size, mem_op, mem, snoop, tlb, locked, blocked, "
     "type, typeoff, typecln, dso, dso_size, symbol, symbol_size, srcline, srcfile, activity, trace, nor a field of a "
     "tracepoint, nor an attribute of activities"),
    (("-s", ","), 2, "option --sort names no key"),
    (("-c", "wdiff:1"), 2, "option --compute: 'wdiff:1' is none of delta-abs, delta, ratio, wdiff:W1,W2"),
    (("-c", "wdiff:1,1", "--fail-above", "1"), 2, "--fail-above works with delta and ratio, not with wdiff"),
    (("--fail-above", "-1"), 2, "'-1' is not a percentage"),
    (("-o", "2"), 2, "option --order: there is no recording 2 (0 to 1)"),
    (("-", "perf.data"), 2, "recordings have to be files here, not standard input"),
    (("perf.data", "missing.data"), 1,
     "missing.data: cannot open: No such file or directory (make one with 'reticle record')"),
):
    got = run(*args)
    check(f"status of {args}", got[0], status)
    check(f"message of {args}", messages(got[2]), [want])

# Filters that leave nothing to compare are named, and such a comparison is no good one.
for args, want in (
    (("--comms", "nobody"), "no event has samples in the baseline and in another recording (see reticle evlist)"),
    (("--dsos", "nothing", "--fail-above", "1"), "there are no rows to compare"),
    (("--symbols", "nothing"), "there are no rows to compare"),
):
    got = run(*args)
    check(f"status of {args}", got[0], 1)
    left, why = [line.removeprefix("reticle diff: ") for line in got[2].splitlines()][-2:]
    check(f"filter of {args}", re.sub("[0-9]+", "N", left),
          f"warning: nothing is left of N samples by {args[0]} {args[1]}")
    check(f"message of {args}", why, want)
    check(f"table of {args}", got[1], "")
