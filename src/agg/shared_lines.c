/* SPDX-License-Identifier: Apache-2.0 */
/*
 * False sharing or true sharing? Samples tell, for each access, which bytes it used and whether another core had to
 * hand the line over. An access is contended if the line was handed over, or if it is a store that had to get the
 * line. The line can only have been taken away by a thread that stores to it (or, for a store, by any other thread
 * that uses it):
 *
 * - if such a thread stores to the same bytes, the access needs the stored data, so the data are shared;
 * - if all of them store only to other bytes, the access would not have had to wait if those bytes were in another
 *   line.
 *
 * The verdict weighs contended accesses by how often they were sampled. Only the first byte of an access is known,
 * because sizes are not sampled. So two overlapping accesses that begin at different bytes look as if they did not
 * overlap.
 */
#include "agg/shared_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/set.h"
#include "codec/perf_abi.h"

#define MOST 0.9 /* of what is contended: so much of one kind makes the verdict */

/* Of keys that are parts of a data_src: without what says which part it is (agg/keys.c). */
static u64 part_of(const struct profile *p, const struct row *r, u32 key)
{
	return profile_row_key(p, r, key) & ((1ull << 60) - 1);
}

static bool is_handed(const struct profile *p, const struct row *r)
{
	u64 snoop = part_of(p, r, SORT_SNOOP);

	return snoop & (PERF_MEM_S(SNOOP, HITM) | PERF_MEM_S(SNOOPX, PEER));
}

/* The line of that process; new ones are added. */
static struct shared_line *line_of(struct shared_lines *s, struct set *known, u32 pid, u64 address)
{
	u64 hash = hash_u64(address ^ hash_u64(pid));
	u32 id, at;

	SET_FIND(id, known, hash, at, s->lines.v[id].address == address && s->lines.v[id].pid == pid);
	if (id == ID_NONE) {
		set_add(known, hash, id = (u32)s->lines.n);
		vec_push(&s->lines, (struct shared_line){ .address = address, .pid = pid });
	}
	return &s->lines.v[id];
}

static void add_use(struct shared_lines *s, struct shared_line *l, const struct line_use *u)
{
	s->loads += u->loads;
	s->stores += u->stores;
	s->handed += u->handed;
	s->missed += u->missed;
	s->cost += u->cost;
	l->loads += u->loads;
	l->stores += u->stores;
	l->handed += u->handed;
	l->missed += u->missed;
	l->locked += u->locked;
	l->cost += u->cost;
	vec_push(&l->uses, *u);
}

static struct line_use use_of(const struct profile *p, const struct row *r)
{
	bool store = part_of(p, r, SORT_MEM_OP) & PERF_MEM_S(OP, STORE);
	struct line_use u = {
		.offset = (u32)(profile_row_key(p, r, SORT_DADDR) % SHARED_LINE_BYTES),
		.tid = (u32)profile_row_key(p, r, SORT_TID),
		.comm = r->comm,
		.datum = (u32)profile_row_key(p, r, SORT_SYMBOL_DADDR),
		.object = (u32)profile_row_key(p, r, SORT_DSO_DADDR),
		.code = (u32)profile_row_key(p, r, SORT_SYMBOL_IADDR),
	};

	if (store) {
		u.stores = r->samples;
		u.missed = part_of(p, r, SORT_MEM) & PERF_MEM_S(LVL, MISS) ? r->samples : 0;
	} else {
		u.loads = r->samples;
		u.handed = is_handed(p, r) ? r->samples : 0;
		u.cost = r->self;
	}
	u.locked = part_of(p, r, SORT_LOCKED) & PERF_MEM_S(LOCK, LOCKED) ? r->samples : 0;
	return u;
}

/* --- what its uses come to --- */

static int by_place(const void *x, const void *y)
{
	const struct line_use *a = x, *b = y;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->code < b->code ? -1 : a->code > b->code;
}

/* In an order that is the same in each run: frames are numbered as workers meet them. Of uses that become one, the
 * name that the thread had first is shown. */
static int by_shown_place(const void *x, const void *y, void *profile)
{
	const struct line_use *a = x, *b = y;
	int c = by_place(a, b);

	if (c && a->offset == b->offset && a->tid == b->tid)
		return profile_compare_frames(profile, a->code, b->code);
	return c ? c : a->comm < b->comm ? -1 : a->comm > b->comm;
}

/* Uses that differ in nothing that is shown are one. They are in order. */
static void join_uses(const struct profile *p, struct shared_line *l)
{
	size_t n = 0;

	qsort_r(l->uses.v, l->uses.n, sizeof(*l->uses.v), by_shown_place, (void *)p);
	for (size_t i = 0; i < l->uses.n; i++) {
		struct line_use *to = n ? &l->uses.v[n - 1] : NULL, *u = &l->uses.v[i];

		if (!to || by_place(to, u)) {
			l->uses.v[n++] = *u;
			continue;
		}
		to->loads += u->loads;
		to->stores += u->stores;
		to->handed += u->handed;
		to->missed += u->missed;
		to->locked += u->locked;
		to->cost += u->cost;
	}
	l->uses.n = n;
}

