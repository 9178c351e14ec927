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

#define KNOWN_BITS 14
#define KNOWN (1u << KNOWN_BITS)

/* Code that ran from where a branch led to until the next one. */
struct known_passage {
	u64 next;  /* where that was taken; 0: none was seen */
	u32 trace; /* ID_NONE: it is not counted */
};

/*
 * A branch, and with what was mapped where it stood. Programs take the same ones again and again, so what is read each
 * time is small, and lies together. The first branch behind it is mostly one of two: a conditional one that stands
 * there, or what is reached when that is not taken.
 */
struct known_branch {
	u64 from, to; /* as recorded */
	struct known_passage passages[2];
	u32 mapped_1; /* mapped + 1; 0: the slot is empty */
	/* Of the binary that it is in; and of another one that it leads to. ID_NONE: none. */
	u32 trace, trace_to;
};

struct known_places {
	struct place from, to;
};

/* Slots of one number belong together; the place behind the last slot is that of a branch which lost its slot to the
 * one before it in the same sample. */
struct known_branches {
	struct known_branch v[KNOWN];
	struct known_places places[KNOWN + 1];
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

static u32 branch_trace_in(struct branch_traces *t, const struct known_places *at, u32 dso)
{
	const struct branch_trace what = {
		.kind = TRACE_BRANCH, .dso = dso, .from = address(&at->from, dso), .to = address(&at->to, dso)
	};

	return dso ? trace_of(t, &what) : ID_NONE;
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

/* Reads the branch into its slot, instead of what is there. It belongs to the binary that it is in, or to both that it
 * connects. */
static __attribute__((noinline)) void learn(struct branch_traces *t, u32 slot, u64 from, u64 to)
{
	struct known_branch *k = &t->known->v[slot];
	struct known_places *at = &t->known->places[slot];

	*k = (struct known_branch){ .from = from, .to = to, .mapped_1 = t->mapped + 1, .trace_to = ID_NONE };
	place_find(t->dsos, &t->thread, place_mode(&t->thread, from), from, &at->from);
	place_find(t->dsos, &t->thread, place_mode(&t->thread, to), to, &at->to);
	k->trace = branch_trace_in(t, at, at->from.dso);
	if (at->to.dso != at->from.dso)
		k->trace_to = branch_trace_in(t, at, at->to.dso);
}

/* -> its slot. `newer` is the one of the branch behind it, whose place is moved when it loses its slot. */
static u32 known_of(struct branch_traces *t, u64 from, u64 to, u32 *newer)
{
	/* Not hash_mix: most branches are short, so many pairs have the same exclusive-or. Whoever makes branches that
	 * share a slot only makes them slow, so that a product is enough. */
	u64 hash = (from * 0x9e3779b97f4a7c15u + to) * 0xbf58476d1ce4e5b9u;
	u32 slot = (u32)(hash >> (64 - KNOWN_BITS));
	const struct known_branch *k = &t->known->v[slot];

	if (k->from == from && k->to == to && k->mapped_1 == t->mapped + 1)
		return slot;
	if (*newer == slot) {
		t->known->places[KNOWN] = t->known->places[slot];
		*newer = KNOWN;
	}
	learn(t, slot, from, to);
	return slot;
}

/* The passage takes the place of the one that came first. */
static __attribute__((noinline)) u32 learn_passage(struct branch_traces *t, u32 slot, u64 next, u32 newer)
{
	struct known_passage *p = t->known->v[slot].passages;
	const struct known_places *at = &t->known->places[slot];

	p[1] = p[0];
	p[0].next = next;
	p[0].trace = find_through(t, &at->from, &at->to, &t->known->places[newer].from);
	return p[0].trace;
}

/* -> the trace of what ran from that branch until the next one, which is in the slot `newer`. */
static u32 passage_of(struct branch_traces *t, u32 slot, u64 next, u32 newer)
{
	const struct known_passage *p = t->known->v[slot].passages;

	if (next && p[0].next == next)
		return p[0].trace;
	if (next && p[1].next == next)
		return p[1].trace;
	return learn_passage(t, slot, next, newer);
}

static struct branch_trace *count(struct branch_traces *t, u32 trace)
{
	struct branch_trace *b = &t->v.v[trace];

	b->count++;
	b->samples += b->last != t->samples;
	b->last = t->samples;
	return b;
}

void event_sums_add(struct event_sum *to, const struct event_sum *from, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		to[i].happened += from[i].happened;
		to[i].passages += from[i].passages;
		to[i].full += from[i].full;
	}
}

/* The sums of a trace, to be changed. */
static struct event_sum *events_of(struct branch_traces *t, struct branch_trace *b)
{
	u32 n = branch_traces_counted(t);

