#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPUs that go offline, or come online, while all are recorded: record says so, once each, and stops where none is
left and no command says when the end is.

The list of CPUs is a file of ours here, mounted over the system's in a namespace of its own; the lab's row cpu-offline
takes a real CPU away."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from lib.checks import Checks
from lib.machine import no_recording
from lib.peer import skip

reticle = os.environ["RETICLE"]
SYSTEM = "/sys/devices/system/cpu/online"
LIST = pathlib.Path("online").absolute()
MOUNTED = f"mount --bind {LIST} {SYSTEM} && exec \"$@\""
why = no_recording()
if why:
    skip(why)
if os.geteuid() or not shutil.which("unshare"):
    skip("only root may have another list of CPUs")
LIST.write_text("0,0\n")
if subprocess.run(["unshare", "-m", "sh", "-c", MOUNTED, "sh", "true"], capture_output=True).returncode:
    skip("no mount namespaces here")
check = Checks()


def say_online(cpus):
    """In place, and always as long as before, so that nobody reads half of it."""
    with LIST.open("r+") as file:
        file.write(cpus + "\n")


def begin(online, *words):
    """-> reticle record, which records by now"""
    say_online(online)
    path, data = pathlib.Path("said"), pathlib.Path("x.data")
    data.unlink(missing_ok=True)
    with path.open("w") as said:
        p = subprocess.Popen(["unshare", "-m", "sh", "-c", MOUNTED, "sh", reticle, "record", "-o", "x.data", "-e",
                              "cpu-clock", "-F", "100", *words], stderr=said, stdin=subprocess.DEVNULL)
    while p.poll() is None and (not data.exists() or data.stat().st_size < 1000):
        time.sleep(0.02)
    return p, path


def await_text(p, path, text):
    while p.poll() is None and text not in path.read_text():
        time.sleep(0.02)
    if text not in path.read_text():
        sys.exit(f"record ended without '{text}': {path.read_text()}")


def samples():
    p = subprocess.run([reticle, "report", "--stats", "-i", "x.data"], capture_output=True, text=True)
    check(f"the recording is whole: {p.stderr}", not p.returncode)
    return sum(map(int, re.findall(r"^ *SAMPLE events: +(\d+)", p.stdout, re.M)))


# A CPU goes and comes back, another one comes: the command says when the end is.
p, said = begin("0,0", "-a", "--", "sh", "-c", "until [ -e end ]; do sleep 0.05; done")
say_online("0,5")
await_text(p, said, "CPU 5 came online: it is not recorded")
say_online("5,5")
await_text(p, said, "CPU 0 went offline: nothing more is recorded of it")
say_online("0,0")
time.sleep(1.5)  # in which it looks once more, and has nothing to say
pathlib.Path("end").touch()
p.wait()
text = said.read_text()
check(f"record ends well: {p.returncode}", p.returncode == 0)
check(f"each CPU is told once: {text}", text.count("went offline") == 1 and text.count("came online") == 1)
check("samples are kept", samples() > 0)

# The only CPU that is recorded goes: that is the end. Others that come were not asked for.
p, said = begin("0,0", "-C", "0")
say_online("1,1")
await_text(p, said, "CPU 0 went offline")
check(f"without a CPU left record ends well: {p.wait()}", p.returncode == 0)
check(f"nothing is said of CPUs that were not asked for: {said.read_text()}", "came online" not in said.read_text())
samples()

# Tasks go on elsewhere: nothing is missing.
p, said = begin("0,0", "-p", str(os.getpid()))
say_online("1,1")
time.sleep(2.5)
check(f"record of a process goes on: {said.read_text()}", p.poll() is None)
p.send_signal(signal.SIGINT)
p.wait()
check(f"and says nothing of CPUs: {said.read_text()}", "offline" not in said.read_text())
sys.exit(check.failed)
