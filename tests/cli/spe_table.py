#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: threads, leaks
"""reticle spe: each value of its rows is computed here, from operations whose fields are known or as dump prints
them."""
import csv
import io
import json
import math
import os
import random
import re
import sys

from lib.checks import Checks
from lib.peer import run
from lib.spe_file import (BASE, L1_ACCESS, L1_REFILL, LLC_ACCESS, LLC_REFILL, MISPREDICTED, N1, NOT_TAKEN, REMOTE,
                          TLB_ACCESS, TLB_WALK, Operation, Recording, payload, two_cpus)

RETICLE = os.environ["RETICLE"]
PLACES = {0: "L1", 8: "L2", 9: "peer core", 10: "local cluster", 11: "system cache", 12: "peer cluster", 13: "remote",
          14: "DRAM"}
LATENCIES = "total", "issue", "translation"
check = Checks()


def table(path, *words):
    p = run(RETICLE, "spe", "-i", path, "--json", *words)
    if p.returncode:
        print(f"spe {words} ended with {p.returncode}: {p.stderr}")
        sys.exit(1)
    return json.loads(p.stdout)


class Known:
    """An operation in the terms of the table."""

    def __init__(self, pc, kind, events, latency, source=None, address=None, known_core=True):
        self.pc, self.events, self.latency, self.address = pc, events, latency, address
        self.kind = kind
        if kind == "load" and known_core and source in PLACES:
            self.kind = "load", PLACES[source]
        elif kind == "load":
            self.kind = "load", ("beyond the last-level cache" if events & LLC_REFILL else "last-level cache"
                                 if events & LLC_ACCESS
                                 else "beyond L1" if events & L1_REFILL else "L1" if events & L1_ACCESS else "unknown")
        else:
            self.kind = kind, None


def percentile(values, p):
    """The least value that p of 100 values do not exceed."""
    return sorted(values)[math.ceil(len(values) * p / 100) - 1]


def wilson(n, of):
    z, p = 1.959964, n / of
    middle, half = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return [100 * x / (1 + z * z / of) for x in (middle - half, middle + half)]


def histogram(what, bars, values):
    """Each latency is counted where it lies, in classes that do not overlap: one cycle below 64, 1/32 of it above."""
    check(f"{what}: {bars} is in order", all(a[1] < b[0] for a, b in zip(bars, bars[1:])))
    check(f"{what}: counts of {bars}",
          [n for _, _, n in bars] == [sum(a <= v <= b for v in values) for a, b, _ in bars] and
          sum(n for _, _, n in bars) == len(values))
    check(f"{what}: width of {bars}", all(b - a + 1 == (1 if a < 64 else 1 << a.bit_length() - 6) for a, b, _ in bars))


def compare(what, found, ops):
    """One row, or one part of it, with the operations that are in it."""
    check(f"{what}: {found['operations']} operations of {len(ops)}", found["operations"] == len(ops))
    for name in LATENCIES:
        values = [o.latency[name] for o in ops if o.latency.get(name) is not None]
        row = found[name]
        if not values:
            check(f"{what}: no {name}", row == {"mean": None, "p50": None, "p95": None, "p99": None} and
                  not found["histograms"][name])
            continue
        histogram(f"{what}: {name}", found["histograms"][name], values)
        check(f"{what}: mean {name}", math.isclose(row["mean"], sum(values) / len(values), rel_tol=1e-6))
        for p in (50, 95, 99):
            exact = percentile(values, p)
            check(f"{what}: p{p} of {name}: {row[f'p{p}']} for {exact}", abs(row[f"p{p}"] - exact) <= exact / 32
                  if exact >= 64
                  else row[f"p{p}"] == exact)
    memory = [o for o in ops if o.kind[0] in ("load", "store")]
    branches = [o for o in ops if o.kind[0] == "branch"]
    for name, bit, among in (("l1d_miss", L1_REFILL, [o for o in memory if o.events & (L1_ACCESS | L1_REFILL)]),
                             ("llc_miss", LLC_REFILL, [o for o in memory if o.events & (LLC_ACCESS | LLC_REFILL)]),
                             ("tlb_walk", TLB_WALK, [o for o in memory if o.events & (TLB_ACCESS | TLB_WALK)]),
                             ("remote", REMOTE, memory), ("not_taken", NOT_TAKEN, branches),
                             ("mispredicted", MISPREDICTED, branches)):
        n, ratio = sum(bool(o.events & bit) for o in among), found[name + "_percent"]
        if not among:
            check(f"{what}: {name} of none", ratio is None)
            continue
        check(f"{what}: {name} {ratio} is {n}/{len(among)}",
              (ratio["numerator"], ratio["denominator"]) == (n, len(among)) and
              math.isclose(ratio["value"], 100 * n / len(among), rel_tol=1e-6))
        interval = zip((ratio["low"], ratio["high"]), wilson(n, len(among)))
        check(f"{what}: interval of {name}",
              all(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) for a, b in interval))


