#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity: Custom Labels, sets of labels that a program changes by itself (version 1 of that ABI). Each
sample has the labels that its thread had then: in threads that note them by time, in one that does nothing but change
them, and beside one whose sets are lies."""
import collections
import os
import pathlib
import platform
import re
import sys

from lib.activity_truth import CLOCK, NOT_YET, WORK, by_time, run, samples
from lib.machine import need_bpf

reticle = os.environ["RETICLE"]

LABELS = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define SET __attribute__((visibility("default")))

struct text {
	size_t length;
	const char *at;
};
struct label {
	struct text key, value;
};
struct set {
	struct label *labels;
	size_t count, room;
};
SET extern const uint32_t custom_labels_abi_version;
SET extern __thread struct set *custom_labels_current_set;
SET void set_label(const char *key, const char *value);
SET void delete_label(const char *key);
#define THEN __asm__ volatile("" ::: "memory") /* what a profiler sees is in this order */
"""
LIBRARY = LABELS + r"""
const uint32_t custom_labels_abi_version = 1;
__thread struct set *custom_labels_current_set;

static struct text copy_of(const char *s)
{
	return (struct text){ strlen(s), strdup(s) };
}

static size_t place_of(const struct set *s, const char *key)
{
	size_t i = 0;

	while (i < s->count && (s->labels[i].key.length != strlen(key) ||
				memcmp(s->labels[i].key.at, key, strlen(key))))
		i++;
	return i;
}

/* The last label comes into its place. */
static void remove_at(struct set *s, size_t i)
{
	struct label *gone = &s->labels[i], *last = &s->labels[s->count - 1], old = *gone;

	if (gone != last) {
		gone->key.at = NULL;
		THEN;
		gone->value = last->value;
		gone->key.length = last->key.length;
		THEN;
		gone->key.at = last->key.at;
		THEN;
	}
	s->count--;
	THEN;
	memset((void *)old.key.at, '?', old.key.length);
	memset((void *)old.value.at, '?', old.value.length);
	free((void *)old.key.at);
	free((void *)old.value.at);
}

void delete_label(const char *key)
{
	struct set *s = custom_labels_current_set;
	size_t i = place_of(s, key);

	if (i < s->count)
		remove_at(s, i);
}

void set_label(const char *key, const char *value)
{
	struct set *s = custom_labels_current_set;
	struct label *labels;
	size_t i;

	if (!s) {
		s = calloc(1, sizeof(*s));
		THEN;
		custom_labels_current_set = s;
	}
	i = place_of(s, key);
	if (s->count == s->room) {
		labels = calloc(s->room + 2, sizeof(*labels));
		if (s->count)
			memcpy(labels, s->labels, s->count * sizeof(*labels));
		free(__atomic_exchange_n(&s->labels, labels, __ATOMIC_SEQ_CST));
		s->room += 2;
	}
	s->labels[s->count] = (struct label){ copy_of(key), copy_of(value) };
	THEN;
	if (++s->count > i + 1)
		remove_at(s, i);
}
"""
PROGRAM = LABELS + CLOCK + WORK.replace("now(", "used(") + r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

WORK(compute)

enum { PARTS = 5, ROUNDS = 60 };

struct part {
	uint64_t begin, end;
	char said[64];
};

static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static void note(struct part *p, const char *said)
{
	snprintf(p->said, sizeof(p->said), "%s", said);
	p->begin = now();
	compute(3);
	p->end = now();
}

/* In each round a label more, another value of it, one less, and the ids that make a span of them. */
static void *noted(void *unused)
{
	long thread = syscall(SYS_gettid);
	struct part *parts = calloc(ROUNDS * PARTS, sizeof(*parts)), *p = parts;
	char id[40], said[64];

	for (int i = 0; i < ROUNDS; i++) {
		snprintf(id, sizeof(id), "/%d", i);
		set_label("http.route", id);
		snprintf(said, sizeof(said), "http.route=/%d", i);
		note(p++, said);
		set_label("step", "hash");
		snprintf(said, sizeof(said), "http.route=/%d step=hash", i);
		note(p++, said);
		set_label("step", "sort");
		snprintf(said, sizeof(said), "http.route=/%d step=sort", i);
		note(p++, said);
		delete_label("http.route");
		note(p++, "step=sort");
		delete_label("step");
		note(p++, "none");
	}
	pthread_mutex_lock(&printing);
	for (int i = 0; i < ROUNDS * PARTS; i++)
		printf("%ld %llu %llu %s\n", thread, (unsigned long long)parts[i].begin,
		       (unsigned long long)parts[i].end, parts[i].said);
	pthread_mutex_unlock(&printing);
	return unused;
}

