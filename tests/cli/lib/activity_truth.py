# SPDX-License-Identifier: Apache-2.0
"""Which activity each sample says, and which is the right one, as a program has noted it by time."""
import bisect
import json
import subprocess
import sys

NOT_YET = "not looked at yet"  # the recorder finds the thread context of a process when its first sample comes

# For programs in C: WORK(name) is a function that computes for so many milliseconds of its thread's CPU time. It asks
# for the time seldom: where system calls are slow, the kernel would otherwise take more of it than the function.
WORK = r"""
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
			for (int i = 0; i < 30000; i++)        \
				x += i;                        \
	}
"""

# For programs in C: the time by which reticle is asked, in nanoseconds.
CLOCK = r"""
#include <stdint.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
"""


def run(*words, **options):
    p = subprocess.run(words, capture_output=True, text=True, **options)
    if p.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit status {p.returncode}: {p.stdout}{p.stderr}")
    return p.stdout


def samples(reticle, fields):
    """-> one dictionary for each sample of perf.data"""
    return [json.loads(line) for line in run(reticle, "script", "--json", "-i", "perf.data", "--ns", "-F",
                                             fields).splitlines()]


class Tally:
    """Counts what was right and what was missed. What is wrong ends the test. early_ones: the program does not wait
    until the recorder has found it, so what comes before the first activity is not missed."""

    def __init__(self, name, early_ones=False):
        self.name, self.early_ones = name, early_ones
        self.right, self.missed, self.early, self.found = 0, 0, 0, False

    def add(self, said, truth, where):
        """-> is it right?"""
        self.found |= said == truth and "/" in said
        if said == truth:
            self.right += 1
        elif self.early_ones and (said == NOT_YET or said == "none" and not self.found):
            self.early += 1
        elif "/" in said:
            sys.exit(f"{self.name}: {where} worked for {truth}, and reticle says {said}")
        else:
            self.missed += 1
        return said == truth

    def end(self):
        print(f"{self.name}: {self.right} right, 0 wrong, {self.missed} missed, {self.early} {NOT_YET}")
        if not self.found or self.right < 100 or self.missed > self.right // 1000:
            sys.exit(f"{self.name}: more than one in a thousand was missed, or there are too few")


def by_time(reticle, truth):
    """truth: {tid: [(begin, end, activity), ...]}; between two of them the program does not know itself. -> for each
    sample within one: what reticle says, what is true, and where that was"""
    for spans in truth.values():
        spans.sort()
    for sample in samples(reticle, "tid,time,activity"):
        spans, time = truth.get(sample["tid"], []), sample["time"]
        i = bisect.bisect_right(spans, (time, 1 << 63)) - 1
        if i >= 0 and time <= spans[i][1]:
            yield sample["activity"], spans[i][2], f"at {time} thread {sample['tid']}"


def check_times(name, reticle, truth, early_ones=False):
    tally = Tally(name, early_ones)
    for said, right, where in by_time(reticle, truth):
        tally.add(said, right, where)
    tally.end()
