#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Arm SPE's samples and packets are printed as perf 6.1 prints them, line for line and in its order."""
import os
import re
import sys

from lib.peer import need_perf, run
from lib.spe_file import N1, two_cpus

RETICLE = os.environ["RETICLE"]
need_perf("lines")
failed = 0


def compare(what, words, keep):
    """perf has no map for kernel addresses here, and names what they lie in in another way: that is left out."""
    global failed
    ours, theirs = ([re.sub(r"( ffff[0-9a-f]{12} \[unknown\]) .*", r"\1", line)
                     for line in run(tool, *w).stdout.splitlines() if keep(line)]
                    for tool, w in ((RETICLE, words[0]), ("perf", words[1])))
    different = sum(a != b for a, b in zip(ours, theirs))
    if not ours or len(ours) != len(theirs) or different:
        print(f"{what}: {len(ours)} lines, perf has {len(theirs)}; {different} differ")
        failed = 1


def rows(tool, words):
    """Rows of a table in no order, without the levels, which perf does not show of all addresses alike, without the
    columns that only perf (IPC) or reticle (pipeline stages of SPE, which has none) shows, and with unresolved
    addresses as perf prints them."""
    def row(line):
        line = re.sub(r"\[[.kX]\] |( - +-)? *$|(?<=  0)  +0$", "", line)
        return " ".join(re.sub(r"\[(?:program|unknown)\+(0x[0-9a-f]+)\]", lambda m: "%#018x" % int(m[1], 16)
                               if int(m[1], 16) else "0" * 16, line).split())
    whole = ["-w", "0"] if tool == RETICLE else []  # names are not cut
    return sorted(row(line) for line in run(tool, *words, *whole).stdout.splitlines()
                  if re.match(r" +[0-9.]+% ", line))


def compare_rows(what, words):
    """What loads and stores cost, by what they met and where."""
    global failed
    ours, theirs = rows(RETICLE, words), rows("perf", words)
    if not ours or ours != theirs:
        print(f"{what}: {len(ours)} rows, perf has {len(theirs)}; "
              f"{len(set(ours) ^ set(theirs))} differ: {sorted(set(ours) ^ set(theirs))[:4]}")
        failed = 1


for name, cpuid in (("unknown", None), ("n1", f"{N1:#018x}")):
    path = name + ".data"
    two_cpus(path, cpuid)
    for itrace in ("fmtbaM", "i1i"):
        for fields in ([], ["-F", "comm,tid,cpu,time,event,ip,data_src,period"]):
            words = ["script", "-i", path, f"--itrace={itrace}", *fields]
            compare(f"{name}: {words}", (words, words), bool)
    compare(f"{name}: packets", (["dump", "-v", "-i", path], ["report", "-D", "-i", path]),
            lambda line: re.match(r"\.  [0-9a-f]{8}: ", line))
    for keys in ("local_weight,mem,snoop,tlb,locked,blocked", "symbol_daddr,local_weight", "phys_daddr,symbol_iaddr"):
        compare_rows(keys, ["report", "--mem-mode", "-n", "--percent-limit", "0", "--stdio", "--itrace=M", "-i", path,
                            "-s", keys])
    for kind in ([], ["-p"], ["--data-page-size"]):
        for access in ("load", "store", "load,store"):
            compare_rows(("mem", kind, access), ["mem", "-t", access, *kind, "report", "-i", path])
sys.exit(failed)
