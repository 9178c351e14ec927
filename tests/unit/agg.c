/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees, rows and graphs against plain models: random stacks over few functions, so that recursion is frequent, with
 * every total counted the slow way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agg/collector.h"
#include "agg/keys.h"
#include "agg/lines.h"
#include "agg/row_index.h"
#include "agg/row_order.h"

#define FUNCTIONS 6
#define STACKS 400
#define DEPTH 8

struct stack {
	u32 n, comm;
	u32 f[DEPTH]; /* outermost first */
	u64 weight;
};

struct fixture {
	struct strtab strings;
	struct evlist evlist;
	struct profile *p;
	struct stack stacks[STACKS];
	u32 frame[FUNCTIONS], comm[2];
	u64 weight;
};

static u32 seed = 99;

static u32 next(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void add_stack(struct tree_builder *t, const struct fixture *f, const struct stack *s)
{
	u64 g = f->comm[s->comm];
	u32 node = tree_group(t, &g, 1);

	for (u32 i = 0; i + 1 < s->n; i++)
		node = tree_kid(t, node, f->frame[s->f[i]]);
	tree_prefetch(t, node, f->frame[s->f[s->n - 1]]);
	tree_add(t, node, f->frame[s->f[s->n - 1]], s->weight, 1);
}

/* A profile of random stacks; their trees are made in two halves and merged. */
static struct fixture *make(bool children)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	struct profile *p = f->p = mem_zalloc(sizeof(*p));
	struct profile_event e = { 0 };
	struct tree_builder all = { 0 }, half = { 0 };
	struct attr attr = { .size = 128, .sample_type = PERF_SAMPLE_CALLCHAIN };

	evlist_add(&f->evlist, &attr, "cycles", NULL);
	p->strings = &f->strings;
	p->evlist = &f->evlist;
	p->dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	p->frames = frames_new();
	p->has_chains = true;
	p->children = children;
	profile_sort_by(p, (u8[]){ SORT_COMM, SORT_DSO, SORT_SYMBOL }, 3);
	for (u32 i = 0; i < FUNCTIONS; i++) {
		char name[8] = { 'f', (char)('0' + i) };
		struct dso_key key = { .kind = DSO_BPF, .path = { name, 2 } };
		u32 dso = dsos_get(p->dsos, &key);

		dsos_add_symbol(p->dsos, dso, 100, 200, key.path);
		f->frame[i] = frames_intern(
			p->frames,
			&(struct frame){ .dso = dso, .sym = dsos_symbol_at(p->dsos, dso, 150), .level = '.' });
	}
	f->comm[0] = strtab_intern_z(&f->strings, "one");
	f->comm[1] = strtab_intern_z(&f->strings, "two");
	for (u32 i = 0; i < STACKS; i++) {
		struct stack *s = &f->stacks[i];

		*s = (struct stack){ .n = 1 + next(DEPTH), .comm = next(2), .weight = 1 + next(1000) };
		for (u32 k = 0; k < s->n; k++)
			s->f[k] = next(FUNCTIONS);
		f->weight += s->weight;
		add_stack(i % 2 ? &all : &half, f, s);
	}
	tree_merge(&all, &half, NULL);
	tree_finish(&all, &e.tree);
	e.weight = f->weight;
	e.samples = STACKS;
	profile_count_stacks(p, &e);
	profile_make_rows(p, &e, NULL, 2);
	vec_push(&p->events, e);
	return f;
}

static void drop(struct fixture *f)
{
	struct dsos *dsos = f->p->dsos;
	struct frames *frames = f->p->frames;

	profile_free(f->p);
	frames_free(frames);
	dsos_free(dsos);
	evlist_free(&f->evlist);
	strtab_free(&f->strings);
	free(f);
}

static u32 function_of(const struct fixture *f, u32 frame)
{
	for (u32 i = 0; i < FUNCTIONS; i++)
		if (f->frame[i] == frame)
			return i;
	return FUNCTIONS;
}

