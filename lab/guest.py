# SPDX-License-Identifier: Apache-2.0
"""A guest: what is in its initramfs, how it is booted, what it says."""
import gzip
import os
import re
import subprocess
import tempfile
import time

from base import CACHE, CROSS, LAB, compiler_version, key_of, note, run, scratch

# Seconds, for all scenarios of one kernel; about 30 on an idle machine, ten times as long on a busy one.
BOOT_TIMEOUT = 900
BOOTS_TIMEOUT = 2400  # for all guests of one run of the lab; a few that hang would otherwise take hours
HURRIED_TIMEOUT = 60  # for each guest when these are used up
TROUBLE = (r"(?m)^(?:\[.*?\] )?"
           r"(?:BUG:|WARNING:|INFO: |Unable to handle|Kernel panic|=+\n(?:\[.*?\] )?(?:WARNING|BUG)).*$")
QEMU = ["qemu-system-aarch64", "-M", "virt,dtb-randomness=off", "-cpu", "cortex-a57", "-m", "512", "-nographic",
        "-nodefaults", "-serial", "stdio", "-no-reboot", "-net", "none", "-icount", "shift=1,sleep=off", "-rtc",
        "clock=vm,base=2026-01-01"]

# No PMU, but timers, which Linux finds broken where instructions are counted. Needed on demand alone (apt-get install
# qemu-system-x86).
QEMU_X86 = ["qemu-system-x86_64", "-M", "pc", "-cpu", "max", "-m", "512", "-nographic", "-nodefaults", "-serial",
            "stdio", "-no-reboot", "-net", "none"]


def cpio(path, data, mode, ino):
    """One member of an initramfs ("newc")."""
    fields = [ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + path.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def initramfs(programs, directories=()):
    """{path in the guest: file} -> an initramfs of these."""
    members = [cpio(path, b"", 0o40755, 0) for path in directories]
    members += [cpio(path, f.read_bytes(), 0o100755, i + 1) for i, (path, f) in enumerate(programs.items())]
    return gzip.compress(b"".join(members) + cpio("TRAILER!!!", b"", 0, 0), 6, mtime=0)


def compiled_guest():
    """-> lab/*.c, a static program for arm64"""
    sources = sorted(LAB.glob("*.c"))
    program = CACHE / f"init-{key_of(compiler_version(), *sources, *sorted(LAB.glob('*.h')))}"
    if not program.exists():
        with scratch() as tmp:
            run([CROSS + "gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-static",
                 "-pthread", "-o", str(tmp / "init")] + [str(s) for s in sources] + ["-lm"])
            os.replace(tmp / "init", program)
    return program


def scenarios_initramfs(tests):
    """lab/*.c as /init, beside it the kernel's own tests: files whose names end in selftest-NAME."""
    init = compiled_guest()
    initrd = CACHE / f"guest-{key_of(init.name, *tests)}.gz"
    if not initrd.exists():
        with scratch() as tmp:
            (tmp / "initrd").write_bytes(initramfs({"init": init, **{t.name.split(".")[-1]: t for t in tests}}))
            os.replace(tmp / "initrd", initrd)
    return initrd


def x86_initramfs(tests):
    """x86/init.c as /init, beside it the kernel's own tests."""
    initrd = CACHE / f"guest-x86-{key_of(compiler_version('x86_64-linux-gnu-'), LAB / 'x86/init.c', *tests)}.gz"
    if not initrd.exists():
        with scratch() as tmp:
            run(["x86_64-linux-gnu-gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
                 "-static", "-o", str(tmp / "init"), str(LAB / "x86/init.c")])
            (tmp / "initrd").write_bytes(initramfs({"init": tmp / "init",
                                                    **{t.name.split(".")[-1]: t for t in tests}}))
            os.replace(tmp / "initrd", initrd)
    return initrd


class Budget:
    """What guests may still take, in seconds. Guests at the same time all count."""

    def __init__(self, left=BOOTS_TIMEOUT):
        self.left = left

    def next(self):
        return max(HURRIED_TIMEOUT, min(BOOT_TIMEOUT, self.left))

    def spend(self, seconds, hangs):
        self.left = max(0, self.left - seconds)
        if hangs:
            note(f"a guest hung and was ended after {seconds:.0f} s; the others have {self.left:.0f} s together, then "
                 f"{HURRIED_TIMEOUT} s each")


BUDGET = Budget()


def boot(image, initrd, arguments, cpus=2, outside=None, timeout=None, machine=(QEMU, "ttyAMA0")):
    """-> the console's text, when the guest has switched itself off or its time is up. outside: a directory for files
    that programs/carry.c brings out. timeout: for a guest that is slow and known to be so, beside the budget of the
    others."""
    semihosting = ["-semihosting-config", "enable=on,target=native,userspace=on"] if outside else []
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen([*machine[0], "-smp", str(cpus), *semihosting, "-kernel", str(image), "-initrd",
                              str(initrd), "-append", f"console={machine[1]} panic=-1 loglevel=5 {arguments}"],
                             cwd=outside, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        begin, hangs = time.monotonic(), False
        try:
            p.wait(timeout or BUDGET.next())
        except subprocess.TimeoutExpired:
            hangs = True
            p.kill()
            p.wait()
        if not timeout:
            BUDGET.spend(time.monotonic() - begin, hangs)
        out.seek(0)
        return out.read().decode(errors="replace").replace("\r", "")


def results_of(console):
    """-> [(scenario, "ok" or "FAIL" or "skip", figures)]"""
    results = [m.groups() for m in re.finditer(r"^lab: (\S+) (ok|FAIL|skip) *(.*)$", console, re.M)]
    results += [("kernel-log", "FAIL", m.group(0)) for m in re.finditer(TROUBLE, console)]
    if "lab: end" not in console:
        results.append(("boot", "FAIL", "the guest did not come to its end; its last lines are above"))
    return results
