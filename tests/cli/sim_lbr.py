#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call stacks of branch records, cut and stitched, against the stacks that the program had: --pmu=sim --call-graph lbr
writes both into each sample, the exact one as its call chain. Not one frame that is shown may be wrong, and as many as
before have to be found: without numbers of registers (hw_idx) 90 % of what is found with them. Depths of 32, 16 and 8;
recursion, a chain of 43 functions, longjmp, C++ exceptions, eight threads, functions with several callers, coroutines,
handlers of signals."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE, SRC = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
plugin = SRC / "build/vpmu/reticle-vpmu.so"  # one with sanitizers does not load into QEMU
if plugin.exists():
    os.environ["RETICLE_VPMU"] = str(plugin)
USER = 2**64 - 512
PERIOD = 1009
BEGIN = """
#define F __attribute__((noinline))
volatile unsigned sink;
F unsigned leaf(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += (i * n) ^ (s >> 3); return s; }
F unsigned other(int n) { unsigned r = n ? other(n - 1) + 1 : leaf(60); sink += r; return r; }
"""
RECURSION = BEGIN + """
F unsigned deep(int n) { unsigned r = n ? deep(n - 1) + 1 : leaf(100); sink += r; return r + leaf(n % 7); }
F unsigned odd(int n);
F unsigned even(int n) { unsigned r = n ? odd(n - 1) + 1 : leaf(100); sink += r; return r + leaf(n % 5); }
F unsigned odd(int n) { unsigned r = n ? even(n - 1) + 1 : leaf(100); sink += r; return r + leaf(n % 3); }
int main(void) { for (int i = 0; i < 100; i++) { deep(i % 120); even(i % 90); } return 0; }
"""
JUMPS = "#include <setjmp.h>\n" + BEGIN + """
static jmp_buf env[40];
F void thrower(int n, int to)
{
	sink += leaf(20);
	if (n) { thrower(n - 1, to); sink++; } else { sink += leaf(50); longjmp(env[to], 1); }
}
F void catcher(int n, int depth)
{
	sink += leaf(15);
	if (setjmp(env[n])) { sink += leaf(70); other(depth % 9); }
	else if (n < 20) catcher(n + 1, depth);
	else thrower(depth % 13, depth % 20);
	sink += leaf(30);
}
F void go(int i) { catcher(0, i); sink += leaf(40); }
int main(void) { for (int i = 0; i < 200; i++) { go(i); other(i % 50); } return 0; }
"""
EXCEPTIONS = BEGIN + """
struct guard { int n; ~guard() { sink += leaf(10 + n % 5); } };
F void thrower(int n) { guard g{n}; sink += leaf(20); if (n) thrower(n - 1); else throw 1; sink++; }
F void b(int n); F void c(int n);
F void a(int n) { sink += leaf(9); if (n > 0) b(n - 1); else thrower(3); sink += leaf(9); }
void b(int n) { guard g{n}; sink += leaf(9); if (n > 0) c(n - 1); else thrower(6); sink += leaf(9); }
void c(int n)
{
	try { sink += leaf(9); if (n > 0) a(n - 1); else thrower(2); }
	catch (int v) { sink += leaf(33); if (n % 4 == 1) { other(n); throw; } }
	sink += leaf(25);
}
F void go(int i) { try { a(i % 40); } catch (int) { sink += leaf(50); } other(i % 17); }
int main() { for (int i = 0; i < 60; i++) go(i); return 0; }
"""


def chain(n):
    """main calls f1, that f2 ... up to fn; each has work of its own now and then."""
    text = BEGIN + f"F unsigned f{n}(int n) {{ sink += leaf(300 + n % 50); return sink; }}\n"
    for i in range(n - 1, 0, -1):
        again = f"r += f{i + 1}(n + 1) / 2;" if i % 6 == 0 and i > 30 else ""
        text += (f"F unsigned f{i}(int n) {{ unsigned r = f{i + 1}(n) + {i}; sink += r; "
                 f"if (n % {i % 5 + 2} == 0) r += leaf(n % 20 + {i}); {again} return r; }}\n")
    return text


CHAIN = chain(43) + "int main(void) { for (int i = 0; i < 100; i++) f1(i); return 0; }\n"
THREADS = "#include <pthread.h>\n" + chain(40) + """
static void *run(void *k) { for (int i = 0; i < 20; i++) f1(i + (int)(long)k); return 0; }
int main(void)
{
	pthread_t t[8];
	for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, run, (void *)i);
	for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
	return 0;
}
"""


