#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call stacks out of copied stacks (--call-graph dwarf) are those that the program had.

The program has what unwinders get wrong: no frame pointers, frames whose size is only known at run time, a callback
from the C library, recursion, longjmp. The virtual PMU keeps the stack of calls that ran, so a recording with `-g` is
the truth for one with copies: whatever stack is unwound must be one of those. Then the same with the kernel's own
samples, where stacks that are not whole have a reason.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.environ["SRCDIR"] + "/tests/cli/lib")
import machine

RETICLE = os.environ["RETICLE"]
os.chdir(os.environ["TESTDIR"])
PROGRAM = r"""
#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned sink;
static jmp_buf env;

__attribute__((noinline)) static unsigned leaf(unsigned n)
{
	unsigned s = 0;

	for (unsigned i = 0; i < n; i++)
		s += (i * n) ^ (s >> 3);
	return s;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	sink += leaf(20);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static unsigned sorted(int n)
{
	int *v = alloca(n * sizeof(*v));

	for (int i = 0; i < n; i++)
		v[i] = i * 7919 % n;
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

__attribute__((noinline)) static unsigned deep(int n)
{
	char b[40];
	unsigned r;

	memset(b, n, sizeof(b));
	r = n ? deep(n - 1) + b[3] : leaf(100);
	sink += r;
	return r + b[n % 40];
}

__attribute__((noinline)) static void thrower(int n)
{
	if (n) {
		thrower(n - 1);
	} else {
		sink += leaf(50);
		longjmp(env, 1);
	}
	sink++;
}

__attribute__((noinline)) static void catcher(void)
{
	if (!setjmp(env))
		thrower(6);
	sink += leaf(30);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 200); i++) {
		sink += sorted(50);
		sink += deep(i % 30);
		catcher();
	}
	return 0;
}
"""
CALLERS = {"sorted": ["main"], "deep": ["main", "deep"], "catcher": ["main"], "thrower": ["catcher", "thrower"],
           "compare": ["msort_with_tmp.part.0", "msort_with_tmp", "qsort_r", "qsort"],
           "leaf": ["compare", "deep", "thrower", "catcher"]}


def fail(text):
    print(text)
    sys.exit(1)


def run(*args):
    r = subprocess.run([RETICLE, *args], capture_output=True, text=True)
    if r.returncode:
        fail(f"{' '.join(args)}: status {r.returncode}\n{r.stderr}")
    return r.stdout


def stacks(data):
    """-> {stack from main to one of the program's functions: weight}. What happens within the C library is left out:
    its function that does not return, longjmp, is called by the last instruction of `thrower`, and the truth's return
    address lies in no function."""
    found = collections.Counter()
    for line in run("export", "--to", "folded", "--no-inline", "-i", data).splitlines():
        frames, _, n = line.rpartition(" ")
        names = frames.split(";")
        if "main" in names and names[-1].split(".")[0] in CALLERS:
            found[";".join(names[names.index("main"):])] += int(n)
    return found


def unwound(data):
    return json.loads(run("report", "--json", "-g", "none", "-i", data))["tally"]["stacks"]


def check_truth():
    # No call of a leaf is shorter than fifty cycles, so whatever stack occurs is in the truth at least once.
    run("record", "--pmu=sim", "-e", "cycles:u", "-c", "50", "-g", "-o", "exact.data", "--", "./p", "200")
    run("record", "--pmu=sim", "-e", "cycles:u", "-c", "5000", "--call-graph", "dwarf,32768", "-o", "copies.data",
        "--", "./p", "200")
    exact, copies, ends = stacks("exact.data"), stacks("copies.data"), unwound("copies.data")
    was = {s[:i] for s in exact for i in range(len(s) + 1) if s[i:i + 1] in ("", ";")}  # and so were all their callers
    wrong = {s: n for s, n in copies.items() if s not in was}
    if wrong:
        fail(f"unwound, but never called so: {wrong}")
    # About fifty samples of the other one.
    missing = [s for s, n in exact.items() if n >= 500 * 500 and s not in copies]
    if missing:
        fail(f"never unwound: {missing}")
    for part in "compare;leaf", "deep;deep;deep;deep;deep;deep;leaf", "thrower;thrower;thrower;leaf":
        if not any(part in s for s in copies):
            fail(f"no stack has {part}: {sorted(copies)[:20]}")
    if ends["whole"] < 0.99 * ends["stacks"] or ends["stacks"] < 500:
        fail(f"the truth's program: {ends}")


def check_kernel():
    """Real samples; and perf, which shows the same innermost frames."""
    run("record", "-q", "-e", "cpu-clock:u", "-F", "997", "--call-graph", "dwarf,16384", "-o", "real.data", "--",
        "./p", "20000")
    ends = unwound("real.data")
    if ends["whole"] < 0.97 * ends["stacks"] or ends["stacks"] < 50:
        fail(f"samples of the kernel: {ends}")
    for stack in stacks("real.data"):
        names = stack.split(";")
        for caller, callee in zip(names, names[1:]):
            if callee in CALLERS and caller not in CALLERS[callee]:
                fail(f"{caller} does not call {callee}: {stack}")
    # A copy that is too small is said to be, with the way out.
    run("record", "-q", "-e", "cpu-clock:u", "-F", "997", "--call-graph", "dwarf,128", "-o", "small.data", "--", "./p",
        "5000")
    head = run("report", "-g", "none", "-i", "small.data")
    if "too little of the stack was copied: --call-graph dwarf,256)" not in head:
        fail(f"small copies: {head[:600]}")


with open("p.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["cc", "-O2", "-g", "-fomit-frame-pointer", "p.c", "-o", "p"], check=True)
machine.need_recording()
check_kernel()
machine.need_sim()
check_truth()
