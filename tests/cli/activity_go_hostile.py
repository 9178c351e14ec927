#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --activity on programs that say they are in Go, and lie about goroutines and labels: addresses of nothing,
wild lengths, buckets in a circle, texts that are no UTF-8. They run on, the recording is read, and what could not be
read is counted. What is right between the lies is found."""
import json
import os
import pathlib
import platform
import sys

from lib.activity_truth import run, samples
from lib.machine import need, need_bpf

reticle = os.environ["RETICLE"]

LIAR = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* What Go's linker writes: its version. */
__attribute__((section(".go.buildinfo"), used, aligned(16))) static const char info[] =
	"\xff Go buildinf:\x08\x02" "0123456789abcdef" "\x08" VERSION;

/* The goroutine: the only variable of threads. */
static __thread unsigned char *volatile goroutine;

struct text {
	const void *at;
	uint64_t length;
};

struct map {
	uint64_t count;
	unsigned char flags, log2, more[6];
	const void *buckets, *old;
};

struct bucket {
	unsigned char full[8];
	struct text keys[8], values[8];
	const void *next;
};

struct pair {
	struct text key, value;
};

struct list {
	const void *at;
	uint64_t length, room;
};

static unsigned char goroutines[512], thread[512], bytes[4096];
static struct map map;
static const void *map_at = &map;
static struct list list;
static unsigned char *end; /* of memory */
static uint64_t seed = 88172645463325252ull;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static const void *any_place(void)
{
	const void *places[] = { (void *)(uintptr_t)any(), NULL, (void *)1, end - any() % 300, bytes, goroutines, &map,
				 bytes + any() % 4096, "http.route" };

	return places[any() % 9];
}

static uint64_t any_size(void)
{
	uint64_t sizes[] = { any(), any() % 8, any() % 300, 255, 256, 0, 1ull << 63, 0xffffffff };

	return sizes[any() % 8];
}

static void set(unsigned char *at, const void *address)
{
	memcpy(at, &address, sizeof(address));
}

/* One label, as a program in Go has it. */
static void be_right(struct bucket *b, struct pair *p)
{
	struct text key = { "http.route", 10 }, value = { "/right", 6 };

	memset(b, 0, sizeof(*b));
	b->full[3] = 77;
	b->keys[3] = key;
	b->values[3] = value;
	map = (struct map){ .count = 1, .buckets = b };
	*p = (struct pair){ key, value };
	list = (struct list){ p, 1, 1 };
	set(thread + CURG, goroutines);
	set(goroutines + 48, thread);
	set(goroutines + LABELS, LIST ? (void *)&list : (void *)&map_at);
}

/* So many labels, of which 16 buckets hold 128. */
static void be_full(struct bucket *b, struct pair *p, unsigned n)
{
	struct text key = { "a", 1 }, value = { "", 0 };

	be_right(b, p);
	for (unsigned i = 0; i < n; i++) {
		b[i / 8].full[i % 8] = 77;
		b[i / 8].keys[i % 8] = key;
		b[i / 8].values[i % 8] = value;
		p[i] = (struct pair){ key, value };
	}
	b[0].next = n > 128 ? b + 16 : NULL;
	map = (struct map){ .count = n, .log2 = 4, .buckets = b };
	list = (struct list){ p, n, n };
}

/* The label of be_right, and one thing of it is a lie, or several are. */
static void lie(struct bucket *b, struct pair *p)
{
	unsigned char *parts[] = { (unsigned char *)&map, (unsigned char *)&list, (unsigned char *)b,
				   (unsigned char *)p };
	size_t sizes[] = { sizeof(map), sizeof(list), sizeof(*b), sizeof(*p) };

	be_right(b, p);
	switch (any() % 12) {
	case 0:
		set(thread + CURG, any_place());
		break;
	case 1:
		set(goroutines + 48, any_place());
		break;
	case 2:
		set(goroutines + LABELS, any_place());
		break;
	case 3:
		map.buckets = list.at = any_place();
		map.log2 = (unsigned char)any();
		list.length = any_size();
		break;
	case 4: /* in a circle */
		b->next = b;
		memset(b->full, 9, 8);
		list.length = any();
		break;
	case 5:
		map.old = b;
		map.log2 = any() % 6;
		map.flags = (unsigned char)any();
		list.length = 3;
		break;
	case 6:
		b->keys[3].length = p->key.length = any_size();
		break;
	case 7:
		b->values[3].length = p->value.length = any_size();
		break;
	case 8:
		b->keys[3].at = p->key.at = any_place();
		b->values[3].at = p->value.at = any_place();
		break;
	case 9:
		for (int i = 0; i < 8; i++) {
			b->full[i] = (unsigned char)any();
			b->keys[i] = (struct text){ bytes + any() % 2048, any() % 256 };
			b->values[i] = (struct text){ bytes + any() % 2048, any() % 256 };
		}
		b->next = any() % 2 ? b : NULL;
		map.log2 = 3;
		p->key = b->keys[0];
		p->value = b->values[0];
		break;
	case 10:
		for (int i = 0; i < 4; i++)
			for (size_t k = 0; k < sizes[i]; k++)
				parts[i][k] = (unsigned char)any();
		break;
	case 11:
		break; /* nothing is */
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void work(double seconds)
{
	double until = now() + seconds;

	while (now() < until)
		;
}

int main(int argc, char **argv)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct bucket bucket[17];
	static struct pair pairs[129];

	end = pages + 4096;
	munmap(end, 4096);
	if (argc > 1) {
		be_full(bucket, pairs, (unsigned)atoi(argv[1]));
		goroutine = goroutines;
		work(0.5);
		return 0;
	}
	work(0.3);
	for (unsigned n = 0; n < 1200; n++) {
		const void *lies[] = { (void *)(uintptr_t)any(), (void *)1, end - 50, end - 400, end, bytes };

		for (unsigned i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)any();
		goroutine = NULL;
		lie(bucket, pairs);
		goroutine = n % 8 ? goroutines : (unsigned char *)lies[any() % 6];
		work(0.0015);
	}
	goroutine = NULL;
	be_right(bucket, pairs);
	goroutine = goroutines;
	work(1);
	puts("done");
	return 0;
}
"""

