/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/branch_traces.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/place.h"
#include "base/hash.h"
#include "codec/branch_flags.h"

static bool same_maps(const struct maps *a, const struct maps *b)
{
	return a->space == b->space && a->n == b->n;
}

/* Branches of one place are equal where the same was mapped, whatever the thread. */
static u32 mapped_now(struct branch_traces *t)
{
	const struct mapped now = { t->thread.maps, t->thread.kernel };
	u64 hash = hash_pair(hash_pair((uintptr_t)now.maps.space, now.maps.n),
			     hash_pair((uintptr_t)now.kernel.space, now.kernel.n));
	u32 id, at;

	SET_FIND(id, &t->mapped_ids, hash, at,
		 same_maps(&t->all_mapped.v[id].maps, &now.maps) &&
			 same_maps(&t->all_mapped.v[id].kernel, &now.kernel));
	if (id == ID_NONE) {
		id = (u32)t->all_mapped.n;
		vec_push(&t->all_mapped, now);
		set_add(&t->mapped_ids, hash, id);
	}
	return id;
}

static void view_thread(struct branch_traces *t, const struct hit *h)
{
	const struct thread_view *v = &t->thread;

	if (v->until && v->pid == h->s.pid && v->tid == h->s.tid && h->clock >= v->from && h->clock < v->until)
		return;
	procs_thread_at(t->procs, h->s.pid, h->s.tid, h->clock, &t->thread);
	t->mapped = mapped_now(t);
}

#define KNOWN 4096u

/* A branch, and with what was mapped where it stood. Programs take the same ones again and again, so what is read each
 * time is small, and lies together. */
struct known_branch {
	u64 from, to;  /* as recorded */
	u32 mapped_1;  /* mapped + 1; 0: the slot is empty */
	u32 traces[2]; /* ID_NONE: none */
	/* The code that ran from here to that branch (the address where it was taken; 0: none was seen). */
	u32 through;
	u64 next;
};

struct known_places {
	struct place from, to;
};

/* Slots of one number belong together. */
struct known_branches {
	struct known_branch v[KNOWN];
	struct known_places places[KNOWN];
};

/* Which of t->v it is; added when new. */
static u32 trace_of(struct branch_traces *t, const struct branch_trace *what)
{
	u64 hash = hash_finish(hash_mix(hash_mix(hash_mix(what->dso, what->kind), what->from), what->to));
	u32 id, at;

	SET_FIND(id, &t->index, hash, at,
		 t->v.v[id].from == what->from && t->v.v[id].to == what->to && t->v.v[id].dso == what->dso &&
			 t->v.v[id].kind == what->kind);
	if (id == ID_NONE) {
		id = (u32)t->v.n;
		vec_push(&t->v, *what);
		set_add(&t->index, hash, id);
	}
	return id;
}

static u64 address(const struct place *p, u32 dso)
{
	return p->dso == dso ? p->addr : TRACE_OUTSIDE;
}

/* It belongs to the binary that it is in, or to both that it connects. */
static void find_traces(struct branch_traces *t, const struct known_places *at, struct known_branch *k)
{
	const struct place *from = &at->from, *to = &at->to;
	struct branch_trace what = { .kind = TRACE_BRANCH };

	for (u32 i = 0; i < 2; i++) {
		what.dso = i ? to->dso : from->dso;
		what.from = address(from, what.dso);
		what.to = address(to, what.dso);
		k->traces[i] = what.dso && (!i || from->dso != to->dso) ? trace_of(t, &what) : ID_NONE;
	}
}

static bool in_one(const struct place *a, const struct place *b)
{
	return a->dso == b->dso && a->sym == b->sym && a->sym != ID_NONE;
}

