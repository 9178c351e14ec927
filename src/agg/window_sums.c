/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/window_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void window_block_add(double *block, u32 members, const u64 *counts, u32 windows)
{
	double *sum = block + WINDOW_COUNTS, *moment = sum + members;

	block[WINDOWS_KEPT] += windows;
	block[WINDOWS_CLUSTERS]++;
	for (u32 a = 0; a < members; a++) {
		sum[a] += (double)counts[a];
		for (u32 b = a; b < members; b++)
			*moment++ += (double)counts[a] * (double)counts[b];
	}
}

void window_block_merge(double *block, u32 members, const double *from)
{
	for (u32 i = 0; i < window_stride(members); i++)
		block[i] += from[i];
}

void window_block_merge_scaled(double *block, u32 members, const double *from, double times)
{
	u32 sums = WINDOW_COUNTS + members, samples = window_samples_at(members, 0);

	for (u32 i = 0; i < window_stride(members); i++)
		block[i] += from[i] * (i < WINDOW_COUNTS || i >= samples ? 1 : i < sums ? times : times * times);
}

double *window_sums_at(struct window_sums *w, u32 node)
{
	u32 stride = window_stride(w->members), *i = map_at(&w->by_node, node, (u32)w->nodes.n);

	if (*i == w->nodes.n) {
		vec_push(&w->nodes, node);
		vec_reserve(&w->v, w->v.n + stride);
		memset(w->v.v + w->v.n, 0, stride * sizeof(double));
		w->v.n += stride;
	}
	return w->v.v + (size_t)*i * stride;
}

void window_sums_count(struct window_sums *w, const struct window *window)
{
	if (window->fault == WINDOW_BACKWARDS)
		return;
	for (u32 i = 0; i < w->members; i++)
		w->counted[i] += (double)window->counts[i];
	if (window->fault != WINDOW_SOUND || !window->is_short)
		return;
	if (!w->every)
		w->every = mem_zalloc(window_stride(w->members) * sizeof(double));
	window_block_add(w->every, w->members, window->counts, 1);
}

double *window_sums_bursts(struct window_sums *w)
{
	if (!w->bursts)
		w->bursts = mem_zalloc(window_stride(w->members) * sizeof(double));
	return w->bursts;
}

struct window_way *window_sums_way(struct window_sums *w, u32 unit, u32 place, u32 there)
{
	u32 *i = map_at(&w->by_way, (u64)unit << 32 | place, (u32)w->ways.n);

	if (*i == w->ways.n)
		vec_push(&w->ways, (struct window_way){ unit, place, there, 0, 0 });
	return &w->ways.v[*i];
}

const double *window_sums_get(const struct window_sums *w, u32 node)
{
	u32 i = map_get(&w->by_node, node);

	return i == ID_NONE ? NULL : w->v.v + (size_t)i * window_stride(w->members);
}

/* Of everything; either may be NULL. */
static void merge_block(double **block, u32 members, double **from)
{
	if (*from && *block)
		window_block_merge(*block, members, *from);
	else if (*from) {
		*block = *from;
		*from = NULL;
	}
}

void window_sums_merge(void *sums, void *other, const u32 *at)
{
	struct window_sums *w = sums, *from = other;
	u32 stride = window_stride(from->members);

	w->members = from->members;
	for (u32 i = 0; i < w->members; i++)
		w->counted[i] += from->counted[i];
	for (size_t i = 0; i < from->ways.n; i++) {
		struct window_way *way =
			window_sums_way(w, from->ways.v[i].unit, from->ways.v[i].place, from->ways.v[i].there);

		way->ends += from->ways.v[i].ends;
		way->leaves += from->ways.v[i].leaves;
	}
	merge_block(&w->every, w->members, &from->every);
	merge_block(&w->bursts, w->members, &from->bursts);
	for (size_t i = 0; i < from->nodes.n; i++)
		window_block_merge(window_sums_at(w, at[from->nodes.v[i]]), w->members, from->v.v + i * stride);
	window_sums_free(from);
}

void window_sums_free(void *sums)
{
	struct window_sums *w = sums;

	map_free(&w->by_node);
	vec_free(&w->nodes);
	vec_free(&w->v);
	vec_free(&w->ways);
	map_free(&w->by_way);
	free(w->every);
	free(w->bursts);
	*w = (struct window_sums){ 0 };
}
