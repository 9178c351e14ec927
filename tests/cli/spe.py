#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""Arm SPE: operations whose every field is known come out as the samples that the perf tool would make of them."""
import json
import os
import random
import re
import sys

from lib.peer import run
from lib.spe_file import BASE, Operation, Recording

RETICLE = os.environ["RETICLE"]
L1_ACCESS, L1_REFILL, TLB_ACCESS, TLB_WALK, NOT_TAKEN, MISPREDICTED, LLC_ACCESS, LLC_REFILL, REMOTE = (
    1 << bit for bit in range(2, 11))
EVENTS = [("l1d-miss", L1_REFILL), ("l1d-access", L1_ACCESS), ("llc-miss", LLC_REFILL), ("llc-access", LLC_ACCESS),
          ("tlb-miss", TLB_WALK), ("tlb-access", TLB_ACCESS), ("branch-miss", MISPREDICTED), ("remote-access", REMOTE)]
N1 = 0x413FD0C1
failed = 0


def check(what, is_so):
    global failed
    if not is_so:
        print("not so: " + what)
        failed = 1


def reticle(*words):
    p = run(RETICLE, *words)
    if p.returncode < 0:
        print(f"{words} ended with signal {-p.returncode}")
        sys.exit(1)
    return p


def operations(rng, count, time, **more):
    out = []
    for _ in range(count):
        time += rng.randrange(1, 3000)
        pc = BASE + 4 * rng.randrange(4000) if rng.random() < 0.8 else 0xFFFF800010000000 + 4 * rng.randrange(1000)
        latency = rng.randrange(500), rng.randrange(50), rng.randrange(20)
        kind = rng.choice([Operation.LOAD] * 5 + [Operation.STORE] * 2 + [Operation.BRANCH] * 2 + [Operation.OTHER])
        o = Operation(kind, pc, time, latency=latency, **more)
        if kind in (Operation.LOAD, Operation.STORE):
            o.operation |= rng.choice([0, 4, 0x10, 0x16, 0x0A])
            o.events |= rng.choice([0, L1_ACCESS, L1_ACCESS | L1_REFILL, L1_ACCESS | L1_REFILL | LLC_ACCESS,
                                    L1_ACCESS | L1_REFILL | LLC_ACCESS | LLC_REFILL | REMOTE])
            o.events |= rng.choice([0, TLB_ACCESS, TLB_ACCESS | TLB_WALK])
            o.address = rng.choice([0x7F0000000000 + 8 * rng.randrange(1 << 20), 0xFFFF000070D00000 + rng.randrange(1 << 16)])
            o.physical = rng.choice([None, rng.randrange(1 << 40)])
            o.source = rng.choice([None, 0, 8, 9, 10, 11, 12, 13, 14]) if kind == Operation.LOAD else None
        elif kind == Operation.BRANCH:
            o.events |= rng.choice([0, NOT_TAKEN, MISPREDICTED, NOT_TAKEN | MISPREDICTED])
            o.operation = rng.choice([0, 1, 2])
        out.append(o)
    return out


def synthesised(ops):
    """The samples that they stand for: (time, event, ip, address, physical, latency)."""
    for o in ops:
        names = [name for name, bit in EVENTS if o.events & bit]
        if o.kind in (Operation.LOAD, Operation.STORE):
            names.append("memory")
        for name in names + ["instructions"]:
            address = o.target if o.kind == Operation.BRANCH else o.address or 0
            yield o.time, name, o.pc, address, o.physical or 0, o.latency[0]


def payload(ops):
    return b"".join(o.bytes() for o in ops)


def samples(path, *more):
    p = reticle("script", "-i", path, "--json", "-F", "pid,tid,cpu,time,event,ip,addr,phys_addr,data_src,weight", "--itrace=fmtbaMi1i",
                *more)
    check("script ends well: " + p.stderr, p.returncode == 0)
    return [json.loads(line) for line in p.stdout.splitlines()]


