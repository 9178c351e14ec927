/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph below a row.
 *
 * A graph is grown level by level from sets of tree nodes: a level's candidates are the kids (or, with callers below,
 * the parent) of all nodes in the set, sorted by frame; candidates of one frame become one graph node with their set,
 * and only sets that are heavy enough grow further. So the work is proportional to the printed graph plus one more
 * level.
 *
 * With the outermost frame first, a stack belongs to row R in one of two ways, as in perf: if R is its leaf, the whole
 * stack is shown; if R is above the leaf, what R called is shown. `through` has, for each tree node, the weight of
 * leaves of R below it: the first kind of graph grows from the top of the group along nodes where it is not 0, the
 * second from the topmost nodes of R, with this weight subtracted.
 */
#include <stdlib.h>

#include "agg/branch_notes.h"
#include "agg/profile.h"

struct item {
	u64 weight;
	u32 key;    /* display frame: what nodes of one graph node share */
	u32 node;   /* of the tree */
	bool whole; /* first kind: follow `through` */
};

struct items {
	VEC(struct item) v;
};

struct grow {
	const struct profile *p;
	const struct profile_event *e;
	const struct graph_opts *o;
	struct arena *arena;
	u64 *through;
	u32 row;
};

static u64 node_total(const struct grow *g, u32 node)
{
	const struct tree_node *n = &g->e->tree.nodes.v[node];

	return g->o->samples ? n->total_samples : n->total;
}

static u64 node_self(const struct grow *g, u32 node)
{
	const struct tree_node *n = &g->e->tree.nodes.v[node];

	return g->o->samples ? n->samples : n->self;
}

static void add_item(struct grow *g, struct items *to, u32 node, u64 weight, bool whole)
{
	if (weight)
		vec_push(&to->v, (struct item){ weight, profile_shown_frame(g->p, g->e->tree.nodes.v[node].frame),
						node, whole });
}

static int by_key(const void *va, const void *vb)
{
	const struct item *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static bool has_start(const struct frame *f)
{
	return f->sym != ID_NONE && !f->inlined;
}

/* Branches of equal weight stand as in perf: the last object first, in each the highest address; then what has no
 * start, by name. */
static int compare_equals(const struct profile *p, u32 x, u32 y)
{
	const struct frame *a = frames_get(p->frames, x), *b = frames_get(p->frames, y);
	u64 a_start, b_start;

	if (has_start(a) != has_start(b))
		return has_start(a) ? -1 : 1;
	if (!has_start(a))
		return profile_compare_frames(p, x, y);
	if (a->dso != b->dso)
		return a->dso < b->dso ? 1 : -1;
	a_start = dsos_symbol(p->dsos, a->dso, a->sym)->start;
	b_start = dsos_symbol(p->dsos, b->dso, b->sym)->start;
	if (a_start != b_start)
		return a_start < b_start ? 1 : -1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? 1 : -1;
	return profile_compare_frames(p, x, y);
}

static int heaviest_first(const void *va, const void *vb, void *ctx)
{
	const struct graph_node *a = *(struct graph_node *const *)va, *b = *(struct graph_node *const *)vb;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return compare_equals(ctx, a->frame, b->frame);
}

static void kids_of(struct grow *g, const struct item *set, size_t n, struct items *out)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;

	for (size_t i = 0; i < n; i++) {
		for (u32 kid = nodes[set[i].node].first_kid; kid != ID_NONE; kid = nodes[kid].next_kid)
			add_item(g, out, kid, set[i].whole ? g->through[kid] : node_total(g, kid) - g->through[kid],
				 set[i].whole);
	}
}

/* The parents, each once: siblings that met in one parent go on as one. Groups are no frames, so they end a stack. */
static void parents_of(struct grow *g, const struct item *set, size_t n, struct items *out)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;
	size_t merged = 0;

	for (size_t i = 0; i < n; i++) {
		u32 parent = nodes[set[i].node].parent;

		if (nodes[parent].parent)
			add_item(g, out, parent, set[i].weight, false);
	}
	if (out->v.n > 1)
		qsort(out->v.v, out->v.n, sizeof(*out->v.v), by_key);
	for (size_t i = 1; i < out->v.n; i++) {
		if (out->v.v[i].node == out->v.v[merged].node)
			out->v.v[merged].weight += out->v.v[i].weight;
		else
			out->v.v[++merged] = out->v.v[i];
	}
	if (out->v.n)
		out->v.n = merged + 1;
}

static void grow_kids(struct grow *g, struct graph_node *up, struct items *items, u32 depth);

static void grow_one(struct grow *g, struct graph_node *node, const struct item *set, size_t n, u32 depth)
{
	struct items next = { 0 };

	if (g->o->max_depth && depth >= g->o->max_depth)
		return;
	if (g->o->caller)
		kids_of(g, set, n, &next);
	else
		parents_of(g, set, n, &next);
	grow_kids(g, node, &next, depth + 1);
}

