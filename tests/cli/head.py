#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands above a table is six lines at most: of a plain recording, of a whole machine, of copied stacks, of the
virtual PMU with its metrics, and of a recording of others. --header has the rest."""
import os
import pathlib
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


kinds = {"plain": ["-e", "cpu-clock"], "machine": ["-a", "-g", "-e", "cpu-clock"],
         "copies": ["-e", "cpu-clock", "--call-graph", "dwarf"]}
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
    if len(lines) > 6 or not any(line.startswith("# Total Lost Samples: ") for line in lines):
        sys.exit("\n".join([f"{path}: {len(lines)} lines", *lines]))
if "metrics" in kinds:
    whole = "\n".join(head("metrics.data", "--header"))
    for what in ("# Group: cycles/", "windows", "kept when both ends lie in one function", "± is a 95% interval"):
        if what not in whole:
            sys.exit(f"no '{what}' with --header:\n{whole}")
