#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""Call stacks of branch records, stitched: held against the stacks of a model of the hardware, whose programs are
known.

The model has as many registers as it is told. A call takes the next one, a return gives the last one back; of deeper
stacks the oldest calls are overwritten, and are not there when the newer ones have returned. No frame that is shown
may be wrong: what is shown is the beginning of the true stack, from the leaf on."""
import atexit
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

RETICLE = os.environ["RETICLE"]
IP, TID, TIME, CALLCHAIN, BRANCH_STACK, IDENTIFIER = 1, 2, 4, 32, 1 << 11, 1 << 16
USER, CALL_STACK, HW_INDEX = 1, 1 << 11, 1 << 17
CONTEXT_USER = 2**64 - 512
PID, BASE, SIZE, FUNCTIONS = os.getpid(), 0x7E0000000000, 0x1000, 1200
MAP = pathlib.Path(f"/tmp/perf-{PID}.map")


# Counts threads, and says so when a process is forked beside them.
WATCH = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static _Atomic int threads;

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		dlsym(RTLD_NEXT, "pthread_create");
	int err = real(t, attr, fn, arg);

	threads += !err;
	return err;
}

int pthread_join(pthread_t t, void **result)
{
	int (*real)(pthread_t, void **) = dlsym(RTLD_NEXT, "pthread_join");

	threads--;
	return real(t, result);
}

static void note(void)
{
	close(open(threads ? "beside" : "forked", O_WRONLY | O_CREAT, 0600));
}

__attribute__((constructor)) static void start(void)
{
	pthread_atfork(note, NULL, NULL);
}
'''


def symbols(name="f{}".format):
    """Names come from a perf map, as those of run-time compilers do."""
    atexit.register(lambda: MAP.unlink(missing_ok=True))
    MAP.write_text("".join(f"{BASE + i * SIZE:x} {SIZE:x} {name(i)}\n" for i in range(FUNCTIONS)) +
                   f"{BASE + FUNCTIONS * SIZE:x} {SIZE:x} f7@plt\n")


def callees(function):
    """Chains of 40 functions; each function of the first begins another chain."""
    found = [function + 1] if (function + 1) % 40 else []
    return found + ([40 * function] if 1 <= function < 30 else [])


def entry(function):
    return BASE + function * SIZE


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


class Thread:
    """A thread with its own registers, as the kernel saves them with it."""

    def __init__(self, tid, depth):
        self.tid, self.depth = tid, depth
        self.stack = []  # (call site, function called, entry that was called, the call's number)
        self.calls, self.seen = 0, set()  # numbers of calls that were in the registers of some sample
        self.registers, self.top, self.valid = [None] * depth, depth - 1, 0

    def function(self):
        return self.stack[-1][1] if self.stack else 0

    def call(self, function, by_way_of=None):
        site = entry(self.function()) + 16 + 8 * (function % 400)
        target = entry(function) if by_way_of is None else by_way_of
        self.calls += 1
        self.stack.append((site, function, target, self.calls))
        self.top = (self.top + 1) % self.depth
        self.registers[self.top] = site, target, self.calls
        self.valid = min(self.valid + 1, self.depth)

    def jump(self, function):
        """A tail call: the CPU's registers do not see it."""
        site, _, target, number = self.stack[-1]
        self.stack[-1] = site, function, target, number

    def ret(self):
        self.stack.pop()
        self.valid = max(self.valid - 1, 0)
        self.top = (self.top - 1) % self.depth

    def longjmp(self, to):
        """To the function at that depth: nothing returns."""
        del self.stack[to:]

    def entries(self):
        return [self.registers[(self.top - i) % self.depth] for i in range(self.valid)]

    def can_be_known(self):
        """How many frames a perfect stitcher shows: those above the first call that no sample has seen."""
        self.seen.update(number for _, _, number in self.entries())
        unknown = [i for i, call in enumerate(reversed(self.stack)) if call[3] not in self.seen]
        return 1 + (unknown[0] if unknown else len(self.stack))