/* Turns candidates into the kids of `up`; consumes items. */
static void grow_kids(struct grow *g, struct graph_node *up, struct items *items, u32 depth)
{
	VEC(struct graph_node *) kids = { 0 };
	size_t n = items->v.n;

	if (n > 1)
		qsort(items->v.v, n, sizeof(*items->v.v), by_key);
	up->self = up->total;
	for (size_t i = 0, end; i < n; i = end) {
		struct graph_node *kid;
		u64 weight = 0;

		for (end = i; end < n && items->v.v[end].key == items->v.v[i].key; end++)
			weight += items->v.v[end].weight;
		up->self -= MIN(weight, up->self);
		if (weight < MAX(g->o->min_weight, (u64)1))
			continue;
		kid = arena_new(g->arena, struct graph_node);
		*kid = (struct graph_node){ .frame = items->v.v[i].key, .total = weight, .self = weight };
		vec_push(&kids, kid);
		grow_one(g, kid, items->v.v + i, end - i, depth);
	}
	vec_free(&items->v);
	if (kids.n > 1)
		qsort_r(kids.v, kids.n, sizeof(*kids.v), heaviest_first, (void *)g->p);
	up->kids = arena_copy(g->arena, kids.v, kids.n * sizeof(*kids.v));
	up->nr_kids = (u32)kids.n;
	vec_free(&kids);
}

static bool is_topmost(const struct grow *g, u32 node)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;

	for (u32 up = nodes[node].parent; up; up = nodes[up].parent)
		if (g->e->row_of[up] == g->row)
			return false;
	return true;
}

/* The weight of stacks of which the row is the leaf, along all that is above them; the groups' tops where it got to.
 */
static void mark_through(struct grow *g, u32 node, struct items *tops)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;

	if (frames_get(g->p->frames, nodes[node].frame)->inlined)
		return;
	for (u32 own = node; own != ID_NONE; own = profile_next_own(g->p, g->e, node, own)) {
		for (u32 up = own; node_self(g, own) && up; up = nodes[up].parent) {
			if (!nodes[up].parent && !g->through[up])
				vec_push(&tops->v, (struct item){ .node = up, .whole = true });
			g->through[up] += node_self(g, own);
		}
	}
}

/* Outermost first. */
static void start_callers(struct grow *g, const u32 *list, u32 n, struct items *out)
{
	struct items tops = { 0 };

	for (u32 i = 0; i < n; i++)
		mark_through(g, list[i], &tops);
	kids_of(g, tops.v.v, tops.v.n, out);
	for (u32 i = 0; g->p->children && i < n; i++)
		if (is_topmost(g, list[i]))
			add_item(g, out, list[i], node_total(g, list[i]) - g->through[list[i]], false);
	vec_free(&tops.v);
}

/*
 * Leaf first. Without totals: the stacks of which the row is the leaf, inlined frames first. With totals: each node of
 * the row, with what it holds apart from further nodes of the row below it.
 */
static void start_callees(struct grow *g, const u32 *list, u32 n, struct items *out)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;

	for (u32 i = 0; i < n && !g->p->children; i++)
		for (u32 own = list[i]; own != ID_NONE; own = profile_next_own(g->p, g->e, list[i], own))
			add_item(g, out, own, node_self(g, own), false);
	if (!g->p->children)
		return;
	for (u32 i = 0; i < n; i++) {
		u32 up = nodes[list[i]].parent;

		g->through[list[i]] += node_total(g, list[i]);
		while (up && g->e->row_of[up] != g->row)
			up = nodes[up].parent;
		if (up)
			g->through[up] -= node_total(g, list[i]);
	}
	for (u32 i = 0; i < n; i++)
		add_item(g, out, list[i], g->through[list[i]], false);
}

static void clear_through(struct grow *g, const u32 *list, u32 n)
{
	const struct tree_node *nodes = g->e->tree.nodes.v;

	for (u32 i = 0; i < n; i++)
		for (u32 own = list[i]; own != ID_NONE; own = profile_next_own(g->p, g->e, list[i], own))
			for (u32 up = own; up != ID_NONE && g->through[up]; up = nodes[up].parent)
				g->through[up] = 0;
}

const struct graph_node *profile_row_graph(const struct profile *p, const struct profile_event *e, const struct row *r,
					   const struct graph_opts *o, struct graph_room *room)
{
	u32 row = (u32)(r - e->rows.v), n = p->has_chains ? e->row_first[row + 1] - e->row_first[row] : 0;
	const u32 *list = n ? e->row_nodes + e->row_first[row] : NULL;
	struct grow g = { .p = p, .e = e, .o = o, .arena = &room->arena, .row = row };
	struct graph_node *root;
	struct items items = { 0 };
	bool groups;
	u64 total = o->samples ? r->total_samples : r->total, self = o->samples ? r->samples : r->self;

	if (!n || MAX(total, self) < o->min_weight)
		return NULL;
	groups = !e->tree.nodes.v[list[0]].parent;
	if (!room->through)
		room->through = mem_zalloc(e->tree.nodes.n * sizeof(u64));
	g.through = room->through;
	arena_free(&room->arena);
	root = arena_new(&room->arena, struct graph_node);
	*root = (struct graph_node){ .frame = ID_NONE, .total = p->children ? total : self };
	if (groups)
		for (u32 i = 0; i < n; i++)
			kids_of(&g, &(struct item){ .node = list[i] }, 1, &items);
	else if (o->caller)
		start_callers(&g, list, n, &items);
	else
		start_callees(&g, list, n, &items);
	grow_kids(&g, root, &items, 1);
	branch_notes_graph(p, e, r, o->caller || groups, &room->arena, root);
	clear_through(&g, list, n);
	return root->nr_kids ? root : NULL;
}

void graph_room_free(struct graph_room *room)
{
	arena_free(&room->arena);
	free(room->through);
	*room = (struct graph_room){ 0 };
}
