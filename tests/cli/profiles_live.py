#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""export --to pprof and otlp of a recording with --activity: for each trace and span as many samples as script shows
for it, with its attribute; the times are those of the wall clock, and the totals those of report --json."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from lib.activity_truth import WORK
from lib.machine import need_bpf
from lib.profiles import Otlp, Pprof
from lib.readers import need_readers

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

PROGRAM = WORK + r"""
#include <reticle/activity.h>
#include <string.h>
WORK(work)

int main(void)
{
	static const char *const keys[] = { "http.route" };

	activity_publish(&(struct activity_process){ .service = "shop", .keys = keys, .nr_keys = 1 });
	work(300);
	for (int i = 1; i <= 100; i++) {
		struct activity_ids ids = { .trace = { 1, (uint8_t)(i / 10) }, .span = { (uint8_t)i, 2 } };

		activity_set(&ids);
		activity_attribute(0, i % 4 ? "/list" : "/buy", i % 4 ? 5 : 4);
		work(5);
	}
	activity_clear();
	return 0;
}
"""


def run(*words):
    p = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if p.returncode:
        sys.exit(f"{' '.join(words)}: exit status {p.returncode}: {p.stderr}")
    return p.stdout


need_bpf()
need_readers()
pathlib.Path("program.c").write_text(PROGRAM)
subprocess.run(["gcc", "-O2", "-g", "-o", "program", "program.c",
                *(str(part) for part in (library / "src").glob("*.c")),
                f"-I{library}/include", "-pthread"], check=True)
before = time.time_ns()
run(reticle, "record", "-q", "--activity", "-g", "-k", "CLOCK_MONOTONIC", "-F", "1000", "-e", "cpu-clock", "-e",
    "page-faults", "-o", "perf.data", "--", "./program")
after = time.time_ns()
for form in "pprof", "otlp":
    run(reticle, "export", "-i", "perf.data", "--to", form, "-o", "profile." + form)
pprof, otlp = Pprof("profile.pprof"), Otlp("profile.otlp")

wanted = collections.Counter()  # (trace, span, route): samples
for line in run(reticle, "script", "-i", "perf.data", "-F", "tid,activity").splitlines():
    m = re.search(r"\s(\w{32})/(\w{16}) http.route=(\S+)", line)
    if m:
        wanted[m.groups()] += 1
print(len(wanted), "spans with", sum(wanted.values()), "samples")
if len(wanted) < 90:
    sys.exit("there are too few spans")
found = collections.Counter()
for s in pprof.samples:
    if "trace_id" in s.labels:
        found[s.labels["trace_id"], s.labels["span_id"], s.labels["http.route"]] += s.values[0]
        assert s.labels["service"] == "shop" and s.labels["comm"] == "program", s.labels
assert found == wanted, (found, wanted)
found = collections.Counter()
for p in otlp.profiles:
    if p.type == ("samples", "count"):
        for s in p.samples:
            if s.link:
                found[*s.link, s.labels["http.route"]] += s.values[0]
    assert p.resource["service.name"] == "shop" and p.resource["host.name"] == os.uname().nodename, p.resource
    assert (before < p.time < p.time + p.duration < after and
            p.duration > 5 * 10**8), (before, p.time, p.duration, after)
assert found == wanted, (found, wanted)
assert (pprof.time, pprof.duration) == (p.time, p.duration)

events = {e["name"]: e for e in json.loads(run(reticle, "report", "-i", "perf.data", "--json"))["events"]}
assert pprof.totals() == {("samples", "count"): sum(e["samples"] for e in events.values()),
                          ("cpu", "nanoseconds"): events["cpu-clock"]["weight"],
                          ("page-faults", "count"): events["page-faults"]["weight"]}
assert pprof.period == ("cpu", "nanoseconds", 1000000), pprof.period
stacks = {s.stack for p in otlp.profiles for s in p.samples}
assert stacks == {s.stack for s in pprof.samples}
assert any(line[0] == "work" and os.path.basename(line[1]) == "program.c" and line[2] for stack in stacks
           for f in stack for line in f.lines)
assert set(otlp.frame_types) == {"native", "kernel"}, otlp.frame_types
