#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""report --total-cycles: the blocks of a program and their cycles are those that the samples' branch records say, as
script prints them; what the option cannot do is said."""
import collections
import json
import os
import re
import subprocess

from lib.machine import need_sim

RETICLE = os.environ["RETICLE"]
PROGRAM = r"""
volatile unsigned sink;
__attribute__((noinline)) unsigned mix(unsigned n)
{
	unsigned s = n;
	for (unsigned i = 0; i < 50; i++) {
		if ((s ^ i) % 7 == 3)
			s ^= i * n;
		else if (i % 5 == 1)
			s += i / 3;
		else
			s -= n >> 2;
	}
	return s;
}
int main(void)
{
	for (unsigned i = 0; i < 4000; i++)
		sink += mix(i);
	return 0;
}
"""


def run(*args, status=0):
    p = subprocess.run([RETICLE, *args], capture_output=True, text=True)
    assert p.returncode == status, (args, p.returncode, p.stderr)
    return p


need_sim()
with open("program.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["cc", "-O1", "-g", "-no-pie", "-o", "program", "program.c"], check=True)
run("record", "-q", "--pmu=sim", "-b", "-c", "3001", "-e", "cycles:u", "-o", "b.data", "--", "./program")

# The functions of the program, and what the records say of code in them.
functions = []
for line in subprocess.run(["nm", "-S", "program"], capture_output=True, text=True, check=True).stdout.splitlines():
    m = re.match(r"(\w+) (\w+) [Tt] (mix|main)$", line)
    if m:
        functions.append((int(m[1], 16), int(m[2], 16), m[3]))
assert len(functions) == 2, functions


def place(address):
    for start, size, name in functions:
        if start <= address < start + size:
            return name, f"{name}+{hex(address - start)}"
    return None, None


expected, times, cycles_of_all, samples = collections.Counter(), collections.Counter(), 0, 0
for line in run("script", "-F", "brstack", "-i", "b.data").stdout.splitlines():
    entries = [e.split("/") for e in line.split()]
    samples += bool(entries)
    cycles_of_all += sum(int(e[5]) for e in entries)
    for newer, older in zip(entries, entries[1:]):
        begin, end, cycles = int(older[1], 16), int(newer[0], 16), int(newer[5])
        (function, first), (other, last) = place(begin), place(end)
        if function and function == other and begin <= end and cycles:
            expected[first, last] += cycles
            times[first, last] += 1
assert samples > 100 and len(expected) > 5, (samples, expected)

found = json.loads(run("report", "--total-cycles", "--json", "-i", "b.data").stdout)
assert found["samples"] == samples, (found["samples"], samples)
assert found["cycles"] == cycles_of_all, (found["cycles"], cycles_of_all)
ours = [b for b in found["blocks"] if b["dso"] == "program" and b["symbol"] in ("mix", "main")]
assert {(b["from"], b["to"]): b["sampled_cycles"] for b in ours} == dict(expected)
for b in ours:
    average = expected[b["from"], b["to"]] / times[b["from"], b["to"]]
    assert abs(b["average_cycles"] - average) <= 0.051, (b, average)
    assert re.search(r"program\.c:\d+$", b["from_line"]), b
in_blocks = [b["sampled_cycles"] for b in found["blocks"]]
assert in_blocks == sorted(in_blocks, reverse=True)

# The same rows as text and CSV; a limit leaves out the others.
text = run("report", "--total-cycles", "-i", "b.data").stdout
top = ours[0]
assert re.search(rf"^ +\d+\.\d\d% +{top['sampled_cycles']} .* {re.escape(top['from'])} +\[program\.c:\d+ -> "
                 rf"program\.c:\d+\] +program", text, re.M), text[:2000]
assert "# Source: simulated" in text
csv = run("report", "--total-cycles", "--csv", "-i", "b.data").stdout.splitlines()
assert (len(csv) == 1 + len(found["blocks"]) and csv[0].endswith(",dso,simulated") and
        csv[1].endswith(",generic-x86")), csv[:2]
assert found["simulated"] == "generic-x86" and found["lost"] == 0
few = json.loads(run("report", "--total-cycles", "--json", "--percent-limit", "10", "-i", "b.data").stdout)["blocks"]
assert few == [b for b in found["blocks"] if b["sampled_cycles"] * 10 >= cycles_of_all] and few

# Branch counters: what each passage of a block counted, and how often a counter was full.
run("record", "-q", "--pmu=sim", "-j", "any,counter", "-c", "30011", "-e", "{cycles:u,branches:u,branch-misses:u}:S",
    "-o", "c.data", "--", "./program")
passages = collections.defaultdict(list)
for line in run("script", "--json", "-F", "event,brcntr", "-i", "c.data").stdout.splitlines():
    sample = json.loads(line)
    entries = sample["branches"] if sample["event"] == "cycles:u" else []  # members have those of their leader
    for newer, older in zip(entries, entries[1:]):
        begin, end = int(older["to"], 16), int(newer["from"], 16)
        (function, first), (other, last) = place(begin), place(end)
        if function and function == other and begin <= end:
            assert [c["event"] for c in newer["counters"]] == ["cycles:u", "branches:u", "branch-misses:u"], newer
            passages[first, last].append([c["count"] for c in newer["counters"]])
counted = [run("report", "--total-cycles", "--json", "--threads", n, "-i", "c.data").stdout for n in ("1", "3")]
assert counted[0] == counted[1]
counted = json.loads(counted[0])
assert counted["counters"] == [{"name": n, "event": e, "most": 3} for n, e in
                               (("A", "cycles:u"), ("B", "branches:u"), ("C", "branch-misses:u"))], counted["counters"]
ours = [b for b in counted["blocks"] if b["dso"] == "program" and b["symbol"] in ("mix", "main")]
assert ours and {(b["from"], b["to"]) for b in ours} <= set(passages)
for b in ours:
    each = passages[b["from"], b["to"]]
    for i, name in enumerate("ABC"):
        values = [p[i] for p in each]
        assert abs(b[f"events_{name}"] - sum(values) / len(values)) <= 0.0051, (b, values)
        assert b[f"full_{name}"] == values.count(3), (b, len(values), collections.Counter(values))
text = run("report", "--total-cycles", "-i", "c.data").stdout
assert "# cycles:u = A\n# branches:u = B\n# branch-misses:u = C\n" in text and "Branch Counter" in text, text[:2000]
signs = ["|"]
for name in "ABC":
    mean = -(-sum(p["ABC".index(name)] for p in passages[ours[0]["from"], ours[0]["to"]]) //
             len(passages[ours[0]["from"], ours[0]["to"]]))
    signs.append(((name * mean or "-") + "+" * (ours[0][f"full_{name}"] > 0)).ljust(4) + "|")
assert re.search(rf"^ +\d+\.\d\d% +{ours[0]['sampled_cycles']} .* {re.escape(''.join(signs))} +" +
                 re.escape(ours[0]["from"]), text, re.M), (signs, text[:2000])
assert len({tuple(p) for each in passages.values() for p in each}) > 5, "counters hardly differ"

# What it cannot do.
assert ("cannot be combined with --sort" in run("report", "--total-cycles", "--sort", "dso", "-i", "b.data",
                                                status=2).stderr)
assert "exclude each other" in run("report", "--total-cycles", "--stats", "-i", "b.data", status=2).stderr
assert ("none of the chosen samples" in run("report", "--total-cycles", "--comms", "nobody", "-i", "b.data",
                                            status=1).stderr)
for option in ["--mem-mode"], ["--legend"], ["--columns", "CPI"], ["-w", "10"], ["--address-range", "1-2"]:
    assert "cannot be combined" in run("report", "--total-cycles", *option, "-i", "b.data", status=2).stderr, option
run("record", "-q", "--pmu=sim", "-c", "30011", "-e", "cycles:u", "-o", "plain.data", "--", "./program")
assert "record with -b" in run("report", "--total-cycles", "-i", "plain.data", status=1).stderr
