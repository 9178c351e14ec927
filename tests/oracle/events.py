#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the event grammar with perf's: for each text, the attr that perf prints before it opens the event, bit by
bit, and the names in its recording. Needs perf; hardware events are compared although they may not open.

usage: events.py EVENT_ATTRS   (the program of event_attrs.c)"""
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile

HARDWARE = """cpu-cycles cycles instructions cache-references cache-misses branch-instructions branches branch-misses
bus-cycles ref-cycles stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend
idle-cycles-backend""".split()
SOFTWARE = """cpu-clock task-clock page-faults faults minor-faults major-faults context-switches cs cpu-migrations
migrations alignment-faults emulation-faults dummy bpf-output cgroup-switches""".split()
CACHE = """L1-dcache-load-misses L1-dcache-loads L1-dcache l1-d l1d-read L1-data-write-miss L1-dcache-prefetches
L1-icache-load-misses l1-i l1i-loads L1-instruction-prefetch LLC LLC-loads LLC-store-misses L2-read L2-refs LLC-misses
dTLB-loads d-tlb-store-misses Data-TLB-load-misses dTLB-prefetch-misses iTLB-loads iTLB-load-misses i-tlb
Instruction-TLB-read-access branch-loads branch-load-misses branches-loads bpu btb-loads bpc-load-miss node node-loads
node-store-misses node-prefetches L1-dcache-speculative-read L1-dcache-speculative-load-misses LLC-ops LLC-access
LLC-Reference LLC-loads-misses LLC-misses-loads iTLB-stores L1-icache-stores branch-stores branch-prefetches""".split()
MODIFIERS = """u k h uk kh uh ukh p pp ppp up kp upp kpp ukp G H GH uG uH kG kH pG pH Gp Hp Gu Hu GHu uGH ppG I uI
D e De P uP S uS b W uu pppp z uz pGp upG GpH""".split()
RAW = "r0 r3c r1a8:u r0x1a8 rffffffff:k rzz read 0:0 1:0 1:3:u 4:0x3c 3:0x10000 0:1:kp 99:1".split()
BREAKPOINTS = """mem:0 mem:0x1000 mem:0x1000:r mem:0x1000:w mem:0x1000:rw mem:0x1000:x mem:0x1000/1:w mem:0x1000/8:rw:u
mem:0x1000:rw:k mem:4096:u mem:0x1000:rr mem:0x1000:q mem:""".split()
PMU = """msr/tsc/ msr/tsc/u msr/tsc/kp tsc tsc:u TSC msr/event=tsc/ msr/event=0x01/ msr/r1/ msr/event/ msr/foo/
msr/config=5,event=3/ msr/event=3,config=5/ msr/tsc,period=7/ msr/tsc,name=mine/ msr/config1=3,config2=4/
uprobe/retprobe/ uprobe/retprobe=1,ref_ctr_offset=0x10/ uprobe/retprobe=2/ uprobe/config=1/ nosuch/x/ msr//
msr/tsc""".split()
TERMS = """cs/period=5/ cs/freq=50/ cs/name=foo/ cs/name=foo/u cs/period=5,name=foo/k cycles/period=999700/u
cycles/config=1/ cycles/config1=2,config2=3/ cs/nosuch=1/ cs/period=x/ cs// cs//u cs/period=1,freq=7/
r3c/name=x,period=9/ 1:0/period=3/ faults/time=0/ faults/call-graph=fp/ faults/no-inherit/ faults/max-stack=3/
cs/period=0x10/ L1-dcache-loads/period=3/u faults/percore/ cs/time=2/""".split()
TRACEPOINTS = """sched:sched_switch sched:sched_switch:u sched:sched_switch:kp sched:sched_swich nosuch:event
sched:sched_switch/call-graph=fp/ sched:sched_process_exec:k syscalls:sys_enter_openat
raw_syscalls:sys_enter:GH""".split()
GROUPS = """{cs,faults} {cs,faults}:S {cs:u,faults}:S {cs,faults}:k {cs:u,faults:k}:p {cs:G,faults}:u {cs,faults:D}
{cs,faults}:D {cs,faults}:De mine{cs,faults} mine{cs:u,faults}:G cs,faults cs:u,faults:k {cs},faults {cs,faults},dummy
{cs,faults}:S,{dummy,cpu-clock}:k {cs {cs,{faults}} cs,,faults {cs,faults}:z {cs:pp,faults}:pp sched:sched_switch,cs
{sched:sched_switch,cs}:u {cs/period=3/u,faults/name=x/}:S cs:u,{faults,dummy}:H {cs:H,faults:G}:uh""".split()

FLAGS = {name: bit for bit, name in enumerate(
    "disabled inherit pinned exclusive exclude_user exclude_kernel exclude_hv exclude_idle".split())}
FLAGS.update(exclude_host=19, exclude_guest=20)
# What differs on purpose: perf's parser takes or refuses these for no reason that a user would see.
ON_PURPOSE = {
    "branches-loads": "a spelling of perf's own table that its lexer misses",
    "r0x1a8": "accepted by newer perf",
    "{cs": "perf overlooks the missing brace",
}
COMPARED = sum(1 << FLAGS[n] for n in FLAGS if n not in ("disabled", "inherit")) | 3 << 15
ATTR_FREQ = 1 << 10


def texts():
    yield from HARDWARE + SOFTWARE + CACHE + RAW + BREAKPOINTS + PMU + TERMS + TRACEPOINTS + GROUPS
    for event, mods in itertools.product(("cycles", "cs"), MODIFIERS):
        yield f"{event}:{mods}"


def read_attr(block):
    """One perf_event_attr as perf prints it: members that are zero are left out."""
    fields = {}
    for line in block.splitlines():
        m = re.match(r"\s+(\{.*?\}|\w+)\s+(\S+)$", line)
        if m:
            fields[m[1]] = m[2]
    number = lambda *names: next((int(fields[n], 0) for n in names if n in fields), 0)
    flags = sum(number(n) << bit for n, bit in FLAGS.items()) | number("precise_ip") << 15
    return {"type": number("type"), "config": number("config"),
            "config1": number("{ bp_addr, config1 }"), "config2": number("{ bp_len, config2 }"),
            "bp_type": number("bp_type"), "flags": flags & COMPARED,
            "period": 0 if number("freq") else number("{ sample_period, sample_freq }"),
            "freq": number("{ sample_period, sample_freq }") if number("freq") else 0,
            "raw": int("RAW" in fields.get("sample_type", "")), "read": int("READ" in fields.get("sample_type", ""))}


def ask_perf(text, path):
    """None when perf does not accept the text, else (attrs, names or None)."""
    run = subprocess.run(["perf", "record", "-vv", "-c", "4321", "-o", path, "-e", text, "true"], capture_output=True,
                         text=True, errors="replace")
    if "event syntax error" in run.stderr or "Run 'perf list'" in run.stderr:
        return None
    attrs, failed = [], False
    for block in re.findall(r"perf_event_attr:\n(.*?)\n-{20}(.*?)(?=perf_event_attr:|\Z)", run.stderr, re.S):
        if not failed:
            attrs.append(read_attr(block[0]))
        failed = "failed, error" in block[1]
    names = None
    if run.returncode == 0 and "trying to fall back" not in run.stderr:
        out = subprocess.run(["perf", "evlist", "-i", path], capture_output=True, text=True).stdout
        names = [line for line in out.splitlines() if not line.startswith("#")]
    return attrs, names


def ask_us(program, text):
    run = subprocess.run([program, text], capture_output=True, text=True)
    if run.returncode:
        return None
    events = []
    for line in run.stdout.splitlines():
        head, name = line.split(" name=", 1)
        event = {k: int(v, 0) for k, v in (pair.split("=") for pair in head.split())}
        event["name"] = name
        events.append(event)
    return events


def differences(theirs, ours):
    attrs, names = theirs
    for attr, event in zip(attrs, ours):
        for key in ("type", "config", "config1", "config2", "bp_type", "flags", "raw"):
            have = event[key] & COMPARED if key == "flags" else event[key]
            if attr[key] != have:
                yield f"{event['name']}: {key}: perf {attr[key]:#x}, we {have:#x}"
        if ours[event["leader"]]["read"] and ours[event["leader"]] is not event:
            continue  # the leader alone samples
        want = event["period"] or 4321
        have = attr["freq"] if event["flags"] & ATTR_FREQ else attr["period"]
        # -c is stronger than a tracepoint's own period
        if have != want and not (event["period"] == 1 and have == 4321):
            yield f"{event['name']}: period: perf {have}, we {want}"
        if attr["read"] and not ours[event["leader"]]["read"] and not event["read"]:
            yield f"{event['name']}: perf reads the group"
    if names is not None and names != [e["name"] for e in ours] and \
            names != [e["name"] for e in ours] + ["dummy:HG"]:
        yield f"names: perf {names}, we {[e['name'] for e in ours]}"


def main():
    program = sys.argv[1]
    compared = accepted = wrong = 0
    todo = [t for t in dict.fromkeys(texts()) if t not in ON_PURPOSE]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda it: ask_perf(it[1], os.path.join(scratch, str(it[0]))), enumerate(todo))
        for text, theirs in zip(todo, answers):
            ours = ask_us(program, text)
            compared += 1
            if theirs is None or ours is None:
                if (theirs is None) != (ours is None):
                    wrong += 1
                    print(f"{text}: perf {'refuses' if theirs is None else 'accepts'} it, we do not")
                continue
            accepted += 1
            found = list(differences(theirs, ours))
            wrong += bool(found)
            for line in found:
                print(f"{text}: {line}")
    print(f"{compared} texts, {accepted} accepted by both, {wrong} differ")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
