#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --activity --waits and reticle activity: a program whose threads sleep, wait for a futex that another thread
hands over, read from a pipe and compute, each for an activity, and which takes its own times."""
import json
import os
import pathlib
import subprocess
import sys

from lib.activity_truth import CLOCK, run
from lib.machine import need_bpf, need_tracepoints

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"
ROUNDS = 40
SLEEP = 2000000  # ns

PROGRAM = "#define _GNU_SOURCE" + CLOCK + r"""
#include <linux/futex.h>
#include <pthread.h>
#include <reticle/activity.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t asked, word;
static int ends[2];

static void begin(const char *route, uint8_t trace)
{
	static uint32_t spans;
	struct activity_ids ids = { .trace = { trace } };
	uint32_t span = __atomic_add_fetch(&spans, 1, __ATOMIC_RELAXED);

	memcpy(ids.span, &span, sizeof(span));
	activity_push(&ids);
	activity_attribute(0, route, strlen(route));
}

/* Their callers are the functions that reticle is to name, for the C library has no frame pointers. */
__attribute__((noinline)) static void wait_for(uint32_t *at, uint32_t while_it_is)
{
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) == while_it_is)
		syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, while_it_is, NULL, NULL, 0);
}

__attribute__((noinline)) static void hand(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

__attribute__((noinline)) static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, 0);
}

__attribute__((noinline)) static void hand_over(uint32_t round)
{
	begin("/hand", 2);
	pause_for(1000000);
	hand(&word, round);
	activity_pop();
}

__attribute__((noinline)) static void write_byte(void)
{
	begin("/write", 2);
	pause_for(1000000);
	if (write(ends[1], "x", 1) != 1)
		abort();
	activity_pop();
}

static void *help(void *unused)
{
	prctl(PR_SET_NAME, "helper");
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		wait_for(&asked, 2 * i - 2);
		hand_over(i);
		wait_for(&asked, 2 * i - 1);
		write_byte();
	}
	return unused;
}

__attribute__((noinline)) static void ask_sleep(uint32_t round)
{
	(void)round;
	pause_for(SLEEP);
	__asm__ volatile("");
}