need_bpf()
need(None if platform.machine() == "x86_64" else "labels of Go programs are read on x86_64 only")
pathlib.Path("liar.c").write_text(LIAR)
for name, version, curg, labels, of_pairs in (("map", "go1.19.8", 192, 360, 0), ("list", "go1.24.0", 192, 352, 1)):
    run("gcc", "-O1", "-o", name, "liar.c", f'-DVERSION="{version}"', f"-DCURG={curg}", f"-DLABELS={labels}",
        f"-DLIST={of_pairs}")
    if "done" not in run(reticle, "record", "-q", "--activity", "-F", "4000", "--", f"./{name}"):
        sys.exit(f"{name} did not run to its end")
    head = run(reticle, "report", "--sort", "http.route,trace_id", errors="replace").splitlines()
    said = next(line for line in head if line.startswith("# Activities: "))
    print(f"{name}: {said}")
    for part in ("belong to one", "without attributes", "whose record was not to be read"):
        if part not in said:
            sys.exit(f"{name}: the head does not say '{part}'")
    for line in run(reticle, "script", "--json", "-F", "tid,activity", errors="replace").splitlines():
        json.loads(line)
    run(reticle, "export", "-o", "profile.pb.gz")
    run(reticle, "export", "-o", "profile.otlp")
    last = [sample["activity"] for sample in samples(reticle, "activity")][-400:]
    right = last.count("without ids http.route=/right")
    print(f"{name}: {right} of the last {len(last)} are right")
    if right < 300:
        sys.exit(f"{name}: they are to be 'without ids http.route=/right', and are {sorted(set(last))[:20]}")
    for many, are_cut in (("128", False), ("129", True)):
        run(reticle, "record", "-q", "--activity", "-F", "1000", "--", f"./{name}", many)
        said = next(line for line in run(reticle, "report").splitlines() if line.startswith("# Activities: "))
        if "belong to one" not in said or ("without attributes" in said) != are_cut:
            sys.exit(f"{name} with {many} labels: {said}")
