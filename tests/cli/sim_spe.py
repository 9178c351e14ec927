#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Arm SPE of the virtual PMU: when every operation is sampled, operations and their events are what it counts; shares
of sampled ones are those of all; filters, threads, processes and refusals; and perf reads the same."""
import json
import os
import re
import shutil
import subprocess
import sys

from lib.checks import Checks
from lib.machine import need, plugin, use_plugin

RETICLE = os.environ["RETICLE"]
COMPILER = "aarch64-linux-gnu-gcc"
FUNCTIONS = "far_loads", "near_loads", "random_branch", "stores"
PROGRAM = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static long table[1 << 20];
static unsigned long state = 88172645463325252ul;
#define NEXT (state ^= state << 13, state ^= state >> 7, state ^= state << 17, state)
#define LOOP for (int i = 0; i < n; i++)
__attribute__((noinline)) long far_loads(int n) { long sum = 0; LOOP sum += table[NEXT % (1 << 20)]; return sum; }
__attribute__((noinline)) long near_loads(int n) { long sum = 0; LOOP sum += table[i & 63]; return sum; }
__attribute__((noinline)) long random_branch(int n)
{ volatile long sum = 0; LOOP if (NEXT & 1) sum += 3; else sum -= 1; return sum; }
__attribute__((noinline)) void stores(int n) { LOOP table[i & 4095] = i; }
static long work(int n) { long sum = far_loads(n) + near_loads(n) + random_branch(n); stores(n); return sum; }
int main(int argc, char **argv)
{
	long sum = work(atoi(argv[1]));
	if (argc > 2 && !fork()) {
		sum += near_loads(20000);
		execl(argv[0], argv[0], "5000", NULL);
	}
	wait(NULL);
	return sum == 1;
}
"""
SHARED = r"""
#include <pthread.h>
#include <sched.h>
struct counters { volatile long first; long between; volatile long second; } __attribute__((aligned(64))) counters;
static pthread_barrier_t start;
/* The threads take turns where there is one CPU for both. On a busy machine each turn waits for others, so few do. */
#define COUNTS(which) static void *count_##which(void *p) { pthread_barrier_wait(&start); \
	for (long i = 0; i < 400000; i++) { counters.which++; if (!(i % 512)) sched_yield(); } return p; }
COUNTS(first)
COUNTS(second)
int main(void)
{
	pthread_t a, b;
	pthread_barrier_init(&start, 0, 2);
	pthread_create(&a, 0, count_first, 0);
	pthread_create(&b, 0, count_second, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
"""
check = Checks()


