#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report --branch-history: each sample's branches stand before its callers, as `script` shows both. Loops are shown
once, and so are calls. What the records say of branches stands behind the frames."""
import collections
import json
import os
import re
import subprocess
import sys

from lib.machine import need_sim

reticle = os.environ["RETICLE"]
PROGRAM = r"""
#include <stdlib.h>
__attribute__((noinline)) long odd(long x) { return x * 3 + 1; }
__attribute__((noinline)) long even(long x) { return x / 2; }
__attribute__((noinline)) long walk(long x)
{
	long n = 0;

	for (; x != 1; n++)
		x = x & 1 ? odd(x) : even(x);
	return n;
}
__attribute__((noinline)) long turns(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}
int main(void)
{
	long total = 0;

	for (long i = 1; i < 3000; i++)
		total += walk(i) + turns(i % 100);
	return total == 42;
}
"""


def run(*args):
    return subprocess.run([reticle, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def good(*args):
    p = run(*args)
    if p.returncode or p.stderr:
        sys.exit(f"{args}: exit status {p.returncode}: {p.stderr}")
    return p.stdout


def place(text, back=0):
    """NAME+0xOFFSET, of an instruction that ends there: of the one before."""
    name, _, offset = text.rpartition("+0x")
    if not name:
        return text
    offset = int(offset, 16) - back
    return f"{name}+{offset:#x}" if offset else f"{name}+0"


def without_loops(branches):
    """-> those that stay, each with the number of rounds that were left out there, and their cycles"""
    out = []
    for b in branches:
        out.append([b, 0, 0])
        for n in range(1, len(out) // 2 + 1):
            if [x[0][0] for x in out[-n:]] == [x[0][0] for x in out[-2 * n:-n]]:
                cycles = sum(int(x[0][5]) + x[2] for x in out[-n:])
                del out[-n:]
                out[-1][1] += 1
                out[-1][2] += cycles
                break
    return out


def to_main(way):
    """What called main has no frame pointers. None: it is not under main."""
    steps = way.split(";")
    mains = [i for i, step in enumerate(steps) if step.startswith("main+")]
    return ";".join(steps[:mains[-1] + 1]) if mains else None


def steps_of(chain, branches):
    """-> [place, what the records say of it] of each step from the sample on"""
    callers = chain[1:]
    steps = [(place(chain[0]), {})]
    for (source, target, predicted, _, abort, cycles, *_), rounds, round_cycles in without_loops(branches):
        steps.append((place(target), {("to", "branches"): 1, ("to", "told"): 1, ("to", "predicted"): predicted == "P",
                                      ("to", "aborted"): abort == "A"}))
        steps.append((place(source), {("from", "branches"): 1, ("from", "cycles"): int(cycles),
                                      ("from", "iterations"): rounds, ("from", "iteration_cycles"): round_cycles}))
        # The call that a caller has made: from there it is a few bytes to where it goes on.
        if callers:
            name, _, offset = callers[0].rpartition("+0x")
            calls, _, at = source.rpartition("+0x")
            if name == calls and 0 < int(offset, 16) - int(at, 16) <= 8:
                callers = callers[1:]
    return steps + [(place(c, 1), {"callers": 1}) for c in callers]


def graphs_of(steps, order, totals):
    """-> the graphs in which the sample is, each as the row's function and the steps"""
    names = [step.rpartition("+")[0] for step, _ in steps]
    for name in dict.fromkeys(names if totals else names[:1]):
        if order == "callee":
            yield name, steps[names.index(name):]
        elif names[0] == name:
            yield name, steps[::-1]
        else:
            yield name, steps[len(names) - 1 - names[::-1].index(name)::-1]


ORDERS = [(order, totals) for order in ("callee", "caller") for totals in (False, True)]


def wanted(path, kinds):
    """-> how often each way leads to a sample, and for each kind of graph the notes at each step by the way there;
    from what script shows of each sample"""
    ways = collections.Counter()
    notes = {kind: collections.defaultdict(collections.Counter) for kind in kinds}
    for sample in good("script", "-i", path, "-F", "ip,sym,symoff,brstacksym").strip().split("\n\n"):
        chain, branches = [], []
        for line in sample.splitlines():
            if "/" in line:
                branches = [b.split("/") for b in line.split()]
            elif line.strip():
                chain.append(line.split()[1])
        steps = steps_of(chain, branches)
        for kind in kinds:
            for name, shown in graphs_of(steps, *kind):
                for n, (_, note) in enumerate(shown):
                    notes[kind][name, *(step for step, _ in shown[:n + 1])].update(note)
                    # What calls a function that does not return may go on behind its end: its name is not known.
                    if any(step == "[unknown]" for step, _ in shown):
                        notes[kind][name, *(step for step, _ in shown[:n + 1])].update(["unknown"])
        way = to_main(";".join(step for step, _ in steps))
        if way:
            ways[way] += 1
    return ways, notes


