#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of Android's simpleperf: the symbols that they hold name their functions, in both of its layouts, and
only where path and build id agree; its records and features are named; its list of AUX data is read."""
import os
import struct
import subprocess
import sys

reticle = os.environ["RETICLE"]
IP, TID, TIME = 1, 2, 4
LIB, OLD, OTHER = "/system/lib64/libdemo.so", "/system/lib64/libold.so", "/system/lib64/libother.so"
JIT, DEX, MODULE = "/data/app/jit_app_cache:0-99", "/data/app/base.vdex", "/vendor/lib/modules/demo.ko"
KERNEL, LISTED, MAPPED = "[kernel.kallsyms]", bytes(range(20)), bytes(range(1, 21))


def z(text):
    return text.encode() + b"\0"


def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def padded(name):
    return z(name) + bytes(-len(z(name)) % 8)


def mmap(start, size, pgoff, name, misc=2):
    return record(1, struct.pack("<IIQQQ", 7 if misc == 2 else 2**32 - 1, 7, start, size, pgoff) + padded(name), misc)


def mmap2(start, size, pgoff, name, build_id):
    return record(10, struct.pack("<IIQQQB3x20sII", 7, 7, start, size, pgoff, 20, build_id, 5, 2) + padded(name),
                  2 | 1 << 14)


def sample(ip, misc=2):
    return record(9, struct.pack("<QIIQ", ip, 7, 7, 1000), misc)


def leb(v):
    out = b""
    while v > 0x7F:
        out, v = out + bytes([v & 0x7F | 0x80]), v >> 7
    return out + bytes([v])


def number(field, v):
    return leb(field << 3) + leb(v)


def block(field, b):
    return leb(field << 3 | 2) + leb(len(b)) + b


# (path, type, address of the first segment, where that lies or None, [(address, length, name)])
FILES = [
    (KERNEL, 0, 0, None, [(0xFFFFFF8000080100, 0x40, "schedule")]),
    (MODULE, 1, 0, 0, [(0x200, 0x20, "demo_probe")]),
    (LIB, 2, 0x5000, 0x1000, [(0x5100, 0x40, "_ZN4demo4stepEv"), (0x5200, 0x10, "leaf")]),
    (OLD, 2, 0x9000, None, [(0x9040, 0x10, "old_function")]),
    (OTHER, 2, 0, 0, [(0x100, 0x40, "must_not_be_shown")]),
    (DEX, 3, 0, None, [(0x3000, 0x100, "com.demo.Main.run")]),
    (JIT, 4, 0, None, [(0x7F0010, 0x10, "com.demo.Main.hot")]),
]
RECORDS = [
    record(3, struct.pack("<II", 7, 7) + padded("demo")),
    mmap(0xFFFFFF8000080000, 0x100000, 0, KERNEL, 1), mmap(0xFFFFFF8010000000, 0x1000, 0, MODULE, 1),
    mmap(0x70000, 0x1000, 0x1000, LIB), mmap(0x80000, 0x1000, 0x8000, OLD), mmap2(0x90000, 0x1000, 0, OTHER, MAPPED),
    mmap(0xA0000, 0x10000, 0, DEX), mmap(0x7F0000, 0x1000, 0, JIT),
    record(32774, bytes(24)), record(32772, b"abc"), record(40000, b""),
    sample(0xFFFFFF8000080110, 1), sample(0xFFFFFF8010000208, 1), sample(0x70104), sample(0x70208), sample(0x80048),
    sample(0x90110), sample(0xA3010), sample(0x7F0018),
]
NAMES = ["[k] schedule", "[k] demo_probe", "[.] demo::step", "[.] leaf", "[.] old_function", "[.] [libother.so+0x110]",
         "[.] com.demo.Main.run", "[.] com.demo.Main.hot"]
META = {"simpleperf_version": "1.2", "event_type_info": "raw-mem-access,4,19\ncpu-cycles,0,0"}


def plain(path, kind, start, offset, symbols):
    b = z(path) + struct.pack("<IQI", kind, start, len(symbols))
    b += b"".join(struct.pack("<QI", a, n) + z(name) for a, n, name in symbols)
    b += struct.pack("<I", 0) if kind == 3 else b""
    return b + (struct.pack("<Q", offset) if offset is not None else b"")


def message(path, kind, start, offset, symbols):
    b = block(1, path.encode()) + number(2, kind) + number(3, start)
    b += b"".join(block(4, number(1, a) + number(2, n) + block(3, name.encode())) for a, n, name in symbols)
    return b + (block(7 if kind == 1 else 6, number(1, offset)) if offset is not None else b"")


def write(path, features, records=RECORDS):
    attr = struct.pack("<IIQQQQQ", 4, 64, 19, 1000, IP | TID | TIME, 0, 1 << 8 | 1 << 9).ljust(64, b"\0")
    data = b"".join(records)
    start = 104 + 64 + 16
    bits = [0] * 4
    table, sections, at = b"", b"", start + len(data) + 16 * len(features)
    for i in sorted(features):
        bits[i // 64] |= 1 << i % 64
        table += struct.pack("<QQ", at + len(sections), len(features[i]))
        sections += features[i]
    header = b"PERFILE2" + struct.pack("<12Q", 104, 80, 104, 80, start, len(data), 0, 0, *bits)
    with open(path, "wb") as f:
        f.write(header + attr + struct.pack("<QQ", 0, 0) + data + table + sections)


def run(*words, status=0):
    p = subprocess.run([reticle, *words], capture_output=True, text=True)
    if p.returncode != status:
        sys.exit(f"{' '.join(words)}: exit status {p.returncode}: {p.stderr}")
    return p


def expect(text, *lines):
    for line in lines:
        if line not in text:
            sys.exit(f"no '{line}' in:\n{text}")


build_ids = b"".join(struct.pack("<IHHi24s", 0, 2, 36 + len(padded(p)), -1, LISTED) + padded(p) for p in (LIB, OTHER))
meta = b"".join(z(k) + z(v) for k, v in META.items())
unwind = block(1, block(1, LIB.encode()) + number(2, 4096))
aux = struct.pack("<QQ", 0x1234, 48)
wrapped = {"file": {128: b"".join(struct.pack("<I", len(plain(*f))) + plain(*f) for f in FILES)},
           "file2": {132: b"".join(struct.pack("<I", len(message(*f))) + message(*f) for f in FILES)}}
for layout, files in wrapped.items():
    path = f"{layout}.data"
    write(path, {2: build_ids, 18: aux, 129: meta, 130: unwind, 131: bytes(4096), 133: b"x", **files})
    p = run("report", "--stdio", "-i", path, "-F", "overhead,symbol")
    expect(p.stdout, *NAMES, "of event 'raw-mem-access'", "1 records of unknown type")
    if "must_not" in p.stdout or "does not hold" in p.stderr:
        sys.exit(p.stdout + p.stderr)
    expect(run("script", "-i", path).stdout, f"leaf+0x8 ({LIB})", f"com.demo.Main.hot+0x8 ({JIT})")
    expect(run("report", "--header-only", "-i", path).stdout, "# simpleperf symbols : 8 of 7 files",
           "# simpleperf simpleperf_version : 1.2", "raw-mem-access,4,19; cpu-cycles,0,0",
           "files for debugging its unwinder : 1, 4096 bytes",
           "a list of branches from CoreSight ETM, which is not read")
    expect(run("dump", "-i", path).stdout, "SIMPLEPERF_EVENT_ID misc 0x2 size 24", "SIMPLEPERF_SPLIT misc 0x2 size 3",
           "type 40000")
    # The user's word goes before the recording's.
    without = run("report", "--stdio", "-i", path, "-F", "overhead,symbol", "--kallsyms", "/dev/null").stdout
    if "schedule" in without:
        sys.exit(without)

# Sections that do not hold what they claim are left out, and nothing else is.
for i, whole in {128: wrapped["file"][128], 129: meta, 130: unwind, 132: wrapped["file2"][132]}.items():
    write("cut.data", {2: build_ids, i: whole[:-1]})
    p = run("report", "--stdio", "-i", "cut.data", "-F", "overhead,symbol")
    expect(p.stderr, f"({i}) does not hold what it claims; left out")
    if "schedule" in p.stdout:
        sys.exit(p.stdout)
