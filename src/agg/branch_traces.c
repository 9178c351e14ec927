/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/branch_traces.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/place.h"
#include "base/hash.h"

static void view_thread(struct branch_traces *t, const struct hit *h)
{
	const struct thread_view *v = &t->thread;

	if (!v->until || v->pid != h->s.pid || v->tid != h->s.tid || h->clock < v->from || h->clock >= v->until)
		procs_thread_at(t->procs, h->s.pid, h->s.tid, h->clock, &t->thread);
}

static void count(struct branch_traces *t, struct branch_trace what)
{
	u64 hash = hash_finish(hash_mix(hash_mix(hash_mix(what.dso, what.kind), what.from), what.to));
	u32 id, at;

	SET_FIND(id, &t->index, hash, at,
		 t->v.v[id].from == what.from && t->v.v[id].to == what.to && t->v.v[id].dso == what.dso &&
			 t->v.v[id].kind == what.kind);
	if (id == ID_NONE) {
		id = (u32)t->v.n;
		vec_push(&t->v, what);
		set_add(&t->index, hash, id);
		return;
	}
	t->v.v[id].count++;
	t->v.v[id].mispredicted += what.mispredicted;
}

static u64 address(const struct place *p, u32 dso)
{
	return p->dso == dso ? p->addr : TRACE_OUTSIDE;
}

/* To the binary that it is in, or both that it connects. */
static void count_branch(struct branch_traces *t, const struct place *from, const struct place *to, bool mispredicted)
{
	struct branch_trace what = { .kind = TRACE_BRANCH, .count = 1, .mispredicted = mispredicted };

	for (u32 i = 0; i < 2; i++) {
		what.dso = i ? to->dso : from->dso;
		what.from = address(from, what.dso);
		what.to = address(to, what.dso);
		if (what.dso && (!i || from->dso != to->dso))
			count(t, what);
	}
}

static bool in_one(const struct place *a, const struct place *b)
{
	return a->dso == b->dso && a->sym == b->sym && a->sym != ID_NONE;
}

/* From where a branch, taken at `by`, led to until the next one. */
static void count_through(struct branch_traces *t, const struct place *by, const struct place *from,
			  const struct place *to)
{
	struct branch_trace what = { .dso = from->dso, .from = from->addr, .to = to->addr, .count = 1 };

	what.kind = in_one(by, from) ? TRACE_THROUGH : TRACE_THROUGH_ENTRY;
	if (in_one(from, to) && from->addr <= to->addr)
		count(t, what);
}

void branch_traces_add(struct branch_traces *t, const struct hit *h)
{
	const struct sample *s = h->full;
	struct place newer = { .sym = ID_NONE }; /* where the branch behind this one was taken */

	view_thread(t, h);
	t->samples++;
	for (u32 i = 0; i < s->nr_branches; i++) {
		struct branch_entry b = sample_branch(s, i);
		struct place from, to;

		place_find(t->dsos, &t->thread, place_mode(&t->thread, b.from), b.from, &from);
		place_find(t->dsos, &t->thread, place_mode(&t->thread, b.to), b.to, &to);
		if (i)
			count_through(t, &from, &to, &newer);
		count_branch(t, &from, &to, b.flags & 1);
		newer = from;
	}
}

static int compare(const void *a, const void *b)
{
	const struct branch_trace *x = a, *y = b;

	if (x->dso != y->dso)
		return x->dso < y->dso ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

void branch_traces_sort(struct branch_traces *t)
{
	if (t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), compare);
}

void branch_traces_free(struct branch_traces *t)
{
	set_free(&t->index);
	vec_free(&t->v);
}
