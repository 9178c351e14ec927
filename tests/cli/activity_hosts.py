#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reticle activity of two recordings whose clocks differ: the traces that both have, and the difference of the clocks,
which is the one that this machine has between two clocks of its own."""
import json
import os
import pathlib
import subprocess
import sys
import time

from lib.activity_truth import WORK, run
from lib.machine import need_bpf, need_tracepoints

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"
REQUESTS = 60

PROGRAM = WORK + r"""
#include <fcntl.h>
#include <reticle/activity.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
WORK(render)
WORK(query)

static void begin(uint8_t trace, uint8_t span)
{
	struct activity_ids ids = { .trace = { trace, 1 }, .span = { trace, span } };

	activity_push(&ids);
}

static void step(int got)
{
	if (got != 1)
		exit(1);
}

int main(int argc, char **argv)
{
	int is_web = !strcmp(argv[1], "web");
	int out, in;
	uint8_t trace;

	activity_publish(&(struct activity_process){ .service = argv[argc - 1] });
	for (int i = 0; i < 30; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, 0); /* the recorder sees the process */
	if (is_web) {
		out = open("asked", O_WRONLY);
		in = open("answered", O_RDONLY);
	} else {
		in = open("asked", O_RDONLY);
		out = open("answered", O_WRONLY);
	}
	for (int i = 1; is_web && i <= REQUESTS; i++) {
		trace = (uint8_t)i;
		begin(trace, 1);
		render(1);
		step((int)write(out, &trace, 1));
		step((int)read(in, &trace, 1));
		render(1);
		activity_pop();
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, 0);
	}
	while (!is_web && read(in, &trace, 1) == 1) {
		begin(trace, 2);
		query(3);
		activity_pop();
		step((int)write(out, &trace, 1));
	}
	return 0;
}
"""


def difference():
    """-> between which two numbers of ns the one clock is ahead of the other"""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    real = time.clock_gettime_ns(time.CLOCK_REALTIME)
    return real - time.clock_gettime_ns(time.CLOCK_MONOTONIC), real - before


def begin(name, clock, *words):
    return subprocess.Popen([reticle, "record", "-q", "--activity", "-k", clock, "-e", "cpu-clock", "-F", "2000",
                             *words, "-o", f"{name}.data", "--", "./host", name])


def end(recorders):
    """Each waits for the other's program, so none is left alone."""
    while any(recorder.poll() is None for recorder in recorders):
        if any(recorder.poll() for recorder in recorders):
            for recorder in recorders:
                recorder.terminate()
            break
        time.sleep(0.05)
    expect(not any(recorder.wait() for recorder in recorders), "a recording failed")


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def fails(status, text, *words):
    p = subprocess.run((reticle, "activity", *words), capture_output=True, text=True)
    expect(p.returncode == status and text in p.stderr, words, "exit status", p.returncode, p.stderr)


need_bpf()
need_tracepoints()
pathlib.Path("host.c").write_text(PROGRAM)
run("gcc", "-O1", f"-DREQUESTS={REQUESTS}", "-o", "host", "host.c",
    *(str(part) for part in (library / "src").glob("*.c")), f"-I{library}/include", "-pthread")
for fifo in ("asked", "answered"):
    os.mkfifo(fifo)
earlier = difference()
# Tracepoints cannot be recorded by the second clock.
end([begin("web", "CLOCK_MONOTONIC", "-e", "sched:sched_switch/period=1/"), begin("db", "CLOCK_REALTIME")])
later = difference()

found = json.loads(run(reticle, "activity", "--json", "--lines", "0", "web.data", "db.data"))
web, db = found["recordings"]
print(web, db, earlier, later)
expect((web["recording"], web["ahead"], web["error"]) == ("web.data", 0, 0), web)
expect("ahead" in db, "the clocks were not compared")
low, high = db["ahead"] - db["error"], db["ahead"] + db["error"]
expect(low <= max(earlier[1], later[1]) and high >= min(earlier[0], later[0]), "the clocks differ by", earlier,
       "and not by", low, high)
expect(db["error"] < 60e9, "the error is", db["error"], "ns")

# Every trace that both have was at both, and the work at the right one.
expect(len(found["traces"]) == db["traces"] >= 5, len(found["traces"]), "traces")
functions = {"web.data": set(), "db.data": set()}
for trace in found["traces"]:
    expect(sorted(stop["recording"] for stop in trace["stops"]) == ["db.data", "web.data"], trace)
    expect([stop["from"] for stop in trace["stops"]] == sorted(stop["from"] for stop in trace["stops"]),
           "not in order of time:", trace)
    for stop in trace["stops"]:
        expect(stop["from"] <= stop["to"], "ends before it begins:", stop)
        functions[stop["recording"]] |= {word.split()[0] for word in stop["functions"].split(", ") if word}
expect("query" in functions["db.data"] and "render" not in functions["db.data"], functions)
expect("render" in functions["web.data"] and "query" not in functions["web.data"], functions)
weights = {trace["trace_id"]: sum(stop["weight"] for stop in trace["stops"]) for trace in found["traces"]}
for name in ("web", "db"):
    alone = {row["activity"]: row
             for event in json.loads(run(reticle, "activity", "--json", "--lines", "0", "--by", "trace_id", "-i",
                                         f"{name}.data"))["events"] if event["event"].startswith("cpu-clock")
             for row in event["activities"]}
    for trace in found["traces"]:
        stop = next(stop for stop in trace["stops"] if stop["recording"] == f"{name}.data")
        expect(stop["weight"] == alone.get(trace["trace_id"], {"weight": 0})["weight"], "another weight than alone:",
               trace)

text = run(reticle, "activity", "--lines", "3", "web.data", "db.data")
print(text)
expect("The clock of db.data is " in text and f"# {len(found['traces'])} traces are in more than one" in text, text)
expect(text.count("db.data  ") == 3, "not 3 traces:", text)

fails(2, "several are joined by trace_id", "--by", "service", "web.data", "db.data")
fails(1, "no.data: cannot open", "web.data", "no.data")
run(reticle, "record", "-q", "-e", "cpu-clock", "-o", "plain.data", "--", "true")
fails(1, "plain.data has no activities", "web.data", "plain.data")
