/* SPDX-License-Identifier: Apache-2.0 */
/* Filters on code: of a frame, and of the samples in a tree. */
#include <stdlib.h>

#include "agg/profile.h"
#include "base/mem.h"

bool profile_keeps_frame(const struct profile *p, const struct place_filter *f, u32 frame)
{
	const struct frame *of = frames_get(p->frames, frame);
	char buf[PROFILE_MADE_UP];
	const char *name = place_filter_names(f) ? profile_frame_name(p, frame, buf, sizeof(buf)) : NULL;

	return place_filter_keeps(f, dsos_at(p->dsos, of->dso), of->sym != ID_NONE, name);
}

struct work {
	const struct profile *p;
	const struct place_filter *f;
	const struct tree *from;
	struct tree_builder to;
	bool *kept, *needed; /* by node: its own samples stay; those of some node at or below it do */
	u32 *moved;	     /* by node: the new one */
};

static bool has_samples(const struct tree_node *n)
{
	return n->samples || n->self;
}

/* A sample in an inlined call lies in the function around it, which comes first in the tree. */
static void choose(struct work *w)
{
	const struct tree_node *nodes = w->from->nodes.v;

	for (u32 i = 1; i < w->from->nodes.n; i++) {
		if (!nodes[i].parent)
			continue;
		w->kept[i] = frames_get(w->p->frames, nodes[i].frame)->inlined ?
				     w->kept[nodes[i].parent] :
				     profile_keeps_frame(w->p, w->f, nodes[i].frame);
		w->needed[i] = w->kept[i] && has_samples(&nodes[i]);
	}
	for (u32 i = (u32)w->from->nodes.n - 1; i > 0; i--)
		w->needed[nodes[i].parent] |= w->needed[i];
}

static void move(struct work *w)
{
	const struct tree_node *nodes = w->from->nodes.v;

	for (u32 i = 1; i < w->from->nodes.n; i++) {
		const struct tree_node *n = &nodes[i];

		if (!w->needed[i])
			continue;
		if (!n->parent)
			w->moved[i] = tree_group(&w->to, tree_group_at(w->from, n->frame), w->from->group_words);
		else if (w->kept[i] && has_samples(n))
			w->moved[i] = tree_add(&w->to, w->moved[n->parent], n->frame, n->self, n->samples);
		else
			w->moved[i] = tree_kid(&w->to, w->moved[n->parent], n->frame);
	}
}

/* -> are there any? */
static bool keep_of_event(const struct profile *p, struct profile_event *e, const struct place_filter *f)
{
	size_t n = e->tree.nodes.n;
	struct work w = { .p = p, .f = f, .from = &e->tree };
	bool any;

	if (!n)
		return false;
	w.kept = mem_zalloc(n);
	w.needed = mem_zalloc(n);
	w.moved = mem_zalloc(n * sizeof(*w.moved));
	choose(&w);
	any = w.needed[0];
	if (any)
		move(&w);
	tree_free(&e->tree);
	tree_finish(&w.to, &e->tree);
	tree_builder_free(&w.to);
	free(w.kept);
	free(w.needed);
	free(w.moved);
	return any;
}

void profile_keep_places(struct profile *p, const struct place_filter *f)
{
	size_t n = 0;

	if (!place_filter_used(f))
		return;
	for (size_t i = 0; i < p->events.n; i++) {
		struct profile_event *e = &p->events.v[i];
		bool any = keep_of_event(p, e, f);

		e->weight = any ? e->tree.nodes.v[0].total : 0;
		e->samples = any ? e->tree.nodes.v[0].total_samples : 0;
		if (any)
			p->events.v[n++] = *e;
		else
			profile_event_free(p, e);
	}
	p->events.n = n;
}
