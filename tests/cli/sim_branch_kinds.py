#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""What branch records of the virtual PMU tell beyond the branches. Counters of LBR are held against counts that are
read at every instruction; records of BRBE against those of LBR from the same run, and against what Linux's driver
makes of them. And what BRBE has not is refused, with a way out."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE, SRC = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
plugin = SRC / "build/vpmu/reticle-vpmu.so"  # one with sanitizers does not load into QEMU
if plugin.exists():
    os.environ["RETICLE_VPMU"] = str(plugin)
# Without a library, so that it is short enough to be looked at instruction by instruction.
PROGRAM = r"""
static volatile unsigned sink, table[64];
__attribute__((noinline)) static int odd(int n) { sink += n; return n & 1; }
__attribute__((noinline)) static int even(int n) { sink ^= n; return !(n & 1); }
static int (*volatile which[])(int) = { odd, even };
static void leave(void)
{
#ifdef __x86_64__
	__asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
#else
	register long nr __asm__("x8") = 94, status __asm__("x0") = 0;
	__asm__ volatile("svc 0" : : "r"(nr), "r"(status) : "memory");
#endif
}
static void ask(void)
{
#ifdef __x86_64__
	long nr = 39;
	__asm__ volatile("syscall" : "+a"(nr) : : "rcx", "r11", "memory");
#else
	register long nr __asm__("x8") = 172, result __asm__("x0");
	__asm__ volatile("svc 0" : "=r"(result) : "r"(nr) : "memory");
#endif
}
__attribute__((used)) void begin(void)
{
	for (int i = 0; i < 60; i++) {
		sink += which[i * 7 % 3 % 2](i) + odd(i * i);
		for (int k = 0; k < i % 7; k++)
			table[(i * k) % 64] += k;
		if (i % 20 == 7)
			ask();
	}
	leave();
}
#ifdef __x86_64__
__asm__(".globl _start\n_start: xor %ebp, %ebp\n call begin\n");
#else
__asm__(".globl _start\n_start: mov x29, #0\n bl begin\n");
#endif
"""
FLAGS = ["-O1", "-g", "-static", "-nostdlib", "-nostartfiles", "-ffreestanding", "-fno-pie", "-no-pie",
         "-fno-stack-protector", "-fno-asynchronous-unwind-tables"]
TYPE, PRIV, USER = 20, 30, 1


def fail(text):
    print(text)
    sys.exit(1)


def run(*args):
    return subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def samples(program, *args, pmu="sim"):
    p = run("record", "-q", f"--pmu={pmu}", "-o", "s.data", *args, "--", program)
    if p.returncode or p.stderr:
        fail(f"record {args} of {program}: {p.returncode}: {p.stderr}")
    p = run("dump", "--json", "--type", "SAMPLE", "-i", "s.data")
    if p.returncode:
        fail(f"dump: {p.stderr}")
    return [json.loads(line) for line in p.stdout.splitlines()]


def places(s):
    return [(b["from"], b["to"]) for b in s["branches"]]


def build(compiler, name):
    pathlib.Path(f"{name}.c").write_text(PROGRAM)
    subprocess.check_call([compiler, *FLAGS, f"{name}.c", "-o", name])


# --- counters ---


def counters(events, pmu="sim,branches=4"):
    """Counts that stand in each sample, instruction by instruction; what the newest entry's counters say against how
    they grew between the branch before it and itself."""
    found = samples("./x86", "-e", "{" + ",".join(events) + "}:S", "-c", 1, "-j", "any,u,counter", pmu=pmu)
    before = [0] * len(events)
    seen = set()
    for k, s in enumerate(found[1:], 1):
        newest = (places(s) or [(None, None)])[0]
        previous = found[k - 1]
        # The instruction before it was a branch that led here.
        if newest != (previous["ip"], s["ip"]):
            if s["branches"] != previous["branches"]:
                fail(f"sample {k} has other branches than the one before it")
            continue
        now = [v["value"] for v in previous["read"]["values"]]
        want = [min(a - b, 3) for a, b in zip(now, before)]
        word = s["branches"][0]["counters"]
        got = [word >> 2 * i & 3 for i in range(len(events))]
        if got != want or word >> 2 * len(events):
            fail(f"sample {k}, {events}: {got} instead of {want}")
        seen.add(tuple(got))
        before = now
        # What is older is as it was.
        if [b["counters"] for b in s["branches"][1:]] != [b["counters"] for b in previous["branches"][:3]][
                :len(s["branches"]) - 1]:
            fail(f"sample {k}: older counters have changed")
    return seen