static bool holds(const struct stack *s, u32 function)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->f[i] == function)
			return true;
	return false;
}

static void rows_hold_selves_and_totals(void **state)
{
	struct fixture *f = make(true);
	const struct profile_event *e = &f->p->events.v[0];
	u64 last = UINT64_MAX;

	(void)state;
	assert_int_equal(e->rows.n, 2 * FUNCTIONS);
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		u64 self = 0, total = 0, samples = 0;

		for (u32 k = 0; k < STACKS; k++) {
			const struct stack *s = &f->stacks[k];
			u32 function = function_of(f, r->frame);

			if (f->comm[s->comm] != profile_row_key(f->p, r, SORT_COMM))
				continue;
			self += s->f[s->n - 1] == function ? s->weight : 0;
			samples += s->f[s->n - 1] == function;
			total += holds(s, function) ? s->weight : 0;
		}
		assert_int_equal(r->self, self);
		assert_int_equal(r->samples, samples);
		assert_int_equal(r->total, total);
		assert_true(r->total <= last);
		last = r->total;
	}
	drop(f);
}

static void rows_are_found_by_all_their_keys(void **state)
{
	struct fixture *f = make(true);
	const struct profile_event *e = &f->p->events.v[0];
	struct row_index rows = { .of = e, .nr_keys = f->p->nr_sort };

	(void)state;
	for (u32 i = 0; i < e->rows.n; i++)
		assert_int_equal(row_index_find(&rows, &e->rows.v[i]), i);
	row_index_free(&rows);
	drop(f);
}

static void one_sort_key_takes_all(void **state)
{
	struct fixture *f = make(true);
	struct profile_event *e = &f->p->events.v[0];
	u64 comm_weight = 0, first;

	(void)state;
	vec_free(&e->rows);
	free(e->row_of);
	free(e->row_nodes);
	free(e->row_first);
	profile_sort_by(f->p, (u8[]){ SORT_COMM }, 1);
	profile_make_rows(f->p, e, NULL, 2);
	assert_int_equal(e->rows.n, 2);
	first = profile_row_key(f->p, &e->rows.v[0], SORT_COMM);
	for (u32 k = 0; k < STACKS; k++)
		comm_weight += f->comm[f->stacks[k].comm] == first ? f->stacks[k].weight : 0;
	assert_int_equal(e->rows.v[0].self, comm_weight);
	assert_int_equal(e->rows.v[0].self + e->rows.v[1].self, f->weight);
	for (u32 i = 0; i < 2; i++) {
		u64 comm = profile_row_key(f->p, &e->rows.v[i], SORT_COMM), samples = 0;

		for (u32 k = 0; k < STACKS; k++)
			samples += f->comm[f->stacks[k].comm] == comm;
		assert_int_equal(e->rows.v[i].samples, samples);
		assert_int_equal(e->rows.v[i].total_samples, samples);
		assert_int_equal(e->rows.v[i].total, e->rows.v[i].self);
	}
	drop(f);
}

/* Where only the first rows are looked at they are those that all in order begin with, of equal ones too. */
static void first_rows_are_those_of_all(void **state)
{
	(void)state;
	for (u32 first = 0; first <= 2 * FUNCTIONS + 1; first++) {
		struct fixture *f = make(false);
		struct profile_event *e = &f->p->events.v[0];
		const u64 *keys[2 * FUNCTIONS];
		u32 n = (u32)e->rows.n;

		assert_int_equal(n, 2 * FUNCTIONS);
		for (u32 i = 0; i < n; i++)
			e->rows.v[i].self = 1 + i % 3;
		row_order(f->p, e, 2);
		for (u32 i = 0; i < n; i++)
			keys[i] = e->rows.v[i].keys;
		for (u32 i = 0; i < n / 2; i++) {
			struct row r = e->rows.v[i];

			e->rows.v[i] = e->rows.v[n - 1 - i];
			e->rows.v[n - 1 - i] = r;
		}
		f->p->first_rows = first;
		row_order(f->p, e, 2);
		for (u32 i = 0; i < MIN(first ? first : n, n); i++)
			assert_ptr_equal(e->rows.v[i].keys, keys[i]);
		for (u32 i = 1; i < n; i++)
			assert_true(e->rows.v[i].self <= e->rows.v[i - 1].self);
		drop(f);
	}
}

