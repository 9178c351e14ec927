#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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
