#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""What is listed of recordings that others made is what perf lists, as a whole: evlist, buildid-list, the headers.
(Records are compared by report_records.py.) What differs is named here, with its reason in doc/differences.md."""
import collections
import difflib
import glob
import os
import re
import shutil
import sys

from lib.peer import need_perf, run, skip

reticle, data = os.environ["RETICLE"], os.environ.get("RETICLE_TEST_DATA")
VIEWS = ["evlist", "evlist -v", "evlist -F", "evlist -g", "buildid-list", "buildid-list -H", "report --header-only",
         "report --header-only -I"]

need_perf("lists")
if not data:
    skip("RETICLE_TEST_DATA is not set: no recordings of others")

# (views, recordings, what is replaced in both outputs): each is one paragraph there.
KNOWN = [
    ("evlist.*", "sleep.compressed2?.pipe.data", r"^cycles:(ppp|P)(?=:|$)", "NAME"),
    ("evlist.*", "perf.data.piped.header_fea.*", r"^(cycles|instructions):uH?(?=:|$)", "NAME"),
    ("evlist -g", "perf.data.piped.header_feautres_group_desc-6.8", r"^(\{.*\}|NAME\nNAME)$", "GROUP"),
    ("evlist -v", r"perf.data.piped.*", r", (sample_regs_user|sample_regs_intr|sample_stack_user|aux_watermark|"
                                        r"sample_max_stack|clockid|branch_sample_type|aux_sample_size|sig_data): \w+",
                                        ""),
    ("buildid-list.*", ".*", r"(/tmp/perf-vdso.so-\w+|\[vdso\])$", "VDSO"),
    ("report.*", "simpleperf.*", r"^# simpleperf .*\n", ""),
    ("report.*", ".*pipe.*", r"^# ========\n#\n", ""),
    ("report.*-I", "perf.data.weight_struct",
     r"^# (Core ID and Socket ID information is not available|CPU \d+: Core ID .*)\n", ""),
]
# Files without a build id stand in the order in which they were mapped in threads that were sampled.
UNORDERED = {"perf.data.forkexit-3.4", "perf.data.piped.hw_and_sw-3.4", "perf.data.piped.target-3.4"}


def cleaned(view, name, text):
    for views, names, pattern, instead in KNOWN:
        if re.fullmatch(views, view) and re.fullmatch(names, name):
            text = re.sub(pattern, instead, text, flags=re.M)
    return sorted(text.splitlines()) if view.startswith("buildid-list") and name in UNORDERED else text.splitlines()


files = [f for f in glob.glob(os.path.join(data, "quipper", "*perf.data*")) +
         glob.glob(os.path.join(data, "*", "*.data"))
         if not f.endswith(".pb_text")]
counts, bad = collections.Counter(), 0
for path in sorted(set(files)):
    name = os.path.basename(path)
    for view in VIEWS:
        words = [*view.split(), "-i", path]
        want = run("perf", *words, env={**os.environ, "NO_COLOR": "1", "PERF_BUILDID_DIR": "/nonexistent"})
        if want.returncode or not want.stdout.strip():
            counts[view, "not shown by perf"] += 1
            continue
        got = run(reticle, *words)
        counts[view, "same"] += want.stdout == got.stdout
        counts[view, "compared"] += 1
        a, b = cleaned(view, name, want.stdout), cleaned(view, name, got.stdout)
        if a != b:
            bad += 1
            print(f"--- {view}: {name}")
            print("\n".join(line[:200]
                            for line in list(difflib.unified_diff(a, b, "perf", "reticle", lineterm="", n=0))[2:12]))
# When a recording was made is when its content was last changed, also of a copy that was made since (cp -p).
shutil.copy(sorted(set(files))[0], "old.data")
os.utime("old.data", (1e9, 1e9))
if "Sep  9 01:46:40 2001" not in run(reticle, "report", "--header-only", "-i", "old.data",
                                     env={**os.environ, "TZ": "UTC"}).stdout:
    sys.exit("report --header-only takes a copy's time for that of the recording")

for view in VIEWS:
    print(f"{view}: {counts[view, 'same']} of {counts[view, 'compared']} are equal to the letter, "
          f"{counts[view, 'not shown by perf']} perf does not show")
if bad or counts["evlist", "compared"] < 30:
    sys.exit(f"{bad} lists differ")
