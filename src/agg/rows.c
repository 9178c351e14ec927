/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the call tree to rows, by one walk.
 *
 * A node's row follows from its group and its frame. On the way down, a row is entered at the first of its nodes and
 * left at the end of that node, so the total of a recursive function counts each stack once. The row's own weight is
 * the sum of self over its nodes. The text of a key is made only for rows, never for each node.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "agg/row_order.h"
#include "base/hash.h"
#include "base/mem.h"

/* Of a frame, by id: its values for the keys of frames stand in walk.frame_values. */
struct frame_info {
	bool known, kept;
};

/* The row that a frame belongs to in the group that was walked last. */
struct last_row {
	u32 group; /* + 1; 0: none yet */
	u32 row;   /* ID_NONE: filtered out */
};

struct walk {
	struct profile *p;
	struct profile_event *e;
	const struct row_filter *filter;
	struct last_row *last; /* per frame id */
	struct set by_keys;    /* rows */
	struct frame_keys keys;
	struct frame_info *frames;
	u32 *frame_values;	 /* per frame id, nr_frame_keys */
	u8 frame_keys[MAX_KEYS]; /* those in use */
	u32 nr_frame_keys;
	u32 at_symbol;	/* where the symbol stands among them: it always does */
	bool of_frames; /* rows have values of frames */
	bool by_frame;	/* else rows are groups as a whole */
	u32 *active;	/* per row: how many of its nodes are above the walk's place */
	u64 *named;	/* per row: weight of the group that named it */
	size_t active_cap;
	u64 group_total; /* of the group that is walked */
	bool distinct;	 /* no two (group, frame) share a row: no need to look */
};

static const struct frame_info *frame_info(struct walk *w, u32 id)
{
	struct frame_info *info = &w->frames[id];
	struct frame f;

	if (info->known)
		return info;
	f = *frames_get(w->p->frames, id);
	info->known = true;
	info->kept = !w->filter || profile_keeps_frame(w->p, &w->filter->places, id);
	for (u32 i = 0; i < w->nr_frame_keys; i++)
		w->frame_values[(size_t)id * w->nr_frame_keys + i] =
			sort_key_row(w->frame_keys[i])->of_frame(&w->keys, &f);
	return info;
}

static u32 new_row(struct walk *w, const u64 *keys, u32 frame)
{
	u32 id = (u32)w->e->rows.n;
	struct row row = { .frame = frame };

	row.keys = arena_copy(&w->e->keys, keys, w->p->nr_sort * sizeof(*keys));
	vec_push(&w->e->rows, row);
	if (w->e->rows.n > w->active_cap) {
		w->active_cap = w->e->rows.cap;
		w->active = mem_realloc(w->active, w->active_cap, sizeof(*w->active));
		w->named = mem_realloc(w->named, w->active_cap, sizeof(*w->named));
	}
	w->active[id] = 0;
	w->named[id] = 0;
	return id;
}

static u32 row_by_keys(struct walk *w, const u64 *keys, u32 frame)
{
	size_t size = w->p->nr_sort * sizeof(*keys);
	u64 h = hash_bytes(keys, size);
	u32 id, at;

	SET_FIND(id, &w->by_keys, h, at, !memcmp(w->e->rows.v[id].keys, keys, size));
	if (id != ID_NONE)
		return id;
	id = new_row(w, keys, frame);
	set_add(&w->by_keys, h, id);
	return id;
}

/* By the heaviest group; of equal ones, by the name that was known first: groups come in another order in each run. */
static void name_row(struct walk *w, u32 id, u32 comm)
{
	struct row *r = &w->e->rows.v[id];

	if (w->group_total < w->named[id] || (w->group_total == w->named[id] && r->comm && r->comm < comm))
		return;
	w->named[id] = w->group_total;
	r->comm = comm;
}

