#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stat: whom and when it counts, that sums are sums, what it says of wrong options, and that Ctrl-C prints counts."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRCDIR"], "tests/cli/lib"))
from machine import need_recording, no_sim, use_plugin
from peer import run

RETICLE = os.environ["RETICLE"]


def check(fine, what):
    if not fine:
        print(what)
        sys.exit(1)


def stat(*words):
    return run(RETICLE, "stat", *words)


def fields(text):
    """The lines of -x, as lists."""
    return [line.split(",") for line in text.splitlines() if "," in line and not line.startswith("#")]


def wrong(want, *words, status=2):
    done = stat(*words)
    check(done.returncode == status and want in done.stderr and done.stderr.count("\n") <= 2,
          f"stat {' '.join(words)}: status {done.returncode}, {done.stderr}")


wrong("a command is missing")
wrong("a command is missing", "-e", "cpu-clock")
wrong("name a command, -a, -C, -p or -t", "--timeout", "100")
wrong("-x excludes -j and --json", "-x,", "-j", "true")
wrong("-j and --json exclude each other", "--json", "-j", "true")
wrong("the separator is empty", "-x", "", "true")
wrong("-p and -t exclude each other", "-p", "1", "-t", "1")
wrong("it excludes -p and -t", "-a", "-p", "1")
wrong("-G counts on whole CPUs", "-G", "x", "true")
wrong("-A and --per-core to --per-node show CPUs separately", "--per-core", "true")
wrong("exclude each other", "-a", "-A", "--per-node", "true")
wrong("--per-thread shows threads that are already running", "--per-thread", "true")
wrong("it excludes -A and --per-", "-r", "2", "-a", "-A", "true")
wrong("--interval-count needs -I", "--interval-count", "2", "true")
wrong("at least 10 ms", "--timeout", "9", "true")
wrong("-I and --timeout exclude each other", "-I", "100", "--timeout", "100", "true")
wrong("--append needs -o FILE", "--append", "true")
wrong("-n counts nothing", "-n", "-d", "true")
wrong("--all-user and --all-kernel exclude each other", "--all-user", "--all-kernel", "true")
wrong("is not a number of runs", "-r", "-3", "true")
wrong("did you mean 'cache'", "-M", "chache", "true")
wrong("there is no metric 'PerCall' that counts can give", "-M", "PerCall", "true")
wrong("no known event counts this on this machine", "-M", "RET/KI", "true")
wrong("-a and -C cannot be used with --pmu=sim", "--pmu=sim", "-a", "true")
wrong("-p and -t cannot be used with --pmu=sim", "--pmu=sim", "-p", "1")
wrong("-I cannot be used with --pmu=sim", "--pmu=sim", "-I", "100", "true")
wrong("-i cannot be used with --pmu=sim", "--pmu=sim", "-i", "true")
wrong("--all-kernel cannot be used with --pmu=sim", "--pmu=sim", "--all-kernel", "true")
wrong("-D cannot be used with --pmu=sim", "--pmu=sim", "-D", "100", "true")
wrong("there is no process 999999999", "-p", "999999999", status=1)
wrong("cannot open cgroup 'no-such-group'", "-a", "-G", "no-such-group", status=1)
wrong("CPU 999 does not exist", "-C", "999", "true", status=1)
if not os.path.exists("/sys/bus/event_source/devices/cpu/events/topdown-retiring"):
    wrong("does not count slots", "--topdown", "true", status=1)

need_recording()

# What is not there names what is, unless a program reads what is printed.
done = stat("-e", "cycles", "true")
if not os.path.exists("/sys/bus/event_source/devices/cpu") and "<not supported>" in done.stderr:
    check("--pmu=sim counts cycles" in done.stderr, f"no hint at --pmu=sim: {done.stderr}")
    check("sim" not in stat("-x,", "-e", "cycles", "true").stderr, "-x: a hint among the fields")
    check("sim" in stat("-x,", "-o", "fields", "-e", "cycles", "true").stderr, "-x -o: no hint")

# Intervals come to what the summary says, to the last page fault.
PAGES = [sys.executable, "-c", "import time\nfor i in range(5):\n bytearray(4 << 20)\n time.sleep(0.06)"]
lines = fields(stat("-I", "100", "--summary", "-x,", "-e", "page-faults:u", *PAGES).stderr)
parts = [int(x[1]) for x in lines if x[0].strip() != "summary" and x[1] != "<not counted>"]
whole = [int(x[1]) for x in lines if x[0].strip() == "summary"]
check(len(lines) >= 3 and whole == [sum(parts)] and whole[0] > 3000, f"intervals: {lines}")
times = [float(x[0]) for x in lines[:-1]]
check(times == sorted(times) and times[0] >= 0.1, f"-I: times {times}")