def run(*words):
    return subprocess.run([RETICLE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def record(name, terms, interval, *command, options=()):
    p = run("record", "-q", "--pmu=sim", "-e", f"arm_spe_0/{terms}/", "-c", str(interval), *options, "-o", name, "--",
            *command)
    if p.returncode or p.stderr:
        print(f"record {terms}: {p.returncode}: {p.stderr}")
        sys.exit(1)


def table(name, *words):
    p = run("spe", "-i", name, "--json", *words)
    if p.returncode:
        print(f"spe {name}: {p.stderr}")
        sys.exit(1)
    return json.loads(p.stdout)


def of_kinds(parts, kind, source=None):
    return sum(p["operations"] for p in parts if p["kind"] == kind and source in (None, p.get("source")))


def every_operation():
    record("every.data", "ts_enable=1", 1, "./program", "2000")
    names = ("instructions", "branches", "branch-misses", "L1-dcache-loads", "L1-dcache-load-misses",
             "L1-dcache-stores", "LLC-load-misses", "dTLB-load-misses", "dTLB-store-misses", "L1-dcache-store-misses")
    text = run("stat", "--pmu=sim", "-x,", "-e", ",".join(names), "--", "./program", "2000").stderr
    counts = {m[2]: int(m[1]) for m in re.finditer(r"^(\d+),[^,]*,([^,:]+)", text, re.M)}
    report = table("every.data", "-s", "pid")["events"][0]
    total, parts = report["total"], report["rows"][0]["kinds"]
    loads, stores = of_kinds(parts, "load"), of_kinds(parts, "store")
    check(f"all instructions: {total['operations']} of {counts}", total["operations"] == counts["instructions"])
    wrong = total["mispredicted_percent"]
    check(f"all branches: {wrong}",
          (wrong["numerator"], wrong["denominator"]) == (counts["branch-misses"], counts["branches"]))
    check(f"all stores: {stores}", stores == counts["L1-dcache-stores"])
    # An atomic operation loads and stores, and is a store.
    check(f"all loads: {loads}", counts["L1-dcache-loads"] - 200 <= loads <= counts["L1-dcache-loads"])
    # An access that lies across two lines may miss twice; and code comes from memory, too.
    far = of_kinds(parts, "load", "DRAM")
    check(f"loads from memory: {far} of {counts['LLC-load-misses']}", 1900 < far <= counts["LLC-load-misses"])
    for what, n, of in (("L1D misses", total["l1d_miss_percent"]["numerator"],
                         counts["L1-dcache-load-misses"] + counts["L1-dcache-store-misses"]),
                        ("page walks", total["tlb_walk_percent"]["numerator"],
                         counts["dTLB-load-misses"] + counts["dTLB-store-misses"])):
        check(f"all {what}: {n} of {of}", n > 100 and 0.98 * of - 5 <= n <= of)


def packets():
    """Latencies follow the model: what answers a load costs what it costs. Branches are of the kind that the code has
    there."""
    text = run("dump", "-v", "-i", "every.data").stdout
    code = subprocess.run([COMPILER.replace("gcc", "objdump"), "-d", "program"], capture_output=True, text=True,
                          check=True).stdout
    kinds = {int(m[1], 16): m[2] for m in re.finditer(r"^ *([0-9a-f]+):\t[0-9a-f]+ *\t(\S+)", code, re.M)}
    branches = {(kinds.get(int(m[1], 16)), m[2])
                for m in re.finditer(r" PC 0x([0-9a-f]+)(?:(?! PC ).)*? B( IND| COND)?\n", text, re.S)}
    of = {kind: {how for k, how in branches if k == kind} for kind in ("ret", "bl", "blr", "cbz")}
    check(f"kinds of branches: {of}", of["ret"] == of["blr"] == {" IND"} and of["bl"] == {None} and
          of["cbz"] == {" COND"})
    seen = set()
    for one in re.split(r"(?<= TS) \d+", text):
        issue, total, source = (re.search(p, one)
                                for p in (r"LAT (\d+) ISSUE", r"LAT (\d+) TOT", r"DATA-SOURCE (\d+)"))
        if source and " AT" not in one and "EV RETIRED" in one:
            seen.add((int(source[1]), "TLB-REFILL" in one, int(total[1]) - int(issue[1])))
    check(f"loads from L1 take 4 cycles: {sorted(seen)}",
          {s for s in seen if s[0] == 0 and not s[1]} == {(0, False, 4)})
    check(f"memory is farther than L2: {sorted(seen)}",
          min((s[2] for s in seen if s[0] == 14), default=0) > max(s[2] for s in seen if s[0] == 8))


def sampled():
    every = {r["symbol"]: r for r in table("every.data", "-s", "symbol")["events"][0]["rows"]}
    record("some.data", "ts_enable=1,jitter=1", 50, "./program", "2000")
    report = table("some.data", "-s", "symbol")["events"][0]
    rows = {r["symbol"]: r for r in report["rows"]}
    whole, n = sum(r["operations"] for r in every.values()), report["total"]["operations"]
    check(f"as many samples as intervals: {n} of {whole}", abs(n - whole / 50) < 0.03 * n)
    for name in FUNCTIONS:
        share, exact = rows[name]["operations"] / n, every[name]["operations"] / whole
        check(f"share of {name}: {share} for {exact}", abs(share - exact) < 4 * (exact / n) ** 0.5)
    wrong = rows["random_branch"]["mispredicted_percent"]
    exact = every["random_branch"]["mispredicted_percent"]["value"]
    check(f"mispredictions: {wrong} for {exact}", wrong["low"] - 5 <= exact <= wrong["high"] + 5)
    record("again.data", "ts_enable=1,jitter=1", 50, "./program", "2000")
    check("recordings are equal", open("some.data", "rb").read() == open("again.data", "rb").read())


def summary():
    """The recorder says how much there is of operations, of which it makes no samples itself."""
    p = run("record", "--pmu=sim", "-e", "arm_spe_0//", "-c", "50", "-o", "x.data", "--", "./program", "1000")
    found = re.search(r"wrote ([0-9.]+) MB to x.data, ([0-9.]+) MB of it of sampled operations, 0 samples", p.stderr)
    check(f"the summary: {p.stderr}", found and 0.02 < float(found[2]) < float(found[1]))


def filters():
    kinds = {"load_filter": {"load"}, "store_filter": {"store"}, "branch_filter": {"branch"}}
    for terms, expected in [*kinds.items(), ("load_filter,store_filter", {"load", "store"})]:
        record("filter.data", "ts_enable=1,jitter," + terms, 100, "./program", "1000")
        parts = table("filter.data", "-s", "pid")["events"][0]["rows"][0]["kinds"]
        check(f"{terms} leaves {parts}", {p["kind"] for p in parts} == expected)
    record("filter.data", "jitter,min_latency=100", 100, "./program", "1000")
    rows = table("filter.data", "-s", "p_stage_cyc,local_weight")["events"][0]["rows"]
    check("only slow operations", rows and all(r["local_weight"] >= 100 for r in rows))
    record("filter.data", "jitter,event_filter=0x80", 100, "./program", "1000")
    total = table("filter.data")["events"][0]["total"]
    check(f"only mispredicted branches: {total}",
          0 < total["operations"] == total["mispredicted_percent"]["numerator"])


def processes():
    record("fork.data", "ts_enable=1,jitter=1", 100, "./program", "1000", "fork")
    found = {(r["pid"], r["symbol"]) for r in table("fork.data", "-s", "pid,symbol")["events"][0]["rows"]}
    check(f"both processes, before and after exec: {found}",
          {(1, "far_loads"), (2, "near_loads"), (2, "far_loads")} <= found)


def sharing():
    record("shared.data", "ts_enable=1,jitter=1,load_filter=1,store_filter=1", 20, "./shared", options=["--data"])
    lines = [line for line in json.loads(run("c2c", "report", "--json", "-i", "shared.data").stdout)["lines"]
             if any(use["object"].startswith("counters") for use in line["uses"])]
    check(f"false sharing: {lines}", len(lines) == 1 and lines[0]["verdict"] == "false sharing" and
          lines[0]["handed_over"] > 0)
    if lines:
        check(f"who stores where: {lines}", {(0, 2, "count_first"), (16, 3, "count_second")} <=
              {(use["offset"], use["tid"], use["symbol"]) for use in lines[0]["uses"] if use["stores"]})
    found = [p for r in table("shared.data", "-s", "symbol_daddr")["events"][0]["rows"] for p in r["kinds"]
             if p.get("source") == "peer core"]
    check("loads from a peer core take longer", found and all(p["total"]["p50"] > 10 for p in found))


def chosen():
    """mem record and c2c record take SPE for such programs; its least latency would leave out stores, too."""
    for words, terms in ((["c2c"], "load_filter=1,store_filter=1,min_latency=0"),
                         (["mem"], "load_filter=1,store_filter=1,min_latency=0"),
                         (["mem", "--type", "load", "--ldlat", "7"], "load_filter=1,store_filter=0,min_latency=7")):
        p = run(*words, "record", "-q", "--pmu=sim", "-c", "20", "-o", "chosen.data", "--", "./shared")
        name = run("evlist", "-i", "chosen.data").stdout.strip()
        check(f"{words}: {name}{p.stderr}", p.returncode == 0 and name == f"arm_spe_0/ts_enable=1,jitter=1,{terms}/")
        if words == ["c2c"]:
            lines = json.loads(run("c2c", "report", "--json", "-i", "chosen.data").stdout)["lines"]
            verdicts = [line["verdict"] for line in lines
                        if any(use["object"].startswith("counters") for use in line["uses"])]
            check(f"c2c record: {lines}", verdicts == ["false sharing"])


def refusals():
    for words, text in ((["-e", "arm_spe_0/load=1/", "--", "./program", "1"], "no term 'load'"),
                        (["-e", "arm_spe_0/min_latency=5000/", "--", "./program", "1"], "at most 0xfff"),
                        (["-e", "arm_spe_0/freq=100/", "--", "./program", "1"], "takes an interval"),
                        (["-e", "arm_spe_0//,arm_spe_0//", "--", "./program", "1"], "recorded once")):
        p = run("record", "-q", "-o", "x.data", "--pmu=sim", *words)
        check(f"{words} is refused: {p.stderr}", p.returncode == 2 and text in p.stderr)
    p = run("record", "-o", "x.data", "--pmu=sim", "-F", "100", "-e", "cycles", "-e", "arm_spe_0//", "--",
            "./program", "1")
    check(f"-F is of others: {p.stderr}", p.returncode == 0 and "-F does not hold for it" in p.stderr and
          "-F does not hold" not in run("record", "-o", "x.data", "--pmu=sim", "-F", "100", "-e", "cycles", "--",
                                        "./program", "1").stderr)
    if os.uname().machine == "x86_64" and shutil.which("qemu-x86_64"):
        p = run("record", "-q", "-o", "x.data", "--pmu=sim", "-e", "arm_spe_0//", "--", "/bin/true")
        check(f"x86 programs: {p.stderr}", p.returncode == 2 and "aarch64 programs only" in p.stderr)


def as_perf_reads_it():
    if not shutil.which("perf"):
        return
    words = ["script", "-i", "some.data", "--itrace=i1i", "-F", "pid,tid,time,event,ip"]
    theirs = subprocess.run(["perf", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    theirs, ours = ([re.sub(r" +[^ ]+ \(.*", "", line) for line in text.splitlines() if "instructions" in line]
                    for text in (theirs, run(*words).stdout))
    check(f"perf has {len(theirs)} operations of {len(ours)}",
          ours and [line.split()[:5] for line in ours] == [line.split()[:5] for line in theirs])


need(None if shutil.which(COMPILER) else f"{COMPILER} is not installed")
need(None if shutil.which("qemu-aarch64") else "qemu-aarch64 is not installed")
need(None if plugin() else "the virtual PMU's plugin was not built")
use_plugin()
for name, source in (("program", PROGRAM), ("shared", SHARED)):
    with open(name + ".c", "w") as out:
        out.write(source)
    subprocess.run([COMPILER, "-O1", "-g", "-static", "-o", name, name + ".c", "-lpthread"], check=True)
for test in (every_operation, packets, sampled, summary, filters, processes, sharing, chosen, refusals,
             as_perf_reads_it):
    test()
sys.exit(check.failed)