def ways():
    """Fifty functions that call one of those behind them now and then, so that most have several callers, some of them
    at the same depth."""
    rng = random.Random(3)
    text = BEGIN + """
static unsigned seed = 1;
static unsigned chance(void) { seed = seed * 1103515245 + 12345; return seed >> 16 & 3; }
""" + "".join(f"F void g{i}(void);\n" for i in range(50))
    for i in range(50):
        calls = ""
        for _ in range(2 if i < 49 else 0):
            callee, odds = f"g{min(49, i + 1 + rng.randrange(4))}();", rng.choice((1, 1, 2, 3))
            calls += (f" if (chance() < {odds}) {callee}" if rng.random() < 0.7 else
                      f" for (int i = 0; i < 3 && chance() & 1; i++) {{ {callee} sink += leaf(9); }}")
        text += (f"F void g{i}(void) {{ sink += leaf({rng.randrange(3, 60)});{calls} sink += "
                 f"leaf({rng.randrange(3, 40)}); }}\n")
    return text + "int main(void) { for (int i = 0; i < 120; i++) { g0(); if (i % 3 == 0) g5(); } return 0; }\n"


# Program, its text, and what part of its frames has to be found with 32, 16 and 8 registers.
COROUTINES = "#include <ucontext.h>\n" + BEGIN + """
static ucontext_t main_context, contexts[3];
static char stacks[3][1 << 16];
F void yield(int k) { sink += leaf(8); swapcontext(&contexts[k], &main_context); sink += leaf(9); }
F void level(int k, int n)
{
	sink += leaf(10 + n);
	if (n) level(k, n - 1); else yield(k);
	sink += leaf(7);
	if (n % 4 == k) yield(k);
	other(n % 3);
}
F void body_a(int k) { for (int i = 0; ; i++) level(0, 5 + i % 9); }
F void body_b(int k) { for (int i = 0; ; i++) { level(1, i % 5); yield(1); } }
F void body_c(int k) { for (int i = 0; ; i++) level(2, 20 + i % 3); }
F void resume(int k) { sink += leaf(12); swapcontext(&main_context, &contexts[k]); sink += leaf(11); }
F void turn(int i) { resume(i % 3); if (i % 7 == 0) resume((i + 1) % 3); other(i % 4); }
int main(void)
{
	void (*bodies[])(int) = { body_a, body_b, body_c };
	for (int k = 0; k < 3; k++) {
		getcontext(&contexts[k]);
		contexts[k].uc_stack.ss_sp = stacks[k];
		contexts[k].uc_stack.ss_size = sizeof(stacks[k]);
		makecontext(&contexts[k], (void (*)(void))bodies[k], 1, k);
	}
	for (int i = 0; i < 900; i++) turn(i);
	return 0;
}
"""
SIGNALS = "#include <signal.h>\n" + BEGIN + """
F void in_handler(int n) { sink += leaf(12); if (n) in_handler(n - 1); else other(3); sink += leaf(5); }
static void handler(int s) { static int i; sink += leaf(10); in_handler(i++ % 11); sink += leaf(10); }
F void b(int n); F void c(int n);
F void a(int n) { sink += leaf(9); if (n > 0) b(n - 1); else raise(SIGUSR1); sink += leaf(9); }
void b(int n) { sink += leaf(9); if (n > 0) c(n - 1); else raise(SIGUSR1); sink += leaf(9); }
void c(int n) { sink += leaf(9); if (n > 0) a(n - 1); else other(4); sink += leaf(9); if (n % 6 == 5) raise(SIGUSR1); }
int main(void) { signal(SIGUSR1, handler); for (int i = 0; i < 150; i++) { a(i % 45); other(i % 13); } return 0; }
"""
PROGRAMS = [("recursion", RECURSION, (0.45, 0.30, 0.24)), ("chain", CHAIN, (0.60, 0.35, 0.20)),
            ("jumps", JUMPS, (0.20, 0.20, 0.20)), ("exceptions", EXCEPTIONS, (0.30, 0.30, 0.30)),
            ("threads", THREADS, (0.60, 0.35, 0.22)), ("ways", ways(), (0.99, 0.68, 0.42)),
            ("coroutines", COROUTINES, (0.27, 0.27, 0.27)), ("signals", SIGNALS, (0.25, 0.25, 0.25))]
LBR, NO_INDEX = ["--call-graph", "lbr"], ["-j", "stack,u", "-g"]
failed = []


def run(*args):
    p = subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode or p.stderr:
        sys.exit(f"{args}: {p.returncode}: {p.stderr}")
    return p.stdout


def is_call(site, ret):
    """Calls of x86_64 have 2 to 7 bytes, and at most one prefix."""
    return 2 <= ret - site <= 8


def frames(name, *options):
    """What is shown of each sample: its frames, innermost first, and how many of them are stitched."""
    for line in run("script", "--json", "-i", name, *options).splitlines():
        shown = [f for f in json.loads(line)["callchain"] if not f.get("inlined")]
        yield [int(f["addr"], 16) for f in shown], sum(f.get("stitched", False) for f in shown)


def exact(name):
    """The stacks that the program had, as places in files, in the order of time."""
    maps = [json.loads(line) for line in run("dump", "--json", "--type", "MMAP2", "-i", name).splitlines()]

    def place(address):
        for m in maps:
            if m["start"] <= address < m["start"] + m["len"]:
                return address - m["start"] + m["pgoff"]
        return address

    found = [json.loads(line) for line in run("dump", "--json", "--type", "SAMPLE", "-i", name).splitlines()]
    if any(s["callchain"][0] != USER for s in found):
        sys.exit("a chain does not begin in user space")
    return [[place(a) for a in s["callchain"][1:]] for s in sorted(found, key=lambda s: s["time"])]