/* From where a branch, taken at `by`, led to until the next one. */
static u32 find_through(struct branch_traces *t, const struct place *by, const struct place *from,
			const struct place *to)
{
	struct branch_trace what = { .dso = from->dso, .from = from->addr, .to = to->addr };

	what.kind = in_one(by, from) ? TRACE_THROUGH : TRACE_THROUGH_ENTRY;
	return in_one(from, to) && from->addr <= to->addr ? trace_of(t, &what) : ID_NONE;
}

/* -> its slot. What is there of another branch is replaced: *newer, if it is that, is moved to `spare` before. */
static u32 known_of(struct branch_traces *t, const struct branch_entry *b, const struct place **newer,
		    struct place *spare)
{
	/* Not hash_mix: most branches are short, so many pairs have the same exclusive-or. */
	u32 slot = (u32)(hash_finish(b->from * 0x9e3779b97f4a7c15u + b->to) % KNOWN);
	struct known_branch *k = &t->known->v[slot];
	struct known_places *at = &t->known->places[slot];

	if (k->from == b->from && k->to == b->to && k->mapped_1 == t->mapped + 1)
		return slot;
	if (*newer == &at->from) {
		*spare = at->from;
		*newer = spare;
	}
	*k = (struct known_branch){ .from = b->from, .to = b->to, .mapped_1 = t->mapped + 1 };
	place_find(t->dsos, &t->thread, place_mode(&t->thread, b->from), b->from, &at->from);
	place_find(t->dsos, &t->thread, place_mode(&t->thread, b->to), b->to, &at->to);
	find_traces(t, at, k);
	return slot;
}

static void count(struct branch_traces *t, u32 trace, bool mispredicted, u32 cycles)
{
	struct branch_trace *b = &t->v.v[trace];

	b->count++;
	b->mispredicted += mispredicted;
	b->cycles += cycles;
	b->timed += cycles > 0;
	b->samples += b->last != t->samples;
	b->last = t->samples;
}

void branch_traces_add(struct branch_traces *t, const struct hit *h)
{
	const struct sample *s = h->full;
	const struct place *newer = NULL; /* where the branch behind this one was taken */
	struct place spare;
	u64 next = 0;
	u32 cycles = 0; /* until then, from here on */

	if (!s->nr_branches)
		return;
	if (!t->known)
		t->known = mem_zalloc(sizeof(*t->known));
	view_thread(t, h);
	t->samples++;
	for (u32 i = 0; i < s->nr_branches; i++) {
		const struct branch_entry b = sample_branch(s, i);
		u32 slot = known_of(t, &b, &newer, &spare);
		struct known_branch *k = &t->known->v[slot];
		const struct known_places *at = &t->known->places[slot];

		if (i && (!next || k->next != next)) {
			k->next = next;
			k->through = find_through(t, &at->from, &at->to, newer);
		}
		if (i && k->through != ID_NONE)
			count(t, k->through, false, cycles);
		for (u32 j = 0; j < 2; j++)
			if (k->traces[j] != ID_NONE)
				count(t, k->traces[j], branch_missed(b.flags), 0);
		newer = &at->from;
		next = b.from;
		cycles = branch_cycles(b.flags);
		t->cycles += cycles;
	}
}

void branch_traces_merge(struct branch_traces *t, struct branch_traces *from)
{
	for (size_t i = 0; i < from->v.n; i++) {
		const struct branch_trace *x = &from->v.v[i];
		size_t had = t->v.n;
		u32 id = trace_of(t, x); /* new ones are copied */
		struct branch_trace *to = &t->v.v[id];

		if (t->v.n > had)
			continue;
		to->count += x->count;
		to->mispredicted += x->mispredicted;
		to->samples += x->samples;
		to->cycles += x->cycles;
		to->timed += x->timed;
	}
	t->samples += from->samples;
	t->filtered += from->filtered;
	t->cycles += from->cycles;
	branch_traces_free(from);
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
	free(t->known);
	set_free(&t->mapped_ids);
	vec_free(&t->all_mapped);
	set_free(&t->index);
	vec_free(&t->v);
}
