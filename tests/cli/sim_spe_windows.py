#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Metrics of short functions from a PMU whose addresses are late, with Arm SPE beside it, against exact counts: what
operations tell is right and not marked, where windows alone know nothing. Operations that were filtered, or stand for
another number than was counted, are not used, and the report says so."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

from lib.checks import Checks
from lib.leaves import LEAVES
from lib.machine import need, plugin, use_plugin

RETICLE = os.environ["RETICLE"]
COMPILER = "aarch64-linux-gnu-gcc"
PROGRAM = LEAVES + r"""
static volatile uint64_t table[1 << 18];
APART uint64_t fetch(uint64_t a) { __asm__ volatile("" : "+r"(a)); return table[a % (1 << 18)]; }
APART uint64_t works(long n)
{
	uint64_t s = 0;
	for (long i = 0; i < n; i++)
		s += divide(next(), i) + guess(next()) + quiet(i) + fetch(next());
	return s;
}
int main(void)
{
	for (long k = 0; k < 100; k++)
		sink = works(3000);
	return 0;
}
"""
LEAVES = "divide", "quiet", "guess", "fetch"
FORMULAS = {"%I": ("instructions", None, 100), "BM/KI": ("branch-misses", "instructions", 1000),
            "L1D/KI": ("L1-dcache-load-misses", "instructions", 1000), "CPI": ("cycles", "instructions", 1)}
BY_OPERATIONS = "%I", "BM/KI", "L1D/KI"
GROUP = "{cycles/period=4700,alt-period=300/,instructions,branch-misses,L1-dcache-load-misses}:uS"
INTERVAL = 211
CONFIG = 1 << 16 | 1  # jitter, ts_enable
SPE = f"arm_spe_0/period={INTERVAL},ts_enable=1,jitter=1"
SENTENCE = ("# Samples of instructions, branch-misses and L1-dcache-load-misses are operations that Arm SPE sampled, "
            "with exact addresses; those of cycles are late")
ENVIRONMENT = 8192  # bytes
FAR = 2.5  # times as wide as a 95 % interval: 4.9 standard errors, which chance does not miss
check = Checks()


def environment():
    """As large wherever the test runs: strings of the environment decide where the stack begins."""
    names = "PATH", "HOME", "RETICLE_VPMU", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"
    kept = {name: os.environ.get(name, "") for name in names}
    return {**kept, "PAD": "x" * (ENVIRONMENT - sum(map(len, kept.values())))}


