# SPDX-License-Identifier: Apache-2.0
"""What the tests of hostile files have in common: how a recording of them is made, and what reading it may take."""
import os
import pathlib
import subprocess
import sys

from lib.sanitized import SANITIZED

RETICLE = os.environ["RETICLE"]
TOOLS = pathlib.Path(RETICLE).parent / "tests"
PEAK_KIB, CPU_SECONDS = 200 << 10, 2  # with all children
# All that it may take of what is not counted here: sanitizers are slow.
WALL_SECONDS = 250

sys.path.insert(0, str(pathlib.Path(os.environ["SRCDIR"]) / "tests/hostile"))  # the files


def make(recipe):
    """The recording r.data."""
    pathlib.Path("r.recipe").write_text(recipe)
    subprocess.run([TOOLS / "recipe/recipe", "r.recipe", "r.data"], check=True)


def read(kind, command):
    """-> what a command that reads r.data did. Ends the test if that took too much, which sanitizers may."""
    p = subprocess.run([TOOLS / "hostile/hostile", "--peak", RETICLE, *command, "-i", "r.data"], capture_output=True,
                       text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=WALL_SECONDS)
    seconds, peak = p.stderr.split()[-2:]
    if not SANITIZED and (int(peak) > PEAK_KIB or float(seconds) > CPU_SECONDS):
        sys.exit(f"{kind}: {' '.join(command)}: {peak} KiB, {seconds} s of the processor")
    return p
