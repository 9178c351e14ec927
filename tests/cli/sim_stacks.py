#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Chains of the virtual PMU against what the program itself knows, where calls do not nest (tests/sim/walks.c) and
where stacks change (tests/sim/coroutines.c)."""
import json
import os
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE, SRC = os.environ["RETICLE"], os.environ["SRCDIR"]
FLAGS = ["-g", "-D_GNU_SOURCE", "-fno-optimize-sibling-calls", "-pthread"]
PROGRAMS = [("walks", 20, 20), ("coroutines", 6, 4 * 12 * 5 + 12 * 3 + 3)]  # source, places, chains that it tells
LIBRARY_FRAMES = 12  # "*" stands for at most so many
USER = 0xfffffffffffffe00
failed = []


def matches(want, chain):
    if not want:
        return not chain
    if want[0] == "*":
        return any(matches(want[1:], chain[k:]) for k in range(min(LIBRARY_FRAMES, len(chain)) + 1))
    return bool(chain) and int(want[0], 16) == chain[0] and matches(want[1:], chain[1:])


def spin_ranges(program, main):
    """place -> addresses of its function"""
    ranges, base = {}, 0
    for line in subprocess.check_output(["nm", "-S", program], text=True).splitlines():
        words = line.split()
        if words[-1] == "main":
            base = main - int(words[0], 16)
        if words[-1].startswith("spin_"):
            ranges[int(words[-1][5:])] = (int(words[0], 16), int(words[0], 16) + int(words[1], 16))
    return {place: range(base + a, base + b) for place, (a, b) in ranges.items()}


def compare(name, places, told):
    done = subprocess.run([RETICLE, "record", "-q", "--pmu=sim", "-g", "-e", "cycles", "-c", "2500", "-o",
                           "walks.data", "--", "./" + name], text=True, capture_output=True)
    if done.returncode or done.stderr:
        failed.append(f"{name}: status {done.returncode}: {done.stderr}")
        return
    want = {}
    for words in map(str.split, done.stdout.splitlines()):
        want.setdefault(words[0], []).append(words[1:])
    ranges = spin_ranges(name, int(want.pop("main")[0][0], 16))
    chains = {place: set() for place in ranges}
    dump = subprocess.check_output([RETICLE, "dump", "-i", "walks.data", "--json", "--type", "SAMPLE"], text=True)
    for line in dump.splitlines():
        context, ip, *chain = json.loads(line)["callchain"]
        if context != USER:
            failed.append(f"{name}: a chain begins with {context:x}")
        for place, addresses in ranges.items():
            if ip in addresses:
                chains[place].add(tuple(chain))
    if len(want) != places or sum(map(len, want.values())) != told:
        failed.append(f"{name}: {len(want)} places, {sum(map(len, want.values()))} chains")
    for place, expected in want.items():
        seen = chains[int(place)]
        # What begins with "*" was told by the function that spins, the rest by probe, whose own frame comes first.
        skip = [0 if e[0] == "*" else 1 for e in expected]
        for e, k in zip(expected, skip):
            if not any(matches(e, chain[k:]) for chain in seen):
                failed.append(f"{name}: place {place}: not seen: {' '.join(e)}")
        for chain in seen:
            if not any(matches(e, chain[k:]) for e, k in zip(expected, skip)):
                failed.append(f"{name}: place {place}: seen {' '.join(f'{a:x}' for a in chain)}")


need_sim()
for compiler in "cc", "clang", "aarch64-linux-gnu-gcc":
    for level in "-O0", "-O2":
        for source, places, told in PROGRAMS if shutil.which(compiler) else []:
            name = f"{source}-{compiler}{level}"
            subprocess.check_call([compiler, level, *FLAGS, f"{SRC}/tests/sim/{source}.c", "-o", name])
            compare(name, places, told)
print("\n".join(failed))
sys.exit(bool(failed))