def run(*words):
    p = subprocess.run([RETICLE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment())
    if p.returncode:
        print(f"{words}: {p.returncode}: {p.stderr}")
        sys.exit(1)
    return p.stdout


def record(path, *events, options=()):
    events = [word for e in events for word in ("-e", e)]
    run("record", "-q", "--pmu=sim,seed=7,skid=0-40", *events, "-o", path, *options, "--", "./program")


def table(path, *options):
    text = run("report", "--json", "--percent-limit", "0", "-s", "symbol", "-i", path, *options)
    return json.loads(text)["events"][0]


def functions(path, *options):
    """-> {function: {metric: ...}}"""
    return {row["symbol"]: row["metrics"] for row in table(path, *options)["rows"]}


def lines(path, *options):
    return [line for line in run("report", "--stdio", "-i", path, *options).splitlines() if line.startswith("#")]


def true_values():
    record("truth.data", SPE + "/u", options=["--truth", "truth.json"])
    truth = json.loads(pathlib.Path("truth.json").read_text())
    check("the truth is complete", truth["complete"])
    totals, found = truth["totals"], {f["symbol"]: f["counts"] for f in truth["functions"]}
    return {name: {m: scale * found[name].get(a, 0) / (found[name][b] if b else totals[a])
                   for m, (a, b, scale) in FORMULAS.items()} for name in (*LEAVES, "works")}


def with_operations(truth):
    record("both.data", GROUP, SPE + "/u")
    rows = functions("both.data")
    for name, values in truth.items():
        for m in BY_OPERATIONS:
            of, want = rows[name][m], values[m]
            side = of["value"] - of["low"] if want < of["value"] else of["high"] - of["value"]
            check(f"{name}: {m} is {of}, the truth is {want}", abs(want - of["value"]) <= FAR * side + 1e-6 * want)
            check(f"{name}: {m} is not marked: {of}", not of["doubtful"])
        # Nothing samples cycles exactly.
        check(f"{name}: CPI is marked: {rows[name]['CPI']}", rows[name]["CPI"]["doubtful"])
    check(f"what they miss is far apart: {truth}", truth["guess"]["BM/KI"] > 50 * max(truth["quiet"]["BM/KI"], 0.1) and
          truth["fetch"]["L1D/KI"] > 50 * max(truth["guess"]["L1D/KI"], 0.1))
    text = lines("both.data")
    check(f"the head says it: {text[:8]}", text[6].startswith(SENTENCE))
    said = {o["event"]: o["used"] and abs(o["stand_for"] - 1) < 0.1 for o in table("both.data")["group"]["operations"]}
    check(f"and JSON: {said}", said == dict.fromkeys(("instructions", "branch-misses", "L1-dcache-load-misses"), True))
    check("with --header, too", any(line.startswith(SENTENCE) for line in lines("both.data", "--header")))
    check("no other reason", not any("No event has samples" in line or "Arm SPE's" in line for line in text))
    names = [re.search("event '([^']*)'", line)[1] for line in text if "of event '" in line]
    check(f"what serves the table has no other: {names}", "instructions" not in names and "l1d-miss" in names)
    check("--itrace changes nothing of it", functions("both.data", "--itrace=b") == rows)
    check("nor do workers", functions("both.data", "--threads", "3") == rows)
    names = [line for line in lines("both.data", "--no-metrics") if "of event 'instructions'" in line]
    check(f"nothing is made of them without metrics: {names}", len(names) == 1)
    text = lines("both.data", "--attribution", "discard")
    check("windows alone, if asked", not any("Arm SPE" in line for line in text))


def alone(truth):
    record("alone.data", GROUP)
    rows = functions("alone.data")
    for name in LEAVES:
        for m in BY_OPERATIONS:
            check(f"windows alone: {name}: {m} is marked: {rows[name][m]}", rows[name][m]["doubtful"])
    found = {name: (rows[name]["BM/KI"]["value"], truth[name]["BM/KI"]) for name in LEAVES}
    off = {name: values for name, values in found.items() if not abs(values[0] - values[1]) < 0.5 * values[1]}
    check(f"windows alone mix them: {off}", len(off) >= 2)
    text = lines("alone.data")
    check("nothing is exact", any(line.startswith("# No event has samples with exact addresses") for line in text) and
          not any("Arm SPE" in line for line in text))
    return rows


def filtered(rows):
    record("loads.data", GROUP, SPE + ",load_filter=1/u")
    check("filtered operations are not used", functions("loads.data") == rows)
    group = table("loads.data")["group"]
    check(f"JSON says it: {group}", "filtered" in group["operations_left_out"] and "operations" not in group)
    text = lines("loads.data")
    check(f"it is said why: {text}", any(line.startswith("# The operations that Arm SPE sampled are not used for this "
                                                         "table: they were filtered") for line in text))


def other_numbers(truth, rows):
    """The same operations, as if each stood for fewer or more: what is not explained is in the intervals, or they are
    not used."""
    data = pathlib.Path("both.data").read_bytes()
    attr = struct.pack("<QQ", CONFIG, INTERVAL)  # config and sample_period of its attr
    check("the attr is there", attr in data)
    used = functions("both.data")
    for other, said in ((INTERVAL * 9 // 10, "intervals include the difference"),
                        (INTERVAL * 2, "they are not used for them")):
        pathlib.Path("other.data").write_bytes(data.replace(attr, struct.pack("<QQ", CONFIG, other)))
        text = lines("other.data")
        of = functions("other.data")["quiet"]["%I"]
        percent = other * 100 / INTERVAL
        line = next((line for line in text if line.startswith("# Arm SPE's operations stand for ") and
                     "of the instructions" in line), "")
        check(f"{other}: {line}", said in line and abs(float(re.search(r"(\d+)%", line)[1]) - percent) <= 1)
        if other < INTERVAL:
            half, before = of["high"] - of["value"], used["quiet"]["%I"]
            check(f"{of}: a tenth more, as a standard deviation", of["value"] == before["value"] and
                  0.15 * of["value"] < half < 0.22 * of["value"])
        else:
            check(f"{of}: as of windows alone", of["doubtful"])


need(None if shutil.which(COMPILER) else f"{COMPILER} is not installed")
need(None if shutil.which("qemu-aarch64") else "qemu-aarch64 is not installed")
need(None if plugin() else "the virtual PMU's plugin was not built")
use_plugin()
pathlib.Path("program.c").write_text(PROGRAM)
subprocess.run([COMPILER, "-O2", "-g", "-static", "-o", "program", "program.c"], check=True)
true = true_values()
with_operations(true)
by_windows = alone(true)
filtered(by_windows)
other_numbers(true, by_windows)
sys.exit(check.failed)
