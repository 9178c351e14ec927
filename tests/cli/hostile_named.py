#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording names and what a profiled process leaves, made to take time or memory (tests/hostile/named.py): a report is
there after two seconds of the processor, with 200 MB of memory beside the files at most."""
import os
import pathlib
import resource
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


def report(kind, *options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([TOOLS / "hostile/hostile", "--peak", RETICLE, "report", *options, "-i", "r.data"], capture_output=True,
                       text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=WALL_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(p.stderr.split()[-1])
    if p.returncode not in (0, 1) or (p.returncode == 0) != bool(p.stdout):
        sys.exit(f"{kind} {options}: exit status {p.returncode}, {len(p.stdout)} bytes: {p.stderr[:500]}")
    if p.returncode == 1 and "r.data" not in p.stderr:
        sys.exit(f"{kind} {options}: does not say why: {p.stderr[:500]}")
    if not SANITIZED and (peak > PEAK_KIB or seconds > CPU_SECONDS):
        sys.exit(f"{kind} {options}: {peak} KiB, {seconds:.2f} s")


for kind, make in named.KINDS.items():
    try:
        pathlib.Path("r.recipe").write_text(make())
        subprocess.run([TOOLS / "recipe/recipe", "r.recipe", "r.data"], check=True)
        for options in (["--sort", "symbol,srcline"], ["--sort", "dso,sym"]):
            report(kind, *options)
    finally:
        named.clean_up()
