/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording may also have separate events that sample what windows count: `instructions` beside
 * {cycles,instructions}:S. Then each row has its share of these samples, which gives its count no matter how short its
 * calls are. This is right if a sample's address is that of the instruction that was counted; the record says whether
 * it is (PERF_RECORD_MISC_EXACT_IP).
 *
 * This file also estimates how much of the counts of kept windows may belong to other code: a window that begins and
 * ends in a row may have left it in between, if the row's code is left often and soon entered again. Windows tell how
 * often this happens: by where other windows that began there ended.
 */
#include <math.h>

#include "agg/row_index.h"
#include "agg/window_rows.h"

#define EXACT_PERCENT 99     /* of an event's samples */
#define UNLIKE_BY_CHANCE 3.0 /* standard deviations of a number of samples */
#define MOST_UNLIKE 0.25     /* of what a member counted: then nothing is known of it from operations */

/* Which member counts what this event counts, of the same privilege levels; ID_NONE: none. */
static u32 member_like(const struct profile *p, const struct window_group *g, const struct profile_event *e)
{
	const u64 levels = ATTR_EXCLUDE_USER | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV;
	const struct attr *a = &p->evlist->events.v[e->event].attr;

	for (u32 i = 0; i < g->nr; i++) {
		const struct attr *b = &p->evlist->events.v[g->events[i]].attr;

		if (attr_same_event(a, b) && !((a->flags ^ b->flags) & levels))
			return i;
	}
	return ID_NONE;
}

static bool is_exact(const struct profile_event *e)
{
	return e->exact && e->exact * 100 >= e->samples * EXACT_PERCENT;
}

/*
 * Are these samples ones that the member can use? If they are operations of Arm SPE, what they stand for and what the
 * member counted may not be the same: an operation may be a part of an instruction, data may be lost, a counter may
 * count what no operation did. Beyond what the number of samples and the ends of threads explain, that part may be of
 * any function.
 */
static bool fits(const struct profile *p, struct profile_windows *w, const struct profile_event *from, u32 member)
{
	const struct event *e = &p->evlist->events.v[from->event];
	double expected = w->nodes.counted[member] / (double)e->attr.sample_period, chance, unlike;

	if (!e->counted)
		return true;
	w->operations |= 1u << member;
	w->stand_for[member] = expected > 0 ? (double)from->samples / expected : INFINITY;
	chance = UNLIKE_BY_CHANCE / sqrt(fmax(1, expected)) + profile_windows_missing(w);
	unlike = fmax(0, fabs(w->stand_for[member] - 1) - chance);
	if (unlike > MOST_UNLIKE)
		return false;
	w->unlike[member] = unlike;
	return true;
}

static double samples_of_one_weight(const struct profile_event *e)
{
	return e->squares > 0 ? (double)e->weight * (double)e->weight / e->squares : 0;
}

/* Periods that the recorder drew say nothing of where they end, so that each of these samples stands for as much as
 * any other; their weights would only add noise. Those that follow a frequency are shorter where events are rare, and
 * where long and short periods take turns, a sample after a short one says little that is new. Periods drawn from 1 to
 * twice their mean have a mean square of 4/3 of the squared mean; others are not drawn like that. */
#define DRAWN_SPREAD 1.4

static bool is_drawn(const struct profile *p, const struct profile_event *e)
{
	double weight = (double)e->weight;

	return !(p->evlist->events.v[e->event].attr.flags & ATTR_FREQ) &&
	       e->squares * (double)e->samples < DRAWN_SPREAD * weight * weight;
}

static void add_samples(const struct profile *p, struct profile_event *e, struct row_index *rows,
			const struct profile_event *from, u32 member)
{
	struct profile_windows *w = event_windows(e);
	u32 nr = w->group.nr, at = window_samples_at(nr, member), stride = window_stride(nr);
	bool drawn = is_drawn(p, from);
	double each;

	w->samples[member] = drawn ? (double)from->samples : samples_of_one_weight(from);
	each = w->samples[member] / (double)(drawn ? from->samples : from->weight);
	for (size_t i = 0; i < from->rows.n; i++) {
		const struct row *r = &from->rows.v[i];
		u32 row = row_index_find(rows, r);

		if (row != ID_NONE)
			w->rows[row * (size_t)stride + at] += (double)(drawn ? r->samples : r->self) * each;
	}
	w->total[at] = w->samples[member];
}

