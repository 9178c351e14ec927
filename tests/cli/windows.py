#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""Windows of real kernels, made with the kernel's clock: twins, bursts, tasks that come; and what is refused."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.machine import need_recording

RETICLE = os.environ["RETICLE"]
# A window is as much shorter as its first timer is late, on some virtual machines by 40 us as a rule.
GROUP = "{cpu-clock/period=2000000,alt-period=200000/,task-clock,context-switches,page-faults}:S"
SEED = "{cycles/period=999700,alt-period=300/,instructions,branch-misses,cache-references,cache-misses}:uS"
# Two processes of two threads each, which take turns and sleep, for CPU seconds of their own.
WORK = """
import os, threading, time
def work():
    end = time.thread_time() + 1.5
    while time.thread_time() < end:
        sum(range(20000))
        time.sleep(0.0005)
if os.fork() == 0:
    pass
t = threading.Thread(target=work)
t.start()
work()
t.join()
"""
failed = []


def check(what, ok, *seen):
    if not ok:
        print(f"{what}: {' '.join(map(str, seen))}")
        failed.append(what)


def run(*args, **more):
    return subprocess.run([RETICLE, *map(str, args)], text=True, capture_output=True, timeout=120, **more)


def samples(name):
    done = run("dump", "-i", name, "--json", "--type", "SAMPLE")
    check(f"dump {name}", not done.returncode and not done.stderr, done.stderr)
    return [s for s in map(json.loads, done.stdout.splitlines()) if "read" in s]


def windows(name, twins):
    """Lengths of windows per thread: (of first leader's samples, lengths from a sample to the next of the twin)."""
    counts, lengths, last = collections.Counter(), collections.defaultdict(list), {}
    for s in samples(name):
        values = s["read"]["values"]
        key, second = values[0]["id"], s["id"] == values[1]["id"]
        counts[s["tid"]] += not second
        before = last.get(key)
        if before and (second and not before[1] if twins else True):
            lengths[s["tid"]].append(values[0]["value"] - before[0])
        last[key] = (values[0]["value"], second)
    return counts, lengths


