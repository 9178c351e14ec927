#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""Equal operations of Arm SPE are counted before they become samples: every report is the same as when each is a
sample of its own.

With --time each operation is one, because each has another time; here it leaves nothing out. That the sums are right
is checked against the operations as well.
"""
import itertools
import json
import os
import random
import sys

from lib.checks import Checks
from lib.peer import run
from lib.sanitized import SANITIZED
from lib.spe_file import BUILD, L1_ACCESS, N1, Operation, Recording, operations, payload

RETICLE = os.environ["RETICLE"]
ALL = ["--time", "0,100000"]
KEYS = ["dso,symbol", "symbol_iaddr", "comm,pid", "tid,cpu", "symbol_daddr,mem", "dcacheline,tlb,snoop",
        "phys_daddr,local_weight", "daddr,socket,weight", "activity,event,addr"]
check = Checks()


def repeated(rng, kinds, count, time, context=None):
    """Operations of few kinds in any order, some met once, some of which say less than others."""
    made = []
    for i in range(count):
        o = rng.choice(kinds) if i % 50 else operations(rng, 1, 0)[0]
        time += 2 * rng.randrange(1, 20)
        o = Operation(o.kind, o.pc, time,
                      **{k: v for k, v in o.__dict__.items() if k not in ("kind", "pc", "time", "end", "context")})
        o.context = rng.choice(context) if context and rng.random() < 0.9 else None
        o.end = rng.random() < 0.02
        made.append(o)
    return made


def recording(path, midrs, kinds, count, **more):
    rng = random.Random(len(path) + kinds)
    kinds = operations(rng, kinds, 0)
    r = Recording(midrs, **more)
    for pid, tid, name in ((10, 10, "first"), (10, 11, "first"), (10, 12, "other"), (20, 20, "first")):
        r.thread(pid, tid, name)
    times = [1000, 1001]
    parts = [[], []]
    for cpu in (0, 1):
        r.switch(cpu, 0, 10 + 10 * cpu, 100)
    for part in range(4):
        for cpu in (0, 1):
            parts[cpu].append(repeated(rng, kinds, count, times[cpu], [None, [10, 11, 12, 77]][part % 2]))
            times[cpu] = parts[cpu][-1][-1].time
    middle = parts[0][0][count // 2].time
    r.thread(10, 10, "renamed", parts[0][1][count // 2].time)
    r.switch(1, 20, 12, middle)
    for cpu in (0, 1):
        for i, part in enumerate(parts[cpu]):
            r.buffer(cpu, -1, payload(part), i << 20)
    r.works_for(10, b"spanspan", parts[0][0][count // 3].time)
    r.works_for(10, b"nextspan", parts[0][2][count // 3].time)
    r.write(path)
    return [o for cpu in parts for part in cpu for o in part]


def words():
    for keys in KEYS:
        yield ["spe", "--json", "-s", keys.replace(",event", "").replace("activity,addr", "activity")]
        yield ["report", "--json", "--itrace=fmtbaMi1i", "--sort", keys]
        yield ["report", "--mem-mode", "--json", "--sort", keys]
    yield ["spe", "--csv", "--itrace=M"]
    yield ["spe", "--json", "--cpu", "1"]
    yield ["mem", "report", "--stdio", "-p"]
    yield ["c2c", "report", "--json", "--show-all", "--lines", "0"]
    yield ["report", "--csv", "-F",
           "overhead,samples,weight_mean,weight_p50,weight_p99,weight_max,overhead_us,overhead_sys,symbol"]
    yield ["report", "--csv", "--sort", "comm,symbol", "--comm", "first,renamed", "--tid", "10,11"]
    yield ["report", "--csv", "--sort", "comm,symbol", "--pid", "20"]


def same(path, turn):
    # Under sanitizers, where each start takes long, each recording has a third of the reports.
    for w in list(words())[turn::3] if SANITIZED else words():
        for threads in ("1", "2")[SANITIZED:]:
            more = [] if w[0] in ("mem", "c2c") else ["--threads", threads]
            counted, single = (run(RETICLE, *w, "-i", path, *more, *time) for time in ([], ALL))
            if counted.returncode or single.returncode:
                print(f"{w} ended with {counted.returncode} and {single.returncode}: {counted.stderr}{single.stderr}")
                sys.exit(1)
            check(f"{path}: the same by {w} {more}", counted.stdout == single.stdout)
            if path != "untimed.data":  # whose operations are all of one time, and so of one thread
                check(f"{path}: something is shown by {w}", len(single.stdout) > 200)


MODES = ("overhead_sys", "overhead_us", "overhead_guest_sys", "overhead_guest_us")


OPTIONS = [[], ["--mem-mode"], ["--comm", "first"], ["--symbol-filter", "a"], ["-F", "+period,symbol"]]


def apart(path, turn):
    """An operation is counted once for all events that it is a sample of, unless something is measured: then each
    event has a tree of its own. Both give the same rows in the same order."""
    ways = list(itertools.product(KEYS[:2] + KEYS[4:-1] + ["comm", "mem,type"], OPTIONS))
    for keys, more in ways[turn::len(OPTIONS) + 1] if SANITIZED else ways:
        shown = []
        for measured in ([], ["--show-cpu-utilization"]):
            p = run(RETICLE, "report", "-i", path, "--json", "--itrace=fmtbaMi1i", "--sort", keys, *more, *measured)
            check(f"{path}: {keys} {more} {measured}: {p.stderr}", p.returncode == 0)
            report = json.loads(p.stdout)
            for row in (row for e in report["events"] for row in e["rows"]):
                for name in MODES:
                    row.pop(name, None)
            shown.append(report)
        check(f"{path}: rows of events together and apart by {keys} {more}", shown[0] == shown[1])


def files(path):
    """Files that only operations name are listed, although these are samples of nothing then."""
    said = run(RETICLE, "buildid-list", "-H", "-i", path).stdout
    check(f"{path}: files: {said}", said == f"{BUILD.hex()} /nowhere/program\n")


def sums(path, ops):
    total = json.loads(run(RETICLE, "spe", "-i", path, "--json", "-s", "symbol_iaddr").stdout)["events"][0]["total"]
    check(f"{path}: {total['operations']} of {len(ops)} operations", total["operations"] == len(ops))
    waited = sum(o.latency[0] for o in ops) / len(ops)
    check(f"{path}: they took {total['total']['mean']} of {waited} cycles",
          abs(total["total"]["mean"] - waited) < 0.001)
    p = run(RETICLE, "report", "-i", path, "--json", "--itrace=fM", "--mem-mode")
    events = {e["name"]: e for e in json.loads(p.stdout)["events"]}
    memory = [max(o.latency[0], 1) for o in ops if o.kind in (Operation.LOAD, Operation.STORE)]
    accesses = [max(o.latency[0], 1) for o in ops if o.events & L1_ACCESS]
    for name, weights in (("memory", memory), ("l1d-access", accesses)):
        e = events[name]
        check(f"{path}: {name} {e['samples']} of {len(weights)}",
              (e["samples"], e["weight"]) == (len(weights), sum(weights)))


COUNT = 200 if SANITIZED else 1500
RECORDINGS = [("few.data", [N1, N1], 20, COUNT, {}),
              ("many.data", [N1, 0], 1500, COUNT, {}),
              ("untimed.data", [N1, 0], 40, min(COUNT, 300), {"converts": False})]
for number, (name, midrs, kinds, count, more) in enumerate(RECORDINGS):
    made = recording(name, midrs, kinds, count, **more)
    same(name, number)
    apart(name, number)
    files(name)
    sums(name, made)
sys.exit(check.failed)
