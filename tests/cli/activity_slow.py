#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""reticle activity: by route, and --slow names the function that only slow requests run; nested activities; who may
not record them, and what cannot be combined."""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.activity_truth import WORK
from lib.machine import need_bpf

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

PROGRAM = WORK + r"""
#include <reticle/activity.h>
#include <string.h>
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

PAGES = """
#include <reticle/activity.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static char *page;

__attribute__((noinline)) static void touch(int n)
{
	for (int i = 0; i < n; i++, page += 4096)
		*(volatile char *)page = 1;
}

__attribute__((noinline)) static void rebuild(int n)
{
	for (int i = 0; i < n; i++, page += 4096)
		*(volatile char *)page = 1;
}

int main(void)
{
	long size = 1000 * 4096L + (2 << 20);

	activity_publish(&(struct activity_process){ .service = "pages" });
	page = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(page, size, MADV_NOHUGEPAGE);
	touch(20);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, 0); /* the recorder sees the process */
	for (uint64_t i = 1; i <= 400; i++) {
		struct activity_ids ids = { .trace = { 1 } };

		memcpy(ids.span, &i, 2);
		activity_push(&ids);
		touch(1);
		if (i % 40 == 0)
			rebuild(i % 80 ? 9 : 10);
		activity_pop();
	}
	return 0;
}
"""


