#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity=journal: without BPF, what threads work for is joined with samples by time. No sample belongs to a
wrong activity, whether journals are read in time or run over; of samples whose journal was read none is missed."""
import os
import pathlib
import re
import sys

from lib.activity_switcher import PROGRAM, build, include, read_truth, sources
from lib.activity_truth import Tally, by_time, check_times, run, samples
from lib.machine import need_recording, no_tracepoints

reticle = os.environ["RETICLE"]


def record(name, step, freq, entries, seconds=1):
    os.environ["RETICLE_ACTIVITY_JOURNAL_ENTRIES"] = str(entries)
    run(reticle, "record", "-q", "--activity=journal", "-F", str(freq), "-o", "perf.data", "--", "./program", "2",
        str(step), str(seconds), "truth")
    print(f"{name}: {os.stat('perf.data').st_size} bytes for {sum(map(len, read_truth().values()))} activities")


# As close as can be: a system call, and another activity at once. Arguments: calls.
CALLS = r"""
#define _GNU_SOURCE
#include <reticle/activity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint64_t n = strtoull(argv[1], NULL, 10);

	for (uint64_t i = 1; i <= n; i++) {
		struct activity_ids ids = { .trace = { 1 } };

		memcpy(ids.span, &i, 8);
		activity_set(&ids);
		syscall(SYS_getppid);
	}
	return argc < 2;
}
"""
MANY = 20000


def closest():
    """Each call is sampled, and the activity changes as soon as it returns."""
    pathlib.Path("calls.c").write_text(CALLS)
    build("calls", "calls.c", *sources, include)
    run(reticle, "record", "-q", "--activity=journal", "-m", "16M", "-e", "syscalls:sys_enter_getppid/period=1/", "-o",
        "perf.data", "--", "./calls", str(MANY))
    taken = sorted(samples(reticle, "time,activity"), key=lambda sample: sample["time"])
    spans = [sample["activity"] for sample in taken]
    if spans != ["01".ljust(32, "0") + "/" + n.to_bytes(8, "little").hex() for n in range(1, MANY + 1)]:
        sys.exit(f"{len(spans)} calls: {[(n, said) for n, said in enumerate(spans, 1)][:20]}")
    gaps = sorted(b["time"] - a["time"] for a, b in zip(taken, taken[1:]))
    print(f"{MANY} calls, each in its own activity, {gaps[MANY // 2]} ns apart (half of them), {gaps[0]} the closest")


def head():
    return next(line for line in run(reticle, "report", "-i", "perf.data", "--sort", "http.route").splitlines()
                if line.startswith("# Activities: "))


need_recording()
pathlib.Path("program.c").write_text(PROGRAM)
build("program", "program.c", *sources, include)

# Each activity has two entries, and a journal has room for all of them, however late the recorder comes.
for name, step, freq, seconds in (("1 kHz", 1000000, 1000, 1), ("4 kHz", 100000, 4000, 1),
                                  ("20 kHz", 10000, 20000, 0.3)):
    record(name, step, freq, 65536, seconds)
    check_times(name, reticle, read_truth())
    if "overwritten" in head() or "no sense" in head():
        sys.exit(f"{name}: {head()}")
why = no_tracepoints()
if why:
    print(f"no system calls: {why}")
else:
    closest()

# The same with rings that hold 64 entries: the recorder cannot keep up, and says so.
record("overwritten", 10000, 4000, 64)
tally = Tally("overwritten")
for said, truth, where in by_time(reticle, read_truth()):
    tally.add(said, truth, where)
print(f"overwritten: {tally.right} right, 0 wrong, {tally.missed} missed")
lost = re.search(r"(\d+) entries of journals overwritten before they were read", head())
if not tally.missed or not lost or "whose journal had lost what their thread did" not in head():
    sys.exit(f"overwritten: {head()}")
del os.environ["RETICLE_ACTIVITY_JOURNAL_ENTRIES"]