def noted(kids, way, found):
    """Into found: the notes of the nodes of a graph, by the ways to them, as wanted has them."""
    for kid in kids:
        note = collections.Counter()
        for end in "to", "from":
            note.update({(end, what): n for what, n in kid.get(end, {}).items() if what != "types"})
        note.update({"callers": kid.get("callers", 0)})
        here = *way, kid["frame"] + (kid["place"] or "+0").replace("+0x0", "+0")
        if +note:
            found[here] = +note
        noted(kid.get("kids", []), here, found)


need_sim()
with open("program.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-static", "-o", "program", "program.c"], check=True)
for depth in 4, 16, 32:
    good("record", "-q", f"--pmu=sim,branches={depth}", "-b", "-g", "-e", "cycles:u", "-c", "1009", "-o", "a.data",
         "--", "./program")
    # Totals make a graph of each step: those of short ways are enough.
    kinds = [kind for kind in ORDERS if depth == 4 or not kind[1]]
    want, want_notes = wanted("a.data", kinds)
    if (sum(want.values()) < 200 or len(want) < 20 or
            not all(any(f"{n}+" in way for way in want) for n in ("odd", "even", "turns"))):
        sys.exit(f"{depth} registers: too few ways: {want.most_common(5)}")
    # Several rows: those of one symbol hold the ways that end there.
    text = good("report", "-i", "a.data", "--branch-history", "--no-children", "-s", "sym", "-g",
                "folded,0,callee,count", "-w", "0", "--percent-limit", "0")
    got = collections.Counter()
    for count, way in re.findall(r"(?m)^(\d+) (\S+;\S.*)$", text):
        if to_main(way):
            got[to_main(way)] += int(count)
    if got != want:
        sys.exit(f"{depth} registers:\nmissing: {(want - got).most_common(3)}\ntoo many: "
                 f"{(got - want).most_common(3)}")

    for kind in kinds:
        order, totals = kind
        got_notes = {}
        for row in json.loads(good("report", "-i", "a.data", "--branch-history", "-s", "sym", "-g", f"graph,0,{order}",
                                   "--percent-limit", "0", "--json", *([] if totals else ["--no-children"])))[
                                       "events"][0]["rows"]:
            noted(row.get("graph", []), (row["symbol"],), got_notes)
        notes = {way: +note for way, note in want_notes[kind].items() if not note["unknown"]}
        wrong = [way for way, note in notes.items() if got_notes.get(way, {}) != note]
        if wrong or len(notes) < 500 or not any(n["from", "iterations"] for n in got_notes.values()):
            sys.exit(f"{depth} registers, {kind}: {len(wrong)} of {len(notes)} notes differ, such as {wrong[:1]}:\n"
                     f"{wrong and notes[wrong[0]]}\n{wrong and got_notes.get(wrong[0])}")

# As perf prints them, where the recording has types of branches.
good("record", "-q", "--pmu=sim,branches=8", "-j", "any,u,save_type", "-g", "-e", "cycles:u", "-c", "1009", "-o",
     "types.data", "--", "./program")
text = good("report", "-i", "types.data", "--branch-history", "--no-children", "-s", "sym", "--percent-limit", "0",
            "-g", "graph,0")
for words in (r"walk\+\S+ \(RET\)", r"(odd|even)\+0 \(CALL\)", r"\(COND_BWD predicted:\d+\.\d%\)", r"\(UNCOND\)",
              r"turns\+\S+ \(cycles:\d+ iter:\d+ avg_cycles:\d+\)", r"main\+\S+ \(calltrace\)"):
    if not re.search(words, text):
        sys.exit(f"nothing like {words} in\n{text[:5000]}")

# Totals: what a function called counts for it, and the chain is as long as it was.
if "main" not in good("report", "-i", "a.data", "--branch-history", "-s", "sym", "-g", "none"):
    sys.exit("no totals of callers")
if "Source:Line" not in good("report", "-i", "a.data", "--branch-history"):
    sys.exit("rows are not of source lines")
good("report", "-i", "a.data", "--branch-history", "--json")

good("record", "-q", "--pmu=sim", "-g", "-e", "cycles:u", "-c", "10007", "-o", "none.data", "--", "./program")
for status, options, words in ((1, ("-i", "none.data"), "record with -b"),
                               (2, ("-i", "a.data", "-b"), "exclude each other"),
                               (2, ("-i", "a.data", "--mem-mode"), "exclude each other"),
                               (2, ("-i", "a.data", "--total-cycles"), "--branch-history"),
                               (2, ("-i", "a.data", "--stats"), "--branch-history")):
    p = run("report", "--branch-history", *options)
    if p.returncode != status or words not in p.stderr:
        sys.exit(f"{options}: exit status {p.returncode}: {p.stderr}")
