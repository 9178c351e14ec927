#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export --to parquet and --to csv --rows: both tables hold the same rows, an independent reader reads them, what they
add up to is what report says, and Parquet is at most a fifth of CSV."""
import collections
import csv
import os
import pathlib
import re
import struct
import subprocess

from lib import parquet
from lib.machine import need
from lib.spe_file import BASE, Operation, Recording, two_cpus

RETICLE = os.environ["RETICLE"]
DATA = os.environ.get("RETICLE_TEST_DATA")
# Recordings, and how many rows their tables have at least.
RECORDINGS = {"with-callchain.perf.data": 48000, "multi-event-single-process.perf.data": 1000,
              "perf.data.weight_struct": 1, "perf.data.hw_and_sw-3.4": 1, "perf.data.busy.1-3.4": 1000,
              "perf.data.armv7-3.4": 1, "perf.data.callgraph-3.4": 1}


def export(recording, name, *args):
    command = [RETICLE, "export", "-i", str(recording), "--offline", "-o", name, *args]
    r = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, r.stderr
    return r.stderr


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
    command = [RETICLE, "report", "-i", str(recording), "--offline", "--csv", "--csv-formulas", "--no-inline",
               "--no-children", "--sort", "comm,dso,symbol"]
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


def check_operations():
    """Of Arm SPE: each load and store once, with all its fields."""
    cpus, _ = two_cpus("spe.data")
    for form in "parquet", "csv":
        export("spe.data", f"m.{form}", "--rows", "memory", *(["--csv-formulas"] if form == "csv" else []))
    names, rows, _ = same("m.parquet", "m.csv")
    kinds = {Operation.LOAD: "LOAD", Operation.STORE: "STORE"}
    wanted = sorted((o.time, cpu, kinds[o.kind], o.pc, o.address, o.physical, *o.latency[:2],
                     o.latency[2] if o.address is not None else None, 1 if o.kernel else 0)
                    for cpu, ops in enumerate(cpus) for o in ops if o.kind in kinds)
    at = [names.index(n) for n in ("time", "cpu", "op", "pc", "vaddr", "paddr", "total_lat", "issue_lat",
                                   "xlat_lat", "el")]
    found = sorted(tuple(r[i] for i in at) for r in rows)
    assert len(found) == len(wanted), (len(found), len(wanted))
    for ours, theirs in zip(found, wanted):
        assert ours == theirs, (ours, theirs)
    assert all("RETIRED" in r[names.index("operation_events")] for r in rows)


def check_packets():
    """What an operation has no packet for is missing, and not 0."""
    pc, issue, total, load = b"\xb0" + struct.pack("<Q", BASE | 0x80 << 56), b"\x99\3\0", b"\x98\0\0", b"\x49\0"
    address, physical, end = b"\xb2" + bytes(8), b"\xb3" + bytes(7) + b"\x80", b"\x71" + struct.pack("<Q", 1000)
    r = Recording()
    r.thread(1, 1, "p")
    r.buffer(0, 1,
             b"".join(parts + b"\0" * ((-len(parts) - 9) % 4) + end
                      for parts in (load, pc + issue + total + load + address + physical)))
    r.write("packets.data")
    export("packets.data", "m.parquet", "--rows", "memory")
    export("packets.data", "s.parquet", "--itrace", "M")
    for path, wanted in (("m.parquet", {"pc": BASE, "el": 0, "total_lat": 0, "issue_lat": 3, "xlat_lat": None,
                                        "vaddr": 0, "paddr": 0}),
                         ("s.parquet", {"ip": BASE, "weight": 0, "addr": 0})):
        names, rows, _ = parquet.read(path)
        found = [[row[names.index(n)] for n in wanted] for row in rows]
        assert found == [[None] * len(wanted), list(wanted.values())], (path, found)


def check_refusals():
    for args in (["--to", "svg", "--rows", "samples"], ["--to", "csv", "--stacks", "x"],
                 ["--to", "parquet", "--rows", "all"],
                 ["--to", "json", "--csv-formulas"], ["--to", "csv", "--rows", "memory", "--itrace", "b"]):
        r = subprocess.run([RETICLE, "export", "-i", "spe.data", *args], capture_output=True, stdin=subprocess.DEVNULL)
        assert r.returncode == 2 and not r.stdout, args
    # Neither file appears if one of them cannot be written.
    pathlib.Path("old.csv").write_text("old")
    for out, stacks in (("old.csv", "no/stacks.csv"), ("no/old.csv", "stacks.csv"), ("old.csv", "/dev/full"),
                        ("/dev/full", "old.csv")):
        r = subprocess.run([RETICLE, "export", "-i", "spe.data", "--rows", "samples", "--to", "csv", "-o", out,
                            "--stacks", stacks],
                           capture_output=True, stdin=subprocess.DEVNULL)
        assert r.returncode == 1, (out, stacks)
        assert pathlib.Path("old.csv").read_text() == "old" and not pathlib.Path("no").exists()
    # One file cannot be both, however it is written.
    os.mkdir("sub")
    os.symlink("sub", "link")
    for out, stacks in (("a.csv", "a.csv"), ("a.csv", "./sub/../a.csv"), ("sub/a.csv", "link/a.csv"), ("-", "-"),
                        ("-", "old.csv")):
        with open("old.csv" if stacks == "old.csv" else "said", "w", encoding="utf-8") as f:
            r = subprocess.run([RETICLE, "export", "-i", "spe.data", "--rows", "samples", "--to", "csv", "-o", out,
                                "--stacks", stacks],
                               stdout=f, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        assert r.returncode == 2 and "same file" in r.stderr, (out, stacks, r.stderr)
        assert not os.path.getsize(f.name) and not any(pathlib.Path().glob("**/a.csv*")), (out, stacks)
    os.symlink("old.csv", "to-old.csv")  # a link is replaced
    export("spe.data", "to-old.csv", "--rows", "samples", "--stacks", "old.csv")
    assert read_csv("to-old.csv")[0] != read_csv("old.csv")[0]
    r = subprocess.run([RETICLE, "export", "-i", "spe.data", "--to", "parquet", "-o", "/dev/full"],
                       capture_output=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 1


check_operations()
check_packets()
check_refusals()
export("spe.data", "none.parquet", "--itrace", "b")
assert parquet.read("none.parquet")[1], "no branch misses"
need(None if DATA else "RETICLE_TEST_DATA is not set")
for name, least in RECORDINGS.items():
    check(pathlib.Path(DATA, "quipper", name), least)
said = export(pathlib.Path(DATA, "quipper/perf.data.armv7-3.4"), "none.parquet", "--rows", "memory")
assert "no sample says what it loaded" in said and not parquet.read("none.parquet")[1], said
