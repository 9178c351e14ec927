#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/run: what samples take from a program is found among what else disturbs its rounds."""
# check: no binary, plain
import importlib.machinery
import importlib.util
import itertools
import os
import pathlib
import sys

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("bench", str(pathlib.Path(os.environ["SRCDIR"]) / "bench" / "run"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
loader.exec_module(bench)

ROUND, SAMPLE, TICK, STILL = 30_000, 20_000, 50_000, 5_000_000
failed = 0


def check(what, rounds, samples, want):
    """rounds: what each took; samples: (round, ns into it)"""
    global failed
    done = list(itertools.accumulate(rounds, initial=10**12))
    got = bench.slowdown(done, sorted(done[at] + ns for at, ns in samples))
    if abs(got - want) > 1e-12:
        print(f"{what}: {got}, not {want}")
        failed += 1


plain = [ROUND] * 1000
check("none", plain, [], 1)
check("before and after", [ROUND + TICK] + plain, [(0, -5), (1000, ROUND + 5)], 1)
check("other interrupts", [ROUND + TICK * (i % 7 == 0) for i in range(1000)], [], 1)
whole = bench.slowdown(list(itertools.accumulate([ROUND + TICK, ROUND + SAMPLE] + plain, initial=0)),
                       range(0, 10**9, 7))
if abs(whole - 1 - (TICK + SAMPLE) / (1002 * ROUND)) > 1e-12:
    print(f"all rounds: {whole}")
    failed += 1

# Every tenth round has a sample; others have ticks, one of them a sample too, and the machine stands still in two.
sampled = set(range(5, 1000, 10))
rounds = [ROUND + SAMPLE * (i in sampled) + TICK * (i % 7 == 0) for i in range(1000)]
ticks = sum(i % 7 == 0 for i in sampled)
taken = SAMPLE * len(sampled) + TICK * ticks
check("samples", rounds, [(i, ROUND // 2) for i in sampled], 1 + taken / (1000 * ROUND))
rounds[3] += STILL
rounds[5] += STILL
taken -= SAMPLE + TICK * (5 % 7 == 0)
check("stood still", rounds, [(i, ROUND // 2) for i in sampled], 1 + taken / (1000 * ROUND))
check("two in a round", rounds, [(i, ns) for i in sampled for ns in (7, ROUND // 2)], 1 + taken / (1000 * ROUND))

# A program that grows slower by and by is compared with its own neighbourhood.
rounds = [ROUND + 3000 * (i // 300) for i in range(1200)]
usual = sum(rounds)
for i in range(0, 1200, 10):
    rounds[i] += SAMPLE
check("slower by and by", rounds, [(i, 1) for i in range(0, 1200, 10)], 1 + 120 * SAMPLE / usual)
sys.exit(failed > 0)
