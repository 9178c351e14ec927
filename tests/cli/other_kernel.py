#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel addresses get this kernel's names only in recordings of this kernel: by its build id, even if that is listed
for a vmlinux, else by release and architecture. Other recordings say why they have no names."""
import os
import pathlib
import platform
import subprocess
import sys

from lib.peer import skip

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"


def build_id():
    """Of the running kernel: the note of type 3 by GNU."""
    notes, at = pathlib.Path("/sys/kernel/notes").read_bytes(), 0
    while at + 12 <= len(notes):
        name, size, kind = (int.from_bytes(notes[at + i:at + i + 4], sys.byteorder) for i in (0, 4, 8))
        body = at + 12 + (name + 3) // 4 * 4
        if kind == 3 and notes[at + 12:at + 12 + name] == b"GNU\0":
            return notes[body:body + size].hex()
        at = body + (size + 3) // 4 * 4
    return None


symbols = {}
for line in pathlib.Path("/proc/kallsyms").read_text().splitlines():
    words = line.split()
    if len(words) == 3:
        symbols.setdefault(words[2], int(words[0], 16))
NAME = next((n for n in ("schedule", "vfs_read", "do_exit") if symbols.get(n)), None)
if not NAME or not symbols.get("_text"):
    skip("the kernel hides its addresses")
OURS = build_id()
if not OURS:
    skip("the kernel has no build id")
HERE = [f'osrelease "{platform.release()}"', f'arch "{platform.machine()}"']
OTHER = "ff" * 20


def report(*features):
    lines = ([f"feature {f}" for f in features] + [
        'event "cycles" type=hardware config=0 period=1000 sample=IP|TID|TIME|IDENTIFIER ids=7 flags=sample_id_all',
        f'mmap pid=4294967295 tid=0 time=1 misc=kernel start={symbols["_text"]:#x} len={0x2000000:#x} '
        f'pgoff={symbols["_text"]:#x} "[kernel.kallsyms]_text"', 'comm pid=5 time=1 exec "app"',
        f"sample id=7 pid=5 time=10 misc=kernel ip={symbols[NAME] + 1:#x}"])
    pathlib.Path("k.recipe").write_text("\n".join(lines) + "\n")
    subprocess.run([RECIPE, "k.recipe", "k.data"], check=True)
    return subprocess.run([RETICLE, "report", "-i", "k.data", "--stdio"], capture_output=True, text=True, check=True)


def listed(name, path):
    return f'build_id id={name} misc=kernel "{path}"'


NOT_HERE, NOT_SAID = "the recorded kernel is not the one that runs here", "does not say which kernel it comes from"
bad = 0
for features, why in (
        ([listed(OURS, "[kernel.kallsyms]")], None),
        ([listed(OURS, "/usr/lib/debug/boot/vmlinux-6.1")], None),
        ([listed(OURS, "[kernel.kallsyms]"), 'osrelease "5.4.0"', 'arch "mips"'], None),
        (HERE, None),
        ([listed(OTHER, "[kernel.kallsyms]"), *HERE], NOT_HERE),
        ([listed(OTHER, "/usr/lib/debug/boot/vmlinux-6.1"), *HERE], NOT_HERE),
        (['osrelease "5.4.0-other"', HERE[1]], NOT_HERE),
        ([HERE[0], 'arch "mips"'], NOT_HERE),
        (HERE[:1], NOT_SAID),
        ([], NOT_SAID)):
    p = report(*features)
    named, said = f"] {NAME}\n" in p.stdout, p.stdout + p.stderr
    head = next(line for line in p.stdout.splitlines() if line.startswith("# Recording: "))
    if named != (why is None) or ("no names of the kernel" in head) != (why is not None) or (
            why and (why not in head or "100.0% unresolved" not in head or said.count(why) < 2)):
        bad += 1
        print(f"{features}: wanted {why or 'the name'}:\n{said}")
# While the kernel's symbols are read, those of what the header lists are read, too. What no sample is in is not
# missed.
files = (listed(OURS, "[kernel.kallsyms]"), f'build_id id={"ab" * 20} misc=user "/nowhere/not-met.so"',
         f'build_id id={"cd" * 20} misc=user "/nowhere/met.so"')
lines = [f"feature {f}" for f in files] + [
    'event "cycles" type=hardware config=0 period=1000 sample=IP|TID|TIME|IDENTIFIER ids=7 flags=sample_id_all',
    f'mmap pid=4294967295 tid=0 time=1 misc=kernel start={symbols["_text"]:#x} len={0x2000000:#x} '
    f'pgoff={symbols["_text"]:#x} "[kernel.kallsyms]_text"', 'comm pid=5 time=1 exec "app"',
    'mmap pid=5 time=2 misc=user start=0x10000 len=0x1000 pgoff=0 "/nowhere/not-met.so"',
    'mmap pid=5 time=2 misc=user start=0x20000 len=0x1000 pgoff=0 "/nowhere/met.so"']
for i in range(15000):
    lines.append(f"sample id=7 pid=5 time={10 + 2 * i} misc=kernel ip={symbols[NAME] + 1:#x}")
    lines.append(f"sample id=7 pid=5 time={11 + 2 * i} misc=user ip=0x20{i % 4096:03x}")
pathlib.Path("l.recipe").write_text("\n".join(lines) + "\n")
subprocess.run([RECIPE, "l.recipe", "l.data"], check=True)
for more in ([], ["--no-cache"], ["--threads", "1"]):
    said = subprocess.run([RETICLE, "report", "-i", "l.data", "--stdio", "-v", *more], capture_output=True, text=True,
                          check=True).stdout
    if "# /nowhere/met.so: no symbols" not in said or "not-met" in said or f"] {NAME}\n" not in said:
        bad += 1
        print(f"what was not met, {more}: {said[-2000:]}")
sys.exit(bad > 0)
