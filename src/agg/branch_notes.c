/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/branch_notes.h"

#include <string.h>

#include "agg/profile.h"
#include "base/hash.h"

bool branch_notes_hold(const struct hit *h, void *held)
{
	struct branch_history *to = held;

	if (!h->past)
		return false;
	to->n = h->past->n;
	memcpy(to->v, h->past->v, to->n * sizeof(*to->v));
	return true;
}

/* The notes of a leaf that has at least n. */
static struct branch_note *notes_at(struct branch_notes *s, u32 node, u32 n)
{
	u32 at = *map_at(&s->at, node, (u32)s->leaves.n);
	struct notes_of_leaf *leaf;

	if (at == s->leaves.n)
		vec_push(&s->leaves, (struct notes_of_leaf){ .node = node, .first = s->v.n });
	leaf = &s->leaves.v[at];
	if (n > leaf->n) { /* mostly it is a new one; else its old place stays empty */
		vec_reserve(&s->v, s->v.n + n);
		memset(s->v.v + s->v.n, 0, n * sizeof(*s->v.v));
		memcpy(s->v.v + s->v.n, s->v.v + leaf->first, leaf->n * sizeof(*s->v.v));
		leaf->first = s->v.n;
		leaf->n = n;
		s->v.n += n;
	}
	return s->v.v + leaf->first;
}

static u32 kinds_of(const struct branch_entry *b)
{
	u32 type = branch_type(b->flags), kinds;

	if (!type || !b->from)
		return 0;
	kinds = type != BRANCH_COND ? BRANCH_KIND(type) : b->to > b->from ? BRANCH_KIND_FORWARD : BRANCH_KIND_BACKWARD;
	if (b->from >> 21 != b->to >> 21)
		kinds |= BRANCH_KIND_CROSS_2M;
	else if (b->from >> 12 != b->to >> 12)
		kinds |= BRANCH_KIND_CROSS_4K;
	return kinds;
}

void branch_notes_add(void *worker, const void *held, const struct hit_place *place, void *sums)
{
	const struct branch_history *h = held;
	struct branch_note *notes = notes_at(sums, place->node, h->n);

	(void)worker;
	for (u32 i = 0; i < h->n; i++) {
		u64 flags = h->v[i].b.flags;

		notes[i].n++;
		notes[i].told += branch_missed(flags) || branch_predicted(flags);
		notes[i].predicted += branch_predicted(flags);
		notes[i].aborted += branch_aborts(flags);
		notes[i].rounds += h->v[i].rounds;
		notes[i].kinds |= kinds_of(&h->v[i].b);
		notes[i].cycles += branch_cycles(flags);
		notes[i].round_cycles += h->v[i].round_cycles;
	}
}

static void add_note(struct branch_note *to, const struct branch_note *from)
{
	to->n += from->n;
	to->told += from->told;
	to->predicted += from->predicted;
	to->aborted += from->aborted;
	to->rounds += from->rounds;
	to->kinds |= from->kinds;
	to->cycles += from->cycles;
	to->round_cycles += from->round_cycles;
}

void branch_notes_merge(void *sums, void *from, const u32 *at)
{
	struct branch_notes *f = from;

	for (size_t i = 0; i < f->leaves.n; i++) {
		const struct notes_of_leaf *leaf = &f->leaves.v[i];
		struct branch_note *to = notes_at(sums, at[leaf->node], leaf->n);

		for (u32 k = 0; k < leaf->n; k++)
			add_note(&to[k], &f->v.v[leaf->first + k]);
	}
	branch_notes_free(f);
}

void branch_notes_free(void *sums)
{
	struct branch_notes *s = sums;

	map_free(&s->at);
	vec_free(&s->leaves);
	vec_free(&s->v);
	*s = (struct branch_notes){ 0 };
}

void *profile_notes_new(const void *setup, u32 event, void *sums)
{
	struct branch_notes *n = mem_alloc(sizeof(*n));

	(void)setup;
	(void)event;
	*n = *(struct branch_notes *)sums;
	*(struct branch_notes *)sums = (struct branch_notes){ 0 };
	return n;
}

void profile_notes_free(void *notes)
{
	branch_notes_free(notes);
	free(notes);
}

struct noting {
	const struct profile *p;
	const struct profile_event *e;
	const struct branch_notes *notes;
	struct graph_node *root;
	struct arena *arena;
	u32 row;
	bool downward, groups; /* the row is of whole groups */
	VEC(u32) way;	       /* nodes from a leaf up to the group */
	struct map kids_at;    /* a node of the graph with many kids and a frame -> index in kids; see kid_of */
	VEC(struct graph_node *) kids;
};

