/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/window_sums.h"

#include <string.h>

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
	u32 sums = WINDOW_COUNTS + members;

	for (u32 i = 0; i < window_stride(members); i++)
		block[i] += from[i] * (i < WINDOW_COUNTS ? 1 : i < sums ? times : times * times);
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

const double *window_sums_get(const struct window_sums *w, u32 node)
{
	u32 i = map_get(&w->by_node, node);

	return i == ID_NONE ? NULL : w->v.v + (size_t)i * window_stride(w->members);
}

void window_sums_merge(struct window_sums *w, struct window_sums *from, const u32 *at)
{
	u32 stride = window_stride(from->members);

	w->members = from->members;
	for (size_t i = 0; i < from->nodes.n; i++)
		window_block_merge(window_sums_at(w, at[from->nodes.v[i]]), w->members, from->v.v + i * stride);
	window_sums_free(from);
}

void window_sums_free(struct window_sums *w)
{
	map_free(&w->by_node);
	vec_free(&w->nodes);
	vec_free(&w->v);
	w->members = 0;
}
