#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording or a program names is opened only if it is a regular file: FIFOs do not hold anybody up, and what
is behind links to devices is not touched."""
import os
import pathlib
import shutil
import subprocess
import sys

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"


def run(*args, status=0):
    try:
        p = subprocess.run([RETICLE, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           timeout=20)
    except subprocess.TimeoutExpired:
        sys.exit(f"{args}: waits")
    if p.returncode != status:
        sys.exit(f"{args}: status {p.returncode}: {p.stderr}")
    return p.stdout + p.stderr


def special(path):
    """A FIFO that nobody writes into, in the place of that file."""
    pathlib.Path(path).unlink(missing_ok=True)
    os.mkfifo(path)


# A directory that should hold a recording.
os.mkdir("dir")
special("dir/data")
run("report", "-i", "dir", status=1)
# A word that might be one.
special("word")
if "neither a recording" not in run("report", "word", "-i", "dir", status=1) + "neither a recording":
    sys.exit("a FIFO is taken for a recording")
# The program itself, and a jitdump.
special("program")
special("jit-7.dump")
pathlib.Path("r.recipe").write_text(f'''event "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|TIME ids=7
comm pid=7 time=1 exec "program"
mmap2 pid=7 time=2 start=0x400000 len=0x10000 prot=r|x flags=2 "{os.getcwd()}/program"
mmap2 pid=7 time=2 start=0x500000 len=0x1000 prot=r|x flags=2 "{os.getcwd()}/jit-7.dump"
sample pid=7 time=3 ip=0x400123
''')
subprocess.run([RECIPE, "r.recipe", "r.data"], check=True)
run("report", "-i", "r.data", "--sort", "symbol,srcline")
run("script", "-i", "r.data")

# Nothing that a recording names is looked for outside --symfs, nor by its path with --offline.
if shutil.which("strace"):
    os.makedirs("fs/bin")
    os.makedirs("secret")
    os.symlink("/../secret", "fs/bin/link")
    os.symlink(f"{os.getcwd()}/secret/program", "fs/bin/absolute")
    shutil.copy(RETICLE, "secret/program")
    shutil.copy(RETICLE, "fs/bin/inside")
    names = ["/../secret/program", "/bin/../../secret/program", "/bin/link/program", "/bin/absolute", "/bin/inside",
             f"{os.getcwd()}/secret/program", f"{os.getcwd()}/jit-7.dump"]
    maps = [f'mmap2 pid=7 time=2 start={0x400000 + 0x100000 * i:#x} len=0x10000 prot=r|x flags=2 "{name}"'
            for i, name in enumerate(names)]
    samples = [f"sample pid=7 time=3 ip={0x400100 + 0x100000 * i:#x}" for i in range(len(names))]
    head = pathlib.Path("r.recipe").read_text().splitlines()[:2]
    pathlib.Path("out.recipe").write_text("\n".join(head + maps + samples) + "\n")
    subprocess.run([RECIPE, "out.recipe", "out.data"], check=True)

    def opened(*args):
        """The files that were held by a descriptor at any time: strace -y prints what a descriptor leads to."""
        p = subprocess.run(["strace", "-f", "-y", "-e", "trace=open,openat,openat2", "-o", "trace", RETICLE, "report",
                            "-i", "out.data", "--sort", "dso,sym,srcline", *args], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=60)
        if p.returncode:
            print("strace does not run here: " + p.stderr[-200:])
            return None
        return pathlib.Path("trace").read_text()

    trace = opened("--symfs", "fs")
    if trace is not None:
        for line in trace.splitlines():
            if " = " in line and ("secret/program>" in line.split(" = ")[-1] or
                                  "jit-7.dump>" in line.split(" = ")[-1]):
                sys.exit(f"--symfs is left: {line}")
        if "fs/bin/inside>" not in trace:
            sys.exit("what is inside --symfs is not opened")
        trace = opened("--offline")
        if any("secret/program>" in line or "jit-7.dump>" in line for line in trace.splitlines()):
            sys.exit("--offline: a file was opened by the path of the recording")

# A recording that is shortened while it is read ends in an error: the reader waits for us to take its output
# meanwhile.
lines = [f"sample pid=7 time={i + 3} ip={0x400000 + i % 4096:#x}" for i in range(40000)]
pathlib.Path("long.recipe").write_text(pathlib.Path("r.recipe").read_text() + "\n".join(lines) + "\n")
subprocess.run([RECIPE, "long.recipe", "long.data"], check=True)
reader = subprocess.Popen([RETICLE, "script", "-i", "long.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)
reader.stdout.read(100)
os.truncate("long.data", 8192)
_, errors = reader.communicate(timeout=60)
if reader.returncode != 1 or b"shortened while it was being read" not in errors:
    sys.exit(f"a recording that was shortened: status {reader.returncode}: {errors}")

# Debug information in other files: of split DWARF, and shared by several.
if not shutil.which("cc") or not shutil.which("objcopy"):
    print("no compiler: debug information was not tried")
    sys.exit(77)
pathlib.Path("a.c").write_text("""
volatile int s;
static inline __attribute__((always_inline)) void inl(int n) { for (int i = 0; i < n; i++) s += i; }
__attribute__((noinline)) void work(int n) { inl(n); }
int main(void) { for (int i = 0; i < 100; i++) work(10000); }
""")
for version in 4, 5:
    for file in pathlib.Path(".").glob("*.dwo"):
        file.unlink()
    subprocess.run(["cc", "-O1", f"-gdwarf-{version}", "-gsplit-dwarf", "-no-pie", "a.c", "-o", f"a{version}"],
                   check=True)
    [dwo] = pathlib.Path(".").glob("*.dwo")
    work = next(int(line.split()[0], 16)
                for line in subprocess.run(["nm", f"a{version}"], capture_output=True, text=True,
                                           check=True).stdout.splitlines() if line.endswith(" work"))
    place = f"start={work & ~0xfff:#x} len=0x1000 pgoff={(work & ~0xfff) - 0x400000:#x}"
    pathlib.Path("s.recipe").write_text(
        f'''event "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|TIME ids=7
comm pid=7 time=1 exec "a"
mmap2 pid=7 time=2 {place} prot=r|x flags=2 "{os.getcwd()}/a{version}"
sample pid=7 time=3 ip={work + 4:#x}
''')
    subprocess.run([RECIPE, "s.recipe", "s.data"], check=True)
    if "a.c:" not in run("report", "-q", "-i", "s.data", "--sort", "srcline"):
        sys.exit(f"DWARF {version}: no lines of a split unit")
    special(dwo)
    if "work" not in run("report", "-q", "-i", "s.data", "--sort", "srcline"):
        sys.exit(f"DWARF {version}: the function has no name without its split unit")
special("shared.debug")
pathlib.Path("link").write_bytes(b"shared.debug\0" + bytes(20))
subprocess.run(["cc", "-O1", "-g", "-no-pie", "a.c", "-o", "plain"], check=True)
subprocess.run(["objcopy", "--add-section", ".gnu_debugaltlink=link", "plain", f"a{version}"], check=True)
run("report", "-q", "-i", "s.data", "--sort", "srcline")
