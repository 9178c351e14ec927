#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads, leaks
"""top: its last table is the report's of the same recording; it ends with what it watches; names steer no terminal."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

RETICLE = os.environ["RETICLE"]
PLAIN = os.path.join(os.environ["SRCDIR"], "build")
PLUGIN = os.path.join(PLAIN, "vpmu", "reticle-vpmu.so")


def fail(text):
    print(text)
    sys.exit(1)


def run(*words, **more):
    return subprocess.run([RETICLE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False, **more)


def tables(text):
    """The rows of each table."""
    parts = re.split(r"^# +(?:Overhead|Children) .*\n# .*\n#\n", text, flags=re.M)[1:]
    return [[line for line in part.split("\n") if line.startswith(" ")] for part in parts]


def same_as_report():
    """Simulated recordings are equal to the byte, so all that came is what a file has."""
    if not os.path.exists(PLUGIN):
        print("no virtual PMU here")
        sys.exit(77)
    # Those of the sanitizers' trees cannot run there.
    os.environ["RETICLE_VPMU"] = PLUGIN
    program = os.path.join(PLAIN, "bench", "classes")
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        made = subprocess.run([RETICLE, "record", "-q", "--pmu=sim", "-o", "sim.data", "--", program], check=False,
                              stdin=subprocess.DEVNULL, stdout=nowhere, stderr=nowhere, timeout=300)
    if made.returncode:
        fail(f"record --pmu=sim: status {made.returncode}")
    want = run("report", "-q", "--no-inline", "-i", "sim.data").stdout.split("\n")
    top = run("top", "--stdio", "-d", "1", "--history", "3600", "--pmu=sim", "--", program)
    if top.returncode:
        fail(f"top --pmu=sim: status {top.returncode}: {top.stderr}")
    if "on a simulated core" not in top.stdout:
        fail("top does not say that the core is simulated")
    got = tables(top.stdout)[-1]
    if got != [line for line in want if line]:
        fail("the last table is not the report's:\n" + "\n".join(got) + "\nreport:\n" + "\n".join(want))
    top = run("top", "--stdio", "-d", "1", "--pmu=sim", "-b", "--", "ls", "/")
    if top.returncode or "Source Symbol" not in top.stdout:
        fail(f"-b: status {top.returncode}: {top.stderr}{top.stdout}")


def passes_on_status():
    for status in (0, 3):
        top = run("top", "--stdio", "--", "sh", "-c", f"exit {status}")
        if top.returncode != status:
            fail(f"a command that ends with {status}: {top.returncode} {top.stderr}")
    if run("top", "--stdio", "--", "./nothing-here").returncode != 127:
        fail("a command that is not there: not status 127")


def ends_with_its_process():
    """A busy process has (nearly) all samples, under a name that would turn a terminal's text red."""
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b'\\x1b[31mred', 0, 0, 0)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code]) as busy:
        # A name that changes between the look at /proc and the start of the events is missed, as by perf.
        while "red" not in pathlib.Path(f"/proc/{busy.pid}/comm").read_text(encoding="ascii"):
            time.sleep(0.01)
        with subprocess.Popen([RETICLE, "top", "--stdio", "-d", "1", "-s", "comm", "-p", str(busy.pid)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as top:
            time.sleep(4)
            busy.send_signal(signal.SIGKILL)
            out, err = top.communicate(timeout=60)
    if top.returncode:
        fail(f"its process ended: status {top.returncode}: {err}")
    if "\x1b" in out:
        fail("an escape sequence out of a name")
    rows = [row for table in tables(out) for row in table]
    if not any(row.endswith("?[31mred") and float(row.split("%")[0]) > 50 for row in rows):
        fail(f"the busy process is not in the tables:\n{out}")


def shows_idle_processes():
    """A process that does nothing has no samples, and a table without rows."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as idle:
        print("begun", file=idle.stdin, flush=True)
        idle.stdout.readline()
        while pathlib.Path(f"/proc/{idle.pid}/stat").read_text(encoding="ascii").split()[2] != "S":
            time.sleep(0.01)
        with subprocess.Popen([RETICLE, "top", "--stdio", "-d", "1", "-e", "cpu-clock", "-p", str(idle.pid)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as top:
            line = top.stdout.readline()
            top.send_signal(signal.SIGINT)
            rest, err = top.communicate(timeout=60)
    if top.returncode or "no samples" not in line or tables(line + rest):
        fail(f"an idle process: status {top.returncode}:\n{line}{rest}{err}")


def stops_at_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([RETICLE, "top", "--stdio", "-d", "1"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as top:
            line = top.stdout.readline()  # it is under way
            top.send_signal(number)
            rest, err = top.communicate(timeout=60)
        if top.returncode or "samples" not in line + rest:
            fail(f"signal {number}: status {top.returncode}, {line}{err}")


def counts_refreshes():
    out = run("top", "--stdio", "-d", "1", "--refreshes", "2", "-E", "1").stdout
    if len(tables(out)) != 2 or any(len(rows) != 1 for rows in tables(out)):
        fail(f"not two tables of one row:\n{out}")


def sees_programs_anew():
    """A program that is built anew under its old name has its new functions' names, also while top runs."""
    if not shutil.which("cc"):
        print("no C compiler")
        sys.exit(77)
    head = "#include <unistd.h>\nstatic volatile unsigned long x, y;\n"
    spin = ("void %s(void) { for (x = 0; x < 50000000; x++) ; }\n"
            "int main(int n, char **words) { while (n && access(words[1], F_OK)) %s(); return 0; }\n")
    pad = "void pad(void) {" + " y += 3;" * 100 + " }\n"
    for name, text in (("program", spin % (("before_it",) * 2)), ("again", pad + spin % (("behind_it",) * 2))):
        with open("it.c", "w", encoding="ascii") as f:
            f.write(head + text)
        subprocess.run(["cc", "-O1", "-fno-inline", "-o", name, "it.c"], check=True)
    with subprocess.Popen([RETICLE, "top", "--stdio", "-d", "1", "--history", "1", "-s", "symbol", "--", "sh", "-c",
                           "./program one; mv again program; ./program two"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True) as top:
        for function, stop in (("before_it", "one"), ("behind_it", "two")):
            for row in top.stdout:
                if row.endswith(f" {function}\n") and float(row.split("%")[0]) > 80:
                    break
            else:
                fail(f"{function} is in no table")
            with open(stop, "w", encoding="ascii"):
                pass
        top.communicate(timeout=60)


def shows_inlined_calls_from_the_cache():
    """The second run finds all answers of the debug information in the cache, and asks nobody."""
    with open("inlined.c", "w", encoding="ascii") as f:
        f.write("static inline __attribute__((always_inline)) unsigned long mixed(unsigned long x)\n"
                "{ return x * 6364136223846793005ul + 1; }\n"
                "int main(void) { volatile unsigned long s = 1; for (;;) s = mixed(s); }\n")
    subprocess.run(["cc", "-g", "-O2", "-o", "inlined", "inlined.c"], check=True)
    os.makedirs(os.environ["XDG_CACHE_HOME"], 0o700, exist_ok=True)
    time.sleep(2.1)  # nothing is kept of files that were changed just now
    for _ in range(2):
        top = run("top", "--stdio", "--inline", "-g", "-e", "cpu-clock:u", "-F", "200", "-d", "1", "--refreshes", "4",
                  "--", "timeout", "20", "./inlined")
        if top.returncode or "mixed (inlined)" not in top.stdout:
            fail(f"top --inline: status {top.returncode}: {top.stderr}{top.stdout}")


def ends_without_a_reader():
    """A pipe that nobody reads any more, and a device that is full."""
    with subprocess.Popen([RETICLE, "top", "--stdio", "-d", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as top:
        top.stdout.readline()
        top.stdout.close()
        if top.wait(timeout=60) != 1 or top.stderr.read():
            fail(f"a pipe that nobody reads: status {top.returncode}")
    with open("/dev/full", "w", encoding="ascii") as full:
        top = subprocess.run([RETICLE, "top", "--stdio", "-d", "1"], stdin=subprocess.DEVNULL, stdout=full,
                             stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if top.returncode != 1 or "cannot write: No space left" not in top.stderr:
        fail(f"a full device: status {top.returncode}: {top.stderr}")


def has_forms():
    """Forms and columns are report's."""
    for words, pattern in ((["--hierarchy", "-s", "comm,symbol"], r"(?m)^ +\d+\.\d+% +\S.*\n +\d+\.\d+% +\["),
                           (["--show-cpu-utilization", "-s", "comm"], r"# Overhead +sys +usr +Command"),
                           (["--all-cgroups", "-s", "cgroup"], r"(?m)^ +\d+\.\d+% +/"),
                           (["--group", "-e", "{cpu-clock,context-switches}"], r"(?m)^ +\d+\.\d+% +\d+\.\d+% ")):
        top = run("top", "--stdio", "--refreshes", "2", "-d", "1", *words)
        if top.returncode or not re.search(pattern, top.stdout):
            fail(f"{words}: status {top.returncode}: {top.stderr}{top.stdout}")


def tells_of_stacks():
    """How many are whole, and why the others are not: of those that are unwound while recording, what each round says,
    which is more each time."""
    words = ["--refreshes", "3", "-d", "1", "-e", "cpu-clock:u", "--", "timeout", "60", "sh", "-c",
             "while :; do :; done"]
    top = run("top", "--stdio", "--call-graph", "unwind", *words)
    told = [int(n) for n in re.findall(r"(?m)^Stacks: (\d+) unwound while recording, \d", top.stdout)]
    if top.returncode or len(told) < 2 or not told[0] < told[-1]:
        fail(f"top --call-graph unwind: status {top.returncode}, stacks {told}: {top.stderr}{top.stdout}")
    for mode, pattern in (["-g"], r"(?m)^Stacks: \d+, \d"), ([], r"(?m)^# Overhead"):
        top = run("top", "--stdio", *mode, *words)
        if top.returncode or not re.search(pattern, top.stdout) or (not mode and "Stacks:" in top.stdout):
            fail(f"top {mode}: status {top.returncode}: {top.stderr}{top.stdout}")


def refuses():
    for words, text in ((["-K", "-U"], "exclude each other"), (["-s", "nothing"], "is not one of"),
                        (["-p", "1", "-a"], "cannot be combined"), (["--percent-limit", "x"], "percentage"),
                        (["-d", "0"], "'0' is not a number of whole seconds, 1 or more"),
                        (["-d", "0.5"], "'0.5' is not a number of whole seconds, 1 or more"),
                        (["-d", "-1"], "'-1' is not a number of whole seconds, 1 or more")):
        said = run("top", "--stdio", "--refreshes", "1", *words)
        if said.returncode != 2 or text not in said.stderr:
            fail(f"{words}: status {said.returncode}: {said.stderr}")


passes_on_status()
ends_with_its_process()
shows_idle_processes()
stops_at_signals()
counts_refreshes()
sees_programs_anew()
shows_inlined_calls_from_the_cache()
ends_without_a_reader()
has_forms()
tells_of_stacks()
refuses()
same_as_report()
