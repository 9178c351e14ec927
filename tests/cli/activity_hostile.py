#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --activity on programs that lie: contexts in memory that is not there, wild lengths, 256 attributes, texts
that are no UTF-8. The programs run on, the recording is read, and what could not be read is counted. Then forks, execs
and many threads."""
import json
import os
import pathlib
import subprocess
import sys

from lib.machine import need_bpf

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

LIAR = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

_Thread_local unsigned char *volatile otel_thread_ctx_v1;
static uint64_t seed = 88172645463325252ull;
static unsigned char room[4096];

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A record that ends where the memory does, or goes on behind it. */
static void *at_edge(unsigned char *end, unsigned here, unsigned size)
{
	unsigned char *record = end - here;

	if (here > 24)
		record[24] = 1;
	if (here > 27) {
		record[26] = (unsigned char)size;
		record[27] = (unsigned char)(size >> 8);
	}
	return record;
}

static void publish(unsigned char *head, unsigned n)
{
	uint32_t version = 2, sizes[] = { 0xffffffff, 8192, 8193, (uint32_t)any() % 300, 0 };
	uint64_t where[] = { (uintptr_t)room, any(), 1, (uintptr_t)head + 4090 }, when = n;

	memcpy(head, "OTEL_CTX", 8);
	memcpy(head + 8, &version, 4);
	memcpy(head + 12, &sizes[n % 5], 4);
	memcpy(head + 24, &where[n % 4], 8);
	memcpy(head + 16, &when, 8);
}

int main(void)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("OTEL_CTX", 0);
	unsigned char *head, *end = pages + 4096;
	double until;

	if (ftruncate(fd, 4096))
		return 1;
	head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	munmap(end, 4096);
	for (unsigned n = 1; n < 600; n++) {
		void *lies[] = { (void *)(uintptr_t)any(), (void *)1, at_edge(end, 20, 0), at_edge(end, 28, 0xffff),
				 at_edge(end, 38, 40), at_edge(end, 64, 36), room, room, room, end, (void *)-1L };

		for (unsigned i = 0; i < sizeof(room); i++)
			room[i] = (unsigned char)any();
		room[24] = 1;
		room[26] = n % 3 ? 0 : 612 & 255;
		room[27] = n % 3 == 1 ? 0xff : 2; /* much too long; 512: 256 empty attributes; 612 */
		for (unsigned i = 0; n % 3 == 2 && i < 256; i++) {
			room[28 + 2 * i] = (unsigned char)i;
			room[29 + 2 * i] = 0;
		}
		publish(head, n);
		otel_thread_ctx_v1 = lies[n % 11];
		for (until = now() + 0.0015; now() < until; room[24] ^= n % 8 == 5)
			;
	}
	puts("done");
	return 0;
}
"""

# Every thread, and the children of forks and execs, have their own.
MANY = r"""
#include <pthread.h>
#include <reticle/activity.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(int id)
{
	struct activity_ids ids = { .trace = { 1 }, .span = { (unsigned char)id, (unsigned char)(id >> 8) } };
	struct timespec from, t;

	activity_push(&ids);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while ((t.tv_sec - from.tv_sec) * 1000000000 + t.tv_nsec - from.tv_nsec < 4000000);
	activity_pop();
}

static void *run(void *arg)
{
	work((int)(long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[300];

	activity_publish(&(struct activity_process){ .service = argc > 1 ? "child" : "parent" });
	if (argc > 1) {
		for (int i = 0; i < 20; i++)
			work(0xffff);
		return 0;
	}
	for (long i = 0; i < 300; i++)
		pthread_create(&t[i], NULL, run, (void *)(i + 10));
	for (int i = 0; i < 300; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			if (i)
				execl("/proc/self/exe", argv[0], "again", NULL);
			for (int k = 0; k < 20; k++)
				work(0xeeee);
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}
"""


def run(*words):
    p = subprocess.run(words, capture_output=True)
    if p.returncode:
        sys.exit(f"{' '.join(words)}: exit status {p.returncode}: {p.stderr.decode(errors='replace')}")
    return p.stdout.decode(errors="replace")


def build(name, text, *more):
    pathlib.Path(name + ".c").write_text(text)
    run("gcc", "-O1", "-o", name, name + ".c", *more, "-pthread", "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1")


need_bpf()
build("liar", LIAR)
if "done" not in run(reticle, "record", "-q", "--activity", "-F", "4000", "--", "./liar"):
    sys.exit("the program did not run to its end")
head = run(reticle, "report", "--sort", "service,trace_id").splitlines()
said = next(line for line in head if line.startswith("# Activities: "))
print(said)
for part in ("belong to one", "without attributes", "whose record was not to be read"):
    if part not in said:
        sys.exit(f"the head does not say '{part}'")
run(reticle, "script", "-F", "tid,activity")
for line in run(reticle, "script", "--json", "-F", "tid,activity").splitlines():
    json.loads(line)
json.loads(run(reticle, "activity", "--json", "--lines", "0", "--slow", "10"))

build("many", MANY, *(str(part) for part in (library / "src").glob("*.c")), f"-I{library}/include")
run(reticle, "record", "-q", "--activity", "-F", "4000", "--", "./many")
spans = {r["activity"]: r["samples"]
         for r in json.loads(run(reticle, "activity", "--json", "--by", "span_id", "--lines",
                                 "0"))["events"][0]["activities"]}
threads = sum(1 for s in spans if s[4:] == "0" * 12 and s[:4] not in ("ffff", "eeee"))
print(f"{threads} threads; fork: {spans.get('eeee000000000000')} samples, exec: {spans.get('ffff000000000000')}")
if threads < 200 or not spans.get("eeee000000000000") or not spans.get("ffff000000000000"):
    sys.exit("threads or children are missing")
services = {r["activity"]
            for r in json.loads(run(reticle, "activity", "--json", "--by", "service"))["events"][0]["activities"]}
if not {"parent", "child"} <= services:
    sys.exit(f"services are {services}")
