#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""The virtual PMU against a plugin that counts instructions one by one (tests/sim/step.c): totals, and which
instruction each sample shows. And that neither sampling, truth nor left out models change what is counted."""
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE = os.environ["RETICLE"]
SIM = pathlib.Path(RETICLE).parent / "tests/sim"
ODD, STEP = SIM / "odd", SIM / "vpmu-step.so"
ODD_C = pathlib.Path(os.environ["SRCDIR"]) / "tests/sim/odd.c"
SYSROOT = pathlib.Path("/usr/aarch64-linux-gnu")
EVERY = 97
# Of odd: an instruction that faults begins, which is what step.c sees, but does not retire. So with what QEMU does
# again.
FAULTS = {"x86_64": 400 + 100 + 500, "aarch64": 400}
failed = []


def check(what, ok, *seen):
    if not ok:
        print(f"{what}: {' '.join(map(str, seen))}")
        failed.append(what)


def run(*args):
    return subprocess.run([str(a) for a in args], text=True, capture_output=True, env={})


def totals(*command, pmu="sim"):
    done = run(RETICLE, "stat", f"--pmu={pmu}", "-e", "instructions,branches,r10002,re", "--json", "-o", "stat.json",
               "--", *command)
    check(f"{command}: status", not done.returncode, done.stderr)
    values = [e["value"] for e in json.loads(pathlib.Path("stat.json").read_text())["events"]]
    return dict(zip(("instructions", "branches", "calls", "returns"), values))


def stepped(arch, *command):
    sysroot = ("-L", SYSROOT) if arch == "aarch64" else ()
    done = run(shutil.which(f"qemu-{arch}"), "-plugin", f"{STEP},out={os.getcwd()}/steps,every={EVERY}", "-seed", 1,
               *sysroot, *command)
    check(f"{command}: stepped", not done.returncode, done.stderr)
    lines = [line.split() for line in pathlib.Path("steps").read_text().splitlines()]
    return {k: int(v) for k, v in lines if k != "at"}, [int(v, 16) for k, v in lines if k == "at"]


def sampled(event, period, *command):
    done = run(RETICLE, "record", "--pmu=sim", "-q", "-e", event, "-c", period, "-o", "sampled.data", "--", *command)
    check(f"{command}: record", not done.returncode, done.stderr)
    out = run(RETICLE, "script", "-i", "sampled.data", "-F", "ip").stdout
    return [int(line, 16) for line in out.split()]


def exact(arch, *command, faults=0):
    ours, (steps, pcs) = totals(*command), stepped(arch, *command)
    steps["instructions"] -= faults
    del steps["iterations"]
    check(f"{command}: totals", ours == steps, ours, steps)
    if faults:
        return  # which shift what follows
    seen = sampled("instructions:u", EVERY, *command)
    differ = [i for i, (a, b) in enumerate(zip(seen, pcs)) if a != b]
    check(f"{command}: instructions of samples", seen == pcs, len(seen), len(pcs), differ[:5])


def aarch64():
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if not compiler or not shutil.which("qemu-aarch64") or not (SYSROOT / "lib").exists():
        return
    for how in (["-static"], []):
        built = run(compiler, "-O2", "-w", *how, "-o", "odd.arm", ODD_C)
        check("aarch64: compile", not built.returncode, built.stderr)
        exact("aarch64", "./odd.arm", faults=FAULTS["aarch64"])
        exact("aarch64", "./odd.arm", 100, "calm")


def same_counts():
    """All counts, swept or walked, sampled or not; instructions with and without models."""
    everything = {}
    for name, args in (("plain", ("-e", "cycles:u", "-c", 10_000_019)), ("short", ("-e", "cycles:u", "-c", 211)),
                       ("misses", ("-e", "L1-dcache-load-misses:u", "-c", 7))):
        done = run(RETICLE, "record", "--pmu=sim", "-q", *args, "--truth", f"{name}.json", "-o", f"{name}.data", "--",
                   ODD)
        check(f"same: {name}", not done.returncode, done.stderr)
        everything[name] = json.loads(pathlib.Path(f"{name}.json").read_text())["totals"]
    check("same: sampling", everything["plain"] == everything["short"] == everything["misses"])
    t = everything["plain"]
    check("same: slots",
          t["slots"] == sum(t[f"slots-{part}"] for part in ("retiring", "bad-speculation", "frontend", "backend")))
    check("same: cycles", t["cycles"] == t["slots"] // 4, t)
    names = ["instructions", "cycles", "branch-misses", "L1-dcache-loads", "L1-dcache-load-misses", "L1-dcache-stores",
             "L1-dcache-store-misses", "dTLB-load-misses", "dTLB-store-misses", "L1-icache-load-misses",
             "LLC-load-misses"]
    run(RETICLE, "stat", "--pmu=sim", "-e", ",".join(names), "--json", "-o", "all.json", "--", ODD)
    swept = {n: e["value"] for n, e in zip(names, json.loads(pathlib.Path("all.json").read_text())["events"])}
    check("same: swept", swept == {n: t[n] for n in names}, swept, t)
    for models in ("none", "branch", "cache"):
        check(f"same: models={models}", totals(ODD, pmu=f"sim,models={models}") == totals(ODD))


def deterministic():
    for name in ("one", "two"):
        run(RETICLE, "record", "--pmu=sim", "-q", "-g", "-F", 20000, "-o", f"{name}.data", "--", ODD)
    check("deterministic", filecmp.cmp("one.data", "two.data", shallow=False))


need_sim()
exact("x86_64", "/bin/true")
exact("x86_64", "/bin/ls", "/")
exact("x86_64", ODD, faults=FAULTS["x86_64"])
exact("x86_64", ODD, 100, "calm")
aarch64()
same_counts()
deterministic()
sys.exit(bool(failed))