	if (!b->events) {
		b->events = (u32)(t->event_sums.n / n) + 1;
		for (u32 i = 0; i < n; i++)
			vec_push(&t->event_sums, (struct event_sum){ 0 });
	}
	return t->event_sums.v + (size_t)(b->events - 1) * n;
}

/* Counters of the event's group that a sample has. */
struct counted {
	u32 first, n;
};

static struct counted counted_of(const struct branch_traces *t, const struct hit *h)
{
	struct counted c = { 0 };

	if (!t->counters || !t->counters->width || !h->full->branch_counters.n)
		return c;
	c.first = branch_counters_of(t->counters, h->event, &c.n);
	c.n = MIN(c.first + c.n, branch_traces_counted(t)) - MIN(c.first, branch_traces_counted(t));
	return c;
}

static __attribute__((noinline)) void count_events(struct branch_traces *t, u32 trace, const struct counted *c,
						   u64 word)
{
	struct event_sum *sums = events_of(t, &t->v.v[trace]);

	for (u32 i = c->first; i < c->first + c->n; i++) {
		u64 n = branch_counter_value(t->counters, i, word);

		if (n == UINT64_MAX)
			continue;
		sums[i].happened += n;
		sums[i].passages++;
		sums[i].full += n == branch_counter_most(t->counters);
	}
}

static void count_passage(struct branch_traces *t, u32 trace, u32 cycles)
{
	struct branch_trace *b = count(t, trace);

	b->cycles += cycles;
	b->timed += cycles > 0;
}

static void count_branch(struct branch_traces *t, const struct known_branch *k, bool missed)
{
	if (k->trace != ID_NONE)
		count(t, k->trace)->mispredicted += missed;
	if (k->trace_to != ID_NONE)
		count(t, k->trace_to)->mispredicted += missed;
}

void branch_traces_add(struct branch_traces *t, const struct hit *h)
{
	const struct sample *s = h->full;
	u32 newer = KNOWN; /* the slot of the branch behind this one */
	u64 next = 0;	   /* where that was taken */
	u32 cycles = 0;	   /* until then, from here on */
	struct counted counted = counted_of(t, h);

	if (!s->nr_branches)
		return;
	if (!t->known)
		t->known = mem_zalloc(sizeof(*t->known));
	view_thread(t, h);
	t->samples++;
	for (u32 i = 0; i < s->nr_branches; i++) {
		const struct branch_entry b = sample_branch(s, i);
		u32 slot = known_of(t, b.from, b.to, &newer);
		u32 passage = i ? passage_of(t, slot, next, newer) : ID_NONE;

		if (passage != ID_NONE)
			count_passage(t, passage, cycles);
		if (passage != ID_NONE && counted.n && i <= s->branch_counters.n)
			count_events(t, passage, &counted, u64s_at(&s->branch_counters, i - 1));
		count_branch(t, &t->known->v[slot], branch_missed(b.flags));
		newer = slot;
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
			to->events = 0;
		if (x->events)
			event_sums_add(events_of(t, to), branch_trace_events(from, x), branch_traces_counted(t));
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
	vec_free(&t->event_sums);
}