class Recording:
    def __init__(self, name, depth, index=True, mapped_after=0):
        self.name, self.depth, self.index, self.n, self.want = name, depth, index, 0, []
        self.mapped_after = mapped_after  # samples
        branches = USER | CALL_STACK | (HW_INDEX if index else 0)
        attr = struct.pack("<IIQQQQQIIQQQ", 0, 112, 0, 1000, IP | TID | TIME | CALLCHAIN | BRANCH_STACK | IDENTIFIER,
                           0, 1 << 18, 0, 0, 0, 0, branches)
        caps = struct.pack("<QI", 28, 1)
        caps += b"".join(struct.pack("<I", 64) + s.ljust(64, b"\0") for s in (b"branches", str(depth).encode()))
        self.data = [b"PERFILE2" + struct.pack("<Q", 16), record(64, attr.ljust(112, b"\0") + struct.pack("<Q", 7), 0),
                     record(80, caps, 0)]

    def mapping(self):
        self.data.append(record(1, struct.pack("<IIQQQ", PID, PID, BASE, SIZE * (FUNCTIONS + 1), 0) + b"//anon\0" +
                                b"\0" + struct.pack("<IIQQ", PID, PID, 1 + self.n * 10 + (1000 if self.n else 0), 7)))

    def sample(self, t):
        if self.n == self.mapped_after:
            self.mapping()
        self.n += 1
        ip = entry(t.function()) + 0x800 + self.n % 64
        found = t.entries()
        body = struct.pack("<QQIIQ", 7, ip, PID, t.tid, 1000 + self.n * 10) + struct.pack("<QQQ", 2, CONTEXT_USER, ip)
        body += struct.pack("<Q", len(found)) + (struct.pack("<Q", t.top) if self.index else b"")
        body += b"".join(struct.pack("<QQQ", a, b, 0) for a, b, _ in found)
        self.data.append(record(9, body))
        # Innermost first: the function, and the call site in each caller.
        self.want.append((t.tid, [ip] + [call[0] for call in reversed(t.stack)], len(found), t.can_be_known()))

    def write(self):
        pathlib.Path(self.name).write_bytes(b"".join(self.data))

    def check(self, least):
        """Nothing wrong; in all, at least this part of what a perfect stitcher shows (up to 127 frames of a stack)."""
        self.write()
        out = run("script", "--json", "-i", self.name)
        shown = true = own = most = 0
        lines = out.splitlines()
        if len(lines) != len(self.want):
            sys.exit(f"{self.name}: {len(lines)} samples instead of {len(self.want)}")
        for line, (tid, want, found, known) in zip(lines, self.want):
            got = json.loads(line)
            frames = [int(f["addr"], 16) for f in got["callchain"]]
            marked = [f.get("stitched", False) for f in got["callchain"]]
            if got["tid"] != tid or frames != want[:len(frames)]:
                sys.exit(f"{self.name}: wrong frames in\n{line}\ninstead of\n{[hex(x) for x in want]}")
            if marked != sorted(marked) or sum(marked) != max(0, len(frames) - 1 - found):
                sys.exit(f"{self.name}: marks of stitched frames in\n{line}\nof which {found} are the sample's")
            shown, true, own = shown + len(frames), true + min(len(want), 127), own + 1 + found
            most += min(known, 127)
        print(f"{self.name}: {shown} of {true} frames, a perfect stitcher {most}; without stitching {own}")
        if shown < least * most:
            sys.exit(f"{self.name}: {shown} of {most} frames are less than {100 * least} %")
        return shown


