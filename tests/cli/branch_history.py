#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report --branch-history: each sample's branches stand before its callers, as `script` shows both. Loops are shown
once, and so are calls."""
import collections
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
    out = []
    for b in branches:
        out.append(b)
        for n in range(1, len(out) // 2 + 1):
            if [x[0] for x in out[-n:]] == [x[0] for x in out[-2 * n:-n]]:
                del out[-n:]
                break
    return out


def to_main(way):
    """What called main has no frame pointers. None: it is not under main."""
    steps = way.split(";")
    mains = [i for i, step in enumerate(steps) if step.startswith("main+")]
    return ";".join(steps[:mains[-1] + 1]) if mains else None


def wanted(path):
    """-> how often each way leads to a sample, from what script shows of each"""
    ways = collections.Counter()
    for sample in good("script", "-i", path, "-F", "ip,sym,symoff,brstacksym").strip().split("\n\n"):
        chain, branches = [], []
        for line in sample.splitlines():
            if "/" in line:
                branches = [b.split("/")[:2] for b in line.split()]
            elif line.strip():
                chain.append(line.split()[1])
        callers = chain[1:]
        way = [place(chain[0])]
        for source, target in without_loops(branches):
            way += [place(target), place(source)]
            # The call that a caller has made: from there it is a few bytes to where it goes on.
            if callers:
                name, _, offset = callers[0].rpartition("+0x")
                calls, _, at = source.rpartition("+0x")
                if name == calls and 0 < int(offset, 16) - int(at, 16) <= 8:
                    callers = callers[1:]
        way = to_main(";".join(way + [place(c, 1) for c in callers]))
        if way:
            ways[way] += 1
    return ways


need_sim()
with open("program.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-static", "-o", "program", "program.c"], check=True)
for depth in 4, 16, 32:
    good("record", "-q", f"--pmu=sim,branches={depth}", "-b", "-g", "-e", "cycles:u", "-c", "1009", "-o", "a.data",
         "--", "./program")
    want = wanted("a.data")
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
