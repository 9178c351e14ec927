#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export --to bolt: the branches of one binary, PIE or not, of all its processes, counted from the samples as dump
prints them; and what perf2bolt makes of them is what it makes of the recording itself, and what export --to fdata
writes."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE, SRC = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
PERF2BOLT = (shutil.which("perf2bolt") or
             next(map(str, sorted(pathlib.Path("/usr/lib").glob("llvm-*/bin/perf2bolt"))), None))
PROGRAM = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
volatile unsigned sink;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned s = 0;
	for (unsigned i = 0; i < n; i++) {
		if (i % 7 == 3) s ^= i * n; else if (i % 5 == 1) s += i; else s -= n >> 2;
		switch (s % 6) {
		case 0: s++; break; case 1: s *= 3; break; case 2: s ^= 0x55; break;
		case 3: s -= 7; break; case 4: s += n; break; default: s <<= 1;
		}
	}
	return s;
}
int main(void)
{
	int v[400];
	for (int k = 0; k < 12; k++) {
		for (int i = 0; i < 400; i++) v[i] = (i * 7919 + k) % 1000;
		qsort(v, 400, sizeof(int), compare);
		sink += work(3000 + k) + v[3];
	}
	if (!fork()) { sink += work(9000); _exit(0); }
	wait(0);
	return 0;
}
"""
# A function in the file's data, which become code while it runs.
MADE = r"""
#include <sys/mman.h>
extern char made[];
__asm__(".data\n.balign 4096\n.globl made\n.type made,@function\n"
	"made: mov $20000,%ecx\n1: test $3,%cl\nje 2f\nnop\n2: dec %ecx\njnz 1b\nret\n"
	".size made,.-made\n.balign 4096\n.text");