need_sim()
if not shutil.which("cc"):
    print("no cc")
    sys.exit(77)
build("cc", "x86")
for events in (["instructions:u", "branches:u", "branch-misses:u", "L1-dcache-loads:u"],
               ["instructions:u", "cycles:u", "L1-dcache-stores:u"], ["instructions:u", "branches:u"]):
    for truth in ([], ["seed=2"]):
        found = counters(events, ",".join(["sim", "branches=4", *truth]))
        if len(found) < 2 or not any(set(c) - {3} for c in found):
            fail(f"counters of {events} hardly differ: {found}")
values = {v for c in counters(["instructions:u", "L1-dcache-loads:u", "branch-misses:u"]) for v in c}
if values != {0, 1, 2, 3}:
    fail(f"counters are never anything but {values}")

# One event, and a member that is counted for others only.
alone = samples("./x86", "-e", "branches:u", "-c", 50, "-j", "any,counter")
group = samples("./x86", "-e", "{branches/branch_type=any|counter/u,branch-misses/branch_type=counter/u}:S", "-c", 50)
for a, b in zip(alone, group):
    if [e["counters"] for e in a["branches"]] != [e["counters"] & 3 for e in b["branches"]] or not a["branches"]:
        fail("a second event changes the first one's counters")
if not any(e["counters"] >> 2 for s in group for e in s["branches"]):
    fail("no branch-miss was counted")
head = run("report", "-i", "s.data", "--header-only").stdout
if "# cpu pmu capabilities: branches=32, branch_counter_nr=4, branch_counter_width=2\n" not in head:
    fail(f"no capabilities: {head}")
for args, word in ((["-j", "stack,counter"], "between branches"), (["-j", "counter"], "name some as well"),
                   (["-j", "any,counter", "-e", "{cycles,branches,instructions,branch-misses,r10002}:S"], "4 events"),
                   (["-j", "any,counter", "--pmu=sim,records=brbe"], "records=lbr")):
    p = run("record", "--pmu=sim", "-o", "no.data", *args, "--", "./x86")
    if p.returncode != 2 or word not in p.stderr:
        fail(f"{args}: {p.returncode}: {p.stderr}")

# The same, as script shows it.
out = run("script", "-i", "s.data", "-F", "event,brcntr").stdout.splitlines()
names = [line for line in out if line.startswith("# ")]
if names[1:3] != ["# branches/branch_type=any|counter/u = A", "# branch-misses/branch_type=counter/u = B"]:
    fail(f"letters: {names}")
lines = [line.split("br_cntr:")[1].split() for line in out
         if "br_cntr:" in line and line.lstrip().startswith("branches")]
signs = {letter: ["-", letter, letter * 2, letter * 3 + "+"] for letter in "AB"}
if lines != [[f"{signs['A'][b['counters'] & 3]}|{signs['B'][b['counters'] >> 2]}" for b in s["branches"]]
             for s in group if s["branches"]]:
    fail(f"script -F brcntr: {lines[:3]}")

# --- BRBE ---

programs = [("./x86", "sim,records=lbr", "sim,records=brbe")]
if shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64"):
    build("aarch64-linux-gnu-gcc", "arm")
    programs.append(("./arm", "sim,records=lbr", "sim"))