def median(numbers):
    return sorted(numbers)[len(numbers) // 2] if numbers else 0


def twins():
    done = run("record", "-o", "twin.data", "-e", GROUP, "--", sys.executable, "-c", WORK)
    check("twin: status", done.returncode == 0, done.returncode, done.stderr)
    check("twin: says so", "windows: twin (" in done.stderr, done.stderr)
    counts, lengths = windows("twin.data", True)
    # Each has 750 where nobody else runs; where the machine stands still, its timers do too.
    busy = [tid for tid, n in counts.items() if n >= 200]
    check("twin: four threads", len(busy) == 4, counts)
    for tid in busy:
        check("twin: most samples of a thread have a twin", len(lengths[tid]) > counts[tid] / 2, counts[tid],
              len(lengths[tid]))
        check("twin: windows", 80000 < median(lengths[tid]) < 800000, median(lengths[tid]))
    both = sum(lengths.values(), [])
    check("twin: told", f" {len(both)} on " in done.stderr, len(both), done.stderr)
    report = run("report", "-i", "twin.data").stdout
    check("twin: one table", report.count("# Windows: ") == 1, report)


def bursts():
    done = run("record", "-o", "burst.data", "--window=mode=refresh,burst=3", "-e", GROUP, "--", sys.executable, "-c",
               WORK)
    check("refresh: status", done.returncode == 0, done.stderr)
    counts, lengths = windows("burst.data", False)
    check("refresh: samples", sum(counts.values()) > 400, counts)
    both = sum(lengths.values(), [])
    # Nothing is counted between bursts, so that all windows are short.
    check("refresh: windows", 160000 < median(both) < 360000, median(both))
    plain = run("record", "-o", "plain.data", "--window=mode=plain", "-e", GROUP, "--", sys.executable, "-c", WORK)
    check("plain: status", plain.returncode == 0, plain.stderr)
    check("plain: more samples", len(samples("plain.data")) > sum(counts.values()))


def jitter():
    """The short period's too: a burst's windows are never shorter than it, so that shorter ones show that it was
    another."""
    for words, says, least, most in ((",period-jitter=0", "alt-period=400000/", 0, 0.02),
                                     ("", "period-jitter=full,alt-period-jitter=400000/", 0.15, 0.6),
                                     (",alt-period-jitter=400000", "alt-period-jitter=400000/", 0.15, 0.6)):
        group = "{cpu-clock/period=8000000,alt-period=400000" + words + "/,page-faults}:S"
        # A machine that stands still cuts windows short, too, but not in each of some recordings.
        for _ in range(6):
            done = run("record", "-o", "jitter.data", "--window=mode=refresh", "-e", group, "--", sys.executable, "-c",
                       WORK)
            check("jitter: status", done.returncode == 0 and says in done.stderr, done.stderr)
            both = sum(windows("jitter.data", False)[1].values(), [])
            share = sum(n < 340000 for n in both) / max(len(both), 1)
            if len(both) > 60 and least <= share <= most:
                break
        check("jitter: lengths", len(both) > 60 and least <= share <= most, words, len(both), share, sorted(both)[:5])
    done = run("record", "-o", "jitter.data", "-e", group, "--", "true")
    check("jitter: of the short period alone", "windows: refresh (" in done.stderr and
          "alt-period-jitter=400000" in done.stderr or
          "windows: native (" in done.stderr, done.stderr)


def drawn():
    """Twins keep one period. What a frequency means is drawn once for each recording; what was asked for is kept."""
    def period(*args):
        done = run("record", "-o", "drawn.data", *args, "--", "true")
        check("drawn: status", done.returncode == 0, args, done.stderr)
        found = re.search(r"period=(\d+),", run("evlist", "-i", "drawn.data").stdout)
        check("drawn: has a period", found)
        return int(found.group(1)) if found else 0
    window = "--window=mode=twin,leader=cpu-clock,short=50000"
    periods = [period(window, "-F", "500") for _ in range(5)]
    check("drawn: from a frequency", len(set(periods)) > 1 and
          all(1755000 <= p <= 2145000 and p % 2 == 0 for p in periods), periods)
    check("drawn: not without jitter", period(window + ",jitter=0", "-F", "500") == 1950000)
    check("drawn: not a period", period(window, "-c", "1950000") == 1950000)


def occurrences():
    """The kernel can tell no periods of them, but it can keep one."""
    lines = ("import mmap", "for i in range(20):", " m = mmap.mmap(-1, 4096 * 500)",
             " for j in range(500): m[j * 4096] = 1")
    done = run("record", "-o", "faults.data", "--window=mode=plain,short=50", "-e", "{page-faults,cpu-clock}:S", "--",
               sys.executable, "-c", "\n".join(lines))
    check("faults: status", done.returncode == 0 and "counts the kernel" not in done.stderr, done.stderr)
    both = sum(windows("faults.data", False)[1].values(), [])
    check("faults: windows", len(both) > 150 and median(both) == 50, len(both), both[:5])


def rates():
    """What windows of a clock say of rates: all is what ran, and no row that is far from certain is unmarked."""
    program = "\n".join(("import mmap, resource, time", "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt",
                         "start = time.thread_time()", "while time.thread_time() < start + 1.5:",
                         " m = mmap.mmap(-1, 4096 * 500, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
                         " for j in range(500): m[j * 4096] = 1", " m.close()", " sum(range(20000))",
                         "faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before",
                         "print(faults / (time.thread_time() - start) / 1000)"))
    done = run("record", "-o", "rates.data", "--window", "--", sys.executable, "-c", program)
    check("rates: status", done.returncode == 0, done.stderr)
    event = json.loads(run("report", "-i", "rates.data", "--json", "--sort", "symbol").stdout)["events"][0]
    want, rate = float(done.stdout.split()[-1]), "page-faults/ms"
    of = event["metrics"][rate]
    # Python's start is part of all, and has other rates for some hundredths of a second.
    check("rates: all", abs(of["value"] / want - 1) < 0.15, of, want)
    for row in event["rows"]:
        m = row["metrics"][rate]
        if m["value"] is not None and not m["doubtful"]:
            half = max(m["high"] - m["value"], m["value"] - m["low"])
            check("rates: marks", half <= max(0.25 * abs(m["value"]), 0.05 * of["value"]), row["symbol"], m)


def whole_cpus():
    if os.getuid():
        return
    done = run("record", "-a", "-o", "all.data", "-e", GROUP, "--", sys.executable, "-c", WORK)
    check("-a: status", done.returncode == 0, done.stderr)
    _, lengths = windows("all.data", True)
    both = sum(lengths.values(), [])
    check("-a: windows", len(both) > 200 and 80000 < median(both) < 1000000, len(both), median(both))


def others():
    """Tasks that run already, a late start, files that are switched."""
    with subprocess.Popen([sys.executable, "-c", WORK.replace("+ 1.5", "+ 3")]) as busy:
        done = run("record", "-o", "pid.data", "-e", GROUP, "-p", busy.pid, "--", "sleep", "1")
        check("-p: status", done.returncode == 0, done.stderr)
        busy.kill()
    check("-p: windows", len(sum(windows("pid.data", True)[1].values(), [])) > 20, done.stderr)
    done = run("record", "-D", "100", "-o", "late.data", "-e", GROUP, "--", sys.executable, "-c", WORK)
    check("-D: status", done.returncode == 0, done.stderr)
    check("-D: windows", len(sum(windows("late.data", True)[1].values(), [])) > 20, done.stderr)


def perf_reads():
    if not shutil.which("perf"):
        return
    for name in ("twin.data", "burst.data"):
        done = subprocess.run(["perf", "script", "-i", name, "-F", "tid,period,event"], text=True, capture_output=True)
        check(f"perf script {name}", done.returncode == 0 and done.stdout.count("\n") > 400, done.stderr)
        done = subprocess.run(["perf", "report", "-i", name, "--stdio"], text=True, capture_output=True)
        check(f"perf report {name}", "anon group" in done.stdout, done.stdout[:400], done.stderr)


def default_rate():
    """No more samples a second than without windows, half of them for windows; -F says how many windows there are."""
    def count(*words):
        """-> all samples, those of the leader"""
        done = run("record", "--pmu=sim", "-o", "rate.data", *words, "--", "./benchmark", "300000", "20")
        told = re.search(r"(\d+) samples", done.stderr)
        check(f"rate: {words}", not done.returncode and told, done.stderr)
        return (int(told.group(1)) if told else 0,
                run("script", "-i", "rate.data", "-F", "event").stdout.count("cycles"))
    plain, usual, asked = count("--no-window"), count(), count("-F", "4000", "--window")
    check("rate: as without windows", plain[0] > 100 and usual[0] < plain[0] * 1.05, plain, usual)
    check("rate: half are windows'", abs(usual[1] - plain[0] / 2) < plain[0] / 20, plain, usual)
    check("rate: -F N is N windows", abs(asked[1] - 2 * plain[0]) < plain[0] / 10, plain, asked)
    clock = run("record", "--pmu=sim", "--window=leader=cpu-clock", "-o", "rate.data", "--", "./benchmark", "10", "10")
    check("rate: a clock", "cpu-clock/alt-period=50000,period-jitter=full,alt-period-jitter=50000/" in clock.stderr,
          clock.stderr)
    for words, says in (
            (["-F", "1000", "--window=short=100000000"], "that its frequency means"),
            (["--window=jitter=100000000"], "larger than the period of"),
            (["--window=leader=instructions", "-e", "{cycles,instructions}:uS"],
             "the first event of a group leads it"),
            (["-e", "{cycles/alt-period=300,period-jitter=100000000/,instructions}:S"], "larger than the period of"),
    ):
        done = run("record", "--pmu=sim", "-o", "refused.data", *words, "--", "./benchmark", "10", "10")
        check(f"sim: refused: {words}", done.returncode == 2 and says in done.stderr, done.returncode, done.stderr)


def only_counted():
    """A PMU that takes no samples, and cannot leave out guests."""
    if not os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
        return
    for words in (["--no-window"], ["--window=short=50000"]):
        done = run("record", "-o", "msr.data", *words, "-e", "{cpu-clock,msr/tsc/}:S", "--", sys.executable, "-c",
                   WORK)
        check(f"msr: {words}", not done.returncode, done.stderr)
        read = [s["read"]["values"][-1]["value"] for s in samples("msr.data")]
        check(f"msr: {words}: values", len(read) > 20 and all(v > 0 for v in read[1:]), read[:5])
    done = run("stat", "-e", "msr/tsc/", "--", "true")
    check("msr: stat", re.search(r"\d\s+msr/tsc/", done.stderr + done.stdout), done.stderr)
    done = run("record", "-o", "refused.data", "-e", "{cpu-clock,msr/tsc/}", "--", "true")
    check("msr: not sampled", done.returncode and "'{cpu-clock,msr/tsc/}:S'" in done.stderr, done.stderr)


def seed():
    """The command line of the proposal, as it is printed there."""
    words = ["-T", "--sample-cpu", "--call-graph", "fp,4", "--user-callchains", "-k", "CLOCK_MONOTONIC_RAW", "-e",
             SEED]
    if run("record", "--pmu=sim", "-q", "-o", "probe.data", "--", "true").returncode == 0:
        counted = pathlib.Path(RETICLE).parent / "tests/sim/counted"
        shutil.copy(counted, "benchmark")
        path = os.environ | {"PATH": os.getcwd() + ":" + os.environ["PATH"]}
        done = run("record", "--pmu=sim", "-o", "seed.data", *words, "benchmark", "1000", "1000", env=path)
        check("seed: status", done.returncode == 0, done.stderr)
        report = run("report", "-i", "seed.data").stdout
        check("seed: table", all(w in report for w in ("CPI", "BM/KI", "%LLCM", "kept", "(all)")), report)
        done = run("record", "--pmu=sim", "-o", "default.data", "--", "./benchmark", "1000", "300")
        check("default: windows", "windows: sim (" in done.stderr, done.stderr)
        default_rate()
        done = run("record", "--pmu=sim", "--no-window", "-o", "default.data", "--", "./benchmark", "10", "10")
        check("--no-window: none", "windows:" not in done.stderr, done.stderr)
        check("--no-window: one event", run("evlist", "-i", "default.data").stdout == "cycles:u\n")
    if run("stat", "-e", "cycles:u", "--", "true").stdout.find("not supported") < 0:
        return
    done = run("record", "-o", "none.data", *words, "true")
    check("seed without a PMU", done.returncode == 1 and "--pmu=sim" in done.stderr, done.returncode, done.stderr)


def refused():
    for words, says in (
            (["-e", "{cpu-clock/period=1000,alt-period=2000/,faults}:S"], "must be shorter than 'period'"),
            (["-e", "{cpu-clock/period=1000,alt-period=0/,faults}:S"], "at least 1"),
            (["-c", "1000", "-e", "{cpu-clock/alt-period=2000/,faults}:S"], "not shorter than the period of 1000"),
            (["-F", "50000", "-e", "{cpu-clock/alt-period=50000/,faults}:S"], "that its frequency means"),
            (["-e", "{cpu-clock/period=1000000,alt-period=50000,period-jitter=2000000/,faults}:S"],
             "larger than 'period'"),
            (["-e", "cpu-clock/period=1000000,alt-period=50000/"], "after the brace"),
            (["-e", "{cpu-clock/period=1000000,alt-period=50000/,faults}"], "after the brace"),
            (["--window", "-e", "cpu-clock,faults"], "'{cpu-clock,...}:S'"),
            (["--window=short=3k"], "decimal"),
            (["-e", "{cpu-clock/period=1000000,alt-period/,faults}:S"], "'alt-period' needs a value"),
            (["--window=leader=instructions", "-e", "{cpu-clock,faults}:S"], "the first event of a group leads it"),
            (["-e", "{page-faults/freq=1000,alt-period=5/,cpu-clock}:S"], "cannot lead windows"),
            (["-e", "{page-faults/period=1000,alt-period=5/,cpu-clock}:S"], "cannot lead windows"),
            (["-e", "{branch-misses/freq=1000,alt-period=5/,cpu-clock}:S"], "give it period="),
            (["--window=mode=native"], "alternat"),
            (["--window=mode=sim"], "--pmu=sim"),
            (["--window=mode=twin,burst=4", "-e", GROUP], "mode=refresh"),
            (["--window=mode=twin,jitter=4", "-e", GROUP], "mode=refresh"),
            (["--window=mode=plain", "-e", "{cpu-clock/period=1000000,alt-period=50000,burst=3/,faults}:S"],
             "burst= needs mode=refresh"),
            (["--window=mode=plain", "-e",
              "{cpu-clock/period=1000000,alt-period=50000,alt-period-jitter=9/,faults}:S"], "jitter needs"),
            (["--no-window", "-e", GROUP], "leave out one"),
            (["--window", "-o", "-", "-e", GROUP], "write to a file"),
    ):
        done = run("record", "-o", "refused.data", *words, "--", "true")
        if words == ["--window=mode=native"] and not done.returncode:
            continue  # a kernel that has it
        check(f"refused: {words}", done.returncode in (1, 2) and says in done.stderr, done.returncode, done.stderr)
        check(f"refused: {words}: nothing is written", not os.path.exists("refused.data"))


need_recording()
for part in (twins, bursts, jitter, drawn, occurrences, rates, whole_cpus, others, perf_reads, only_counted, seed,
             refused):
    part()
sys.exit(bool(failed))
