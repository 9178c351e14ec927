#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""The default table tells what waits for L1, for L2 and for memory apart, and its columns are called after the cache
that was counted: cache-references and cache-misses are of another one on each kind of machine."""
import json
import os
import pathlib
import re
import subprocess
import sys

from lib.machine import need_sim

RETICLE = os.environ["RETICLE"]
BUILD = pathlib.Path(RETICLE).parent


def run(*words):
    p = subprocess.run([RETICLE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode:
        sys.exit(f"{words}: exit status {p.returncode}: {p.stderr}")
    return p.stdout + p.stderr


def check(true, what):
    if not true:
        sys.exit(what)


def columns(machine, *features):
    """What the table of a group with cache-references and cache-misses has, of a recording from there."""
    lines = [f"feature {f}" for f in features]
    for i, (name, config) in enumerate((("cycles/period=1000,alt-period=10/", 0), ("instructions", 1),
                                        ("cache-references", 2), ("cache-misses", 3))):
        lines.append(f'event "{name}" type=hardware config={config} period=1010 sample=IP|TID|TIME|READ|IDENTIFIER '
                     f"read=GROUP|ID|ENABLED|RUNNING ids={7 + i} flags=sample_id_all" + (" leader=0" if i else ""))
    lines.append('comm pid=5 time=1 exec "app"')
    at = 1000
    for i in range(9):
        lines.append(f"sample id=7 pid=5 time={at} misc=user ip=0x1000 enabled={at} running={at} "
                     f"values={at},7,{at},8,{at // 2},9,{at // 4},10")
        at += 10 if i % 2 else 1000
    pathlib.Path(f"{machine}.recipe").write_text("\n".join(lines) + "\n")
    subprocess.run([BUILD / "tests/recipe/recipe", f"{machine}.recipe", machine], check=True)
    return set(json.loads(run("report", "-i", machine, "--json", "--attribution", "keep"))["events"][0]["metrics"])


for machine, features, want in (
        ("arm", ('arch "aarch64"', 'cpuid "0x00000000413fd0c1"'), {"CM/KI", "%CM", "%L1DA", "%L1DM"}),
        ("intel", ('arch "x86_64"', 'cpuid "GenuineIntel,6,85,4"'), {"LLC/KI", "LLC%", "%LLCM"}),
        ("amd", ('arch "x86_64"', 'cpuid "AuthenticAMD,25,1,1"'), {"L2/KI", "L2%", "%L2M"}),
        ("power", ('arch "ppc64le"', 'cpuid "004e0202"'), {"L1D/KI", "L1D%", "%L1DM"}),
        ("simulated", ('arch "aarch64"', 'cpuid "reticle-sim:neoverse-n1,1,0,0"'), {"LLC/KI", "LLC%", "%LLCM"})):
    got = columns(machine, *features) - {"CPI", "%CY", "%I"}
    check(got == want, f"{machine}: {sorted(got)}, not {sorted(want)}")

need_sim()
chase = BUILD / "bench/chase"
if not chase.exists():  # trees with sanitizers have no workloads
    chase = pathlib.Path(os.environ["SRCDIR"]) / "build/bench/chase"
run("record", "-q", "--pmu=sim", "-F", "50000", "-o", "chase.data", "--", str(chase))  # it runs for 0.12 s
event = json.loads(run("report", "-i", "chase.data", "--json"))["events"][0]
rows = {r["symbol"]: {name: m["value"] for name, m in r["metrics"].items()} for r in event["rows"] if "metrics" in r}
# One instruction of three is a load; each misses where the chain is too large for the cache.
for name, l1d, llc in (("chase_l1", 0, 0), ("chase_l2", 333, 0), ("chase_memory", 333, 333)):
    got = rows[name]
    check(abs(got["L1D/KI"] - l1d) < 100 and abs(got["LLC/KI"] - llc) < 100, f"{name}: {got}")
check("%L1DA" not in rows["chase_l1"], "shares of L1D accesses, which nobody counted")
# The usual rate is for programs that run for seconds. Where it gives few windows, a line below the table says how many
# there are, and a rate that gives enough.
run("record", "-q", "--pmu=sim", "-o", "few.data", "--", str(chase))
text = run("report", "-i", "few.data")
few = re.search(r"^# There are only (\d+) windows, so most intervals are wide: .*\(record -F (\d+)\)\.$", text, re.M)
check(few and 50 < int(few[1]) < 1000, f"no line about few windows:\n{text}")
run("record", "-q", "--pmu=sim", "-F", few[2], "-o", "enough.data", "--", str(chase))
text = run("report", "-i", "enough.data")
enough = re.search(r"^# Windows: \d+ of (\d+) kept", text, re.M)
check(enough and int(enough[1]) > 2500 and "There are only" not in text, f"-F {few[2]} is not enough:\n{text}")
check(rows["chase_l2"]["%L1DM"] > 60 and rows["chase_l2"]["%LLCM"] < 10, f"shares: {rows}")
