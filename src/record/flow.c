/* SPDX-License-Identifier: Apache-2.0 */
#include "record/flow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/regular.h"
#include "base/rootdir.h"
#include "codec/activity.h"
#include "codec/record.h"
#include "codec/sample.h"
#include "record/build_id.h"

#define SETTLE_AT (128u << 10)
#define NO_PID UINT32_MAX
#define ASKED_PER_PASS 256u /* processes and files */
#define ASKED_LAST 4096u
#define CERTAIN 3

/* What this file looks at in a sample stands in front of these. */
#define FIELDS_BEFORE                                                                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |            \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |           \
	 PERF_SAMPLE_CALLCHAIN)

void flow_init(struct flow *f, const struct evlist *events, bool want_hits)
{
	*f = (struct flow){ .events = events, .want_hits = want_hits, .one_layout = true, .settle_at = SETTLE_AT };
	f->aside = ID_NONE;
	for (u32 i = 0; i < events->events.n; i++)
		if (activity_event(&events->events.v[i].attr, events->events.v[i].name))
			f->aside = i;
	for (size_t i = 1; i < events->events.n; i++) {
		const struct attr *a = &events->events.v[i].attr, *first = &events->events.v[0].attr;

		f->one_layout &= !((a->sample_type ^ first->sample_type) & FIELDS_BEFORE) &&
				 a->read_format == first->read_format;
	}
}

static void mark(struct flow *f, u64 address)
{
	u64 page = address >> FLOW_PAGE_SHIFT, *recent = &f->recent[page % FLOW_RECENT];

	/* Call chains repeat: most pages were marked a moment ago. +1, so that 0 is an empty place. */
	if (LIKELY(*recent == page + 1))
		return;
	*recent = page + 1;
	map_set(&f->hits, page, 1);
}

static void look_at_sample(struct flow *f, const u8 *record, u16 size)
{
	bool by_id = !f->one_layout || f->aside != ID_NONE;
	u32 event = by_id ? evlist_find(f->events, record, size, true, false) : 0;
	struct sample_core s;

	if (event != ID_NONE && event == f->aside)
		return;
	f->samples++;
	if (f->tap)
		f->tap->sample(f->tap->ctx, record, size);
	if (event >= f->events->events.n ||
	    sample_core_decode(&f->events->events.v[event].layout, cursor_over(record, size, false), &s))
		return;
	if (s.time) {
		if (!f->first_time || s.time < f->first_time)
			f->first_time = s.time;
		if (s.time > f->last_time)
			f->last_time = s.time;
	}
	if (!f->want_hits)
		return;
	mark(f, s.ip);
	for (u32 i = 0; i < s.chain.n; i++)
		mark(f, u64s_at(&s.chain, i));
}

static u64 below(u32 file, u32 root)
{
	return (u64)file << 32 | root;
}

/* The first one of a file is kept. */
static void keep_build_id(struct flow *f, u64 key, const u8 *bytes, u8 size)
{
	struct flow_build_id id = { .size = size, .fd = -1 };

	if (map_get(&f->id_of, key) != ID_NONE)
		return;
	memcpy(id.id, bytes, MIN(size, sizeof(id.id)));
	map_set(&f->id_of, key, (u32)f->build_ids.n);
	vec_push(&f->build_ids, id);
}

static bool has_ended(const struct flow *f, u32 pid)
{
	return !f->own_pids && pid != NO_PID && kill((pid_t)pid, 0) && errno == ESRCH;
}

static int open_below_its_root(const struct flow *f, const struct flow_map *m)
{
	char root[64];

	snprintf(root, sizeof(root), "/proc/%u/root", m->pid);
	return regular_open_in(root, strtab_get(&f->files, m->file));
}

/* If need be, one that was not hit is closed: that which was opened first. */
static bool has_room(struct flow *f)
{
	if (f->open < FLOW_MOST_OPEN)
		return true;
	if (f->open_hit == f->open)
		return false;
	for (;;) {
		struct flow_build_id *b = &f->build_ids.v[f->next_closed++ % f->build_ids.n];

		if (b->fd < 0 || b->hit)
			continue;
		close(b->fd);
		b->fd = -1;
		f->open--;
		return true;
	}
}

