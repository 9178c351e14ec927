#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""Windows and activities in one recording, by journals: whoever makes the windows, threads that come late have their
activities, and no sample a wrong one. A window in which the activity changes counts for none."""
import csv
import io
import os
import pathlib
import subprocess
import sys

from lib.activity_switcher import PROGRAM, build, include, read_truth, sources
from lib.activity_truth import WORK, check_times, run
from lib.machine import need_recording

reticle = os.environ["RETICLE"]
GROUP = "{cpu-clock/period=1000000,alt-period=200000/,page-faults}:S"

# Two routes in turns: one only computes, and the other one asks for memory all the time.
ROUTES = WORK + r"""
#include <reticle/activity.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

WORK(compute)

#define PAGES 64
#define PAGE 4096

static void fault(double ms)
{
	double until = now() + ms / 1e3;

	while (now() < until) {
		char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < PAGES; i++)
			p[i * PAGE] = 1;
		munmap(p, PAGES * PAGE);
	}
}

static void route(uint8_t n, const char *name)
{
	activity_set(&(struct activity_ids){ .trace = { n }, .span = { n } });
	activity_attribute(0, name, strlen(name));
}

static void *serve(void *arg)
{
	for (int i = 0; i < 400; i++) {
		route(1, "/compute");
		compute(1);
		route(2, "/fault");
		fault(1);
	}
	return arg;
}

int main(void)
{
	static const char *const keys[] = { "http.route" };
	pthread_t threads[2];

	activity_publish(&(struct activity_process){ .service = "routes", .keys = keys, .nr_keys = 1 });
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], 0, serve, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	return 0;
}
"""


def record(options, *command):
    return run(reticle, "record", "-q", "--activity=journal", *options, "-e", GROUP, "-o", "perf.data", "--", *command)


def routes(attribution):
    """-> {route: its line of the table}"""
    table = run(reticle, "report", "-i", "perf.data", "--sort", "http.route", "--attribution", attribution, "--csv",
                "--columns", "page-faults/ms,kept,discarded")
    return {row["http.route"]: row for row in csv.DictReader(io.StringIO(table))}


def faults(row):
    return float(row["sum:page-faults"]) / max(float(row["kept"]), 1)


def spanning():
    """The row that only computes has faults where windows may begin in the other one, and else none."""
    record(["--window=mode=refresh,burst=3"], "./routes")
    strict, loose = routes("discard"), routes("keep")
    compute, fault = strict["/compute"], strict["/fault"]
    print(f"faults per window: {faults(compute):.3f} and {faults(fault):.1f}; of all windows: "
          f"{faults(loose['/compute']):.3f} and {faults(loose['/fault']):.1f}; {compute['kept']} kept, "
          f"{compute['discarded']} discarded")
    if min(int(compute["kept"]), int(fault["kept"])) < 100 or faults(fault) < 5:
        sys.exit("too few windows, or no faults")
    if faults(compute) > faults(fault) / 100 or not 0 < int(compute["discarded"]) < int(compute["kept"]):
        sys.exit("windows of both activities count for one")
    for route, row in loose.items():
        both = [int(strict[route][column]) for column in ("kept", "discarded")]
        if int(row["discarded"]) or int(row["kept"]) != sum(both):
            sys.exit(f"--attribution=keep has {row['kept']} windows for {route}, and discard {both}")
    if float(loose["/compute"]["sum:page-faults"]) <= float(compute["sum:page-faults"]):
        sys.exit("windows that began in the other activity bring no faults")


def with_bpf():
    """The BPF program is not in counters that are opened later, and the recorder says what is."""
    done = subprocess.run([reticle, "record", "--activity=bpf", "--window=mode=twin", "-e", GROUP, "-o", "bpf.data",
                           "--", "true"], capture_output=True, text=True)
    if not done.returncode or "--activity=journal" not in done.stderr:
        sys.exit(f"--activity=bpf --window=mode=twin: exit status {done.returncode}: {done.stderr}")


need_recording()
os.environ["RETICLE_ACTIVITY_JOURNAL_ENTRIES"] = "65536"
pathlib.Path("program.c").write_text(PROGRAM)
pathlib.Path("routes.c").write_text("#define _GNU_SOURCE" + ROUTES)
build("program", "program.c", *sources, include)
build("routes", "routes.c", *sources, include)
for name, options in (("twin", ["--window=mode=twin"]), ("refresh", ["--window=mode=refresh,burst=3"]),
                      ("plain", ["--window=mode=plain"]), ("twin of CPUs", ["--window=mode=twin", "-a"]),
                      ("refresh of CPUs", ["--window=mode=refresh,burst=3", "-a"])):
    record(options, "./program", "2", "1000000", "2", "truth")
    check_times(name, reticle, read_truth())
spanning()
with_bpf()
