#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""record --truth of sampled operations: each field of each record of Arm SPE (aarch64) and of mem-loads and mem-stores
(x86_64) is what the simulated core knows, physical addresses too; filters leave out what they say."""
import csv
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
# As seed programs are recorded: all kinds, all that packets can hold.
TERMS = "branch_filter=1,load_filter=1,store_filter=1,ts_enable=1,pct_enable=1,pa_enable=1,jitter=1"
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static long table[1 << 18], total;
static unsigned long state = 88172645463325252ul;
#define NEXT (state ^= state << 13, state ^= state >> 7, state ^= state << 17, state)
static long even(long n) { return n + 1; }
static long odd(long n) { return n - 1; }
static long (*volatile calls[2])(long) = { even, odd };
__attribute__((noinline)) long work(int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		sum += table[NEXT % (1 << 18)];
		if (NEXT & 1)
			table[i & 4095] = sum;
		sum = calls[NEXT & 1](sum);
		__atomic_fetch_add(&total, sum, __ATOMIC_SEQ_CST);
	}
	return sum;
}
/* Through more than the second level of the cache holds, and again, so that each level serves some of it. */
__attribute__((noinline)) long sweep(void)
{
	long sum = 0;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 1 << 18; i += 8)
			sum += table[i];
	return sum;
}
static void *thread(void *p) { work(1000); return p; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	total = sweep();
	work(2000);
	pthread_join(t, 0);
	if (!fork())
		_exit(work(1000) == 1);
	wait(0);
	return 0;
}
"""
check = Checks()