static void keep_open(struct flow *f, struct flow_build_id *b, int fd)
{
	b->fd = fd;
	f->open++;
	f->open_hit += b->hit;
}

/* Finds out which files below other root directories were hit meanwhile. One that had to make room is opened again. */
static void note_open(struct flow *f)
{
	for (size_t i = 0; f->want_open && f->want_hits && i < f->asked; i++) {
		const struct flow_map *m = &f->maps.v[i];
		bool below_other = m->root && m->root != FLOW_ROOT_UNKNOWN;
		u32 id = below_other ? map_get(&f->id_of, below(m->file, m->root)) : ID_NONE;
		struct flow_build_id *b = id == ID_NONE ? NULL : &f->build_ids.v[id];
		int fd;

		if (!b || !b->size || b->hit || !flow_hit(f, m->start, m->end))
			continue;
		b->hit = true;
		f->open_hit += b->fd >= 0;
		if (b->fd < 0 && has_room(f) && (fd = open_below_its_root(f, m)) >= 0)
			keep_open(f, b, fd);
	}
}

/* What a process with a root directory of its own has mapped can be found while it lives, and not at the end. */
static void read_below_its_root(struct flow *f, const struct flow_map *m)
{
	struct build_id id = { 0 };
	int fd = open_below_its_root(f, m);
	struct flow_build_id *kept;

	if (fd >= 0 && !build_id_of_fd(fd, &id))
		id.size = 0;
	keep_build_id(f, below(m->file, m->root), id.id, id.size);
	kept = &f->build_ids.v[f->build_ids.n - 1];
	kept->hit = !f->want_hits || flow_hit(f, m->start, m->end);
	if (fd >= 0 && id.size && f->want_open && has_room(f))
		keep_open(f, kept, fd);
	else if (fd >= 0)
		close(fd);
}

/*
 * Asks in which root directories the processes lie that have mapped files, and for build ids of those that are not
 * ours. Files of strangers are read for that, so it is not done before the rings have room again, and only so often.
 */
static void ask(struct flow *f, u32 most)
{
	u32 pid = NO_PID, root = 0;
	bool noted = false;

	for (; f->asked < f->maps.n && most; f->asked++) {
		struct flow_map *m = &f->maps.v[f->asked];

		if (m->root != FLOW_ROOT_UNKNOWN)
			continue;
		if (m->pid != pid) {
			pid = m->pid;
			root = rootdir_of(pid);
			if (!root && has_ended(f, pid))
				root = FLOW_ROOT_UNKNOWN;
			most--;
		}
		m->root = root;
		if (!root || root == FLOW_ROOT_UNKNOWN)
			continue;
		f->of_file.v[m->file].elsewhere = true;
		if (map_get(&f->id_of, below(m->file, root)) != ID_NONE)
			continue;
		if (!noted && f->open == FLOW_MOST_OPEN)
			note_open(f);
		noted |= f->open == FLOW_MOST_OPEN;
		read_below_its_root(f, m);
		most -= most > 0;
	}
}

/* How well it is known whose file was hit. What was hit in our root directory goes first: others cannot take its
 * place. */
static u32 certainty(bool wanted, u32 root)
{
	return !wanted ? 0 : root == FLOW_ROOT_UNKNOWN ? 1 : root ? 2 : CERTAIN;
}

static bool is_settled(const struct flow_file *file)
{
	return certainty(file->wanted, file->root) == CERTAIN;
}

static void look_at_map(struct flow *f, const struct rec_mmap *m)
{
	struct flow_map map = { .start = m->start, .end = m->start + m->len, .pid = m->pid };

	map_set(&f->pids, m->pid, 1);
	if (f->no_files || !(m->prot & PROT_EXEC) || !m->filename.len)
		return;
	map.file = strtab_intern(&f->files, m->filename.p, m->filename.len);
	while (f->of_file.n <= map.file)
		vec_push(&f->of_file, (struct flow_file){ 0 });
	if (is_settled(&f->of_file.v[map.file]))
		return;
	if (m->build_id_size)
		keep_build_id(f, below(map.file, 0), m->build_id, m->build_id_size);
	else if (!f->own_pids && m->pid != NO_PID && m->filename.p[0] == '/')
		map.root = FLOW_ROOT_UNKNOWN;
	vec_push(&f->maps, map);
}

