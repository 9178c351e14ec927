#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads
"""report --branch-stack: each branch that samples hold is counted once, whatever keys say. The rows are those of a
model that made the branches, and perf's."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import struct
import sys

from lib.peer import run

RETICLE = os.environ["RETICLE"]
IP, TID, TIME, PERIOD, BRANCH_STACK, IDENTIFIER = 1, 2, 4, 1 << 8, 1 << 11, 1 << 16
ANY, CALL_STACK, NR_FUNCTIONS, SIZE = 8, 1 << 11, 40, 0x100
BASES = (0x7E0000000000, 0x7E0001000000)  # two files of the same functions
KERNEL = 0xFFFFFFFF81000000
BRANCH_FEATURE = 15


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write(path, records, branches=ANY, feature=True):
    attr = struct.pack("<IIQQQQQIIQQQ", 0, 112, 0, 1000, IP | TID | TIME | PERIOD | BRANCH_STACK | IDENTIFIER, 4,
                       1 << 18, 0, 0, 0, 0, branches).ljust(112, b"\0")
    data = b"".join(records)
    at = 104
    head = b"PERFILE2" + struct.pack("<QQ", 104, 128) + struct.pack("<QQ", at + 8, 128)
    head += struct.pack("<QQ", at + 8 + 128, len(data)) + struct.pack("<QQ", 0, 0)
    head += struct.pack("<QQQQ", feature << BRANCH_FEATURE, 0, 0, 0)
    end = at + 8 + 128 + len(data)
    pathlib.Path(path).write_bytes(head + struct.pack("<Q", 7) + attr + struct.pack("<QQ", at, 8) + data +
                                   (struct.pack("<QQ", end, 0) if feature else b""))


def trailer(tid, time):
    return struct.pack("<IIQQ", tid, tid, time, 7)


def comm(tid, name):
    return record(3, struct.pack("<II", tid, tid) + name.encode().ljust(8, b"\0") + trailer(tid, 1))


def mmap(tid, start, length, pgoff, name):
    name = name.encode() + b"\0"
    return record(1, struct.pack("<IIQQQ", tid, tid, start, length, pgoff) + name + b"\0" * (-len(name) % 8) +
                  trailer(tid, 2))


def sample(tid, time, branches):
    body = struct.pack("<QQIIQQ", 7, BASES[0], tid, tid, time, 1000) + struct.pack("<Q", len(branches))
    return record(9, body + b"".join(struct.pack("<QQQ", a, b, flags) for a, b, flags in branches))


def compiled(program, first):
    """A program with a symbol table and lines; (where its code is in the file, its size, where its functions are in
    it)."""
    text = first
    for i in range(NR_FUNCTIONS):
        text += f"int f{i}(int x)\n{{\n\tfor (int i = 0; i < x; i++)\n\t\tx ^= i * {i + 3};\n\treturn x;\n}}\n"
    text += "int main(void)\n{\n\treturn f1(2);\n}\n"
    pathlib.Path(f"{program}.c").write_text(text)
    if run("cc", "-g", "-O0", "-no-pie", "-Wl,-z,separate-code", "-o", program, f"{program}.c").returncode:
        print("no C compiler")
        sys.exit(77)
    code = next(re.split(r"\s+", line.strip()) for line in run("readelf", "-lW", program).stdout.splitlines()
                if line.strip().startswith("LOAD") and " R E " in line)
    offset, address, size = (int(code[i], 16) for i in (1, 2, 4))
    names = {}
    for line in run("nm", "-S", program).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and re.fullmatch(r"f\d+", words[3]):
            names[words[3]] = int(words[0], 16) - address, int(words[1], 16)
    return offset, size, names


def rows(out):
    """Those of a table: what stands behind the share, each with the share. perf may have a row twice, as two of its
    keys do not order values; it says level and offset in its own way of what has no symbol."""
    found = collections.Counter()
    for line in out.splitlines():
        m = re.match(r" +(\d+\.\d+)% +(.*)", line)
        if m:
            text = re.sub(r" +-( +-)?$", " -", re.sub(r"  +", "  ", m[2].strip()))
            text = re.sub(r" +0\.00 +\[ *0\.0%\]$", "", text)  # perf's column of instructions per cycle
            found[text] += round(float(m[1]) * 100)
    return found


def table(path, keys, *options):
    p = run(RETICLE, "report", "--json", "-i", path, "--sort", keys, *options)
    if p.returncode:
        sys.exit(f"--sort {keys} of {path}: {p.stderr}")
    return next(e for e in json.loads(p.stdout)["events"])


def compare(path, keys, *options):
    """Shares are rounded, so that a row that stands twice may be one hundredth off for each."""
    if keys:
        options += ("--sort", keys)
    got = rows(run(RETICLE, "report", "-i", path, "--stdio", "-w", "0", *options).stdout)
    want = rows(run("perf", "report", "-i", path, "--stdio", *options).stdout)
    wrong = {k: (got[k], want[k]) for k in got.keys() | want.keys()
             if abs(got[k] - want[k]) > 3 or (k in got) != (k in want)}
    if not got or wrong:
        sys.exit(f"{path} --sort {keys}: ours and perf's: {dict(list(wrong.items())[:20])}")


# perf takes functions of two files for one where they have the same addresses.
files = {"program": compiled("program", ""), "other": compiled("other", "int before(int x)\n{\n\treturn x + 1;\n}\n")}
rng = random.Random(11)
records = [mmap(0xFFFFFFFF, KERNEL, 0x1000000, KERNEL, "[kernel.kallsyms]_text")]
records[0] = records[0][:4] + struct.pack("<H", 1) + records[0][6:]
for tid, name in (100, "first"), (200, "second"):
    records.append(comm(tid, name))
    records += [mmap(tid, base, size, offset, os.path.abspath(file))
                for base, (file, (offset, size, _)) in zip(BASES, files.items())]
side_band, samples, want, ends = list(records), [], collections.Counter(), []
for base, (file, (_, _, functions)) in zip(BASES, files.items()):
    for name, (start, length) in functions.items():
        ends.append((file, name, base + start))
        ends.append((file, name, base + start + length - 1))
for n in range(600):
    tid, branches = rng.choice((100, 100, 200)), []
    for _ in range(rng.randrange(0, 9)):
        a, b = rng.choice(ends[40:100]), rng.choice(ends[50:90] if rng.random() < 0.7 else ends)
        mispredicted, transaction, abort = rng.random() < 0.2, rng.random() < 0.1, rng.random() < 0.05
        flags = (1 if mispredicted else 2) | transaction << 2 | abort << 3 | rng.choice((0, 0, 1, 7, 300)) << 4
        if rng.random() < 0.02:
            flags &= ~3
        branches.append((a[2], b[2], flags))
        want[("first" if tid == 100 else "second", a, b, flags)] += 1
    records.append(sample(tid, 100 + n, branches))
    samples.append(branches)
write("branches.data", records)

# What is counted: each branch once, by whatever keys, and with any number of workers.
whole = table("branches.data", "comm,dso_from,symbol_from,dso_to,symbol_to,mispredict,in_tx,abort,cycles")
model = collections.Counter()
for (name, a, b, flags), n in want.items():
    known = {0: "N/A", 1: "Y", 2: "N"}[flags & 3]
    model[(name, a[0], a[1], b[0], b[1], known, "T" if flags & 4 else ".", "A" if flags & 8 else ".", flags >> 4)] += n
ours = {tuple(r[k] for k in ("comm", "dso_from", "symbol_from", "dso_to", "symbol_to", "mispredict", "in_tx", "abort",
                             "cycles")):
        r["self"] for r in whole["rows"]}
if ours != dict(model) or whole["weight"] != sum(want.values()):
    sys.exit(f"rows are not those of the model: {set(ours.items()) ^ set(model.items())}")
for keys, of in (("symbol", lambda a, b: b[1]), ("dso", lambda a, b: b[0]), ("symbol_from", lambda a, b: a[1]),
                 ("dso_from", lambda a, b: a[0])):
    model = collections.Counter()
    for (name, a, b, flags), n in want.items():
        model[of(a, b)] += n
    got = collections.Counter()
    for r in table("branches.data", keys)["rows"]:
        got[r[keys]] += r["self"]
    if got != model:
        sys.exit(f"--sort {keys}: {got} instead of {model}")
for workers in "1", "3":
    if (table("branches.data", "symbol_from,srcline_to,cycles", "--threads",
              workers) != table("branches.data", "symbol_from,srcline_to,cycles")):
        sys.exit("the number of workers changes the rows")
lines = table("branches.data", "srcline_from")["rows"]
if (len(lines) != len({r["srcline_from"] for r in lines}) or
        not all(re.match(r"(program|other)\.c:\d+$", r["srcline_from"]) for r in lines)):
    sys.exit(f"lines of sources: {lines}")

# When branches are what is shown: as the recording says, or as the option does.
text = run(RETICLE, "report", "-i", "branches.data").stdout
if f"# Recording: {sum(want.values())} branches" not in text or "Basic Block Cycles" not in text:
    sys.exit("a recording of branches has no table of branches:\n" + text[:1500])
if "# Samples: 600" not in run(RETICLE, "report", "-i", "branches.data", "--no-branch-stack").stdout:
    sys.exit("--no-branch-stack shows branches")
write("samples.data", records, feature=False)
if "# Samples: 600" not in run(RETICLE, "report", "-i", "samples.data").stdout:
    sys.exit("a recording that does not say it is one of branches is shown as one")
if ([r["self"] for r in table("samples.data", "symbol_to", "-b")["rows"]] !=
        [r["self"] for r in table("branches.data", "symbol_to")["rows"]]):
    sys.exit("-b has other rows")
more = run(RETICLE, "report", "-i", "branches.data", "--sort", "+mispredict").stdout
if not re.search(r"# Overhead +Command +Source Shared Object +Source Symbol +Target Symbol +Basic Block Cycles "
                 r"+Branch Mispredicted", more):
    sys.exit("--sort +mispredict:\n" + more[:1500])
write("stacks.data", records, branches=CALL_STACK | 1)
# The recording has none (1), or the command line is wrong (2).
for path, options, word, status in (("stacks.data", ["-b"], "contain branches", 1),
                                    ("stacks.data", ["--branch-history"], "contain branches", 1),
                                    ("stacks.data", ["--total-cycles"], "no samples contain all branches", 1),
                                    ("samples.data", ["-s", "symbol_from"], "--branch-stack", 2),
                                    ("stacks.data", ["-s", "mispredict"], "record with -b", 2),
                                    ("branches.data", ["-b", "--mem-mode"], "exclude", 2),
                                    ("branches.data", ["-b", "--metrics", "ipc"], "exclude", 2),
                                    ("branches.data", ["-b", "--stats"], "not a table", 2)):
    p = run(RETICLE, "report", "-i", path, *options)
    if p.returncode != status or word not in p.stderr:
        sys.exit(f"{options} of {path}: exit status {p.returncode}: {p.stderr}")

# perf's rows.
if not run("perf", "--version").stdout.startswith("perf version 6.1.") if shutil.which("perf") else True:
    print("no perf 6.1 to compare with")
    sys.exit(0)
# With keys of symbols, other than by default, it crashes where the recording has cycles.
KEYS = (None, "comm,dso_from,dso_to,cycles", "dso_from,dso_to", "mispredict", "in_tx,abort", "cycles,mispredict",
        "addr_from,addr_to", "srcline_from,dso_from", "srcline_to,dso_to", "dso,cycles", "cpu,pid")
# Where a record does not say whether a branch was predicted, it says that it was not, or that it was.
write("known.data",
      side_band +
      [sample(rng.choice((100, 200)), n, [(a, b, flags if flags & 3 else flags | 2) for a, b, flags in branches])
       for n, branches in enumerate(samples, 100)])
for keys in KEYS:
    compare("known.data", keys)
compare("samples.data", "dso_to,in_tx", "-b")
write("uncounted.data",
      side_band + [sample(100, n, [(a, b, 2) for a, b, _ in branches]) for n, branches in enumerate(samples, 100)])
for keys in ("dso_from,symbol_from,dso_to,symbol_to", "dso,symbol"):
    compare("uncounted.data", keys)
others = os.environ.get("RETICLE_TEST_DATA")
if others:
    for name in ("quipper/perf.data.branch-4.14", "quipper/perf.data.branch_stack_hw_index"):
        for keys in ("dso_from,dso_to,mispredict", "in_tx,comm,dso"):
            compare(f"{others}/{name}", keys)
    # It cuts names of files there.
    compare(f"{others}/quipper/perf.data.raw_callgraph_branch-3.4", "comm,mispredict,in_tx")
    compare(f"{others}/lbr/autofdo-test.lbr", "dso_from,dso_to", "-b")
