#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Call stacks of branch records, cut and stitched, against the stacks that the program had: --pmu=sim --call-graph lbr
writes both into each sample, the exact one as its call chain. Not one frame that is shown may be wrong, and as many as
before have to be found: without numbers of registers (hw_idx) 90 % of what is found with them. Depths of 32, 16 and 8;
recursion, a chain of 43 functions, longjmp, C++ exceptions, eight threads, functions with several callers, coroutines,
handlers of signals."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.lbr_programs import (CHAIN, COROUTINES, EXCEPTIONS, JUMPS, RECURSION, SIGNALS, THREADS, build, exact, frames,
                              is_call, right_frames, run, ways)
from lib.machine import need_sim

SRC = pathlib.Path(os.environ["SRCDIR"])
plugin = SRC / "build/vpmu/reticle-vpmu.so"  # one with sanitizers does not load into QEMU
if plugin.exists():
    os.environ["RETICLE_VPMU"] = str(plugin)
PERIOD = 1009
# Program, its text, and what part of its frames has to be found with 32, 16 and 8 registers.
PROGRAMS = [("recursion", RECURSION, (0.45, 0.30, 0.24)), ("chain", CHAIN, (0.60, 0.35, 0.20)),
            ("jumps", JUMPS, (0.20, 0.20, 0.20)), ("exceptions", EXCEPTIONS, (0.30, 0.30, 0.30)),
            ("threads", THREADS, (0.60, 0.35, 0.22)), ("ways", ways(), (0.99, 0.67, 0.42)),
            ("coroutines", COROUTINES, (0.27, 0.27, 0.27)), ("signals", SIGNALS, (0.25, 0.25, 0.25))]
LBR, NO_INDEX = ["--call-graph", "lbr"], ["-j", "stack,u", "-g"]
failed = []


def frames_of_perf(name):
    """What perf --stitch-lbr shows, in the same order: of the innermost frame it shows the function's beginning."""
    out = subprocess.run(["perf", "script", "-i", name, "-F", "ip", "--stitch-lbr"], capture_output=True,
                         text=True).stdout
    return [[int(line, 16) for line in sample.split()] for sample in out.split("\n\n") if sample.strip()]


def right_of_perf(name, want):
    """perf's figure is beside ours; its addresses are compared within their page."""
    right = wrong = 0
    for got, chain in zip(frames_of_perf(name), want):
        n = 1
        while n < min(len(got), len(chain)) and is_call(0, (chain[n] - got[n]) % 4096):
            n += 1
        right += n
        wrong += len(got) - n
    return f"perf {right}, {wrong} wrong"


def compare(name, shown, want):
    """How many frames are right, and how many of those behind the first wrong one are stitched or not."""
    right = wrong = 0
    if not want or len(shown) != len(want):
        failed.append(f"{name}: {len(shown)} samples shown of {len(want)}")
    for (got, stitched), chain in zip(shown, want):
        n = right_frames(got, chain)
        right += n
        wrong += len(got) - n
        if n < len(got):
            failed.append(f"{name}: frame {n} of {len(got)} ({stitched} stitched): {got[n]:x} instead of "
                          f"{chain[n] if n < len(chain) else 0:x}")
    return right, wrong


need_sim()
if not shutil.which("c++") or os.uname().machine != "x86_64":
    print("no c++, or not on x86_64")
    sys.exit(77)
for program, text, least in PROGRAMS:
    build(program, text)
    for depth, part in zip((32, 16, 8), least):
        with_index = 0
        for options in LBR, NO_INDEX:
            name = f"{program}-{depth}{'-no-index' if options == NO_INDEX else ''}.data"
            run("record", "-q", f"--pmu=sim,branches={depth}", *options, "-e", "cycles:u", "-c", PERIOD, "-o", name,
                "--", f"./{program}")
            want = exact(name)
            alone, _ = compare(name, list(frames(name, "--no-stitch-lbr")), want)
            right, wrong = compare(name, list(frames(name)), want)
            total = sum(map(len, want))
            beside = "; " + right_of_perf(name, want) if options == LBR and shutil.which("perf") else ""
            print(f"{name}: {len(want)} samples, {total} frames; found {right}, {alone} of them without stitching, "
                  f"{wrong} wrong{beside}")
            # Threads run in an order of their own, so that two recordings need not have the same samples.
            if right < alone or right / total < (part if options == LBR else 0.9 * with_index):
                failed.append(f"{name}: only {right} of {total} frames are found")
            with_index = right / total
# Where the first jumps of a thread show depends on which of its calls samples meet, so many ways to meet them are
# drawn.
for program, periods in ("jumps", (1009, 4001, 15013)), ("coroutines", (1009, 1511, 2003)):
    for seed in range(1, 13):
        period = periods[seed % 3]
        run("record", "-q", f"--pmu=sim,branches=8,seed={seed}", *(LBR, NO_INDEX)[seed % 2], "-e",
            f"cycles/period={period},period-jitter={period // 2}/u", "-o", "drawn.data", "--", f"./{program}")
        compare("drawn.data", list(frames("drawn.data")), exact("drawn.data"))
# With so few registers, what shows that a call is another one is mostly overwritten: nothing is stitched.
for program in "ways", "chain":
    run("record", "-q", "--pmu=sim,branches=7", *LBR, "-e", "cycles:u", "-c", PERIOD, "-o", "few.data", "--",
        f"./{program}")
    shown = list(frames("few.data"))
    compare("few.data", shown, exact("few.data"))
    if any(stitched for _, stitched in shown):
        failed.append(f"{program}: stitched with 7 registers")
# Recursion without a jump, sampled often while the program starts: samples in the first entry of the PLT, and in the
# dynamic linker, are none either.
for seed in range(1, 13):
    run("record", "-q", f"--pmu=sim,branches=16,seed={seed}", "--call-graph", "lbr", "-e", "cycles:u", "-c",
        300 + seed, "-o", "starts.data", "--", "./recursion")
    # Single stacks are cut where code is entered in a way that it does not show; after a jump most would be.
    cut = re.search(r"(\d+) cut where", run("report", "-i", "starts.data"))
    if cut and int(cut[1]) > 3:
        failed.append(f"recursion is taken for a jump, seed {seed}")
print("\n".join(failed[:30]))
sys.exit(bool(failed))
