#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""Samples of the virtual PMU, number by number: periods, schedules, groups, shares, skid, throttling, loss."""
import collections
import filecmp
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.machine import need_sim

RETICLE = os.environ["RETICLE"]
# Plugin and program of a tree with sanitizers do not run under QEMU: the plain tree's serve all.
PLAIN = pathlib.Path(os.environ["SRCDIR"]) / "build"
PLUGIN = PLAIN / "vpmu/reticle-vpmu.so"
COUNTED = PLAIN / "tests/sim/counted"
KEPT = ("PATH", "RETICLE_VPMU", "ASAN_OPTIONS", "UBSAN_OPTIONS")
# Of the environment, which lies above the stack: so that the stack begins at the same address everywhere.
ENV_BYTES = 4000
SHARES = {"four_each": 25.0, "three_each": 37.5, "six_each": 37.5}  # tests/sim/counted.c
failed = []


def check(what, ok, *seen):
    if not ok:
        print(f"{what}: {' '.join(map(str, seen))}")
        failed.append(what)


def environment():
    env = {name: os.environ.get(name, "") for name in KEPT}
    spare = ENV_BYTES - sum(map(len, env.values()))
    assert spare >= 0, env
    return env | {"FILLER": "x" * spare}


def run(*args):
    return subprocess.run([RETICLE, *map(str, args)], text=True, capture_output=True, env=environment())


def record(name, *args, turns=1000, rounds=100, pmu="sim"):
    done = run("record", f"--pmu={pmu}", "-o", name, *args, "--", "./counted", turns, rounds)
    if done.returncode:
        print(f"record {name}: status {done.returncode}: {done.stderr}")
        sys.exit(1)
    return done.stderr