#define MANY_ROWS 2000u
#define PLACES 40u

/* Places with and without a symbol, whose names, addresses, objects and levels are equal in part. */
static u32 any_place(const struct fixture *f)
{
	const u64 addresses[] = { 0, 1, 0x1000, 1ull << 40, UINT64_MAX - 1, UINT64_MAX };
	const struct frame *named = frames_get(f->p->frames, f->frame[next(FUNCTIONS)]);
	struct frame place = { .dso = named->dso, .sym = ID_NONE, .level = next(2) ? '.' : 'k' };

	if (next(3))
		place.sym = named->sym;
	place.addr = addresses[next(ARRAY_LEN(addresses))];
	return frames_intern(f->p->frames, &place);
}

/* Many rows are sorted by numbers that stand for what their keys read: the order is that of comparing them. */
static void many_rows_are_in_order(void **state)
{
	struct fixture *f = make(false);
	struct profile_event e = { 0 };
	u32 places[PLACES];

	(void)state;
	profile_sort_by(f->p, (u8[]){ SORT_SYMBOL_DADDR, SORT_PHYS_DADDR }, 2);
	for (u32 i = 0; i < PLACES; i++)
		places[i] = any_place(f);
	for (u32 i = 0; i < MANY_ROWS; i++) {
		const u64 keys[] = { places[next(PLACES)], (u64)next(500) << next(64) };
		struct row row = { .self = 1 + next(3) };

		row.keys = arena_copy(&e.keys, keys, sizeof(keys));
		vec_push(&e.rows, row);
	}
	row_order(f->p, &e, 2);
	for (size_t i = 1; i < e.rows.n; i++) {
		const struct row *a = &e.rows.v[i - 1], *b = &e.rows.v[i];
		int c = a->self > b->self ? -1 : a->self < b->self;

		if (!c && a->keys[0] != b->keys[0])
			c = profile_compare_frames(f->p, (u32)a->keys[0], (u32)b->keys[0]);
		assert_true(c < 0 || (!c && a->keys[1] <= b->keys[1]));
	}
	arena_free(&e.keys);
	vec_free(&e.rows);
	drop(f);
}

/* The weight of row r's stacks that begin, from the graph's first level on, with this path. */
static u64 path_weight(const struct fixture *f, const struct row *r, bool caller, const u32 *path, u32 depth)
{
	u32 function = function_of(f, r->frame);
	u64 sum = 0;

	for (u32 k = 0; k < STACKS; k++) {
		const struct stack *s = &f->stacks[k];
		u32 from = 0, n = s->n, view[DEPTH];

		if (f->comm[s->comm] != profile_row_key(f->p, r, SORT_COMM) || !holds(s, function))
			continue;
		if (caller && s->f[n - 1] != function) /* what the outermost call of it called */
			while (s->f[from] != function)
				from++;
		if (!caller) /* its innermost call's callers */
			while (s->f[n - 1] != function)
				n--;
		for (u32 i = from; i < n; i++)
			view[i - from] = caller ? s->f[i] : s->f[n - 1 - (i - from)];
		if (n - from >= depth && !memcmp(view, path, depth * sizeof(u32)))
			sum += s->weight;
	}
	return sum;
}

static void check_graph(const struct fixture *f, const struct row *r, bool caller, const struct graph_node *n,
			u32 *path, u32 depth)
{
	u64 kids = 0, last = UINT64_MAX;

	for (u32 i = 0; i < n->nr_kids; i++) {
		path[depth] = function_of(f, n->kids[i]->frame);
		assert_int_equal(n->kids[i]->total, path_weight(f, r, caller, path, depth + 1));
		assert_true(n->kids[i]->total <= last);
		last = n->kids[i]->total;
		kids += last;
		check_graph(f, r, caller, n->kids[i], path, depth + 1);
	}
	assert_int_equal(n->self + kids, n->total);
}

