#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""diff finds the same rows and the same values as `perf diff` does, on recordings made here and on old ones."""
import glob
import os
import re
import subprocess
import sys

from lib.machine import need_recording
from lib.peer import need_perf, skip

reticle, data = os.environ["RETICLE"], os.environ.get("RETICLE_TEST_DATA")


need_perf("rows")
need_recording()


def record(path, script):
    p = subprocess.run([reticle, "record", "-q", "-o", path, "-e", "cpu-clock,task-clock", "-F", "2000", "--", "sh",
                        "-c", script],
                       capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"record: exit status {p.returncode}: {p.stderr}")


def table(out, unnamed):
    """-> {(event, object, symbol): (baseline, value)}; perf folds an object's unnamed addresses into one, too."""
    rows, event = {}, None
    for line in out.splitlines():
        head = re.match(r"# Event '(.*)'$", line)
        if head:
            event = head[1]
        if line.startswith("#") or not line.strip():
            continue
        fields = [f.strip() for f in line.split("\x1f")]
        name = re.sub(r"^\[.\] ", "", fields[3])
        if unnamed(name):
            name = None
        rows[event, fields[2], name] = (fields[0].rstrip("%"), fields[1])
    return rows


def theirs(*args):
    p = subprocess.run(["perf", "diff", "-t", "\x1f", *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                       errors="replace")
    return table(p.stdout, lambda name: re.fullmatch("0x[0-9a-f]{16}", name))


def ours(*args):
    p = subprocess.run([reticle, "diff", "-t", "\x1f", *args], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, errors="replace")
    if p.returncode:
        sys.exit(f"diff {args}: {p.stderr}")
    return table(p.stdout, lambda name: name.startswith(("[unresolved in", "[unknown]")))


def number(text):
    return float(text.rstrip("%")) if re.search(r"\d", text) else text


def same(a, b):
    """Shares are rounded twice: a hundredth. A weighted difference of 0 is not shown by perf where -t is given."""
    if (a, b) == ("", 0):
        return True
    return type(a) is type(b) and (a == b if isinstance(a, str) else abs(a - b) <= 0.0101)


record("a.data", "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; gzip -c /proc/self/exe >/dev/null")
record("b.data", "i=0; while [ $i -lt 120000 ]; do i=$((i + 1)); done; sort \"$SRCDIR/LICENSE\" >/dev/null")
pairs = [("a.data", "b.data", "delta,delta-abs,ratio,wdiff:1,2".split(",", 3))]
for old, new in (("busy.0-3.4", "busy.1-3.4"), ("systemwide.0-3.4", "systemwide.1-3.4"),
                 ("callgraph-3.4", "busy.1-3.4")):
    files = [f"{data}/quipper/perf.data.{name}" for name in (old, new)]
    if data and all(map(os.path.exists, files)):
        pairs.append((*files, ["delta"]))
compared = 0
for old, new, methods in pairs:
    for method in methods:
        want, got = theirs("-c", method, old, new), ours("-c", method, old, new)
        for key in sorted(want.keys() | got.keys(), key=str):
            if key not in want or key not in got:
                sys.exit(f"{method} of {old} and {new}: {key}: perf {want.get(key)}, reticle {got.get(key)}")
            if not all(same(number(a), number(b)) for a, b in zip(want[key], got[key])):
                sys.exit(f"{method} of {old} and {new}: {key}: perf {want[key]}, reticle {got[key]}")
        compared += len(want)
if not compared:
    sys.exit("nothing was compared")
