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

#define STEPS_FIRST 1024u
#define STEPS_MOST (1u << 17) /* slots: 8 MB. What they have counted goes to the traces then, and they are empty */
#define PLACE_BITS 10
#define NO_NEXT UINT64_MAX /* where nothing can be mapped */
#define SOME 32u	   /* branches of a sample that are looked up at once */

/*
 * A branch, what was mapped where it stood, and where the next one was taken. Programs take the same ones again and
 * again, so each sample only counts steps, and which traces they belong to is found when a step is new. What is read
 * and changed each time fills one line of the cache.
 */
struct step {
	u64 from, to, next; /* as recorded; next: NO_NEXT of a sample's newest branch */
	u64 cycles;	    /* from there on until the next one */
	u32 count, missed, timed;
	u32 mapped_1; /* mapped + 1; 0: the slot is empty */
	/* Of the binary that the branch is in, of another one that it leads to, and of the code that ran from there
	 * until the next one. ID_NONE: none. */
	u32 trace, trace_to, passage;
	u32 unused;
};
_Static_assert(sizeof(struct step) == 64, "as large as a line of the cache");

struct known_place {
	u64 addr;
	u32 mapped_1; /* mapped + 1; 0: the slot is empty */
	struct place place;
};

struct known_branches {
	struct step *steps; /* a power of two of slots, at most half full: the first one is mostly right */
	u32 n, mask, shift;
	u64 by[4];				     /* random numbers, see hash_of */
	struct known_place places[1u << PLACE_BITS]; /* those that were looked up last, by address */
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

static u32 branch_trace_in(struct branch_traces *t, const struct place *from, const struct place *to, u32 dso)
{
	const struct branch_trace what = {
		.kind = TRACE_BRANCH, .dso = dso, .from = address(from, dso), .to = address(to, dso)
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

static struct place place_of(struct branch_traces *t, u64 addr)
{
	struct known_place *k = &t->known->places[addr * 0x9e3779b97f4a7c15u >> (64 - PLACE_BITS)];

	if (k->addr != addr || k->mapped_1 != t->mapped + 1) {
		k->addr = addr;
		k->mapped_1 = t->mapped + 1;
		place_find(t->dsos, &t->thread, place_mode(&t->thread, addr), addr, &k->place);
	}
	return k->place;
}

/* Adds what the step has counted to its traces. */
static void fold(struct branch_traces *t, struct step *s)
{
	const u32 branches[] = { s->trace, s->trace_to };

	for (u32 i = 0; i < ARRAY_LEN(branches); i++)
		if (branches[i] != ID_NONE) {
			t->v.v[branches[i]].count += s->count;
			t->v.v[branches[i]].mispredicted += s->missed;
		}
	if (s->passage != ID_NONE) {
		t->v.v[s->passage].count += s->count;
		t->v.v[s->passage].cycles += s->cycles;
		t->v.v[s->passage].timed += s->timed;
	}
	s->count = s->missed = s->timed = 0;
	s->cycles = 0;
}

static void fold_all(struct branch_traces *t)
{
	for (u32 i = 0; t->known && i <= t->known->mask; i++)
		if (t->known->steps[i].mapped_1)
			fold(t, &t->known->steps[i]);
}

static struct step *empty_steps(u32 n)
{
	struct step *v = mem_alloc_lines(n * sizeof(*v));

	mem_zero(v, n * sizeof(*v));
	return v;
}

static void start_counting(struct branch_traces *t)
{
	struct known_branches *k = mem_zalloc(sizeof(*k));

	t->known = k;
	k->steps = empty_steps(STEPS_FIRST);
	k->mask = STEPS_FIRST - 1;
	k->shift = 32 - (u32)__builtin_ctz(STEPS_FIRST);
	for (u32 i = 0; i < ARRAY_LEN(k->by); i++)
		k->by[i] = hash_u64(i);
}

/* Who chooses the branches does not know the numbers that they are mixed with. */
static inline u32 hash_of(const struct known_branches *k, u32 mapped_1, const struct branch_entry *b, u64 next)
{
	u64 taken = hash_product(b->from ^ k->by[0], b->to ^ k->by[1]);
	u64 after = hash_product(next ^ k->by[2], mapped_1 ^ k->by[3]);

	return (u32)((taken + after) >> 32);
}

static inline bool is_step(const struct step *s, u32 mapped_1, const struct branch_entry *b, u64 next)
{
	return s->from == b->from && s->to == b->to && s->next == next && s->mapped_1 == mapped_1;
}

/* The slot of a step, or the empty one where it would be. */
static struct step *slot_of(const struct known_branches *k, u32 hash, u32 mapped_1, const struct branch_entry *b,
			    u64 next)
{
	u32 i = hash >> k->shift;

	while (!is_step(&k->steps[i], mapped_1, b, next) && k->steps[i].mapped_1)
		i = (i + 1) & k->mask;
	return &k->steps[i];
}

static void make_room(struct branch_traces *t)
{
	struct known_branches *k = t->known;
	const struct known_branches old = { .steps = k->steps, .mask = k->mask };

	if (old.mask + 1 >= STEPS_MOST) {
		fold_all(t);
		mem_zero(k->steps, (old.mask + 1) * sizeof(*k->steps));
		k->n = 0;
		return;
	}
	k->mask = old.mask * 2 + 1;
	k->shift--;
	k->steps = empty_steps(k->mask + 1);
	for (u32 i = 0; i <= old.mask; i++) {
		const struct step *s = &old.steps[i];
		const struct branch_entry b = { .from = s->from, .to = s->to };

		if (s->mapped_1)
			*slot_of(k, hash_of(k, s->mapped_1, &b, s->next), s->mapped_1, &b, s->next) = *s;
	}
	free(old.steps);
}

/* A branch belongs to the binary that it is in, or to both that it connects. */
static struct step *learn(struct branch_traces *t, u32 hash, const struct branch_entry *b, u64 next)
{
	const struct place from = place_of(t, b->from), to = place_of(t, b->to);
	struct step s = { .from = b->from, .to = b->to, .next = next, .mapped_1 = t->mapped + 1 };
	struct step *at;

	s.trace = branch_trace_in(t, &from, &to, from.dso);
	s.trace_to = to.dso != from.dso ? branch_trace_in(t, &from, &to, to.dso) : ID_NONE;
	s.passage = ID_NONE;
	if (next != NO_NEXT) {
		const struct place end = place_of(t, next);

		s.passage = find_through(t, &from, &to, &end);
	}
	if (t->known->n > t->known->mask / 2)
		make_room(t);
	t->known->n++;
	at = slot_of(t->known, hash, s.mapped_1, b, next);
	*at = s;
	return at;
}

static __attribute__((noinline)) struct step *find_step(struct branch_traces *t, u32 hash,
							const struct branch_entry *b, u64 next)
{
	struct step *s = slot_of(t->known, hash, t->mapped + 1, b, next);

	return s->mapped_1 ? s : learn(t, hash, b, next);
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

static void count_sample(struct branch_traces *t, u32 trace)
{
	struct branch_trace *b = trace == ID_NONE ? NULL : &t->v.v[trace];

	if (!b || b->last == t->samples)
		return;
	b->samples++;
	b->last = t->samples;
}

/* Some branches of a sample, from the nth on, and behind each one where the next newer one was taken. */
struct some {
	u32 n, nth;
	u32 hashes[SOME];
	u64 next[SOME + 1];
	struct branch_entry v[SOME];
};

/* Where all of their steps stand is asked for before the first one is counted. */
static inline void take_some(const struct branch_traces *t, const struct sample *s, u32 nth, struct some *out)
{
	const struct known_branches *k = t->known;

	out->nth = nth;
	out->n = MIN(s->nr_branches - nth, SOME);
	out->next[0] = nth ? out->next[SOME] : NO_NEXT;
	if (!s->branches.swap)
		memcpy(out->v, s->branches.p + nth * sizeof(*out->v), out->n * sizeof(*out->v));
	else
		for (u32 i = 0; i < out->n; i++)
			out->v[i] = sample_branch(s, nth + i);
	for (u32 i = 0; i < out->n; i++) {
		out->next[i + 1] = out->v[i].from;
		out->hashes[i] = hash_of(k, t->mapped + 1, &out->v[i], out->next[i]);
		__builtin_prefetch(&k->steps[out->hashes[i] >> k->shift], 1);
	}
}

/* What is kept of each trace, and not of steps. */
static __attribute__((noinline)) void count_more(struct branch_traces *t, const struct some *some, const struct hit *h,
						 const struct counted *c)
{
	const struct u64s *counters = &h->full->branch_counters;

	for (u32 i = 0; i < some->n; i++) {
		const struct step *s = find_step(t, some->hashes[i], &some->v[i], some->next[i]);

		if (s->passage != ID_NONE && c->n && some->nth + i <= counters->n)
			count_events(t, s->passage, c, u64s_at(counters, some->nth + i - 1));
		if (!t->by_sample)
			continue;
		count_sample(t, s->trace);
		count_sample(t, s->trace_to);
		count_sample(t, s->passage);
	}
}

/* *cycles: from this branch until the one before it. */
static inline void count_some(struct branch_traces *t, const struct some *some, u32 *cycles)
{
	const u32 mapped_1 = t->mapped + 1;
	u64 all = 0;

	for (u32 i = 0; i < some->n; i++) {
		const struct branch_entry *b = &some->v[i];
		struct step *s = &t->known->steps[some->hashes[i] >> t->known->shift];

		if (UNLIKELY(!is_step(s, mapped_1, b, some->next[i])))
			s = find_step(t, some->hashes[i], b, some->next[i]);
		s->missed += branch_missed(b->flags);
		s->cycles += *cycles;
		s->timed += *cycles > 0;
		if (UNLIKELY(++s->count == UINT32_MAX))
			fold(t, s);
		*cycles = branch_cycles(b->flags);
		all += *cycles;
	}
	t->cycles += all;
}

void branch_traces_add(struct branch_traces *t, const struct hit *h)
{
	const struct counted counted = counted_of(t, h);
	struct some some;
	u32 cycles = 0;

	if (!h->full->nr_branches)
		return;
	if (!t->known)
		start_counting(t);
	view_thread(t, h);
	t->samples++;
	for (u32 i = 0; i < h->full->nr_branches; i += some.n) {
		take_some(t, h->full, i, &some);
		count_some(t, &some, &cycles);
		if (UNLIKELY(counted.n || t->by_sample))
			count_more(t, &some, h, &counted);
	}
}

void branch_traces_merge(struct branch_traces *t, struct branch_traces *from)
{
	fold_all(t);
	fold_all(from);
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
	fold_all(t);
	if (t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), compare);
}

void branch_traces_free(struct branch_traces *t)
{
	if (t->known)
		free(t->known->steps);
	free(t->known);
	t->known = NULL;
	set_free(&t->mapped_ids);
	vec_free(&t->all_mapped);
	set_free(&t->index);
	vec_free(&t->v);
	vec_free(&t->event_sums);
}
