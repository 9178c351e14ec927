/* SPDX-License-Identifier: Apache-2.0 */
#include "state/space.h"

#include <string.h>

#include "base/search.h"

#define RUN_SHIFT 5 /* shortest indexed run: 32 entries */
#define RUN (1u << RUN_SHIFT)
#define MAX_REGIONS ((1u << SPACE_REGION_BITS) / 2) /* a mapping of more fills the filter at once */
#define MAX_DEPTH 16				    /* of parents; a deeper fork copies what it inherits, if it may */

/*
 * What is visible of a run of entries: pieces of them, disjoint and by rising address. A piece is no more than its
 * entry: where an older neighbour lies beside a newer one, it begins or ends where that one ends or begins. So a piece
 * takes 4 bytes, of which each level holds nearly all once more.
 */
struct run {
	u32 *v;
	u32 n;
};

/* level[l][i] covers entries [i << shift, (i + 1) << shift), shift = level_shift(l); only whole runs exist. */
#define FAN_SHIFT 4
#define FAN (1u << FAN_SHIFT)
#define MAX_LEVELS ((32 - RUN_SHIFT + FAN_SHIFT - 1) / FAN_SHIFT)

struct space_index {
	u32 nr_levels;
	struct run *level[MAX_LEVELS];
};

static u32 level_shift(u32 level)
{
	return RUN_SHIFT + level * FAN_SHIFT;
}

/* Copies what that version shows, oldest entries first. */
static void inherit(struct space *s, struct maps from)
{
	u32 n = from.space->depth + 1;
	struct maps *line = mem_realloc(NULL, n, sizeof(*line));

	for (u32 i = n; i--; from = (struct maps){ from.space->parent, from.space->parent_n })
		line[i] = from;
	for (u32 i = 0; i < n; i++)
		for (u32 k = 0; k < line[i].n; k++)
			space_add(s, &line[i].space->log.v[k], 0);
	free(line);
}

struct space *space_new(struct maps parent, u64 *may_copy)
{
	struct space *s = mem_zalloc(sizeof(*s));

	if (!parent.space)
		return s;
	/* A child that was forked before its parent mapped anything inherits from further up. */
	while (!parent.n && parent.space->parent)
		parent = (struct maps){ parent.space->parent, parent.space->parent_n };
	s->inherited = parent.space->inherited + parent.n;
	if (parent.space->depth >= MAX_DEPTH && s->inherited <= *may_copy) {
		*may_copy -= s->inherited;
		s->inherited = 0;
		inherit(s, parent);
		return s;
	}
	s->parent = parent.space;
	s->parent_n = parent.n;
	s->depth = parent.space->depth + 1;
	memcpy(s->regions, parent.space->regions, sizeof(s->regions));
	return s;
}

static void add_regions(struct space *s, const struct vmap *m)
{
	u64 first = m->start >> SPACE_REGION_SHIFT, last = (m->end - 1) >> SPACE_REGION_SHIFT;

	if (last - first >= MAX_REGIONS)
		memset(s->regions, 0xff, sizeof(s->regions));
	for (u64 i = first; i <= last && i - first < MAX_REGIONS; i++) {
		u32 bit = space_region_bit(i << SPACE_REGION_SHIFT);

		s->regions[bit / 64] |= 1ull << bit % 64;
	}
}

/* Most processes of some recordings map one file: no more at first than what its entry is said to take. */
static void make_room(struct space *s)
{
	size_t cap = s->log.cap ? s->log.cap * 2 : 2;

	s->log.v = mem_realloc(s->log.v, cap, sizeof(*s->log.v));
	s->clock.v = mem_realloc(s->clock.v, cap, sizeof(*s->clock.v));
	s->log.cap = s->clock.cap = cap;
}

void space_add(struct space *s, const struct vmap *m, u64 clock)
{
	if (m->end <= m->start)
		return;
	add_regions(s, m);
	if (s->log.n == s->log.cap)
		make_room(s);
	vec_push(&s->log, *m);
	vec_push(&s->clock, clock);
}

static u64 piece_start(const struct vmap *log, const struct run *r, u32 i)
{
	u64 start = log[r->v[i]].start;

	return i && r->v[i - 1] > r->v[i] ? MAX(start, log[r->v[i - 1]].end) : start;
}

static u64 piece_end(const struct vmap *log, const struct run *r, u32 i)
{
	u64 end = log[r->v[i]].end;

	return i + 1 < r->n && r->v[i + 1] > r->v[i] ? MIN(end, log[r->v[i + 1]].start) : end;
}