def frames_of_perf(name):
    """What perf --stitch-lbr shows, in the same order: of the innermost frame it shows the function's beginning."""
    out = subprocess.run(["perf", "script", "-i", name, "-F", "ip", "--stitch-lbr"], capture_output=True,
                         text=True).stdout
    return [[int(line, 16) for line in sample.split()] for sample in out.split("\n\n") if sample.strip()]


def right_of_perf(name, want):
    """perf's figure is beside ours; its addresses are compared within their page."""
    right = wrong = 0
    for got, chain in zip(frames_of_perf(name), want):
        n = 1
        while n < min(len(got), len(chain)) and is_call(0, (chain[n] - got[n]) % 4096):
            n += 1
        right += n
        wrong += len(got) - n
    return f"perf {right}, {wrong} wrong"


def compare(name, shown, want):
    """How many frames are right, and how many of those behind the first wrong one are stitched or not."""
    right = wrong = 0
    if not want or len(shown) != len(want):
        failed.append(f"{name}: {len(shown)} samples shown of {len(want)}")
    for (got, stitched), chain in zip(shown, want):
        n = 0
        while n < len(got) and n < len(chain) and (got[n] == chain[n] if not n else is_call(got[n], chain[n])):
            n += 1
        right += n
        wrong += len(got) - n
        if n < len(got):
            failed.append(f"{name}: frame {n} of {len(got)} ({stitched} stitched): {got[n]:x} instead of "
                          f"{chain[n] if n < len(chain) else 0:x}")
    return right, wrong


need_sim()
if not shutil.which("c++") or os.uname().machine != "x86_64":
    print("no c++, or not on x86_64")
    sys.exit(77)
for program, text, least in PROGRAMS:
    source = pathlib.Path(program + (".cc" if program == "exceptions" else ".c"))
    source.write_text(text)
    subprocess.check_call(["c++" if program == "exceptions" else "cc", "-O1", "-g", "-pthread",
                           "-fno-optimize-sibling-calls", "-o", program, source])
    for depth, part in zip((32, 16, 8), least):
        with_index = 0
        for options in LBR, NO_INDEX:
            name = f"{program}-{depth}{'-no-index' if options == NO_INDEX else ''}.data"
            run("record", "-q", f"--pmu=sim,branches={depth}", *options, "-e", "cycles:u", "-c", PERIOD, "-o", name,
                "--", f"./{program}")
            want = exact(name)
            alone, _ = compare(name, list(frames(name, "--no-stitch-lbr")), want)
            right, wrong = compare(name, list(frames(name)), want)
            total = sum(map(len, want))
            beside = "; " + right_of_perf(name, want) if options == LBR and shutil.which("perf") else ""
            print(f"{name}: {len(want)} samples, {total} frames; found {right}, {alone} of them without stitching, "
                  f"{wrong} wrong{beside}")
            # Threads run in an order of their own, so that two recordings need not have the same samples.
            if right < alone or right / total < (part if options == LBR else 0.9 * with_index):
                failed.append(f"{name}: only {right} of {total} frames are found")
            with_index = right / total
# Where the first jumps of a thread show depends on which of its calls samples meet, so many ways to meet them are
# drawn.
for program, periods in ("jumps", (1009, 4001, 15013)), ("coroutines", (1009, 1511, 2003)):
    for seed in range(1, 13):
        period = periods[seed % 3]
        run("record", "-q", f"--pmu=sim,branches=8,seed={seed}", *(LBR, NO_INDEX)[seed % 2], "-e",
            f"cycles/period={period},period-jitter={period // 2}/u", "-o", "drawn.data", "--", f"./{program}")
        compare("drawn.data", list(frames("drawn.data")), exact("drawn.data"))
# With so few registers, what shows that a call is another one is mostly overwritten: nothing is stitched.
for program in "ways", "chain":
    run("record", "-q", "--pmu=sim,branches=7", *LBR, "-e", "cycles:u", "-c", PERIOD, "-o", "few.data", "--",
        f"./{program}")
    shown = list(frames("few.data"))
    compare("few.data", shown, exact("few.data"))
    if any(stitched for _, stitched in shown):
        failed.append(f"{program}: stitched with 7 registers")
# Recursion without a jump, sampled often while the program starts: samples in the first entry of the PLT, and in the
# dynamic linker, are none either.
for seed in range(1, 13):
    run("record", "-q", f"--pmu=sim,branches=16,seed={seed}", "--call-graph", "lbr", "-e", "cycles:u", "-c",
        300 + seed, "-o", "starts.data", "--", "./recursion")
    # Single stacks are cut where code is entered in a way that it does not show; after a jump most would be.
    cut = re.search(r"(\d+) cut where", run("report", "-i", "starts.data"))
    if cut and int(cut[1]) > 3:
        failed.append(f"recursion is taken for a jump, seed {seed}")
print("\n".join(failed[:30]))
sys.exit(bool(failed))
