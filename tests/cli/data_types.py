#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mem report --sort type,typeoff: of each sampled load and store of a program that says where its objects lie, the
type and the offset are what lies at the address of the data; no compiler's code, DWARF version or architecture makes
one of them wrong, and few are not known."""
import csv
import io
import os
import re
import shutil
import subprocess
import sys

from lib.checks import Checks
from lib.machine import need, need_sim

RETICLE = os.environ["RETICLE"]
SOURCE = os.environ["SRCDIR"] + "/tests/sim/typed.c"
X86 = ("cpu/mem-loads,ldlat=1/P,cpu/mem-stores/P", "-d", "-c", "41")
ARM = ("arm_spe_0/load_filter=1,store_filter=1,jitter=1/", "-c", "100")
# name: compiler and options, what is recorded, the least share that is known
PROGRAMS = {
    "gcc-O2": (["gcc", "-O2", "-gdwarf-5"], X86, 0.95),
    "gcc-O0": (["gcc", "-O0", "-gdwarf-4"], X86, 0.95),
    "gcc-fixed": (["gcc", "-O1", "-gdwarf-4", "-no-pie", "-fno-pie"], X86, 0.95),
    "g++-O3": (["g++", "-x", "c++", "-O3", "-gdwarf-4"], X86, 0.95),
    "clang-O2": (["clang", "-O2", "-gdwarf-4"], X86, 0.95),
    "clang++-O1": (["clang++", "-x", "c++", "-O1", "-gdwarf-5"], X86, 0.95),
    "arm-O2": (["aarch64-linux-gnu-gcc", "-O2", "-g", "-static"], ARM, 0.95),
    "arm-O0": (["aarch64-linux-gnu-gcc", "-O0", "-g", "-static"], ARM, 0.95),
}
# What lies in these types: from, to, type, its size.
WITHIN = {
    "struct item": [(8, 24, "struct link", 16), (24, 88, "struct point", 16)],
    "struct node": [(8, 56, "entry_t", 48)],
    "struct table": [(8, 776, "entry_t", 48)],
    "entry_t": [(8, 24, "struct point", 16), (24, 48, "char", 1)],
    "shapes::square": [(0, 24, "shapes::shape", 24), (24, 40, "struct point", 16)],
}
# Loads and stores of more than 8 bytes are two to the simulated core; of two registers, too.
WIDE = re.compile(r"\t(ldp|ldpsw|stp|[a-z]*movup[sd]|[a-z]*movap[sd]|[a-z]*movdq[ua]|str|ldr|stur|ldur)\b.*"
                  r"(xmm|ymm|\bq\d|\b[wxd]\d+, [wxd]?(\d|zr))")
check = Checks()


def run(*words):
    p = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode:
        print(f"{words}: {p.returncode}: {p.stderr}")
        sys.exit(1)
    return p.stdout


def plain(name):
    return name.replace("long int", "long")


def objects(text):
    """-> objects: from, to, type, size, function in whose frame they are; arrays: type, from, to, size"""
    found, arrays = [], [("struct table", 8 + 24, 8 + 48, 1)]
    for line in text.splitlines():
        kind, *words = line.split()
        low, high, size = int(words[-3], 16) if words[-3] != "0" else 0, int(words[-2], 16), int(words[-1])
        if kind == "array":
            arrays.append((" ".join(words[:-3]), low, high, size))
        elif kind == "local":
            found.append((low, high, " ".join(words[1:-3]), size, words[0]))
        else:
            found.append((low, high, plain(" ".join(words[:-3])), size, None))
    return found, sorted(arrays, key=lambda a: a[1] - a[2])  # the largest first: others lie in their elements


def wide_instructions(program, tool):
    """-> function: offsets of instructions that load or store more than 8 bytes"""
    wide, function, start = {}, None, 0
    for line in run(tool, "-d", "--no-show-raw-insn", "-C", program).splitlines():
        head = re.match(r"([0-9a-f]+) <(.*)>:$", line)
        if head:
            function, start = re.split(r"[(.]", head[2])[0], int(head[1], 16)
        elif WIDE.search(line):
            wide.setdefault(function, set()).add(int(line.split(":")[0], 16) - start)
    return wide


def possible(arrays, kind, offset):
    """-> all (type, offset) that are true of a byte of an object of that type; of elements of arrays the first"""
    left, seen = [(kind, offset)], set()
    while left:
        kind, offset = left.pop()
        for low, high, inner, size in WITHIN.get(kind, []):
            if low <= offset < high:
                left.append((inner, (offset - low) % size))
        for of, low, high, size in arrays:
            if of == kind and low <= offset < high:
                offset = low + (offset - low) % size
        seen.add((kind, offset))
    return seen


def report(name, *options):
    return run(RETICLE, "mem", "report", "-i", name + ".data", "--sort", "type,typeoff,typecln,daddr,symbol_iaddr",
               "--csv", *options)


def judge(name, said, program, tool, least):
    found, arrays = objects(said)
    wide = wide_instructions(program, tool)
    known = unknown = 0
    text = report(name)
    check(f"{name}: the same by what the cache has, and without it",
          report(name) == text and report(name, "--no-cache") == text)
    for row in csv.DictReader(io.StringIO(text)):
        address, n = int(row["daddr"] or "0", 16), int(row["samples"])
        function, _, at = row["symbol_iaddr"].rpartition("+")
        function = re.split(r"[(.]", function)[0]
        kind, place = plain(row["type"]), plain(row["typeoff"])
        offset, members = re.fullmatch(re.escape(kind) + r" \+(\S+) \((.*)\)", place).groups()
        offset = int(offset, 0)
        check(f"{name}: {row['typecln']} of {place}", plain(row["typecln"]) == f"{kind}: cache-line {offset // 64}")
        for low, high, true, size, owner in found:
            if not low <= address < high or (owner and owner != function):
                continue
            if kind == "(unknown)":
                unknown += n
                break
            known += n
            behind = (0, 4, 8, 16, 24) if int(at, 16) in wide.get(function, ()) else (0,)
            right = {pair for more in behind for pair in possible(arrays, true, (address - low - more) % size)}
            here = possible(arrays, kind, offset)
            check(f"{name}: {row['symbol_iaddr']}: {place}, and it is {true} +{(address - low) % size}",
                  here & right and (members == "no field") == (kind not in WITHIN and not kind.startswith("struct ")
                                                               and kind not in ("pair_t",) or kind.endswith("*")))
            break
    share = known / max(1, known + unknown)
    print(f"{name}: of {known + unknown} samples in known objects, {100 * share:.1f} % have a type")
    check(f"{name}: {known} of {known + unknown} are known ({share:.3f})", known > 500 and share >= least)


def main():
    need_sim()
    for name, (compiler, (events, *how), least) in PROGRAMS.items():
        tool = "aarch64-linux-gnu-objdump" if name.startswith("arm") else "objdump"
        need(not shutil.which(compiler[0]) and f"{compiler[0]} is not installed")
        run(*compiler, SOURCE, "-o", name)
        said = run(RETICLE, "record", "-q", "--pmu=sim", "-e", events, *how, "-o", name + ".data", "--", "./" + name)
        judge(name, said, name, tool, least)
    sys.exit(check.failed)


main()
