#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export --to parquet and --to csv --rows: both tables hold the same rows, an independent reader reads them, what they add
up to is what report says, and Parquet is at most a fifth of CSV."""
import collections
import csv
import os
import pathlib
import re
import subprocess

from lib import parquet
from lib.machine import need

RETICLE = os.environ["RETICLE"]
DATA = os.environ.get("RETICLE_TEST_DATA")
need(None if DATA else "RETICLE_TEST_DATA is not set")
# Recordings, and how many rows their tables have at least.
RECORDINGS = {"with-callchain.perf.data": 48000, "multi-event-single-process.perf.data": 1000, "perf.data.weight_struct": 1,
              "perf.data.hw_and_sw-3.4": 1, "perf.data.busy.1-3.4": 1000, "perf.data.armv7-3.4": 1, "perf.data.callgraph-3.4": 1}


def export(recording, name, *args):
    command = [RETICLE, "export", "-i", str(recording), "--offline", "-o", name, *args]
    r = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, r.stderr


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as f:
        names, *rows = csv.reader(f)
    return names, rows


def same(parquet_path, csv_path):
    """-> (names, rows, about), after comparing both tables row by row"""
    names, rows, about = parquet.read(parquet_path)
    csv_names, csv_rows = read_csv(csv_path)
    assert names == csv_names and len(rows) == len(csv_rows), (names, csv_names)
    for ours, other in zip(rows, csv_rows):
        assert list(map(parquet.as_csv, ours)) == other, (ours, other)
    return names, rows, about


def report_sums(recording):
    """{(event, comm, dso, symbol): period} as report says; None: no symbol, or no file"""
    command = [RETICLE, "report", "-i", str(recording), "--offline", "--csv", "--csv-formulas", "--no-inline", "--no-children",
               "--sort", "comm,dso,symbol"]
    r = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, r.stderr
    sums = collections.Counter()
    for row in csv.DictReader(r.stdout.splitlines()):
        symbol = row["symbol"] if not re.match(r"\[.*\]$", row["symbol"]) else ""
        sums[row["event"], row["comm"], row["dso"].replace("[unknown]", ""), symbol] += int(row["self"])
    return sums


def check(recording, least):
    tables = {}
    for form in "parquet", "csv":
        rows = ["--rows", "samples", "--csv-formulas"] if form == "csv" else []
        export(recording, f"t.{form}", *rows, "--stacks", f"stacks.{form}")
    names, rows, about = same("t.parquet", "t.csv")
    _, stacks, _ = same("stacks.parquet", "stacks.csv")
    assert len(rows) >= least, len(rows)
    sizes = [os.path.getsize(f"t.{form}") for form in ("parquet", "csv")]
    assert len(rows) < 1000 or sizes[0] * 5 <= sizes[1], sizes
    assert about["created_by"].startswith("reticle version ")
    known = {s[0] for s in stacks}
    number = names.index("stack_id")
    assert {r[number] for r in rows} - {None} == known, "stacks without frames, or frames of no stack"
    at = [names.index(n) for n in ("event", "comm", "dso", "symbol")]
    sums = collections.Counter()
    for r in rows:
        sums[tuple(r[i] or "" for i in at)] += r[names.index("period")]
    assert sums == report_sums(recording), recording


for name, least in RECORDINGS.items():
    check(pathlib.Path(DATA, "quipper", name), least)
