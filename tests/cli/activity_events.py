#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --activity: samples of tracepoints, probes and page faults belong to the activity of their thread, also when
a thread leaves its CPU, and when other threads have ended; and nothing is recorded of other programs that hit the same
tracepoints."""
import collections
import contextlib
import errno
import os
import pathlib
import subprocess
import sys
import time

from lib.activity_truth import CLOCK, check_times, run, samples
from lib.machine import need_bpf, need_tracepoints

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

# Arguments: the number of steps, 0: until it is ended; and a file of the truth.
PROGRAM = "#define _GNU_SOURCE" + CLOCK + r"""
#include <pthread.h>
#include <reticle/activity.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct thread {
	pthread_t thread;
	int tid, id;
	uint64_t (*v)[2];
};
static uint64_t steps;

__attribute__((noinline)) void step(volatile char *page)
{
	*page = 1;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	volatile char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	t->tid = (int)syscall(SYS_gettid);
	for (uint64_t i = 1; !steps || i <= steps / (t->id == 1 ? 4 : 1); i++) {
		struct activity_ids ids = { .trace = { (uint8_t)t->id, 1 }, .span = { (uint8_t)t->id } };
		uint64_t begin;

		memcpy(ids.span + 1, &i, 7);
		activity_set(&ids);
		begin = now();
		step(page);
		madvise((void *)page, 4096, MADV_DONTNEED);
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, 0);
		if (t->v) {
			t->v[i - 1][0] = begin;
			t->v[i - 1][1] = now();
		}
		activity_clear();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct thread t[2] = { { .id = 1 }, { .id = 2 } };
	FILE *f = fopen(argv[2], "w");
	uint64_t until = now() + 300000000;

	steps = strtoull(argv[1], NULL, 10);
	activity_publish(&(struct activity_process){ .service = "sleeper" });
	for (int i = 0; i < 2; i++)
		t[i].v = steps ? calloc(steps, sizeof(*t[i].v)) : NULL;
	/* The recorder is not asked before the first sample. */
	while (steps && now() < until)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i].thread, NULL, run, &t[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		for (uint64_t k = 0; k < steps && t[i].v[k][1]; k++)
			fprintf(f, "%d %llu %llu %d %llu\n", t[i].tid, (unsigned long long)t[i].v[k][0],
				(unsigned long long)t[i].v[k][1], t[i].id, (unsigned long long)(k + 1));
	fclose(f);
	return argc < 3;
}
"""


def read_truth():
    truth = collections.defaultdict(list)
    for line in open("truth"):
        tid, begin, end, thread, step = map(int, line.split())
        ids = bytes((thread, 1)).ljust(16, b"\0").hex() + "/" + (bytes((thread,)) + step.to_bytes(7, "little")).hex()
        truth[tid].append((begin, end, ids))
    return truth


@contextlib.contextmanager
def probe(program, function):
    """-> the event of each call of the function"""
    tracing = next(path for path in map(pathlib.Path, ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))
                   if (path / "uprobe_events").exists())
    name = f"reticle_test_{os.getpid()}/{function}"
    address = next(int(line.split()[1], 16) for line in subprocess.check_output(["readelf", "-sW", program], text=True)
                   .splitlines() if line.split()[-1:] == [function])
    at = next(int(w[1], 16) - int(w[2], 16) for w in map(str.split, subprocess.check_output(
        ["readelf", "-lW", program], text=True).splitlines())
              if w[:1] == ["LOAD"] and int(w[2], 16) <= address < int(w[2], 16) + int(w[4], 16))

    def tell(text):  # open() would look for the end of the file, which has none
        fd = os.open(tracing / "uprobe_events", os.O_WRONLY | os.O_APPEND)
        while True:
            try:
                os.write(fd, text.encode())
                break
            except OSError as e:
                if e.errno != errno.EBUSY:  # the last event of it is not quite gone
                    raise
                time.sleep(0.01)
        os.close(fd)

    tell(f"p:{name} {os.path.abspath(program)}:{address + at:#x}\n")
    try:
        yield name.replace("/", ":")
    finally:
        tell(f"-:{name}\n")


need_bpf()
need_tracepoints()
pathlib.Path("sleeper.c").write_text(PROGRAM)
subprocess.run(["gcc", "-O2", "-o", "sleeper", "sleeper.c",
                *(str(part) for part in (library / "src").glob("*.c")),
                f"-I{library}/include", "-pthread"], check=True)

other = subprocess.Popen(["./sleeper", "0", "/dev/null"])
with probe("sleeper", "step") as step, contextlib.ExitStack() as at_end:
    at_end.callback(other.wait)
    at_end.callback(other.kill)
    for name, target, events in (
        ("tracepoints where threads leave their CPUs", (), ["sched:sched_switch/period=1/"]),
        ("the same of the whole machine", ("-a",), ["sched:sched_switch/period=1/"]),
        ("page faults", (), ["page-faults/period=1/"]),
        ("a probe", (), [step + "/period=1/"]),
        ("a probe and a tracepoint of the whole machine", ("-a",),
         ["sched:sched_switch/period=1/", step + "/period=1/"]),
        ("tracepoints, page faults and samples by time together", (),
         ["sched:sched_switch/period=1/", "page-faults/period=1/", "cpu-clock/period=100000/"]),
    ):
        words = [word for event in events for word in ("-e", event)]
        run(reticle, "record", "-q", "--activity", "-k", "CLOCK_MONOTONIC", *target, *words, "-o", "perf.data", "--",
            "./sleeper", "500", "truth")
        check_times(name, reticle, read_truth(), early_ones=True)
        seen = {sample["event"].split("/")[0] for sample in samples(reticle, "event,tid")}
        wanted = {event.split("/")[0] for event in events}
        if not wanted <= seen:
            sys.exit(f"{name}: no samples of {wanted - seen}")
        if bool(target) != (f" {other.pid}/" in run(reticle, "dump", "-i", "perf.data")):
            sys.exit(f"{name}: the recording speaks of another program, or that of the machine does not")
print("ok")
