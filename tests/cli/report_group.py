#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report --group has the tables of `perf report --group`, on recordings with groups and without."""
import os
import re
import shutil
import subprocess
import sys

reticle = os.environ["RETICLE"]


def skip(why):
    print(why)
    sys.exit(77)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=120,
                          env={**os.environ, "NO_COLOR": "1"})


def lines(tool, path, *options):
    """Heads of events and rows, of what has a symbol; perf makes room for rows that it does not show, and names functions of
    the vDSO by what it has kept of another kernel's."""
    found = []
    for line in run(*tool, "report", "--stdio", "-i", path, "--group", "-g", "none", "--no-children", *options).stdout.splitlines():
        if re.match(r"# (Samples|Event count)|#? +(Overhead|\d+\.\d+%)", line) and not re.search(r"\] (\[|0x|0{8})|\[vdso\]", line):
            found.append(re.sub(r" {2,}", "  ", line.rstrip()))
    return found


if not shutil.which("perf"):
    skip("perf is not installed")
version = run("perf", "--version").stdout.strip()
if not version.startswith("perf version 6.1."):
    skip(f"tables are compared with perf 6.1, this is {version}")
KINDS = {
    "group": ["-e", "{cpu-clock,page-faults,context-switches}"],
    "apart": ["-e", "cpu-clock", "-e", "page-faults", "-g"],
    "mixed": ["-e", "page-faults", "-e", "{task-clock,cpu-clock}"],
    "read": ["-e", "{cpu-clock,page-faults}:S"],
}
for kind, words in KINDS.items():
    p = run(reticle, "record", "-q", "-F", "2000", *words, "-o", kind, "--", "sh", "-c", "ls -R /usr/share >/dev/null; find /etc | sort >/dev/null")
    if p.returncode:
        skip("no recording here: " + (p.stderr.strip().splitlines() or [""])[0])
    for options in ([], ["-n", "--show-total-period", "--sort", "sym"], ["--sort", "dso"], ["--percent-limit", "2", "--sort", "comm,sym"]):
        want, got = lines(["perf"], kind, *options), lines([reticle], kind, *options)
        if len(want) < 4 or want != got:
            sys.exit(f"{kind} {options}:\nperf:\n" + "\n".join(want[:60]) + "\nreticle:\n" + "\n".join(got[:60]))
