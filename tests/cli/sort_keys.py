#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain, threads
"""report --sort by what samples carry: fields of tracepoints, cgroups, sockets, addresses. The rows are perf's."""
import collections
import json
import os
import re
import sys

from lib.peer import need_perf, run, skip

reticle = os.environ["RETICLE"]
LOAD = ["sh", "-c",
        "ls -R /etc >/dev/null 2>&1; find /etc 2>/dev/null | sort >/dev/null; unshare -C ls -R /etc >/dev/null 2>&1"]


def text_lines(*words):
    """What it prints. Programs of other tests run meanwhile, under names that would steer a terminal: perf prints them
    as they are, and reticle has question marks there."""
    return re.sub(r"[\0-\t\v-\x1f\x7f-\x9f\ufffd]", "?", run(*words).stdout).split("\n")


def rows(tool, path, keys):
    """Of all events together, however columns are padded. perf has two more columns, of branches, where symbols are a
    key; code without symbols reads in another way, and functions of the vDSO are named by what each has of it."""
    found = []
    whole = ["-w", "0"] if tool[0] == reticle else []  # names are not cut
    for line in text_lines(*tool, "report", "--stdio", "-i", path, "-g", "none", "--no-children", "--sort", keys,
                           *whole):
        if re.match(r" +\d+\.\d+%", line) and not re.search(r"vdso|\] (\[|0x|0{8})", line):
            found.append(re.sub(r" - -$", "", re.sub(r" +", " ", line.strip())))
    # doc/differences.md, "Sizes": a symbol without a size before the PLT.
    return sorted(row for row in found if "symbol_size" not in keys or not row.endswith("] _init"))


def compare(path, keys):
    want, got = rows(["perf"], path, keys), rows([reticle], path, keys)
    if not want or want != got:
        sys.exit(f"{path} --sort {keys}:\nperf only: {sorted(set(want) - set(got))[:20]}\n"
                 f"reticle only: {sorted(set(got) - set(want))[:20]}")


def lines_of(tool, path, options):
    """All rows in their order, however columns are padded. Not those of a vDSO, and not what code without symbols
    reads as."""
    # Names are not cut. perf makes a column as wide as the names that threads had last, and cuts longer ones from
    # before, unless it is told; the width of the first column can be.
    whole = (["-w", "0"] if tool[0] == reticle else ["-w", "16"] if options[1].startswith("comm,") and
             "-s" not in options else [])
    # Recorders of other tests wait for their exec meanwhile, under names that perf cuts to what came before.
    lines = (re.sub(r"\b(perf|reticle)-e\w*", r"\1-e", re.sub(r" +", " ", line.strip()))
             for line in text_lines(*tool, "report", "--stdio", "-i", path, "-g", "none", "--no-children", *options,
                                    *whole))
    lines = (re.sub(r"( - -)?$", "", line) for line in lines)
    return [line for line in lines if line and not re.search(r"^#|vdso|\] (\[|0x|0{8})", line)]


def compare_fields(path, options, ordered=True):
    want, got = lines_of(["perf"], path, options), lines_of([reticle], path, options)
    if not ordered:
        want, got = sorted(want), sorted(got)
    if not want or want != got:
        at = next((i for i, pair in enumerate(zip(want, got)) if pair[0] != pair[1]), min(len(want), len(got)))
        sys.exit(f"{path} {options}: row {at}:\nperf: {want[at:at + 5]}\nreticle: {got[at:at + 5]}")


need_perf("tables")

# perf mounts tracefs where it is not; not for the other tests.
p = run("unshare", "-m", "perf", "record", "-q", "-a", "-c", "1", "-e", "sched:sched_switch", "-e", "kmem:kmalloc",
        "-e", "sched:sched_process_exec", "-o", "trace", "--", *LOAD)
if p.returncode or not os.path.exists("trace"):
    skip("no tracepoints here: " + (p.stderr.strip().splitlines() or [""])[0])
for keys in ("prev_comm,next_pid", "prev_state", "sched:sched_switch.next_comm,next_prio", "kmalloc.bytes_req",
             "gfp_flags", "call_site,bytes_alloc", "trace", "filename,cpu"):
    compare("trace", keys)
table = json.loads(run(reticle, "report", "-i", "trace", "--sort", "next_comm,next_pid", "--json").stdout)
switches = next(e for e in table["events"] if e["name"] == "sched:sched_switch")
if sum(r["self"] for r in switches["rows"]) != switches["weight"] or not all(r["next_comm"] for r in switches["rows"]):
    sys.exit(f"not each switch has its thread: {switches}")
if any(r["next_comm"] for e in table["events"] if e["name"] == "kmem:kmalloc" for r in e["rows"]):
    sys.exit("kmem:kmalloc has no field next_comm")
# Columns of --fields are keys, and what rows are sorted by; keys of --sort beside it stand behind them and are what
# rows are sorted by first. perf has fields of tracepoints in --sort only, and sorts those by their bytes.
for options in (["-F", "overhead,sym,cpu"], ["-F", "overhead,sym", "-s", "comm"], ["-F", "comm", "-s", "comm,sym"],
                ["-F", "comm,overhead", "-s", "overhead"], ["-F", "sample,comm"], ["-F", "cpu,overhead,comm"],
                ["-F", "trace,sample"], ["-F", "dso,sample,period"]):
    compare_fields("trace", options)