/* Rings are those of CPUs or, with a CPU of -1, of threads. */
static u64 aux_place(s32 cpu, s32 tid)
{
	return cpu >= 0 ? (u32)cpu : 1ull << 32 | (u32)tid;
}

static void note_aux_end(struct flow *f, u64 place, const struct rec_aux *r)
{
	u32 *at = map_at(&f->aux_places, place, (u32)f->aux_ends.n);

	if (*at == f->aux_ends.n)
		vec_push(&f->aux_ends, 0);
	/* Of an area that is overwritten, they have the place in it instead of the position. */
	f->aux_ends.v[*at] = r->flags & PERF_AUX_FLAG_OVERWRITE ? f->aux_ends.v[*at] + r->size :
								  MAX(f->aux_ends.v[*at], r->offset + r->size);
}

static void look_at_aux(struct flow *f, const struct record *r)
{
	f->aux_truncated += (r->aux.flags & PERF_AUX_FLAG_TRUNCATED) != 0;
	f->aux_collisions += (r->aux.flags & PERF_AUX_FLAG_COLLISION) != 0;
	if (r->sid.has & PERF_SAMPLE_CPU)
		note_aux_end(f, aux_place((s32)r->sid.cpu, 0), &r->aux);
	if (r->sid.has & PERF_SAMPLE_TID)
		note_aux_end(f, aux_place(-1, (s32)r->sid.tid), &r->aux);
}

u64 flow_aux_end(const struct flow *f, s32 cpu, s32 tid)
{
	u32 at = map_get(&f->aux_places, aux_place(cpu, tid));

	return at == ID_NONE ? 0 : f->aux_ends.v[at];
}

static void look_at_other(struct flow *f, const u8 *record, u16 size)
{
	struct record r;

	if (record_decode(cursor_over(record, size, false), 0, &f->events->trailer, &r))
		return;
	if (f->tap)
		f->tap->other(f->tap->ctx, &r);
	switch (r.h.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		look_at_map(f, &r.mmap);
		break;
	case PERF_RECORD_FORK:
		map_set(&f->pids, r.task.pid, 1);
		break;
	case PERF_RECORD_LOST:
		f->lost += r.lost.lost;
		break;
	case PERF_RECORD_THROTTLE:
		f->throttled++;
		break;
	case PERF_RECORD_AUX:
		look_at_aux(f, &r);
		break;
	default:
		break;
	}
}

static void look_at(struct flow *f, const u8 *record, const struct perf_event_header *h)
{
	if (LIKELY(h->type == PERF_RECORD_SAMPLE))
		look_at_sample(f, record, h->size);
	else
		look_at_other(f, record, h->size);
}

void flow_look(struct flow *f, const struct iovec *part, int nr)
{
	struct perf_event_header h;
	size_t at = 0;

	for (int i = 0; i < nr; i++) {
		const u8 *base = part[i].iov_base;

		while (at + sizeof(h) <= part[i].iov_len) {
			size_t here = part[i].iov_len - at;

			memcpy(&h, base + at, sizeof(h));
			if (h.size < sizeof(h))
				return;
			if (LIKELY(h.size <= here)) {
				look_at(f, base + at, &h);
			} else if (i + 1 < nr && h.size - here <= part[i + 1].iov_len) {
				f->joined.len = 0;
				bytes_put(&f->joined, base + at, here);
				bytes_put(&f->joined, part[i + 1].iov_base, h.size - here);
				look_at(f, f->joined.p, &h);
			}
			at += h.size;
		}
		at -= MIN(at, part[i].iov_len);
	}
}

static void close_files(struct flow *f)
{
	for (size_t i = 0; i < f->build_ids.n; i++)
		if (f->build_ids.v[i].fd >= 0)
			close(f->build_ids.v[i].fd);
	f->open = f->open_hit = f->next_closed = 0;
}

