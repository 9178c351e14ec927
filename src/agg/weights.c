/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/weights.h"

#include <string.h>

#include "agg/profile.h"
#include "attrib/spe.h"

#define EXACT_BITS 7

/* Larger ones for larger weights. */
static u32 size_of(u64 weight)
{
	u32 shift = weight >> EXACT_BITS ? 64 - EXACT_BITS - (u32)__builtin_clzll(weight) : 0;

	return shift << EXACT_BITS | (u32)(weight >> shift);
}

/* A weight of 0 was not measured. The sample's weight says nothing of other members of its group, and of branches. */
bool weights_hold(const struct hit *h, void *held)
{
	bool has = h->made != HIT_MEMBER && h->made != HIT_BRANCH && h->full && h->full->weight &&
		   h->e->attr.sample_type & PERF_SAMPLE_WEIGHT_TYPE;

	if (has)
		*(struct weight_held *)held = (struct weight_held){ h->full->weight, spe_times(h) };
	return has;
}

static void add(struct weight_sums *w, const struct weight_count *c)
{
	u32 *i = map_at(&w->at, (u64)c->node << 32 | c->size, (u32)w->v.n);
	struct weight_count *to;

	if (*i == w->v.n) {
		vec_push(&w->v, *c);
		return;
	}
	to = &w->v.v[*i];
	to->n += c->n;
	to->sum += c->sum;
	to->largest = MAX(to->largest, c->largest);
}

void weights_add(void *worker, const void *held, const struct hit_place *place, void *sums)
{
	const struct weight_held *w = held;

	(void)worker;
	add(sums, &(struct weight_count){ .node = place->node,
					  .size = size_of(w->weight),
					  .n = w->times,
					  .sum = w->weight * w->times,
					  .largest = w->weight });
}

void weight_sums_merge(void *sums, void *from, const u32 *at)
{
	struct weight_sums *w = from;

	for (size_t i = 0; i < w->v.n; i++) {
		struct weight_count c = w->v.v[i];

		c.node = at[c.node];
		add(sums, &c);
	}
	weight_sums_free(w);
}

void weight_sums_free(void *sums)
{
	struct weight_sums *w = sums;

	map_free(&w->at);
	vec_free(&w->v);
}

void *profile_weights_new(const void *setup, u32 event, void *sums)
{
	struct profile_weights *w = mem_zalloc(sizeof(*w));

	(void)setup;
	(void)event;
	w->nodes = *(struct weight_sums *)sums;
	memset(sums, 0, sizeof(w->nodes));
	return w;
}

void profile_weights_free(void *weights)
{
	struct profile_weights *w = weights;

	weight_sums_free(&w->nodes);
	free(w->rows);
	free(w);
}

/* By row, which stands in place of the node, then from small to large. */
static int by_row_and_size(const void *va, const void *vb)
{
	const struct weight_count *a = va, *b = vb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* The mean of those sizes in which the nth sample lies, n from 1. */
static u64 nth_of(const struct weight_count *c, size_t n, u64 nth)
{
	u64 seen = 0, sum = 0, in = 0;
	size_t i = 0;

	while (i + 1 < n && seen + c[i].n < nth)
		seen += c[i++].n;
	for (size_t k = i; k < n && c[k].size == c[i].size; k++) {
		sum += c[k].sum;
		in += c[k].n;
	}
	for (size_t k = i; k-- > 0 && c[k].size == c[i].size;) {
		sum += c[k].sum;
		in += c[k].n;
	}
	return (sum + in / 2) / in;
}

/* All that one row has, in order. */
static void fill(struct weight_row *r, const struct weight_count *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		r->n += c[i].n;
		r->sum += c[i].sum;
		r->largest = MAX(r->largest, c[i].largest);
	}
	r->half = nth_of(c, n, (r->n + 1) / 2);
	r->most = nth_of(c, n, r->n - r->n / 100);
}

void profile_weights_rows(struct profile *p, struct profile_event *e)
{
	struct profile_weights *w = e->measured[MEASURE_WEIGHTS];
	struct weight_count *v = w->nodes.v.v;
	size_t n = 0;

	w->rows = mem_zalloc((e->rows.n + 1) * sizeof(*w->rows));
	for (size_t i = 0; i < w->nodes.v.n; i++) {
		struct weight_count c = v[i];

		c.node = profile_own_row(p, e, c.node);
		if (c.node != ID_NONE)
			v[n++] = c;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_row_and_size);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from; to < n && v[to].node == v[from].node;)
			to++;
		fill(&w->rows[v[from].node], v + from, to - from);
	}
	weight_sums_free(&w->nodes); /* rows are all that is asked for */
}
