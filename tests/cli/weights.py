#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""report --fields weight_mean,weight_p50,weight_p99,weight_max: what samples' weights come to is what a model of the
samples says, of rows of functions and of threads, however many workers read them, with and without inlined calls."""
import collections
import json
import os
import pathlib
import random
import struct
import sys

from lib.peer import run

RETICLE = os.environ["RETICLE"]
IP, TID, TIME, CALLCHAIN, PERIOD, WEIGHT, IDENTIFIER = 1, 2, 4, 1 << 5, 1 << 8, 1 << 14, 1 << 16
USER_CONTEXT = 2**64 - 512
BASE = 0x7E0000000000
THREADS = {4194301: "light", 4194302: "heavy", 4194303: "none"}
FIELDS = ("weight_mean", "weight_p50", "weight_p99", "weight_max")


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write(path, records, weights=True):
    kind = IP | TID | TIME | CALLCHAIN | PERIOD | IDENTIFIER | (WEIGHT if weights else 0)
    attr = struct.pack("<IIQQQQQ", 0, 112, 0, 1000, kind, 4, 1 << 18).ljust(112, b"\0")
    data, at = b"".join(records), 104
    head = b"PERFILE2" + struct.pack("<QQQQ", 104, 128, at + 8, 128)
    head += struct.pack("<QQQQQQQQ", at + 8 + 128, len(data), 0, 0, 0, 0, 0, 0)
    pathlib.Path(path).write_bytes(head + struct.pack("<Q", 7) + attr + struct.pack("<QQ", at, 8) + data)


def comm(tid, name):
    return record(3, struct.pack("<II", tid, tid) + name.encode().ljust(8, b"\0") +
                  struct.pack("<IIQQ", tid, tid, 1, 7))


def sample(tid, time, ip, caller, weight, weights=True):
    chain = struct.pack("<QQQQ", 3, USER_CONTEXT, ip, caller)
    body = struct.pack("<QQIIQQ", 7, ip, tid, tid, time, 1) + chain
    return record(9, body + (struct.pack("<Q", weight) if weights else b""))


def table(path, keys, *more):
    p = run(RETICLE, "report", "-i", path, "--json", "--no-children", "--sort", keys, "--fields",
            ",".join(("samples",) + FIELDS + tuple(keys.split(","))), *more)
    if p.returncode:
        sys.exit(f"--sort {keys} {more}: exit status {p.returncode}: {p.stderr}")
    rows = json.loads(p.stdout)["events"][0]["rows"]
    return {tuple(r[k] for k in keys.split(",")): tuple(r[f] for f in FIELDS) for r in rows}


def check(what, keys, got, of):
    if set(got) != set(of):
        sys.exit(f"{what}, {keys}: rows {sorted(got)}, not {sorted(of)}")
    for key, weights in of.items():
        weights = sorted(w for w in weights if w)
        if not weights:
            want = (None,) * 4
            near = got[key] == want
        else:
            n = len(weights)
            want = ((sum(weights) + n // 2) // n, weights[(n + 1) // 2 - 1], weights[n - n // 100 - 1], weights[-1])
            # Sizes stand for weights that differ by less than one part in 64.
            near = got[key][0] == want[0] and got[key][3] == want[3] and all(
                abs(a - b) <= (b / 64 if b >= 128 else 0) for a, b in zip(got[key][1:3], want[1:3]))
        if not near:
            sys.exit(f"{what}, {keys}, {key}: {got[key]}, not {want}")


random.seed(11)
samples = []
for i in range(60000):
    tid = random.choice(list(THREADS))
    weight = (0 if tid == 4194303 else random.choice((3, 4, 5, 90)) if tid == 4194301
              else int(random.lognormvariate(5, 3)) % 2**40)
    samples.append((tid, 1000 + i, BASE + 16 * random.randrange(40), BASE + 4096 * (1 + i % 7), weight))
write("weights", [comm(*t) for t in THREADS.items()] + [sample(*s) for s in samples])
write("without", [comm(*t) for t in THREADS.items()] + [sample(*s, weights=False) for s in samples[:10]],
      weights=False)

by_thread, by_place = collections.defaultdict(list), collections.defaultdict(list)
for tid, _, ip, _, weight in samples:
    by_thread[THREADS[tid],].append(weight)
    by_place[THREADS[tid], hex(ip)].append(weight)
for workers in ("1", "3"):
    check(f"{workers} workers", "comm", table("weights", "comm", "--threads", workers), by_thread)
    got = {(c, hex(int(s.split("+")[1].rstrip("]"), 16))): v for (c, s), v in
           table("weights", "comm,symbol", "--threads", workers).items()}
    check(f"{workers} workers", "comm,symbol", got, by_place)
check("call graphs", "comm", table("weights", "comm", "-g", "caller"), by_thread)

# Where nothing was weighed, cells are empty.
if any(v != (None,) * 4 for v in table("without", "comm").values()):
    sys.exit("weights of samples that have none")
text = run(RETICLE, "report", "-i", "without", "--stdio", "-F", "samples,weight_mean,comm")
if text.returncode or "Mean weight" not in text.stdout:
    sys.exit(f"text of samples without weights: {text.stderr}{text.stdout}")
csv = run(RETICLE, "report", "-i", "weights", "--csv", "-F", "weight_max,comm").stdout.splitlines()
if csv[0] != "event,whole,weight_max,comm" or not any(line.endswith(",90,light") for line in csv):
    sys.exit(f"csv: {csv}")

# Sums go by the tree's nodes: stacks that are put together anew have others.
p = run(RETICLE, "report", "-i", "weights", "-F", "weight_mean,comm", "--ignore-callees", "x")
if p.returncode != 2 or "exclude each other" not in p.stderr:
    sys.exit(f"--ignore-callees: exit status {p.returncode}: {p.stderr}")