/* What the frame `level` above the leaf was in its samples. */
static void note_frame(struct noting *g, struct graph_node *to, u32 leaf, u32 level)
{
	u32 at = map_get(&g->notes->at, leaf), nth = (level - 1) / 2;
	const struct notes_of_leaf *of = at == ID_NONE ? NULL : &g->notes->leaves.v[at];
	const struct branch_note *note = of && level && nth < of->n ? &g->notes->v.v[of->first + nth] : NULL;
	u32 samples = g->e->tree.nodes.v[leaf].samples, n = note ? note->n : 0;
	struct graph_branches *b = to->branches;

	if (!level)
		return;
	if (!b) {
		b = to->branches = arena_new(g->arena, struct graph_branches);
		*b = (struct graph_branches){ 0 };
	}
	b->callers += samples - MIN(n, samples);
	if (!note)
		return;
	if (level % 2) {
		b->to += n;
		b->told += note->told;
		b->predicted += note->predicted;
		b->aborted += note->aborted;
		b->kinds |= note->kinds;
	} else {
		b->from += n;
		b->cycles += note->cycles;
		b->rounds += note->rounds;
		b->round_cycles += note->round_cycles;
	}
}

static struct graph_node *kid_among_few(const struct graph_node *up, u32 frame)
{
	for (u32 i = 0; i < up->nr_kids; i++)
		if (up->kids[i]->frame == frame)
			return up->kids[i];
	return NULL;
}

#define FEW_KIDS 16

/* Each leaf asks for one kid at each level, and some nodes have as many kids as there are leaves. */
static struct graph_node *kid_of(struct noting *g, const struct graph_node *up, u32 node)
{
	const u32 frame = profile_shown_frame(g->p, g->e->tree.nodes.v[node].frame);
	const u64 id = (uintptr_t)up;
	u32 at;

	if (up->nr_kids <= FEW_KIDS)
		return kid_among_few(up, frame);
	if (map_get(&g->kids_at, hash_pair(id, ID_NONE)) == ID_NONE) {
		map_set(&g->kids_at, hash_pair(id, ID_NONE), 0);
		for (u32 i = 0; i < up->nr_kids; i++) {
			map_set(&g->kids_at, hash_pair(id, up->kids[i]->frame), (u32)g->kids.n);
			vec_push(&g->kids, up->kids[i]);
		}
	}
	at = map_get(&g->kids_at, hash_pair(id, frame));
	return at == ID_NONE ? NULL : g->kids.v[at]->frame == frame ? g->kids.v[at] : kid_among_few(up, frame);
}

/* Levels above the leaf at which the row is: the lowest or the highest of them. */
static u32 row_level(const struct noting *g, bool highest)
{
	u32 found = 0;

	for (u32 i = 0; i < g->way.n; i++)
		if (g->e->row_of[g->way.v[i]] == g->row) {
			found = i;
			if (!highest)
				break;
		}
	return found;
}

/* Along the graph, as its nodes were grown from this leaf: with the outermost frame first, a row's own stacks are
 * whole, and others begin at the row (agg/graph.c). What was too light to be shown ends it. */
static void note_leaf(struct noting *g, u32 leaf)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;
	struct graph_node *to = g->root;
	u32 level;

	g->way.n = 0;
	for (u32 node = leaf; nodes[node].parent; node = nodes[node].parent)
		vec_push(&g->way, node);
	if (!g->downward) {
		for (level = row_level(g, false); level < g->way.n; level++) {
			to = kid_of(g, to, g->way.v[level]);
			if (!to)
				return;
			note_frame(g, to, leaf, level);
		}
		return;
	}
	level = g->groups || g->e->row_of[leaf] == g->row ? (u32)g->way.n : row_level(g, true) + 1;
	while (level--) {
		to = kid_of(g, to, g->way.v[level]);
		if (!to)
			return;
		note_frame(g, to, leaf, level);
	}
}

/* The leaves at and under `top`; without totals, a row has only what ends there. */
static void note_under(struct noting *g, u32 top)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;
	u32 node = top;

	for (;;) {
		if (nodes[node].samples)
			note_leaf(g, node);
		if ((g->groups || g->p->children) && nodes[node].first_kid != ID_NONE) {
			node = nodes[node].first_kid;
			continue;
		}
		while (node != top && nodes[node].next_kid == ID_NONE)
			node = nodes[node].parent;
		if (node == top)
			return;
		node = nodes[node].next_kid;
	}
}

static bool under_same_row(const struct noting *g, u32 node)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;

	for (u32 up = nodes[node].parent; up; up = nodes[up].parent)
		if (g->e->row_of[up] == g->row)
			return true;
	return false;
}

void branch_notes_graph(const struct profile *p, const struct profile_event *e, const struct row *r, bool downward,
			struct arena *arena, struct graph_node *root)
{
	u32 row = (u32)(r - e->rows.v);
	struct noting g = { .p = p,
			    .e = e,
			    .notes = e->measured[MEASURE_BRANCH_NOTES],
			    .root = root,
			    .arena = arena,
			    .row = row,
			    .downward = downward };

	g.groups = !e->tree.nodes.v[e->row_nodes[e->row_first[row]]].parent;
	for (u32 i = e->row_first[row]; g.notes && i < e->row_first[row + 1]; i++)
		if (!p->children || !under_same_row(&g, e->row_nodes[i]))
			note_under(&g, e->row_nodes[i]);
	vec_free(&g.way);
	vec_free(&g.kids);
	map_free(&g.kids_at);
}
