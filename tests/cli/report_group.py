#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""report --group has the tables of `perf report --group`, on recordings with groups and without."""
import difflib
import os
import re
import sys

from lib.machine import need_recording
from lib.peer import need_perf, run

reticle = os.environ["RETICLE"]


def lines(tool, path, *options):
    """Heads of events and rows, of what has a symbol; perf makes room for rows that it does not show, and names
    functions of the vDSO by what it has kept of another kernel's."""
    found = []
    for line in run(*tool, "report", "--stdio", "-w", "0", "-i", path, "--group", "-g", "none", "--no-children",
                    *options).stdout.splitlines():
        if (re.match(r"# (Samples|Event count)|#? +(Overhead|\d+\.\d+%)", line) and
                not re.search(r"\] (\[|0x|0{8})|\[vdso\]", line)):
            found.append(re.sub(r" {2,}", "  ", line.rstrip()))
    return found


def sums(tool, path, keys):
    """Samples and periods of each member by symbol alone. With --sort sym, perf compares symbols of different DSOs by
    their places in them and what has no symbol by address, which is no order: it has several rows of one symbol, as
    the tree fell, and may look for a row without end. So it is asked by DSO as well, and rows are added up."""
    found = {}
    for line in lines(tool, path, "-n", "--show-total-period", "--sort", keys):
        row = re.match(r" +((?:\d+\.\d+%\s+)+)((?:\d+\s+)+)(?:\S.*? )??(\[.\] .*)", line)
        if row and not row[3].startswith("[.] __vdso_"):
            counts = [int(n) for n in row[2].split()]
            found[row[3]] = [a + b for a, b in zip(counts, found.get(row[3], [0] * len(counts)))]
    return found


def differences(want, got):
    return "\n".join(difflib.unified_diff(want, got, "perf", "reticle", lineterm="", n=1))


need_perf("tables")
need_recording()
KINDS = {
    "group": ["-e", "{cpu-clock,page-faults,context-switches}"],
    "apart": ["-e", "cpu-clock", "-e", "page-faults", "-g"],
    "mixed": ["-e", "page-faults", "-e", "{task-clock,cpu-clock}"],
    "read": ["-e", "{cpu-clock,page-faults}:S"],
}
# Groups that are read do not follow into children, so the shell works, too.
WORK = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; ls -R /usr/share >/dev/null; find /etc | sort >/dev/null"
for kind, words in KINDS.items():
    p = run(reticle, "record", "-q", "-F", "2000", *words, "-o", kind, "--", "sh", "-c", WORK)
    if p.returncode:
        sys.exit(f"record: exit status {p.returncode}: {p.stderr}")
    for options in ([], ["-n", "--show-total-period", "--sort", "dso,sym"], ["--sort", "dso"],
                    ["--percent-limit", "2", "--sort", "comm,dso,sym"]):
        want, got = lines(["perf"], kind, *options), lines([reticle], kind, *options)
        if len(want) < 4 or want != got:
            sys.exit(f"{kind} {options}:\n" + differences(want, got))
    want, got = sums(["perf"], kind, "dso,sym"), sums([reticle], kind, "sym")
    if not want or want != got:
        sys.exit(f"{kind} sums by symbol:\n" + differences([f"{k} {want[k]}" for k in sorted(want)],
                                                           [f"{k} {got[k]}" for k in sorted(got)]))
