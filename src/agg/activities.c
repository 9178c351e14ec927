/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/activities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "agg/trace_keys.h"

static u32 text_of(const struct profile *p, const struct row *r)
{
	return (u32)profile_row_key(p, r, SORT_FIELD);
}

/* In a table of texts, as they differ from run to run. */
static int heavier(const void *va, const void *vb, void *ctx)
{
	const struct activity_sum *a = va, *b = vb;
	const struct trace_texts *texts = ctx;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return strcmp(trace_texts_get(texts, a->text), trace_texts_get(texts, b->text));
}

void activities_sum(const struct profile *p, const struct profile_event *e, struct activity_sums *out)
{
	struct map at = { 0 };

	*out = (struct activity_sums){ 0 };
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		u32 *known = map_at(&at, text_of(p, r), (u32)out->v.n);
		struct activity_sum *s;

		if (*known == out->v.n)
			vec_push(&out->v, (struct activity_sum){ .text = text_of(p, r) });
		s = &out->v.v[*known];
		s->self += r->self;
		s->samples += r->samples;
		if (s->nr_top == ACTIVITY_TOP)
			continue;
		s->top[s->nr_top].frame = r->frame;
		s->top[s->nr_top++].self = r->self;
	}
	map_free(&at);
	if (out->v.n)
		qsort_r(out->v.v, out->v.n, sizeof(*out->v.v), heavier, p->texts);
}

void activities_free(struct activity_sums *s)
{
	vec_free(&s->v);
}

/* Of a function: sums over the activities of a group, which it has weight in. Others have 0 of it. */
struct sums {
	double sum, squares;
};

struct function {
	u32 frame;
	struct sums of[2]; /* others, heavy */
};

static double mean(const struct sums *s, double n)
{
	return n > 0 ? s->sum / n : 0;
}

/* Of the mean. */
static double variance(const struct sums *s, double n)
{
	double m = mean(s, n);

	return n > 1 ? MAX(s->squares / n - m * m, 0.0) / (n - 1) : 0;
}

static int larger(const void *va, const void *vb)
{
	const struct activity_cause *a = va, *b = vb;
	double x = a->heavy - a->others, y = b->heavy - b->others;

	return x != y ? (x > y ? -1 : 1) : 0;
}

static bool has_key(const struct profile *p, const struct activity_sum *s)
{
	return strcmp(trace_texts_get(p->texts, s->text), ACTIVITY_NOTHING) != 0;
}

/* The group of each text: 0 others, 1 heavy; texts that are no activity are not in it. */
static void choose(const struct profile *p, const struct activity_sums *s, double share, struct map *group,
		   struct activity_causes *out)
{
	u64 n = 0, most;

	for (size_t i = 0; i < s->v.n; i++)
		n += has_key(p, &s->v.v[i]);
	most = MAX((u64)((double)n * share), (u64)1);
	for (size_t i = 0; i < s->v.n; i++) {
		const struct activity_sum *a = &s->v.v[i];
		bool heavy;

		if (!has_key(p, a))
			continue;
		/* Those that weigh as much as the last of the heavy ones are among them. */
		heavy = out->nr_heavy < most || a->self == out->least;
		out->least = heavy ? a->self : out->least;
		*(heavy ? &out->nr_heavy : &out->nr_others) += 1;
		*(heavy ? &out->heavy : &out->others) += (double)a->self;
		map_set(group, a->text, heavy);
	}
	out->heavy /= (double)MAX(out->nr_heavy, (u64)1);
	out->others /= (double)MAX(out->nr_others, (u64)1);
}

void activities_compare(const struct profile *p, const struct profile_event *e, const struct activity_sums *s,
			double share, struct activity_causes *out)
{
	struct map group = { 0 }, at = { 0 };
	VEC(struct function) functions = { 0 };

	*out = (struct activity_causes){ 0 };
	choose(p, s, share, &group, out);
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		u32 of = map_get(&group, text_of(p, r)), *known;
		double weight = (double)r->self;

		if (of == ID_NONE)
			continue;
		known = map_at(&at, r->frame, (u32)functions.n);
		if (*known == functions.n)
			vec_push(&functions, (struct function){ .frame = r->frame });
		functions.v[*known].of[of].sum += weight;
		functions.v[*known].of[of].squares += weight * weight;
	}
	for (size_t i = 0; i < functions.n; i++) {
		const struct function *f = &functions.v[i];
		double a = (double)out->nr_heavy, b = (double)out->nr_others;
		double error = sqrt(variance(&f->of[1], a) + variance(&f->of[0], b));
		struct activity_cause c = { f->frame, mean(&f->of[1], a), mean(&f->of[0], b), 0 };

		c.errors = error > 0 ? (c.heavy - c.others) / error : 0;
		vec_push(&out->v, c);
	}
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof(*out->v.v), larger);
	vec_free(&functions);
	map_free(&at);
	map_free(&group);
}

void activity_causes_free(struct activity_causes *c)
{
	vec_free(&c->v);
}
