/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/window_hits.h"

#include <string.h>

#include "attrib/hit.h"
#include "base/hash.h"

#define CLUSTER_MAX 16 /* windows: where no long ones lie between, a cluster ends nevertheless */

/* Windows of one burst that are added up before their squares are. */
struct cluster {
	u32 group, windows;	    /* windows 0: none yet */
	u32 node;		    /* where they lie; ID_NONE: anywhere */
	struct window_sums *to;	    /* and in which tree */
	u64 counts[WINDOW_MEMBERS]; /* their sums */
};

/* What is known of the counters that one slot stands for. */
struct slot_state {
	struct hit_place last; /* where the last sample was taken */
	u32 turn;	       /* of that; a hole in the turns means that samples between were filtered out */
	struct cluster here;   /* of kept windows in one place */
	struct cluster burst;  /* of all windows, if there is a range */
	bool used;
};

enum inside { INSIDE_UNKNOWN, INSIDE_NO, INSIDE_YES };

struct window_hits {
	enum attribution mode;
	enum window_unit unit;
	struct code_range range;
	bool chains;
	struct frames *frames;
	struct dsos *dsos;
	const struct windows *windows;
	VEC(struct slot_state) slots;
	struct code_seen seen;
	VEC(u8) inside; /* per frame, when there is a range */
};

struct window_hits *window_hits_new(const struct window_setup *setup, struct frames *frames, struct dsos *dsos,
				    const struct windows *w)
{
	struct window_hits *h = mem_zalloc(sizeof(*h));

	h->mode = setup->attribution;
	h->unit = setup->unit;
	h->range = setup->range;
	h->chains = setup->chains;
	h->frames = frames;
	h->dsos = dsos;
	h->windows = w;
	return h;
}

void window_hits_free(struct window_hits *h)
{
	if (!h)
		return;
	vec_free(&h->slots);
	vec_free(&h->inside);
	free(h);
}

static bool names_file(const char *path, const char *wanted)
{
	size_t n = strlen(path), m = strlen(wanted);

	return n >= m && !strcmp(path + n - m, wanted) && (n == m || path[n - m - 1] == '/' || wanted[0] == '/');
}

static bool in_object(const struct window_hits *h, u32 id)
{
	const struct dso *d = dsos_at(h->dsos, id);

	return !h->range.object || !strcmp(d->short_name, h->range.object) || names_file(d->path, h->range.object);
}

static bool in_lines(struct window_hits *h, const struct frame *f)
{
	const struct code_range *r = &h->range;
	struct source_frame at;

	if (!f->addr || !dsos_source_at(h->dsos, f->dso, f->addr, &at, 1) || !at.file || !names_file(at.file, r->file))
		return false;
	h->seen.first_line = h->seen.file ? MIN(h->seen.first_line, at.line) : at.line;
	h->seen.last_line = MAX(h->seen.last_line, at.line);
	h->seen.file = true;
	return at.line >= r->first_line && at.line <= r->last_line;
}

static bool in_range(struct window_hits *h, u32 frame)
{
	const struct code_range *r = &h->range;
	const struct frame *f = frames_get(h->frames, frame);

	if (r->end) {
		if (!in_object(h, f->dso))
			return false;
		h->seen.file |= !r->file;
		if (f->addr < r->start || f->addr >= r->end)
			return false;
	}
	return !r->file || in_lines(h, f);
}

static bool inside(struct window_hits *h, u32 frame)
{
	if (!code_range_given(&h->range))
		return true;
	while (h->inside.n <= frame)
		vec_push(&h->inside, INSIDE_UNKNOWN);
	if (h->inside.v[frame] == INSIDE_UNKNOWN)
		h->inside.v[frame] = in_range(h, frame) ? INSIDE_YES : INSIDE_NO;
	h->seen.inside |= h->inside.v[frame] == INSIDE_YES;
	return h->inside.v[frame] == INSIDE_YES;
}

/* Of code without a symbol: is the frame a function's, or only an address? (resolver_opts.functions) */
static bool is_function(const struct window_hits *h, const struct frame *f)
{
	u64 start;

	return dsos_unnamed_function(h->dsos, f->dso, f->addr, &start) && start == f->addr;
}

/* Frames may keep their address; code without a symbol has only that. */
static bool one_unit(const struct window_hits *h, u32 a, u32 b)
{
	const struct frame *x, *y;

	if (h->unit == UNIT_ANY)
		return true;
	if (h->unit == UNIT_ADDRESS)
		return false;
	x = frames_get(h->frames, a);
	y = frames_get(h->frames, b);
	if (h->unit == UNIT_OBJECT)
		return x->dso == y->dso;
	if (x->sym == ID_NONE)
		return a == b && is_function(h, x);
	return x->sym == y->sym && x->dso == y->dso;
}

u32 window_unit_of(enum window_unit unit, struct frames *frames, u32 frame)
{
	struct frame f;

	if (unit == UNIT_ANY)
		return 0;
	if (unit == UNIT_ADDRESS)
		return frame;
	f = *frames_get(frames, frame);
	if (unit == UNIT_OBJECT)
		return f.dso;
	if (f.sym == ID_NONE || !f.addr)
		return frame;
	f.addr = 0; /* the symbol as a whole */
	return frames_intern(frames, &f);
}

static bool agrees(struct window_hits *h, const struct hit_place *from, const struct hit_place *to)
{
	bool begins = inside(h, from->frame), ends = inside(h, to->frame);

	if (!begins || !ends || (from->activity != to->activity && h->mode != ATTRIBUTION_KEEP))
		return false;
	switch (h->mode) {
	case ATTRIBUTION_KEEP:
		return true;
	case ATTRIBUTION_CALLCHAIN:
		return from->parent == to->parent && one_unit(h, from->frame, to->frame);
	default:
		return one_unit(h, from->frame, to->frame);
	}
}

