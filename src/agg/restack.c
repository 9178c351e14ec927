/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parent's node comes before its children's, so one forward loop finds for each node where its samples go: to which
 * node of their stack and, if parents are asked for, to the group of which parent. Stacks are then rebuilt; the new
 * node for each node and parent is remembered, so that stacks share their beginnings as before.
 */
#include "agg/restack.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Of a node. */
struct fate {
	u32 parent; /* string id of the parent's name; 0: none */
	u32 end;    /* the node that has its samples */
	bool cut;   /* some frame from the outermost to this one matches */
};

enum { UNKNOWN, MATCHES, MATCHES_NOT };

struct work {
	struct profile *p;
	struct profile_event *e;
	const struct restack *r;
	u8 *ignored;	    /* per frame: what the regex said */
	u32 *parents;	    /* per frame: string id, 0 when it does not match; ID_NONE: not asked yet */
	struct fate *fates; /* per node */
	struct map made;    /* node of the old tree << 32 | parent -> node of the new one */
	struct tree_builder b;
	VEC(u32) path;
};

static const char *function_name(const struct work *w, u32 frame)
{
	const struct frame *f = frames_get(w->p->frames, frame);

	return f->sym == ID_NONE || f->inlined ? NULL : profile_frame_name(w->p, frame, NULL, 0);
}

static bool is_ignored(struct work *w, u32 frame)
{
	u8 *said = &w->ignored[frame];

	if (*said == UNKNOWN) {
		const char *name = w->r->ignore_callees ? function_name(w, frame) : NULL;

		*said = name && !regexec(w->r->ignore_callees, name, 0, NULL, 0) ? MATCHES : MATCHES_NOT;
	}
	return *said == MATCHES;
}

static u32 parent_name(struct work *w, u32 frame)
{
	u32 *id = &w->parents[frame];

	if (*id == ID_NONE) {
		const char *name = w->r->parent ? function_name(w, frame) : NULL;

		*id = name && !regexec(w->r->parent, name, 0, NULL, 0) ? strtab_intern_z(w->p->strings, name) : 0;
	}
	return *id;
}

/* Calls that were inlined in a function that ends its stacks are a part of it. */
static void decide(struct work *w, u32 node)
{
	const struct tree_node *n = &w->e->tree.nodes.v[node];
	const struct fate *above = &w->fates[n->parent];
	struct fate *f = &w->fates[node];
	u32 parent;

	*f = (struct fate){ .parent = above->parent, .end = node, .cut = above->cut };
	if (above->cut) {
		bool inlined = above->end == n->parent && frames_get(w->p->frames, n->frame)->inlined;

		f->end = inlined ? node : above->end;
	} else {
		f->cut = is_ignored(w, n->frame);
	}
	if (above->parent && w->r->outermost)
		return;
	parent = parent_name(w, n->frame);
	f->parent = parent ? parent : f->parent;
}

static u64 made_key(u32 node, u32 parent)
{
	return (u64)node << 32 | parent;
}

/* The new tree's node for one of the old tree, of the stacks with that parent. */
static u32 new_node(struct work *w, u32 node, u32 parent)
{
	const struct tree_node *nodes = w->e->tree.nodes.v;
	u32 at;

	w->path.n = 0;
	while ((at = map_get(&w->made, made_key(node, parent))) == ID_NONE && nodes[node].parent) {
		vec_push(&w->path, node);
		node = nodes[node].parent;
	}
	if (at == ID_NONE) {
		u64 words[MAX_KEYS + 1];

		memcpy(words, tree_group_at(&w->e->tree, nodes[node].frame), w->e->tree.group_words * sizeof(*words));
		if (w->r->parent)
			words[w->p->word_of[SORT_PARENT]] = parent;
		at = tree_group(&w->b, words, w->e->tree.group_words);
		map_set(&w->made, made_key(node, parent), at);
	}
	while (w->path.n) {
		node = w->path.v[--w->path.n];
		at = tree_kid(&w->b, at, nodes[node].frame);
		map_set(&w->made, made_key(node, parent), at);
	}
	return at;
}

static void move_samples(struct work *w, u32 node)
{
	const struct tree_node *nodes = w->e->tree.nodes.v;
	const struct fate *f = &w->fates[node];
	u32 above;

	if (!nodes[node].samples && !nodes[node].self)
		return;
	above = new_node(w, nodes[f->end].parent, f->parent);
	tree_add(&w->b, above, nodes[f->end].frame, nodes[node].self, nodes[node].samples);
}

void profile_restack(struct profile *p, struct profile_event *e, const struct restack *r)
{
	struct work w = { .p = p, .e = e, .r = r };
	const struct tree_node *nodes = e->tree.nodes.v;
	size_t nr_frames = frames_count(p->frames);

	if (!restack_used(r) || !e->tree.nodes.n)
		return;
	w.ignored = mem_zalloc(nr_frames + 1);
	w.parents = mem_alloc((nr_frames + 1) * sizeof(*w.parents));
	for (size_t i = 0; i < nr_frames; i++)
		w.parents[i] = ID_NONE;
	w.fates = mem_zalloc(e->tree.nodes.n * sizeof(*w.fates));
	/* The root's children are groups. */
	for (u32 i = 1; i < e->tree.nodes.n; i++)
		if (nodes[i].parent)
			decide(&w, i);
	for (u32 i = 1; i < e->tree.nodes.n; i++)
		if (nodes[i].parent)
			move_samples(&w, i);
	tree_free(&e->tree);
	tree_finish(&w.b, &e->tree);
	tree_builder_free(&w.b);
	map_free(&w.made);
	vec_free(&w.path);
	free(w.ignored);
	free(w.parents);
	free(w.fates);
}
