#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a recording leads to a FIFO or a device (tests/hostile/named.py, SPECIAL), nothing but regular files is
opened, as strace sees it."""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

from lib import hostile
from lib.machine import need

import named


def no_strace():
    """Why system calls cannot be seen here; None: they can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    p = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True)
    return f"strace does not run here: {p.stderr.strip()}" if p.returncode else None


def opened(*command):
    """What it and its children had a descriptor of, apart from paths alone (O_PATH), by which nothing is opened. Each
    task has a file: in one for all, a call that another one interrupts is in two lines, of which the second has no
    flags."""
    for file in pathlib.Path(".").glob("trace.*"):
        file.unlink()
    p = subprocess.run(["strace", "-ff", "-y", "-e", "trace=open,openat,openat2", "-o", "trace", *command],
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=hostile.WALL_SECONDS)
    if p.returncode not in (0, 1):
        sys.exit(f"{command}: under strace: exit status {p.returncode}: {p.stderr[-500:]}")
    lines = "".join(file.read_text(errors="replace") for file in pathlib.Path(".").glob("trace.*"))
    if " resumed>" in lines:
        sys.exit(f"{command}: a call is in two lines: {lines}")
    return [m[1] for m in re.finditer(r"^(?:(?!O_PATH).)* = \d+<(.*)>$", lines, re.M)]


def is_special(path):
    """The program's own use of /dev/null is none of the recording's."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # a process's own in /proc, or gone
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and path != "/dev/null"


need("sanitizers read files of their own, and look for leaks by ptrace themselves" if hostile.SANITIZED
     else no_strace())
if not any(map(is_special, opened("head", "-c", "1", "/dev/zero"))):
    sys.exit("a device that is opened is not seen")
for make in named.SPECIAL:
    try:
        hostile.make(make())
        for command in named.commands(make.__name__):
            paths = opened(hostile.RETICLE, *command, "-i", "r.data")
            if not any(p.endswith("/r.data") for p in paths):
                sys.exit(f"{make.__name__}: strace does not show that the recording is opened: {paths}")
            if [p for p in paths if is_special(p)]:
                sys.exit(f"{make.__name__} {command}: opened: {[p for p in paths if is_special(p)]}")
    finally:
        named.clean_up()
