#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: leaks
"""Rights that are lost while record and top run: each loss is said, and nothing hangs or is ended for it."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lib.machine import need, need_recording

need_recording()
need(None if os.geteuid() == 0 else "only root can make programs that are set-user-id root")
need(None if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii")) <= 2 else
     "kernel.perf_event_paranoid lets users without rights record nothing")
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
EVENT = ["-e", "cpu-clock:u"]
CUT_OFF = "is recorded, although it goes on"
REPLACED = """
import os, sys, threading
def replace():
    sys.stdin.readline()
    os.execvp("sleep", ["sleep", "2"])
threading.Thread(target=replace).start()
print(flush=True)
threading.Event().wait()
"""
# Busy until the file is there; from then on it may not be looked at, and says so by another file.
HIDES = """
import ctypes, pathlib
while not pathlib.Path("hide").exists():
    pass
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
pathlib.Path("hidden").touch()
while not pathlib.Path("end").exists():
    pass
"""


def fail(text):
    print(text)
    sys.exit(1)


def start(*words, before=(), user=None, stdin=subprocess.DEVNULL):
    return subprocess.Popen([*before, RETICLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=stdin, **(NOBODY if user is None else user))


def end(started):
    try:
        out, err = started.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        started.kill()
        fail("it hangs: " + " ".join(started.args))
    return started.returncode, out, err


def await_that(what, condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    fail("waited in vain until " + what)


def child_of(pid, name):
    """The process that has come to that program; None: not yet."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text(encoding="ascii").strip() == name:
                return int(child)
        except OSError:  # it has ended
            pass
    return None


def command_becomes_root():
    """The kernel takes its counters away. It goes on, and its status is passed on."""
    script = "./suid-sleep 1; exec ./suid-env sh -c 'sleep 3; exit 7'"
    for command in (["record", "-o", "cut.data"], ["top", "--stdio", "-d", "1"]):
        status, _, err = end(start(*command, *EVENT, "--", "sh", "-c", script))
        if status != 7 or err.count(CUT_OFF) != 1:
            fail(f"{command[0]}: status {status}: {err}")
    # It may not be told to end.
    with start("record", "-o", "cut.data", *EVENT, "--", "./suid-setpriv", "--reuid", "0", "sleep", "50") as started:
        await_that("sleep is executed", lambda: child_of(started.pid, "sleep"))
        child = child_of(started.pid, "sleep")
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(timeout=40)
        finally:
            os.kill(child, signal.SIGKILL)
        status, _, err = end(started)
    if status != 143 or "so it may not be told to end" not in err:
        fail(f"a command of another user is not left alone: status {status}: {err}")


def process_becomes_root():
    with subprocess.Popen(["sh", "-c", "read x; exec ./suid-sleep 50"], stdin=subprocess.PIPE, **NOBODY) as other:
        with start("record", "-v", "-o", "other.data", *EVENT, "-p", str(other.pid)) as started:
            # The counters are open before the header is written.
            await_that("it records", lambda: os.path.exists("other.data") and os.path.getsize("other.data"))
            other.stdin.write(b"\n")
            other.stdin.flush()
            status, _, err = end(started)
        other.kill()
    if status or err.count(CUT_OFF) != 1:
        fail(f"-p: status {status}: {err}")


