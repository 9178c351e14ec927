#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --call-graph unwind: the stacks that --call-graph dwarf has, in a recording like that of -g.

The program has no frame pointers, recursion, and a callback from the C library; and a text on its stack, which must
not be in the recording."""
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.environ["SRCDIR"] + "/tests/cli/lib")
import machine

RETICLE = os.environ["RETICLE"]
os.chdir(os.environ["TESTDIR"])
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

static volatile unsigned sink;

__attribute__((noinline)) static unsigned leaf(unsigned n)
{
	unsigned s = 0;

	for (unsigned i = 0; i < n; i++)
		s += (i * n) ^ (s >> 3);
	return s;
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	sink += leaf(200);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static unsigned sorted(void)
{
	int v[50];

	for (int i = 0; i < 50; i++)
		v[i] = i * 7919 % 50;
	qsort(v, 50, sizeof(*v), compare);
	return v[25];
}

__attribute__((noinline)) static unsigned deep(int n)
{
	char b[40] = "what only the program may know";
	unsigned r;

	b[n % 4] = n;
	r = n ? deep(n - 1) + b[3] : leaf(20000);
	sink += r;
	return r + b[n % 40];
}

static void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		sink += sorted();
		sink += deep(i % 30);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2) { /* forks, and becomes another program: itself */
		if (!fork())
			execl("/proc/self/exe", "p", argv[1], (char *)NULL);
		work(atoi(argv[1]));
		wait(NULL);
		return 0;
	}
	work(atoi(argv[1]));
	return 0;
}
"""
CALLERS = {"sorted": ["work", "main"], "deep": ["work", "main", "deep"], "leaf": ["compare", "deep"],
           "compare": ["msort_with_tmp.part.0", "msort_with_tmp", "qsort_r", "qsort"]}


def fail(text):
    print(text)
    sys.exit(1)


def run(*args, status=0):
    r = subprocess.run([RETICLE, *args], capture_output=True, text=True)
    if r.returncode != status:
        fail(f"{' '.join(args)}: status {r.returncode}\n{r.stderr}")
    return r.stdout if not status else r.stderr


def record(mode, data, *args, target=()):
    run("record", "-q", *target, "-e", "cpu-clock:u", "-F", "1999", "--call-graph", mode, "-o", data, "--", "./p",
        *args)


def stacks(data):
    """-> {stack from main on: its share}, in functions of the program"""
    found = collections.Counter()
    for line in run("export", "--to", "folded", "--no-inline", "-i", data).splitlines():
        frames, _, n = line.rpartition(" ")
        names = [f.split(".constprop")[0].split(".isra")[0] for f in frames.split(";")]
        if names[0] != "p" or names[-1] not in CALLERS:
            continue
        if "main" not in names:
            fail(f"not whole: {line}")
        names = names[names.index("main"):]
        for caller, callee in zip(names, names[1:]):
            if callee in CALLERS and caller not in CALLERS[callee]:
                fail(f"{data}: {caller} does not call {callee}: {line}")
        found[";".join(names)] += int(n)
    total = sum(found.values()) or fail(f"{data}: no stack")
    return {s: n / total for s, n in found.items()}


def samples(data):
    return json.loads(run("report", "--json", "-g", "none", "-i", data))["events"][0]["samples"]


def check_same_stacks():
    record("unwind", "chains.data", "10000")
    record("dwarf", "copies.data", "10000")
    chains, copies = stacks("chains.data"), stacks("copies.data")
    for one, other in (chains, copies), (copies, chains):
        for stack, share in one.items():
            if share > 0.05 and stack not in other:
                fail(f"only in one of two recordings, with {share:.1%}: {stack}")
    if not any("deep;" * 20 in s for s in chains):
        fail(f"no deep stack: {sorted(chains)}")


