/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: six bytes for each record: which one, four ids, and where a mapping begins and how long it is. Ids and
 * addresses are so few that they meet.
 */
#include "state/tasks.h"
#include "fuzz.h"

#include <string.h>

#define STEP 6
#define IDS 8
#define PLACES 16 /* addresses */
#define ROOM 4096

static struct record record_of(const u8 *p)
{
	static const u32 types[] = { PERF_RECORD_FORK, PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK };
	struct record r = { .h = { .type = types[p[0] % ARRAY_LEN(types)], .misc = PERF_RECORD_MISC_USER } };
	struct str text = { (const char *)p, 1 }; /* a record's own */

	switch (r.h.type) {
	case PERF_RECORD_FORK:
		r.task.pid = p[1] % IDS;
		r.task.tid = p[2] % IDS;
		r.task.ppid = p[3] % IDS;
		r.task.ptid = p[4] % IDS;
		r.h.misc |= p[5] % 16 ? 0 : PERF_RECORD_MISC_FORK_EXEC;
		break;
	case PERF_RECORD_MMAP2:
		r.mmap.pid = p[1] % IDS;
		r.mmap.tid = p[2] % IDS;
		r.mmap.start = p[3] % PLACES;
		r.mmap.len = p[4] % PLACES;
		r.mmap.filename = text;
		break;
	default:
		r.comm.pid = p[1] % IDS;
		r.comm.tid = p[2] % IDS;
		r.comm.comm = text;
		break;
	}
	return r;
}

static void check_tree(const struct tasks *t)
{
	struct task_line *lines = tasks_tree(t);
	u8 *seen = mem_zalloc(t->all.n + 1);

	for (size_t i = 0; i < t->all.n; i++) {
		MUST(lines[i].task < t->all.n && !seen[lines[i].task]++);
		MUST(lines[i].depth <= (i ? lines[i - 1].depth + 1 : 0));
	}
	free(seen);
	free(lines);
}

/* The mapping that is seen at a place: the newest one of the space's own, else of what its ancestors had. */
static const struct task_map *seen_at(const struct tasks *t, u32 space, u64 place)
{
	u32 until = ID_NONE;

	while (space != ID_NONE) {
		const struct task_space *s = &t->spaces.v[space];

		MUST(s->parent == ID_NONE || (s->parent < space && s->parent_n));
		for (size_t i = MIN(s->log.n, (size_t)until); i--;)
			if (s->log.v[i].start <= place && place < s->log.v[i].end)
				return &s->log.v[i];
		until = s->parent_n;
		space = s->parent;
	}
	return NULL;
}

static void check_maps(const struct tasks *t, u32 space, task_maps *maps)
{
	u64 room = ROOM, little = 1, at = 0;

	if (!tasks_maps(t, space, &room, maps))
		return;
	for (size_t i = 0; i < maps->n; i++) {
		const struct task_map *m = &maps->v[i];

		MUST(m->start < m->end && m->end <= 2 * PLACES);
		for (; at < m->start; at++)
			MUST(!seen_at(t, space, at));
		MUST(at == m->start);
		for (; at < m->end; at++) {
			const struct task_map *from = seen_at(t, space, at);

			MUST(from && m->pgoff + at - m->start == from->pgoff + at - from->start);
		}
	}
	for (; at < 2 * PLACES; at++)
		MUST(!seen_at(t, space, at));
	room = ROOM - room;
	MUST(tasks_maps(t, space, &little, maps) == (room <= 1) && little <= 1);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct tasks t;
	task_maps maps = { 0 };

	tasks_init(&t);
	for (size_t i = 0; i + STEP <= MIN(size, (size_t)STEP << 10); i += STEP) {
		struct record r = record_of(data + i);

		tasks_apply(&t, &r);
	}
	check_tree(&t);
	for (u32 i = 0; i < t.spaces.n && i < 64; i++)
		check_maps(&t, i, &maps);
	for (size_t i = 0; i < t.all.n; i++)
		MUST(t.all.v[i].space < t.spaces.n);
	vec_free(&maps);
	tasks_free(&t);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
