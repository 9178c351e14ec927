# SPDX-License-Identifier: Apache-2.0
"""What tests that compare with perf have in common."""
import os
import shutil
import subprocess
import sys


def skip(why):
    print(why)
    sys.exit(77)


def run(*words, **more):
    """Without standard input and, unless env= says more, colours; its output as text."""
    more.setdefault("env", {**os.environ, "NO_COLOR": "1"})
    return subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          timeout=120, **more)


def need_perf(compared):
    """The perf whose output `compared` ("rows", "lines", ...) is held against; else the test is skipped."""
    if not shutil.which("perf"):
        skip("perf is not installed")
    version = run("perf", "--version").stdout.strip()
    if not version.startswith("perf version 6.1."):
        skip(f"{compared} are compared with perf 6.1, this is {version}")