/* Of the rows that are shown, where those are not all. Their windows have been summed, which have none of this. */
static void sum_shown(struct profile_event *e)
{
	struct profile_windows *w = event_windows(e);
	u32 nr = w->group.nr, stride = window_stride(nr);

	for (size_t i = 0; i < e->rows.n; i++) {
		const double *row = w->rows + i * stride;

		w->shown[WINDOWS_SELF] += row[WINDOWS_SELF];
		for (u32 m = 0; m < nr; m++)
			w->shown[window_samples_at(nr, m)] += row[window_samples_at(nr, m)];
	}
}

/* Sums for one unit: the windows that leave it, and how many of the windows that begin where those end come back to
 * it; the counts of its kept windows, which are means once all are in; and the counts that the kept windows of the
 * units in which its discarded windows began have. */
struct unit {
	double leave, back;
	double kept, mean[WINDOW_MEMBERS];
	double came, from[WINDOW_MEMBERS];
};

struct units {
	VEC(struct unit) v;
	struct map by_id;
};

static struct unit *unit_at(struct units *u, u32 id)
{
	u32 *i = map_at(&u->by_id, id, (u32)u->v.n);

	if (*i == u->v.n)
		vec_push(&u->v, (struct unit){ 0 });
	return &u->v.v[*i];
}

/* Of a place of which nothing is known, half come back. */
static void count_units(const struct window_sums *w, struct units *u)
{
	struct map begin = { 0 }; /* place -> windows that begin there */

	for (size_t i = 0; i < w->ways.n; i++)
		if (w->ways.v[i].ends)
			*map_at(&begin, w->ways.v[i].place, 0) += w->ways.v[i].ends;
	for (size_t i = 0; i < w->ways.n; i++) {
		const struct window_way *way = &w->ways.v[i];
		u32 there = map_get(&begin, way->place);
		struct unit *from;

		if (!way->leaves)
			continue;
		from = unit_at(u, way->unit);
		from->leave += way->leaves;
		from->back += way->leaves * (way->ends + 0.5) / ((there == ID_NONE ? 0 : there) + 1.0);
	}
	map_free(&begin);
}

static u32 unit_of_row(const struct profile *p, const struct profile_event *e, size_t row)
{
	u32 frame = e->rows.v[row].frame;

	return frame == ID_NONE ? ID_NONE : window_unit_of(event_windows(e)->unit, p->frames, frame);
}

static void add_kept(const struct profile *p, const struct profile_event *e, struct units *u)
{
	const struct profile_windows *w = event_windows(e);

	for (size_t i = 0; i < e->rows.n; i++) {
		const double *block = profile_window_row(w, i);
		u32 id = unit_of_row(p, e, i);
		struct unit *to;

		if (id == ID_NONE || !(block[WINDOWS_KEPT] > 0))
			continue;
		to = unit_at(u, id);
		to->kept += block[WINDOWS_KEPT];
		for (u32 m = 0; m < w->group.nr; m++)
			to->mean[m] += window_sum(block, m);
	}
	for (size_t i = 0; i < u->v.n; i++)
		for (u32 m = 0; m < w->group.nr && u->v.v[i].kept > 0; m++)
			u->v.v[i].mean[m] /= u->v.v[i].kept;
}

/* Of units without a kept window nothing is known. */
static void add_came(const struct window_sums *w, struct units *u)
{
	for (size_t i = 0; i < w->ways.n; i++) {
		const struct window_way *way = &w->ways.v[i];
		u32 from = way->ends && way->there != way->unit ? map_get(&u->by_id, way->there) : ID_NONE;
		struct unit *to;

		if (from == ID_NONE || !(u->v.v[from].kept > 0))
			continue;
		to = unit_at(u, way->unit);
		to->came += way->ends;
		for (u32 m = 0; m < w->members; m++)
			to->from[m] += way->ends * u->v.v[from].mean[m];
	}
}

/*
 * A discarded window that ends in f and began in g is half of either on average. Were each half like what f's and g's
 * kept windows count, nothing would be missing of f in those. What is left is taken for f's: as much again is in the
 * windows that began in f. Longer windows are discarded more often; so what is expected goes by the leader's counts.
 */
static void leave_unexplained(const struct profile_windows *w, const struct unit *u, double *block)
{
	u32 nr = w->group.nr, leader = window_member_of(&w->group, w->group.leader);
	double kept = block[WINDOWS_KEPT], expected[WINDOW_MEMBERS], length;

	for (u32 m = 0; m < nr; m++) {
		double own = window_sum(block, m) / fmax(1, kept);

		expected[m] = own + (u && u->came > 0 ? u->from[m] / u->came : own);
	}
	length = expected[leader] > 0 ? block[window_discarded_at(nr, leader)] / expected[leader] : 0;
	for (u32 m = 0; m < nr && kept > 0; m++)
		block[window_discarded_at(nr, m)] = 2 * (block[window_discarded_at(nr, m)] - length * expected[m]);
}