def compare_all(what, found, ops, key):
    """A table whose rows are those of key(operation)."""
    expected = {}
    for o in ops:
        expected.setdefault(key(o), []).append(o)
    event = found["events"][0]
    rows = {row["addr"] if "addr" in row else row["daddr"]: row for row in event["rows"]}
    check(f"{what}: {len(rows)} rows of {len(expected)}", rows.keys() == expected.keys() and
          len(rows) == len(event["rows"]))
    compare(what + ": all", event["total"], ops)
    check(f"{what}: most operations first", [r["operations"] for r in event["rows"]] ==
          sorted((len(v) for v in expected.values()), reverse=True))
    for at, of in expected.items():
        if at not in rows:
            continue
        compare(f"{what}: {at}", rows[at], of)
        kinds = {}
        for o in of:
            kinds.setdefault(o.kind, []).append(o)
        parts = {(k["kind"], k.get("source")): k for k in rows[at]["kinds"]}
        check(f"{what}: kinds {parts.keys()} of {at}", parts.keys() == kinds.keys())
        for kind in parts.keys() & kinds.keys():
            compare(f"{what}: {at} {kind}", parts[kind], kinds[kind])


def known(o, known_core):
    kind = ("load", "store", "branch", "other")[o.kind]
    total, issue, translation = o.latency
    return Known(o.pc, kind, o.events,
                 {"total": total, "issue": issue, "translation": translation if o.address is not None else None},
                 o.source, o.address, known_core)


def known_operations():
    for path, cpuid in (("n1.data", f"{N1:#018x}"), ("unknown.data", None)):
        cpus, _ = two_cpus(path, cpuid)
        ops = [known(o, cpuid is not None) for cpu in cpus for o in cpu]
        whole = table(path, "-s", "addr", "--threads", "2")
        check(path + ": any number of threads", whole == table(path, "-s", "addr", "--threads", "1"))
        compare_all(path, whole, ops, lambda o: o.pc)
        if not cpuid:
            break
        memory = [o for o in ops if o.kind[0] in ("load", "store")]
        compare_all(path + ": data", table(path, "-s", "daddr"), memory, lambda o: f"{o.address:#018x}")
        first = [known(o, cpuid is not None) for o in cpus[0]]
        compare_all(path + ": one CPU", table(path, "-s", "addr", "-C", "0"), first, lambda o: o.pc)
        missed = [o for o in ops if o.events & MISPREDICTED]
        compare_all(path + ": mispredicted", table(path, "-s", "addr", "--itrace=b"), missed, lambda o: o.pc)


def forms():
    """CSV has the same values, text has them rounded."""
    whole = table("n1.data", "-s", "dso")["events"][0]
    text = run(RETICLE, "spe", "-i", "n1.data", "-s", "dso", "--csv").stdout
    for row, other in zip(whole["rows"], csv.DictReader(io.StringIO(text))):
        check("CSV has the row", row["dso"] == other["dso"] and row["operations"] == int(other["operations"]))
        check("CSV has latencies",
              all(math.isclose(float(other[f"{n}_{k}"]), v) for n in LATENCIES for k, v in row[n].items()))
        check("CSV has ratios",
              math.isclose(float(other["mispredicted_percent_low"]), row["mispredicted_percent"]["low"]))
        for part in row["kinds"]:
            name = "_".join([part["kind"], *part.get("source", "").lower().split()])
            name = {"load_last-level_cache": "load_llc",
                    "load_beyond_the_last-level_cache": "load_beyond_llc"}.get(name, name)
            check(f"CSV has {name}", int(other[name + "_operations"]) == part["operations"] and
                  math.isclose(float(other[name + "_total_mean"]), part["total"]["mean"]))
    text = run(RETICLE, "spe", "-i", "n1.data", "-s", "dso").stdout
    parts = [(float(share), int(n), name)
             for share, n, name in re.findall(r"^ +([0-9.]+)% +(\d+) .*?    ((?:load from .*|store|branch|other))$",
                                              text, re.M)]
    expected = [(round(100 * k["operations"] / r["operations"], 2), k["operations"],
                 f"load from {k['source']}" if "source" in k else k["kind"]) for r in whole["rows"]
                for k in r["kinds"]]
    check(f"text has all parts: {parts}", parts == expected)
    check("text names the core, and what is wrong with it", "# Cores: Neoverse-N1\n" in text and
          "Some revisions of Neoverse-N1" in text)
    share = run(RETICLE, "spe", "-i", "n1.data", "-s", "dso", "-q", "--no-kinds").stdout.splitlines()
    check(f"rows alone: {share}", len(share) == len(whole["rows"]) + 1 and share[-1].endswith("(all)"))
    first = table("n1.data", "-s", "dso", "--rows", "1", "--no-kinds")["events"][0]["rows"]
    check(f"JSON of one row without kinds: {first}",
          first == [{k: v for k, v in whole["rows"][0].items() if k != "kinds"}])
    columns, *first = csv.reader(io.StringIO(run(RETICLE, "spe", "-i", "n1.data", "-s", "dso", "--csv", "--rows", "1",
                                                 "--no-kinds").stdout))
    check(f"CSV of one row without kinds: {columns}", len(first) == 1 and first[0][0] == whole["rows"][0]["dso"] and
          not any(c.startswith(("load_", "store_", "branch_", "other_")) for c in columns))
    check("small rows are left out",
          len(table("n1.data", "-s", "dso", "--percent-limit", "50")["events"][0]["rows"]) == 1)