for options in (["-F", "overhead,sample", "-s", "prev_comm"], ["-F", "comm,overhead", "-s", "next_pid,prev_state"]):
    compare_fields("trace", options, ordered=False)
for fields, keys in (("overhead,prev_comm,next_pid", "prev_comm,next_pid"),
                     ("overhead,kmalloc.bytes_req", "kmalloc.bytes_req")):
    want = sorted(lines_of(["perf"], "trace", ["-s", keys]))
    got = sorted(lines_of([reticle], "trace", ["-F", fields]))
    if not want or want != got:
        sys.exit(f"-F {fields}: perf only: {sorted(set(want) - set(got))[:20]}\nreticle only: "
                 f"{sorted(set(got) - set(want))[:20]}")
for event in json.loads(run(reticle, "report", "-i", "trace", "-F", "cpu,sample,prev_comm", "--no-children",
                            "--json").stdout)["events"]:
    order = [(r["cpu"], -r["samples"], r["prev_comm"]) for r in event["rows"]]
    if not order or order != sorted(order):
        sys.exit(f"-F cpu,sample,prev_comm is not in order of its columns: {order[:20]}")
many = rows([reticle], "trace", "prev_comm,next_pid,prev_state")
for workers in ("1", "3"):
    p = run(reticle, "report", "-i", "trace", "--stdio", "--sort", "prev_comm,next_pid,prev_state", "--threads",
            workers)
    if len(many) != len(re.findall(r"(?m)^ +\d+\.\d+%", p.stdout)):
        sys.exit(f"--threads {workers} has other rows than\n" + "\n".join(many))
for option, name, word in (("--sort", "prev_cpmm", "nor a metric or a field"),
                           ("--sort", "sched_wakeup.prev_comm", "nor a metric or a field"),
                           ("--fields", "overhead,prev_cpmm", "'prev_cpmm' is not one of")):
    p = run(reticle, "report", "-i", "trace", option, name)
    if p.returncode != 2 or word not in p.stderr or f"option {option}: " not in p.stderr:
        sys.exit(f"{option} {name}: exit status {p.returncode}: {p.stderr}")
# Of two such words the option of the first one is blamed.
p = run(reticle, "report", "-i", "trace", "-F", "overhead,prev_cpmm", "-s", "prev_cqmm")
if p.returncode != 2 or "option --fields: 'prev_cpmm'" not in p.stderr:
    sys.exit(f"two unknown words: exit status {p.returncode}: {p.stderr}")

p = run("perf", "record", "-q", "-a", "-F", "997", "-g", "--all-cgroups", "--namespaces", "--code-page-size", "-o",
        "plain", "--", *LOAD)
if p.returncode:
    skip("no sampling of the whole machine here: " + (p.stderr.strip().splitlines() or [""])[0])
for keys in ("socket", "socket,cpu", "cgroup", "addr", "code_page_size", "local_weight", "dso,symbol_size,sym",
             "weight,dso", "cgroup_id,cpu", "cgroup_id", "period,dso", "sample,dso,sym", "overhead,dso"):
    compare("plain", keys)

# Where in its function an instruction is, each sample says for itself.
want = collections.Counter()
for line in run(reticle, "script", "-i", "plain", "--json").stdout.splitlines():
    sample = json.loads(line)
    if "sym" in sample:
        want[f"{sample['sym']}+{sample['off']:#x}"] += sample["period"]
rows_of = json.loads(run(reticle, "report", "-i", "plain", "--no-children", "-g", "none", "--sort", "symoff",
                         "--json").stdout)["events"][0]["rows"]
got = collections.Counter()
for row in rows_of:
    if not row["symoff"].startswith("0x"):
        got[row["symoff"]] += row["self"]
if not want or want != got:
    sys.exit(f"--sort symoff: missing {(want - got).most_common(3)}, too many {(got - want).most_common(3)}")

for options in (["-F", "overhead,dso"], ["-F", "sample,dso", "-s", "socket"], ["-F", "comm,dso,overhead"],
                ["-F", "cpu,sample", "-s", "overhead"]):
    compare_fields("plain", options, ordered=False)
compare_fields("plain", ["-F", "overhead,dso"])
# What is of the kernel, and what of user space: rows of CPUs have both.
for keys in ("cpu", "dso", "cpu,dso,sym", "overhead_sys,overhead_us,cpu"):
    compare_fields("plain", ["--show-cpu-utilization", "-n", "-s", keys], ordered=False)
table = json.loads(run(reticle, "report", "-i", "plain", "--no-children", "--sort", "overhead_sys,comm",
                       "--fields=+overhead_us,overhead_guest_sys", "--threads", "3", "--json").stdout)["events"][0]
if any(r["self"] != r["overhead_sys"] + r["overhead_us"] or r["overhead_guest_sys"] for r in table["rows"]) or \
   not all(any(r[column] for r in table["rows"]) for column in ("overhead_sys", "overhead_us")):
    sys.exit(f"parts of rows are not the whole: {table['rows']}")

# perf works the kernel's size out from its symbols, and says "unknown" of no file; others are as large as they are
# mapped.
sizes = [{line for line in rows(tool, "plain", "dso_size,dso") if "[kernel" not in line and "unknown" not in line}
         for tool in (["perf"], [reticle])]
if not sizes[0] or sizes[0] != sizes[1]:
    sys.exit(f"--sort dso_size,dso: perf only: {sizes[0] - sizes[1]}, reticle only: {sizes[1] - sizes[0]}")
