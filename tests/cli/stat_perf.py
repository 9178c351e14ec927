#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""stat beside perf stat, option by option: the same lines and fields, in the same columns, whatever the numbers
are."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRCDIR"], "tests/cli/lib"))
from machine import need_recording
from peer import need_perf, run

RETICLE = os.environ["RETICLE"]
ENV = {**os.environ, "LC_ALL": "C", "NO_COLOR": "1"}
NOTE = re.compile(r"^reticle stat: this machine has no hardware PMU.*\n", re.M)
bad = []


def shape(text):
    """Without what differs from run to run: numbers become N in their last column. Each kind of line stands there
    once."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"started on .*", "started on", line)
        line = re.sub(r"[KMG]?/sec", "/sec", line)  # thousands, or not, as it happens
        line = re.sub(r" *: ", ": ", line) if line.startswith("{") else line  # perf has a blank before each colon
        line = re.sub(r" *\( \+- *[\d.]+% \)", "", line)  # not there where all runs were equal
        # Fields have no columns, and a mean has as many digits as its error leaves.
        columns = not re.search("[,;]", line) and "time elapsed" not in line
        line = re.sub(r"\d[\d.]*", lambda m: (" " * (len(m[0]) - 1) if columns else "") + "N", line).rstrip()
        if not columns:
            line = re.sub(" +", " ", line).strip()
        if line not in lines or not line:
            lines.append(line)
    return lines


def both(options, command):
    """What both print of it. Where a task had no CPU meanwhile nothing was counted: that tells nothing, so again."""
    for _ in range(10):
        theirs = run("perf", "stat", *options, *command, env=ENV)
        ours = run(RETICLE, "stat", *options, *command, env=ENV)
        if "<not counted>" not in theirs.stderr + ours.stderr:
            break
    return theirs, ours


def compare(options, command):
    theirs, ours = both(options.split(), command)
    said = re.sub(r"^(Events (dis|en)abled|\w+: Terminated)\n", "", theirs.stderr, flags=re.M)  # before the counts
    want, got = shape(said), shape(NOTE.sub("", ours.stderr))
    if want != got or theirs.returncode != ours.returncode:
        bad.append(f"stat {options} {' '.join(command)}: exit status {ours.returncode}, perf's {theirs.returncode}\n"
                   + "\n".join(f"  perf: {line}" for line in want) + "\n" +
                   "\n".join(f"  ours: {line}" for line in got))


need_recording()
need_perf("layouts")
if run("perf", "stat", "-a", "-e", "cpu-clock", "true").returncode:
    print("nobody may count whole CPUs here")
    sys.exit(77)

TRUE, NAP = ["true"], ["sleep", "0.15"]
FORMS = ("--no-big-num", "-x,", "-j")
TASK, CPU = "-e task-clock,page-faults,cycles", "-e cpu-clock,page-faults,cycles"
for form in FORMS:
    compare(f"{form}", TRUE)
    compare(f"{form} {TASK}", TRUE)
    compare(f"{form} -n", TRUE)
    compare(f"{form} -r 3 {TASK}", TRUE)
    compare(f"{form} -r 2 -I 100 {TASK}", NAP)
    compare(f"{form} -r 2 -I 100 --interval-count 1 {TASK}", NAP)
    compare(f"{form} -a {CPU}", NAP)
    compare(f"{form} -C 0 {CPU}", NAP)
    for where in ("-A", "--per-core", "--per-die", "--per-socket", "--per-node"):
        compare(f"{form} -a {where} {CPU}", NAP)
        compare(f"{form} -a {where} {CPU} -I 100 --summary", NAP)
for details in ("-d", "-dd", "-ddd"):
    compare(f"-x, {details}", TRUE)
compare("-D 1 -e task-clock", ["sleep", "0.2"])
compare("--timeout 100 -e task-clock -x,", ["sleep", "60"])
compare("-a -I 20 --interval-count 2 -e cpu-clock", [])
compare("-x; -e task-clock", TRUE)
compare("-i --all-user -e task-clock", TRUE)

# Tasks that run already.
cgroup = pathlib.Path("/nowhere")
busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
try:
    for form in FORMS:
        for task in (f"-p {busy.pid}", f"-t {busy.pid}", f"-t {busy.pid} --per-thread"):
            compare(f"{form} {task} {TASK}", NAP)
            compare(f"{form} {task} {TASK} --timeout 150", [])
    compare(f"-p {busy.pid} -I 100 {TASK} --per-thread", NAP)
    mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
              if line.split()[2] == "cgroup2" or (line.split()[2] == "cgroup" and "perf_event" in line.split()[3])]
    cgroup = pathlib.Path(mounts[0] if mounts else "/nowhere") / f"reticle-{os.getpid()}"
    try:
        cgroup.mkdir()
        (cgroup / "cgroup.procs").write_text(str(busy.pid))
    except OSError as e:
        print(f"-G is not compared: {e}")
    else:
        for form in FORMS:
            compare(f"{form} -a -e cpu-clock -G {cgroup.name}", NAP)
finally:
    busy.kill()
    busy.wait()
    if cgroup.is_dir():
        cgroup.rmdir()

print("\n".join(bad))
sys.exit(len(bad) > 0)
