/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inlined calls, after the samples are in.
 *
 * While samples come in, frames of code with line information keep their address (resolver_opts.by_address). Here the finished tree
 * is built anew: such a frame becomes its function and, below it, one frame per call that was inlined at that address; the same
 * function at another address falls together with it. DWARF is slow, so it is asked once per address, and only for
 * addresses that carry at least one part in MIN_SHARE of an event's weight: what is lighter than that shows nowhere.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/profile.h"

#define MIN_SHARE 20000
#define MAX_INLINED 32

/* What a frame becomes: frames[first .. first + n), outermost first. */
struct expansion {
	u32 first, n; /* n 0: not known yet */
	bool heavy;   /* worth asking DWARF for */
};

struct expander {
	struct profile *p;
	struct expansion *of; /* per frame id */
	VEC(u32) frames;
};

static u32 inlined_frame(struct expander *x, const struct frame *outer, const char *name)
{
	struct frame f = { .dso = outer->dso, .level = outer->level };

	f.inlined = strtab_intern_z(x->p->strings, name);
	return frames_intern(x->p->frames, &f);
}

static const struct expansion *expand(struct expander *x, u32 id)
{
	struct expansion *out = &x->of[id];
	struct frame f = *frames_get(x->p->frames, id), function = f;
	struct source_frame at[MAX_INLINED];
	u32 n = 0;

	if (out->n)
		return out;
	out->first = (u32)x->frames.n;
	if (f.sym == ID_NONE || !f.addr) {
		vec_push(&x->frames, id);
		out->n = 1;
		return out;
	}
	function.addr = 0;
	vec_push(&x->frames, frames_intern(x->p->frames, &function));
	if (out->heavy)
		n = dsos_source_at(x->p->dsos, f.dso, f.addr, at, MAX_INLINED);
	/* at[n - 1] is the function itself. */
	for (u32 i = n; i-- > 1;)
		vec_push(&x->frames, inlined_frame(x, &f, at[i - 1].function));
	out->n = (u32)x->frames.n - out->first;
	return out;
}

/* Marks the frames that carry enough of the event. */
static void weigh(struct expander *x, const struct profile_event *e, u64 *weight, u32 n)
{
	const struct tree *t = &e->tree;

	memset(weight, 0, n * sizeof(*weight));
	for (size_t i = 1; i < t->nodes.n; i++)
		if (t->nodes.v[i].parent)
			weight[t->nodes.v[i].frame] += t->nodes.v[i].total;
	for (u32 i = 0; i < n; i++)
		x->of[i].heavy |= weight[i] && weight[i] >= e->weight / MIN_SHARE;
}

#define AHEAD 16

/* Brings in what a later node will touch; its parent has nearly always been through. */
static void prefetch_node(const struct expander *x, const struct tree *t, const struct tree_builder *to, const u32 *at,
			  size_t i)
{
	const struct tree_node *n;
	const struct expansion *e;

	if (i + AHEAD >= t->nodes.n)
		return;
	n = &t->nodes.v[i + AHEAD];
	e = n->parent && n->parent < i ? &x->of[n->frame] : NULL;
	if (e && e->n == 1)
		tree_prefetch(to, at[n->parent], x->frames.v[e->first]);
}

static void rebuild(struct expander *x, const struct tree *t, struct tree_builder *to)
{
	u32 *at = mem_realloc(NULL, t->nodes.n + 1, sizeof(*at));

	at[0] = 0;
	for (size_t i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		const struct expansion *e;
		u32 node;

		prefetch_node(x, t, to, at, i);
		if (!n->parent) {
			at[i] = tree_group(to, &t->groups.v[n->frame]);
			continue;
		}
		node = at[n->parent];
		e = expand(x, n->frame);
		for (u32 k = 0; k + 1 < e->n; k++)
			node = tree_kid(to, node, x->frames.v[e->first + k]);
		at[i] = tree_add(to, node, x->frames.v[e->first + e->n - 1], n->self, n->samples);
	}
	free(at);
}

static bool any_by_address(const struct frames *frames, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		const struct frame *f = frames_get(frames, i);

		if (f->sym != ID_NONE && f->addr)
			return true;
	}
	return false;
}

static void rebuild_event(struct expander *x, struct profile_event *e)
{
	struct tree_builder to = { 0 };

	tree_reserve(&to, e->tree.nodes.n);
	rebuild(x, &e->tree, &to);
	tree_free(&e->tree);
	tree_finish(&to, &e->tree);
}

void profile_expand_inlined(struct profile *p)
{
	u32 n = frames_count(p->frames);
	struct expander x = { .p = p };
	u64 *weight;

	p->first_inlined = n;
	if (!any_by_address(p->frames, n))
		return;
	x.of = mem_zalloc(n * sizeof(*x.of));
	weight = mem_alloc(n * sizeof(*weight));
	for (size_t i = 0; i < p->events.n; i++)
		weigh(&x, &p->events.v[i], weight, n);
	free(weight);
	for (u32 i = 0; i < n; i++)
		expand(&x, i);
	dsos_drop_lines(p->dsos); /* before memory is needed for a second tree */
	for (size_t i = 0; i < p->events.n; i++)
		rebuild_event(&x, &p->events.v[i]);
	free(x.of);
	vec_free(&x.frames);
}
