#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity=journal: without BPF, what threads work for is joined with samples by time. No sample belongs to a
wrong activity, whether journals are read in time or run over; of samples whose journal was read none is missed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from lib.activity_switcher import PROGRAM, build, include, read_truth, sources
from lib.activity_truth import Tally, by_time, check_times, run
from lib.machine import need_recording

reticle = os.environ["RETICLE"]


def record(name, step, freq, entries):
    os.environ["RETICLE_ACTIVITY_JOURNAL_ENTRIES"] = str(entries)
    run(reticle, "record", "-q", "--activity=journal", "-F", str(freq), "-o", "perf.data", "--", "./program", "2",
        str(step), "1", "truth")
    print(f"{name}: {os.stat('perf.data').st_size} bytes for {sum(map(len, read_truth().values()))} activities")


def head():
    return next(line for line in run(reticle, "report", "-i", "perf.data", "--sort", "http.route").splitlines()
                if line.startswith("# Activities: "))


need_recording()
pathlib.Path("program.c").write_text(PROGRAM)
build("program", "program.c", *sources, include)

for name, step, freq in ("1 kHz", 1000000, 1000), ("4 kHz", 100000, 4000), ("20 kHz", 10000, 20000):
    record(name, step, freq, 65536)
    check_times(name, reticle, read_truth())
    if "overwritten" in head() or "no sense" in head():
        sys.exit(f"{name}: {head()}")
left = [str(path) for folder in ("/dev/shm", "/tmp") for path in pathlib.Path(folder).glob("reticle-journal-*")
        if path.stat().st_uid == os.geteuid()]

# The same with rings that hold 64 entries: the recorder cannot keep up, and says so.
record("overwritten", 10000, 4000, 64)
tally = Tally("overwritten")
for said, truth, where in by_time(reticle, read_truth()):
    tally.add(said, truth, where)
print(f"overwritten: {tally.right} right, 0 wrong, {tally.missed} missed")
lost = re.search(r"(\d+) entries of journals overwritten before they were read", head())
if not tally.missed or not lost or "whose journal had lost what their thread did" not in head():
    sys.exit(f"overwritten: {head()}")
del os.environ["RETICLE_ACTIVITY_JOURNAL_ENTRIES"]
