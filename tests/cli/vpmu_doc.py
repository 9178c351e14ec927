#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of cores in doc/vpmu.md holds the numbers of vpmu/model.c, and the schema's keys are those of a truth."""
# check: no binary, plain
import os
import pathlib
import re
import sys

root = pathlib.Path(os.environ["SRCDIR"])
ROWS = {"slots per cycle": "width", "MHz": "mhz", "L1I (64-byte lines)": "l1i", "L1D": "l1d", "L2": "l2", "LLC": "llc",
        "dTLB (4 KiB pages)": "dtlb", "branch history, bits": "history_bits",
        "targets by address, bits": "target_bits", "targets by address and history, bits": "indirect_bits",
        "return stack": "return_depth", "a misprediction, cycles": "mispredict",
        "a taken branch, slots": "taken_slots", "fetch from L2, LLC, memory": "fetch",
        "load from L2, LLC, memory": "load", "store to L2, LLC, memory": "store",
        "dTLB miss of a load, a store": ("tlb_load", "tlb_store"), "multiplication": "COST_MUL",
        "division": "COST_DIV", "floating point arithmetic": "COST_FP", "floating point division": "COST_FP_DIV",
        "square root": "COST_SQRT", "serialising (cpuid, rdtsc, fences)": "COST_SERIALISE", "atomic": "COST_ATOMIC",
        "spin loop hint": "COST_PAUSE", "microcoded": "COST_SLOW", "`rep`: to begin": "repeat_start",
        "`rep movs`, `rep stos`: bytes in a cycle": "repeat_bytes", "`rep cmps`, `scas`, `lods`: each": "repeat_each"}
source = re.sub(r"/\*.*?\*/", "", (root / "vpmu/model.c").read_text(), flags=re.S)
source = source.replace(".op = {", "")
cores = {}
for text in re.split(r"\[VPMU_\w+\] = \{", source)[1:]:
    numbers = {}
    for name, value in re.findall(r"(?:\.|\[)(\w+)\]? = (\{[^}]*\}|\d+)", text):
        numbers[name] = [int(n) for n in re.findall(r"\d+", value)]
    cores[re.search(r'\.name = "([^"]+)"', text)[1]] = numbers
document = (root / "doc/vpmu.md").read_text()
table = [[c.strip() for c in line.strip("|").split("|")] for line in document.splitlines() if line.startswith("|")]
names = table[0][1:]
bad = 0 if sorted(names) == sorted(cores) else 1
found = {row[0]: row[1:] for row in table if row[0] in ROWS}
for label, key in ROWS.items():
    for name, cell in zip(names, found.get(label, [""] * len(names))):
        numbers = cores[name]
        want = sum((numbers[k] for k in key), []) if isinstance(key, tuple) else numbers.get(key, [])
        if key in ("fetch", "load", "store"):
            want = want[1:]
        got = [int(n) for n in re.findall(r"\d+", cell)]
        if got != want:
            print(f"doc/vpmu.md: {label} of {name}: {got}, vpmu/model.c has {want}")
            bad += 1
writer = (root / "src/pass/truth_json.c").read_text()
for key in re.findall(r'begin_list\(w, "(\w+)"\)|put_number\("(\w+)"|put_key\("(\w+)"', writer):
    name = next(k for k in key if k)
    if f"`{name}`" not in document:
        print(f"doc/vpmu.md does not name {name}, which src/pass/truth_json.c writes")
        bad += 1
sys.exit(bad > 0)
