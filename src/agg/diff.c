/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

u32 diff_event(struct diff *d, const char *name)
{
	u32 id = strtab_intern_z(&d->strings, name);
	struct diff_event e = { .name = id };

	for (size_t i = 0; i < d->events.n; i++)
		if (d->events.v[i].name == id)
			return (u32)i;
	vec_push(&d->events, e);
	return (u32)d->events.n - 1;
}

static u32 find_row(const struct diff *d, struct diff_event *e, const u32 *keys, char level)
{
	size_t size = d->nr_keys * sizeof(*keys);
	u64 h = hash_bytes(keys, size);
	struct diff_row row = { .level = level, .first_cell = (u32)e->cells.n };
	u32 id, at;

	SET_FIND(id, &e->by_keys, h, at, !memcmp(e->rows.v[id].keys, keys, size));
	if (id != ID_NONE)
		return id;
	id = (u32)e->rows.n;
	set_add(&e->by_keys, h, id);
	memcpy(row.keys, keys, size);
	vec_push(&e->rows, row);
	for (u32 i = 0; i < d->nr_files; i++)
		vec_push(&e->cells, (struct diff_cell){ 0 });
	return id;
}

void diff_add(struct diff *d, u32 event, u32 file, const u32 *keys, char level, u64 weight, u64 samples)
{
	struct diff_event *e = &d->events.v[event];
	u32 row = find_row(d, e, keys, level);
	struct diff_cell *cell = &e->cells.v[e->rows.v[row].first_cell + file];

	cell->weight += weight;
	cell->samples += samples;
}

double diff_share(const struct diff_event *e, const struct diff_row *r, u32 file)
{
	u64 whole = e->of[file].whole;

	return whole ? 100.0 * (double)diff_cell(e, r, file)->weight / (double)whole : 0;
}

bool diff_value(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
		double *out)
{
	const struct diff_cell *old = diff_cell(e, r, 0), *new = diff_cell(e, r, file);

	if (!new->samples)
		return false;
	if (m->compute == DIFF_DELTA || m->compute == DIFF_DELTA_ABS) {
		*out = diff_share(e, r, file) - diff_share(e, r, 0);
		return true;
	}
	if (!old->samples || (m->compute == DIFF_RATIO && !old->weight))
		return false;
	*out = m->compute == DIFF_RATIO ? (double)new->weight / (double)old->weight :
					  (double)new->weight *(double)m->w2 - (double)old->weight *(double)m->w1;
	return true;
}

struct place {
	double value;
	bool known;
	u64 old;
	u32 row;
};

struct order {
	const struct diff *d;
	const struct diff_event *e;
};

static int compare_keys(const struct order *o, const struct diff_row *a, const struct diff_row *b)
{
	int c = 0;

	for (u32 i = 0; i < o->d->nr_keys && !c; i++)
		if (a->keys[i] != b->keys[i])
			c = strcmp(strtab_get(&o->d->strings, a->keys[i]), strtab_get(&o->d->strings, b->keys[i]));
	return c;
}

static int compare_places(const void *va, const void *vb, void *ctx)
{
	const struct place *a = va, *b = vb;
	const struct order *o = ctx;

	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->value < b->value || a->value > b->value)
		return a->value < b->value ? 1 : -1;
	if (a->old != b->old)
		return a->old < b->old ? 1 : -1;
	return compare_keys(o, &o->e->rows.v[a->row], &o->e->rows.v[b->row]);
}

static struct place place_of(const struct diff_event *e, u32 row, u32 file, const struct diff_method *m)
{
	const struct diff_row *r = &e->rows.v[row];
	struct place p = { .old = diff_cell(e, r, 0)->weight, .row = row };

	if (!file) {
		p.known = p.old;
		p.value = (double)p.old;
		return p;
	}
	p.known = diff_value(e, r, file, m, &p.value);
	if (!p.known)
		p.value = 0;
	else if (m->compute == DIFF_DELTA_ABS || m->compute == DIFF_DELTA)
		p.value = rint(p.value * 1e6); /* deltas that differ by rounding are equal */
	if (m->compute == DIFF_DELTA_ABS && p.value < 0)
		p.value = -p.value;
	return p;
}

static void sort_event(const struct diff *d, struct diff_event *e, u32 file, const struct diff_method *m)
{
	size_t n = e->rows.n;
	struct place *places = mem_realloc(NULL, n + 1, sizeof(*places));
	struct diff_row *rows = mem_realloc(NULL, n + 1, sizeof(*rows));

	for (u32 i = 0; i < n; i++)
		places[i] = place_of(e, i, file, m);
	if (n)
		qsort_r(places, n, sizeof(*places), compare_places, &(struct order){ d, e });
	for (u32 i = 0; i < n; i++)
		rows[i] = e->rows.v[places[i].row];
	free(places);
	free(e->rows.v);
	e->rows.v = rows;
	e->rows.cap = n + 1;
	set_free(&e->by_keys); /* rows have other numbers now */
}

void diff_sort(struct diff *d, u32 file, const struct diff_method *m)
{
	for (size_t i = 0; i < d->events.n; i++)
		sort_event(d, &d->events.v[i], file, m);
}

static double growth(double old, double new, double of)
{
	if (new == old)
		return 0;
	return of > 0 ? 100 * (new - old) / of : (double)INFINITY;
}

double diff_growth(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
		   bool counted)
{
	double old = (double)diff_cell(e, r, 0)->weight, new = (double)diff_cell(e, r, file)->weight;

	if (m->compute == DIFF_RATIO)
		return growth(old, new, old);
	return counted ? growth(old, new, (double)e->of[0].whole) : diff_share(e, r, file) - diff_share(e, r, 0);
}

double diff_growth_of_whole(const struct diff_event *e, u32 file)
{
	return growth((double)e->of[0].whole, (double)e->of[file].whole, (double)e->of[0].whole);
}

void diff_free(struct diff *d)
{
	for (size_t i = 0; i < d->events.n; i++) {
		vec_free(&d->events.v[i].rows);
		vec_free(&d->events.v[i].cells);
		set_free(&d->events.v[i].by_keys);
	}
	vec_free(&d->events);
	strtab_free(&d->strings);
}
