#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""record --truth: exact counts add up, however threads, processes, signals and longjmps tangle; windows are what was
sampled; an independent counter agrees."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE, SRCDIR = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
PROGRAM = r"""
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sink;
static jmp_buf back;
void work(long n) { for (long i = 0; i < n; i++) sink += i; }
void in_handler(void) { work(100); }
void handler(int s) { (void)s; in_handler(); }
void *thread(void *n) { work((long)n); return 0; }
void deep(int n) { if (!n) longjmp(back, 1); deep(n - 1); work(1); }
void jumps(void) { if (!setjmp(back)) deep(10); work(200); }
void forks(void) { pid_t p = fork(); if (!p) { work(300); _exit(0); } waitpid(p, 0, 0); }
void is_killed(void) { pid_t p = fork(); if (!p) { work(400); raise(SIGKILL); } waitpid(p, 0, 0); }
char *too_long(void) { static char big[200000]; memset(big, 'x', sizeof(big) - 1); return big; }
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1 && !strcmp(argv[1], "again")) { work(500); return 0; }
	pthread_create(&t, 0, thread, (void *)600);
	pthread_join(t, 0);
	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++) raise(SIGUSR1);
	jumps();
	forks();
	if (argc > 1) is_killed();
	work(700);
	if (getenv("FAILS")) execl(argv[0], argv[0], too_long(), (char *)0);
	execl(argv[0], argv[0], "again", (char *)0);
	return 1;
}
"""


def fail(text):
    print(text)
    sys.exit(1)


def skip(text):
    print(text)
    sys.exit(77)


def check(what, got, want):
    if got != want:
        fail(f"{what}: {got} instead of {want}")


def run(*args):
    return subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def record(name, *args):
    p = run("record", "--pmu=sim", "-q", "-o", f"{name}.data", "--truth", f"{name}.json", *args)
    if p.returncode:
        fail(f"record {args}: status {p.returncode}: {p.stderr}")
    return json.loads(pathlib.Path(f"{name}.json").read_text())


def total(entries):
    c = collections.Counter()
    for e in entries:
        c.update(e["counts"])
    return dict(c)


def check_sums(truth):
    for part in "threads", "functions", "addresses", "paths":
        check(f"sum over {part}", total(truth[part]), truth["totals"])
    t = truth["totals"]
    check("top-down", sum(t.get("slots-" + k, 0) for k in ("retiring", "bad-speculation", "frontend", "backend")),
          t["slots"])


def path_of(truth, i):
    names = []
    while i is not None:
        names.append(truth["paths"][i]["symbol"])
        i = truth["paths"][i]["caller"]
    return names[::-1]


def paths_to(truth, symbol):
    """-> {"caller;..;symbol" from main (or the thread's function) down: instructions}"""
    found = collections.Counter()
    for i, p in enumerate(truth["paths"]):
        names = path_of(truth, i)
        if names[-1] == symbol:
            start = next((k for k, n in enumerate(names) if n in ("main", "thread")), 0)
            found[";".join(str(n) for n in names[start:])] += p["counts"].get("instructions", 0)
    return found


def instructions(truth, symbol):
    return sum(f["counts"].get("instructions", 0) for f in truth["functions"] if f["symbol"] == symbol)


need_sim()
if not shutil.which("cc"):
    skip("no cc")
pathlib.Path("t.c").write_text(PROGRAM)
subprocess.run(["cc", "-O1", "-g", "-fno-inline", "-fno-optimize-sibling-calls", "-pthread", "-Wl,-z,now", "-o", "t",
                "t.c"], check=True)

# One truth of everything: each call of work is 7 instructions a turn (here: what one turn costs, measured by two
# runs).
truth = record("all", "-e", "instructions", "-c", "1000", "-g", "--", "./t")
check("complete", (truth["complete"], truth["incomplete"]), (True, []))
check("core", truth["meta"]["simulated"], "generic-x86" if os.uname().machine == "x86_64" else "neoverse-n1")
check_sums(truth)
work = paths_to(truth, "work")
calls = {"thread;work": (1, 600), "main;jumps;work": (1, 200), "main;forks;work": (1, 300)}
per_turn = (work["thread;work"] - work["main;jumps;work"]) // 400
fixed = work["thread;work"] - 600 * per_turn
for path, (n, turns) in calls.items():
    check(path, work[path], n * fixed + turns * per_turn)
