#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reticle activity: by route, and --slow names the function that only slow requests run; nested activities; who may not record
them, and what cannot be combined."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.machine import need_bpf

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

PROGRAM = r"""
#include <reticle/activity.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define WORK(name)                                             \
	__attribute__((noinline)) static void name(double ms)  \
	{                                                      \
		double until = now() + ms / 1e3;               \
		volatile int x = 0;                            \
                                                               \
		while (now() < until)                          \
			for (int i = 0; i < 3000; i++)         \
				x += i;                        \
	}
WORK(warm)
WORK(parse)
WORK(query)
WORK(rebuild)

int main(void)
{
	static const char *const keys[] = { "http.route" };

	activity_publish(&(struct activity_process){ .service = "shop", .keys = keys, .nr_keys = 1 });
	warm(300);
	for (uint64_t i = 1; i <= 400; i++) {
		struct activity_ids ids = { .trace = { 1 } }, inner = { .trace = { 1 }, .span = { 0xff, 0xff } };

		memcpy(ids.span, &i, 2);
		activity_push(&ids);
		activity_attribute(0, i % 4 ? "/list" : "/buy", i % 4 ? 5 : 4);
		parse(1);
		activity_push(&inner);
		query(1);
		activity_pop();
		if (i % 40 == 0)
			rebuild(10);
		activity_pop();
	}
	return 0;
}
"""


def run(*words, status=0, **more):
    p = subprocess.run(words, capture_output=True, text=True, **more)
    if p.returncode != status:
        sys.exit(f"{' '.join(words)}: exit status {p.returncode}: {p.stderr}")
    return p.stdout if not status else p.stderr


def expect(what, text):
    if what not in text:
        sys.exit(f"no '{what}' in: {text}")


need_bpf()
pathlib.Path("shop.c").write_text(PROGRAM)
run("gcc", "-O1", "-o", "shop", "shop.c", *(str(library / "src" / name) for name in ("activity.c", "process.c")), f"-I{library}/include",
    "-pthread")
run(reticle, "record", "-q", "--activity", "-F", "4000", "--", "./shop")

# The inner activity is one of its own, and has no attribute.
rows = {r["activity"]: r for r in json.loads(run(reticle, "activity", "--json"))["events"][0]["activities"]}
top = {key: [f["symbol"] for f in row["functions"]] for key, row in rows.items()}
print(top)
if "query" in top["/list"] + top["/buy"] or not {"parse"} <= set(top["/list"]) or not {"warm", "query"} <= set(top["[none]"]):
    sys.exit("functions are not those of their routes")
spans = {r["activity"]: r for r in json.loads(run(reticle, "activity", "--json", "--by", "span_id", "--lines", "0"))["events"][0]["activities"]}
if [f["symbol"] for f in spans["ffff000000000000"]["functions"]][0] != "query":
    sys.exit("query does not run in the inner span")
causes = json.loads(run(reticle, "activity", "--json", "--slow", "3"))["events"][0]["causes"]
print(causes[:3])
first = causes[0]["symbol"] if causes else None
heavy = json.loads(run(reticle, "activity", "--json", "--by", "span_id", "--lines", "8"))["events"][0]["activities"]
print([(h["activity"], h["weight"]) for h in heavy])
if first not in ("rebuild", "query"):
    sys.exit(f"--slow does not name rebuild first, but {first}")
if "rebuild" not in [c["symbol"] for c in causes]:
    sys.exit("--slow does not name rebuild")
# One route alone, in all views.
symbols = run(reticle, "report", "-q", "--csv", "--sort", "symbol", "--activity", "http.route=/buy")
if "parse" not in symbols or "query" in symbols or "warm" in symbols:
    sys.exit(f"not the functions of /buy: {symbols}")
folded = run(reticle, "export", "--to", "folded", "--activity", "span_id=ffff000000000000", "-o", "-")
if ";query " not in folded or ";parse " in folded:
    sys.exit(f"not the stacks of the inner activity: {folded}")
lines = run(reticle, "script", "-F", "tid,activity", "--activity", "http.route=/list").splitlines()
if not lines or not all(line.endswith("http.route=/list") for line in lines):
    sys.exit("script shows others, too")
expect("has no activities with 'nothing'", run(reticle, "report", "--activity", "nothing=1", status=2))
expect("is not KEY=VALUE", run(reticle, "report", "--activity", "nothing", status=2))
expect("Hottest functions", run(reticle, "activity"))
expect("none of trace_id", run(reticle, "activity", "--by", "nothing", status=2))
expect("no percentage", run(reticle, "activity", "--slow", "120", status=2))

# Each file of --switch-output says all again.
run(reticle, "record", "-q", "--activity", "-F", "2000", "--switch-output=1s", "-o", "part.data", "--", "./shop")
parts = sorted(pathlib.Path().glob("part.data.*"))
for part in parts[1:]:
    said = next(line for line in run(reticle, "report", "-i", part).splitlines() if line.startswith("# Activities: "))
    print(said)
    # Those that were in the rings when the file began.
    unknown = re.search(r"(\d+) of which nothing is known", said)
    if unknown and int(unknown[1]) > 20:
        sys.exit("samples of a later file have no activity")

# Precise samples at a fixed period may be collected by the processor, unless they have a field that this cannot be done with.
for words, there in (("-c", "1000000"), True), (("-F", "1000"), False):
    run(reticle, "record", "-q", "--activity", "-e", "cpu-clock:p", *words, "-o", "precise.data", "--", "true")
    event = run(reticle, "evlist", "-v", "-i", "precise.data").splitlines()[0]
    if ("RAW" in event) != there:
        sys.exit(f"samples can be collected without their activities, or are larger than they need be: {event}")

# What cannot be, and who may not.
expect("cannot be combined with --overwrite", run(reticle, "record", "--activity", "--overwrite", "-e", "cpu-clock", "true", status=2))
expect("windows: --activity", run(reticle, "record", "--activity", "--window=leader=cpu-clock", "true", status=2))
expect("tracepoints have no activities", run(reticle, "record", "--activity", "-e", "sched:sched_switch", "true", status=1))
run(reticle, "record", "-q", "-e", "cpu-clock", "-o", "plain.data", "--", "true")
expect("has no activities", run(reticle, "activity", "-i", "plain.data", status=1))
if os.geteuid() == 0 and shutil.which("unshare"):
    said = run("unshare", "-pf", "--mount-proc", reticle, "record", "--activity", "-e", "cpu-clock", "true", status=1)
    expect("PID namespace", said)
if os.geteuid() == 0 and shutil.which("setpriv"):
    os.chmod(".", 0o777)
    said = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", reticle, "record", "--activity", "-e", "cpu-clock:u", "true",
               status=1)
    expect("CAP_BPF and CAP_PERFMON", said)