def latencies():
    """Percentiles of a distribution with a long tail, at every size of number."""
    rng = random.Random(5)
    ops = [Operation(Operation.LOAD, BASE + 4 * (i % 3), 1000 + i, address=64,
                     latency=(int(2 ** rng.uniform(0, 16)) - 1, i % 64, 65535 * (i % 2)))
           for i in range(3000)]
    r = Recording()
    r.thread(1, 1, "p")
    r.buffer(0, 1, payload(ops))
    r.write("tail.data")
    compare_all("long tail", table("tail.data", "-s", "addr"), [known(o, False) for o in ops], lambda o: o.pc)


def published(directory):
    """As `dump -v` prints the packets of recordings that others published."""
    names = {"RETIRED": 2, "L1D-ACCESS": L1_ACCESS, "L1D-REFILL": L1_REFILL, "TLB-ACCESS": TLB_ACCESS,
             "TLB-REFILL": TLB_WALK, "NOT-TAKEN": NOT_TAKEN, "MISPRED": MISPREDICTED, "LLC-ACCESS": LLC_ACCESS,
             "LLC-REFILL": LLC_REFILL, "REMOTE-ACCESS": REMOTE}
    counters = {"ISSUE": "issue", "TOT": "total", "XLAT": "translation"}
    some = 0
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".perf.data"):
            continue
        path, ops, now = os.path.join(directory, name), [], {"latency": {}, "events": 0}
        for line in re.findall(r"^\.  [0-9a-f]{8}: (?: [0-9a-f]{2})+ +(\S.*)$",
                               run(RETICLE, "dump", "-v", "-i", path).stdout, re.M):
            word, *rest = line.split()
            if word == "PC":
                top = rest[1] in ("el1", "el2") and rest[2] == "ns=1"
                now["pc"] = int(rest[0], 16) | (0xFF << 56 if top else 0)
            elif word == "EV":
                now["events"] = sum(names[n] for n in rest)
            elif word == "LAT":
                now["latency"][counters[rest[1]]] = int(rest[0])
            elif word in ("LD", "ST", "B", "OTHER"):
                now["kind"] = {"LD": "load", "ST": "store", "B": "branch", "OTHER": "other"}[word]
            elif word == "DATA-SOURCE":
                now["source"] = int(rest[0])
            elif word == "TS":
                ops.append(Known(**now, known_core=False))
                now = {"latency": {}, "events": 0}
        compare_all(name, table(path, "-s", "addr"), ops, lambda o: o.pc)
        some += len(ops)
    check(f"{some} published operations", some >= 21)


def activities():
    """An operation belongs to what its thread worked for then."""
    r = Recording()
    r.thread(1, 1, "p")
    r.works_for(1, b"\1" * 8, 500)
    r.works_for(1, b"\2" * 8, 1500)
    r.buffer(0, 1, payload([Operation(Operation.LOAD, BASE + t, t, address=64) for t in (1000, 2000, 3000)]))
    r.write("activity.data")
    rows = table("activity.data", "-s", "addr", "--activity", "span_id=" + "01" * 8)["events"][0]["rows"]
    check(f"operations of an activity: {rows}", [row["addr"] for row in rows] == [BASE + 1000])
    text = run(RETICLE, "export", "-i", "activity.data", "--to", "csv", "--rows", "memory", "--activity",
               "span_id=" + "02" * 8).stdout
    times = [row["time"] for row in csv.DictReader(io.StringIO(text))]
    check(f"accesses of an activity: {times}", times == ["2000", "3000"])


def wrong_use():
    p = run(RETICLE, "spe", "-i", "n1.data", "-s", "overhead")
    check("values are no keys: " + p.stderr, p.returncode == 2 and "'overhead' is not one of comm, pid" in p.stderr)
    for words in (["--csv", "--json"], ["--csv", "--header"], ["--json", "--header"], ["--stdio", "--json"]):
        p = run(RETICLE, "spe", "-i", "n1.data", *words)
        check(f"{words} at once: {p.stderr}", p.returncode == 2 and not p.stdout and all(w in p.stderr for w in words))
    r = Recording(kind=1)
    r.thread(1, 1, "p")
    r.write("none.data")
    p = run(RETICLE, "spe", "-i", "none.data")
    check("no data of SPE: " + p.stderr, p.returncode == 1 and "holds no data of Arm SPE" in p.stderr)


known_operations()
forms()
latencies()
activities()
wrong_use()
data = os.environ.get("RETICLE_TEST_DATA")
if data and os.path.isdir(os.path.join(data, "spe")):
    published(os.path.join(data, "spe"))
sys.exit(check.failed)
