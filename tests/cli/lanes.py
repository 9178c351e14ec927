#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""Samples that read counters are read by several workers: the tables are those of one worker, to the byte."""
import os
import random
import re
import struct
import subprocess
import sys

RETICLE = os.environ["RETICLE"]
IP, TID, TIME, READ, PERIOD, IDENTIFIER = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 8, 1 << 16
FORMAT_ID, FORMAT_GROUP = 1 << 2, 1 << 3
INHERIT, SAMPLE_ID_ALL = 1 << 1, 1 << 18
THREADS, SAMPLES, PERIOD_CYCLES = 9, 60000, 1000
HEADER_ATTR, SAMPLE, COMM, MMAP, THROTTLE, LOST = 64, 9, 3, 1, 5, 2
PID, BASE = 1000, 0x400000
FUNCTIONS = 60  # of neighbouring lines of code: whatever stands for a pair of place and function is easily mistaken


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def attr(config, period, flags, ids):
    a = struct.pack("<IIQQQQQ", 0, 112, config, period, IP | TID | TIME | READ | PERIOD | IDENTIFIER,
                    FORMAT_ID | FORMAT_GROUP, flags | SAMPLE_ID_ALL)
    return record(HEADER_ATTR, a.ljust(112, b"\0") + struct.pack(f"<{len(ids)}Q", *ids), 0)


def trailer(tid, time, event_id):
    return struct.pack("<IIQQ", PID, tid, time, event_id)


def program():
    """A program of functions of the same size. -> the record of its mapping, and their addresses"""
    with open("program.c", "w") as f:
        f.write("volatile int x;\n")
        f.writelines(f"void f{i}(void) {{ {'x++; ' * 10} }}\n" for i in range(FUNCTIONS))
        f.write("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-O0", "-no-pie", "-Wl,-z,separate-code", "-o", "program", "program.c"], check=True)
    nm = subprocess.run(["nm", "program"], check=True, stdout=subprocess.PIPE, text=True).stdout
    segments = subprocess.run(["readelf", "-lW", "program"], check=True, text=True, stdout=subprocess.PIPE).stdout
    code = next(line.split() for line in segments.splitlines()
                if line.strip().startswith("LOAD") and " R E " in line)
    offset, address, size = int(code[1], 16), int(code[2], 16), (int(code[4], 16) + 4095) & ~4095
    path = os.path.abspath("program").encode() + b"\0"
    mapping = struct.pack("<IIQQQ", PID, PID, address, size, offset) + path + b"\0" * (-len(path) % 8)
    return mapping, [int(a, 16) for a in re.findall(r"^(\w+) T f\d+$", nm, re.M)]


def nowhere():
    return (struct.pack("<IIQQQ", PID, PID, BASE, 0x100000, 0) + b"/nowhere/program\0".ljust(24, b"\0"),
            [BASE + 64 * i for i in range(5)])


def recording(path, inherited, windows, mapping, places):
    """Threads with counters of their own: one id each, or, where events are inherited, one id for all of them.

    Without windows the events are no group that reads itself together, but each reads its own counter."""
    rng = random.Random(7)
    ids = [[10, 20]] * THREADS if inherited else [[100 + 2 * t, 101 + 2 * t] for t in range(THREADS)]
    flags = INHERIT if inherited else 0
    with open(path, "wb") as f:
        f.write(b"PERFILE2" + struct.pack("<Q", 16))
        f.write(attr(0, PERIOD_CYCLES, flags, sorted({i[0] for i in ids})))
        f.write(attr(1, 0, flags, sorted({i[1] for i in ids})))
        f.write(record(MMAP, mapping + trailer(PID, 1, ids[0][0])))
        values = [[0, 0] for _ in range(THREADS)]
        place = [0] * THREADS
        for n in range(SAMPLES):
            t = rng.randrange(THREADS)
            time = 1000 + n * 10
            if rng.random() < 0.3:
                place[t] = rng.randrange(len(places))
            values[t][0] += PERIOD_CYCLES + rng.randrange(20)
            values[t][1] += (place[t] % 5 + 1) * 500 + rng.randrange(100)
            leader = ids[t][0]
            members = list(zip(values[t], ids[t]))[:2 if windows else 1]
            body = struct.pack("<QQIIQQQ", leader, places[place[t]], PID, PID + t, time, PERIOD_CYCLES, len(members))
            for value, counter in members:
                body += struct.pack("<QQ", value, counter)
            f.write(record(SAMPLE, body))
            if n % 5000 == 4999:
                f.write(record(THROTTLE, struct.pack("<QQQ", time, leader, leader) + trailer(PID + t, time, leader),
                               0))
            if n % 17000 == 16999:
                f.write(record(LOST, struct.pack("<QQ", leader, 3) + trailer(PID + t, time, leader), 0))


def table(path, threads, *more):
    done = subprocess.run([RETICLE, "report", "-i", path, "--csv", "--threads", str(threads), *more],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"report: {done.stderr}")
    return done.stdout


failed = 0
for inherited in (False, True):
    for windows, (mapping, places) in ((True, nowhere()), (False, nowhere()), (True, program())):
        path = f"lanes{inherited:d}{windows:d}{len(places)}.data"
        recording(path, inherited, windows, mapping, places)
        for more in ([], ["--sort", "tid,symbol"]):
            one = table(path, 1, *more)
            if len(one.splitlines()) < 6:
                sys.exit(f"{path} {more}: only {one!r}")
            for threads in (2, 3, 8):
                if table(path, threads, *more) != one:
                    print(f"{path} {more}: {threads} workers show other numbers than one")
                    failed += 1
sys.exit(failed > 0)
