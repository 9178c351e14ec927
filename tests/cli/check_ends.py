#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: no binary, plain
"""What a test leaves behind is ended by scripts/check with it: in its process group, in a session of its own, without
a parent, and when the test is out of time."""
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import time

loader = importlib.machinery.SourceFileLoader("check", str(pathlib.Path(os.environ["SRCDIR"]) / "scripts/check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)


def lives(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it goes while that is read
        return False


def must_end(what, script, status, timeout=None):
    got, said = check.run(["sh", "-c", script], timeout)
    pid = int(said.split()[0])
    for _ in range(100):  # it is dead, but not yet buried
        if not lives(pid):
            break
        time.sleep(0.02)
    else:
        sys.exit(f"{what}: it lives on")
    if got != status:
        sys.exit(f"{what}: exit status {got}: {said}")


must_end("in the group", "sleep 100 & echo $!", 0)
must_end("in its own session", "setsid sleep 100 & echo $!; sleep 0.2; exit 3", 3)
# It says who it is before the test has ended.
os.mkfifo(os.environ["TESTDIR"] + "/said")
script = """(setsid sh -c 'echo $$ | tee "$TESTDIR/said"; exec sleep 100' &); read -r pid <"$TESTDIR/said\""""
must_end("without a parent", script, 0)
must_end("out of time", "setsid sh -c 'echo $$; exec sleep 100' & wait", 124, 1)