/* The row of a frame (ID_NONE: of the group as a whole) in that group, or ID_NONE when it is filtered out. */
static u32 find_row(struct walk *w, u32 group, u32 frame)
{
	const struct profile *p = w->p;
	const u64 *g = tree_group_at(&w->e->tree, group);
	const u32 *values = NULL;
	u64 keys[MAX_KEYS];
	u32 id;

	if (w->filter && w->filter->exclude_other && !g[p->word_of[SORT_PARENT]])
		return ID_NONE;
	if (frame != ID_NONE) {
		if (!frame_info(w, frame)->kept)
			return ID_NONE;
		values = w->frame_values + (size_t)frame * w->nr_frame_keys;
		frame = w->of_frames ? values[w->at_symbol] : ID_NONE;
	}
	for (u32 i = 0, of_frame = 0; i < p->nr_sort; i++) {
		const struct sort_key_row *key = sort_key_row(p->sort_order[i]);

		keys[i] = key_is_frames(p->sort_order[i]) ? (values ? values[of_frame++] : 0) :
							    g[p->word_of[p->sort_order[i]]];
		if (key->of_value)
			keys[i] = key->of_value(&w->keys, keys[i]);
	}
	id = w->distinct ? new_row(w, keys, frame) : row_by_keys(w, keys, frame);
	name_row(w, id, (u32)g[0]);
	return id;
}

static u32 row_of(struct walk *w, u32 group, u32 frame)
{
	struct last_row *last = &w->last[frame];

	if (last->group != group + 1)
		*last = (struct last_row){ group + 1, find_row(w, group, frame) };
	return last->row;
}

/* What a node holds, and what inlined frames below it hold, belongs to the function that they are in, which was
 * entered before. */
static void add_own(struct walk *w, u32 node)
{
	const struct tree_node *nodes = w->e->tree.nodes.v;
	u32 function = node, row;

	while (nodes[function].parent && profile_frame_inlined(w->p, nodes[function].frame))
		function = nodes[function].parent;
	row = w->e->row_of[function];
	if (row == ID_NONE || !nodes[function].parent) /* a group, which holds nothing */
		return;
	w->e->rows.v[row].self += nodes[node].self;
	w->e->rows.v[row].samples += nodes[node].samples;
}

static void enter(struct walk *w, u32 node, u32 row)
{
	const struct tree_node *n = &w->e->tree.nodes.v[node];

	w->e->row_of[node] = row;
	if (row != ID_NONE && !w->active[row]++) {
		w->e->rows.v[row].total += n->total;
		w->e->rows.v[row].total_samples += n->total_samples;
	}
	if (n->samples)
		add_own(w, node);
}

static void leave(struct walk *w, u32 node)
{
	u32 row = w->e->row_of[node];

	if (row != ID_NONE)
		w->active[row]--;
}

static void walk_group(struct walk *w, u32 top)
{
	const struct tree_node *nodes = w->e->tree.nodes.v;
	u32 group = nodes[top].frame, at = nodes[top].first_kid;

	while (at != ID_NONE) {
		enter(w, at, row_of(w, group, nodes[at].frame));
		if (nodes[at].first_kid != ID_NONE) {
			at = nodes[at].first_kid;
			continue;
		}
		leave(w, at);
		while (nodes[at].next_kid == ID_NONE) {
			at = nodes[at].parent;
			if (at == top)
				return;
			leave(w, at);
		}
		at = nodes[at].next_kid;
	}
}

/* Rows whose keys do not include a frame's are the groups themselves, unless some code of these is left out. */
static void whole_group(struct walk *w, u32 top)
{
	const struct tree_node *n = &w->e->tree.nodes.v[top];
	u32 row = find_row(w, n->frame, ID_NONE);
	struct row *r;

	w->e->row_of[top] = row;
	if (row == ID_NONE)
		return;
	r = &w->e->rows.v[row];
	r->self += n->total;
	r->total += n->total;
	r->samples += n->total_samples;
	r->total_samples += n->total_samples;
}

/* Without totals a row that was never a leaf does not exist. */
static void drop_empty_rows(struct profile_event *e, bool children)
{
	u32 *new_id = mem_realloc(NULL, e->rows.n + 1, sizeof(*new_id)), n = 0;

	for (u32 i = 0; i < e->rows.n; i++) {
		new_id[i] = children || e->rows.v[i].samples ? n : ID_NONE;
		if (new_id[i] != ID_NONE)
			e->rows.v[n++] = e->rows.v[i];
	}
	e->rows.n = n;
	for (u32 i = 0; i < e->tree.nodes.n; i++)
		if (e->row_of[i] != ID_NONE)
			e->row_of[i] = new_id[e->row_of[i]];
	free(new_id);
}

