#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""top: thousands of short processes, each a file of its own, leave nothing behind in its memory."""
import os
import pathlib
import re
import subprocess
import sys
import time

RETICLE = pathlib.Path(os.environ["RETICLE"])
PROCESSES = pathlib.Path(os.environ["SRCDIR"]) / "build/bench/processes"
N = 3000
MOST_MB = 0.75  # that the last third may take more than the second


def anonymous_mb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"^RssAnon:\s+(\d+)", text, re.M).group(1)) / 1024


def started(directory):
    """How many processes have been, by the directory of the one that is."""
    return max((int(name) for name in os.listdir(directory) if name.isdigit()), default=0)


def watch(top, directory):
    """The largest memory while each third ran; None where it was not seen."""
    largest = [None, None, None]
    while top.poll() is None:
        n = started(directory)
        try:
            mb = anonymous_mb(top.pid)
        except (OSError, AttributeError):
            break  # it has ended meanwhile
        third = min(2, 3 * n // N)
        if n:
            largest[third] = max(mb, largest[third] or 0)
        time.sleep(0.05)
    return largest


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
            largest = watch(top, "d")
            said = top.stderr.read()
    if top.returncode:
        print(f"status {top.returncode}: {said}")
        sys.exit(1)
    names = set(re.findall(r" (p\d+)\b", pathlib.Path("out").read_text(encoding="utf-8")))
    if len(names) < 20 or None in largest:
        print(f"{len(names)} names in its tables, memory {largest}")
        sys.exit(1)
    if largest[2] > largest[1] + MOST_MB:
        print(f"{N} short processes: memory was {largest[0]:.1f}, {largest[1]:.1f}, {largest[2]:.1f} MB")
        sys.exit(1)
    print(f"memory {largest[0]:.1f}, {largest[1]:.1f}, {largest[2]:.1f} MB; {len(names)} names")


main()
