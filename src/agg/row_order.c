/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which rows are shown.
 *
 * Rows are sorted by weight, and by what their keys read where weights are equal. In a large table that is most of
 * them: hundreds of thousands were sampled once. Comparing two such rows takes their keys and the texts behind these,
 * each somewhere in memory, and a sort compares each row twenty times. But they have few different values for each
 * key. So these are sorted once, and a value's rank among them stands for its text; the ranks of all keys together
 * mostly fit 64 bits, which lie side by side with the weights. What is sorted is then a list of numbers, byte by byte.
 * The values of a key are sorted in the same way if the key can give numbers for them; then only values with the same
 * number are compared.
 */
#include "agg/row_order.h"

#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"

#define FEW_ROWS 512	/* are sorted by their texts */
#define RECENT_VALUES 8 /* bits: values of a key that are known without looking for them */

/* What a row is sorted by, side by side. */
struct place_in_order {
	u64 first, second; /* weights, as what they leave of the largest number: the larger weight comes first */
	u64 names;	   /* ranks of the row's values, the first key's in the highest bits; 0: see order.ranked */
	u32 row;
};

struct order {
	const struct profile *p;
	const struct row *rows;
	u32 workers;
	u32 ranked; /* of so many keys are the ranks in `names` */
};

static int compare_values(const struct profile *p, u32 i, u64 x, u64 y)
{
	const struct sort_key_row *key = sort_key_row(p->sort_order[i]);

	if (x == y)
		return 0;
	return key->compare ? key->compare(p, x, y) : x < y ? -1 : 1;
}

static u64 value_of(const struct row *r, u32 column)
{
	return column == COLUMN_CHILDREN ? r->total : column == COLUMN_SAMPLES ? r->samples : r->self;
}

/* By the columns that were named, the larger value first. */
static int compare_columns(const struct profile *p, const struct row *a, const struct row *b)
{
	int c = 0;

	for (u32 i = 0; i < p->nr_row_order && !c; i++) {
		u32 column = p->row_order[i];

		if (column_is_key(column)) {
			u32 at = p->key_at[column_key(column)];

			c = compare_values(p, at, a->keys[at], b->keys[at]);
		} else {
			u64 x = value_of(a, column), y = value_of(b, column);

			c = x > y ? -1 : x < y;
		}
	}
	return c;
}

static int compare_rows(const void *va, const void *vb, void *ctx)
{
	const struct place_in_order *a = va, *b = vb;
	const struct order *o = ctx;
	int c = 0;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	if (o->p->nr_row_order)
		c = compare_columns(o->p, &o->rows[a->row], &o->rows[b->row]);
	if (!c && a->names != b->names)
		c = a->names < b->names ? -1 : 1;
	for (u32 i = o->ranked; i < o->p->nr_sort && !c; i++)
		c = compare_values(o->p, i, o->rows[a->row].keys[i], o->rows[b->row].keys[i]);
	return c;
}

/* --- ranks --- */

/* The different values of a key. */
struct ranks {
	const struct profile *p;
	u32 key;
	struct map ids; /* of a value: its index in */
	VEC(u64) values;
	u64 *words;  /* their numbers (sort_word) */
	u32 *sorted; /* indexes, */
	u32 *rank;   /* and of each its rank: values with the same text have the same */
};

static int compare_ids(const void *a, const void *b, void *ctx)
{
	const struct ranks *r = ctx;

	return compare_values(r->p, r->key, r->values.v[*(const u32 *)a], r->values.v[*(const u32 *)b]);
}

static u64 sort_word(const struct ranks *r, u64 value)
{
	const struct sort_key_row *key = sort_key_row(r->p->sort_order[r->key]);

	return key->word ? key->word(r->p, value) : key->compare ? 0 : value;
}

