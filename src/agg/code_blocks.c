/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/code_blocks.h"

#include <stdlib.h>

static int compare_places(const struct code_block *x, const struct code_block *y)
{
	if (x->dso != y->dso)
		return x->dso < y->dso ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static int by_place(const void *a, const void *b)
{
	return compare_places(a, b);
}

static int by_cycles(const void *a, const void *b)
{
	const struct code_block *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles > y->cycles ? -1 : 1;
	return compare_places(x, y);
}

static void join_events(struct code_blocks *b, struct code_block *to, const struct code_block *from)
{
	if (!to->events)
		to->events = from->events;
	else if (from->events)
		event_sums_add(b->event_sums.v + (size_t)(to->events - 1) * b->nr_counted, code_block_events(b, from),
			       b->nr_counted);
}

static u32 copy_events(struct code_blocks *b, const struct event_sum *sums)
{
	if (!sums)
		return 0;
	for (u32 i = 0; i < b->nr_counted; i++)
		vec_push(&b->event_sums, sums[i]);
	return (u32)(b->event_sums.n / b->nr_counted);
}

/* The same code may have been entered from its own function and from outside, which are two traces. */
static void join(struct code_blocks *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->v.n; i++) {
		const struct code_block *block = &b->v.v[i];

		if (n && !compare_places(&b->v.v[n - 1], block)) {
			b->v.v[n - 1].cycles += block->cycles;
			b->v.v[n - 1].times += block->times;
			join_events(b, &b->v.v[n - 1], block);
		} else {
			b->v.v[n++] = *block;
		}
	}
	b->v.n = n;
}

void code_blocks_make(struct code_blocks *b, const struct branch_traces *t)
{
	*b = (struct code_blocks){ .cycles = t->cycles, .nr_counted = branch_traces_counted(t) };
	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *x = &t->v.v[i];

		if (x->kind != TRACE_BRANCH && x->cycles)
			vec_push(&b->v, (struct code_block){ x->dso, x->from, x->to, x->cycles, x->timed,
							     copy_events(b, branch_trace_events(t, x)) });
	}
	if (!b->v.n)
		return;
	qsort(b->v.v, b->v.n, sizeof(*b->v.v), by_place);
	join(b);
	qsort(b->v.v, b->v.n, sizeof(*b->v.v), by_cycles);
	for (size_t i = 0; i < b->v.n; i++) {
		b->known += b->v.v[i].cycles;
		b->averages += (double)b->v.v[i].cycles / (double)b->v.v[i].times;
	}
}

void code_blocks_free(struct code_blocks *b)
{
	vec_free(&b->v);
	vec_free(&b->event_sums);
}
