#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Metrics of functions that are shorter than a window, as report shows them by default, against exact counts: small
functions in hot loops, callers of such, recursion, libc, stripped code, objects, all that ran; and what the table says
where it has windows alone."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from lib.leaves import LEAVES
from lib.machine import need_sim

RETICLE, SRCDIR = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
PROGRAM = LEAVES + r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
APART uint64_t fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
APART void copies(char *a, char *b, long n) { for (long i = 0; i < n; i++) memcpy(a, b + (i & 7), 300 + (i & 63)); }
APART uint64_t divides(long n) { uint64_t s = 0; for (long i = 0; i < n; i++) s += divide(next(), i); return s; }
APART uint64_t guesses(long n)
{ uint64_t s = 0; for (long i = 0; i < n; i++) s += guess(next()) + quiet(i); return s; }
int main(void)
{
	char *a = malloc(8192), *b = calloc(1, 8192), text[64];
	for (long k = 0; k < 160; k++) {
		uint64_t s = divides(600) + guesses(2000) + fib(15);
		copies(a, b, 200);
		for (int i = 0; i < 2000; i++)
			s += next() & 3 ? i : s >> 1;
		for (int i = 0; i < 60; i++)
			s += snprintf(text, sizeof(text), "%d", i * 7919);
		sink = s + a[k];
	}
	return 0;
}
"""
# Rounds of always as many instructions, of which two fifths are those of `first`.
ROUNDS = 3000
ROUND = r"""
#define APART __attribute__((noinline, noclone, aligned(64)))
APART void first(void) { for (int i = 0; i < 400; i++) __asm__ volatile("nop\n\tnop"); }
APART void second(void) { for (int i = 0; i < 600; i++) __asm__ volatile("nop\n\tnop"); }
int main(void) { for (int i = 0; i < 3000; i++) { first(); second(); } return 0; }
"""
FORMULAS = {"CPI": ("cycles", "instructions", 1), "BM/KI": ("branch-misses", "instructions", 1000),
            "%CY": ("cycles", None, 100), "%I": ("instructions", None, 100)}


ENVIRONMENT = 8192  # bytes
NEAR, FAR, MOST_NEAR = 1.6, 2.5, 3
near = []  # what lies beyond


def environment():
    """As large wherever the test runs: strings of the environment decide where the stack begins, and with that which
    addresses conflict in the caches and where windows lie. Each size would be another draw of all numbers below."""
    names = "PATH", "HOME", "RETICLE_VPMU", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"
    kept = {name: os.environ.get(name, "") for name in names}
    return {**kept, "PAD": "x" * (ENVIRONMENT - sum(map(len, kept.values())))}


def check(what, ok):
    if not ok:
        print(what)
        sys.exit(1)


def run(*args):
    p = subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                       env=environment())
    check(f"{args}: exit status {p.returncode}: {p.stderr}", p.returncode == 0)
    return p.stdout


def truth_of(program):
    """-> counts: of all, by (object, function), by object. No event is sampled: functions have their names all the
    same."""
    run("record", "-q", "--pmu=sim", "-e", "instructions/period=100000000000/u", "-o", "truth.data", "--truth",
        "truth.json", "--", program)
    truth, objects = json.loads(pathlib.Path("truth.json").read_text()), {}
    check(f"complete: {truth['incomplete']}", truth["complete"] and not truth["incomplete"])
    functions = {}
    for f in truth["functions"]:
        name = f["symbol"] or (f"[{pathlib.Path(f['dso']).name}+{f['address']:#x}]" if "address" in f else None)
        of = objects.setdefault(f["dso"], {})
        functions[f["dso"], name] = f["counts"]
        for key, n in f["counts"].items():
            of[key] = of.get(key, 0) + n
    return truth["totals"], functions, objects


def value(metric, counts, totals):
    above, below, scale = FORMULAS[metric]
    below = counts.get(below, 0) if below else totals[above]
    return scale * counts.get(above, 0) / below if below else None


def record(program, totals, exact=True):
    """As many windows and samples of instructions as the default takes in ten seconds, and nearly twice as many
    samples of mispredicted branches."""
    leader = (f"{{cycles/period={totals['cycles'] // 10000 - 300},"
              f"alt-period=300/,instructions,branch-misses}}:u{'pp' if exact else ''}S")
    more = ["-e", f"instructions/period={totals['instructions'] // 15000},period-jitter=full/upp",
            "-e", f"branch-misses/period={totals['branch-misses'] // 3000},period-jitter=full/upp"] if exact else []
    run("record", "-q", "--pmu=sim,seed=7", "-e", leader, *more, "-o", "f.data", "--", program)


def table(*args):
    return json.loads(run("report", "-i", "f.data", "--json", "--long-names", "--percent-limit", "0",
                          *args))["events"][0]


def held(what, of, counts, totals, metrics):
    """Is the truth in its interval? A hundred numbers are compared, so that some of the 95 % intervals miss it by
    chance. One that is FAR times as wide has 4.9 standard errors to each side, which chance does not miss; one that is
    NEAR times as wide has 3.1, beyond which one number in 600 lies, and more than MOST_NEAR of a hundred in one run of
    25,000."""
    for metric in metrics:
        m, want = of["metrics"].get(metric), value(metric, counts, totals)
        if not m or want is None or m["value"] is None or m["low"] is None or m["doubtful"]:
            continue
        side = m["value"] - m["low"] if want < m["value"] else m["high"] - m["value"]
        said = f"{what}: {metric} is {m['low']} to {m['high']}, the truth is {want}"
        check(said, abs(want - m["value"]) <= FAR * side + 1e-6 * want)
        if abs(want - m["value"]) > NEAR * side + 1e-6 * want:
            near.append(said)
            check("\n".join(near), len(near) <= MOST_NEAR)


def all_held(program, totals, functions, objects):
    event, shown = table("--sort", "dso,symbol"), 0
    for row in event["rows"]:
        counts = functions.get((row["dso"], row["symbol"]), {})
        if counts.get("cycles", 0) < 0.01 * totals["cycles"]:
            continue
        held(f"{program}: {row['symbol']}", row, counts, totals, FORMULAS)
        shown += not row["metrics"]["CPI"]["doubtful"]
    check(f"{program}: {shown} functions", shown >= 8)
    held(f"{program}: (all)", event, totals, totals, ("CPI", "BM/KI"))
    for row in table("--sort", "dso")["rows"]:
        if objects.get(row["dso"], {}).get("cycles", 0) >= 0.01 * totals["cycles"]:
            held(f"{program}: {row['dso']}", row, objects[row["dso"]], totals, FORMULAS)
    return {row["symbol"]: row for row in event["rows"]}


need_sim()
if not shutil.which("cc") or not shutil.which("strip"):
    print("no cc, or no strip")
    sys.exit(77)
pathlib.Path("p.c").write_text(PROGRAM)
subprocess.run(["cc", "-O2", "-g", "-fno-optimize-sibling-calls", "-o", "p", "p.c"], check=True)
subprocess.run(["strip", "-o", "s", "p"], check=True)

named = truth_of("./p")
totals, functions, objects = named
dso = next(d for d in objects if d.endswith("/p"))
record("./p", totals)
rows = all_held("p", *named)
# Windows alone are wrong for these, so that what holds does so because of the samples.
alone = {row["symbol"]: row for row in table("--attribution", "discard")["rows"]}
for name in "divide", "quiet", "guess":
    want, of, other = (value("CPI", functions[dso, name], totals), rows[name]["metrics"]["CPI"],
                       alone[name]["metrics"]["CPI"])
    check(f"{name}: CPI {of['value']}, and {other['value']} of windows alone; the truth is {want}",
          abs(of["value"] - want) < 0.25 * want and not other["low"] <= want <= other["high"])
check(f"quiet mispredicts nothing: {rows['quiet']['metrics']['BM/KI']}",
      rows["quiet"]["metrics"]["BM/KI"]["value"] < 2)
# A line is no function: windows are not used for it.
lines = table("--sort", "srcline")["rows"]
check("lines", len(lines) > 5 and all(row["windows"]["kept"] == 0 for row in lines))
check("lines are said", "they cannot be attributed to lines" in run("report", "-i", "f.data", "--sort", "srcline"))
check("a line has its own metrics",
      any(abs(row["metrics"]["CPI"]["value"] / value("CPI", functions[dso, "divide"], totals) - 1) < 0.3
          for row in lines if row["metrics"]["CPI"]["value"]))

# Lines of one function, of which windows tell: its share, and all, are of everything that ran.
line = next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if "uint64_t fib" in text)
event = table("--source-line", f"p.c:{line}")
held("lines: (all)", event, totals, totals, ("CPI", "BM/KI"))
check(f"lines: (all) has its CPI: {event['metrics']['CPI']}", not event["metrics"]["CPI"]["doubtful"])
fib = next(row for row in event["rows"] if row["symbol"] == "fib")
held("lines: fib", fib, functions[dso, "fib"], totals, ("%CY", "%I"))
check(f"lines: windows that end elsewhere have no share: {event['rows']}",
      all(not row["metrics"]["%CY"]["value"] for row in event["rows"] if row["symbol"] != "fib"))

# Where windows are all that there is, the head says so, and what lost most of them is marked.
record("./p", totals, exact=False)
text = run("report", "-i", "f.data")
check(f"windows alone: {text}", "# No event has samples with exact addresses" in text and
      "with their own samples" not in text)
for row in table()["rows"]:
    of = row["metrics"]["CPI"]
    if row["windows"]["short"] >= 100 and row["windows"]["kept"] < 0.4 * row["windows"]["short"]:
        check(f"{row['symbol']} is marked: {of}", of["doubtful"])

# Few samples of instructions: more would make functions certain, but not where addresses of cycles are late.
few = f"instructions/period={totals['instructions'] // 500},period-jitter=full/upp"
for terms, late in ("pp", ""), ("", ",skid=0-40"):
    group = f"{{cycles/period={totals['cycles'] // 3000},alt-period=300/,instructions}}:u{terms}S"
    run("record", "-q", f"--pmu=sim,seed=7{late}", "-e", group, "-e", few, "-o", "f.data", "--", "./p")
    text = run("report", "-i", "f.data", "--source-line", f"p.c:{line}")
    check(f"lines have no samples: {text}", "times as many samples" not in text)
    text = run("report", "-i", "f.data")
    check(f"how many samples would be enough{late}: {text}", ("times as many samples" in text) == (not late))

# Stripped: functions are where .eh_frame says that they begin.
bare = truth_of("./s")
record("./s", bare[0])
all_held("s", *bare)

# In step with the program: a window after every other round. By default periods are drawn, so that shares are right.
pathlib.Path("round.c").write_text(ROUND)
subprocess.run(["cc", "-O1", "-o", "round", "round.c"], check=True)
totals, functions, objects = truth_of("./round")
parts = {name: next(counts for (_, symbol), counts in functions.items() if symbol == name)
         for name in ("first", "second", "main")}
period = 2 * (sum(counts["instructions"] for counts in parts.values()) // ROUNDS) - 300
for terms in "", ",period-jitter=0,alt-period-jitter=0":
    group = f"{{instructions/period={period},alt-period=300{terms}/,cycles}}:uppS"
    run("record", "-q", "--pmu=sim,seed=7", "-e", group, "-o", "f.data", "--", "./round")
    shares = {row["symbol"]: row for row in table()["rows"]}
    if not terms:
        for name in "first", "second":
            held(f"drawn: {name}", shares[name], parts[name], totals, ("%I",))
            check(f"drawn: {name} is marked", not shares[name]["metrics"]["%I"]["doubtful"])
        continue
    share = shares["first"]["metrics"]["%I"]["value"] if "first" in shares else 0
    check(f"without jitter, samples keep step: {share}", not 20 < share < 60)