check("main;work", work["main;work"], 2 * fixed + (500 + 700) * per_turn)
handlers = {p: n for p, n in work.items() if "in_handler" in p}
check("work in handlers", sum(handlers.values()), 3 * (fixed + 100 * per_turn))
if not all(p.endswith(";handler;in_handler;work") and p.startswith("main;") for p in handlers):
    fail(f"paths of handlers: {handlers}")
check("work", instructions(truth, "work"), sum(work.values()))
check("deep", sum(paths_to(truth, "deep").values()), instructions(truth, "deep"))
comms = collections.Counter((t["comm"], t["complete"]) for t in truth["threads"])
check("threads: the program twice, a thread, a child", comms, {("t", True): 4})

# Without symbols: functions are told by where .eh_frame says that they begin, and count the same.
begins = dict((name, int(address, 16)) for address, _, name in
              (line.split() for line in subprocess.run(["nm", "--defined-only", "t"], capture_output=True, text=True,
                                                       check=True).stdout.splitlines()))
subprocess.run(["strip", "-o", "s", "t"], check=True)
bare = record("bare", "-e", "instructions", "-c", "1000", "--", "./s")
check_sums(bare)
for name in "work", "deep", "in_handler":
    check(f"{name}, stripped",
          [f["counts"]["instructions"] for f in bare["functions"] if f.get("address") == begins[name] and
           f["dso"].endswith("/s") and f["symbol"] is None], [instructions(truth, name)])

# Lines: all of work's instructions are on its line.
line = next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if text.startswith("void work"))
lines = total(x for x in truth["lines"] if x["line"] == line and x["file"].endswith("t.c"))
check("line of work", lines["instructions"], instructions(truth, "work"))

# A process that was killed: what it counted is missing, and that is said.
killed = record("killed", "-e", "instructions", "-c", "1000", "--", "./t", "and kill")
check("killed", (killed["complete"], len(killed["incomplete"])), (False, 1))
check_sums(killed)
check("killed threads", [t["counts"] for t in killed["threads"] if not t["complete"]], [{}])

# Windows: as long as the period, and what group reads say.
truth = record("windows", "-e", "{instructions,cycles,L1-dcache-loads}:S", "-c", "1000", "--", "./t", "again")
check_sums(truth)
samples = [json.loads(x) for x in run("dump", "-i", "windows.data", "--type", "SAMPLE", "--json").stdout.splitlines()]
reads = [[v["value"] for v in s["read"]["values"]] for s in samples]
check("number of windows", len(truth["windows"]), len(samples) - 1)
for w, a, b in zip(truth["windows"], reads, reads[1:]):
    counts = [w["counts"].get(k, 0) for k in ("instructions", "cycles", "L1-dcache-loads")]
    check("window", counts, [y - x for x, y in zip(a, b)])
    check("length", counts[0], 1000)
    check("calls", (w["calls"], w["returns"]), (w["counts"].get("calls", 0), w["counts"].get("returns", 0)))
    if not 1 <= w["functions"] <= 1 + w["calls"] + w["returns"] + w["counts"]["branches"]:
        fail(f"functions of {w}")
if not any(w["start"]["symbol"] == w["end"]["symbol"] == "work" and w["functions"] == 1 for w in truth["windows"]):
    fail("no window lies in work alone")
check("event", {w["event"] for w in truth["windows"]}, {"instructions"})

# They go on over an exec, and over one that fails. Its threads end there, or begin.
followed = record("execs", "-e", "{instructions,cycles}:S", "-c", "1000", "--", "env", "FAILS=1", "./t")
samples = [json.loads(x) for x in run("dump", "-i", "execs.data", "--type", "SAMPLE", "--json").stdout.splitlines()]
reads = collections.defaultdict(list)
for s in samples:
    reads[s["pid"], s["tid"]].append([v["value"] for v in s["read"]["values"]])