/* A digit as often as it says is a value; so one that is read while it changes would be another text. */
static void *changing(void *unused)
{
	uint64_t until = now() + 1500000000;
	char value[16];

	pthread_setname_np(pthread_self(), "changing");
	set_label("kept", "yes");
	for (int i = 0; now() < until; i++) {
		memset(value, '1' + i % 9, sizeof(value));
		value[i % 9 + 1] = '\0';
		set_label(i & 1 ? "odd" : "even", value);
		if (i % 3 == 0)
			delete_label("even");
	}
	return unused;
}

/* A label without a key does not count, and of two of a name the first one. */
static void *steady(void *unused)
{
	struct label labels[] = { { { 1, "a" }, { 1, "1" } }, { { 0, NULL }, { 4, "none" } },
				  { { 4, "same" }, { 3, "old" } }, { { 4, "same" }, { 3, "new" } } };
	struct set set = { labels, 4, 4 };

	pthread_setname_np(pthread_self(), "steady");
	custom_labels_current_set = &set;
	compute(200);
	custom_labels_current_set = NULL;
	return unused;
}

static uint64_t any(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void *lying(void *unused)
{
	uint64_t until = now() + 1500000000;
	char *end = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
	struct label labels[200];
	struct set set;

	munmap(end, 4096);
	pthread_setname_np(pthread_self(), "lying");
	while (now() < until) {
		const void *places[] = { (void *)any(), (void *)1, NULL, end - any() % 40, labels, &set, "text" };
		uint64_t sizes[] = { any(), any() % 8, any() % 200, 255, 256, 1ull << 63, 0xffffffff };

		for (int i = 0; i < 200; i++)
			labels[i] = (struct label){ { sizes[any() % 7], places[any() % 7] },
						    { sizes[any() % 7], places[any() % 7] } };
		set = (struct set){ any() % 2 ? labels : (void *)places[any() % 7], sizes[any() % 7], 200 };
		custom_labels_current_set = any() % 8 ? &set : (void *)places[any() % 7];
		for (volatile int i = 0; i < 20000; i++)
			;
	}
	custom_labels_current_set = NULL;
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const what[])(void *) = { noted, noted, changing, steady };
	pthread_t threads[4];

	if (argc > 1 && !strcmp(argv[1], "lie"))
		return !!lying(NULL);
	compute(150); /* the recorder looks at all files meanwhile, as samples come */
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, what[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def record(*program):
    return run(reticle, "record", "-q", "--activity", "-k", "CLOCK_MONOTONIC", "-F", "2000", "-o", "perf.data", "--",
               *program)


def in_order(said):
    """Labels are in any order."""
    return " ".join(sorted(said.removeprefix("without ids ").split()))


def check_noted(name, output):
    """Until the recorder has found the variable, samples say that or nothing."""
    truth, right, early, missed = collections.defaultdict(list), collections.Counter(), 0, 0
    for line in output.splitlines():
        tid, begin, end, labels = line.split(maxsplit=3)
        truth[int(tid)].append((int(begin), int(end), labels))
    for said, labels, where in by_time(reticle, truth):
        if in_order(said) == in_order(labels) and (labels != "none" or right["labels"]):
            right["none" if labels == "none" else "labels"] += 1
        elif said in (NOT_YET, "none") and not right["labels"]:
            early += 1
        elif said in (NOT_YET, "none", "unreadable"):
            missed += 1
        else:
            sys.exit(f"{name}: {where} had {labels}, and reticle says {said}")
    print(f"{name}: {dict(right)} right, {missed} missed, {early} early")
    if right["labels"] < 300 or right["none"] < 50 or missed > right["labels"] // 1000:
        sys.exit(f"{name}: too many were missed, or there are too few")


def check_changing(name):
    """Each value is whole, and what the thread never changes is always there."""
    seen = collections.Counter()
    for sample in samples(reticle, "comm,activity"):
        if sample["comm"] != "changing" or not seen and sample["activity"] in (NOT_YET, "none"):
            continue
        labels = dict(word.partition("=")[::2] for word in in_order(sample["activity"]).split())
        kept, values = labels.pop("kept", None), labels.values()
        if kept != "yes" or labels.keys() - {"odd", "even"} or not all(
                re.fullmatch(r"([1-9])\1*", v) and len(v) == int(v[0]) for v in values):
            sys.exit(f"{name}: a thread that changes its labels has {sample['activity']}")
        seen[len(labels)] += 1
    print(f"{name}: so many other labels, and so many samples: {dict(seen)}")
    if seen[1] < 100 or seen[2] < 100:
        sys.exit(f"{name}: there are too few")


def check_steady(name):
    seen = collections.Counter(in_order(sample["activity"]) for sample in samples(reticle, "comm,activity")
                               if sample["comm"] == "steady")
    print(f"{name}: {dict(seen)}")
    if seen.keys() - {"a=1 same=old", "none", in_order(NOT_YET)} or seen["a=1 same=old"] < 100:
        sys.exit(f"{name}: a thread with two labels has others")
    if "without attributes" in run(reticle, "report", "-i", "perf.data"):
        sys.exit(f"{name}: labels were not read")


def has_no_labels(program):
    record(f"./{program}")
    # A thread that has no thread pointer yet, as it has only begun, is unreadable.
    said = {sample["activity"] for sample in samples(reticle, "activity")} - {NOT_YET, "unreadable"}
    if said != {"none"}:
        sys.exit(f"{program} must not have labels: {said}")


def check_lying():
    """The program runs on, and what was read of its lies can be shown."""
    record("./program", "lie")
    counts = collections.Counter("labels" if "=" in sample["activity"] else sample["activity"]
                                 for sample in samples(reticle, "activity"))
    print(f"lies: {dict(counts)}")
    for command in ("report", "--sort", "activity"), ("activity",), ("script",), ("export", "-o", "profile.pb.gz"):
        run(reticle, *command[:1], "-i", "perf.data", *command[1:])
    if counts["labels"] < 100 or counts["unreadable"] < 10:
        sys.exit("there are too few")


need_bpf()
for file, text in {"labels.c": LIBRARY, "program.c": PROGRAM}.items():
    pathlib.Path(file).write_text(text)
run("cc", "-O1", "-pthread", "program.c", "labels.c", "-o", "program")
dialect = ["-mtls-dialect=gnu2"] if platform.machine() == "x86_64" else []
run("cc", "-O1", "-shared", "-fPIC", *dialect, "labels.c", "-o", "liblabels.so")
run("cc", "-O1", "-pthread", "program.c", "-L.", "-llabels", "-Wl,-rpath,$ORIGIN", "-o", "linked")
for program in "program", "linked":
    check_noted(program, record(f"./{program}"))
    check_changing(program)
    check_steady(program)
rows = run(reticle, "report", "-i", "perf.data", "--csv", "--sort", "http.route,step")
if not re.search(r"/7,hash", rows):
    sys.exit(f"report --sort does not show labels: {rows}")

# Another version, and programs that have a thread context as well: nobody writes into that, so they work for nothing.
pathlib.Path("context.c").write_text("""
__thread void *otel_thread_ctx_v1;
void *context(void) { return otel_thread_ctx_v1; }
""")
pathlib.Path("newer.c").write_text(LIBRARY.replace("version = 1", "version = 2"))
run("cc", "-O1", "-pthread", "program.c", "newer.c", "-o", "newer")
run("cc", "-O1", "-pthread", "program.c", "labels.c", "context.c", "-rdynamic", "-o", "with_context")
run("cc", "-shared", "-fPIC", *dialect, "context.c", "-o", "libcontext.so")
run("cc", "-O1", "-pthread", "program.c", "labels.c", "-rdynamic", "-Wl,--no-as-needed", "-L.", "-lcontext",
    "-Wl,-rpath,$ORIGIN", "-o", "with_library")
for program in "newer", "with_context", "with_library":
    has_no_labels(program)
check_lying()