def every_field(path, cpuid=None):
    rng = random.Random(11)
    cpus = [operations(rng, 4000, 1000), operations(rng, 4000, 500)]
    r = Recording(cpuid=cpuid)
    for pid in (10, 20):
        r.thread(pid, pid, f"p{pid}")
    middle = cpus[1][2000].time
    r.switch(0, 0, 10, 100)
    r.switch(1, 0, 20, 100)
    r.switch(1, 20, 10, middle)
    for cpu, ops in enumerate(cpus):  # in two buffers each
        r.buffer(cpu, -1, payload(ops[:2500]))
        r.buffer(cpu, -1, payload(ops[2500:]), 1 << 20)
    r.write(path)
    expected = sorted(((*s, cpu, 10 if cpu == 0 or s[0] >= middle else 20) for cpu in (0, 1) for s in synthesised(cpus[cpu])),
                      key=lambda s: s[0])
    found = samples(path)
    check(f"as many samples: {len(found)} of {len(expected)}", len(found) == len(expected))
    key = lambda s: (s["time"], s["event"], int(s["ip"], 16), int(s["addr"], 16), int(s["phys_addr"], 16), s["weight"], s["cpu"], s["tid"])
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
    ops = [Operation(Operation.LOAD, BASE + 4 * i, 1000 + i, address=64 * i, events=2 | L1_ACCESS, context=30 + i % 2) for i in range(100)]
    r = Recording([N1])
    r.thread(30, 30, "first")
    r.thread(30, 31, "second")
    r.switch(0, 0, 40, 1)  # what the kernel wrote into the packets counts more
    r.buffer(0, -1, payload(ops))
    r.write("contexts.data")
    found = [s for s in samples("contexts.data") if s["event"] == "memory"]
    check("threads come from context packets", [(s["pid"], s["tid"]) for s in found] == [(30, 30 + i % 2) for i in range(100)])


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
    check("one operation is lost with the garbage in it: " + text[:600], '"aux_operations":999' in text.replace(" ", "") and
          '"aux_broken":1' in text.replace(" ", ""))
    check("truncation and collisions are said", '"aux_truncated":1' in text.replace(" ", "") and '"aux_collisions":1' in text.replace(" ", ""))

    r = Recording()
    r.thread(1, 1, "p")
    r.buffer(0, 1, payload(ops[:10]) + ops[10].bytes()[:24])
    r.write("cut.data")
    check("an operation that is cut off at the end is none", sum(s["event"] == "instructions" for s in samples("cut.data")) == 10)

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
    check("AUX data of other kinds are named: " + p.stderr, "200 bytes of AUX data (Intel PT) are left out" in p.stderr)

    r = Recording(converts=False)
    r.thread(1, 1, "p")
    r.buffer(0, 1, payload(operations(random.Random(1), 50, 1000)))
    r.write("timeless.data")
    check("without a clock nothing is lost", sum(s["event"] == "instructions" for s in samples("timeless.data")) == 50)

    p = reticle("report", "-i", "fields.data", "--itrace=i1000i")
    check("other periods are refused: " + p.stderr, p.returncode == 2 and "say i1i" in p.stderr)
    p = reticle("report", "-i", "fields.data", "--itrace=y")
    check("unknown letters are refused: " + p.stderr, p.returncode == 2 and "'y'" in p.stderr)


def same_as_perf(path):
    """Line for line, where perf is installed. It has no map for kernel addresses here and says so in another way."""
    if not run("sh", "-c", "command -v perf").stdout or not run("perf", "--version").stdout.startswith("perf version 6.1."):
        return
    for itrace in ("fmtbaM", "i1i"):
        for fields in ([], ["-F", "comm,tid,cpu,time,event,ip,data_src,period"]):
            ours, theirs = (run(tool, "script", "-i", path, f"--itrace={itrace}", *fields).stdout.splitlines() for tool in (RETICLE, "perf"))
            known = [[x for x in lines if "ffff8000" not in x] for lines in (ours, theirs)]
            check(f"script --itrace={itrace} {fields}: {len(ours)} lines as perf's {len(theirs)}",
                  len(ours) == len(theirs) and sorted(known[0]) == sorted(known[1]))
    packets = [[x for x in run(*words).stdout.splitlines() if re.match(r"\.  [0-9a-f]{8}: ", x)]
               for words in ((RETICLE, "dump", "-v", "-i", path), ("perf", "report", "-D", "-i", path))]
    check("packets are printed as perf does", packets[0] and packets[0] == packets[1])


every_field("fields.data")
every_field("n1.data", f"{N1:#018x}")
contexts()
sources()
access_keys("n1.data")
damage()
others()
same_as_perf("fields.data")
same_as_perf("n1.data")
sys.exit(failed)