static void sort_values(struct ranks *r, u32 workers)
{
	size_t n = r->values.n;

	for (size_t i = 0; i < n; i++)
		r->words[i] = sort_word(r, r->values.v[i]);
	sort_by_words(r->sorted, r->words, n, sizeof(*r->words), 1);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && r->words[r->sorted[to]] == r->words[r->sorted[from]];)
			to++;
		sort_parallel(workers, r->sorted + from, to - from, sizeof(*r->sorted), compare_ids, r);
	}
}

/* Gives the number of ranks. */
static u32 rank_values(struct ranks *r, u32 workers)
{
	size_t n = r->values.n;
	u32 rank = 0;

	r->words = mem_realloc(NULL, n, sizeof(*r->words));
	r->sorted = mem_realloc(NULL, n, sizeof(*r->sorted));
	r->rank = mem_realloc(NULL, n, sizeof(*r->rank));
	sort_values(r, workers);
	for (size_t i = 0; i < n; i++) {
		const u32 *at = &r->sorted[i];

		rank += i && (r->words[at[-1]] != r->words[at[0]] || compare_ids(&at[-1], &at[0], r));
		r->rank[*at] = rank;
	}
	return rank + 1;
}

static u32 bits_for(u32 most)
{
	return most ? 32 - (u32)__builtin_clz(most) : 0;
}

/* Gives each row the index of its value: ids. Most rows have one that another has had a moment ago. */
static void number_values(struct ranks *r, const struct row *rows, size_t n, u32 *ids)
{
	struct {
		u64 value;
		u32 id;
	} recent[1u << RECENT_VALUES];

	for (u32 i = 0; i < ARRAY_LEN(recent); i++)
		recent[i].id = ID_NONE;
	for (size_t i = 0; i < n; i++) {
		u64 value = rows[i].keys[r->key], at = value * 0x9e3779b97f4a7c15u >> (64 - RECENT_VALUES);

		if (recent[at].id == ID_NONE || recent[at].value != value) {
			recent[at].value = value;
			recent[at].id = *map_at(&r->ids, value, (u32)r->values.n);
			if (recent[at].id == r->values.n)
				vec_push(&r->values, value);
		}
		ids[i] = recent[at].id;
	}
}

/* The ranks of one key, below the *used bits of the keys before it. False: they do not fit. ids: room for a number per
 * row. */
static bool rank_key(const struct order *o, struct place_in_order *order, size_t n, u32 key, u32 *used, u32 *ids)
{
	struct ranks r = { .p = o->p, .key = key };
	u32 bits;

	number_values(&r, o->rows, n, ids);
	bits = bits_for(rank_values(&r, o->workers) - 1);
	*used += bits;
	for (size_t i = 0; i < n && bits && *used <= 64; i++)
		order[i].names |= (u64)r.rank[ids[i]] << (64 - *used);
	map_free(&r.ids);
	vec_free(&r.values);
	free(r.words);
	free(r.sorted);
	free(r.rank);
	return *used <= 64;
}

static void rank_names(struct order *o, struct place_in_order *order, size_t n)
{
	u32 *ids = mem_realloc(NULL, n, sizeof(*ids)), used = 0;

	while (o->ranked < o->p->nr_sort && rank_key(o, order, n, o->ranked, &used, ids))
		o->ranked++;
	free(ids);
}

/* --- the rows --- */

static bool weigh_the_same(const struct place_in_order *a, const struct place_in_order *b)
{
	return a->first == b->first && a->second == b->second;
}

/* Where only the first rows are looked at, only those that may be among them have their names compared. */
static void sort_first(const struct order *o, const struct place_in_order *order, size_t n, size_t first, u32 *rows)
{
	struct place_in_order *same = mem_realloc(NULL, n, sizeof(*same));

	sort_by_words(rows, order, n, sizeof(*order), 2); /* weights */
	for (size_t from = 0, to; from < MIN(n, first); from = to) {
		for (to = from; to < n && weigh_the_same(&order[rows[from]], &order[rows[to]]); to++)
			same[to - from] = order[rows[to]];
		sort_parallel(1, same, to - from, sizeof(*same), compare_rows, (void *)o);
		for (size_t i = from; i < to; i++)
			rows[i] = same[i - from].row;
	}
	free(same);
}