def check_recording():
    with open("chains.data", "rb") as f:
        if b"only the program may know" in f.read():
            fail("the recording has what was on the stack")
    with open("copies.data", "rb") as f:
        if b"only the program may know" not in f.read():
            fail("the text was not on the stack")
    attr = run("evlist", "-v", "-i", "chains.data")
    if "CALLCHAIN" not in attr or "STACK_USER" in attr or "REGS_USER" in attr or "exclude_callchain_user" in attr:
        fail(f"the event says: {attr}")
    per_sample = os.path.getsize("chains.data") / samples("chains.data")
    if per_sample > 1000:
        fail(f"{per_sample} bytes per sample")
    if shutil.which("perf"):
        r = subprocess.run(["perf", "script", "-i", "chains.data", "-F", "comm,ip,sym"], capture_output=True,
                           text=True)
        if r.returncode or r.stdout.count("main") < 0.9 * samples("chains.data") or " compare" not in r.stdout:
            fail(f"perf script: {r.stderr[:500]}\n{r.stdout[:500]}")


def stack_ends(data, *args):
    return json.loads(run("report", "--json", "-g", "none", "-i", data, *args))["tally"]["stacks"]


def check_ends():
    """The recording says what became of its stacks, and where they were cut; of frame pointers that is worked out."""
    record("unwind,256", "cut.data", "300")
    ends = stack_ends("cut.data")
    if not 0 < ends["too_little_copied"] <= ends["stacks"] - ends["whole"]:
        fail(f"a stack of 256 bytes: {ends}")
    if sum(c["stacks"] for c in ends["cut"]) != ends["stacks"] - ends["whole"]:
        fail(f"files with cut stacks: {ends}")
    cut = [c for c in ends["cut"] if c["why"] == "too_little_copied"]
    if os.path.realpath("p") not in [c["file"] for c in cut]:
        fail(f"not of the program: {cut}")
    if stack_ends("cut.data", "--comm", "nobody") != ends:
        fail("filters change what was recorded")
    head = run("report", "-v", "-i", "cut.data")
    if ("unwound while recording" not in head or
            "too little of the stack was copied: --call-graph unwind,512)" not in head):
        fail(head[:1000])
    if "/p  (too little of the stack was copied)" not in head:
        fail(head[:1000])
    if "stacks unwound while recording" not in run("report", "--header-only", "-i", "cut.data"):
        fail("not in the header")
    record("fp", "fp.data", "300")
    ends = stack_ends("fp.data")
    if ends["whole"] > 0.5 * ends["stacks"] or ends["no_frame_pointer"] < 0.5 * ends["stacks"]:
        fail(f"a program without frame pointers: {ends}")
    if "code without frame pointers: --call-graph unwind)" not in run("report", "-i", "fp.data"):
        fail(run("report", "-i", "fp.data")[:1000])


def check_unfinished():
    """A stream has nothing behind its samples, nor has the file of a recorder that was killed: each round tells."""
    with open("cut.pipe", "wb") as f:
        subprocess.run([RETICLE, "record", "-q", "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "unwind,256", "-o",
                        "-", "--", "./p", "300"], stdout=f, check=True)
    killed = subprocess.Popen([RETICLE, "record", "-q", "-e", "cpu-clock:u", "-F", "1999", "--call-graph",
                               "unwind,256", "-o", "killed.data", "--", "./p", "10000000"])
    for _ in range(600):
        if os.path.exists("killed.data") and os.path.getsize("killed.data") > 64 << 10:
            break
        time.sleep(0.1)
    children = subprocess.run(["pgrep", "-P", str(killed.pid)], capture_output=True, text=True).stdout.split()
    killed.kill()
    killed.wait()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    for data in "cut.pipe", "killed.data":
        r = subprocess.run([RETICLE, "report", "--json", "-g", "none", "-i", data], capture_output=True, text=True)
        told = json.loads(r.stdout)
        ends = told["tally"]["stacks"]
        if ("did not finish" in r.stderr) != (data == "killed.data"):
            fail(f"{data}: {r.stderr}")
        if not 0 < ends["too_little_copied"] <= ends["stacks"] - ends["whole"] or ends["no_frame_pointer"]:
            fail(f"{data}: {ends}")
        if not 0 < ends["stacks"] <= told["events"][0]["samples"]:
            fail(f"{data}: {ends['stacks']} stacks of {told['events'][0]['samples']} samples")
        if "unwound while recording" not in run("report", "-i", data):
            fail(run("report", "-i", data)[:1000])


