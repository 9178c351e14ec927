/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/group_rows.h"

#include <string.h>

#include "base/hash.h"
#include "base/sort.h"

struct keys {
	u64 v[MAX_KEYS]; /* in the order of the sort; the rest 0 */
};

struct join {
	const struct profile *p;
	struct group_rows *g;
	struct set by_keys; /* lines */
	struct strtab names;
	VEC(struct keys) keys; /* of the lines */
	VEC(struct group_line) lines;
};

/* Each event has its own first DSO of a short name. */
static struct keys keys_of(struct join *j, const struct row *r)
{
	struct keys k = { 0 };
	u64 *dso = j->p->sort_keys >> SORT_DSO & 1 ? &k.v[j->p->key_at[SORT_DSO]] : NULL;

	memcpy(k.v, r->keys, j->p->nr_sort * sizeof(*k.v));
	if (dso)
		*dso = strtab_intern_z(&j->names, dsos_at(j->p->dsos, (u32)*dso)->short_name);
	return k;
}

static struct group_line *find_line(struct join *j, const struct row *r)
{
	struct keys k = keys_of(j, r);
	u64 h = hash_bytes(&k, sizeof(k));
	size_t bytes = j->g->nr_members * sizeof(struct row *);
	u32 id, at;

	SET_FIND(id, &j->by_keys, h, at, !memcmp(&j->keys.v[id], &k, sizeof(k)));
	if (id != ID_NONE)
		return &j->lines.v[id];
	set_add(&j->by_keys, h, (u32)j->lines.n);
	vec_push(&j->keys, k);
	vec_push(&j->lines, (struct group_line){ .rows = arena_alloc(&j->g->arena, bytes, _Alignof(struct row *)) });
	memset(j->lines.v[j->lines.n - 1].rows, 0, bytes);
	return &j->lines.v[j->lines.n - 1];
}

static void add_rows(struct join *j, u32 member)
{
	const struct profile_event *e = j->g->members[member];

	for (size_t i = 0; e && i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		struct group_line *line = find_line(j, r);
		struct row *copy;

		line->rows[member] = r;
		if (line->shown)
			continue;
		line->shown = r;
		if (e == j->g->first)
			continue;
		copy = arena_copy(&j->g->arena, r, sizeof(*r));
		copy->self = copy->total = copy->samples = copy->total_samples = 0;
		line->shown = copy;
	}
}

static int compare_weights(u64 a, u64 b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Lines come as the first member's rows are sorted, then the next one's: equal ones stay so. */
static int compare_lines(const void *va, const void *vb, void *ctx)
{
	const struct group_line *a = va, *b = vb;
	const struct join *j = ctx;
	int c = 0;

	for (u32 pass = j->p->children ? 0 : 1; pass < 2 && !c; pass++)
		for (u32 i = 0; i < j->g->nr_members && !c; i++) {
			const struct row *x = a->rows[i], *y = b->rows[i];

			c = pass ? compare_weights(x ? x->self : 0, y ? y->self : 0) :
				   compare_weights(x ? x->total : 0, y ? y->total : 0);
		}
	return c;
}

void group_rows_make(const struct profile *p, u32 leader, u32 n, struct group_rows *out)
{
	struct join j = { .p = p, .g = out };

	*out = (struct group_rows){ .leader = leader, .nr_members = n };
	out->members = mem_zalloc((n + 1) * sizeof(struct profile_event *));
	for (size_t i = p->events.n; i--;) {
		struct profile_event *e = &p->events.v[i];

		if (e->event < leader || e->event - leader >= n)
			continue;
		out->members[e->event - leader] = e;
		out->first = e;
	}
	for (u32 i = 0; i < n; i++)
		add_rows(&j, i);
	sort_parallel(1, j.lines.v, j.lines.n, sizeof(*j.lines.v), compare_lines, &j);
	out->lines = j.lines.v;
	out->n = j.lines.n;
	set_free(&j.by_keys);
	strtab_free(&j.names);
	vec_free(&j.keys);
}

void group_rows_free(struct group_rows *g)
{
	free(g->members);
	free(g->lines);
	arena_free(&g->arena);
	*g = (struct group_rows){ 0 };
}