# CPUs utilized is of what an interval lasted, even the last one, which is shorter.
lines = fields(stat("-a", "-I", "200", "-x,", "-e", "cpu-clock", "sleep", "0.25").stderr)
began = 0
for x in lines:
    lasted, began = float(x[0]) - began, float(x[0])
    check(abs(float(x[6]) - float(x[1]) / 1e3 / lasted) < 0.002 + 0.001 / lasted,
          f"-I: CPUs utilized of {x}, {lasted} s")

# Both of a process's threads, or one of them: the main thread works once it is told to, the other one sleeps.
threads = subprocess.Popen(
    [sys.executable, "-c",
     "import sys, threading, time\nt = threading.Thread(target=time.sleep, args=(600,), daemon=True)\n"
     "t.start()\nopen(f'/proc/self/task/{t.native_id}/comm', 'wb').write(b'a,b\\x9b2J')\nprint(t.native_id, "
     "flush=True)\nsys.stdin.readline()\nwhile True: pass"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def both_wait():
    """Neither has anything to do any more, not even to get to its sleep."""
    stats = pathlib.Path(f"/proc/{threads.pid}/task").glob("*/stat")
    return all(stat.read_bytes().rpartition(b")")[2].split()[0] == b"S" for stat in stats)


try:
    sleeper = threads.stdout.readline().strip()
    while not both_wait():
        time.sleep(0.01)
    print("work", file=threads.stdin, flush=True)
    one = fields(stat("-t", sleeper, "-x,", "-e", "task-clock:u", "sleep", "0.3").stderr)
    check(one[0][0] == "<not counted>", f"-t of a thread that sleeps: {one}")
    lines = fields(stat("-p", str(threads.pid), "--per-thread", "-x,", "-e", "task-clock:u", "sleep", "1").stderr)
    check(sorted(x[0].rsplit("-", 1)[1] for x in lines) == sorted((str(threads.pid), sleeper)),
          f"--per-thread: {lines}")
    check(any(x[0].startswith("a b") for x in lines) and "\x9b" not in str(lines), f"the name of a thread: {lines}")
    counted = {x[0].rsplit("-", 1)[1]: x[1] for x in lines}
    check(counted[sleeper] == "<not counted>" and float(counted[str(threads.pid)]) > 0, f"--per-thread: {lines}")
    all_of = fields(stat("-p", str(threads.pid), "-x,", "-e", "task-clock:u", "sleep", "1").stderr)
    check(len(all_of) == 1 and float(all_of[0][0]) > 0, f"-p: {all_of}")
finally:
    threads.kill()
    threads.wait()
# A process that ends ends the counting.
short = subprocess.Popen(["sleep", "1"])
done = stat("-p", str(short.pid), "-e", "task-clock:u")
short.wait()
check(done.returncode == 0 and "time elapsed" in done.stderr, f"-p of a process that ends: {done}")

# -D: who ends before it begins is not counted; who goes on is.
done = stat("-D", "60000", "-x,", "-e", "task-clock:u", "true")
check(fields(done.stderr)[0][0] == "<not counted>" and not done.returncode, f"-D 60000: {done}")
done = stat("-D", "1", "-x,", "-e", "page-faults:u", *PAGES)
check(int(fields(done.stderr)[0][0]) > 3000, f"-D 1: {done}")

# --interval-count ends the command, and that is no failure, unless the command has failed before.
done = stat("-I", "20", "--interval-count", "2", "-x,", "-e", "task-clock:u", "sleep", "600")
check(done.returncode == 0 and len(fields(done.stderr)) == 2, f"--interval-count: {done}")
done = stat("-I", "100000", "--interval-count", "2", "-x,", "-e", "task-clock:u", "false")
check(done.returncode == 1, f"--interval-count with a command that fails: {done}")

# --timeout ends the command, and that is no failure.
done = stat("--timeout", "100", "-e", "task-clock:u", "sleep", "600")
elapsed = float(next(line for line in done.stderr.splitlines() if "elapsed" in line).split()[0])
check(done.returncode == 0 and 0.1 <= elapsed < 300, f"--timeout: {done}")

# -r: the mean, its error, and each run; -i; --append.
made = json.loads(stat("--json", "-r", "4", "-e", "page-faults:u", "true").stderr)
check(made["runs"] == 4 and len(made["events"][0]["values"]) == 4, f"-r 4 --json: {made}")
for _ in range(2):
    stat("-o", "kept", "--append", "-x,", "-e", "page-faults:u", "true")
kept = pathlib.Path("kept").read_text()
check(kept.count("# started on ") == 2 and len(fields(kept)) == 2, f"--append: {kept}")
stat("-o", "kept", "-x,", "-e", "page-faults:u", "true")
check(len(fields(pathlib.Path("kept").read_text())) == 1, "-o without --append keeps what was there")
if os.geteuid() == 0:
    # A link that somebody else has put where a file was meant.
    pathlib.Path("victim").write_text("precious")
    os.symlink("victim", "theirs")
    os.lchown("theirs", 65534, 65534)
    done = stat("-o", "theirs", "--append", "-e", "page-faults:u", "true")
    check(done.returncode == 1 and "a link that belongs to another user" in done.stderr, f"a foreign link: {done}")
    check(pathlib.Path("victim").read_text() == "precious", "what a foreign link leads to was written to")
big = stat("-e", "page-faults:u", *PAGES).stderr
check("," in big.split("page-faults")[0].split()[-1], f"no commas: {big}")
check("," not in stat("--no-big-num", "-e", "page-faults:u", *PAGES).stderr.split("page-faults")[0].split()[-1],
      "--no-big-num")

# Ctrl-C, once the command is there: what was counted until then is printed.
WAIT = [sys.executable, "-c",
        "import pathlib, time\nbytearray(16 << 20)\npathlib.Path('there').touch()\ntime.sleep(600)"]
for options in ([], ["-I", "100000", "--summary"], ["-r", "5"], ["-r", "0"]):
    pathlib.Path("there").unlink(missing_ok=True)
    running = subprocess.Popen([RETICLE, "stat", "-x,", "-e", "page-faults:u", *options, *WAIT],
                               stderr=subprocess.PIPE, text=True)
    while not pathlib.Path("there").exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=100)
    counts = [x for x in fields(said) if any("page-faults" in y for y in x)]
    check(counts and max(int(y) for y in counts[-1][:2] if y.isdigit()) > 3000, f"Ctrl-C {options}: {said}")
    check(running.returncode == 130, f"Ctrl-C {options}: status {running.returncode}")

if no_sim():
    sys.exit(0)
use_plugin()


# Metrics are what their formulas say of the counts in the same lines, and shares of slots are all of them.
def simulated(*words):
    metrics, counts = {}, {}
    for x in fields(stat("--pmu=sim", "-x,", *words, "true").stderr):
        if x[0]:
            counts[x[2]] = int(x[0])
        metrics[x[6]] = x[5]
    return metrics, counts


metrics, n = simulated("-M", "IPC,branch,cache")
check(metrics["IPC"] == f"{n['instructions'] / n['cycles']:.2f}", f"IPC: {metrics} of {n}")
check(metrics["BR/KI"] == f"{n['branches'] / n['instructions'] * 1000:.1f}", f"BR/KI: {metrics} of {n}")
check(metrics["L1D%"] == f"{n['L1-dcache-load-misses'] / n['L1-dcache-loads'] * 100:.1f}", f"L1D%: {metrics} of {n}")
check(len(n) == len(set(n)) and "RET/KI" in metrics and "L2%" in metrics, f"-M: {metrics} of {n}")
metrics, n = simulated("--topdown")
shares = [float(metrics[name]) for name in ("Retiring%", "BadSpec%", "Frontend%", "Backend%")]
check(abs(sum(shares) - 100) < 0.3 and n["slots"] == sum(v for k, v in n.items() if k != "slots"),
      f"--topdown: {metrics} of {n}")
metrics, n = simulated("-M", "all")
check(len(metrics) > 25 and len(n) > 15, f"-M all: {metrics} of {n}")
made = [json.loads(line) for line in stat("--pmu=sim", "-j", "-M", "IPC", "-r", "2", "true").stderr.splitlines()]
check([x.get("event") for x in made] == ["cycles", "instructions"] and made[0]["metric-unit"] == "IPC"
      and made[0]["variance"] == 0, f"-j -M: {made}")
made = json.loads(stat("--pmu=sim", "--json", "-M", "IPC", "true").stderr)
check(abs(made["metrics"][0]["value"] - made["events"][1]["value"] / made["events"][0]["value"]) < 1e-5,
      f"--json -M: {made}")
lines = fields(stat("--pmu=sim", "-d", "-x,", "true").stderr)
check(any(x[2].startswith("LLC-load-misses") for x in lines), f"-d: {lines}")
