#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Programs below another root directory (chroot, another mount namespace): their build ids are recorded while they
live, report names their functions then, and says afterwards what to do; --symfs does."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from lib.peer import skip

reticle = os.environ["RETICLE"]
if os.geteuid():
    skip("only root may have another root directory")
if not shutil.which("cc"):
    skip("there is no C compiler")

CACHE = pathlib.Path("cache").absolute()
CACHE.mkdir()
os.environ["XDG_CACHE_HOME"] = str(CACHE)
ROOT = pathlib.Path("root")
(ROOT / "bin").mkdir(parents=True)
(ROOT / "demo.c").write_text("""
volatile unsigned long x;
__attribute__((noinline)) void only_below_root(void) { for (unsigned n = 0; n < 100000; n++) x += n; }
int main(void) { for (;;) only_below_root(); }
""")
built = subprocess.run(["cc", "-O1", "-static", "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567", "-o",
                        ROOT / "bin" / "demo-below-root", ROOT / "demo.c"], capture_output=True, text=True)
if built.returncode:
    skip("cc cannot link a static program")
ID = "0123456789abcdef0123456789abcdef01234567"


def run(*words):
    p = subprocess.run([reticle, *words], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"{' '.join(words)}: exit status {p.returncode}: {p.stderr}")
    return p.stdout + p.stderr


def record_with_symbols(path, *words):
    """On a machine that is busy enough a recording ends before all symbols are kept; the next ones keep the others."""
    before = None
    for _ in range(10):
        run("record", "-q", "-e", "cpu-clock", "-o", path, *words)
        there = set(os.listdir(CACHE / "reticle")) if (CACHE / "reticle").exists() else None
        if there and there == before:
            return
        before = there
    sys.exit(f"record keeps no symbols: {before}")


def must(text, *what):
    for one in what:
        if one not in text:
            sys.exit(f"no '{one}' in:\n{text}")


def begin(words):
    p = subprocess.Popen(words, start_new_session=True)
    for _ in range(100):
        time.sleep(0.02)
        if os.readlink(f"/proc/{p.pid}/exe").endswith("demo-below-root"):
            return p
    sys.exit(f"{words} does not start")


CHROOT = ["chroot", str(ROOT), "/bin/demo-below-root"]
ways = {"chroot": CHROOT,
        "namespace": ["unshare", "-m", "sh", "-c", f"mount --bind {ROOT}/bin /mnt && exec /mnt/demo-below-root"]}
if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "mount", "--bind", str(ROOT), "/mnt"],
                                                 capture_output=True).returncode:
    print("no mount namespaces here: only chroot is tried")
    del ways["namespace"]
for kind, words in ways.items():
    # The recorder starts it.
    path = f"{kind}.data"
    record_with_symbols(path, "--", "sh", "-c", 'timeout 1 "$@" || true', "sh", *words)
    must(run("buildid-list", "-i", path), f"{ID} ")
    # Its symbols were kept by build id, under which they are found when the file is not.
    must(run("report", "--stdio", "-i", path), "] only_below_root")
    must(run("report", "--stdio", "--no-cache", "-i", path),
         "the file does not exist, or is in another root directory (name it with --symfs)")
    root = str(ROOT) if kind == "chroot" else "symfs"
    shutil.rmtree(CACHE / "reticle")
    must(run("report", "--stdio", "-i", path), "(name it with --symfs)")
    shutil.copytree(ROOT / "bin", "symfs/mnt", dirs_exist_ok=True)
    must(run("report", "--stdio", "--symfs", root, "-i", path), "] only_below_root")

    # It lives while it is looked at.
    live = begin(words)
    path = f"{kind}-attached.data"
    record_with_symbols(path, "-p", str(live.pid), "--", "sleep", "0.3")
    must(run("report", "--stdio", "--no-cache", "-i", path), "] only_below_root")
    live.kill()
    live.wait()
    must(run("report", "--stdio", "-i", path), "] only_below_root")
    shutil.rmtree(CACHE / "reticle")
    run("record", "-q", "--no-cache", "-e", "cpu-clock", "-o", path, "--", "sh", "-c", 'timeout 1 "$@" || true', "sh",
        *words)
    must(run("report", "--stdio", "-i", path), "(name it with --symfs)")
