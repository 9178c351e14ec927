/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/activity_causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

static double mean(const struct activity_group *g)
{
	return g->members > 0 ? g->sum / g->members : 0;
}

/* Among the activities of a group. */
static double spread(const struct activity_group *g)
{
	double m = mean(g);

	return g->members > 1 ? MAX(g->squares / g->members - m * m, 0.0) * g->members / (g->members - 1) : 0;
}

/* Of the mean. one: the weight of a sample. */
static double variance(const struct activity_group *g, const struct activity_group *other, double one)
{
	double among = spread(g->members > 1 ? g : other) / g->members;
	double by_chance = MAX(g->counted, one * one) / (g->members * g->members);

	return MAX(among, by_chance);
}

double activity_difference(const struct activity_group *heavy, const struct activity_group *others)
{
	u64 samples = heavy->samples + others->samples;
	double one, error;

	if (heavy->members < 1 || others->members < 1 || !samples)
		return 0;
	one = (heavy->sum + others->sum) / (double)samples;
	error = sqrt(variance(heavy, others, one) + variance(others, heavy, one));
	return error > 0 ? (mean(heavy) - mean(others)) / error : 0;
}

static int larger(const void *va, const void *vb)
{
	const struct activity_cause *a = va, *b = vb;
	double x = a->heavy - a->others, y = b->heavy - b->others;

	return x != y ? (x > y ? -1 : 1) : 0;
}

static int heavier(const void *va, const void *vb)
{
	const u64 *a = va, *b = vb;

	return *a != *b ? (*a > *b ? -1 : 1) : 0;
}

/*
 * -> the weight of the lightest that is among the heavy ones, at most `share` of all n. Activities of equal weight
 * stay together: where the last of the heavy ones weighs as much as others do, none of that weight is one, unless all
 * that are heavier would be none.
 */
static u64 least_heavy(const u64 *weights, u32 n, double share)
{
	u64 *sorted = mem_alloc((n + 1) * sizeof(*sorted)), least;
	u32 most = MAX((u32)(n * share), 1u), i;

	memcpy(sorted, weights, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), heavier);
	for (i = MIN(most, n); i > 0 && i < n && sorted[i] == sorted[i - 1]; i--)
		;
	least = n ? sorted[i ? i - 1 : 0] : 0;
	free(sorted);
	return least;
}

/* How many of n samples are in the first half. */
static u64 draw(u64 n, u64 seed)
{
	u64 first = 0;

	for (; n >= 64; n -= 64)
		first += (u64)__builtin_popcountll(random_next(&seed));
	return first + (u64)__builtin_popcountll(random_next(&seed) & ((1ull << n) - 1));
}

struct half {
	u64 weight, samples;
};

/* The first half; the second one is the rest. */
static struct half first_of(const struct activity_part *p)
{
	u64 samples = MAX(p->samples, (u64)1), drawn = draw(samples, p->seed);

	return (struct half){ (u64)((double)p->weight * (double)drawn / (double)samples), drawn };
}

/* What one activity has of a function. */
static void add(struct activity_group *g, double weight, u64 samples)
{
	g->sum += weight;
	g->squares += weight * weight;
	g->counted += samples ? weight * weight / (double)samples : 0;
	g->samples += samples;
}

static void compare(const struct activity_group *heavy, const struct activity_group *others, u32 function,
		    struct activity_causes *out)
{
	const struct activity_cause c = { function, 2 * mean(heavy), 2 * mean(others),
					  activity_difference(heavy, others) };

	if (heavy->samples + others->samples)
		vec_push(&out->v, c);
}

void activity_causes_find(const struct activity_part *parts, size_t n, u32 activities, u32 functions, double share,
			  struct activity_causes *out)
{
	struct activity_group(*of)[2] = mem_zalloc((functions + 1) * sizeof(*of)); /* others, heavy */
	struct half *first = mem_alloc((n + 1) * sizeof(*first));
	u64 *weight = mem_zalloc((activities + 1) * sizeof(*weight)), nr[2] = { 0 }, least;
	double sum[2] = { 0 };

	*out = (struct activity_causes){ 0 };
	for (size_t i = 0; i < n; i++) {
		first[i] = first_of(&parts[i]);
		weight[parts[i].activity] += first[i].weight;
	}
	least = least_heavy(weight, activities, share);
	for (u32 i = 0; i < activities; i++)
		nr[weight[i] >= least]++;
	for (size_t i = 0; i < n; i++) {
		const struct activity_part *p = &parts[i];
		double rest = (double)(p->weight - first[i].weight);
		bool heavy = weight[p->activity] >= least;

		sum[heavy] += rest;
		add(&of[p->function][heavy], rest, MAX(p->samples, (u64)1) - first[i].samples);
	}
	for (u32 i = 0; i < functions; i++) {
		of[i][0].members = (double)nr[0];
		of[i][1].members = (double)nr[1];
		compare(&of[i][1], &of[i][0], i, out);
	}
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof(*out->v.v), larger);
	out->nr_others = nr[0];
	out->nr_heavy = nr[1];
	out->others = nr[0] ? 2 * sum[0] / (double)nr[0] : 0;
	out->heavy = nr[1] ? 2 * sum[1] / (double)nr[1] : 0;
	free(of);
	free(first);
	free(weight);
}

void activity_causes_free(struct activity_causes *c)
{
	vec_free(&c->v);
}
