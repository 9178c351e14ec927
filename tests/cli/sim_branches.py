#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Branch records of the virtual PMU, held against its own samples of every single branch: what a sample shows is what
ran before it, by all filters, with what was mispredicted. And what cannot be had is refused."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE, SRC = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
plugin = SRC / "build/vpmu/reticle-vpmu.so"  # one with sanitizers does not load into QEMU
if plugin.exists():
    os.environ["RETICLE_VPMU"] = str(plugin)
PROGRAM = r"""
#include <signal.h>
#include <stdlib.h>
volatile unsigned sink;
__attribute__((noinline)) int odd(int n) { sink += n; return n & 1; }
__attribute__((noinline)) int even(int n) { sink ^= n; return !(n & 1); }
int (*volatile which[])(int) = { odd, even };
__attribute__((noinline)) int choose(int n)
{
	switch (n % 8) {
	case 0: return odd(n + 1); case 1: return even(n + 2); case 2: sink += 3; break; case 3: sink *= 5; break;
	case 4: sink ^= 7; break; case 5: sink -= 9; break; case 6: return even(n); case 7: sink += 11; break;
	}
	return 0;
}
void handler(int s) { sink += s; }
int main(void)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < 60; i++) {
		sink += which[i * 7 % 3 % 2](i) + choose(i * i);
		if (i % 20 == 0)
			raise(SIGUSR1);
	}
	return 0;
}
"""


def fail(text):
    print(text)
    sys.exit(1)


def run(*args):
    return subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LD_BIND_NOW": "1"})


def record(name, *args, depth=32):
    p = run("record", "-q", f"--pmu=sim,branches={depth}", "-o", name, *args, "--", "./program")
    if p.returncode or p.stderr:
        fail(f"record {args}: {p.returncode}: {p.stderr}")


def samples(name):
    p = run("dump", "--json", "--type", "SAMPLE", "-i", name)
    if p.returncode:
        fail(f"dump: {p.stderr}")
    return [json.loads(line) for line in p.stdout.splitlines()]


def entries(s):
    return s["branches"]


def sources(s):
    return [b["from"] for b in entries(s)]


def same_as_samples(event, filters, depth):
    """Of an event that counts what the filter lets in, with a period of one: the entries are the samples before it."""
    record("b.data", "-e", f"{event}:u", "-c", 1, "-j", filters, depth=depth)
    found = samples("b.data")
    before = [s["ip"] for s in found]
    for i, s in enumerate(found):
        want = before[max(0, i - depth):i][::-1]
        if sources(s) != want:
            fail(f"{event}, -j {filters}: sample {i} has {sources(s)} instead of {want}")
    return len(found)


need_sim()
if not shutil.which("cc"):
    print("no cc")
    sys.exit(77)
pathlib.Path("program.c").write_text(PROGRAM)
subprocess.check_call(["cc", "-O1", "-g", "program.c", "-o", "program"])

# Calls and returns, one by one.
for depth in 1, 8, 32, 512:
    if same_as_samples("r10002", "any_call,u", depth) < 200 or same_as_samples("re", "any_ret", depth) < 200:
        fail("hardly any calls")

# The other filters, of the same run: each keeps a part of all.
record("any.data", "-e", "instructions:u", "-c", 997, "-j", "any,save_type", depth=512)
kinds = {"cond": {1}, "ind_jmp": {3}, "call": {4}, "ind_call": {5}, "any_call": {4, 5}, "any_ret": {6},
         "cond,ind_call": {1, 5}}
everything = samples("any.data")
seen = set()
for filters, wanted in kinds.items():
    record("part.data", "-e", "instructions:u", "-c", 997, "-j", filters, depth=512)
    part = samples("part.data")
    if len(part) != len(everything):
        fail(f"-j {filters}: {len(part)} samples instead of {len(everything)}")
    for s, full in zip(part, everything):
        want = [b["from"] for b in entries(full) if b["flags"] >> 20 & 15 in wanted]
        if sources(s)[:len(want)] != want:
            fail(f"-j {filters}: {sources(s)[:len(want)]} instead of {want}")
    seen |= {b["flags"] >> 20 & 15 for s in everything for b in entries(s)}
