#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call graphs by function, address and source line, with shares, periods and counts, have the branches of perf's; rows as a
tree of their keys are perf's."""
import os
import re
import shutil
import subprocess
import sys

reticle = os.environ["RETICLE"]
PROGRAM = """
#include <stdlib.h>
#include <time.h>
volatile int sink;
#define PAD for (int i = 0; i < 20000; i++) sink += i
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


def skip(why):
    print(why)
    sys.exit(77)


def graph(tool, *options):
    """The lines of the graphs of report."""
    p = subprocess.run([*tool, "-i", "perf.data", "--no-inline", "--no-children", "--percent-limit", "1", *options],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    lines = [line.rstrip() for line in p.stdout.splitlines()]
    return [line for line in lines if line and not line.startswith("#") and not re.search(r"\b0x[0-9a-f]{8}|\[k\]", line)]


def shape(lines):
    """Values and names, in any order, as equal ones have none. Perf names the line after a call, and no offsets."""
    return sorted(re.sub(r"(\+0x[0-9a-f]+)?( \S+:\d+)?$", "", line).strip(" |-") for line in lines)


def main():
    for tool in ("perf", "cc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    version = subprocess.run(["perf", "--version"], capture_output=True, text=True).stdout.strip()
    if not version.startswith("perf version 6.1."):
        skip(f"graphs are compared with perf 6.1, this is {version}")
    with open("calls.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "calls.c", "-o", "calls"],
                   check=True)
    p = subprocess.run([reticle, "record", "-q", "-g", "-e", "cpu-clock:u", "-F", "2000", "-o", "perf.data", "--", "./calls"],
                       capture_output=True, text=True)
    if p.returncode:
        skip("no recording here: " + p.stderr.strip().splitlines()[0])
    perf, ours = ["perf", "report", "--stdio"], [reticle, "report"]
    for spec in ("graph,5", "graph,5,caller,count", "graph,5,callee,period", "folded,5,count", "flat,5,count", "fractal,5",
                 "graph,5,caller,srcline", "graph,5,callee,srcline,count", "graph,10,caller,address"):
        a, b = graph(perf, "-g", spec), graph(ours, "-g", spec)
        if "srcline" in spec or "address" in spec:
            a, b = shape(a), shape(b)
        if len(a) < 3 or a != b:
            sys.exit(f"-g {spec}:\nperf:\n" + "\n".join(a) + "\nreticle:\n" + "\n".join(b))
    for options in (("-g", "none"), ("-n", "--sort", "dso,sym"), ("-g", "graph,5")):
        a, b = graph(perf, "--hierarchy", *options), graph(ours, "--hierarchy", *options)
        if len(a) < 2 or a != b:
            sys.exit(f"--hierarchy {options}:\nperf:\n" + "\n".join(a) + "\nreticle:\n" + "\n".join(b))
    lines = "\n".join(graph(ours, "-g", "graph,0.5,caller,srcline"))
    for place in ("left calls.c:22", "left calls.c:23", "right calls.c:29", "right calls.c:31", "main calls.c:37", "main calls.c:38"):
        if place not in lines:
            sys.exit(f"-g srcline: no '{place}' in\n{lines}")


main()