__attribute__((noinline)) static void ask_futex(uint32_t round)
{
	hand(&asked, 2 * round - 1);
	wait_for(&word, round - 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void ask_pipe(uint32_t round)
{
	char c;

	hand(&asked, 2 * round);
	if (read(ends[0], &c, 1) != 1)
		abort();
}

__attribute__((noinline)) static void compute(uint32_t round)
{
	volatile uint32_t x = round;

	for (int i = 0; i < 1000000; i++)
		x += i;
}

/* How often the thread has left its CPU. */
static long switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return r.ru_nvcsw + r.ru_nivcsw;
}

int main(void)
{
	static const char *const keys[] = { "http.route" };
	static const struct {
		const char *route;
		void (*run)(uint32_t round);
	} steps[] = { { "/sleep", ask_sleep }, { "/futex", ask_futex }, { "/pipe", ask_pipe }, { "/work", compute } };
	uint64_t inner[4] = { 0 }, outer[4] = { 0 };
	pthread_t helper;

	if (pipe(ends))
		return 1;
	activity_publish(&(struct activity_process){ .service = "waiter", .keys = keys, .nr_keys = 1 });
	for (int i = 0; i < 30; i++)
		pause_for(10000000); /* the recorder sees the process */
	pthread_create(&helper, NULL, help, NULL);
	for (uint32_t round = 1; round <= ROUNDS; round++)
		for (int i = 0; i < 4; i++) {
			uint64_t t[4];
			long before;

			t[0] = now();
			begin(steps[i].route, 1);
			before = switches();
			t[1] = now();
			steps[i].run(round);
			t[2] = now();
			before -= switches();
			activity_pop();
			t[3] = now();
			/* Of one without a sample nobody knows. */
			inner[i] += before ? t[2] - t[1] : 0;
			outer[i] += t[3] - t[0];
		}
	pthread_join(helper, NULL);
	for (int i = 0; i < 4; i++)
		printf("%s %llu %llu\n", steps[i].route, (unsigned long long)inner[i], (unsigned long long)outer[i]);
	return 0;
}
"""


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def refused(text, *words):
    p = subprocess.run((reticle, "record", *words, "true"), capture_output=True, text=True)
    expect(p.returncode == 2 and text in p.stderr, words, "exit status", p.returncode, p.stderr)


def waits(*words):
    return json.loads(run(reticle, "activity", "--json", "--lines", "0", *words))["waits"]


def record(path, *words):
    """-> of each route, the time that the program has taken, from within and from without"""
    said = run(reticle, "record", "-q", "--activity", "-m", "8M", "-k", "CLOCK_MONOTONIC", "-o", path, *words, "--",
               "./waiter")
    return {route: (int(inner), int(outer)) for route, inner, outer in (line.split() for line in said.splitlines())}


def check_times(rows, truth):
    """All of the time between the program's two looks at the clock belongs to the activity, if the thread left its CPU
    meanwhile, and none beyond the two outer ones."""
    for route, (inner, outer) in truth.items():
        row = rows.get(route,
                       dict.fromkeys(("running", "runnable", "sleeping", "blocked", "stopped", "unsure", "unknown"),
                                     0))
        certain = sum(row[key] for key in ("running", "runnable", "sleeping", "blocked", "stopped"))
        all_of_it = certain + row["unsure"] + row["unknown"]
        print(f"{route}: {inner} to {outer} ns by the program's clock; certain {certain}, with what is not "
              f"{all_of_it}: {row}")
        expect(certain <= outer, route, "has more time than it took")
        expect(all_of_it >= inner, route, "has less time than it took")


need_bpf()
need_tracepoints()
pathlib.Path("waiter.c").write_text(PROGRAM)
run("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", f"-DROUNDS={ROUNDS}",
    f"-DSLEEP={SLEEP}", "-o", "waiter", "waiter.c",
    *(str(part) for part in (library / "src").glob("*.c")), f"-I{library}/include", "-pthread")
for _ in range(5):
    truth = record("perf.data", "--waits", "-e", "cpu-clock", "-F", "1000", "-g")
    found = waits()
    rows = {row["activity"]: row for row in found["activities"]}
    print({key: found[key] for key in ("gaps", "out_of_order", "never_switched")})
    # On a CPU on which somebody's program of BPF runs, or is loaded, the kernel may leave out the switches of others.
    if all(rows[route]["lost"] < ROUNDS // 2 for route in ("/sleep", "/futex", "/pipe")):
        break
expect(found["out_of_order"] == 0, "samples are out of order")

check_times(rows, truth)

# A sleep is a wait of at least as long, but for what the thread takes to get there, which is next to nothing.
if not found["gaps"]:
    expect(rows["/sleep"]["waits"] >= ROUNDS, "sleeps are missing")
    expect(rows["/sleep"]["sleeping"] >= ROUNDS * SLEEP // 2, "sleeps are too short")
    expect(rows["/work"]["sleeping"] == 0, "/work waits for nothing")
expect(rows["/sleep"]["longest"] <= truth["/sleep"][1] - (ROUNDS - 1) * SLEEP,
       "one sleep is longer than all but the others")

# What it waited for, and who woke it, in whose name.
for route, functions, kernel, waker, by, at in (
    ("/futex", ("ask_futex", "wait_for"), "futex", "helper", "/hand", ("hand_over", "hand")),
    ("/pipe", ("ask_pipe", "main"), "pipe_read", "helper", "/write", ("write_byte", "help")),
    ("/sleep", ("ask_sleep", "pause_for"), "nanosleep", "[interrupt]", None, (None,)),
):
    places = [p for p in found["places"]
              if p["activity"] == route and p["state"] == "sleeping" and kernel in (p["kernel"] or "")]
    print(route, places)
    expect(places, f"{route} does not wait in {kernel}:", [p for p in found["places"] if p["activity"] == route])
    expect(sum(p["waits"] for p in places) <= rows[route]["waits"], route, "has more waits than it has")
    for p in places:
        expect(p["symbol"] in functions, route, "waits in", p["symbol"])
        expect(p["waker"], route, "was never woken")
        expect((p["waker"]["comm"], p["waker"]["activity"]) == (waker, by), route, "was woken by", p["waker"])
        expect(p["waker"]["symbol"] in at, route, "was woken in", p["waker"])

# By trace: the helper's is another one. Of one activity alone, and of no thread at all.
traces = {row["activity"] for row in waits("--by", "trace_id")["activities"]}
expect({"01" + 30 * "0", "02" + 30 * "0"} <= traces, traces)
alone = waits("--activity", "http.route=/pipe")
expect({row["activity"] for row in alone["activities"]} == {"/pipe"}, "others are shown, too:", alone["activities"])
expect(alone["activities"][0]["sleeping"] == rows["/pipe"]["sleeping"], "alone, /pipe waits for another time")
expect("/pipe" not in {row["activity"] for row in waits("-c", "helper")["activities"]}, "-c shows another thread")

text = run(reticle, "activity")
print(text)
for what in ("Waiting, as sched_switch", "Sleeping ms", "ask_futex", "which works for", "cpu-clock"):
    expect(what in text, f"no '{what}'")
expect("of event 'sched" not in text, "the scheduler's events have tables of their own")
expect("waits" not in json.loads(run(reticle, "activity", "--json", "--time", "0%-50%")),
       "half of the recording has waits")

refused("needs --activity", "--waits")
refused("whole machine", "--activity", "--waits", "-C", "0")

# Of one process alone it is not seen when threads begin to run, and so only their sleeps are known.
truth = record("alone.data", "-e", "sched:sched_switch/period=1/", "-e", "sched:sched_waking/period=1/")
alone = {row["activity"]: row for row in waits("-i", "alone.data")["activities"]}
check_times(alone, truth)
