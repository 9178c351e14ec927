/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inlined calls, after the samples are in.
 *
 * While samples come in, frames of code with line information keep their address (resolver_opts.by_address). When the
 * workers' trees are merged, such a frame becomes its function and, below it, one frame per call that was inlined at
 * that address; frames of the same function at other addresses are merged with it. DWARF is slow, so it is asked once
 * per address, and only for addresses with at least one part in MIN_SHARE of an event's weight, because lighter ones
 * are not visible anywhere. A DSO's DWARF serves one thread at a time: each DSO is a work unit.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/inline.h"
#include "base/pool.h"

#define MIN_SHARE 20000
#define MAX_INLINED 32

/* A frame that is worth asking DWARF for, and what was inlined there: innermost first, without the function itself. */
struct heavy {
	u32 frame, dso, n;
	const char **inlined;
};

struct expander {
	struct profile *p;
	u32 workers;
	struct tree_span *of;	 /* per frame id */
	VEC(struct heavy) heavy; /* by DSO, then by frame */
	VEC(u32) dso_first;	 /* in heavy, of each DSO, and the end */
	VEC(u32) frames;
};

static u32 inlined_frame(struct expander *x, const struct frame *outer, const char *name)
{
	struct frame f = { .dso = outer->dso, .level = outer->level };

	f.inlined = strtab_intern_z(x->p->strings, name);
	return frames_intern(x->p->frames, &f);
}

static bool by_address(const struct frame *f)
{
	return f->sym != ID_NONE && f->addr;
}

static void ask_dso(void *ctx, u32 worker, u32 unit)
{
	struct expander *x = ctx;
	struct source_frame at[MAX_INLINED];

	u32 first = x->dso_first.v[unit], nr = x->dso_first.v[unit + 1] - first;
	u64 *addrs = mem_realloc(NULL, nr, sizeof(*addrs));

	(void)worker;
	for (u32 i = 0; i < nr; i++)
		addrs[i] = frames_get(x->p->frames, x->heavy.v[first + i].frame)->addr;
	dsos_source_ahead(x->p->dsos, x->heavy.v[first].dso, addrs, nr);
	free(addrs);
	for (u32 i = first; i < first + nr; i++) {
		struct heavy *h = &x->heavy.v[i];
		u32 n = dsos_source_at(x->p->dsos, h->dso, frames_get(x->p->frames, h->frame)->addr, at, MAX_INLINED);

		if (n < 2)
			continue; /* at[n - 1] is the function itself */
		h->n = n - 1;
		h->inlined = mem_realloc(NULL, h->n, sizeof(*h->inlined));
		for (u32 k = 0; k < h->n; k++)
			h->inlined[k] = at[k].function;
	}
}

/* h: what is known of the calls at that address, or NULL. */
static void expand(struct expander *x, u32 id, const struct heavy *h)
{
	struct frame f = *frames_get(x->p->frames, id), function = f;

	x->of[id].first = (u32)x->frames.n;
	function.addr = 0;
	vec_push(&x->frames, by_address(&f) ? frames_intern(x->p->frames, &function) : id);
	for (u32 i = h ? h->n : 0; i-- > 0;)
		vec_push(&x->frames, inlined_frame(x, &f, h->inlined[i]));
	x->of[id].n = (u32)x->frames.n - x->of[id].first;
}

struct weighing {
	struct collected *const *parts;
	u32 event;
	u64 **weights; /* by worker, per frame id */
};

static void weigh_part(void *ctx, u32 worker, u32 unit)
{
	const struct weighing *w = ctx;
	struct tree_builder *tree = &w->parts[unit]->trees[w->event];

	tree_settle(tree);
	tree_weigh_frames(tree, w->weights[worker]);
}

/* Marks the frames that carry enough of an event: not 0. */
static void weigh(struct expander *x, struct collected *const *parts, u32 nr_parts, u32 event, u32 *heavy, u32 n)
{
	struct weighing w = { parts, event, mem_zalloc(x->workers * sizeof(*w.weights)) };
	u64 whole = 0;

	for (u32 i = 0; i < x->workers; i++)
		w.weights[i] = mem_zalloc(n * sizeof(u64));
	for (u32 i = 0; i < nr_parts; i++)
		whole += parts[i]->weights[event];
	pool_run(x->workers, nr_parts, weigh_part, &w);
	for (u32 i = 0; i < n; i++) {
		u64 weight = 0;

		for (u32 k = 0; k < x->workers; k++)
			weight += w.weights[k][i];
		heavy[i] |= weight && weight >= whole / MIN_SHARE && by_address(frames_get(x->p->frames, i));
	}
	for (u32 i = 0; i < x->workers; i++)
		free(w.weights[i]);
	free(w.weights);
}

static int by_dso(const void *va, const void *vb)
{
	const struct heavy *a = va, *b = vb;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* What was marked becomes, per frame, 1 + where it stands in the list. */
static void list_heavy(struct expander *x, u32 *heavy, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (heavy[i])
			vec_push(&x->heavy, (struct heavy){ .frame = i, .dso = frames_get(x->p->frames, i)->dso });
	if (x->heavy.n)
		qsort(x->heavy.v, x->heavy.n, sizeof(*x->heavy.v), by_dso);
	for (size_t i = 0; i < x->heavy.n; i++) {
		heavy[x->heavy.v[i].frame] = (u32)i + 1;
		if (!i || x->heavy.v[i].dso != x->heavy.v[i - 1].dso)
			vec_push(&x->dso_first, (u32)i);
	}
	vec_push(&x->dso_first, (u32)x->heavy.n);
}

static bool any_by_address(const struct frames *frames, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (by_address(frames_get(frames, i)))
			return true;
	return false;
}

bool inlined_resolve(struct profile *p, struct collected *const *parts, u32 nr_parts, u32 workers,
		     struct tree_rename *out)
{
	u32 n = frames_count(p->frames);
	struct expander x = { .p = p, .workers = workers };
	u32 *heavy;

	p->first_inlined = n;
	if (!any_by_address(p->frames, n))
		return false;
	heavy = mem_zalloc(n * sizeof(*heavy));
	for (u32 i = 0; i < p->evlist->events.n; i++)
		weigh(&x, parts, nr_parts, i, heavy, n);
	list_heavy(&x, heavy, n);
	for (size_t i = 0; i < x.heavy.n; i++)
		dsos_start_parser_for(p->dsos, x.heavy.v[i].dso, frames_get(p->frames, x.heavy.v[i].frame)->addr);
	dsos_keep_begin(p->dsos);
	pool_run(workers, (u32)x.dso_first.n - 1, ask_dso, &x);
	x.of = mem_zalloc(n * sizeof(*x.of));
	for (u32 i = 0; i < n; i++)
		expand(&x, i, heavy[i] ? &x.heavy.v[heavy[i] - 1] : NULL);
	dsos_drop_lines(p->dsos);
	for (size_t i = 0; i < x.heavy.n; i++)
		free(x.heavy.v[i].inlined);
	vec_free(&x.heavy);
	vec_free(&x.dso_first);
	free(heavy);
	*out = (struct tree_rename){ x.frames.v, x.of };
	return true;
}

void inlined_free(struct tree_rename *r)
{
	free((void *)r->frames);
	free((void *)r->of);
}
