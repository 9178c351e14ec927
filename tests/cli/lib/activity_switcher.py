# SPDX-License-Identifier: Apache-2.0
"""A program whose threads switch activities every 10 microseconds to 1 millisecond, and note when they worked for
which."""
import collections
import os
import pathlib
import subprocess

from lib.activity_truth import CLOCK

library = pathlib.Path(os.environ["SRCDIR"]) / "activity"
include = f"-I{library}/include"
sources = [str(part) for part in (library / "src").glob("*.c")]

# Arguments: threads, step in ns, seconds, file of the truth, and a library that is to be loaded.
PROGRAM = "#define _GNU_SOURCE" + CLOCK + r"""
#include <dlfcn.h>
#include <pthread.h>
#include <reticle/activity.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef LOADED
static int (*publish)(const struct activity_process *);
static void (*set)(const struct activity_ids *), (*clear)(void);
static bool (*attribute)(unsigned, const char *, size_t);
#else
#define publish activity_publish
#define set activity_set
#define clear activity_clear
#define attribute activity_attribute
#endif

struct truth {
	uint64_t begin, end, span;
};
struct thread {
	pthread_t thread;
	int tid, id;
	struct truth *v;
	size_t n;
};
static uint64_t step, until;

#define MOST (1 << 20)

static void *run(void *arg)
{
	struct thread *t = arg;
	uint64_t begin, end;

	t->tid = (int)syscall(SYS_gettid);
	t->v = calloc(MOST, sizeof(*t->v));
	for (uint64_t i = 1; now() < until && t->n < MOST; i++) {
		struct activity_ids ids = { .trace = { (uint8_t)t->id, 1 }, .span = { (uint8_t)t->id } };

		memcpy(ids.span + 1, &i, 7);
		set(&ids);
		attribute(0, i & 1 ? "/odd" : "/even", i & 1 ? 4 : 5);
		begin = now();
		while ((end = now()) < begin + step * (1 + i % 3) / 2)
			;
		t->v[t->n++] = (struct truth){ begin, end, i };
	}
	clear();
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "http.route" };
	int n = atoi(argv[1]);
	struct thread *t = calloc((size_t)n, sizeof(*t));
	FILE *f = fopen(argv[4], "w");

#ifdef LOADED
	void *lib = dlopen(argv[5], RTLD_NOW);

	publish = (int (*)(const struct activity_process *))dlsym(lib, "activity_publish");
	set = (void (*)(const struct activity_ids *))dlsym(lib, "activity_set");
	clear = (void (*)(void))dlsym(lib, "activity_clear");
	attribute = (bool (*)(unsigned, const char *, size_t))dlsym(lib, "activity_attribute");
#endif
	step = strtoull(argv[2], NULL, 10);
	publish(&(struct activity_process){ .service = "switcher", .keys = keys, .nr_keys = 1 });
	/* The recorder is not asked before the first sample. */
	until = now() + 300000000;
	while (now() < until)
		;
	until = now() + (uint64_t)(atof(argv[3]) * 1e9);
	for (int i = 0; i < n; i++) {
		t[i].id = i + 1;
		pthread_create(&t[i].thread, NULL, run, &t[i]);
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i].thread, NULL);
	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < t[i].n; k++)
			fprintf(f, "%d %llu %llu %d %llu\n", t[i].tid, (unsigned long long)t[i].v[k].begin,
				(unsigned long long)t[i].v[k].end, t[i].id, (unsigned long long)t[i].v[k].span);
	fclose(f);
	return argc < 5;
}
"""


def build(name, *options):
    subprocess.run(["gcc", "-O2", "-o", name, *options, "-pthread"], check=True)


def read_truth():
    truth = collections.defaultdict(list)
    for line in open("truth"):
        tid, begin, end, thread, span = map(int, line.split())
        ids = bytes((thread, 1)).ljust(16, b"\0").hex() + "/" + (bytes((thread,)) + span.to_bytes(7, "little")).hex()
        truth[tid].append((begin, end, f"{ids} http.route={'/odd' if span & 1 else '/even'}"))
    return truth