def thread_takes_the_leaders_place():
    """The leader's counters are gone, and its id is the thread's, which loses none of its own."""
    with subprocess.Popen([sys.executable, "-c", REPLACED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with start("record", "-v", "-o", "leader.data", *EVENT, "-p", str(other.pid), user={}) as started:
            await_that("it records", lambda: os.path.exists("leader.data") and os.path.getsize("leader.data"))
            other.stdin.write(b"\n")
            other.stdin.flush()
            status, _, err = end(started)
    if status or CUT_OFF in err:
        fail(f"a thread takes the leader's place: status {status}: {err}")


def mappings_become_hidden():
    """They are read again for each file. Python may lie where only root may look, so this is root without
    capabilities."""
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    with start("record", "-o", "maps.data", *EVENT, "--switch-output", "--", sys.executable, "-c", HIDES,
               before=bare, user={}) as started:
        await_that("it records", lambda: os.path.exists("maps.data") and os.path.getsize("maps.data") > 4096)
        pathlib.Path("hide").touch()
        await_that("it hides", lambda: os.path.exists("hidden"))
        for n in (1, 2):
            started.send_signal(signal.SIGUSR2)
            await_that("another file", lambda n=n: len(list(pathlib.Path(".").glob("maps.data.*"))) == n)
        pathlib.Path("end").touch()
        status, _, err = end(started)
    if status or err.count("/maps may not be read: what this process had mapped") != 1:
        fail(f"hidden mappings: status {status}: {err}")


def directory_becomes_read_only():
    os.mkdir("files")
    os.chmod("files", 0o777)
    with start("record", "-o", "files/a.data", *EVENT, "--switch-output", "--", "sleep", "50") as started:
        await_that("sleep is executed", lambda: child_of(started.pid, "sleep"))
        os.chmod("files", 0o555)
        started.send_signal(signal.SIGUSR2)
        status, _, err = end(started)
    if status == 0 or "cannot rename files/a.data to" not in err:
        fail(f"a directory without rights to write: status {status}: {err}")
    if subprocess.run([RETICLE, "report", "--stats", "-i", "files/a.data"], capture_output=True).returncode:
        fail("what was recorded up to there cannot be read")


def nobody_commands():
    """Events wait for a command (-D -1), and whoever would give it goes. A FIFO's name is not needed any more."""
    status, _, err = end(start("record", "-o", "a.data", *EVENT, "-D", "-1", "--control", "fd:0", "--", "sleep",
                               "0.5"))
    if "cannot be waited for" not in err:  # /dev/null
        fail(f"--control fd:0: status {status}: {err}")
    for first in ("", "enable\n"):
        with start("record", "-o", "a.data", *EVENT, "-D", "-1", "--control", "fd:0", "--", "sleep", "1",
                   stdin=subprocess.PIPE) as started:
            if first:
                started.stdin.write(first)
                started.stdin.flush()
                time.sleep(0.3)
            status, _, err = end(started)
        if status or ("nobody can give commands any more" in err) == bool(first):
            fail(f"--control fd:0, '{first}': status {status}: {err}")
    os.mkfifo("fifo")
    os.chmod("fifo", 0o666)
    with start("record", "-o", "fifo.data", *EVENT, "--control", "fifo:fifo", "--", "sleep", "50") as started:
        await_that("sleep is executed", lambda: child_of(started.pid, "sleep"))
        with open("fifo", "w", encoding="ascii") as commands:
            os.unlink("fifo")
            print("stop", file=commands, flush=True)
            status, _, err = end(started)
    if status != 143:
        fail(f"a FIFO that was removed: status {status}: {err}")


def threads_become_root():
    """Where each thread has counters of its own, one that may not be counted is named. Some of many are root before
    the recorder has heard of them."""
    script = "for i in $(seq 40); do ./suid-setpriv --reuid 0 sleep 3 & done; wait"
    status, _, err = end(start("record", "-o", "w.data", "--window=mode=twin", "-e", "{cpu-clock:u,task-clock:u}:S",
                               "--", "sh", "-c", script))
    if status or "are left out: Permission denied (it has rights that this user lacks)" not in err:
        fail(f"windows: status {status}: {err}")


with tempfile.TemporaryDirectory() as scratch:
    os.chmod(scratch, 0o777)
    RETICLE = shutil.copy(os.environ["RETICLE"], f"{scratch}/reticle")  # the build may lie where only root may look
    need("programs here are not set-user-id" if os.statvfs(scratch).f_flag & os.ST_NOSUID else None)
    os.chdir(scratch)
    for program in ("sleep", "env", "setpriv"):
        found = shutil.which(program)
        need(None if found else f"no {program} here")
        shutil.copy(found, f"suid-{program}")
        os.chmod(f"suid-{program}", 0o4755)
    command_becomes_root()
    process_becomes_root()
    thread_takes_the_leaders_place()
    mappings_become_hidden()
    directory_becomes_read_only()
    nobody_commands()
    threads_become_root()
