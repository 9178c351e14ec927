#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""report --stats, --tasks and --mmaps print line by line what `perf report` does, on recordings made here and on old
ones."""
import glob
import os
import re
import sys

from lib.machine import need_recording
from lib.peer import need_perf, run

reticle, data = os.environ["RETICLE"], os.environ.get("RETICLE_TEST_DATA")
OPTIONS = ["--stats", "--tasks", "--mmaps"]


need_perf("lines")
need_recording()

SCRIPT = "for i in 1 2 3; do ls / >/dev/null; (sh -c 'ls /usr >/dev/null' & wait); done; ls -R /etc >/dev/null 2>&1"
KINDS = {
    "plain": ["-e", "cpu-clock,page-faults,context-switches"],
    "graph": ["-e", "cpu-clock", "-g"],
    "packed": ["-e", "cpu-clock", "-g", "-z"],
    "group": ["-e", "{cpu-clock,page-faults,alignment-faults}:S"],
    "piped": ["-e", "cpu-clock"],
}
made = []
for kind, words in KINDS.items():
    for recorder in ["perf", reticle]:
        path = f"{kind}.{os.path.basename(recorder)}.data"
        p = run("sh", "-c", f'exec "$@" -o {"- >" if kind == "piped" else ""}{path} -- sh -c "$SCRIPT"', "sh",
                recorder, "record", "-q", *words, env={**os.environ, "SCRIPT": SCRIPT})
        if p.returncode:
            sys.exit(f"record: exit status {p.returncode}: {p.stderr}")
        made.append(path)

old = (sorted(glob.glob(os.path.join(data, "quipper", "*perf.data*")) + glob.glob(os.path.join(data, "*", "*.data")))
       if data else [])
# What differs, and is taken out of the lines of both.
KNOWN = {
    # Names of events whose attr says "host only", which pipes bring without a name.
    ("--stats", "perf.data.piped.header_features_aligned-6.12"): r"(?<=:u)H(?= stats:$)",
    ("--stats", "perf.data.piped.header_feautres_group_desc-6.8"): r"(?<=:u)H(?= stats:$)",
    # A remark on what perf does not decode here.
    ("--stats", "perf.data.intel_pt-4.14"): r"(?<=^Aggregated stats:) \(excludes AUX area .*",
    # perf takes the inode that one record has of a file for that of all its mappings.
    ("--mmaps", "simpleperf-add-counter.data"): r"(?<= [0-9a-f]{8} )\d+(?= /lib/x86_64-linux-gnu/(libc|ld)-2.32.so$)",
}
same = 0
for path in made + list(dict.fromkeys(old)):
    for option in OPTIONS:
        want = run("perf", "report", option, "-i", path)
        if want.returncode or not want.stdout.strip():
            if path in made:
                sys.exit(f"perf report {option} -i {path}: {want.stderr}")
            continue
        got = run(reticle, "report", option, "-i", path)
        known = KNOWN.get((option, os.path.basename(path)), r"$^")
        if re.sub(known, "", got.stdout, flags=re.M) != re.sub(known, "", want.stdout, flags=re.M):
            for side, text in (("perf", want.stdout), ("reticle", got.stdout)):
                print(f"--- {side} report {option} -i {path}\n{text[:3000]}")
            sys.exit(1)
        same += 1
if same < len(made) * len(OPTIONS):
    sys.exit(f"only {same} reports were compared")
