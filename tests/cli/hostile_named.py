#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording names and what a profiled process leaves, made to take time or memory (tests/hostile/named.py), and
1 MB of each kind of record (tests/hostile/main.c): a report is there after two seconds of the processor, with 200 MB
of memory beside the files at most."""
import os
import pathlib
import subprocess
import sys

from lib import hostile

import named


def read(kind, command):
    pathlib.Path("profile").unlink(missing_ok=True)
    p = hostile.read(kind, command)
    shows = p.stdout or "warning: " in p.stderr or os.path.exists("profile")
    if p.returncode not in (0, 1) or (p.returncode == 0) != bool(shows):
        sys.exit(f"{kind} {command}: exit status {p.returncode}, {len(p.stdout)} bytes: {p.stderr[:500]}")
    if p.returncode == 1 and "r.data" not in p.stderr and "program" not in p.stderr:
        sys.exit(f"{kind} {command}: does not say why: {p.stderr[:500]}")


for kind, make in named.KINDS.items():
    try:
        hostile.make(make())
        for command in named.commands(kind):
            read(kind, command)
    finally:
        named.clean_up()
tool = hostile.TOOLS / "hostile/hostile"
for kind in subprocess.run([tool], capture_output=True, text=True, check=True).stdout.split():
    with open("r.data", "wb") as f:
        subprocess.run([tool, kind, "1"], stdout=f, check=True)
    read(kind, ["report"])
