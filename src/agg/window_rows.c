/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/window_rows.h"

#include <string.h>

void *profile_windows_new(const void *setup, u32 event, void *sums)
{
	const struct window_setup *s = setup;
	struct profile_windows *w = mem_zalloc(sizeof(*w));
	struct window_sums *nodes = sums;

	w->group = s->windows->groups.v[map_get(&s->windows->by_leader, event)];
	w->attribution = s->attribution;
	w->unit = s->unit;
	w->range = s->range;
	w->seen = s->seen;
	w->nodes = *nodes;
	*nodes = (struct window_sums){ 0 };
	return w;
}

void profile_windows_free(void *windows)
{
	struct profile_windows *w = windows;

	window_sums_free(&w->nodes);
	if (w->shown != w->total)
		free(w->shown);
	free(w->shown_whole);
	free(w->rows);
	free(w->total);
	free(w->whole);
	free(w);
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

/* All short windows, squared by bursts, each standing for as many as were to be measured. */
static double *sum_of_bursts(const struct profile_windows *w)
{
	const double *all = w->nodes.bursts;
	double *sum = mem_zalloc(window_stride(w->group.nr) * sizeof(double));

	if (all && all[WINDOWS_KEPT] > 0)
		window_block_merge_scaled(sum, w->group.nr, all, w->total[WINDOWS_SHORT] / all[WINDOWS_KEPT]);
	return sum;
}

void profile_window_whole(struct profile_windows *w, size_t rows)
{
	w->whole = code_range_given(&w->range) ? sum_of_bursts(w) : sum_of_rows(w, rows, true);
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

void profile_window_rows(const struct profile *p, struct profile_event *e)
{
	struct profile_windows *w = event_windows(e);
	u32 nr = w->group.nr, stride = window_stride(nr);

	/* The last one: of nodes without a row. */
	w->rows = mem_zalloc((e->rows.n + 1) * stride * sizeof(double));
	w->total = mem_zalloc(stride * sizeof(double));
	for (size_t i = 0; i < w->nodes.nodes.n; i++) {
		const double *block = w->nodes.v.v + i * stride;
		u32 row = profile_own_row(p, e, w->nodes.nodes.v[i]);

		window_block_merge(w->total, nr, block);
		window_block_merge(w->rows + (row != ID_NONE ? (size_t)row : e->rows.n) * stride, nr, block);
	}
	profile_window_whole(w, e->rows.n + 1);
	w->shown = w->total;
	if (is_empty(w, e->rows.n))
		return;
	w->shown = sum_of_rows(w, e->rows.n, false);
	w->shown_whole = sum_of_rows(w, e->rows.n, true);
}

void profile_windows_rows(struct profile *p, struct profile_event *e)
{
	profile_window_rows(p, e);
	profile_window_samples(p, e);
	profile_window_calls(p, e);
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
	const struct profile_windows *w = event_windows(e);
	VEC(struct window_path) all = { 0 };
	u32 n;

	for (size_t i = 0; i < w->nodes.nodes.n; i++) {
		const double *block = w->nodes.v.v + i * window_stride(w->group.nr);

		if (block[WINDOWS_SHORT] && profile_own_row(p, e, w->nodes.nodes.v[i]) == row)
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
