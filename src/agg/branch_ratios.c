/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/branch_ratios.h"

#include <stdlib.h>

/* An end of the code that ran between two branches. */
struct end {
	u64 addr, count, samples;
};

static int by_address(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* What is in force at rising addresses: ends up to and including addr are taken in. */
static void go_to(const struct end *v, size_t n, size_t *at, u64 addr, struct end *sum)
{
	for (; *at < n && v[*at].addr <= addr; ++*at) {
		sum->count += v[*at].count;
		sum->samples += v[*at].samples;
	}
}

/* Branches were passed by what began before or at them, and ended behind them: at its end it took a branch. */
static void count_passed(struct branch_ratios *r, const struct branch_traces *t, u32 dso)
{
	VEC(struct end) begins = { 0 };
	VEC(struct end) ends = { 0 };
	struct end begun = { 0 }, ended = { 0 };
	size_t b = 0, e = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *x = &t->v.v[i];

		if (x->dso != dso || x->kind == TRACE_BRANCH)
			continue;
		vec_push(&begins, (struct end){ x->from, x->count, x->samples });
		vec_push(&ends, (struct end){ x->to, x->count, x->samples });
	}
	if (begins.n) {
		qsort(begins.v, begins.n, sizeof(*begins.v), by_address);
		qsort(ends.v, ends.n, sizeof(*ends.v), by_address);
	}
	for (size_t i = 0; i < r->v.n; i++) {
		go_to(begins.v, begins.n, &b, r->v.v[i].from, &begun);
		go_to(ends.v, ends.n, &e, r->v.v[i].from, &ended);
		r->v.v[i].passed = begun.count - ended.count;
		r->v.v[i].passed_in = begun.samples - ended.samples;
	}
	vec_free(&begins);
	vec_free(&ends);
}

static int most_first(const void *a, const void *b)
{
	const struct branch_ratio *x = a, *y = b;
	u64 m = x->taken + x->passed, n = y->taken + y->passed;

	if (m != n)
		return m < n ? 1 : -1;
	return x->from < y->from ? -1 : x->from > y->from;
}

void branch_ratios_make(struct branch_ratios *r, const struct branch_traces *t, u32 dso)
{
	u64 most = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *x = &t->v.v[i];
		struct branch_ratio *b;

		if (x->dso != dso || x->kind != TRACE_BRANCH || x->from == TRACE_OUTSIDE)
			continue;
		if (!r->v.n || r->v.v[r->v.n - 1].from != x->from) {
			vec_push(&r->v, (struct branch_ratio){ .from = x->from });
			most = 0;
		}
		b = &r->v.v[r->v.n - 1];
		if (x->count > most) {
			most = x->count;
			b->to = x->to;
		}
		b->targets++;
		b->taken += x->count;
		b->taken_in += x->samples;
		b->mispredicted += x->mispredicted;
	}
	count_passed(r, t, dso);
	for (size_t i = 0; i < r->v.n; i++) {
		struct branch_ratio *b = &r->v.v[i];

		b->taken_ratio = proportion_of(b->taken, b->taken + b->passed, b->taken_in + b->passed_in);
		b->mispredict_ratio = proportion_of(b->mispredicted, b->taken, b->taken_in);
	}
	if (r->v.n)
		qsort(r->v.v, r->v.n, sizeof(*r->v.v), most_first);
}

void branch_ratios_free(struct branch_ratios *r)
{
	vec_free(&r->v);
}