static void end_cluster(const struct window_hits *h, struct cluster *c)
{
	double *block;

	if (!c->windows)
		return;
	block = c->node == ID_NONE ? window_sums_bursts(c->to) : window_sums_at(c->to, c->node);
	window_block_add(block, h->windows->groups.v[c->group].nr, c->counts, c->windows);
	c->windows = 0;
}

static void add_to_cluster(const struct window_hits *h, struct cluster *c, const struct window *w, u32 node,
			   struct window_sums *to)
{
	u32 nr = h->windows->groups.v[w->group].nr;

	if (c->node != node || c->to != to || c->windows == CLUSTER_MAX)
		end_cluster(h, c);
	if (!c->windows)
		memset(c->counts, 0, nr * sizeof(u64));
	for (u32 i = 0; i < nr; i++)
		c->counts[i] += w->counts[i];
	c->windows++;
	c->group = w->group;
	c->node = node;
	c->to = to;
}

#define PLACE_SHIFT 6 /* a line of code: neighbours in one loop, mostly */

/* A window from one place to another, kept or not. What two places with one number would have in common is their
 * chance of coming back, so that it does not matter that they are very rarely found. */
static void count_ways(struct window_hits *h, const struct hit_place *from, const struct hit_place *to,
		       struct window_sums *sums)
{
	u32 begin = window_unit_of(h->unit, h->frames, from->frame),
	    end = window_unit_of(h->unit, h->frames, to->frame);

	window_sums_way(sums, end, (u32)hash_pair(from->ip >> PLACE_SHIFT, begin), begin)->ends++;
	if (begin != end)
		window_sums_way(sums, begin, (u32)hash_pair(to->ip >> PLACE_SHIFT, end), end)->leaves++;
}

static void discard(const struct window_hits *h, const struct window *w, double *block)
{
	u32 nr = h->windows->groups.v[w->group].nr;

	block[WINDOWS_DISCARDED]++;
	for (u32 i = 0; i < nr; i++)
		block[window_discarded_at(nr, i)] += (double)w->counts[i];
}

/*
 * Where a kept window counts. If only some code was asked about, nodes are addresses, and few windows of a burst end
 * at one: those of one burst in one function count where the first of them ended, which is in the same row.
 */
static u32 node_of(const struct window_hits *h, const struct slot_state *s, const struct hit_place *place,
		   const struct window_sums *to)
{
	const struct cluster *c = &s->here;
	bool same = code_range_given(&h->range) && !h->chains && c->windows && c->windows < CLUSTER_MAX && c->to == to;

	return same && one_unit(h, s->last.frame, place->frame) ? c->node : place->node;
}

static void judge(struct window_hits *h, struct slot_state *s, const struct window *w, const struct hit_place *place,
		  struct window_sums *to)
{
	bool known = s->used && s->turn + 1 == w->turn;
	u32 shorts = w->fault == WINDOW_LOST ? w->lost : w->is_short, node;
	double *block;

	if (w->fault != WINDOW_SOUND || !w->is_short || !known)
		end_cluster(h, &s->burst);
	if (w->fault == WINDOW_SOUND && !w->is_short) {
		end_cluster(h, &s->here);
		return;
	}
	if (w->fault == WINDOW_SOUND && code_range_given(&h->range))
		add_to_cluster(h, &s->burst, w, ID_NONE, to);
	if (w->fault == WINDOW_SOUND && known && h->mode == ATTRIBUTION_ESTIMATE)
		count_ways(h, &s->last, place, to);
	if (w->fault == WINDOW_SOUND && known && agrees(h, &s->last, place)) {
		node = node_of(h, s, place, to);
		window_sums_at(to, node)[WINDOWS_SHORT]++;
		add_to_cluster(h, &s->here, w, node, to);
		return;
	}
	end_cluster(h, &s->here);
	if (!shorts && w->fault != WINDOW_FIRST && w->fault != WINDOW_BACKWARDS && w->fault != WINDOW_EMPTY)
		return;
	block = window_sums_at(to, place->node);
	block[WINDOWS_SHORT] += shorts;
	if (!inside(h, place->frame))
		block[WINDOWS_OUTSIDE] += shorts;
	if (w->fault == WINDOW_SOUND && known)
		discard(h, w, block);
	else
		block[WINDOWS_EXCLUDED + w->fault] += MAX(1u, shorts);
}

bool window_hits_hold(const struct hit *h, void *held)
{
	if (h->window)
		window_copy(held, h->window);
	return h->window;
}

void window_hits_add(void *worker, const void *held, const struct hit_place *place, void *sums)
{
	struct window_hits *h = worker;
	const struct window *w = held;
	struct window_sums *to = sums;
	struct slot_state *s;

	while (h->slots.n <= w->slot)
		vec_push(&h->slots, (struct slot_state){ 0 });
	s = &h->slots.v[w->slot];
	to->members = h->windows->groups.v[w->group].nr;
	window_sums_count(to, w);
	judge(h, s, w, place, to);
	s->last = *place;
	s->turn = w->turn;
	s->used = true;
}

void window_hits_flush(void *worker)
{
	struct window_hits *h = worker;

	for (size_t i = 0; i < h->slots.n; i++) {
		end_cluster(h, &h->slots.v[i].here);
		end_cluster(h, &h->slots.v[i].burst);
	}
}

struct code_seen window_hits_seen(const struct window_hits *h)
{
	return h->seen;
}