static void check_graphs(bool caller)
{
	struct fixture *f = make(true);
	struct profile_event *e = &f->p->events.v[0];
	struct graph_opts o = { .caller = caller, .min_weight = 1 };
	struct graph_room room = { 0 };
	u32 path[DEPTH + 1];

	for (size_t i = 0; i < e->rows.n; i++) {
		const struct graph_node *g = profile_row_graph(f->p, e, &e->rows.v[i], &o, &room);

		assert_non_null(g);
		assert_int_equal(g->total, e->rows.v[i].total);
		check_graph(f, &e->rows.v[i], caller, g, path, 0);
	}
	for (size_t i = 0; i < e->tree.nodes.n; i++)
		assert_int_equal(room.through[i], 0);
	graph_room_free(&room);
	drop(f);
}

static void graphs_outermost_first(void **state)
{
	(void)state;
	check_graphs(true);
}

static void graphs_leaf_first(void **state)
{
	(void)state;
	check_graphs(false);
}

static void light_branches_are_left_out(void **state)
{
	struct fixture *f = make(true);
	struct profile_event *e = &f->p->events.v[0];
	struct graph_opts o = { .caller = true, .min_weight = f->weight + 1 };
	struct graph_room room = { 0 };

	(void)state;
	assert_null(profile_row_graph(f->p, e, &e->rows.v[0], &o, &room));
	o.min_weight = e->rows.v[0].total / 4;
	assert_non_null(profile_row_graph(f->p, e, &e->rows.v[0], &o, &room));
	graph_room_free(&room);
	drop(f);
}

static void stacks_are_judged(void **state)
{
	struct fixture *f = make(false);
	u64 frames = 0;

	(void)state;
	for (u32 i = 0; i < STACKS; i++)
		frames += f->stacks[i].n;
	assert_int_equal(f->p->tally.frames, frames);
	assert_int_equal(f->p->tally.stacks, STACKS);
	assert_int_equal(f->p->tally.broken, STACKS); /* none begins in main or the like */
	assert_int_equal(f->p->tally.unresolved, 0);
	drop(f);
}

/* What two workers found is, in sum, what one would have: of each event, and of the recording. */
static void results_are_merged(void **state)
{
	struct collected a, b;

	(void)state;
	collected_init(&a, 2);
	collected_init(&b, 2);
	for (u32 i = 0; i < 2; i++) {
		a.weights[i] = 1 + i, b.weights[i] = 10 + i;
		a.hidden[i] = 100 + i, b.hidden[i] = 1000 + i;
		a.samples[i] = 3 + i, b.samples[i] = 30 + i;
		a.exact[i] = 5 + i, b.exact[i] = 50 + i;
		a.squares[i] = 7 + i, b.squares[i] = 70 + i;
	}
	a.tally.samples = 11, b.tally.samples = 110;
	a.tally.filtered = 12, b.tally.filtered = 120;
	a.tally.first_time = 500, a.tally.last_time = 600;
	b.tally.first_time = 400, b.tally.last_time = 700;
	collected_merge(&a, &b, 2, NULL);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(a.weights[i], 11 + 2 * i);
		assert_int_equal(a.hidden[i], 1100 + 2 * i);
		assert_int_equal(a.samples[i], 33 + 2 * i);
		assert_int_equal(a.exact[i], 55 + 2 * i);
		assert_true(a.squares[i] == 77 + 2 * i);
	}
	assert_int_equal(a.tally.samples, 121);
	assert_int_equal(a.tally.filtered, 132);
	assert_int_equal(a.tally.first_time, 400);
	assert_int_equal(a.tally.last_time, 700);
	collected_free(&b, 2);
	/* The other way round, and one that has seen nothing. */
	collected_init(&b, 2);
	collected_merge(&b, &a, 2, NULL);
	assert_int_equal(b.tally.first_time, 400);
	assert_int_equal(b.tally.last_time, 700);
	b.tally.first_time = 300, b.tally.last_time = 800;
	collected_merge(&b, &a, 2, NULL);
	assert_int_equal(b.tally.first_time, 300);
	assert_int_equal(b.tally.last_time, 800);
	collected_free(&a, 2);
	collected_free(&b, 2);
}

