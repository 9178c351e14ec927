#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Call graphs by function, address and source line, with shares, periods and counts, have the branches of perf's; rows
as a tree of their keys are perf's. Branches of equal weight, too, stand in perf's order."""
import os
import re
import shutil
import subprocess
import sys

from lib.machine import need_recording

reticle = os.environ["RETICLE"]
PROGRAM = """
#include <stdlib.h>
#include <time.h>
volatile int sink;
#define PAD for (int i = 0; i < 100000; i++) sink += i
__attribute__((noinline)) void tick(void)
{
	sink++;
}
__attribute__((noinline)) void leaf(int n)
{
	tick(); /* a function that calls none has no frame */
	if (n & 1)
		PAD;
	else {
		PAD;
		PAD;
	}
}
__attribute__((noinline)) void left(int n)
{
	leaf(n); sink++;
	leaf(n + 1);
	sink++;
}
__attribute__((noinline)) void right(int n)
{
	if (n > 0)
		right(n - 1);
	else
		left(0);
	sink++;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2) {
		left(2);
		right(3);
	}
}
"""


# Each path touches as many pages.
EQUALS = """
#include <sys/mman.h>
static char *next;
volatile int sink;
__attribute__((noinline)) void tick(void)
{
	sink++;
}
__attribute__((noinline)) void leaf(void)
{
	tick();
	for (int i = 0; i < 10; i++, next += 4096)
		*next = 1;
}
#define CALLER(name) __attribute__((noinline)) void name(void) { leaf(); sink++; }
CALLER(delta) CALLER(alpha) CALLER(charlie) CALLER(bravo)
__attribute__((noinline)) void right(void)
{
	bravo(); alpha(); delta(); charlie(); sink++;
}
__attribute__((noinline)) void left(void)
{
	charlie(); delta(); bravo(); alpha(); sink++;
}
int main(void)
{
	next = mmap(0, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(next, 1 << 24, MADV_NOHUGEPAGE);
	for (int i = 0; i < 20; i++) {
		left();
		right();
	}
}
"""


def skip(why):
    print(why)
    sys.exit(77)


def graph(tool, name, *options):
    """The lines of the graphs of report. Perf never sets whether its [...], for what the limit hides, is inlined, so
    that by chance it says so."""
    p = subprocess.run([*tool, "-i", name, "--no-inline", "--no-children", "--percent-limit", "1", *options],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    lines = [line.replace("[...] (inlined)", "[...]").rstrip() for line in p.stdout.splitlines()]
    return [line for line in lines
            if line and not line.startswith("#") and not re.search(r"\b0x[0-9a-f]{8}|\[k\]", line)]


def shape(lines):
    """Values and names, in any order, as equal ones have none. Perf names the line after a call, and no offsets."""
    return sorted(re.sub(r"(\+0x[0-9a-f]+)?( \S+:\d+)?$", "", line).strip(" |-") for line in lines)


def record(name, program, *options):
    """-> name.data, a recording of the program"""
    with open(f"{name}.c", "w") as f:
        f.write(program)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", f"{name}.c",
                    "-o", name],
                   check=True)
    p = subprocess.run([reticle, "record", "-q", "-g", *options, "-o", f"{name}.data", "--", f"./{name}"],
                       capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"record: exit status {p.returncode}: {p.stderr}")
    return f"{name}.data"


def compare(name, least, *options):
    perf, ours = graph(["perf", "report", "--stdio"], name, *options), graph([reticle, "report"], name, *options)
    if "srcline" in options[-1] or "address" in options[-1]:
        perf, ours = shape(perf), shape(ours)
    if len(perf) < least or perf != ours:
        sys.exit(f"{name} {options}:\nperf:\n" + "\n".join(perf) + "\nreticle:\n" + "\n".join(ours))


def main():
    need_recording()
    for tool in ("perf", "cc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    version = subprocess.run(["perf", "--version"], capture_output=True, text=True).stdout.strip()
    if not version.startswith("perf version 6.1."):
        skip(f"graphs are compared with perf 6.1, this is {version}")
    calls = record("calls", PROGRAM, "-e", "cpu-clock:u", "-F", "2000")
    equals = record("equals", EQUALS, "-e", "page-faults:u", "-c", "1")
    # Of the program alone, as perf makes room for rows that it does not show.
    plain = ("graph,5", "graph,5,caller,count", "graph,5,callee,period", "folded,5,count", "flat,5,count", "fractal,5")
    for spec in (*plain, "graph,5,caller,srcline", "graph,5,callee,srcline,count", "graph,10,caller,address"):
        compare(calls, 3, "--dsos", "calls", "-g", spec)
    for spec in plain:
        compare(equals, 9, "--dsos", "equals", "-g", spec)
    # Alone it says more than nothing: callers first.
    for options in ((), ("-g",), ("-G",)):
        compare(calls, 3, "--dsos", "calls", *options)
    for options in (("-g", "none"), ("-n", "--sort", "dso,sym"), ("-g", "graph,5")):
        compare(calls, 2, "--hierarchy", *options)
    # Where less than a level's row is left of it, that is said in perf's column.
    for options in (("99.97",), ("99.97", "-n"), ("99.97", "-n", "--sort", "pid,comm,dso,sym")):
        compare(calls, 2, "--hierarchy", "-g", "none", "--percent-limit", *options)
    lines = "\n".join(graph([reticle, "report"], calls, "-g", "graph,0.5,caller,srcline"))
    for place in ("left calls.c:22", "left calls.c:23", "right calls.c:29", "right calls.c:31", "main calls.c:37",
                  "main calls.c:38"):
        if place not in lines:
            sys.exit(f"-g srcline: no '{place}' in\n{lines}")


main()