for program, lbr, brbe in programs:
    for filters in "any", "any_call", "any_ret", "cond", "ind_call", "call,cond":
        theirs = samples(program, "-e", "instructions:u", "-c", 97, "-j", filters + ",u,save_type,priv",
                         pmu=lbr + ",branches=512")
        mine = samples(program, "-e", "instructions:u", "-c", 97, "-j", filters + ",u", pmu=brbe + ",branches=64")
        if len(mine) != len(theirs) or not any(s["branches"] for s in mine):
            fail(f"{program} {filters}: {len(mine)} samples instead of {len(theirs)}")
        shown, unknown = 0, 0
        for k, (a, b) in enumerate(zip(mine, theirs)):
            new = len(b["branches"]) - (len(theirs[k - 1]["branches"]) if k else 0)
            # Those since the sample before it: an interrupt empties the records.
            if len(b["branches"]) < 512 and (places(a) != places(b)[:min(new, 64)]):
                fail(f"{program} {filters}, sample {k}: {places(a)} instead of {new} of {places(b)}")
            for i, (x, y) in enumerate(zip(a["branches"], b["branches"])):
                cycles = y["flags"] >> 4 & 0xFFFF
                length = max(cycles.bit_length() - 9, 0)
                if i + 1 == len(a["branches"]) or not x["flags"] >> 4 & 0xFFFF:
                    unknown += cycles != 0  # the first, or the first after a system call
                    cycles = 0
                want = (y["flags"] & ~(0xFFFF << 4)) | (cycles >> length << length) << 4
                if x["flags"] != want or x["flags"] >> PRIV & 7 != USER or not x["flags"] >> TYPE & 15:
                    fail(f"{program} {filters}, sample {k}: {x} of {y}")
                shown += 1
        if not shown or not unknown:
            fail(f"{program} {filters}: {shown} entries, {unknown} of them without cycles")
    # Events that are due at one operation show the same; a later one what came since.
    both = samples(program, "-e", "branches:u", "-e", "r21:u", "-c", 40, "-j", "any", pmu=brbe)
    pairs = list(zip(both[::2], both[1::2]))
    if len(both) % 2 or not pairs or any(places(a) != places(b) or not places(a) for a, b in pairs):
        fail(f"{program}: two events at one operation differ")
    for depth, ok in ((8, True), (16, True), (64, True), (7, False), (65, False), (512, False)):
        p = run("record", "-q", f"--pmu={brbe},branches={depth}", "-b", "-o", "d.data", "--", program)
        if (p.returncode == 0) != ok or (not ok and "8, 16, 32 or 64" not in p.stderr):
            fail(f"branches={depth}: {p.returncode}: {p.stderr}")
    for args, words in ((["--call-graph", "lbr"], ("--call-graph fp", "unwind", "records=lbr")),
                        (["-j", "stack"], ("dwarf", "records=lbr")), (["-j", "any,hw_index"], ("hw_index", "lbr")),
                        (["-j", "any,counter"], ("counter", "records=lbr")), (["-j", "any,no_tx"], ("no_tx", )),
                        (["-j", "any,k"], ("user code", )), (["-j", "save_type"], ("name some as well", ))):
        p = run("record", f"--pmu={brbe}", "-o", "no.data", *args, "--", program)
        if p.returncode != 2 or any(w not in p.stderr for w in words):
            fail(f"{program} {args}: {p.returncode}: {p.stderr}")
    p = run("record", "-q", f"--pmu={brbe}", "-b", "-c", 500, "-e", "cycles:u", "-o", "b.data", "--", program)
    head = run("report", "-i", "b.data", "--header-only").stdout
    if "# armv8_pmuv3_0 pmu capabilities: branches=32\n" not in head:
        fail(f"{program}: {head}")
    out = run("script", "-i", "b.data", "-F", "brstack").stdout
    if not re.search(r"/[PM]/-/-/\d+/COND ", out) or not re.search(r"/0/(COND|CALL|RET|IND_CALL|UNCOND)", out):
        fail(f"{program}: no types: {out[:300]}")
    if shutil.which("perf"):
        theirs = subprocess.run(["perf", "script", "-i", "b.data", "-F", "ip,brstack"], capture_output=True,
                                text=True).stdout
        if theirs != run("script", "-i", "b.data", "-F", "ip,brstack").stdout or "COND" not in theirs:
            fail(f"{program}: script -F ip,brstack differs from perf's")
    p = run("record", "-q", "--pmu=sim,records=lbr", "--call-graph", "lbr", "-c", 100, "-o", "l.data", "--", program)
    if p.returncode or "begin" not in run("report", "-i", "l.data", "--stdio").stdout:
        fail(f"{program}: no call stacks of LBR: {p.stderr}")
if len(programs) == 1:
    print("aarch64 was not tried: no cross compiler or no qemu-aarch64")
