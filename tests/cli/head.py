#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands above a table is six lines at most: of a plain recording, of a whole machine, of copied stacks, of the
virtual PMU with its metrics, of windows of a clock, and of a recording of others. --header has the rest. What no row
has a value of is no column then, but is named above the table. In all forms of a table the head counts the same
samples, which are those of --stats."""
import json
import os
import pathlib
import re
import subprocess
import sys

from lib.machine import need_recording, use_plugin, no_sim

reticle, data = os.environ["RETICLE"], os.environ.get("RETICLE_TEST_DATA")
WORK = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]
need_recording()
use_plugin()


def run(*words):
    p = subprocess.run([reticle, *words], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"{' '.join(words)}: exit status {p.returncode}: {p.stderr}")
    return p.stdout


def head(path, *words):
    text = run("report", "--stdio", "-i", path, *words)
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.lstrip("# ").startswith(("Overhead", "Children"))), None)
    if first is None:
        sys.exit(f"{path}: no table in {text[:2000]}")
    return lines[:first]


CLOCK = "{cpu-clock/period=2000000,alt-period=200000/,context-switches,page-faults}:S"
kinds = {"plain": ["-e", "cpu-clock"], "machine": ["-a", "-g", "-e", "cpu-clock"],
         "copies": ["-e", "cpu-clock", "--call-graph", "dwarf"], "clock": ["-e", CLOCK]}
if no_sim():
    print("without a table of metrics: there is no virtual PMU here")
else:
    kinds["metrics"] = ["--pmu=sim"]
for kind, options in kinds.items():
    run("record", "-q", *options, "-o", f"{kind}.data", "--", *WORK)
paths = [f"{kind}.data" for kind in kinds]
lbr = pathlib.Path(data or "", "lbr", "autofdo-test.lbr")
paths += [str(lbr)] if data and lbr.exists() else []
for path in paths:
    lines = head(path)
    counts = {re.search(r"^# Recording: (\d+) samples", "\n".join(head(path, *form)), re.M)[1]
              for form in ([], ["--no-metrics"], ["--hierarchy"], ["--group"], ["--sort", "comm"])
              if path != str(lbr)}  # there, branches are counted
    stats = json.loads(run("report", "--stats", "--json", "-i", path))
    if counts - {str(stats["types"]["SAMPLE"])}:
        sys.exit(f"{path}: {counts} samples by the heads of several forms, {stats} by --stats")
    if len(lines) > 6 or not any(line.startswith("# Total Lost Samples: ") for line in lines):
        sys.exit("\n".join([f"{path}: {len(lines)} lines", *lines]))
rates = {"context-switches/ms", "page-faults/ms"}
table = run("report", "--stdio", "-i", "clock.data").splitlines()
columns = next(line for line in table if line.startswith("# Overhead"))[2:].split()
rows = [line.split() for line in table if line.lstrip()[:1].isdigit()]
shown = {name for name in rates & set(columns)}
without = next((line for line in table if line.startswith("# No row has a value of ")), "")
if any(all(row[columns.index(name)] == "-" for row in rows[:-1]) for name in shown) or \
        any((name in without) == (name in shown) for name in rates):
    sys.exit("\n".join(["columns of which no row has a value:", *table]))
chosen = run("report", "--stdio", "-i", "clock.data", "--columns", "page-faults/ms")
if "No row has" in chosen or not re.search("^# Overhead +page-faults/ms ", chosen, re.M):
    sys.exit(f"--columns page-faults/ms: {chosen}")
if "metrics" in kinds:
    whole = "\n".join(head("metrics.data", "--header"))
    for what in ("# Group: cycles/", "windows", "kept when both ends lie in one function", "± is a 95% interval"):
        if what not in whole:
            sys.exit(f"no '{what}' with --header:\n{whole}")
