# SPDX-License-Identifier: Apache-2.0
"""What this machine can do, asked without the program under test: one that is broken must fail its tests, not skip
them.

As a program: machine.py recording|tracepoints|sim; prints the reason and exits with 1 when it cannot."""
import ctypes
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import sys

OPEN = {"x86_64": 298, "aarch64": 241}  # perf_event_open
SOFTWARE, CPU_CLOCK, ATTR_SIZE = 1, 0, 64
EXCLUDE_KERNEL, EXCLUDE_HV = 1 << 5, 1 << 6


def no_recording():
    """Why no process can be sampled here; None: it can."""
    number = OPEN.get(platform.machine())
    if number is None:
        return f"perf_event_open is not known on {platform.machine()}"
    attr = struct.pack("IIQQQQQ", SOFTWARE, ATTR_SIZE, CPU_CLOCK, 1000000, 0, 0,
                       EXCLUDE_KERNEL | EXCLUDE_HV).ljust(ATTR_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, ctypes.c_char_p(attr), 0, -1, -1, 0)
    if fd < 0:
        return "perf_event_open: " + os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def no_bpf():
    """Why no BPF program can read threads here, and find the processes that they are of."""
    if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
        return "this is not the first PID namespace"
    number = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    if number is None or not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "no BPF for tracing, or no type information of the kernel"
    attr = struct.pack("IIII", 27, 0, 0, 4096).ljust(128, b"\0")  # a ring buffer
    fd = ctypes.CDLL(None, use_errno=True).syscall(number, 0, ctypes.c_char_p(attr), len(attr))
    if fd < 0:
        return "bpf: " + os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def no_tracepoints():
    """Why none can be recorded here."""
    try:
        pathlib.Path("/sys/kernel/tracing/events/sched/sched_switch/id").read_text()
    except OSError as error:
        return f"/sys/kernel/tracing: {error.strerror}"
    return None


def plugin():
    """The virtual PMU's plugin: that of the plain tree, as those with sanitizers do not load into QEMU."""
    places = [pathlib.Path(os.environ["SRCDIR"]) / "build", pathlib.Path(os.environ["RETICLE"]).parent]
    return next((p / "vpmu/reticle-vpmu.so" for p in places if (p / "vpmu/reticle-vpmu.so").exists()), None)


def use_plugin():
    """The program under test loads that one, too."""
    found = plugin()
    if found:
        os.environ["RETICLE_VPMU"] = str(found)


def no_sim():
    """Why the virtual PMU cannot run a program here."""
    qemu = shutil.which(f"qemu-{platform.machine()}")
    if not qemu:
        return f"qemu-{platform.machine()} is not installed"
    if "-plugin" not in subprocess.run([qemu, "-help"], capture_output=True, text=True,
                                       stdin=subprocess.DEVNULL).stdout:
        return f"{qemu} takes no plugins"
    return None if plugin() else "the virtual PMU's plugin was not built"


def need(why):
    if why:
        print(why)
        sys.exit(77)


def need_recording():
    why = no_recording()
    need(why and f"no recording here: {why}")


def need_bpf():
    need_recording()
    why = no_bpf()
    need(why and f"no BPF here: {why}")


def need_tracepoints():
    need_recording()
    why = no_tracepoints()
    need(why and f"no tracepoints here: {why}")


def need_sim():
    why = no_sim()
    need(why and f"no virtual PMU here: {why}")
    use_plugin()


if __name__ == "__main__":
    reason = {"recording": no_recording, "tracepoints": no_tracepoints, "sim": no_sim}[sys.argv[1]]()
    if reason:
        print(reason)
        sys.exit(1)