/* Puts rows[order[i]] into place i, in place, one cycle after the other. Uses order up. */
static void permute(struct row *rows, u32 *order, u32 n)
{
	for (u32 start = 0; start < n; start++) {
		struct row first = rows[start];
		u32 at = start;

		while (order[at] != start) {
			u32 from = order[at];

			rows[at] = rows[from];
			order[at] = at;
			at = from;
		}
		rows[at] = first;
		order[at] = at;
	}
}

/* What a row without names is sorted by. */
static struct place_in_order place_of(const struct profile *p, const struct row *r, u32 i)
{
	u64 heavy = UINT64_MAX - (p->children ? r->total : r->self);

	if (p->nr_row_order) /* all is compared */
		return (struct place_in_order){ 0, 0, 0, i };
	if (p->sort_order[0] == SORT_TIME) /* a table of slices is in their order */
		return (struct place_in_order){ r->keys[0], heavy, 0, i };
	return (struct place_in_order){ heavy, p->children ? UINT64_MAX - r->self : 0, 0, i };
}

static void sort_places(struct order *o, struct place_in_order *order, u32 n, u32 *rows)
{
	const struct profile *p = o->p;

	if (p->first_rows && p->first_rows < n) {
		sort_first(o, order, n, p->first_rows, rows);
		return;
	}
	if (n > FEW_ROWS)
		rank_names(o, order, n);
	if (!p->nr_row_order && o->ranked == p->nr_sort) {
		sort_by_words(rows, order, n, sizeof(*order), 3); /* weights and names */
		return;
	}
	sort_parallel(o->workers, order, n, sizeof(*order), compare_rows, o);
	for (u32 i = 0; i < n; i++)
		rows[i] = order[i].row;
}

/* Is the order one of weights, and of keys where weights are equal? */
static bool by_weight(const struct profile *p)
{
	return !p->nr_row_order && p->sort_order[0] != SORT_TIME && !p->children;
}

void row_order_shared(struct profile *p, struct profile_event *e)
{
	u32 n = (u32)e->rows.n, *rows;
	u64 *heavy;

	if (!by_weight(p)) {
		row_order(p, e, 1);
		return;
	}
	rows = mem_realloc(NULL, n + 1u, sizeof(*rows));
	heavy = mem_realloc(NULL, n + 1u, sizeof(*heavy));
	for (u32 i = 0; i < n; i++)
		heavy[i] = UINT64_MAX - e->rows.v[i].self;
	sort_by_words(rows, heavy, n, sizeof(*heavy), 1);
	free(heavy);
	permute(e->rows.v, rows, n);
	free(rows);
}

void row_order(struct profile *p, struct profile_event *e, u32 workers)
{
	u32 n = (u32)e->rows.n, *rows = mem_realloc(NULL, n + 1u, sizeof(*rows));
	struct place_in_order *order = mem_realloc(NULL, n + 1u, sizeof(*order));
	u32 *new_id = mem_realloc(NULL, n + 1u, sizeof(*new_id));
	struct order o = { p, e->rows.v, workers, 0 };

	for (u32 i = 0; i < n; i++)
		order[i] = e == p->together ? (struct place_in_order){ .row = i } : place_of(p, &e->rows.v[i], i);
	sort_places(&o, order, n, rows);
	free(order);
	for (u32 i = 0; i < n; i++)
		new_id[rows[i]] = i;
	permute(e->rows.v, rows, n);
	for (u32 i = 0; i < e->tree.nodes.n; i++)
		if (e->row_of[i] != ID_NONE)
			e->row_of[i] = new_id[e->row_of[i]];
	free(new_id);
	free(rows);
}