def run(*args):
    p = subprocess.run([RETICLE, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode:
        sys.exit(f"{args}: {p.stderr}")
    return p.stdout


def chain(depth, index):
    """43 functions deep, as tchain_edit of the kernel's series: most time is spent in the 43rd, some on the way."""
    r, t = Recording(f"chain-{depth}-{index}.data", depth, index), Thread(PID, depth)
    for f in range(1, 32):
        t.call(f)
        if f in (5, 11, 17, 23, 28):
            r.sample(t)  # f31 works for long in the original; a few samples on the way are as good
    r.sample(t)
    for _ in range(20):
        for f in range(32, 43):
            t.call(f)
            if f % 3 == 0:
                r.sample(t)
        for _ in range(30):
            t.call(43)
            r.sample(t)
            t.ret()
        for f in range(32, 43):
            t.ret()
    return r


def tree(depth, index, threads, turns=6000, tids_apart=1, mapped_after=0):
    """Functions that have one caller each, up to 69 deep. Threads in turns."""
    rng = random.Random(depth + index)
    r = Recording(f"tree-{depth}-{index}-{threads}-{tids_apart}-{mapped_after}.data", depth, index, mapped_after)
    all_threads = [Thread(PID + i * tids_apart, depth) for i in range(threads)]
    for _ in range(turns):
        t = rng.choice(all_threads)
        for _ in range(rng.randrange(1, 4)):
            called = callees(t.function())
            if called and rng.random() < 0.56:
                t.call(rng.choice(called))
            elif t.stack:
                t.ret()
        if rng.random() < 0.6:
            r.sample(t)
    return r


def recursion(depth):
    """No call can be told from the one above it: nothing is added that may be wrong."""
    r, t, rng = Recording(f"recursion-{depth}.data", depth), Thread(PID, depth), random.Random(3)
    t.call(1)
    for _ in range(3000):
        for _ in range(rng.randrange(40)):
            if rng.random() < 0.52 and len(t.stack) < 1000:
                t.call(2)
            elif len(t.stack) > 1:
                t.ret()
        r.sample(t)
    return r


def jumps(depth):
    """longjmp and exceptions leave entries of functions that are no longer there."""
    r, t, rng = Recording(f"jumps-{depth}.data", depth), Thread(PID, depth), random.Random(5)
    t.call(1)
    for _ in range(4000):
        called = callees(t.function())
        if called and rng.random() < 0.6:
            t.call(rng.choice(called))
        elif len(t.stack) > 3 and rng.random() < 0.2:
            t.longjmp(rng.randrange(1, len(t.stack)))
        elif len(t.stack) > 1:
            t.ret()
        if rng.random() < 0.7:
            r.sample(t)
    return r


def jumping_calls(depth):
    """Calls by way of the PLT, and tail calls, contradict nothing."""
    r, t = Recording(f"jumping-{depth}.data", depth), Thread(PID, depth)
    for f in range(1, 7):
        t.call(f)
        r.sample(t)
    t.call(7, by_way_of=BASE + FUNCTIONS * SIZE)
    for f in range(8, 20):
        t.call(f)
        r.sample(t)
    t.call(20)
    t.jump(21)
    for f in range(22, 30):
        t.call(f)
        r.sample(t)
    return r


def ways(depth, index):
    """Two functions call the third. Which of them did shows until deeper calls have come and gone."""
    r, t, rng = Recording(f"ways-{depth}-{index}.data", depth, index), Thread(PID, depth), random.Random(7)
    for _ in range(300):
        for f in (rng.choice((1, 2)), 3, 4, 5):
            t.call(f)
        if rng.random() < 0.3:
            r.sample(t)
        if rng.random() < 0.7:
            for f in range(6, 9 + depth):
                t.call(f)
            while len(t.stack) > 3:
                t.ret()
            if rng.random() < 0.5:
                t.call(5)
        if rng.random() < 0.8:
            r.sample(t)
        while t.stack:
            t.ret()
    return r


symbols()
for registers in 32, 16, 8:
    for with_index in True, False:
        r = chain(registers, with_index)
        r.check(0.99)
        if registers == 32 and with_index:
            deep = [line for line in run("script", "--json", "-i", r.name).splitlines() if '"f43"' in line]
            if any(len(json.loads(line)["callchain"]) != 44 for line in deep):
                sys.exit("not all of the 43 callers")
            plain = run("script", "--json", "--no-stitch-lbr", "-i", r.name).splitlines()
            if max(len(json.loads(line)["callchain"]) for line in plain) != 33:
                sys.exit("--no-stitch-lbr stitches")
            text = run("script", "-i", r.name)
            lines = run("script", "--json", "-i", r.name).splitlines()
            if len(re.findall(r" \(stitched\)$", text, re.M)) != sum(line.count('"stitched":true') for line in lines):
                sys.exit("marks in text are others than in JSON")
        # Eight registers are overwritten between two samples now and then; what was older is lost until it is seen
        # again.
        least = 0.95 if with_index or registers > 8 else 0.8
        tree(registers, with_index, 1).check(least)
        tree(registers, with_index, 8).check(least)
        ways(registers, with_index).check(0.99)
    recursion(registers).check(0)
    jumps(registers).check(0.3)
    jumping_calls(registers).check(0.99)



def report(r):
    """The report has the same stacks, whatever the number of workers, and says what was done."""
    r.write()
    tables = [run("report", "-i", r.name, "--threads", workers, "--no-children", "-g", "caller,0.5,callee",
                  "--percent-limit", "0") for workers in ("1", "2", "3", "4", "4")]
    if len(set(tables)) != 1:
        sys.exit(f"{r.name}: the number of workers changes the report")
    if not re.search(r"^# Branch records: \d+ call stacks, [1-9]\d* of them", tables[0], re.M):
        sys.exit("the head does not tell: " + tables[0][:800])


# What a call teaches differs before and after its code is mapped.
report(tree(8, True, 4, 32000, mapped_after=3000))
# Threads with ids so far apart replaced each other in a table of the worker's, if one worker had several of them.
report(tree(8, True, 4, 27000, tids_apart=1024))
r = tree(16, True, 8)
report(r)
folded = run("export", "--to", "folded", "-i", r.name)
if max(line.count(";") for line in folded.splitlines()) < 5:
    sys.exit("export has no stacks")

# C++ names are read by a process apart, which is forked before there are threads that ask for them.
if shutil.which("cc") and not re.search(b"__[at]san_init", pathlib.Path(RETICLE).read_bytes()):
    pathlib.Path("watch.c").write_text(WATCH)
    pathlib.Path("no-kernel").touch()
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-o", "watch.so", "watch.c", "-ldl"], check=True)
    symbols(lambda i: f"_ZN3cpp{len(str(i)) + 1}f{i}Ev")
    r = tree(8, True, 4, 16000)
    r.write()
    os.environ["LD_PRELOAD"] = os.path.abspath("watch.so")
    for command in "report", "script":
        # Symbols of the kernel would be read ahead by one more thread.
        if "cpp::f5" not in run(command, "-i", r.name, "--threads", "4", "--kallsyms", "no-kernel"):
            sys.exit(f"{command}: no readable names")
        if not pathlib.Path("forked").exists() or pathlib.Path("beside").exists():
            sys.exit(f"{command}: the process apart was forked beside threads")
        pathlib.Path("forked").unlink()
