#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A coarser table is the sum of a finer one: nothing may move from one thread, event or object to another because rows
are split differently, or because more threads work on it."""
# check: threads, plain
import collections
import csv
import glob
import io
import os
import subprocess
import sys

reticle, data = os.environ["RETICLE"], os.environ.get("RETICLE_TEST_DATA")
if not data:
    print("no recordings: RETICLE_TEST_DATA is not set")
    sys.exit(77)


def table(path, *options):
    out = subprocess.run([reticle, "report", "--csv", "--no-children", "--no-branch-stack", "--percent-limit", "0",
                          *options, "-i", path],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def sums(rows, *keys):
    total = collections.Counter()
    for row in rows:
        total[tuple(row[k] for k in ("event",) + keys)] += int(row["self"])
    return total


checked = 0
for path in sorted(glob.glob(data + "/quipper/perf.data.*3.4") + glob.glob(data + "/quipper/*callchain*")):
    usual = table(path, "--threads", "1")
    if not usual:
        sys.exit(f"{path}: no rows")
    split = table(path, "--threads", "2", "--sort", "comm,pid,tid,cpu,dso,symbol")
    for keys in (("comm",), ("comm", "dso"), ("comm", "dso", "symbol")):
        if sums(usual, *keys) != sums(split, *keys):
            differ = sums(usual, *keys) - sums(split, *keys)
            sys.exit(f"{path}: sums by {', '.join(keys)} differ: {dict(differ.most_common(3))}")
    if sums(table(path, "--threads", "2", "--sort", "comm"), "comm") != sums(usual, "comm"):
        sys.exit(f"{path}: --sort comm differs from the sums of its rows")
    checked += 1
if not checked:
    print(f"no recordings of the kind wanted in {data}")
    sys.exit(77)