def check_switched():
    """Each file of --switch-output tells of its own stacks only. The last one begins when it does, and may hold none.
    Where the stacks of all that runs take long, a file is switched late: the program runs until two are."""
    script = 'timeout 100 ./p 100000000 & until set -- switched.data.2* && [ -e "$2" ]; do sleep 0.1; done; kill $!'
    run("record", "-q", "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "unwind", "--switch-output=1s", "-o",
        "switched.data", "-a", "--", "timeout", "100", "sh", "-c", script)
    told = [json.loads(run("report", "--json", "-g", "none", "-i", f)) for f in os.listdir()
            if f.startswith("switched.data.")]
    sums = [(t["tally"].get("stacks", {"stacks": 0})["stacks"], t["events"][0]["samples"])
            for t in told if t["events"]]
    if len(told) < 3 or len(sums) < 2 or not all(0 < stacks <= samples for stacks, samples in sums):
        fail(f"files of --switch-output: {len(told)}, stacks and samples {sums}")


def check_processes():
    """A child that another program's mappings replace; as a task, and with all CPUs."""
    for target in (), ("-a",):
        record("unwind", "forks.data", "500", "fork", target=target)
        if len(stacks("forks.data")) < 5:
            fail(f"few stacks: {stacks('forks.data')}")


def check_windows():
    """Each thread would have a ring of its own, which is too small: not by default, and an error if asked for."""
    for args in (["--window=leader=cpu-clock", "--call-graph", "unwind"],
                 ["--window", "-e", "{cpu-clock/call-graph=unwind/,page-faults}:S"]):
        said = run("record", *args, "-o", "none.data", "--", "true", status=2)
        if "too small for copies of stacks" not in said:
            fail(said)


def check_terms():
    """The term of one event copies as much as the option, and its samples have times."""
    run("record", "-q", "--per-thread", "-e", "cpu-clock/call-graph=unwind/u", "-o", "term.data", "--", "./p", "100")
    times = [float(t.rstrip(":")) for t in run("script", "-F", "time", "-i", "term.data").split()]
    if not times or not all(times):
        fail(f"times: {times[:5]}")


def check_ways_out():
    """Compressed, and to a pipe; and what cannot be is refused."""
    record("unwind", "plain.data", "300")
    run("record", "-q", "-z", "-e", "cpu-clock:u", "--call-graph", "unwind,16384", "-o", "packed.data", "--", "./p",
        "300")
    stacks("packed.data")
    with open("piped.data", "wb") as f:
        subprocess.run([RETICLE, "record", "-q", "-e", "cpu-clock:u", "--call-graph", "unwind", "-o", "-", "--", "./p",
                        "300"], stdout=f, check=True)
    stacks("piped.data")
    said = subprocess.run([RETICLE, "record", "-e", "cpu-clock:u", "--call-graph", "unwind,256", "-o",
                           "small.data", "--", "./p", "300"], capture_output=True, text=True).stderr
    if "too little of the stack was copied: --call-graph unwind,512)" not in said:
        fail(said)
    for why, *args in (["too late", "--overwrite"], ["not kept", "--user-regs"],
                       ["nothing to unwind", "--kernel-callchains"]):
        said = run("record", *args, "--call-graph", "unwind", "-o", "none.data", "--", "true", status=1)
        if why not in said:
            fail(f"{args}: {said}")
    said = run("record", "--call-graph", "unwind,1M", "-o", "none.data", "--", "true", status=2)
    if "--call-graph unwind: the stack size is 8 to 65528 bytes" not in said:
        fail(said)


with open("p.c", "w") as f:
    f.write(PROGRAM)
subprocess.run(["cc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "p.c", "-o", "p"],
               check=True)
machine.need_recording()
check_same_stacks()
check_recording()
check_ends()
check_unfinished()
check_switched()
check_processes()
check_windows()
check_terms()
check_ways_out()
