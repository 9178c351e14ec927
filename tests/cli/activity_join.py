#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity: threads that switch activities every 10 microseconds to 1 millisecond say when they worked for
which, and each sample belongs to the right one, however the program has its thread context."""
import json
import os
import pathlib
import platform
import sys

from lib.activity_switcher import PROGRAM, build, include, read_truth, sources
from lib.activity_truth import check_times, run
from lib.machine import need_bpf

reticle = os.environ["RETICLE"]


def record(name, step, freq, program, *more, target=()):
    run(reticle, "record", "-q", "--activity", "-k", "CLOCK_MONOTONIC", "-F", str(freq), "-o", "perf.data", *target,
        "--", f"./{program}", "2", str(step), "1", "truth", *more)
    check_times(name, reticle, read_truth())


need_bpf()
pathlib.Path("program.c").write_text(PROGRAM)
pathlib.Path("block.c").write_text("__thread char block[100000];\nchar *own_block(void);\nchar *own_block(void)\n{\n"
                                   "\treturn block;\n}\n")
descriptors = ["-mtls-dialect=gnu2"] if platform.machine() == "x86_64" else []

build("static", "-static", "program.c", *sources, include)
build("joined", "program.c", *sources, include)
record("a static program at 1 kHz", 1000000, 1000, "static")
record("a program at 20 kHz", 10000, 20000, "joined")
for name, options in {"descriptors": descriptors, "modules": [], "offsets": ["-ftls-model=initial-exec"]}.items():
    if name == "modules" and not descriptors:
        continue  # no other way but descriptors
    build(f"lib{name}.so", "-shared", "-fPIC", *options, *sources, include)
    build(f"with_{name}", "program.c", include, f"./lib{name}.so", "-Wl,-rpath,.")
    record(f"a library with {name}", 100000, 4000, f"with_{name}")
build("loader", "-DLOADED", "program.c", include)
for name, options in {"descriptors": descriptors, "modules": []}.items():
    build("libloaded.so", "-shared", "-fPIC", *options, "block.c", *sources, include)
    record(f"a library with {name} that is loaded late, and has a large block", 100000, 4000, "loader",
           "./libloaded.so")
record("the whole machine", 100000, 4000, "joined", target=["-a"])

# As rows, and in the head.
text = run(reticle, "report", "-i", "perf.data", "--sort", "service,http.route,trace_id", "--comm", "joined")
print(text)
for part in ("switcher", "/odd", "/even", "01010000000000000000000000000000", "# Activities: "):
    if part not in text:
        sys.exit(f"report does not show {part}")
rows = run(reticle, "report", "-i", "perf.data", "--csv", "--sort", "http.route", "--comm", "joined").splitlines()[1:]
if not {"/odd", "/even", "[none]"} <= {row.split(",")[-1] for row in rows}:
    sys.exit(f"rows by http.route: {rows}")

# As a table of activities.
rows = json.loads(run(reticle, "activity", "--json", "-i", "perf.data", "--comm",
                      "joined"))["events"][0]["activities"]
print(rows)
if {row["activity"] for row in rows} != {"/odd", "/even", "[none]"} or not all(row["functions"] for row in rows):
    sys.exit("activity: not these two routes, and nothing")