int main(void)
{
	mprotect(made, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (int i = 0; i < 20; i++) ((void (*)(void))made)();
	return 0;
}
"""


def fail(text):
    print(text)
    sys.exit(1)


def run(*args, status=0):
    p = subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode != status:
        fail(f"{args}: {p.returncode}: {p.stderr}")
    return p


def lines(data, kind):
    return [json.loads(line) for line in run("dump", "--json", "--type", kind, "-i", data).stdout.splitlines()]


def counted(data, binary):
    """Branches and passages in the binary, by its own addresses: file offset and address are the same here, or a base
    apart."""
    segment = next(line.split() for line in subprocess.check_output(["readelf", "-lW", binary], text=True).splitlines()
                   if line.split()[:1] == ["LOAD"] and " R E " in line)
    linked = int(segment[2], 16) - int(segment[1], 16)
    symbols = [line.split() for line in subprocess.check_output(["nm", "-S", binary], text=True).splitlines()]
    functions = [(int(s[0], 16), int(s[1], 16), s[3]) for s in symbols if len(s) == 4 and s[2] in "tT"]
    maps = [m for m in lines(data, "MMAP2") if os.path.basename(m["filename"]) == binary]

    def place(address):
        for m in maps:
            if m["start"] <= address < m["start"] + m["len"]:
                return address - m["start"] + m["pgoff"] + linked
        return 0

    def function(address):
        return next((name for start, size, name in functions if start <= address < start + size), None)

    branches, passages = collections.Counter(), collections.Counter()
    for s in lines(data, "SAMPLE"):
        newer = None
        for b in s["branches"]:
            a, z = place(b["from"]), place(b["to"])
            if a or z:
                branches[a, z, b["flags"] & 1] += 1
            if newer and z and function(z) and function(z) == function(newer):
                passages["F" if a and function(a) == function(z) else "f", z, newer] += 1
            newer = a
    return branches, passages


def sum_flags(branches):
    """(from, to): (taken, mispredicted)"""
    sums = collections.defaultdict(lambda: (0, 0))
    for (a, z, missed), n in branches.items():
        taken, bad = sums[a, z]
        sums[a, z] = taken + n, bad + n * missed
    return sums


def exported(text):
    branches, passages = collections.Counter(), collections.Counter()
    for kind, a, z, *numbers in map(str.split, text.splitlines()):
        a, z, numbers = int(a, 16), int(z, 16), list(map(int, numbers))
        if kind == "B":
            branches[a, z, 1] += numbers[1]
            branches[a, z, 0] += numbers[0] - numbers[1]
        else:
            passages[kind, a, z] += numbers[0]
    return +branches, +passages


need_sim()
if not shutil.which("cc") or os.uname().machine != "x86_64":
    print("no cc, or not on x86_64")
    sys.exit(77)
pathlib.Path("program.c").write_text(PROGRAM)
for name, flags in ("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie"]):
    subprocess.check_call(["cc", "-O2", "-g", *flags, "-Wl,-q", "program.c", "-o", name])
    run("record", "-q", "--pmu=sim", "-b", "-e", "cycles:u", "-c", 1009, "-o", f"{name}.data", "--", f"./{name}")
    p = run("export", "--to", "bolt", "-i", f"{name}.data", "--binary", name)
    if f"/{name}: " not in p.stderr:
        fail(f"does not say what it wrote: {p.stderr}")
    (branches, passages), (b, f) = counted(f"{name}.data", name), exported(p.stdout)
    if b != branches or sum(branches.values()) < 10000:
        fail(f"{name}: branches: {sorted((b - branches).items())[:5]} for {sorted((branches - b).items())[:5]}")
    # The files' own symbols say less of PLT entries than ours.
    if any(f[key] != n for key, n in passages.items()) or sum(f.values()) > 1.05 * sum(passages.values()):
        fail(f"{name}: passages: {sorted((f - passages).items())[:5]} for {sorted((passages - f).items())[:5]}")
    by_default = run("export", "-i", f"{name}.data", "-o", f"{name}.preagg").stderr
    if f"/{name}: " not in by_default or pathlib.Path(f"{name}.preagg").read_text() != p.stdout:
        fail(f"not the program by default: {by_default}")
    build_id = next(line.split()[0] for line in run("buildid-list", "-i", f"{name}.data").stdout.splitlines()
                    if line.endswith("/" + name))
    link = pathlib.Path("link")
    link.unlink(missing_ok=True)
    link.symlink_to(name)
    for by in build_id[:12], f"./{name}", "./link":
        if run("export", "--to", "bolt", "-i", f"{name}.data", "--binary", by).stdout != p.stdout:
            fail(f"other branches by {by}")
    if PERF2BOLT and shutil.which("perf"):
        for options in (["-p", f"{name}.data", "-o", "theirs.fdata"],
                        ["-pa", "-p", f"{name}.preagg", "-o", "ours.fdata"]):
            done = subprocess.run([PERF2BOLT, *options, name], capture_output=True, text=True)
            if done.returncode:
                fail(f"perf2bolt {options}: {done.stdout} {done.stderr}")
        theirs, ours = (sorted(pathlib.Path(f"{who}.fdata").read_text().splitlines()) for who in ("theirs", "ours"))
        if theirs != ours or len(ours) < 40:
            fail(f"{name}: perf2bolt has {sorted(set(theirs) ^ set(ours))[:10]} otherwise")
        print(f"{name}: perf2bolt makes the same {len(ours)} lines of it")
        fdata = sorted(run("export", "--to", "fdata", "-i", f"{name}.data", "--binary", name).stdout.splitlines())
        if fdata != theirs:
            fail(f"{name}: --to fdata has otherwise {sorted(set(theirs) ^ set(fdata))[:10]}")
        bolt = pathlib.Path(PERF2BOLT).with_name("llvm-bolt")
        for who in ("theirs", "ours") if bolt.exists() else ():
            pathlib.Path("profile").write_text("".join(line + "\n" for line in (theirs if who == "theirs" else fdata)))
            done = subprocess.run([bolt, name, "-o", "faster", "-data", "profile", "-reorder-blocks=ext-tsp",
                                   "-split-functions", "-split-all-cold"], capture_output=True, text=True)
            if done.returncode:
                fail(f"llvm-bolt: {done.stdout} {done.stderr}")
            pathlib.Path("faster").rename(f"{name}.{who}")
        if bolt.exists() and pathlib.Path(f"{name}.ours").read_bytes() != pathlib.Path(f"{name}.theirs").read_bytes():
            fail(f"{name}: llvm-bolt makes another program of --to fdata")
    # Each branch with an end in a function is there, as often as it was taken; code that ran through adds lines.
    run("export", "-i", f"{name}.data", "--binary", name, "-o", f"{name}.fdata")
    ends = [line.split() for line in pathlib.Path(f"{name}.fdata").read_text().splitlines()]
    known = {(s[0], s[1]): s[2] for s in map(str.split, subprocess.check_output(["nm", name], text=True).splitlines())
             if len(s) == 3}
    starts = {n: int(a, 16) for (a, kind), n in known.items() if kind in "Tt"}
    work = {(starts["work"] + int(e[2], 16), starts["work"] + int(e[5], 16)): (int(e[7]), int(e[6])) for e in ends
            if e[1] == "work" and e[4] == "work"}
    wrong = [(hex(a), hex(z), n) for (a, z), n in sum_flags(branches).items() if starts["work"] < min(a, z) and
             max(a, z) < starts["work"] + 0x40 and work.get((a, z)) != n]
    if wrong or len(work) < 10:
        fail(f"{name}: branches of work() in fdata: {wrong[:5]}, of {len(work)}")

# Where the file has no code there are no addresses: no lines of them.
pathlib.Path("made.c").write_text(MADE)
subprocess.check_call(["cc", "-O2", "made.c", "-o", "made"])
run("record", "-q", "--pmu=sim", "-b", "-e", "cycles:u", "-c", 1009, "-o", "made.data", "--", "./made")
if not re.search(r"%.* made +made +\[\.\] made ", run("report", "-q", "--stdio", "-i", "made.data").stdout):
    fail("nothing ran in data")
written = [line.split() for line in run("export", "--to", "bolt", "-i", "made.data", "--binary",
                                        "made").stdout.splitlines()]
nowhere = [line for line in written if (line[1] == line[2] == "0" if line[0] == "B" else "0" in line[1:3])]
if nowhere or len(written) < 20:
    fail(f"{len(written)} lines, and of what is nowhere: {nowhere[:5]}")

# A file that was recorded under a path is meant by it, wherever that leads today.
run("record", "-q", "--pmu=sim", "-b", "-e", "cycles:u", "-c", 1009, "-o", "two.data", "--", "sh", "-c",
    "./made; ./pie; ./pie")
pathlib.Path("made").rename("kept")
pathlib.Path("made").symlink_to("pie")
p = run("export", "--to", "bolt", "-i", "two.data", "--binary", pathlib.Path("made").absolute(), status=1)
if "/made is missing, or is not the recorded file any more" not in p.stderr:
    fail(f"a file that has become a link: {p.stderr}")

# Names that would make lines of their own are left out, and counted.
subprocess.check_call(["objcopy", "--redefine-sym", "work=wo\n1 main 0 1 main 0 0 99999\nrk", "pie", "odd"])
run("record", "-q", "--pmu=sim", "-b", "-e", "cycles:u", "-c", 1009, "-o", "odd.data", "--", "./odd")
p = run("export", "--to", "fdata", "-i", "odd.data", "--binary", "odd")
strange = [line for line in p.stdout.splitlines()
           if not re.fullmatch(r"([01] \S+ [0-9a-f]+ ){2}\d+ \d+", line) or "99999" in line]
if (strange or "rk " in p.stdout or " main " not in p.stdout or
        "do not fit into the lines of a profile: 1\n" not in p.stderr):
    fail(f"a name of three lines: {strange[:3]} {p.stderr}")

# What cannot be had.
if "no branches in 'nothing'" not in run("export", "--to", "bolt", "-i", "pie.data", "--binary", "nothing",
                                         status=1).stderr:
    fail("a binary that is not there")
run("record", "-q", "--pmu=sim", "-j", "any_call", "-e", "cycles:u", "-c", 5003, "-o", "calls.data", "--", "./pie")
if "record with -b" not in run("export", "--to", "bolt", "-i", "calls.data", status=1).stderr:
    fail("calls alone are no profile")
if not PERF2BOLT or not shutil.which("perf"):
    print(
        "not compared with what perf2bolt makes of the recording: there is no perf2bolt (Debian: bolt-16), or no perf")
    sys.exit(77)
