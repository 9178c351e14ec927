#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""examples/activity: each program says at its end which of its functions worked in which span. record --activity finds
every sample of these functions in that span, and those of functions that work for no one in none. The HTTP server and
tasks.py, in Python, say when they worked for which span."""
import collections
import json
import os
import pathlib
import re
import sys

from lib.activity_programs import RECORD_TIMES, read_times, reticle, serve
from lib.activity_truth import Tally, check_times, run, samples
from lib.machine import need_bpf

examples = pathlib.Path(reticle).parent / "examples/activity"
RIGHT = 5  # samples that each function has at least; it runs for a tenth of a second of CPU time, which is 200
PROGRAMS = {"work_queue": "messaging.destination", "coroutines": "http.route", "nested": "http.route",
            "exceptions": "http.route"}  # and the key of its attribute
MODULE = {"PYTHONPATH": os.environ["SRCDIR"] + "/activity/python",
          "RETICLE_ACTIVITY_LIBRARY": str(examples / "libreticle-activity.so")}


def read_truth(name, output):
    """-> {function: what reticle has to say}; a function works in one span only"""
    truth = {}
    for line in output.splitlines():
        m = re.fullmatch(r"(\w+) ([0-9a-f]{32}/[0-9a-f]{16}|-) (\S+)", line)
        if not m or m[1] in truth:
            sys.exit(f"{name}: what it says of its spans is not understood: {line!r}")
        truth[m[1]] = "none" if m[2] == "-" else m[2] + (f" {PROGRAMS[name]}={m[3]}" if m[3] != "-" else "")
    if "none" not in truth.values() or len(set(truth.values())) < 4:
        sys.exit(f"{name}: there is not enough to compare: {truth}")
    return truth


def check(name, truth):
    tally, right = Tally(name, early_ones=True), collections.Counter()
    for sample in samples(reticle, "ip,sym,activity"):
        function = re.sub(r"[(.].*", "", sample.get("sym") or "")  # without arguments and what compilers add
        if function in truth and tally.add(sample["activity"], truth[function], function):
            right[function] += 1
    tally.end()
    for function in truth:
        if right[function] < RIGHT:
            sys.exit(f"{name}: {right[function]} samples in {function}: {right}")


need_bpf()
for program in PROGRAMS:
    spans_of = read_truth(program, run(reticle, "record", "-q", "--activity", "-e", "cpu-clock:u", "-F", "2000", "-o",
                                       "perf.data", "--", str(examples / program)))
    check(program, spans_of)
    events = json.loads(run(reticle, "activity", "--json", "--by", "span_id", "-i", "perf.data"))["events"]
    rows = {row["activity"] for row in events[0]["activities"]}
    spans = {said.split(" ")[0].split("/")[1] for said in spans_of.values() if said != "none"}
    if not spans <= rows:
        sys.exit(f"{program}: activity --by span_id has the rows {rows}, and the spans are {spans}")

check_times("http_server", reticle, read_times("http_server", serve("http_server", str(examples / "http_server"))),
            early_ones=True)
tasks = run(*RECORD_TIMES, sys.executable, os.environ["SRCDIR"] + "/examples/activity/tasks.py",
            env={**os.environ, **MODULE})
check_times("tasks", reticle, read_times("tasks", tasks), early_ones=True)
