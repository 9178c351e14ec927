# SPDX-License-Identifier: Apache-2.0
"""Programs whose call stacks are recorded by branch records, and the stacks that they had."""
import json
import os
import random
import subprocess
import sys

RETICLE = os.environ["RETICLE"]
USER = 2**64 - 512
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


def ways(seed=3, by_pointer=0.0):
    """Fifty functions that call one of those behind them now and then, so that most have several callers, some of them
    at the same depth. That part of the calls is by pointers."""
    rng, pointers = random.Random(seed), random.Random(seed)

    def call(i):
        return f"(*table[{i}])();" if pointers.random() < by_pointer else f"g{i}();"

    text = BEGIN + """
static unsigned seed = 1;
static unsigned chance(void) { seed = seed * 1103515245 + 12345; return seed >> 16 & 3; }
""" + "".join(f"F void g{i}(void);\n" for i in range(50))
    if by_pointer:
        text += "static void (*volatile table[])(void) = {" + ", ".join(f"g{i}" for i in range(50)) + "};\n"
    for i in range(50):
        calls = ""
        for _ in range(2 if i < 49 else 0):
            callee, odds = call(min(49, i + 1 + rng.randrange(4))), rng.choice((1, 1, 2, 3))
            calls += (f" if (chance() < {odds}) {callee}" if rng.random() < 0.7 else
                      f" for (int i = 0; i < 3 && chance() & 1; i++) {{ {callee} sink += leaf(9); }}")
        text += (f"F void g{i}(void) {{ sink += leaf({rng.randrange(3, 60)});{calls} sink += "
                 f"leaf({rng.randrange(3, 40)}); }}\n")
    return text + "int main(void) { for (int i = 0; i < 120; i++) { g0(); if (i % 3 == 0) g5(); } return 0; }\n"


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


def right_frames(shown, true):
    """How many of them, from the innermost on: that one's address, and call sites before the addresses returned to."""
    n = 0
    while n < len(shown) and n < len(true) and (shown[n] == true[n] if not n else is_call(shown[n], true[n])):
        n += 1
    return n


def build(program, text):
    source = program + (".cc" if program == "exceptions" else ".c")
    with open(source, "w", encoding="utf-8") as out:
        out.write(text)
    subprocess.check_call(["c++" if program == "exceptions" else "cc", "-O1", "-g", "-pthread",
                           "-fno-optimize-sibling-calls", "-o", program, source])
