#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""doc/tables.md: DuckDB runs each of its queries, over recordings of the virtual PMU, and what they say is what
report, mem and c2c say."""
import collections
import csv
import json
import os
import pathlib
import re
import subprocess

from lib import parquet
from lib.machine import need_sim
from lib.readers import ask, need_readers

RETICLE, SRC = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
NR_QUERIES = 10
need_sim()
need_readers()
PROGRAM = """
#include <pthread.h>
struct { volatile long first, second; } counters __attribute__((aligned(64)));
static pthread_barrier_t start;
__attribute__((noinline)) void work(volatile long *n, long times) { for (long i = 0; i < times; i++) ++*n; }
__attribute__((noinline)) void outer(volatile long *n) { work(n, N); work(n, N); }
static void *count(void *n) { pthread_barrier_wait(&start); outer(n); return n; }
int main(void)
{
	pthread_t a, b;
	pthread_barrier_init(&start, 0, 2);
	pthread_create(&a, 0, count, (void *)&counters.first);
	pthread_create(&b, 0, count, (void *)&counters.second);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
"""


def run(*words):
    r = subprocess.run(list(map(str, words)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, f"{words}: {r.stderr}"
    return r.stdout


def sampled(name, *options, times=1000000):
    pathlib.Path(f"{name}.c").write_text(PROGRAM)
    run("cc", "-O1", "-g", "-fno-omit-frame-pointer", f"-DN={times}", "-pthread", "-o", name, f"{name}.c")
    run(RETICLE, *options, "-q", "--pmu=sim", "-o", f"{name}.data", "--", f"./{name}")


def report_sums(recording, *keys, column="self"):
    """{keys: weight} of the first event, as report says"""
    text = run(RETICLE, "report", "-i", recording, "--csv", "--csv-formulas", "--no-inline", "--sort", ",".join(keys))
    sums = collections.Counter()
    for row in csv.DictReader(text.splitlines()):
        sums[tuple("" if row[k].startswith("[") else row[k] for k in keys)] += int(row[column])
    return sums


sampled("samples", "record", "-g", "-e", "cycles:u", "-c", "20011")
sampled("before", "record", "-e", "cycles:u", "-c", "20011", times=300000)
sampled("windows", "record", "--window=short=300", "-c", "20011")
sampled("memory", "c2c", "record", "-c", "100", times=1500000)
run(RETICLE, "export", "-i", "samples.data", "-o", "samples.parquet", "--stacks", "stacks.parquet")
run(RETICLE, "export", "-i", "before.data", "-o", "before.parquet")
run(RETICLE, "export", "-i", "windows.data", "-o", "windows.parquet")
run(RETICLE, "export", "-i", "memory.data", "--rows", "memory", "-o", "memory.parquet")

queries = re.findall(r"```sql\n(.*?)```", (SRC / "doc/tables.md").read_text(), re.S)
assert len(queries) == NR_QUERIES, len(queries)
answers = [None] + ask(*({"sql": q} for q in queries))
for i in range(1, NR_QUERIES + 1):
    assert answers[i], f"query {i} has no answer"

selfs = report_sums("samples.data", "comm", "dso", "symbol")
for comm, dso, symbol, weight, _ in answers[1]:
    assert selfs[comm, dso or "", symbol or ""] == int(weight), (symbol, weight)
totals = report_sums("samples.data", "dso", "symbol", column="total")
for dso, symbol, weight in answers[2]:
    assert not symbol or totals[dso, symbol] == int(weight), (symbol, weight, totals[dso, symbol])
assert {"work", "outer"} <= {row[1] for row in answers[2][:6]}, answers[2]
assert answers[3][0][0] == "outer" and int(answers[3][0][1]) > 0, answers[3]
folded = run(RETICLE, "export", "-i", "samples.data", "--to", "folded", "--no-inline")
most = max(folded.splitlines(), key=lambda line: int(line.rsplit(" ", 1)[1]))
assert [most] in answers[4], (most, answers[4])
everything = sum(selfs.values())
assert sum(int(row[3]) for row in answers[5]) == everything and len({row[0] for row in answers[5]}) > 50
assert len(answers[6]) == 3, answers[6]  # main and two threads
assert answers[7][0][0], answers[7]
# A sample that ends a window counts once, for the leader of its group.
weights = ask({"sql": "SELECT symbol, sum(period)::BIGINT FROM 'windows.parquet' WHERE event LIKE 'cycles%' GROUP BY "
                      "symbol"})[0]
leaders = report_sums("windows.data", "symbol")
del leaders["(all)",]
assert {(s or "",): int(w) for s, w in weights} == leaders, (weights, leaders)
instructions = {row[0]: float(row[2]) for row in answers[8]}
assert instructions["work"] > 0, answers[8]
names, rows, _ = parquet.read("memory.parquet")
latencies = collections.defaultdict(list)
for row in rows:
    latencies[tuple(row[names.index(n)] for n in ("symbol", "op"))].append(row[names.index("total_lat")])
assert [int(row[3]) for row in answers[9]] == sorted(map(sum, latencies.values()), reverse=True)[:20], answers[9]
for symbol, op, accesses, cycles, median, most, _ in answers[9]:
    all_of_them = sorted(latencies[symbol, op])
    assert (int(accesses), int(cycles)) == (len(all_of_them), sum(all_of_them)), (symbol, op)
    assert all_of_them[0] <= int(median) <= int(most) <= all_of_them[-1], (symbol, op)
line = answers[10][0]
assert line[1] == "counters" and line[4:] == ["2", "1"] and int(line[3]) > 0, answers[10]
# Two threads that both use both fields share them truly, each with one of its own does not.
for places, sharers in (([(1, 0), (1, 8), (2, 0), (2, 8)], "2"), ([(1, 0), (2, 8)], "1")):
    accesses = ", ".join(f"({640 + place}::UBIGINT, 'datum', {tid}, 'STORE')" for tid, place in places)
    found = ask({"sql": queries[9].replace("'memory.parquet'",
                                           f"(VALUES {accesses}) t(vaddr, data_symbol, tid, op)")})[0]
    assert found == [["0x280", "datum", str(len(places)), str(len(places)), "2", sharers]], found
shared = json.loads(run(RETICLE, "c2c", "report", "-i", "memory.data", "--json"))
ops, waited = ask({"sql": "SELECT op, count(*) FROM 'memory.parquet' GROUP BY op ORDER BY op"},
                  {"sql": "SELECT sum(total_lat)::BIGINT FROM 'memory.parquet' WHERE op = 'LOAD'"})
assert ops == [["LOAD", str(shared["loads"])], ["STORE", str(shared["stores"])]], (ops, shared)
assert waited == [[str(shared["load_cycles"])]], (waited, shared)