if seen != {1, 2, 3, 4, 5, 6}:
    fail(f"kinds of branches: {seen}")

# What ran between two branches is straight, and short in this program; a signal's handler breaks it.
breaks = steps = 0
for s in everything:
    for newer, older in zip(entries(s), entries(s)[1:]):
        steps += 1
        breaks += not 0 <= newer["from"] - older["to"] < 4096
if breaks * 1000 > steps or not steps:
    fail(f"{breaks} of {steps} entries do not go on from the one before")

# Mispredicted branches: those of them that were taken.
record("wrong.data", "-e", "branch-misses:u", "-c", 1, "-j", "any")
wrong = []
for s in samples("wrong.data"):
    before = iter(wrong[::-1])
    for source in [b["from"] for b in entries(s) if b["flags"] & 1]:
        if source not in before:
            fail(f"{source:x} was not mispredicted")
    if any(b["flags"] & 3 not in (1, 2) for b in entries(s)):
        fail("a branch is neither predicted nor mispredicted")
    wrong.append(s["ip"])
taken = sum(bool(entries(s) and entries(s)[0]["flags"] & 1) for s in samples("wrong.data"))
if not taken:
    fail("no mispredicted branch")
record("unknown.data", "-e", "instructions:u", "-c", 997, "-b", "--pmu=sim,models=none")
unknown = [b for s in samples("unknown.data") for b in entries(s)]
if not unknown or any(b["flags"] & 3 for b in unknown):
    fail("predicted, without a model of prediction")

# What is counted does not depend on it.
totals = []
for options in [], ["-b"], ["--call-graph", "lbr"]:
    record("t.data", "-e", "cycles:u", "-c", 5003, "--truth", "t.json", *options)
    totals.append(json.loads(pathlib.Path("t.json").read_text())["totals"])
if totals[0] != totals[1] or totals[0] != totals[2]:
    fail(f"other counts: {totals}")

# Nor what is shown on how closely the model looks, as it does for the truth.
record("close.data", "-e", "instructions:u", "-c", 997, "-j", "any,save_type", "--truth", "t.json", depth=512)
if [entries(s) for s in samples("close.data")] != [entries(s) for s in everything]:
    fail("other branches with --truth")

# Without words about windows or events: a recording of branches, which report shows as such.
record("plain.data", "-b", "-c", 997)
out = run("report", "-i", "plain.data").stdout
if "Source Symbol" not in out or "cycles:u" not in out:
    fail(f"report of branches: {out}")
out = run("report", "--header-only", "-i", "plain.data").stdout
if "# cpu pmu capabilities: branches=32, branch_counter_nr=4" not in out:
    fail(f"no depth: {out}")
if shutil.which("perf"):
    theirs = subprocess.run(["perf", "script", "-i", "any.data", "-F", "ip,brstack"], capture_output=True,
                            text=True).stdout
    mine = run("script", "-i", "any.data", "-F", "ip,brstack").stdout
    if theirs.split() != mine.split() or not mine:
        fail("script -F ip,brstack differs from perf's")

# Refused, with the word in question.
for filters, word in [("k", "user code"), ("any,k", "user code"), ("hv", "user code"), ("in_tx", "transactions"),
                      ("abort_tx", "transactions"), ("any,stack", "not both")]:
    p = run("record", "--pmu=sim", "-j", filters, "-o", "no.data", "--", "./program")
    if p.returncode != 2 or word not in p.stderr:
        fail(f"-j {filters}: {p.returncode}: {p.stderr}")
p = run("record", "-b", "--call-graph", "lbr", "-o", "no.data", "--", "./program")
if p.returncode != 2 or "exclude each other" not in p.stderr:
    fail(f"-b --call-graph lbr: {p.returncode}: {p.stderr}")
p = run("record", "--pmu=sim,branches=0", "-b", "-o", "no.data", "--", "./program")
if p.returncode != 2 or "at least one record" not in p.stderr:
    fail(f"branches=0: {p.returncode}: {p.stderr}")