windows = collections.defaultdict(list)
for w in followed["windows"]:
    windows[w["pid"], w["tid"]].append([w["counts"].get(k, 0) for k in ("instructions", "cycles")])
check("windows of threads that execute", windows,
      {thread: [[y - x for x, y in zip(a, b)] for a, b in zip(r, r[1:])] for thread, r in reads.items() if len(r) > 1})
executed = max(json.loads(x)["sample_id"]["time"]
               for x in run("dump", "-i", "execs.data", "--type", "COMM", "--json").stdout.splitlines())
across = next(w for w in followed["windows"] if w["tid"] == 1 and w["time"] > executed)
if "/ld-" not in across["end"]["dso"] or not across["start"]["symbol"] or across["functions"] < 3:
    fail(f"the window across the exec: {across}")
if not re.search("/t$|/libc", across["start"]["dso"]):
    fail(f"it begins elsewhere than in the first program's last function, or execl: {across}")

# What is sampled changes nothing that is counted; the same run twice is the same truth.
again = record("again", "-e", "cycles", "-c", "777", "--", "./t", "again")
check("other samples", again["totals"], truth["totals"])
check("again", record("again", "-e", "cycles", "-c", "777", "--", "./t", "again"), again)

# Names are bytes that others chose.
hostile = b'a"b\\\n\x01\xff<t'
shutil.copy("t", hostile)
p = subprocess.run([RETICLE, "record", "--pmu=sim", "-q", "-o", "h.data", "--truth", "h.json", "--",
                    b"./" + hostile, "again"],
                   capture_output=True)
check("hostile name", p.returncode, 0)
check("hostile dso",
      any(f["dso"].endswith('a"b\\\n\x01\ufffd<t')
          for f in json.loads(pathlib.Path("h.json").read_text())["functions"]), True)

# Usage, and files that cannot be written.
for args, status, want in (
    (("-e", "cpu-clock", "--truth", "x"), 2, "--truth needs --pmu=sim: only the virtual PMU knows exact counts"),
    (("--pmu=sim", "--truth", "x", "-o", "-"), 2, "--truth needs a recording in a file of its own"),
    (("--pmu=sim", "--truth", "x", "-o", "x"), 2, "--truth needs a recording in a file of its own"),
    (("--pmu=sim", "--truth", "x", "--switch-output"), 2, "--truth and --switch-output exclude each other"),
    (("--pmu=sim", "-q", "--truth", "missing/x"), 1, "missing/x: cannot write: No such file or directory"),
):
    p = run("record", *args, "--", "true")
    check(f"status of {args}", p.returncode, status)
    if want not in p.stderr:
        fail(f"{args}: {p.stderr}")

# Valgrind counts the same instructions; its own library adds some tens of thousands to the loader's.
if shutil.which("valgrind") and os.uname().machine == "x86_64":
    turns = pathlib.Path("turns").resolve()  # built here, without sanitizers
    subprocess.run(["cc", "-O2", "-g", "-o", turns, SRCDIR / "bench/workloads/turns.c"], check=True)
    p = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", turns, "20000"], env={},
                       capture_output=True, text=True)
    theirs = int(re.search(r"I\s+refs:\s+([\d,]+)", p.stderr)[1].replace(",", ""))
    p = subprocess.run([RETICLE, "record", "--pmu=sim", "-q", "-e", "instructions", "-o", "v.data", "--truth",
                        "v.json", "--", turns, "20000"],
                       env={k: v for k, v in os.environ.items() if k == "RETICLE_VPMU"}, capture_output=True)
    ours = json.loads(pathlib.Path("v.json").read_text())["totals"]["instructions"]
    if abs(ours - theirs) > theirs / 1000:
        fail(f"instructions: {ours}, valgrind {theirs}")
