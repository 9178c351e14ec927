/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/window_rows.h"

#include <string.h>

struct profile_windows *profile_windows_new(const struct window_group *g, enum attribution a,
					    struct window_sums *nodes)
{
	struct profile_windows *w = mem_zalloc(sizeof(*w));

	w->group = *g;
	w->attribution = a;
	w->nodes = *nodes;
	*nodes = (struct window_sums){ 0 };
	return w;
}

void profile_windows_free(struct profile_windows *w)
{
	if (!w)
		return;
	window_sums_free(&w->nodes);
	if (w->shown != w->total)
		free(w->shown);
	free(w->shown_whole);
	free(w->rows);
	free(w->total);
	free(w->whole);
	free(w);
}

/* The group's top above a node. */
static u32 top_of(const struct tree *t, u32 node)
{
	while (t->nodes.v[node].parent)
		node = t->nodes.v[node].parent;
	return node;
}

/* Samples in an inlined call are those of the function around it. */
static u32 function_node(const struct profile *p, const struct profile_event *e, u32 node)
{
	const struct tree_node *nodes = e->tree.nodes.v;

	while (nodes[node].parent && nodes[nodes[node].parent].parent &&
	       frames_get(p->frames, nodes[node].frame)->inlined)
		node = nodes[node].parent;
	return node;
}

/* Which row a node's own samples belong to. Rows without a frame's key are groups as a whole. */
static u32 row_of(const struct profile *p, const struct profile_event *e, u32 node)
{
	u32 row = e->row_of[function_node(p, e, node)];

	return row != ID_NONE ? row : e->row_of[top_of(&e->tree, node)];
}

static double *sum_of_rows(const struct profile_windows *w, size_t rows, bool scaled)
{
	u32 nr = w->group.nr;
	double *sum = mem_zalloc(window_stride(nr) * sizeof(double));

	for (size_t i = 0; i < rows; i++) {
		const double *block = profile_window_row(w, i);

		window_block_merge_scaled(sum, nr, block, scaled ? window_scale(block) : 1);
	}
	return sum;
}

void profile_window_whole(struct profile_windows *w, size_t rows)
{
	w->whole = sum_of_rows(w, rows, true);
}

/* Is there nothing in it? */
static bool is_empty(const struct profile_windows *w, size_t row)
{
	const double *block = profile_window_row(w, row);

	for (u32 i = 0; i < window_stride(w->group.nr); i++)
		if (block[i] != 0)
			return false;
	return true;
}

void profile_window_rows(const struct profile *p, struct profile_event *e, bool scaled)
{
	struct profile_windows *w = e->windows;
	u32 nr = w->group.nr, stride = window_stride(nr);

	/* The last one: of nodes without a row. */
	w->rows = mem_zalloc((e->rows.n + 1) * stride * sizeof(double));
	w->total = mem_zalloc(stride * sizeof(double));
	for (size_t i = 0; i < w->nodes.nodes.n; i++) {
		const double *block = w->nodes.v.v + i * stride;
		u32 row = row_of(p, e, w->nodes.nodes.v[i]);

		window_block_merge(w->total, nr, block);
		window_block_merge(w->rows + (row != ID_NONE ? (size_t)row : e->rows.n) * stride, nr, block);
	}
	if (scaled)
		profile_window_whole(w, e->rows.n + 1);
	w->shown = w->total;
	if (is_empty(w, e->rows.n))
		return;
	w->shown = sum_of_rows(w, e->rows.n, false);
	w->shown_whole = scaled ? sum_of_rows(w, e->rows.n, true) : NULL;
}

static int most_samples_first(const void *va, const void *vb)
{
	const struct window_path *a = va, *b = vb;

	if (a->block[WINDOWS_SHORT] != b->block[WINDOWS_SHORT])
		return a->block[WINDOWS_SHORT] < b->block[WINDOWS_SHORT] ? 1 : -1;
	return a->node < b->node ? -1 : a->node > b->node;
}

u32 profile_window_paths(const struct profile *p, const struct profile_event *e, u32 row, struct window_path *out,
			 u32 max)
{
	const struct profile_windows *w = e->windows;
	VEC(struct window_path) all = { 0 };
	u32 n;

	for (size_t i = 0; i < w->nodes.nodes.n; i++) {
		const double *block = w->nodes.v.v + i * window_stride(w->group.nr);

		if (block[WINDOWS_SHORT] && row_of(p, e, w->nodes.nodes.v[i]) == row)
			vec_push(&all, (struct window_path){ w->nodes.nodes.v[i], block });
	}
	if (all.n > 1)
		qsort(all.v, all.n, sizeof(*all.v), most_samples_first);
	n = (u32)MIN(all.n, (size_t)max);
	if (n)
		memcpy(out, all.v, n * sizeof(*out));
	vec_free(&all);
	return n;
}
