#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Call stacks of branch records, cut and stitched, where samples are far apart: not one frame may be wrong, though
most of what shows a call to be another one, or a thread to jump, was overwritten before a sample was taken.

Programs are recorded with a short period, and few of the samples are kept, in many ways: that is what a recording with
a longer period holds, for a fraction of its price."""
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

from lib.lbr_programs import COROUTINES, JUMPS, RETICLE, USER, build, right_frames, run, ways
from lib.machine import need_sim, use_plugin

SAMPLE = 9
INDEX, NO_INDEX = ["--call-graph", "lbr"], ["-j", "stack,u", "-g"]
# Program, its text, the period, and recordings: with so many registers, told or not.
PROGRAMS = [("ways", ways(), 151, ((8, INDEX), (8, NO_INDEX), (10, NO_INDEX), (12, INDEX))),
            ("pointers", ways(12, 1.0), 151, ((8, INDEX), (12, NO_INDEX))),
            ("mixed", ways(13, 0.3), 151, ((8, NO_INDEX), (12, INDEX))),
            ("coroutines", COROUTINES, 401, ((16, INDEX), (32, NO_INDEX))),
            ("jumps", JUMPS, 401, ((8, NO_INDEX), (16, INDEX)))]
ONE_OF, SEEDS = (5, 40, 150, 400, 1000), 4
failed = []


def records(pipe):
    """The recording's head, and its records: whether each is a sample, and its bytes."""
    at, found = 16, []
    while at < len(pipe):
        kind, _, size = struct.unpack_from("<IHH", pipe, at)
        found.append((kind == SAMPLE, pipe[at:at + size]))
        at += size
    return pipe[:16], found


def truth(name):
    """The stacks that the program had, as places in files, by time and address: there may be several."""
    maps = [json.loads(line) for line in run("dump", "--json", "--type", "MMAP2", "-i", name).splitlines()]

    def place(address):
        return next((address - m["start"] + m["pgoff"] for m in maps if m["start"] <= address < m["start"] + m["len"]),
                    address)

    stacks = {}
    for line in run("dump", "--json", "--type", "SAMPLE", "-i", name).splitlines():
        s = json.loads(line)
        if s["callchain"][0] != USER:
            sys.exit("a chain does not begin in user space")
        stacks.setdefault((s["tid"], s["time"], s["ip"]), []).append([place(a) for a in s["callchain"][1:]])
    return stacks


def check(name, stacks, what):
    """Returns how many frames are right, and how many samples there are."""
    right = samples = 0
    for options in ["--no-stitch-lbr"], []:
        for line in run("script", "--json", *options, "-i", name).splitlines():
            s = json.loads(line)
            shown = [int(f["addr"], 16) for f in s["callchain"] if not f.get("inlined")]
            n = max(right_frames(shown, true) for true in stacks[s["tid"], s["time"], int(s["ip"], 16)])
            if n < len(shown):
                failed.append(f"{what} {options}: at {s['time']} frame {n} of {len(shown)} is wrong: {shown[n]:x}")
            right += n
            samples += 1
    return right, samples


need_sim()
use_plugin()
if not shutil.which("cc"):
    print("no C compiler")
    sys.exit(77)
for program, text, period, recordings in PROGRAMS:
    build(program, text)
    for depth, options in recordings:
        with open("dense.data", "wb") as out:
            subprocess.run([RETICLE, "record", "-q", f"--pmu=sim,branches={depth}", *options, "-e",
                            f"cycles/period={period},period-jitter={period // 2}/u", "-o", "-", "--", f"./{program}"],
                           stdout=out, stdin=subprocess.DEVNULL, check=True)
        head, all_records = records(pathlib.Path("dense.data").read_bytes())
        stacks = truth("dense.data")
        sums = [0, 0]
        for one_of in ONE_OF:
            for seed in range(SEEDS):
                rng = random.Random(seed)
                kept = [record for sample, record in all_records if not sample or rng.random() < 1 / one_of]
                pathlib.Path("sparse.data").write_bytes(head + b"".join(kept))
                found = check("sparse.data", stacks,
                              f"{program}, {depth} registers, {options[0]}, 1/{one_of}, seed {seed}")
                sums = [a + b for a, b in zip(sums, found)]
        print(f"{program}, {depth} registers, {options[0]}: {sums[1]} samples, {sums[0]} frames are right", flush=True)
        if not sums[1]:
            failed.append(f"{program}: no samples")
print("\n".join(failed[:30]))
sys.exit(bool(failed))