/* The entry that is visible at addr; ID_NONE when none is. */
static u32 run_find(const struct vmap *log, const struct run *r, u64 addr)
{
	u32 lo = 0, hi = r->n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (piece_end(log, r, mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->n && piece_start(log, r, lo) <= addr ? r->v[lo] : ID_NONE;
}

/* Lays `over` on `under`, whose entries are all older: the result is over whole, and of under what shows beside it. At
 * most n(over) * 2 + n(under) pieces. */
static struct run overlay(const struct vmap *log, const struct run *under, const struct run *over)
{
	u32 *out = mem_realloc(NULL, under->n + 2 * (size_t)over->n + 1, sizeof(*out)), n = 0, o = 0;

	for (u32 u = 0; u < under->n; u++) {
		u64 start = piece_start(log, under, u), end = piece_end(log, under, u);

		while (o < over->n && piece_end(log, over, o) <= start)
			out[n++] = over->v[o++];
		while (o < over->n && piece_start(log, over, o) < end) {
			if (start < piece_start(log, over, o))
				out[n++] = under->v[u];
			start = piece_end(log, over, o);
			if (start >= end)
				break; /* over[o] may reach into the next of under */
			out[n++] = over->v[o++];
		}
		if (start < end)
			out[n++] = under->v[u];
	}
	while (o < over->n)
		out[n++] = over->v[o++];
	return (struct run){ mem_realloc(out, n + 1, sizeof(*out)), n };
}

static void lay_over(const struct vmap *log, struct run *r, const struct run *over)
{
	struct run both = overlay(log, r, over);

	free(r->v);
	*r = both;
}

/* The shortest runs are laid together entry by entry. */
static struct run base_run(const struct vmap *log, u32 first)
{
	struct run r = { 0 };

	for (u32 i = first; i < first + RUN; i++)
		lay_over(log, &r, &(struct run){ &i, 1 });
	return r;
}

/* Longer ones run by run. */
static struct run upper_run(const struct vmap *log, const struct run *lower)
{
	struct run r = { 0 };

	for (u32 i = 0; i < FAN; i++)
		lay_over(log, &r, &lower[i]);
	return r;
}

void space_seal(struct space *s)
{
	struct space_index *x;

	/* The rest of the growth that never came goes back. */
	s->log.v = mem_realloc(s->log.v, s->log.n, sizeof(*s->log.v));
	s->clock.v = mem_realloc(s->clock.v, s->clock.n, sizeof(*s->clock.v));
	s->log.cap = s->log.n;
	s->clock.cap = s->clock.n;
	if (s->log.n < RUN || s->index)
		return;
	x = mem_zalloc(sizeof(*x));
	for (u32 shift = RUN_SHIFT; s->log.n >> shift; shift += FAN_SHIFT) {
		u32 n = (u32)(s->log.n >> shift), level = x->nr_levels++;

		x->level[level] = mem_zalloc(n * sizeof(struct run));
		for (u32 i = 0; i < n; i++)
			x->level[level][i] = level ? upper_run(s->log.v, &x->level[level - 1][i * FAN]) :
						     base_run(s->log.v, i << RUN_SHIFT);
	}
	s->index = x;
}

void space_free(struct space *s)
{
	struct space_index *x = s->index;

	for (u32 level = 0; x && level < x->nr_levels; level++) {
		for (u32 i = 0; i < s->log.n >> level_shift(level); i++)
			free(x->level[level][i].v);
		free(x->level[level]);
	}
	free(x);
	vec_free(&s->log);
	vec_free(&s->clock);
	free(s);
}

struct maps space_at(const struct space *s, u64 clock, u64 *from, u64 *until)
{
	u32 upto = (u32)search_upto(s->clock.v, s->clock.n, sizeof(*s->clock.v), 0, clock);

	if (upto)
		*from = MAX(*from, s->clock.v[upto - 1]);
	if (upto < s->clock.n)
		*until = MIN(*until, s->clock.v[upto]);
	return (struct maps){ s, upto };
}

/* The newest entry below n that covers addr; ID_NONE when none does. */
static u32 newest(const struct space *s, u32 n, u64 addr)
{
	u32 indexed = s->index ? n & ~(RUN - 1) : 0;

	for (u32 i = n; i-- > indexed;)
		if (addr >= s->log.v[i].start && addr < s->log.v[i].end)
			return i;
	while (indexed) {
		u32 level = ((u32)__builtin_ctz(indexed) - RUN_SHIFT) / FAN_SHIFT, shift = level_shift(level);
		u32 found = run_find(s->log.v, &s->index->level[level][(indexed >> shift) - 1], addr);

		if (found != ID_NONE)
			return found;
		indexed -= 1u << shift;
	}
	return ID_NONE;
}

const struct vmap *maps_find(const struct maps *maps, u64 addr)
{
	const struct space *s = maps->space;
	u32 n = maps->n;

	if (!space_may_hold(s, addr))
		return NULL;
	while (s) {
		u32 i = newest(s, n, addr);

		if (i != ID_NONE)
			return s->log.v[i].dso ? &s->log.v[i] : NULL;
		n = s->parent_n;
		s = s->parent;
	}
	return NULL;
}
