/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/together.h"

#include <stdlib.h>

#include "agg/row_order.h"
#include "base/pool.h"

/* What one node adds to its row, for each of its events. */
struct part {
	u64 events, weight;
	u32 row, samples;
};

struct sum {
	u64 weight, samples;
};

struct sharing {
	struct profile *p;
	const struct spe *spe;
	VEC(struct part) parts;
};

/* Of a node of the tree, which is a group or a frame below one. */
static u64 events_of(const struct tree *t, u32 node)
{
	const struct tree_node *n = &t->nodes.v[node];
	u32 group = n->parent ? t->nodes.v[n->parent].frame : n->frame;

	return tree_group_at(t, group)[t->group_words - 1];
}

static void count_frames(struct profile *p, const struct tree *t)
{
	for (u32 i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];

		if (n->parent) /* no group */
			profile_count_frame(p, n->frame,
					    (u64)__builtin_popcountll(events_of(t, i)) * n->total_samples);
	}
}

/* What events need of the tree takes a fraction of its memory. */
static void take_parts(struct sharing *s)
{
	struct profile_event *all = s->p->together;
	const struct tree *t = &all->tree;

	vec_reserve(&s->parts, all->rows.n);
	for (u32 i = 1; i < t->nodes.n; i++)
		if (all->row_of[i] != ID_NONE)
			vec_push(&s->parts, (struct part){ events_of(t, i), t->nodes.v[i].total, all->row_of[i],
							   t->nodes.v[i].total_samples });
	tree_free(&all->tree);
	free(all->row_of);
	all->row_of = NULL;
}

static void take_rows(const struct sharing *s, struct profile_event *e, u64 event)
{
	const struct profile_event *all = s->p->together;
	struct sum *sums = mem_zalloc((all->rows.n + 1) * sizeof(*sums));
	size_t n = 0;

	for (size_t i = 0; i < s->parts.n; i++) {
		const struct part *part = &s->parts.v[i];

		if (!(part->events & event))
			continue;
		n += !sums[part->row].samples;
		sums[part->row].weight += part->weight;
		sums[part->row].samples += part->samples;
	}
	vec_reserve(&e->rows, n);
	for (size_t i = 0; i < all->rows.n; i++) {
		struct row row = all->rows.v[i];

		if (!sums[i].samples)
			continue;
		row.self = row.total = sums[i].weight;
		row.samples = row.total_samples = sums[i].samples;
		e->row_weight += row.self;
		vec_push(&e->rows, row);
	}
	free(sums);
	row_order_shared(s->p, e);
}

static void take_rows_of(void *ctx, u32 worker, u32 unit)
{
	const struct sharing *s = ctx;
	struct profile *p = s->p;

	(void)worker;
	for (size_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].event == s->spe->made[unit].event && p->events.v[i].shares)
			take_rows(s, &p->events.v[i], 1ull << unit);
}

void profile_rows_together(struct profile *p, const struct spe *spe, const struct row_filter *filter, u32 workers)
{
	struct sharing s = { .p = p, .spe = spe };

	count_frames(p, &p->together->tree);
	profile_make_rows(p, p->together, filter, workers);
	take_parts(&s);
	pool_run(workers, spe->nr_made, take_rows_of, &s);
	vec_free(&s.parts);
	vec_free(&p->together->rows);
}
