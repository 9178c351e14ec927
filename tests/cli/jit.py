#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code that a program makes at run time gets the names of its jitdump, whichever clock the recording has, and of perf
maps as the JVM writes them."""
import os
import platform
import re
import subprocess
import sys

from lib.machine import need_recording

reticle = os.environ["RETICLE"]

# Two functions, one after the other at the same address: a compiler that reuses its memory.
PROGRAM = r"""
import ctypes, mmap, os, struct, sys, time
CODE = bytes.fromhex("b900000020ffc975fcc3")  # mov ecx, 1 << 29; 1: dec ecx; jnz 1b; ret
clock = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)
kind, pid = sys.argv[1], os.getpid()
dump = None
if kind != "map":
    path = f"jit-{pid}.dump"
    dump = open(path, "w+b")
    begun = time.time_ns() // 1000 if kind == "v8" else clock()
    dump.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, begun, 0))
    dump.flush()
    if kind == "v8":  # code that it has from the start
        body = struct.pack("<IIQQQQ", pid, pid, 4096, 4096, len(CODE), 9) + b"builtin\0" + CODE
        dump.write(struct.pack("<IIQ", 0, 16 + len(body), clock()) + body)
        dump.flush()
    mark = mmap.mmap(dump.fileno(), 40, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
room = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
at = ctypes.addressof(ctypes.c_char.from_buffer(room))
room[:len(CODE)] = CODE
for i, name in enumerate((b"first made", b"second made")):
    if dump:
        body = struct.pack("<IIQQQQ", pid, pid, at, at, len(CODE), i) + name + b"\0" + CODE
        dump.write(struct.pack("<IIQ", 0, 16 + len(body), clock()) + body)
        dump.flush()
    elif i:
        break
    else:
        open(f"/tmp/perf-{pid}.map", "w").write(f"0x{at:016x} 0x{len(CODE):016x} void J.run(int)\n")
    time.sleep(0.05)
    ctypes.CFUNCTYPE(None)(at)()
print(pid)
"""


def skip(why):
    print(why)
    sys.exit(77)


def recorded(kind, *options):
    p = subprocess.run([reticle, "record", "-q", "-e", "cpu-clock:u", "-F", "1000", "-o", "perf.data", *options, "--",
                        sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"record: exit status {p.returncode}: {p.stderr}")
    out = subprocess.run([reticle, "report", "--csv", "--sort", "symbol"], capture_output=True, text=True,
                         check=True).stdout
    if kind == "map":
        os.unlink(f"/tmp/perf-{p.stdout.strip()}.map")
    return out


def share(out, name):
    m = re.search(r",([0-9.]+),[^,\n]*" + re.escape(name), out)
    return float(m.group(1)) if m else 0.0


def check_order():
    """Both stood at one address, one after the other: no sample is named after what was not there at its time."""
    out = subprocess.run([reticle, "script", "-F", "time,ip,sym"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ *([0-9.]+): +[0-9a-f]+ (first|second) made", out, re.M)
    first, second = ([float(t) for t, which in found if which == name] for name in ("first", "second"))
    if len(first) < 50 or len(second) < 50 or max(first) >= min(second):
        sys.exit(f"jitdump: first made until {max(first, default=0)}, second from {min(second, default=0)}:\n"
                 f"{out[:2000]}")


def main():
    need_recording()
    if platform.machine() != "x86_64":
        skip("the program makes code for x86_64")
    # V8 writes another clock's time into the header than into its records.
    for kind, options in (("dump", ()), ("dump", ("-k", "monotonic")), ("v8", ()), ("v8", ("-k", "monotonic"))):
        out = recorded(kind, *options)
        for name in ("first made", "second made"):
            if not share(out, name) > 15:
                sys.exit(f"jitdump, {options}: no share of '{name}' over 15 %:\n{out}")
        check_order()
    out = recorded("map")
    if not share(out, "void J.run(int)") > 15:
        sys.exit(f"the JVM's map is not read:\n{out}")


main()
