#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ELF files that are made to take memory or time: a report of them takes 200 MB and two seconds of the processor at
most, and does without what they say."""
import pathlib
import subprocess
import sys
import time

from lib import hostile
from lib.hostile import RETICLE
from lib.sanitized import SANITIZED

import elves

READERS = 1 << 1 | 1 << 2 | 1 << 19 | 1 << 34  # of root: reading and writing files, /proc/PID/root, kernel addresses

elves.make()
for name in elves.NAMES:
    hostile.make(elves.recording(name))
    for command in (["report", "--sort", "symbol,srcline"], ["report", "--sort", "dso,sym"],
                    ["script", "-F", "+srcline"]):
        p = hostile.read(name, command)
        if p.returncode:
            sys.exit(f"{name}: {command}: status {p.returncode}: {p.stderr}")
        # With sanitizers the parser has so much more time that a fast machine can read all of it.
        may_end = SANITIZED or name != "ranges" or "srcline" not in command[-1]
        if not may_end and "no source lines" not in p.stderr:
            sys.exit(f"{name}: {command} does not say that its parser was stopped: {p.stderr}")
        if name not in p.stdout:
            sys.exit(f"{name}: {command} shows nothing of it: {p.stdout}")

# One file by many names is one file.
program = pathlib.Path(RETICLE).resolve()
lines = ['event "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|TIME ids=7',
         'comm pid=7 time=1 exec "program"']
for i in range(1000):
    lines.append(f'mmap2 pid=7 time=2 start={(i + 1) << 28:#x} len=0x8000000 prot=r|x flags=2 '
                 f'"{program.parent}/{"./" * i}{program.name}"')
    lines.append(f"sample pid=7 time=3 ip={((i + 1) << 28) + 0x40000:#x}")
hostile.make("\n".join(lines) + "\n")
p = hostile.read("1000 names of one file", ["report", "--no-inline"])
if p.returncode:
    sys.exit(f"1000 names of one file: status {p.returncode}: {p.stderr[-500:]}")

# Who only reads has given up its rights before it looks at anything.
reader = subprocess.Popen([RETICLE, "report", "-i", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
status = {}
for _ in range(600):
    status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{reader.pid}/status").read_text().splitlines()
                  if ":\t" in line)
    if status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) in (0, READERS & int(status["CapEff"], 16)):
        break
    time.sleep(0.1)
else:
    sys.exit(f"a reader keeps its capabilities: {status}")
reader.stdin.close()
reader.wait()