/* Who uses the bytes at one offset, or stores to them: one thread, or more than that one. */
struct users {
	bool any, more;
	u32 tid; /* the one */
};
struct offset_users {
	struct users all, writers;
};

static void add_user(struct users *u, u32 tid)
{
	u->more |= u->any && u->tid != tid;
	u->tid = tid;
	u->any = true;
}

static bool another(const struct users *u, u32 tid)
{
	return u->more || (u->any && u->tid != tid);
}

/* How a contended use meets other threads: they change the same bytes, or only others of the line. */
static void meet(const struct offset_users *at, const struct line_use *u, bool *same, bool *other)
{
	for (u32 i = 0; i < SHARED_LINE_BYTES; i++)
		if (another(u->stores ? &at[i].all : &at[i].writers, u->tid))
			*(i == u->offset ? same : other) = true;
}

static void judge(struct shared_line *l)
{
	struct offset_users at[SHARED_LINE_BYTES] = { 0 };
	u64 apart = 0, together = 0;

	if (l->nr_threads < 2)
		return;
	for (size_t i = 0; i < l->uses.n; i++) {
		add_user(&at[l->uses.v[i].offset].all, l->uses.v[i].tid);
		if (l->uses.v[i].stores)
			add_user(&at[l->uses.v[i].offset].writers, l->uses.v[i].tid);
	}
	l->verdict = LINE_READ;
	for (size_t i = 0; i < l->uses.n; i++) {
		const struct line_use *u = &l->uses.v[i];
		u64 contended = u->handed + u->missed;
		bool same = false, other = false;

		meet(at, u, &same, &other);
		if (!l->handed && !l->missed) /* nothing says what had to wait: all may have */
			contended = u->loads + u->stores;
		together += same ? contended : 0;
		apart += !same && other ? contended : 0;
	}
	if (!apart && !together)
		return;
	l->false_share = (double)apart / (double)(apart + together);
	l->verdict = l->false_share >= MOST ? LINE_FALSE : l->false_share <= 1 - MOST ? LINE_TRUE : LINE_BOTH;
}

static void count_threads(struct shared_line *l)
{
	struct map seen = { 0 };

	for (size_t i = 0; i < l->uses.n; i++) {
		u32 *writes = map_at(&seen, l->uses.v[i].tid, 0);

		if (l->uses.v[i].stores && !*writes) {
			*writes = 1;
			l->nr_writers++;
		}
	}
	l->nr_threads = seen.n;
	map_free(&seen);
}

static int most_first(const void *x, const void *y)
{
	const struct shared_line *a = x, *b = y;

	if (a->handed != b->handed)
		return a->handed > b->handed ? -1 : 1;
	if (a->missed != b->missed)
		return a->missed > b->missed ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* CPUs by line; a pair is known once. */
static void count_cpu(struct shared_line *l, u32 index, u32 cpu, struct map *seen)
{
	u32 *known = map_at(seen, (u64)index << 32 | cpu, 0);

	if (!*known)
		l->nr_cpus++;
	*known = 1;
}

void shared_lines_make(const struct profile *p, struct shared_lines *out)
{
	struct set known = { 0 };
	struct map cpus = { 0 };

	memset(out, 0, sizeof(*out));
	for (size_t e = 0; e < p->events.n; e++)
		for (size_t i = 0; i < p->events.v[e].rows.n; i++) {
			const struct row *r = &p->events.v[e].rows.v[i];
			u64 address = profile_row_key(p, r, SORT_DADDR);
			struct line_use use = use_of(p, r);
			struct shared_line *l;

			if (!address) {
				out->nowhere += r->samples;
				continue;
			}
			l = line_of(out, &known, (u32)profile_row_key(p, r, SORT_PID),
				    address - address % SHARED_LINE_BYTES);
			count_cpu(l, (u32)(l - out->lines.v), (u32)profile_row_key(p, r, SORT_CPU), &cpus);
			add_use(out, l, &use);
		}
	set_free(&known);
	map_free(&cpus);
	for (size_t i = 0; i < out->lines.n; i++) {
		join_uses(p, &out->lines.v[i]);
		count_threads(&out->lines.v[i]);
		judge(&out->lines.v[i]);
	}
	if (out->lines.n)
		qsort(out->lines.v, out->lines.n, sizeof(*out->lines.v), most_first);
}

void shared_lines_free(struct shared_lines *s)
{
	for (size_t i = 0; i < s->lines.n; i++)
		vec_free(&s->lines.v[i].uses);
	vec_free(&s->lines);
}
