# SPDX-License-Identifier: Apache-2.0
"""reticle in a guest asks which activity each sample's thread works for, by a BPF program: rows of recordings.py."""
import bisect
import collections
import json
import re

from base import need

NOT_YET = "not looked at yet"  # the recorder finds a process's thread context when its first sample comes
THREADS, ROUNDS = 4, 10


def parts_of(text):
    """-> {thread: [(begin, end, activity), ...]}, as programs/served.c says them"""
    parts = collections.defaultdict(list)
    for tid, begin, end, activity in re.findall(r"^(\d+) (\d+) (\d+) (\w+/\w+)$", text, re.M):
        parts[int(tid)].append((int(begin), int(end), activity))
    return parts


def is_served(r):
    """Each sample within a part of the program's work has the activity of that part, and each part has samples."""
    parts = parts_of(r.log)
    need("status 0" in r.log and [len(of) for of in parts.values()] == [3 * ROUNDS] * THREADS, r.log[-300:])
    right, early, seen = 0, 0, set()
    for line in r.reticle("script", "--json", "--ns", "-F", "tid,time,activity").splitlines():
        sample = json.loads(line)
        tid, time, said = sample["tid"], sample["time"], sample["activity"]
        i = bisect.bisect_right(parts[tid], (time, float("inf"))) - 1
        if i < 0 or time > parts[tid][i][1]:
            continue
        seen.add((tid, i))
        if said == NOT_YET and not right:
            early += 1
            continue
        need(said == parts[tid][i][2],
             f"at {time} thread {tid} worked for {parts[tid][i][2]}, and reticle says {said}")
        right += 1
    need(len(seen) == 3 * ROUNDS * THREADS, f"{len(seen)} parts were sampled")
    return f"{right} samples in the right ones of {len(seen)} parts of {THREADS} threads, {early} before it was found"


OPTIONS = "--no-window --activity -k CLOCK_MONOTONIC -c 20000 -e cycles"
ROWS = [("activity", OPTIONS, f"served {THREADS} {ROUNDS}", is_served),
        ("activity-tlsdesc", OPTIONS, f"served-tlsdesc {THREADS} {ROUNDS}", is_served)]
