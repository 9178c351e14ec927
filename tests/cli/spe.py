#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""Arm SPE: operations whose every field is known come out as the samples that the perf tool would make of them."""
import json
import os
import random
import sys

from lib.checks import Checks
from lib.peer import run
from lib.spe_file import (BASE, L1_ACCESS, L1_REFILL, LLC_ACCESS, LLC_REFILL, MISPREDICTED, N1, REMOTE, TLB_ACCESS,
                          TLB_WALK, Operation, Recording, operations, payload, two_cpus)

RETICLE = os.environ["RETICLE"]
EVENTS = [("l1d-miss", L1_REFILL), ("l1d-access", L1_ACCESS), ("llc-miss", LLC_REFILL), ("llc-access", LLC_ACCESS),
          ("tlb-miss", TLB_WALK), ("tlb-access", TLB_ACCESS), ("branch-miss", MISPREDICTED), ("remote-access", REMOTE)]
check = Checks()


def reticle(*words):
    p = run(RETICLE, *words)
    if p.returncode < 0:
        print(f"{words} ended with signal {-p.returncode}")
        sys.exit(1)
    return p


def synthesised(ops):
    """The samples that they stand for: (time, event, ip, address, physical, latency)."""
    for o in ops:
        names = [name for name, bit in EVENTS if o.events & bit]
        if o.kind in (Operation.LOAD, Operation.STORE):
            names.append("memory")
        for name in names + ["instructions"]:
            address = o.target if o.kind == Operation.BRANCH else o.address or 0
            yield o.time, name, o.pc, address, o.physical or 0, o.latency[0]


def samples(path, *more):
    p = reticle("script", "-i", path, "--json", "-F", "pid,tid,cpu,time,event,ip,addr,phys_addr,data_src,weight",
                "--itrace=fmtbaMi1i", *more)
    check("script ends well: " + p.stderr, p.returncode == 0)
    return [json.loads(line) for line in p.stdout.splitlines()]


def every_field(path, cpuid=None):
    cpus, middle = two_cpus(path, cpuid)
    expected = sorted(((*s, cpu, 10 if cpu == 0 or s[0] >= middle else 20) for cpu in (0, 1)
                       for s in synthesised(cpus[cpu])),
                      key=lambda s: s[0])
    found = samples(path)
    check(f"as many samples: {len(found)} of {len(expected)}", len(found) == len(expected))
    key = lambda s: (s["time"], s["event"], int(s["ip"], 16), int(s["addr"], 16), int(s["phys_addr"], 16), s["weight"],
                     s["cpu"], s["tid"])
    check("samples come in order of time", [s["time"] for s in found] == [e[0] for e in expected])
    check("each sample has the fields of its operation", sorted(map(key, found)) == sorted(expected))
    check("threads have their processes", all(s["pid"] == s["tid"] for s in found))

    totals = {}
    for s in expected:
        totals[s[1]] = totals.get(s[1], 0) + 1
    for threads in ("1", "2"):
        p = reticle("report", "-i", path, "--json", "--threads", threads, "--itrace=fmtbaMi1i")
        report = json.loads(p.stdout)
        check("report counts the same", {e["name"]: e["samples"] for e in report["events"]} == totals)
    usual = json.loads(reticle("report", "-i", path, "--json").stdout)
    check("instructions are made only when asked for", "instructions" not in {e["name"] for e in usual["events"]})


def contexts():
    ops = [Operation(Operation.LOAD, BASE + 4 * i, 1000 + i, address=64 * i, events=2 | L1_ACCESS, context=30 + i % 2)
           for i in range(100)]
    r = Recording([N1])
    r.thread(30, 30, "first")
    r.thread(30, 31, "second")
    r.switch(0, 0, 40, 1)  # what the kernel wrote into the packets counts more
    r.buffer(0, -1, payload(ops))
    r.write("contexts.data")
    found = [s for s in samples("contexts.data") if s["event"] == "memory"]
    check("threads come from context packets",
          [(s["pid"], s["tid"]) for s in found] == [(30, 30 + i % 2) for i in range(100)])


