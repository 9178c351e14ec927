#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: leaks
"""reticle activity --csv: each table says what JSON says."""
import csv
import io
import json
import os
import struct
import subprocess
import sys

from lib.activity_file import BLOCKED, HARDIRQ, NONE, PREEMPTED, RUNS, SLEEPS, Recording
from lib.activity_truth import run

reticle = os.environ["RETICLE"]
CART, LIST = b"cart", b"list"
IDLE, ONE, TWO = 0, 100, 200


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def table(*words):
    text = run(reticle, "activity", "--csv", *words)
    print(text)
    return list(csv.DictReader(io.StringIO(text)))


def found(*words):
    return json.loads(run(reticle, "activity", "--json", *words))


def same(rows, wanted, *what):
    """Numbers are texts in CSV, and what is null is empty."""
    wanted = [{key: "" if value is None else str(value) for key, value in row.items()} for row in wanted]
    expect(rows == wanted, *what, "CSV has", rows, "and JSON", wanted)


def fails(status, text, *words):
    p = subprocess.run((reticle, "activity", *words), capture_output=True, text=True)
    expect(p.returncode == status and text in p.stderr and not p.stdout, words, "exit status", p.returncode, p.stderr)


def functions(row):
    return ", ".join(f"{f['symbol']} {100 * f['weight'] / row['weight']:.0f}%" for f in row["functions"])


r = Recording()
r.comm(ONE, "=one")
r.comm(TWO, "two")
r.works_for(ONE, CART, 900)
r.works_for(TWO, LIST, 900, cpu=1)
r.switch(IDLE, RUNS, ONE, 1000)
r.switch(IDLE, RUNS, TWO, 1000, cpu=1)
r.clock(ONE, 1100)
r.clock(TWO, 1100, cpu=1)
r.switch(TWO, SLEEPS, IDLE, 1500, cpu=1)
r.waking(ONE, TWO, 1700)
r.switch(IDLE, RUNS, TWO, 1750, cpu=1)
r.switch(ONE, SLEEPS, IDLE, 2000)
r.waking(IDLE, ONE, 2500, flags=HARDIRQ)
r.switch(IDLE, RUNS, ONE, 2600)
r.clock(ONE, 2700)
r.switch(ONE, BLOCKED, IDLE, 3000)
r.switch(TWO, PREEMPTED, IDLE, 4000, cpu=1)
r.clock(ONE, 5000)  # it was not seen to begin
r.switch(ONE, SLEEPS, IDLE, 5500)
r.write("perf.data")
by_trace = ("--by", "trace_id")
whole = found(*by_trace)
expect(len(whole["waits"]["activities"]) == 2 and len(whole["waits"]["places"]) == 3, "a poor recording:",
       whole["waits"])

rows = []
for event in whole["events"]:
    for row in event["activities"]:
        rows.append({"event": event["event"], "activity": row["activity"], "samples": row["samples"],
                     "weight": row["weight"],
                     "weight_percent": f"{100 * row['weight'] / event['weight']:.4f}", "functions": functions(row)})
same(table(*by_trace), rows, "activities:")
same(table(*by_trace, "--table", "activities"), rows, "activities:")
expect(len(table(*by_trace, "--lines", "1")) == len(whole["events"]),
       "--lines 1 shows more than one activity of each event")
same(table(*by_trace, "--table", "waits"), whole["waits"]["activities"], "waits:")
expect(table(*by_trace, "--table", "waits", "-q") == table(*by_trace, "--table", "waits"), "-q changes the table")


def place(row, quoted=True):
    row, waker = dict(row), row["waker"] or {}
    name = waker.get("comm")
    row["waker"] = "'" + name if name and name.startswith("=") and quoted else name
    return row | {f"waker_{key}": waker.get(key) for key in ("activity", "symbol", "kernel")}


expect(any(p["waker"] and p["waker"]["comm"] == "=one" for p in whole["waits"]["places"]), "=one wakes nobody")
same(table(*by_trace, "--table", "places"), [place(p) for p in whole["waits"]["places"]], "places:")
same(table(*by_trace, "--table", "places", "--csv-formulas"), [place(p, False) for p in whole["waits"]["places"]],
     "places:")

# Several hosts. The clock of the last one is not known.
db = Recording()
for time in (3000, 3100, 3200):
    db.works_for(50, CART if time == 3100 else b"", time, status=1 if time == 3100 else NONE)
    db.clock(50, time)
db.write("db.data")
hosts = found("perf.data", "db.data")
rows = [{"trace_id": trace["trace_id"], "recording": stop["recording"], "from": stop.get("from"), "to": stop.get("to"),
         "samples": stop["samples"], "weight": stop["weight"], "functions": stop["functions"]}
        for trace in hosts["traces"] for stop in trace["stops"]]
expect(len(rows) == 2 and any(row["from"] is None for row in rows) and any(row["from"] is not None for row in rows),
       "hosts:", hosts)
same(table("perf.data", "db.data"), rows, "hosts:")

fails(2, "exclude each other", "--csv", "--json")
fails(2, "names a table of --csv", "--table", "waits")
fails(2, "'nothing' is none of", "--csv", "--table", "nothing")
fails(2, "needs --slow", "--csv", "--table", "causes")
fails(2, "not shown with --time", "--csv", "--table", "waits", "--time", "0%-50%")
fails(2, "--table and -i are for one recording", "--csv", "--table", "waits", "perf.data", "db.data")
plain = Recording()
plain.EVENTS = [Recording.EVENTS[0], (1, 9, 1, b"dummy"), (1, 9, 1, b"dummy"), Recording.EVENTS[3]]
plain.works_for(ONE, CART, 900)
plain.clock(ONE, 1000)
plain.write("plain.data")
fails(1, "plain.data has no waits", "--csv", "--table", "places", "-i", "plain.data", *by_trace)

# Of 400 spans every 40th does more, of something else.
slow, time = Recording(), 1000
for i in range(1, 401):
    slow.works_for(ONE, CART, time, span=struct.pack("<H", i))
    slow.clock(ONE, time + 1)
    for k in range(9 + i % 3 if i % 40 == 0 else 0):
        slow.clock(ONE, time + 2 + k, ip=0x2000)
    time += 100
slow.write("slow.data")
rows = [{"event": event["event"], **cause} for event in found("--slow", "3", "-i", "slow.data")["events"]
        for cause in event["causes"]]
expect(rows, "nothing makes the heavy ones heavy")
rows = [row | {"heavy": f"{row['heavy']:.1f}", "others": f"{row['others']:.1f}",
               "standard_errors": f"{row['standard_errors']:.2f}"}
        for row in rows]
same(table("--slow", "3", "--table", "causes", "-i", "slow.data"), rows, "causes:")