STEADY = """
#include <reticle/activity.h>

int main(void)
{
	static const char *const keys[] = { "http.route" };
	struct activity_ids ids = { .trace = { 1 }, .span = { 1 } };
	volatile unsigned long x = 0;

	activity_publish(&(struct activity_process){ .service = "steady", .keys = keys, .nr_keys = 1 });
	activity_push(&ids);
	activity_attribute(0, "/long", 5);
	for (;;)
		x++;
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
run("gcc", "-O1", "-o", "shop", "shop.c", *(str(part) for part in (library / "src").glob("*.c")),
    f"-I{library}/include", "-pthread")
run(reticle, "record", "-q", "--activity", "-F", "4000", "--", "./shop")

# The inner activity is one of its own, and has no attribute.
rows = {r["activity"]: r
        for r in json.loads(run(reticle, "activity", "--json", "--functions", "8"))["events"][0]["activities"]}
top = {key: [f["symbol"] for f in row["functions"]] for key, row in rows.items()}
print(top)
if ("query" in top["/list"] + top["/buy"] or not {"parse"} <= set(top["/list"][:3]) or
        not {"warm", "query"} <= set(top["[none]"][:3])):
    sys.exit("functions are not those of their routes")
spans = {r["activity"]: r
         for r in json.loads(run(reticle, "activity", "--json", "--by", "span_id", "--lines",
                                 "0"))["events"][0]["activities"]}
if [f["symbol"] for f in spans["ffff000000000000"]["functions"]][0] != "query":
    sys.exit("query does not run in the inner span")
causes = json.loads(run(reticle, "activity", "--json", "--slow", "3"))["events"][0]["causes"]
print(causes[:3])
first = causes[0]["symbol"] if causes else None
heavy = json.loads(run(reticle, "activity", "--json", "--by", "span_id", "--lines", "8"))["events"][0]["activities"]
print([(h["activity"], h["weight"]) for h in heavy])
if first not in ("rebuild", "query"):
    sys.exit(f"--slow names neither rebuild nor query first, but {first}")
if "rebuild" not in [c["symbol"] for c in causes]:
    sys.exit("--slow does not name rebuild")

# Activities of equal weight stay together, by page faults, each of which is a sample: of 400, 10 fault on 10 or 11
# pages, and the others on one. The 12th heaviest is one of 390.
pathlib.Path("pages.c").write_text(PAGES)
run("gcc", "-O1", "-o", "pages", "pages.c", *(str(part) for part in (library / "src").glob("*.c")),
    f"-I{library}/include", "-pthread")
run(reticle, "record", "-q", "--activity", "-e", "page-faults:u", "-c", "1", "-o", "pages.data", "--", "./pages")
pages = json.loads(run(reticle, "activity", "-i", "pages.data", "--json", "--slow", "3"))["events"][0]
print({key: pages[key] for key in ("heavy_activities", "other_activities", "causes")})
if ((pages["heavy_activities"], pages["other_activities"]) != (10, 390) or
        [c["symbol"] for c in pages["causes"]] != ["rebuild"]):
    sys.exit("activities of equal weight are not together")

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

# Two recordings by route, and by a route's functions.
run(reticle, "record", "-q", "--activity", "-F", "4000", "-o", "again.data", "--", "./shop")
routes = {}
for row in csv.DictReader(run(reticle, "diff", "--csv", "--sort", "http.route,symbol", "perf.data",
                              "again.data").splitlines()):
    routes.setdefault(row["http.route"], {})[row["symbol"]] = int(row["samples_0"]), int(row["samples_1"])
if (set(routes) != {"/list", "/buy", "[none]"} or
        not all(routes[route]["parse"][i] > 0 for route in ("/list", "/buy") for i in (0, 1))):
    sys.exit(f"diff does not know the routes: {routes}")
if (sum(n for functions in routes.values() for n, _ in functions.values()) !=
        sum(row["samples"] for row in rows.values())):
    sys.exit("diff counts other samples than activity")
expect("http.route", run(reticle, "diff", "--sort", "http.route", "perf.data", "again.data"))
expect("nor an attribute of activities",
       run(reticle, "diff", "--sort", "http.rout", "perf.data", "again.data", status=2))

# A table of top covers a second. The thread has said what it works for before that, and says nothing more.
pathlib.Path("steady.c").write_text(STEADY)
run("gcc", "-O1", "-o", "steady", "steady.c", *(str(part) for part in (library / "src").glob("*.c")),
    f"-I{library}/include", "-pthread")
with subprocess.Popen([reticle, "top", "--stdio", "--activity", "-F", "1000", "-d", "1", "--history", "1", "-E", "1",
                       "--refreshes", "60", "--sort", "service,http.route", "--", "timeout", "100", "./steady"],
                      stdout=subprocess.PIPE, text=True) as top:
    nth, share, seen = 0, 0.0, ""
    for row in top.stdout:
        seen += row
        nth += row.startswith("# Overhead")
        found = re.match(r" +([0-9.]+)% +steady +/long$", row)
        if found and nth >= 6 and float(found[1]) > 90:
            share = float(found[1])
            break
    top.terminate()
    if not share:
        sys.exit(f"top --activity does not know what is older than its tables:\n{seen}")

# Each file of --switch-output says all again.
run(reticle, "record", "-q", "--activity", "-F", "2000", "--switch-output=1s", "-o", "part.data", "--", "./shop")
parts = sorted(pathlib.Path().glob("part.data.*"))
for part in parts[1:]:
    # The last one may have begun when the program ended.
    if not run(reticle, "dump", "--type", "SAMPLE", "-i", part):
        continue
    said = next(line for line in run(reticle, "report", "-i", part).splitlines() if line.startswith("# Activities: "))
    print(said)
    # Those that were in the rings when the file began.
    unknown = re.search(r"(\d+) of which nothing is known", said)
    if unknown and int(unknown[1]) > 20:
        sys.exit("samples of a later file have no activity")

# Precise samples at a fixed period may be collected by the processor, unless they have a field that this cannot be
# done with.
for words, there in (("-c", "1000000"), True), (("-F", "1000"), False):
    run(reticle, "record", "-q", "--activity", "-e", "cpu-clock:p", *words, "-o", "precise.data", "--", "true")
    event = run(reticle, "evlist", "-v", "-i", "precise.data").splitlines()[0]
    if ("RAW" in event) != there:
        sys.exit(f"samples can be collected without their activities, or are larger than they need be: {event}")

# What cannot be, and who may not.
expect("cannot be combined with --overwrite",
       run(reticle, "record", "--activity", "--overwrite", "-e", "cpu-clock", "true", status=2))
expect("no windows: the BPF program of --activity",
       run(reticle, "record", "--activity", "--window=leader=cpu-clock", "true", status=2))
run(reticle, "record", "-q", "-e", "cpu-clock", "-o", "plain.data", "--", "true")
expect("has no activities", run(reticle, "activity", "-i", "plain.data", status=1))
if os.geteuid() == 0 and shutil.which("unshare"):
    said = run("unshare", "-pf", "--mount-proc", reticle, "record", "--activity", "-e", "cpu-clock", "true", status=1)
    expect("PID namespace", said)
if os.geteuid() == 0 and shutil.which("setpriv"):
    os.chmod(".", 0o777)
    said = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", reticle, "record", "--activity", "-e",
               "cpu-clock:u", "true", status=1)
    expect("CAP_BPF and CAP_PERFMON", said)
