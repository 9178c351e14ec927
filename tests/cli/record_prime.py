#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process that keeps symbols when a recording has ended has an ordinary, lower priority, also where the recorder
has a real-time one; where there is no cache, no such process is begun."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from lib.machine import no_recording
from lib.peer import skip

reticle = os.environ["RETICLE"]
why = no_recording()
if why:
    skip(f"no recording here: {why}")
if os.geteuid():
    skip("only root may have a real-time priority")

CACHE = pathlib.Path("cache").absolute()
CACHE.mkdir()
os.environ["XDG_CACHE_HOME"] = str(CACHE)
# Whoever looks for leaks at the end of a process begins another one for it.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def child_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    except (OSError, IndexError):
        return None


def priorities(pid):
    try:
        return os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return None


def record(*words):
    """All that was seen of the process that the recorder has begun after the recording, from its beginning on."""
    spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    recorder = subprocess.Popen([reticle, "record", "-q", "-e", "cpu-clock", "-o", "a.data", *words, "-p",
                                 str(spin.pid)])
    time.sleep(1)
    recorder.send_signal(signal.SIGINT)
    seen = set()
    while recorder.poll() is None:
        child = child_of(recorder.pid)
        if child:
            seen.add(priorities(child))
    spin.kill()
    spin.wait()
    if not os.path.exists("a.data"):
        sys.exit(f"record {' '.join(words)}: no recording")
    return seen


def fresh():
    shutil.rmtree(CACHE / "reticle", ignore_errors=True)


wanted = (os.SCHED_OTHER, max(os.getpriority(os.PRIO_PROCESS, 0), 0) + 2)
for words in (["-r", "1"], []):
    seen = set()
    for _ in range(10):  # it begins as the recorder is, and it may be too short to be seen
        fresh()
        seen |= record(*words)
        if wanted in seen:
            break
    if wanted not in seen:
        sys.exit(f"record {words}: what keeps symbols has policy and priority {seen}, not {wanted}")

fresh()
(CACHE / "reticle").mkdir()
(CACHE / "reticle").chmod(0o777)  # others may write to it, so it is no cache
for _ in range(3):
    seen = record()
    if seen:
        sys.exit("a process was begun that can keep nothing")
