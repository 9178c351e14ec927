/* SPDX-License-Identifier: Apache-2.0 */
/* From operations by node to operations by row. */
#include <stdlib.h>
#include <string.h>

#include "agg/operations.h"
#include "agg/profile.h"

/* Classes of latencies by row, which then stand in place of the nodes' counts. */
struct row_classes {
	VEC(struct operation_class) v;
};

static int by_row_and_kind(const void *va, const void *vb)
{
	const struct operation_count *a = va, *b = vb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int by_row_and_class(const void *va, const void *vb)
{
	const struct operation_class *a = va, *b = vb;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a->what < b->what ? -1 : a->what > b->what;
}

static bool is_of(const struct operation_class *c, u32 kind)
{
	return kind == OPERATION_ALL || c->kind == kind;
}

/* The mean of the latencies in whose class the nth one is, n from 1; c: of one row and one counter, in order. */
static u64 nth_of(const struct operation_class *c, size_t n, u32 kind, u64 nth)
{
	u64 seen = 0, in = 0, sum = 0;

	for (size_t i = 0; i < n && (!in || seen < nth || c[i].what == c[i - 1].what); i++) {
		if (i && c[i].what != c[i - 1].what)
			in = sum = 0;
		if (!is_of(&c[i], kind))
			continue;
		seen += c[i].n;
		in += c[i].n;
		sum += c[i].sum;
	}
	return in ? (sum + in / 2) / in : 0;
}

/* The number of those that p of 100 are, rounded up. */
static u64 hundredths(u64 n, u64 p)
{
	return n / 100 * p + (n % 100 * p + 99) / 100;
}

/* c: of the part's row, in order. */
static void add_latencies(struct operation_part *part, const struct operation_class *c, size_t n)
{
	for (size_t from = 0, to; from < n; from = to) {
		u32 counter = c[from].what >> OPERATION_CLASS_BITS;
		struct operation_latency *l = &part->latency[counter];

		for (to = from; to < n && c[to].what >> OPERATION_CLASS_BITS == counter; to++) {
			if (!is_of(&c[to], part->kind))
				continue;
			l->n += c[to].n;
			l->sum += c[to].sum;
		}
		l->p50 = nth_of(c + from, to - from, part->kind, hundredths(l->n, 50));
		l->p95 = nth_of(c + from, to - from, part->kind, hundredths(l->n, 95));
		l->p99 = nth_of(c + from, to - from, part->kind, hundredths(l->n, 99));
	}
}

static void add_count(struct operation_part *part, const struct operation_count *c)
{
	part->n += c->n;
	for (u32 i = 0; i < NR_OPERATION_RATIOS; i++) {
		part->ratios[i].n += c->ratios[i].n;
		part->ratios[i].of += c->ratios[i].of;
	}
}

/* Puts rows in place of nodes; those of rows that filters leave out go. */
static void find_rows(const struct profile *p, const struct profile_event *e, struct operation_sums *s,
		      struct row_classes *classes)
{
	for (size_t i = 0; i < s->counts.n; i++)
		s->counts.v[i].node = profile_own_row(p, e, s->counts.v[i].node);
	for (size_t i = 0; i < s->classes.n; i++) {
		struct operation_class c = s->classes.v[i];
		u32 row = s->counts.v[c.count].node;

		if (row == ID_NONE)
			continue;
		c.kind = (u16)s->counts.v[c.count].kind;
		c.count = row;
		vec_push(&classes->v, c);
	}
}

/* All rows together are one more. */
static void add_whole(struct operation_sums *s, struct row_classes *classes, u32 whole)
{
	struct operation_class *sums = mem_zalloc(((size_t)NR_OPERATION_KINDS << 12) * sizeof(*sums));
	size_t n = classes->v.n, counts = s->counts.n;

	_Static_assert((SPE_NR_COUNTERS - 1) << OPERATION_CLASS_BITS < 1 << 12, "`what` has 12 bits");
	for (size_t i = 0; i < n; i++) {
		const struct operation_class *c = &classes->v.v[i];
		struct operation_class *to = &sums[(size_t)c->kind << 12 | c->what];

		*to = (struct operation_class){ whole, c->what, c->kind, to->n + c->n, to->sum + c->sum };
	}
	for (size_t i = 0; i < (size_t)NR_OPERATION_KINDS << 12; i++)
		if (sums[i].n)
			vec_push(&classes->v, sums[i]);
	for (size_t i = 0; i < counts; i++) {
		struct operation_count c = s->counts.v[i];

		if (c.node == ID_NONE)
			continue;
		c.node = whole;
		vec_push(&s->counts, c);
	}
	free(sums);
}

/* The parts of one row: c are its counts, in order of kinds; classes are its own. */
static void make_parts(struct profile_operations *o, u32 row, const struct operation_count *c, size_t nr_counts,
		       const struct operation_class *classes, size_t nr_classes)
{
	struct operation_part all = { .row = row, .kind = OPERATION_ALL };
	size_t first = o->parts.n;

	vec_push(&o->parts, all);
	for (size_t i = 0; i < nr_counts; i++) {
		if (!i || c[i].kind != c[i - 1].kind)
			vec_push(&o->parts, (struct operation_part){ .row = row, .kind = c[i].kind });
		add_count(&o->parts.v[o->parts.n - 1], &c[i]);
		add_count(&o->parts.v[first], &c[i]);
	}
	for (size_t i = first; i < o->parts.n; i++)
		add_latencies(&o->parts.v[i], classes, nr_classes);
}

/* Those of one row, in order: nodes that came to the same row are added up. */
static void keep_classes(struct profile_operations *o, const struct operation_class *c, size_t n)
{
	size_t first = o->classes.n;

	for (size_t i = 0; i < n; i++) {
		size_t at = o->classes.n;

		while (at > first && o->classes.v[at - 1].what == c[i].what && o->classes.v[at - 1].kind != c[i].kind)
			at--;
		if (at > first && o->classes.v[at - 1].what == c[i].what) {
			o->classes.v[at - 1].n += c[i].n;
			o->classes.v[at - 1].sum += c[i].sum;
		} else {
			vec_push(&o->classes, c[i]);
		}
	}
}

u32 profile_operations_histogram(const struct profile_operations *o, size_t row, u32 kind, enum spe_counter counter,
				 struct operation_bar *out)
{
	u32 n = 0;

	for (u32 i = o->first_class[row]; i < o->first_class[row + 1]; i++) {
		const struct operation_class *c = &o->classes.v[i];
		u32 class = c->what & ((1u << OPERATION_CLASS_BITS) - 1), from = operation_class_first(class);

		if (c->what >> OPERATION_CLASS_BITS != counter || !is_of(c, kind))
			continue;
		if (!n || out[n - 1].from != from)
			out[n++] = (struct operation_bar){ from, operation_class_first(class + 1) - 1, 0 };
		out[n - 1].n += c->n;
	}
	return n;
}

void profile_operations_rows(struct profile *p, struct profile_event *e)
{
	struct profile_operations *o = e->measured[MEASURE_OPERATIONS];
	struct operation_sums *s = &o->nodes;
	struct row_classes classes = { 0 };
	size_t count = 0, class = 0, rows = e->rows.n + 1;

	find_rows(p, e, s, &classes);
	add_whole(s, &classes, (u32)e->rows.n);
	if (s->counts.n)
		qsort(s->counts.v, s->counts.n, sizeof(*s->counts.v), by_row_and_kind);
	if (classes.v.n)
		qsort(classes.v.v, classes.v.n, sizeof(*classes.v.v), by_row_and_class);
	o->first = mem_zalloc((rows + 1) * sizeof(*o->first));
	o->first_class = mem_zalloc((rows + 1) * sizeof(*o->first_class));
	for (u32 row = 0; row < rows; row++) {
		size_t counts = count, of = class;
		const struct operation_class *its = classes.v.n ? classes.v.v + of : NULL;

		while (count < s->counts.n && s->counts.v[count].node == row)
			count++;
		while (class < classes.v.n && classes.v.v[class].count == row)
			class ++;
		if (count > counts)
			make_parts(o, row, s->counts.v + counts, count - counts, its, class - of);
		o->first[row + 1] = (u32)o->parts.n;
		keep_classes(o, its, class - of);
		o->first_class[row + 1] = (u32)o->classes.n;
	}
	vec_free(&classes.v);
	operation_sums_free(s); /* rows are all that is asked for */
}

const struct operation_part *profile_operations_parts(const struct profile_operations *o, size_t row, u32 *n)
{
	*n = o->first[row + 1] - o->first[row];
	return *n ? &o->parts.v[o->first[row]] : NULL;
}