void flow_restart(struct flow *f)
{
	f->aux_truncated = f->aux_collisions = 0;
	f->samples = f->lost = f->throttled = f->first_time = f->last_time = 0;
	map_free(&f->hits);
	f->hits = (struct map){ 0 };
	memset(f->recent, 0, sizeof(f->recent));
	map_free(&f->id_of);
	f->id_of = (struct map){ 0 };
	close_files(f);
	f->maps.n = f->build_ids.n = f->asked = 0;
	for (size_t i = 0; i < f->of_file.n; i++)
		f->of_file.v[i] = (struct flow_file){ .elsewhere = f->of_file.v[i].elsewhere };
}

void flow_free(struct flow *f)
{
	close_files(f);
	map_free(&f->hits);
	map_free(&f->pids);
	map_free(&f->id_of);
	map_free(&f->aux_places);
	vec_free(&f->aux_ends);
	strtab_free(&f->files);
	vec_free(&f->maps);
	vec_free(&f->of_file);
	vec_free(&f->build_ids);
	bytes_free(&f->joined);
}

bool flow_hit(const struct flow *f, u64 start, u64 end)
{
	u64 first = start >> FLOW_PAGE_SHIFT, last = (end - 1) >> FLOW_PAGE_SHIFT;

	if (end <= start)
		return false;
	if (last - first < f->hits.n) {
		for (u64 page = first; page <= last; page++)
			if (map_get(&f->hits, page) != ID_NONE)
				return true;
		return false;
	}
	for (u32 i = 0; f->hits.n && i <= f->hits.mask; i++)
		if (f->hits.slots[i].value != ID_NONE && f->hits.slots[i].key >= first && f->hits.slots[i].key <= last)
			return true;
	return false;
}

/* Moves from mappings and pages to files. */
static void note_hits(struct flow *f)
{
	for (size_t i = 0; i < f->maps.n; i++) {
		const struct flow_map *m = &f->maps.v[i];
		struct flow_file *file = &f->of_file.v[m->file];

		if (certainty(true, m->root) <= certainty(file->wanted, file->root) ||
		    (f->want_hits && !flow_hit(f, m->start, m->end)))
			continue;
		file->wanted = true;
		file->pid = m->pid;
		file->root = m->root;
	}
}

static void forget_ended(struct flow *f)
{
	struct map living = { 0 }, *pids = &f->pids;

	for (u32 i = 0; pids->slots && i <= pids->mask; i++)
		if (pids->slots[i].value != ID_NONE && !has_ended(f, (u32)pids->slots[i].key))
			map_set(&living, pids->slots[i].key, 1);
	map_free(pids);
	*pids = living;
}

void flow_settle(struct flow *f)
{
	size_t kept = 0, asked = 0;

	ask(f, ASKED_PER_PASS);
	if (f->maps.n + f->hits.n < f->settle_at)
		return;
	note_open(f);
	note_hits(f);
	for (size_t i = 0; i < f->maps.n; i++)
		if (!is_settled(&f->of_file.v[f->maps.v[i].file]) && !has_ended(f, f->maps.v[i].pid)) {
			asked += i < f->asked;
			f->maps.v[kept++] = f->maps.v[i];
		}
	f->maps.n = kept;
	f->asked = asked;
	map_free(&f->hits);
	forget_ended(f);
	memset(f->recent, 0, sizeof(f->recent));
	f->settle_at = MAX((size_t)SETTLE_AT, kept * 2);
}

void flow_files(struct flow *f, void (*fn)(void *ctx, const char *file, u32 pid, const struct flow_build_id *known),
		void *ctx)
{
	ask(f, ASKED_LAST);
	note_open(f);
	note_hits(f);
	for (u32 i = 0; i < f->of_file.n; i++) {
		const struct flow_file *file = &f->of_file.v[i];
		bool unknown = file->root == FLOW_ROOT_UNKNOWN;
		u32 id = map_get(&f->id_of, below(i, unknown ? 0 : file->root));
		const struct flow_build_id *known = id == ID_NONE ? NULL : &f->build_ids.v[id];

		/* What another root directory has is not what is there by that path in ours. */
		if (!file->wanted || (known && !known->size) ||
		    (!known && (unknown ? file->elsewhere : file->root != 0)))
			continue;
		fn(ctx, strtab_get(&f->files, i), file->pid, known);
	}
}