def sources():
    """What a Neoverse N1 says of where its data were, and what the events say of a core that nobody knows."""
    level = {0: "L1 hit", 8: "L2 hit", 9: "L2 hit", 10: "L3 hit", 11: "L3 hit", 12: "L3 hit", 14: "RAM hit"}
    for midr in (N1, 0):
        ops = [Operation(Operation.LOAD, BASE, 1000 + i, address=64, events=2 | L1_ACCESS | L1_REFILL, source=s)
               for i, s in enumerate(level)]
        r = Recording([midr])
        r.thread(1, 1, "p")
        r.buffer(0, 1, payload(ops))
        r.write("sources.data")
        p = reticle("script", "-i", "sources.data", "--itrace=M", "-F", "data_src")
        shown = [line.split("|")[2] for line in p.stdout.splitlines()]
        expected = [f"LVL {level[s][:-4]} or {level[s]}" if midr else "LVL L1 miss" for s in level]
        check(f"data sources of MIDR {midr:#x}: {shown}",
              [s.replace("Local ", "") for s in shown] == expected)


def access_keys(path):
    """Rows by what accesses met are sums over the lines of script."""
    lines = reticle("script", "-i", path, "--itrace=M", "-F", "data_src").stdout.splitlines()
    expected = {}
    for line in lines:
        _, _, level, snoop, tlb, locked, blocked = (part.strip() for part in line.split("|"))
        row = level[4:], snoop[4:], tlb[4:], locked[4:], blocked[4:].strip()
        expected[row] = expected.get(row, 0) + 1
    keys = ("mem", "snoop", "tlb", "locked", "blocked")
    p = reticle("report", "-i", path, "--itrace=M", "--json", "--sort", ",".join(keys))
    found = {tuple(row[key].strip() for key in keys): row["self"] for row in json.loads(p.stdout)["events"][0]["rows"]}
    check("rows by what accesses met", len(found) > 10 and found == expected)


def damage():
    rng = random.Random(2)
    ops = operations(rng, 1000, 1000)
    middle = payload(ops[:500]) + b"\xff" * 7 + payload(ops[500:501])[7:] + payload(ops[501:])
    r = Recording()
    r.thread(1, 1, "p")
    r.buffer(0, 1, middle, flags=1 | 8)  # truncated, with a collision
    r.write("garbage.data")
    tally = json.loads(reticle("report", "-i", "garbage.data", "--json", "--itrace=i1i").stdout)
    text = json.dumps(tally)
    check("one operation is lost with the garbage in it: " + text[:600],
          '"aux_operations":999' in text.replace(" ", "") and
          '"aux_broken":1' in text.replace(" ", ""))
    check("truncation and collisions are said", '"aux_truncated":1' in text.replace(" ", "") and
          '"aux_collisions":1' in text.replace(" ", ""))

    r = Recording()
    r.thread(1, 1, "p")
    r.buffer(0, 1, payload(ops[:10]) + ops[10].bytes()[:24])
    r.write("cut.data")
    check("an operation that is cut off at the end is none",
          sum(s["event"] == "instructions" for s in samples("cut.data")) == 10)

    whole = open("fields.data", "rb").read()
    for i in range(30):  # cut off anywhere, and with bytes changed
        broken = bytearray(whole[:rng.randrange(400, len(whole))] if i % 2 else whole)
        for _ in range(20):
            broken[rng.randrange(200, len(broken))] = rng.randrange(256)
        open("broken.data", "wb").write(broken)
        for words in (("report",), ("script", "--itrace=i1iM"), ("dump", "-v")):
            reticle(words[0], "-i", "broken.data", *words[1:])


def others():
    r = Recording(kind=1)
    r.thread(1, 1, "p")
    r.buffer(0, 1, b"\x02\x82" * 100)
    r.write("intel.data")
    p = reticle("report", "-i", "intel.data")
    check("AUX data of other kinds are named: " + p.stderr,
          "200 bytes of AUX data (Intel PT) are left out" in p.stderr)
    check("in the head, too: " + p.stdout, ", 200 bytes of AUX data (Intel PT) left out; " in p.stdout)

    r = Recording(converts=False)
    r.thread(1, 1, "p")
    r.buffer(0, 1, payload(operations(random.Random(1), 50, 1000)))
    r.write("timeless.data")
    check("without a clock nothing is lost", sum(s["event"] == "instructions" for s in samples("timeless.data")) == 50)

    p = reticle("report", "-i", "fields.data", "--itrace=i1000i")
    check("other periods are refused: " + p.stderr, p.returncode == 2 and "write i1i" in p.stderr)
    p = reticle("report", "-i", "fields.data", "--itrace=y")
    check("unknown letters are refused: " + p.stderr, p.returncode == 2 and "'y'" in p.stderr)


every_field("fields.data")
every_field("n1.data", f"{N1:#018x}")
contexts()
sources()
access_keys("n1.data")
damage()
others()
sys.exit(check.failed)