/* Addresses of a function are one branch or one each; all other frames stand for themselves. */
static void places_are_of_their_own_frames(void **state)
{
	static const enum graph_key keys[] = { GRAPH_KEY_FUNCTION, GRAPH_KEY_ADDRESS };

	(void)state;
	for (u32 k = 0; k < ARRAY_LEN(keys); k++) {
		struct fixture *f = make(true);
		struct profile *p = f->p;
		struct frame of = *frames_get(p->frames, f->frame[0]), none = { .sym = ID_NONE, .addr = 5 };
		u32 unknown = frames_intern(p->frames, &none), at;

		of.addr = 150;
		at = frames_intern(p->frames, &of);
		profile_name_places(p, keys[k]);
		assert_int_equal(p->places.n, at + 1);
		assert_int_equal(p->places.v[at].shown, keys[k] == GRAPH_KEY_FUNCTION ? f->frame[0] : at);
		assert_int_equal(p->places.v[unknown].shown, unknown);
		for (u32 i = 0; i < FUNCTIONS; i++)
			assert_int_equal(p->places.v[f->frame[i]].shown, f->frame[i]);
		drop(f);
	}
}

/* What stands behind a name in a graph: the place in the function, its line, or both. */
static void places_are_told(void **state)
{
	static const struct {
		enum graph_key key;
		const char *known, *unknown; /* with a line, and without */
	} rows[] = { { GRAPH_KEY_FUNCTION, "", "" },
		     { GRAPH_KEY_ADDRESS, "+0x32 a.c:12", "+0x34" },
		     { GRAPH_KEY_LINE, " a.c:12", "" } };
	struct fixture *f = make(true);
	struct frame of = *frames_get(f->p->frames, f->frame[0]), none = { .sym = ID_NONE, .addr = 5 };
	char text[PROFILE_MADE_UP];
	u32 known, unknown, nameless;

	(void)state;
	of.addr = 150;
	known = frames_intern(f->p->frames, &of);
	of.addr = 152;
	unknown = frames_intern(f->p->frames, &of);
	nameless = frames_intern(f->p->frames, &none);
	for (u32 i = 0; i <= known; i++)
		vec_push(&f->p->places, (struct graph_place){ i, ID_NONE });
	f->p->places.v[known].line = strtab_intern_z(&f->strings, "a.c:12");
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		f->p->graph_key = rows[i].key;
		profile_frame_place(f->p, known, text, sizeof(text));
		assert_string_equal(text, rows[i].known);
		profile_frame_place(f->p, unknown, text, sizeof(text));
		assert_string_equal(text, rows[i].unknown);
		profile_frame_place(f->p, nameless, text, sizeof(text));
		assert_string_equal(text, "");
	}
	drop(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_hold_selves_and_totals),
		cmocka_unit_test(rows_are_found_by_all_their_keys),
		cmocka_unit_test(one_sort_key_takes_all),
		cmocka_unit_test(first_rows_are_those_of_all),
		cmocka_unit_test(many_rows_are_in_order),
		cmocka_unit_test(graphs_outermost_first),
		cmocka_unit_test(graphs_leaf_first),
		cmocka_unit_test(light_branches_are_left_out),
		cmocka_unit_test(stacks_are_judged),
		cmocka_unit_test(results_are_merged),
		cmocka_unit_test(places_are_of_their_own_frames),
		cmocka_unit_test(places_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