def records(name, kind="SAMPLE"):
    done = run("dump", "-i", name, "--json", "--type", kind)
    check(f"dump {name}", not done.returncode and not done.stderr, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def values(sample):
    return [v["value"] for v in sample["read"]["values"]]


def steps(numbers):
    return [b - a for a, b in zip([0] + numbers, numbers)]


def prepare():
    os.environ["RETICLE_VPMU"] = str(PLUGIN)
    shutil.copy(COUNTED, "counted")


def plain():
    record("plain.data", "-e", "{instructions:u,cycles:u,branches:u}:S", "-P", "-c", 100003, rounds=1000)
    samples = records("plain.data")
    check("plain: samples", 155 < len(samples) < 175, len(samples))
    check("plain: the leader steps by its period", set(steps([values(s)[0] for s in samples])) == {100003})
    check("plain: period", {s["period"] for s in samples} == {100003})
    for i, name in ((1, "cycles"), (2, "branches")):
        check(f"plain: {name} only grow", min(steps([values(s)[i] for s in samples])) > 0)
    check("plain: branches", all(b < a / 3 + 1000 for a, _, b in map(values, samples[5:])))
    check("plain: time only grows", sorted(s["time"] for s in samples) == [s["time"] for s in samples])


def alternating():
    record("alt.data", "-e", "{instructions/period=9700,alt-period=300,period-jitter=0/u,cycles:u}:S")
    samples = records("alt.data")
    check("alternating: windows",
          set(zip((s["period"] for s in samples[::2]), (s["period"] for s in samples[1::2]))) ==
          {(9700, 300)})
    check("alternating: reads", steps([values(s)[0] for s in samples]) == [s["period"] for s in samples])
    windows = [b["time"] - a["time"] for a, b in zip(samples[::2], samples[1::2])]
    # The first of 100 rounds, of 16000 instructions each, meets cold caches, and what comes before it; so does what is
    # behind the last one, when the program ends, near the last sample.
    end = values(samples[-1])[0]
    warm = [w for w, s in zip(windows, samples[::2]) if end - 99 * 16000 + 10000 <= values(s)[0] < end - 10000]
    check("alternating: short windows are short", len(warm) > 150 and max(warm) < 2000, len(warm), max(warm))
    attr = run("evlist", "-v", "-i", "alt.data").stdout
    check("alternating: the attr holds the whole turn", "10000" in attr, attr)
    for burst in range(1, 17):
        record("burst.data", "-e", f"instructions/period=9000,alt-period=50,burst={burst}/u", rounds=30)
        periods = [s["period"] for s in records("burst.data")]
        want = ([9000] + [50] * burst) * (len(periods) // (burst + 1) + 1)
        check(f"burst {burst}", len(periods) > 3 * burst and periods == want[:len(periods)], periods[:40])


def jitter():
    term = "instructions/period=1000,alt-period=60,burst=2,period-jitter=200,alt-period-jitter=21/u"
    record("jitter.data", "-e", "{" + term + "}:S")
    samples = records("jitter.data")
    periods = [s["period"] for s in samples]
    check("jitter: reads", steps([values(s)[0] for s in samples]) == periods)
    for name, got, low, high in (("long", periods[::3], 900, 1100), ("short", periods[1::3] + periods[2::3], 50, 70)):
        check(f"jitter: {name} from {low} to {high}", (min(got), max(got)) == (low, high), min(got), max(got))
        want, counts = len(got) / (high - low + 1), collections.Counter(got)
        chi = sum((counts[v] - want) ** 2 / want for v in range(low, high + 1))
        # About normal with mean n and variance 2n for n degrees of freedom.
        n = high - low
        check(f"jitter: {name} is uniform", abs(chi - n) < 4 * (2 * n) ** 0.5, chi, n)
    record("jitter7.data", "-e", term, pmu="sim,seed=7")
    check("jitter: another seed, other periods", [s["period"] for s in records("jitter7.data")] != periods)


def frequency():
    record("freq.data", "-e", "instructions:u", "-F", 100000, rounds=2000)
    samples = records("freq.data")
    check("frequency: begins with 1", samples[0]["period"] == 1)
    span = samples[-1]["time"] - samples[20]["time"]
    rate = (len(samples) - 21) * 1e9 / span
    check("frequency: samples per second", 97000 < rate < 103000, rate)
    record("altfreq.data", "-e", "instructions/freq=100000,alt-period=77,burst=3/u", rounds=2000)
    periods = [s["period"] for s in records("altfreq.data")]
    check("frequency: short periods stay", all(p == 77 for i, p in enumerate(periods) if i % 4))
    check("frequency: long ones are adapted", len(set(periods[40::4])) > 10)


def report_shares(name, event):
    """Percent per function of what an event counted, of all its samples."""
    done = run("report", "-i", name, "--no-children", "-g", "none", "--percent-limit", 0, "--json")
    rows = next(e["rows"] for e in json.loads(done.stdout)["events"] if e["name"] == event)
    found = collections.Counter()
    for row in rows:
        found[row["symbol"]] += row["self"]
    total = sum(found.values())
    return {symbol: 100 * n / total for symbol, n in found.items()}


def shares():
    record("shares.data", "-e", "instructions:u", "-e", "cycles:u", "-c", 887, "--truth", "shares.json", rounds=6250)
    truth = json.loads(pathlib.Path("shares.json").read_text())
    for count in ("instructions", "cycles"):
        seen, exact = report_shares("shares.data", f"{count}:u"), collections.Counter()
        for f in truth["functions"]:
            exact[f["symbol"]] += 100 * f["counts"].get(count, 0) / truth["totals"][count]
        for name in exact.keys() | seen.keys():
            off = seen.get(name, 0) - exact[name]
            check(f"shares: {count} of {name}", abs(off) < 0.1, seen.get(name), exact[name])
        if count == "instructions":
            three = sum(exact[name] for name in SHARES)
            for name, want in SHARES.items():
                check(f"shares: truth of {name}", abs(100 * exact[name] / three - want) < 0.01, exact[name])
    samples = int(re.search(r"Recording: (\d+) samples", run("report", "-i", "shares.data").stdout).group(1))
    check("shares: 100,000 samples of each", samples > 200000, samples)


def chains():
    record("chains.data", "-e", "instructions:u", "-c", 997, "-g")
    samples = records("chains.data")
    chains = [[ip for ip in s["callchain"] if ip < 1 << 63] for s in samples]
    check("chains: the pc opens the chain", all(c[0] == s["ip"] for c, s in zip(chains, samples)))
    main = collections.Counter(c[1] for c in chains if len(c) > 1).most_common(3)
    check("chains: main called them", sum(n for _, n in main) > 0.9 * len(samples), main)


def windows():
    """What group reads say of each window is what it counted."""
    names = ["instructions", "cycles", "branches", "branch-misses", "L1-dcache-load-misses"]
    members = ",".join(f"{n}:u" for n in names[1:])
    record("windows.data", "-e", "{instructions/period=9700,alt-period=300,period-jitter=50/u," + members + "}:S",
           "--truth", "windows.json")
    samples = records("windows.data")
    exact = json.loads(pathlib.Path("windows.json").read_text())["windows"]
    # A window begins with a sample.
    check("windows: one per sample but the first", len(exact) == len(samples) - 1 > 300, len(exact), len(samples))
    for i, (before, after, window) in enumerate(zip(samples, samples[1:], exact)):
        want = [window["counts"].get(n, 0) for n in names]
        got = [b - a for a, b in zip(values(before), values(after))]
        check(f"windows: number {i}", got == want and window["time"] == after["time"], got, want)
        if len(failed) > 10:
            return


def exec_goes_on():
    done = run("record", "--pmu=sim", "-o", "exec.data", "-e", "{instructions:u,cycles:u}:S", "-c", 10007, "--", "sh",
               "-c", f"exec sh -c 'exec {COUNTED} 1000 10'")
    samples = records("exec.data")
    check("exec: followed", not done.returncode and len(records("exec.data", "COMM")) == 3, done.stderr)
    check("exec: reads go on", set(steps([values(s)[0] for s in samples])) == {10007})
    check("exec: it is the same thread", {s["tid"] for s in samples} == {1})


def inherited():
    """Children have events of their own, unless -i; with -s their ends say what they counted."""
    twice = f"{COUNTED} 1000 10; {COUNTED} 1000 10; true"
    for name, option in (("all.data", "-s"), ("one.data", "-i"), ("thread.data", "--per-thread")):
        done = run("record", "--pmu=sim", "-o", name, option, "-e", "instructions:u,cycles:u", "-c", 10007, "--", "sh",
                   "-c", twice)
        check(f"inherited: {option}", not done.returncode, done.stderr)
    samples, ends = records("all.data"), records("all.data", "READ")
    check("inherited: three processes", {s["tid"] for s in samples} == {1, 2, 3})
    check("inherited: two ends, two events", [(r["pid"], r["tid"]) for r in ends] == [(2, 2)] * 2 + [(3, 3)] * 2, ends)
    for name in "one.data", "thread.data":
        check(f"inherited: {name} is of the first", {s["tid"] for s in records(name)} == {1})


def cpus():
    """Events of virtual CPUs count whoever runs there: their values step by the period over all threads."""
    three = f"{COUNTED} 1000 50 & {COUNTED} 1000 50 & {COUNTED} 1000 50 & wait"
    for n in 1, 2:
        done = run("record", f"--pmu=sim,cpus={n}", "-o", f"cpus{n}.data", "-e", "{instructions:u,cycles:u}:S", "-c",
                   10007, "--", "sh", "-c", three)
        check(f"cpus={n}: runs", not done.returncode, done.stderr)
        in_file = records(f"cpus{n}.data")
        for cpu in range(n):
            times = [s["time"] for s in in_file if s["cpu"] == cpu]
            check(f"cpus={n}: CPU {cpu}'s samples are in order", times == sorted(times))
        samples = sorted(in_file, key=lambda s: s["time"])
        check(f"cpus={n}: four processes", len({s["tid"] for s in samples}) == 4)
        check(f"cpus={n}: no other CPU", {s["cpu"] for s in samples} <= set(range(n)))
        for cpu in range(n):
            own = [values(s)[0] for s in samples if s["cpu"] == cpu]
            check(f"cpus={n}: CPU {cpu} steps by the period", set(steps(own)) <= {10007},
                  collections.Counter(steps(own)))
        # Those samples hold all that was counted, but once.
        report = json.loads(run("report", "--json", "--no-metrics", "-i", f"cpus{n}.data").stdout)
        check(f"cpus={n}: the report's sum", report["events"][0]["weight"] == 10007 * len(samples),
              report["events"][0]["weight"])
    for option in "-i", "--per-thread", "-ecycles/no-inherit/":
        done = run("record", "--pmu=sim,cpus=2", option, "-o", "none.data", "--", "true")
        check(f"cpus=2 {option}: refused", done.returncode == 2 and "whatever runs on them" in done.stderr,
              done.stderr)


def skid():
    record("skid.data", "-e", "{instructions:u}:S", "-c", 1009, pmu="sim,skid=3-10")
    late = [values(s)[0] - 1009 * (i + 1) for i, s in enumerate(records("skid.data"))]
    counts = collections.Counter(late)
    # Samples before a syscall come earlier than asked.
    outside = sum(n for v, n in counts.items() if not 3 <= v <= 10)
    check("skid: within bounds", max(late) == 10 and outside <= 5 and min(late) >= 0, counts)
    check("skid: uniform", all(abs(counts[v] - len(late) / 8) < 4 * (len(late) / 8) ** 0.5 for v in range(3, 11)),
          counts)
    record("precise.data", "-e", "{instructions:ppu}:S", "-c", 1009, pmu="sim,skid=3-10")
    samples = records("precise.data")
    check("skid: not of precise events", set(steps([values(s)[0] for s in samples])) == {1009})
    check("skid: precise ones say so", all(s["misc"] & 1 << 14 for s in samples))


def throttled():
    said = record("throttle.data", "-e", "instructions:u", "-c", 5003, rounds=30000, pmu="sim,throttle=100000")
    samples, on, off = (records("throttle.data", k) for k in ("SAMPLE", "THROTTLE", "UNTHROTTLE"))
    per_tick = collections.Counter(s["time"] // 4000000 for s in samples)
    check("throttle: at most its share of a tick", max(per_tick.values()) == 400, per_tick)
    check("throttle: records", len(on) == sum(n == 400 for n in per_tick.values()) and len(on) - len(off) in (0, 1),
          len(on), len(off))
    check("throttle: is told", f"{len(on)} throttled" in said, said)
    head = run("report", "-i", "throttle.data").stdout
    check("throttle: is reported", re.search(rf"\b{len(on)} throttled", head), head[:400])


def lost():
    record("lost.data", "-e", "{instructions:u}:S", "-c", 1009, pmu="sim,lose=3/20")
    samples, told, at_end = (records("lost.data", k) for k in ("SAMPLE", "LOST", "LOST_SAMPLES"))
    gaps = sum(step // 1009 - 1 for step in steps([values(s)[0] for s in samples]))
    head = run("report", "-i", "lost.data").stdout
    total = sum(r["lost"] for r in told)
    check("lost: three of twenty", total in (gaps, gaps + 1, gaps + 2, gaps + 3) and
          abs(total - (len(samples) + total) * 3 // 20) <= 3, total, gaps, len(samples))
    check("lost: by PERF_FORMAT_LOST", samples[-1]["read"]["values"][0]["lost"] == gaps)
    check("lost: by LOST_SAMPLES", [r["lost"] for r in at_end] == [total], at_end)
    check("lost: is reported", re.search(rf"\b{total} lost", head), head[:400])


def same():
    for name in ("one.data", "two.data"):
        record(name, "-e", "cycles:u", "-F", 20000, "-g")
    check("two runs are the same", filecmp.cmp("one.data", "two.data", shallow=False))


def others():
    record("delay.data", "-D", 1, "-e", "{instructions:u}:S", "-c", 10007, rounds=3000)
    first = records("delay.data")[0]
    check("delay: counts begin there", values(first)[0] == 10007 and 1000000 < first["time"] < 1010000, first)
    record("cost.data", "-e", "{instructions:u}:S", "-c", 100003, pmu="sim,interrupt=3000000")
    costs = [s["time"] for s in records("cost.data")]
    check("interrupt cost: takes time", all(b - a > 1000000 for a, b in zip(costs, costs[1:])), costs[:3])
    check("interrupt cost: is not counted", set(steps([values(s)[0] for s in records("cost.data")])) == {100003})
    record("nr.data", "-e", "instructions/period=1009,nr=5/u")
    check("nr=5", len(records("nr.data")) == 5)


def perf_reads():
    perf = shutil.which("perf")
    if not perf:
        print("perf is not installed: its view is not compared")
        return
    for name in ("plain", "alt", "jitter", "freq", "chains", "skid", "throttle", "lost"):
        for args in (["report", "--stdio"], ["script"], ["report", "-D"]):
            done = subprocess.run([perf, *args, "-i", f"{name}.data"], text=True, capture_output=True)
            complaints = [line for line in done.stderr.splitlines()
                          if line and name != "lost" and "Check IO" not in line]
            check(f"perf {' '.join(args)} of {name}.data", not done.returncode and not complaints, complaints[:3])
    out = subprocess.run([perf, "report", "-D", "-i", "lost.data"], text=True, capture_output=True).stdout
    total = sum(r["lost"] for r in records("lost.data", "LOST"))
    check("perf: lost", sum(int(n) for n in re.findall(r"PERF_RECORD_LOST: id:\d+: lost:(\d+)", out)) == total)


need_sim()
prepare()
for part in (plain, alternating, jitter, frequency, shares, chains, windows, exec_goes_on, inherited, cpus, skid,
             throttled, lost, same, others, perf_reads):
    part()
sys.exit(bool(failed))
