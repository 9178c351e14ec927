#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity on a program that has what Node has where @datadog/pprof says what it works for (nodejs_v1_dev): a
frame, which is a Map, made by hand. Keys are found wherever they are in a bucket. Frames that are none, tables of wild
sizes, and chains without an end say nothing, and are counted."""
import collections
import json
import os
import pathlib
import sys

from lib.activity_truth import run
from lib.machine import need_bpf

reticle = os.environ["RETICLE"]
GOOD = {"first": 1, "fourth": 2, "last": 3, "large": 4}
NONE = ("off", "outside", "without", "detached")
LIES = ("unmapped", "a_number", "odd", "huge", "no_bucket", "beyond", "circle", "no_object", "no_record")

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { UNDEFINED = 0x1001, KEY = 0x2001 };

__thread volatile struct {
	uint64_t *slot, *key;
	int32_t hash, unused;
	uint64_t undefined;
} otel_thread_ctx_nodejs_v1;

static struct {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attributes[200];
} record;
static uint64_t key = KEY, frame, map[4], object[5], table[5 + 3 * 1024 + 6 * 1024];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t tagged(const void *p)
{
	return (uintptr_t)p | 1;
}

static uint64_t number(int64_t n)
{
	return (uint64_t)n << 32;
}

/* The key is in the entry `nth` of its bucket's chain, which has `all`. */
static void make(uint64_t buckets, int nth, int all)
{
	uint64_t *entries = table + 5 + buckets;

	memset(table, 0, sizeof(table));
	table[4] = number((int64_t)buckets);
	for (uint64_t i = 0; i < buckets; i++)
		table[5 + i] = number(-1);
	otel_thread_ctx_nodejs_v1.hash = 0x12345;
	table[5 + (0x12345 & (buckets - 1))] = number(all ? 1 : -1);
	for (int i = 1; i <= all; i++) {
		entries[3 * i] = i == nth ? KEY : 0x3001;
		entries[3 * i + 1] = i == nth ? tagged(object) : UNDEFINED;
		entries[3 * i + 2] = number(i < all ? i + 1 : -1);
	}
	map[3] = tagged(table);
	object[4] = (uintptr_t)&record;
	frame = tagged(map);
	otel_thread_ctx_nodejs_v1.undefined = UNDEFINED;
	otel_thread_ctx_nodejs_v1.key = &key;
	otel_thread_ctx_nodejs_v1.slot = &frame;
}

#define CASE(name, span_id, ...)                                                     \
	__attribute__((noinline, noclone)) static void name(void)                    \
	{                                                                            \
		double until = now() + 0.002;                                        \
		volatile int x = 0;                                                  \
                                                                                     \
		while (now() < until)                                                \
			for (int i = 0; i < 30000; i++)                              \
				x += i;                                              \
	}                                                                            \
	static void do_##name(void)                                                  \
	{                                                                            \
		otel_thread_ctx_nodejs_v1.slot = NULL;                               \
		memset(&record, 0, sizeof(record));                                  \
		record.trace[0] = record.valid = 1;                                  \
		record.span[7] = span_id;                                            \
		__VA_ARGS__                                                          \
		name();                                                              \
	}

CASE(first, 1, make(2, 1, 1);)
CASE(fourth, 2, make(4, 4, 4);)
CASE(last, 3, make(8, 16, 16);)
CASE(large, 4, make(1024, 2, 3);)
CASE(off, 9, make(2, 1, 1); otel_thread_ctx_nodejs_v1.slot = NULL;)
CASE(outside, 9, make(2, 1, 1); frame = UNDEFINED;)
CASE(without, 9, make(4, 0, 3);)
CASE(detached, 9, make(4, 2, 3); (table + 5 + 4)[3 * 2 + 1] = UNDEFINED;)
CASE(unmapped, 9, make(2, 1, 1); frame = 0x123456789abcdef1;)
CASE(a_number, 9, make(2, 1, 1); frame = number(7);)
CASE(odd, 9, make(2, 1, 1); table[4] = number(3);)
CASE(huge, 9, make(2, 1, 1); table[4] = number(1 << 20);)
CASE(no_bucket, 9, make(2, 1, 1); table[4] = 0;)
CASE(beyond, 9, make(2, 1, 1); table[5 + 1] = number(2048);)
CASE(circle, 9, make(4, 0, 3); (table + 5 + 4)[3 * 3 + 2] = number(1);)
CASE(no_object, 9, make(2, 1, 1); (table + 5 + 2)[3 + 1] = number(5);)
CASE(no_record, 9, make(2, 1, 1); object[4] = tagged(table);)

int main(void)
{
	double until = now() + 0.2;

	while (now() < until)
		;
	for (int i = 0; i < 20; i++) {
		do_first(), do_fourth(), do_last(), do_large();
		do_off(), do_outside(), do_without(), do_detached();
		do_unmapped(), do_a_number(), do_odd(), do_huge(), do_no_bucket(), do_beyond(), do_circle();
		do_no_object(), do_no_record();
	}
	puts("done");
	return 0;
}
"""


need_bpf()
pathlib.Path("frames.c").write_text(PROGRAM)
run("gcc", "-O1", "-o", "frames", "frames.c", "-Wl,--export-dynamic-symbol=otel_thread_ctx_nodejs_v1")
if "done" not in run(reticle, "record", "-q", "--activity", "-F", "4000", "--", "./frames"):
    sys.exit("the program did not run to its end")
said = collections.Counter()
for line in run(reticle, "script", "--json", "-F", "ip,sym,activity").splitlines():
    sample = json.loads(line)
    said[sample.get("sym"), sample["activity"]] += 1
head = next(line for line in run(reticle, "report", "--sort", "sym").splitlines() if line.startswith("# Activities: "))
print(head)
print(said)
for name, span in GOOD.items():
    if said.pop((name, f"{1 << 120:032x}/{span:016x}"), 0) < 20:
        sys.exit(f"{name} is not found in its span: {said}")
for name in NONE + LIES:
    if said.pop((name, "none" if name in NONE else "unreadable"), 0) < 20:
        sys.exit(f"{name}: {said}")
# A sample may come before the process was looked at, or while a page moves; but it never has another span.
wrong = {key: n for key, n in said.items() if key[0] in (*GOOD, *NONE, *LIES)}
if any("/" in activity for _, activity in wrong) or sum(wrong.values()) > 20:
    sys.exit(f"wrong: {wrong}")
if "whose record was not to be read" not in head:
    sys.exit("the head does not count those that cannot be read")
