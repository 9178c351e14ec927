#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording names and what a profiled process leaves, made to take time or memory (tests/hostile/named.py), and 1 MB
of each kind of record (tests/hostile/main.c): a report is there after two seconds of the processor, with 200 MB of
memory beside the files at most, and nothing but regular files was opened."""
import os
import pathlib
import re
import resource
import shutil
import stat
import subprocess
import sys

RETICLE = os.environ["RETICLE"]
TOOLS = pathlib.Path(RETICLE).parent / "tests"
sys.path.insert(0, str(pathlib.Path(os.environ["SRCDIR"]) / "tests/hostile"))
import named  # noqa: E402

SANITIZED = b"__asan_init" in pathlib.Path(RETICLE).read_bytes()
PEAK_KIB, CPU_SECONDS = 200 << 10, 2
# All that it may take of what is not counted here: sanitizers are slow.
WALL_SECONDS = 250


def read(kind, *options):
    pathlib.Path("profile").unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([TOOLS / "hostile/hostile", "--peak", RETICLE, *options, "-i", "r.data"], capture_output=True,
                       text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=WALL_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(p.stderr.split()[-1])
    shows = p.stdout or "warning: " in p.stderr or os.path.exists("profile")
    if p.returncode not in (0, 1) or (p.returncode == 0) != bool(shows):
        sys.exit(f"{kind} {options}: exit status {p.returncode}, {len(p.stdout)} bytes: {p.stderr[:500]}")
    if p.returncode == 1 and "r.data" not in p.stderr and "program" not in p.stderr:
        sys.exit(f"{kind} {options}: does not say why: {p.stderr[:500]}")
    if not SANITIZED and (peak > PEAK_KIB or seconds > CPU_SECONDS):
        sys.exit(f"{kind} {options}: {peak} KiB, {seconds:.2f} s")


def opened(*options):
    """What the readers had a descriptor of, by strace; those apart from paths alone (O_PATH), by which nothing is opened."""
    p = subprocess.run(["strace", "-f", "-y", "-e", "trace=open,openat,openat2", "-o", "trace", RETICLE, *options, "-i", "r.data"],
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=WALL_SECONDS)
    if p.returncode not in (0, 1):
        sys.exit(f"{options}: under strace: exit status {p.returncode}: {p.stderr[-500:]}")
    return [m[1] for m in re.finditer(r"^(?:(?!O_PATH).)* = \d+<(.*)>$", pathlib.Path("trace").read_text(errors="replace"), re.M)]


def is_special(path):
    """The program's own use of /dev/null is none of the recording's."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # a process's own in /proc, or gone
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and path != "/dev/null"


STRACE = not SANITIZED and shutil.which("strace") and subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode == 0
for kind, make in named.KINDS.items():
    try:
        pathlib.Path("r.recipe").write_text(make())
        subprocess.run([TOOLS / "recipe/recipe", "r.recipe", "r.data"], check=True)
        for command in named.commands(kind):
            read(kind, *command)
            if not STRACE or make not in named.SPECIAL:
                continue
            paths = opened(*command)
            if not any(p.endswith("/r.data") for p in paths):
                sys.exit(f"{kind}: strace does not show that the recording is opened: {paths}")
            if [p for p in paths if is_special(p)]:
                sys.exit(f"{kind} {command}: opened: {[p for p in paths if is_special(p)]}")
    finally:
        named.clean_up()
for kind in subprocess.run([TOOLS / "hostile/hostile"], capture_output=True, text=True, check=True).stdout.split():
    with open("r.data", "wb") as f:
        subprocess.run([TOOLS / "hostile/hostile", kind, "1"], stdout=f, check=True)
    read(kind, "report")
if not STRACE:
    print("no strace: which files were opened was not seen")
