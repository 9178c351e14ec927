#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report --ignore-callees, --parent and --exclude-other have the rows, shares and graphs of `perf report`."""
import collections
import difflib
import os
import re
import shutil
import subprocess
import sys

from lib.machine import need_recording

reticle = os.environ["RETICLE"]
# left works once for main and twice for again, right 5 times, main itself 20 times: no two of these, or sums of them,
# are the same. In which order perf has callers of equal weight depends on where its heap has their files.
PROGRAM = """
#include <time.h>
volatile int sink;
#define FUNCTION(name, body) __attribute__((noinline)) void name(int n) { body; sink++; }
FUNCTION(sys_tick, for (int i = 0; i < 20000; i++) sink += n + i)
FUNCTION(helper, sys_tick(n))
FUNCTION(left, helper(n))
FUNCTION(right, for (int i = 0; i < 5; i++) helper(n + i))
FUNCTION(again, if (n > 0) { again(n - 1); } else { left(n); left(n + 1); })
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2) {
		left(1);
		right(2);
		again(3);
		for (int i = 0; i < 20; i++)
			sys_tick(4);
	}
}
"""


def skip(why):
    print(why)
    sys.exit(77)


def record(path, *words):
    p = run(reticle, "record", "-q", "-g", "-o", path, *words)
    if p.returncode:
        sys.exit(f"record: exit status {p.returncode}: {p.stderr}")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          timeout=120, env={**os.environ, "NO_COLOR": "1"})


def lines(tool, path, *options):
    out = run(*tool, "report", "--stdio", "--no-inline", "-i", path, *options)
    # perf makes room for rows that it does not show.
    return [re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in out.stdout.splitlines()
            if line.strip() and not line.startswith("#")]


def unnamed(line):
    """Callers and functions without a symbol: each tool has its own words for them. Those of the vDSO are named by
    what each tool has of it."""
    return re.search(r"\[unknown\]|\[vdso\]|0x[0-9a-f]{5}|\] 0{8}|\] \[|0000000000", line)


def of_program(line):
    return re.search(r"\] (sys_tick|helper|left|right|again|main)\b", line)


def rows(tool, path, *options):
    """-> {columns behind the shares: sum of shares}, of what has a symbol; functions of one name in several files have
    a row each, which read the same"""
    found = collections.Counter()
    for line in lines(tool, path, *options):
        m = re.match(r" +(\d+\.\d+)%  (.*)$", line)
        if m and not unnamed(line):
            found[m[2]] += float(m[1])
    return found


def difference(options, want, got):
    return "\n".join([f"{options}: perf has {len(want)} lines, reticle {len(got)}",
                      *difflib.unified_diff(want, got, "perf", "reticle", lineterm="")])


def main():
    need_recording()
    for tool in ("perf", "cc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    version = run("perf", "--version").stdout.strip()
    if not version.startswith("perf version 6.1."):
        skip(f"rows are compared with perf 6.1, this is {version}")
    with open("calls.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "calls.c", "-o",
                    "calls"], check=True)
    record("calls.data", "-e", "cpu-clock:u", "-F", "2000", "--", "./calls")
    # Whole tables with their graphs, in perf's order.
    whole = (["--ignore-callees", "helper", "-g", "graph,5,callee"],
             ["--ignore-callees", "helper|again", "-g", "graph,5,callee"],
             ["--ignore-callees", "left|right", "-g", "graph,5,callee", "--sort", "sym,dso"],
             ["--ignore-callees", "^nobody$", "-g", "graph,5,callee"],
             ["-p", "helper|again|left", "-g", "graph,5,callee"], ["-p", "helper|again|left", "-g", "graph,5,caller"],
             ["--sort", "parent,sym", "-g", "graph,5,callee"],
             ["--sort", "parent", "-p", "^right$", "-x", "-g", "none"],
             ["-p", "again|left", "-g", "graph,5,callee", "-G"], ["-p", "^right$", "-x", "-g", "graph,5,caller"],
             ["-p", "^right$", "-x", "--percentage", "relative", "-g", "none"])
    for options in whole:
        options = ["--no-children", "--percent-limit", "2", *options]
        want, got = lines(["perf"], "calls.data", *options), lines([reticle], "calls.data", *options)
        if not want or want != got:
            sys.exit(difference(options, want, got))
    # With totals equal rows stand in another order; callers come first there, and where a form of the table has none:
    # of that perf shows functions that only called others, too.
    for options in (["--hierarchy", "--sort", "parent,sym", "-p", "left|again", "-g", "none"],
                    ["-F", "overhead,sym", "-p", "left|again", "-g", "none"],
                    ["--children", "-p", "helper|again|left", "-g", "none"],
                    ["--children", "--sort", "parent,sym", "-p", "left", "-x", "-g", "none"]):
        want, got = (sorted(line for line in lines(tool, "calls.data", *options)
                            if of_program(line) and not (line.startswith("     0.00%") and "-F" in options))
                     for tool in (["perf"], [reticle]))
        if not want or want != got:
            sys.exit(difference(options, want, got))
    # The kernel's functions, too, where its symbols can be read: every row that has a symbol.
    record("files.data", "-e", "cpu-clock", "-F", "5000", "--", "sh", "-c",
           "ls -lR /usr/lib >/dev/null; find /usr/share | sort >/dev/null")
    for options in (["-p", "sys_|main"], ["--sort", "parent,sym", "-p", "page_fault|^vfs_"],
                    ["--ignore-callees", "sys_|page_fault"],
                    ["-p", "do_", "-x"], ["-p", "x64_sys", "--ignore-callees", "^vfs_"]):
        options = ["--no-children", "-g", "graph,100,callee", *options]
        want, got = rows(["perf"], "files.data", *options), rows([reticle], "files.data", *options)
        differ = {k for k in want.keys() | got.keys() if abs(want.get(k, 0) - got.get(k, 0)) > 0.011}
        if not want or differ:
            sys.exit(f"{options}: " + ", ".join(f"{k}: perf {want.get(k)}, reticle {got.get(k)}"
                                                for k in sorted(differ)[:20]) +
                     f" of {len(want)}")


main()