/* From the order of windows, works out for each row how likely a thread that leaves its code is to be back one window
 * later, and what the row's discarded windows counted. */
static void fill_from_ways(const struct profile *p, struct profile_event *e)
{
	struct profile_windows *w = event_windows(e);
	u32 stride = window_stride(w->group.nr);
	bool estimates = w->attribution == ATTRIBUTION_ESTIMATE;
	struct units u = { 0 };

	count_units(&w->nodes, &u);
	if (estimates) {
		add_kept(p, e, &u);
		add_came(&w->nodes, &u);
	}
	for (size_t i = 0; i < e->rows.n; i++) {
		u32 id = unit_of_row(p, e, i), at = id == ID_NONE ? ID_NONE : map_get(&u.by_id, id);
		const struct unit *unit = at == ID_NONE ? NULL : &u.v.v[at];
		double *block = w->rows + i * stride;

		if (unit && unit->leave > 0)
			block[WINDOWS_BACK] = 1 + (unit->back + 0.5) / (unit->leave + 1);
		if (estimates)
			leave_unexplained(w, unit, block);
	}
	vec_free(&u.v);
	map_free(&u.by_id);
}

/* Of a leader whose periods the recorder drew: what its samples weigh on average, after a long period and after a
 * short one. False: they are not like that, or lost records make it unknown how many there are of each. */
static bool mean_weights(const struct profile *p, const struct profile_event *e, double *after_long,
			 double *after_short)
{
	const struct profile_windows *w = event_windows(e);
	double nr_short = w->total[WINDOWS_SHORT], nr_long = (double)e->samples - nr_short, of_long, squares;

	/* With one period all the time only first samples are not short: what is left for them is mostly the error of
	 * the mean, if samples were filtered out. */
	if (!w->group.nr_short || !w->group.nr_long || !(nr_long > 0) ||
	    w->total[WINDOWS_EXCLUDED + WINDOW_LOST] > 0 || p->evlist->events.v[e->event].attr.flags & ATTR_FREQ)
		return false;
	*after_short = (double)w->group.sum_short / (double)w->group.nr_short;
	of_long = (double)e->weight - nr_short * *after_short;
	squares = e->squares - nr_short * *after_short * *after_short;
	*after_long = of_long / nr_long;
	return of_long > 0 && squares > 0 && squares * nr_long < DRAWN_SPREAD * of_long * of_long;
}

/* The leader's own samples: their weights, or means of these where how long a period was says nothing. */
static void add_leader(const struct profile *p, struct profile_event *e)
{
	struct profile_windows *w = event_windows(e);
	u32 stride = window_stride(w->group.nr), leader = window_member_of(&w->group, w->group.leader);
	double nr_short = w->total[WINDOWS_SHORT], all = (double)e->weight, after_long, after_short;
	bool drawn = mean_weights(p, e, &after_long, &after_short);

	for (size_t i = 0; i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		double *block = w->rows + i * stride;

		block[WINDOWS_SELF] = (double)r->self;
		if (drawn)
			block[WINDOWS_SELF] = fmax(0, (double)r->samples - block[WINDOWS_SHORT]) * after_long +
					      block[WINDOWS_SHORT] * after_short;
	}
	w->total[WINDOWS_SELF] = all;
	w->samples[leader] = samples_of_one_weight(e);
	if (drawn)
		w->samples[leader] = all * all /
				     (((double)e->samples - nr_short) * after_long * after_long +
				      nr_short * after_short * after_short);
}

void profile_window_samples(struct profile *p, struct profile_event *e)
{
	struct profile_windows *w = event_windows(e);
	struct row_index rows = { .of = e, .nr_keys = p->nr_sort };

	add_leader(p, e);
	w->exact = is_exact(e);
	for (size_t i = 0; i < p->events.n; i++) {
		struct profile_event *from = &p->events.v[i];
		u32 member = event_windows(from) ? ID_NONE : member_like(p, &w->group, from);

		if (member == ID_NONE)
			continue;
		/* Others have something to say of their own. */
		if (!is_exact(from))
			continue;
		from->helper = true;
		if (w->samples[member] > 0 || !fits(p, w, from, member))
			continue;
		add_samples(p, e, &rows, from, member);
	}
	row_index_free(&rows);
	fill_from_ways(p, e);
	if (w->shown != w->total)
		sum_shown(e);
}