def run(*words):
    p = subprocess.run([RETICLE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode:
        print(f"{words}: {p.returncode}: {p.stderr}")
        sys.exit(1)
    return p.stdout


def record(events, program, *options):
    run("record", "-q", "--pmu=sim", "-e", events, "--truth", "truth.json", "-o", "t.data", *options, "--", program)
    with open("truth.json") as f:
        truth = json.load(f)
    check("the truth is complete", truth["complete"])
    return truth["operations"]


def physical(o):
    """Each process's memory as a whole, as doc/vpmu.md says."""
    return (o["pid"] & 0xff) << 48 | o["address"]


# ---- Arm SPE

def number(text, pattern, base=0):
    found = re.search(pattern, text)
    return int(found[1], base) if found else None


def records():
    """-> what the packets of each record say, by the words of the dump"""
    text = "\n".join(line[52:].strip() for line in run("dump", "-v", "-i", "t.data").splitlines()
                     if re.match(r"\.  [0-9a-f]{8}:", line))
    for one in re.split(r"(?<=\n)(?=PC )", text):
        yield {"tid": number(one, r"CONTEXT (0x[0-9a-f]+)"), "pc": number(one, r"^PC (0x[0-9a-f]+)"),
               "time": number(one, r"TS (\d+)", 10),
               "issue": number(one, r"LAT (\d+) ISSUE", 10), "total": number(one, r"LAT (\d+) TOT", 10),
               "translation": number(one, r"LAT (\d+) XLAT", 10), "address": number(one, r"VA (0x[0-9a-f]+)"),
               "physical": number(one, r"PA (0x[0-9a-f]+)"), "to": number(one, r"TGT (0x[0-9a-f]+)"),
               "source": number(one, r"DATA-SOURCE (\d+)", 10),
               "events": set(re.search(r"^EV (.*)$", one, re.M)[1].split()),
               "operation": re.search(r"^(LD|ST|B|OTHER)\b(.*)$", one, re.M).groups()}


def expected(o):
    """-> the same of a true operation: what a Neoverse-N1 would write of it"""
    kind = o["kind"]
    operation = {"load": "LD", "store": "ST", "branch": "B", "other": "OTHER"}[kind]
    r = {"tid": o["tid"], "pc": o["at"]["pc"], "time": o["time"], "issue": o["issue"], "total": o["total"],
         "translation": o.get("translation"), "address": o.get("address"), "physical": o.get("physical"),
         "to": o.get("to"), "source": None, "events": {"RETIRED"},
         "operation": (operation, " INSN-OTHER" if kind == "other" else "")}
    if kind == "branch":
        r["events"] |= {"MISPRED"} if o["mispredicted"] else set()
        r["events"] |= set() if o["taken"] else {"NOT-TAKEN"}
        r["operation"] = ("B", " COND" if o["conditional"] else " IND" if o["indirect"] else "")
    elif kind != "other":
        beyond = {"L1": set(), "L2": {"L1D-REFILL"}, "LLC": {"L1D-REFILL", "LLC-ACCESS"},
                  "DRAM": {"L1D-REFILL", "LLC-ACCESS", "LLC-REFILL"}}
        r["events"] |= {"L1D-ACCESS", "TLB-ACCESS"} | beyond[o["level"]] | ({"TLB-REFILL"} if o["walk"] else set())
        r["operation"] = (r["operation"][0], " AT" if o["atomic"] else " GP-REG")
        if kind == "load":
            r["source"] = 9 if o["peer"] else {"L1": 0, "L2": 8, "LLC": 11, "DRAM": 14}[o["level"]]
    return r


def same(what, truth):
    ours = sorted(records(), key=lambda r: (r["tid"], r["time"], r["pc"]))
    true = sorted(map(expected, truth), key=lambda r: (r["tid"], r["time"], r["pc"]))
    check(f"{what}: {len(ours)} records, and {len(true)} operations", len(ours) == len(true) and len(ours) > 50)
    for a, b in zip(ours, true):
        if a != b:
            check(f"{what}: the record has {a}, and the operation was {b}", False)
            return


def spe():
    truth = record(f"arm_spe_0/{TERMS}/", "./arm", "-c", "50")
    same("all", truth)
    kinds = {o["kind"] for o in truth}
    check(f"kinds {kinds}", kinds == {"load", "store", "branch"})
    accesses = [o for o in truth if "address" in o]
    check("both processes", {o["pid"] for o in truth} == {1, 3})
    check("physical addresses", all(o["physical"] == physical(o) for o in accesses))
    check("levels", {o["level"] for o in accesses} == {"L1", "L2", "LLC", "DRAM"} and
          any(o["atomic"] for o in accesses))
    branches = [o for o in truth if o["kind"] == "branch"]
    check("branches",
          {(o["conditional"], o["taken"]) for o in branches} >= {(True, True), (True, False), (False, True)} and
          any(o["mispredicted"] for o in branches) and any(o["indirect"] for o in branches))
    rows = list(csv.DictReader(run("export", "--rows", "memory", "--to", "csv", "-i", "t.data").splitlines()))
    check("paddr in tables",
          sorted((int(r["vaddr"]), int(r["paddr"])) for r in rows) ==
          sorted((o["address"], o["physical"]) for o in accesses))
    truth = record("arm_spe_0/ts_enable=1,jitter=1/", "./arm", "-c", "50")
    same("without a filter", truth)
    check("others, too, and no physical address", "other" in {o["kind"] for o in truth} and
          not any("physical" in o for o in truth))
    for terms, left in (("min_latency=100", lambda o: o["total"] >= 100),
                        ("inv_event_filter=0x80", lambda o: not o.get("mispredicted")),
                        ("inv_event_filter=0x4", lambda o: o["kind"] in ("branch", "other")),
                        ("event_filter=0x4,inv_event_filter=0x8", lambda o: o.get("level") == "L1")):
        truth = record(f"arm_spe_0/ts_enable=1,jitter=1,{terms}/", "./arm", "-c", "20")
        same(terms, truth)
        check(f"{terms} leaves {truth[:3]}", all(map(left, truth)))


# ---- mem-loads, mem-stores

def x86():
    truth = record("cpu/mem-loads,ldlat=3/P,cpu/mem-stores/P", "./x86", "-c", "50", "-d", "-W", "--phys-data")
    rows = list(csv.DictReader(run("export", "--rows", "memory", "--to", "csv", "-i", "t.data").splitlines()))
    check(f"{len(rows)} rows, and {len(truth)} operations", len(rows) == len(truth) and len(rows) > 100)

    def of_row(r):
        return (int(r["tid"]), int(r["time"]), int(r["pc"]), r["op"], int(r["vaddr"]), int(r["paddr"]),
                int(r["total_lat"] or 0), r["locked"] == "true")

    def of_truth(o):
        return (o["tid"], o["time"], o["at"]["pc"], o["kind"].upper(), o["address"], physical(o), o.get("total", 0),
                o["atomic"])

    for a, b in zip(sorted(map(of_row, rows)), sorted(map(of_truth, truth))):
        if a != b:
            check(f"the row has {a}, and the operation was {b}", False)
            return
    check("physical addresses", all(o["physical"] == physical(o) for o in truth))
    sources = {"L1": "L1", "L2": "L2", "LLC": "L3", "DRAM": "RAM"}
    source = {(int(r["time"]), int(r["vaddr"])): r["data_source"] for r in rows if r["op"] == "LOAD"}
    wrong = [o for o in truth if o["kind"] == "load" and sources[o["level"]] not in source[o["time"], o["address"]]]
    check(f"data sources: {wrong[:2]}", not wrong)


need(None if plugin() else "the virtual PMU's plugin was not built")
use_plugin()
with open("program.c", "w") as out:
    out.write(PROGRAM)
arm = shutil.which(COMPILER) and shutil.which("qemu-aarch64")
x86_64 = os.uname().machine == "x86_64" and shutil.which("qemu-x86_64")
need(None if arm or x86_64 else f"neither {COMPILER} and qemu-aarch64 nor qemu-x86_64 are installed")
for there, test, compiler, name in ((arm, spe, COMPILER, "arm"), (x86_64, x86, "cc", "x86")):
    if there:
        subprocess.run([compiler, "-O1", "-g", "-static", "-o", name, "program.c", "-lpthread"], check=True)
        test()
sys.exit(check.failed)
