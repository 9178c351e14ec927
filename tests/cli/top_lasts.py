#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""top: thousands of short processes, each a file of its own, leave nothing behind in its memory."""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

RETICLE = pathlib.Path(os.environ["RETICLE"])
PROCESSES = pathlib.Path(os.environ["SRCDIR"]) / "build/bench/processes"
N = 9000  # the first thousands fill what is kept; with fewer, memory is still on its way there
MOST_MB = 1.5  # that the last third may take more than the second; where everything is kept it is twice as much


def anonymous_mb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"^RssAnon:\s+(\d+)", text, re.M).group(1)) / 1024


def started(directory):
    """How many processes have been, by the directory of the one that is."""
    return max((int(name) for name in os.listdir(directory) if name.isdigit()), default=0)


def watch(top, directory):
    """The median of memory while each third ran; None where it was not seen."""
    seen = [[], [], []]
    while top.poll() is None:
        n = started(directory)
        try:
            mb = anonymous_mb(top.pid)
        except (OSError, AttributeError):
            break  # it has ended meanwhile
        if n:
            seen[min(2, 3 * n // N)].append(mb)
        time.sleep(0.05)
    return [statistics.median(third) if third else None for third in seen]


def main():
    if not PROCESSES.exists():
        print(f"no {PROCESSES}")
        sys.exit(77)
    if RETICLE.exists() and b"__asan_init" in RETICLE.read_bytes():
        print("sanitizers keep what is freed")
        sys.exit(77)
    pathlib.Path("d").mkdir()
    with open("out", "w", encoding="ascii") as out:
        with subprocess.Popen([RETICLE, "top", "--stdio", "-e", "cpu-clock", "-g", "-F", "4000", "-d", "1", "--history",
                               "1", "-s", "comm", "-E", "500", "--", PROCESSES, str(N), "100000", "d"], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, text=True) as top:
            memory = watch(top, "d")
            said = top.stderr.read()
    if top.returncode:
        print(f"status {top.returncode}: {said}")
        sys.exit(1)
    names = set(re.findall(r" (p\d+)\b", pathlib.Path("out").read_text(encoding="utf-8")))
    if len(names) < 20 or None in memory:
        print(f"{len(names)} names in its tables, memory {memory}")
        sys.exit(1)
    if memory[2] > memory[1] + MOST_MB:
        print(f"{N} short processes: memory was {memory[0]:.1f}, {memory[1]:.1f}, {memory[2]:.1f} MB")
        sys.exit(1)
    print(f"memory {memory[0]:.1f}, {memory[1]:.1f}, {memory[2]:.1f} MB; {len(names)} names")


main()
