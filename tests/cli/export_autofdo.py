#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export --to autofdo: calls are those of the samples as dump prints them, of all processes; and the profile is what
llvm-profgen makes of the same recording (which looks only at processes that have mapped the binary, not at their
forks)."""
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
OLDEST = 16  # older ones count otherwise
PROGRAM = r"""
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
#include <sys/wait.h>
#include <unistd.h>
struct Base { virtual ~Base() {} virtual int f(int x) = 0; };
struct A : Base { int f(int x) override { return x * 3 + 1; } };
struct B : Base { int f(int x) override { if (x & 4) throw x; return x / 2; } };
template <typename T> T sum(const std::vector<T> &v) { T s = 0; for (auto x : v) s += x & 1 ? x : -x; return s; }
static inline int steps(int n)
{ int k = 0; while (n != 1 && k < 100) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }
__attribute__((cold, noinline)) static void rare(int x) { if (x > 1000000) std::puts("rare"); }
__attribute__((noinline)) int work(int n)
{
	std::vector<int> v;
	std::map<int, std::string> m;
	A a;
	B b;
	Base *o[2] = {&a, &b};
	int s = 0;
	for (int i = 0; i < n; i++) {
		v.push_back((i * 7919) % 1001);
		try { s += o[i & 1]->f(i); } catch (int e) { s -= e; }
		s += steps(i + 1);
		if (i % 16 == 0) m[i % 50] += "x";
		if (s < -100000000) rare(s);
	}
	std::sort(v.begin(), v.end(), [](int x, int y) { return (x ^ 5) < (y ^ 5); });
	for (int k = 0; k < 64; k++) v[k % v.size()] += k;
	return s + sum(v) + m.size();
}
int main()
{
	int s = 0;
	if (!fork()) { s += work(1000); _exit(0); }
	for (int i = 0; i < 4; i++) s += work(500 + i);
	wait(0);
	std::printf("%d\n", s);
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


def find_profgen():
    found = [shutil.which(f"llvm-profgen-{v}") for v in range(OLDEST, 40)]
    found += map(str, pathlib.Path("/usr/lib").glob("llvm-*/bin/llvm-profgen"))
    for tool in filter(None, found):
        m = re.search(r"LLVM version (\d+)",
                      subprocess.run([tool, "--version"], capture_output=True, text=True).stdout)
        if m and int(m[1]) >= OLDEST:
            return tool
    return None


def calls(data, binary):
    """How often each function was entered by a branch, by its linker's name."""
    segment = next(line.split() for line in subprocess.check_output(["readelf", "-lW", binary], text=True).splitlines()
                   if line.split()[:1] == ["LOAD"] and " R E " in line)
    linked = int(segment[2], 16) - int(segment[1], 16)
    entries = {int(s[0], 16): s[3].split(".")[0]
               for s in map(str.split, subprocess.check_output(["nm", "-S", binary], text=True).splitlines())
               if len(s) == 4 and s[2] in "tTW" and not s[3].endswith(".cold")}
    maps = [m for m in lines(data, "MMAP2") if os.path.basename(m["filename"]) == binary]
    counts = collections.Counter()
    for s in lines(data, "SAMPLE"):
        for b in s["branches"]:
            for m in maps:
                if m["start"] <= b["to"] < m["start"] + m["len"]:
                    counts[entries.get(b["to"] - m["start"] + m["pgoff"] + linked)] += 1
    return counts


def heads(profile):
    return {m[1]: int(m[2]) for m in re.finditer(r"^([^ :]+):\d+:(\d+)$", profile, re.M)}


need_sim()
compilers = [c for c in ("clang++", "g++") if shutil.which(c)]
if not compilers or os.uname().machine != "x86_64":
    print("no C++ compiler, or not on x86_64")
    sys.exit(77)
profgen = find_profgen() if shutil.which("perf") else None
pathlib.Path("program.cc").write_text(PROGRAM)
for compiler in compilers:
    for name, flags in (f"pie-{compiler}", ["-pie", "-fPIE"]), (f"fixed-{compiler}", ["-no-pie", "-gdwarf-4"]):
        more = ["-fdebug-info-for-profiling"] if compiler == "clang++" else []
        subprocess.check_call([compiler, "-O2", "-g", *more, *flags, "program.cc", "-o", name])
        run("record", "-q", "--pmu=sim,models=none", "-b", "-e", "instructions:u", "-c", 1009, "-o", f"{name}.data",
            "--", f"./{name}")
        ours = run("export", "--to", "autofdo", "-i", f"{name}.data", "--binary", name)
        entered, said = calls(f"{name}.data", name), heads(ours.stdout)
        wrong = [(f, n, entered[f]) for f, n in said.items() if n != entered[f]]
        if f"/{name}: " not in ours.stderr or wrong or said.get("_ZN1A1fEi", 0) < 100 or "_Z4worki" not in said:
            fail(f"{name}: calls, and what they should be: {wrong} {ours.stderr}")
        inlined = re.search(r"^ \d+(\.\d+)?: _ZL5stepsi:|^ \d+(\.\d+)?: steps:", ours.stdout, re.M)
        if " _ZN1A1fEi:" not in ours.stdout or not inlined:
            fail(f"{name}: no called function, or no inlined one: {ours.stdout[:2000]}")
        if profgen:
            pid = next(m["pid"] for m in lines(f"{name}.data", "MMAP2") if os.path.basename(m["filename"]) == name)
            ours = run("export", "--to", "autofdo", "-i", f"{name}.data", "--binary", name, "--pid", pid).stdout
            subprocess.run([profgen, f"--perfdata={name}.data", f"--binary={name}", "--format=text",
                            "--output=theirs"], check=True,
                           capture_output=True)
            theirs = pathlib.Path("theirs").read_text()
            if ours != theirs or len(ours.splitlines()) < 100:
                fail(f"{name}: llvm-profgen has {sorted(set(theirs.splitlines()) ^ set(ours.splitlines()))[:10]} "
                     "otherwise")
            print(f"{name}: llvm-profgen makes the same {len(ours.splitlines())} lines of it")

# By the ending of a name; and what cannot be had.
name = f"pie-{compilers[0]}"
said = run("export", "-i", f"{name}.data", "--binary", name, "-o", "by-name.afdo").stderr
by_option = run("export", "--to", "autofdo", "-i", f"{name}.data", "--binary", name)
by_name = pathlib.Path("by-name.afdo").read_text()
if by_name != by_option.stdout:
    lines_apart = sorted(set(by_name.splitlines()) ^ set(by_option.stdout.splitlines()))
    fail(f"another format by the name's ending: {lines_apart[:10]}\n{said}{by_option.stderr}")
if shutil.which("clang++"):
    subprocess.check_call(["clang++", "-O2", "-Werror", "-gline-tables-only", "-fprofile-sample-use=by-name.afdo",
                           "program.cc", "-o", "again"])
    subprocess.check_call(["./again"], stdout=subprocess.DEVNULL)
subprocess.check_call([compilers[0], "-O2", "program.cc", "-o", "bare"])
run("record", "-q", "--pmu=sim,models=none", "-b", "-e", "instructions:u", "-c", 30001, "-o", "bare.data", "--",
    "./bare")
if "has no DWARF" not in run("export", "--to", "autofdo", "-i", "bare.data", "--binary", "bare", status=1).stderr:
    fail("a binary without DWARF")
if not profgen:
    print("not compared with what llvm-profgen makes of the recording: there is no such program (Debian: llvm-16), or "
          "no perf")
    sys.exit(77)
