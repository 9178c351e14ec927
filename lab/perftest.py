# SPDX-License-Identifier: Apache-2.0
"""Debian's perf tests itself on two kernels: whatever a test says on the one, it has to say on the other."""
import concurrent.futures
import os
import re

from base import CACHE, CROSS, key_of, note, run, scratch
from fetch import sysroot
from guest import QEMU, boot, compiled_guest, initramfs
from kernels import kernel

# perf's own tests that open no event and read no sample: they say nothing of a kernel, and some take long.
OTHERS = re.compile(r"vmlinux symtab|Simple expression|PMU event table|DSO data|python|[Dd]emangle|PE file|libpfm4|"
                    r"mem2node|unit_number|[Tt]ime utils|api io|[Hh]ist|pmu-events|dlfilter|"
                    r"[Mm]etrics?\b|BPF|LLVM|kmod|"
                    r"Bitmap|[Tt]hread map|cpu map|map_groups|maps__|jit|perf hooks|Convert perf time|[Cc]lang")
PAIR = ("plain", "burst")
ARGUMENTS = "kernel=perf-test lab=all"


def libraries(program, root):
    """-> the shared objects of `root` that a program there needs, and its loader."""
    found, todo = {}, [program]
    places = [root / "lib/aarch64-linux-gnu", root / "usr/lib/aarch64-linux-gnu", root / "lib"]
    while todo:
        headers = run([CROSS + "objdump", "-p", str(todo.pop())])
        for name in re.findall(r"^ +NEEDED +(\S+)$", headers, re.M):
            f = next((p / name for p in places if (p / name).exists()), None)
            if f and name not in found:
                found[name] = f.resolve()
                todo.append(found[name])
    return found


def guest_with_perf():
    """-> an initramfs: lab/*.c as /init, perf and its libraries beside it."""
    root = sysroot(["linux-perf"])
    program = next(p for p in (root / "usr/bin/perf_6.1", root / "usr/bin/perf") if p.exists())
    init = compiled_guest()
    initrd = CACHE / f"guest-perf-{key_of(init.name, root.name)}.gz"
    if not initrd.exists():
        files = {"init": init, "bin/perf": program, "bin/sleep": init, "bin/true": init}
        files |= {f"lib/{name}": f for name, f in libraries(program, root).items()}
        with scratch() as tmp:
            (tmp / "initrd").write_bytes(initramfs(files, ["bin", "lib"]))
            os.replace(tmp / "initrd", initrd)
    return initrd


def verdicts(console):
    """-> {test: what came of it}, of those that are about events and samples"""
    found = re.findall(r"^perf: *(\d+(?:\.\d+)?): (.*?) *: (\S.*?)\s*$", console, re.M)
    return {f"{number} {name}": verdict for number, name, verdict in found if not OTHERS.search(name)}


def compare(before, after):
    """-> rows as guest.results_of: one for each test that differs, one for all."""
    rows = []
    for test in sorted(before.keys() | after.keys()):
        a, b = before.get(test, "not there"), after.get(test, "not there")
        if a != b:
            rows.append(("perf-test", "FAIL", f"{test}: {a} unpatched, {b} patched"))
    counts = {}
    for verdict in after.values():
        kind = re.split(r"[ !(]", verdict)[0]
        counts[kind] = counts.get(kind, 0) + 1
    figures = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
    enough = len(after) >= 20 and counts.get("Ok", 0) >= 10
    rows.append(("perf-test", "FAIL" if rows or not enough else "ok",
                 f"{len(after)} tests of perf, the same without the patches: {figures}"
                 if enough else f"only {len(after)} tests ran: {figures}"))
    return rows


def kept_of(name, initrd):
    """-> where the console's text of perf's tests on that kernel is kept: its key has all that has a say in it."""
    key = key_of(kernel(name).name, initrd.name, " ".join(QEMU), run([QEMU[0], "--version"]), ARGUMENTS)
    return CACHE / f"perf-test-{key}"


def run_on(name, initrd):
    """-> the console's text"""
    kept = kept_of(name, initrd)
    if kept.exists():
        return kept.read_text()
    console = boot(kernel(name), initrd, ARGUMENTS)
    note(f"perf test on {name}: {len(verdicts(console))} results")
    if "lab: end" not in console:
        print("\n".join("    " + line for line in console.splitlines()[-60:]))
    return console


def perf_test(refresh=False):
    """-> rows as guest.results_of, when both have been run. What passes is kept, until something changes."""
    initrd = guest_with_perf()
    kept = [kept_of(name, initrd) for name in PAIR]
    for f in kept:
        if refresh or not all(k.exists() for k in kept):
            f.unlink(missing_ok=True)
    before = "" if not kept[0].exists() else " (run before; nothing has changed)"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        consoles = list(pool.map(lambda name: run_on(name, initrd), PAIR))
    rows = compare(*map(verdicts, consoles))
    if all(result == "ok" for _, result, _ in rows) and all("lab: end" in c for c in consoles):
        with scratch() as tmp:
            for f, console in zip(kept, consoles):
                (tmp / f.name).write_text(console)
                os.replace(tmp / f.name, f)
    yield from ((test, result, figures + before) for test, result, figures in rows)
