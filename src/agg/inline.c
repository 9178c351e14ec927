/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inlined calls, after the samples are in.
 *
 * While samples come in, frames of code with line information keep their address (resolver_opts.by_address). When the
 * workers' trees are merged, such a frame becomes its function and, below it, one frame per call that was inlined at that
 * address; the same function at another address falls together with it. DWARF is slow, so it is asked once per address,
 * and only for addresses that carry at least one part in MIN_SHARE of an event's weight: what is lighter than that shows
 * nowhere.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/inline.h"

#define MIN_SHARE 20000
#define MAX_INLINED 32

struct expander {
	struct profile *p;
	struct tree_span *of; /* per frame id */
	bool *heavy;	      /* per frame id: worth asking DWARF for */
	VEC(u32) frames;
};

static u32 inlined_frame(struct expander *x, const struct frame *outer, const char *name)
{
	struct frame f = { .dso = outer->dso, .level = outer->level };

	f.inlined = strtab_intern_z(x->p->strings, name);
	return frames_intern(x->p->frames, &f);
}

static void expand(struct expander *x, u32 id)
{
	struct frame f = *frames_get(x->p->frames, id), function = f;
	struct source_frame at[MAX_INLINED];
	u32 n = 0;

	x->of[id].first = (u32)x->frames.n;
	if (f.sym == ID_NONE || !f.addr) {
		vec_push(&x->frames, id);
		x->of[id].n = 1;
		return;
	}
	function.addr = 0;
	vec_push(&x->frames, frames_intern(x->p->frames, &function));
	if (x->heavy[id])
		n = dsos_source_at(x->p->dsos, f.dso, f.addr, at, MAX_INLINED);
	/* at[n - 1] is the function itself. */
	for (u32 i = n; i-- > 1;)
		vec_push(&x->frames, inlined_frame(x, &f, at[i - 1].function));
	x->of[id].n = (u32)x->frames.n - x->of[id].first;
}

/* Marks the frames that carry enough of an event. */
static void weigh(struct expander *x, struct collected *const *parts, u32 nr_parts, u32 event, u32 n)
{
	u64 *weight = mem_zalloc(n * sizeof(*weight)), whole = 0;

	for (u32 i = 0; i < nr_parts; i++) {
		tree_weigh_frames(&parts[i]->trees[event], weight);
		whole += parts[i]->weights[event];
	}
	for (u32 i = 0; i < n; i++)
		x->heavy[i] |= weight[i] && weight[i] >= whole / MIN_SHARE;
	free(weight);
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

bool inlined_resolve(struct profile *p, struct collected *const *parts, u32 nr_parts, struct tree_rename *out)
{
	u32 n = frames_count(p->frames);
	struct expander x = { .p = p };

	p->first_inlined = n;
	if (!any_by_address(p->frames, n))
		return false;
	for (u32 i = 0; i < nr_parts; i++)
		for (u32 k = 0; k < p->evlist->events.n; k++)
			tree_settle(&parts[i]->trees[k]);
	x.of = mem_zalloc(n * sizeof(*x.of));
	x.heavy = mem_zalloc(n * sizeof(*x.heavy));
	for (u32 i = 0; i < p->evlist->events.n; i++)
		weigh(&x, parts, nr_parts, i, n);
	for (u32 i = 0; i < n; i++)
		expand(&x, i);
	dsos_drop_lines(p->dsos);
	free(x.heavy);
	*out = (struct tree_rename){ x.frames.v, x.of };
	return true;
}

void inlined_free(struct tree_rename *r)
{
	free((void *)r->frames);
	free((void *)r->of);
}