static void sum_rows(struct profile_event *e)
{
	e->row_weight = 0;
	for (size_t i = 0; i < e->rows.n; i++)
		e->row_weight += e->rows.v[i].self;
}

static void list_nodes(struct profile_event *e)
{
	u32 n = (u32)e->rows.n;

	e->row_first = mem_zalloc(sizeof(u32) * ((size_t)n + 2));
	for (u32 i = 0; i < e->tree.nodes.n; i++)
		if (e->row_of[i] != ID_NONE)
			e->row_first[e->row_of[i] + 2]++;
	for (u32 i = 2; i <= n + 1; i++)
		e->row_first[i] += e->row_first[i - 1];
	e->row_nodes = mem_realloc(NULL, (size_t)e->row_first[n + 1] + 1, sizeof(u32));
	for (u32 i = 0; i < e->tree.nodes.n; i++)
		if (e->row_of[i] != ID_NONE)
			e->row_nodes[e->row_first[e->row_of[i] + 1]++] = i;
}

/* Does each group and frame have a row of its own? Frames that keep their address share a symbol, names of threads are
 * in groups whether they are a key or not. Groups that several events share say which events these are, too. */
static bool rows_are_distinct(const struct profile *p, const struct profile_event *e)
{
	return e != p->together && p->sort_keys >> SORT_SYMBOL & 1 && !(p->sort_keys & KEYS_LINES) &&
	       !p->has_addresses && !profile_joins_values(p) &&
	       (p->sort_keys >> SORT_COMM & 1 || !(p->sort_keys & KEYS_NAMED));
}

static void walk_free(struct walk *w)
{
	set_free(&w->by_keys);
	frame_keys_free(&w->keys);
	free(w->frames);
	free(w->frame_values);
	free(w->last);
	free(w->active);
	free(w->named);
}

/* The keys of frames in the order of the sort, and the symbol behind them where it is none: rows know their function.
 */
static void use_frame_keys(struct walk *w)
{
	const struct profile *p = w->p;
	size_t n = (size_t)frames_count(p->frames) + 1;

	w->at_symbol = MAX_KEYS;
	for (u32 i = 0; i < p->nr_sort; i++) {
		if (!key_is_frames(p->sort_order[i]))
			continue;
		if (p->sort_order[i] == SORT_SYMBOL)
			w->at_symbol = w->nr_frame_keys;
		w->frame_keys[w->nr_frame_keys++] = p->sort_order[i];
	}
	w->of_frames = w->nr_frame_keys;
	if (w->at_symbol == MAX_KEYS) {
		w->at_symbol = w->nr_frame_keys;
		w->frame_keys[w->nr_frame_keys++] = SORT_SYMBOL;
	}
	w->keys.p = w->p;
	w->frames = mem_zalloc(sizeof(*w->frames) * n);
	w->frame_values = mem_realloc(NULL, n * w->nr_frame_keys, sizeof(*w->frame_values));
}

void profile_make_rows(struct profile *p, struct profile_event *e, const struct row_filter *filter, u32 workers)
{
	struct walk w = { .p = p, .e = e, .filter = filter };
	const struct tree_node *nodes = e->tree.nodes.v;

	e->row_of = mem_alloc(sizeof(u32) * (e->tree.nodes.n + 1));
	memset(e->row_of, 0xff, sizeof(u32) * (e->tree.nodes.n + 1));
	w.distinct = rows_are_distinct(p, e);
	use_frame_keys(&w);
	w.by_frame = w.of_frames || (filter && place_filter_used(&filter->places));
	w.last = mem_zalloc(sizeof(*w.last) * ((size_t)frames_count(p->frames) + 1));
	for (u32 top = e->tree.nodes.n ? nodes[0].first_kid : ID_NONE; top != ID_NONE; top = nodes[top].next_kid) {
		w.group_total = nodes[top].total;
		if (w.by_frame)
			walk_group(&w, top);
		else
			whole_group(&w, top);
	}
	walk_free(&w);
	drop_empty_rows(e, p->children);
	row_order(p, e, workers);
	if (e == p->together)
		return;
	list_nodes(e);
	sum_rows(e);
}
