#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: leaks
"""False sharing, true sharing and neither are told apart on simulated cores: line, offsets, threads, object, verdict;
and perf's own c2c report counts the same."""
import json
import os
import re
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE = os.environ["RETICLE"]
failed = 0

# Both threads begin together, and do what THREAD says until it was done often enough.
PROGRAM = """
#include <pthread.h>
struct shared { volatile long first; long between[PAD]; volatile long second; } __attribute__((aligned(64)));
struct shared counters;
static pthread_barrier_t start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *count_first(void *p) { pthread_barrier_wait(&start); for (long i = 0; i < N; i++) { FIRST; } return p; }
static void *count_second(void *p) { pthread_barrier_wait(&start); for (long i = 0; i < N; i++) { SECOND; } return p; }
int main(void)
{
	pthread_t a, b;
	pthread_barrier_init(&start, 0, 2);
	pthread_create(&a, 0, count_first, 0);
	pthread_create(&b, 0, count_second, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return pthread_mutex_trylock(&lock);
}
"""
OWN = ("counters.first++", "counters.second++")
# name: padding, what the threads do, how often, the verdict of the line of `counters`
PROGRAMS = {
    "false": (1, *OWN, 3000000, "false sharing"),
    "padded": (15, *OWN, 3000000, None),
    "true": (1, "counters.first++", "counters.first++", 3000000, "true sharing"),
    "atomic": (1, *["__atomic_fetch_add(&counters.first, 1, 5)"] * 2, 1000000, "true sharing"),
}


def complain(text):
    global failed
    print(text)
    failed = 1


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def record(name, compiler, more=()):
    pad, first, second, times, _ = PROGRAMS[name]
    with open(name + ".c", "w") as out:
        out.write(PROGRAM)
    subprocess.run([*compiler, "-O1", "-g", f"-DPAD={pad}", f"-DN={times}", f"-DFIRST={first}", f"-DSECOND={second}",
                    "-o", name, name + ".c", "-lpthread"], check=True)
    done = run(RETICLE, "c2c", "record", "-q", "-o", name + ".data", "--pmu=sim" + "".join(more), "-c", "100", "--",
               "./" + name)
    if done.returncode:
        complain(f"{name}: record ends with {done.returncode}: {done.stderr}")


def of_counters(report):
    return [line for line in report["lines"] if any(use["object"].startswith("counters") for use in line["uses"])]


def check(name):
    verdict = PROGRAMS[name][4]
    done = run(RETICLE, "c2c", "report", "--json", "--lines", "0", "-i", name + ".data")
    report = json.loads(done.stdout)
    if verdict is None:
        if any(line["verdict"].startswith("false") for line in report["lines"]):
            complain(f"{name}: a false alarm: {report['lines']}")
        return report
    lines = of_counters(report)
    if len(lines) != 1 or lines[0]["verdict"] != verdict:
        complain(f"{name}: {[line['verdict'] for line in lines]}, not {verdict}")
        return report
    uses = {(use["offset"], use["tid"], use["symbol"]) for use in lines[0]["uses"] if use["stores"]}
    wanted = {(0, 2, "count_first"), (16 if verdict == "false sharing" else 0, 3, "count_second")}
    if not wanted <= uses or lines[0]["threads"] != 2 or lines[0]["cpus"] != 2:
        complain(f"{name}: stores {uses}, not {wanted}; {lines[0]['threads']} threads on {lines[0]['cpus']} CPUs")
    if not lines[0]["handed_over"] or lines[0]["handed_over"] != sum(use["handed_over"] for use in lines[0]["uses"]):
        complain(f"{name}: handed over {lines[0]['handed_over']} times")
    return report


def compare(name, report):
    """What perf makes of the same file."""
    text = run("perf", "c2c", "report", "--stdio", "--stats", "-i", name + ".data").stdout
    theirs = {what: int(n) for what, n in re.findall(r"^ +(\w[^:]*?) +: +(\d+)$", text, re.M)}
    ours = {"Load Operations": report["loads"], "Load Local HITM": report["handed_over"],
            "Store Operations": report["stores"], "Store L1D Miss": report["store_misses"]}
    for what, n in ours.items():
        if theirs.get(what) != n:
            complain(f"{name}: {what}: {n}, perf has {theirs.get(what)}")


if run("cc", "--version").returncode or os.uname().machine != "x86_64":
    print("needs a C compiler and an x86_64 machine")
    sys.exit(77)
need_sim()
reports = {}
for program in PROGRAMS:
    record(program, ["cc"])
    reports[program] = check(program)
if shutil.which("perf"):
    compare("false", reports["false"])
text = run(RETICLE, "c2c", "report", "-i", "false.data").stdout
for wanted in ("Verdict: false sharing.", "48 bytes of padding", "count_second in thread 3 stores to counters+0x10",
               "false.c:"):
    if wanted not in text:
        complain(f"the report does not say '{wanted}':\n{text}")
# Names wider than their header move the header along with them.
lines = text.splitlines()
head = next(i for i, line in enumerate(lines) if line.startswith("# Offset"))
end = lines[head].index("Thread") + len("Thread")
uses = lines[head + 1:lines.index("", head)]
if len(uses) < 2 or any(not use[end - 7:end].strip().isdigit() or use[end:end + 2] != "  " for use in uses):
    complain(f"the columns of the uses are not aligned:\n{text}")
if "instructions, like a lock" not in run(RETICLE, "c2c", "report", "-i", "atomic.data").stdout:
    complain("atomic: locked instructions are not named")

# What cannot be: two bounds at once; a recording that says nothing of memory.
done = run(RETICLE, "record", "-q", "-o", "x.data", "--pmu=sim", "-e",
           "cpu/mem-loads,ldlat=30/,cpu/mem-loads,ldlat=50/", "--", "/bin/true")
if done.returncode == 0 or "one ldlat" not in done.stderr:
    complain(f"two bounds: {done.returncode} {done.stderr}")
run(RETICLE, "record", "-q", "-o", "plain.data", "--pmu=sim", "--", "/bin/true")
# The recording is at fault, not the command line: as where spe, activity and others have nothing to show.
for words in (["c2c", "report"], ["mem", "report"], ["report", "--mem-mode"]):
    done = run(RETICLE, *words, "plain.data")
    if done.returncode != 1 or "plain.data: the samples do not say what was loaded" not in done.stderr or done.stdout:
        complain(f"{words}: no accesses: {done.returncode} {done.stderr}")
sys.exit(failed)
