/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SPARE_NAMES 1024 /* of threads that have ended */

void wait_losses_add(struct wait_losses *l, const struct wait_loss *loss)
{
	struct wait_loss ordered = *loss;

	/* Times in a recording may be any; those that are sought have to be in order. */
	ordered.to = MAX(ordered.to, ordered.from);
	vec_push(&l->v, ordered);
}

static int by_begin(const void *va, const void *vb)
{
	const struct wait_loss *a = va, *b = vb;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* In the order of beginnings. */
static void add_span(struct wait_spans *s, const struct wait_loss *l)
{
	struct wait_span *last = s->v.n ? &s->v.v[s->v.n - 1] : NULL;

	if (last && l->from <= last->to)
		last->to = MAX(last->to, l->to);
	else
		vec_push(&s->v, (struct wait_span){ l->from, l->to });
}

static struct wait_spans *spans_of(struct wait_losses *l, u32 cpu)
{
	u32 *at;

	if (cpu == ANY_CPU)
		return &l->no_cpu;
	at = map_at(&l->cpu_at, cpu, (u32)l->cpus.n);
	if (*at == l->cpus.n)
		vec_push(&l->cpus, (struct wait_spans){ { 0 } });
	return &l->cpus.v[*at];
}

void wait_losses_seal(struct wait_losses *l)
{
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof(*l->v.v), by_begin);
	for (size_t i = 0; i < l->v.n; i++) {
		const struct wait_loss *loss = &l->v.v[i];

		add_span(&l->all, loss);
		if (!loss->switches)
			add_span(&l->any_records, loss);
		add_span(spans_of(l, loss->cpu), loss);
	}
	vec_free(&l->v);
}

void wait_losses_free(struct wait_losses *l)
{
	for (size_t i = 0; i < l->cpus.n; i++)
		vec_free(&l->cpus.v[i].v);
	vec_free(&l->cpus);
	map_free(&l->cpu_at);
	vec_free(&l->v);
	vec_free(&l->all.v);
	vec_free(&l->any_records.v);
	vec_free(&l->no_cpu.v);
}

static bool touch(const struct wait_spans *s, u64 from, u64 to)
{
	size_t a = 0, b = s->v.n;

	while (a < b) {
		size_t mid = a + (b - a) / 2;

		if (s->v.v[mid].from < to)
			a = mid + 1;
		else
			b = mid;
	}
	return a && s->v.v[a - 1].to > from;
}

bool wait_losses_touch(const struct wait_losses *l, u64 from, u64 to, bool sleeps)
{
	return touch(sleeps ? &l->any_records : &l->all, from, to);
}

bool wait_losses_touch_cpu(const struct wait_losses *l, u64 from, u64 to, u32 cpu)
{
	u32 at;

	if (cpu == ANY_CPU)
		return touch(&l->all, from, to);
	at = map_get(&l->cpu_at, cpu);
	return touch(&l->no_cpu, from, to) || (at != ID_NONE && touch(&l->cpus.v[at], from, to));
}

/* NULL: nobody wants to know. */
static struct wait_sum *sum_of(struct waits *w, u32 activity)
{
	u32 *at;

	if (activity == WAIT_NOBODY || activity == WAIT_HIDDEN)
		return NULL;
	at = map_at(&w->sum_of, activity, (u32)w->sums.n);
	if (*at == w->sums.n)
		vec_push(&w->sums, (struct wait_sum){ .activity = activity });
	return &w->sums.v[*at];
}

static void add_unknown(struct waits *w, u32 activity, u64 time)
{
	struct wait_sum *s = time ? sum_of(w, activity) : NULL;

	if (!s)
		return;
	s->unknown += time;
	s->lost++;
}

/* The thread worked for the one in the beginning, and for the other in the end. */
static void add_unknown_of_both(struct waits *w, u32 a, u32 b, u64 time)
{
	add_unknown(w, a, time);
	if (a != b)
		add_unknown(w, b, time);
}

static struct wait_thread *find(struct waits *w, u32 tid)
{
	u32 at = map_get(&w->thread_of, tid);

	return at < w->threads.n && w->threads.v[at].tid == tid ? &w->threads.v[at] : NULL;
}

/* Names of threads that have ended are dropped when there are more of them than of others. */
static void forget_names(struct waits *w)
{
	if (w->thread_of.n < 2 * w->threads.n + SPARE_NAMES)
		return;
	map_free(&w->thread_of);
	for (size_t i = 0; i < w->threads.n; i++)
		map_set(&w->thread_of, w->threads.v[i].tid, (u32)i);
}

static struct wait_thread *thread(struct waits *w, u32 tid)
{
	struct wait_thread *t = find(w, tid);

	if (t)
		return t;
	forget_names(w);
	map_set(&w->thread_of, tid, (u32)w->threads.n);
	vec_push(&w->threads, (struct wait_thread){ .tid = tid, .activity = WAIT_NOBODY });
	return &w->threads.v[w->threads.n - 1];
}

static void drop(struct waits *w, struct wait_thread *t)
{
	*t = w->threads.v[--w->threads.n];
	map_set(&w->thread_of, t->tid, (u32)(t - w->threads.v));
}

static struct wait_place *place_of(struct waits *w, const struct wait_thread *t, u32 waker)
{
	u64 hash = hash_pair((u64)t->activity << 32 | t->place, (u64)waker << 8 | t->state);
	const struct wait_place *p;
	u32 id, at;

	SET_FIND(id, &w->known_places, hash, at,
		 (p = &w->places.v[id],
		  p->activity == t->activity && p->place == t->place && p->waker == waker && p->state == t->state));
	if (id == ID_NONE) {
		id = (u32)w->places.n;
		set_add(&w->known_places, hash, id);
		vec_push(&w->places, (struct wait_place){ t->activity, t->place, waker, t->state, 0, 0, 0 });
	}
	return &w->places.v[id];
}

static void add_wait(struct waits *w, const struct wait_thread *t, u64 time, u32 waker, bool open)
{
	struct wait_sum *s = sum_of(w, t->activity);
	struct wait_place *p;

	if (!s)
		return;
	s->waiting[t->state] += time;
	s->waits++;
	s->open += open;
	s->longest = MAX(s->longest, time);
	p = place_of(w, t, waker);
	p->waiting += time;
	p->waits++;
	p->longest = MAX(p->longest, time);
}

static bool sleeps(const struct wait_thread *t)
{
	return t->state != WAIT_RUNNABLE;
}

/* It was ready to run from then on. */
static void close_runnable(struct waits *w, const struct wait_thread *t, u64 from, u64 now)
{
	struct wait_sum *s = sum_of(w, t->activity);

	if (wait_losses_touch(w->losses, from, now, false))
		add_unknown(w, t->activity, now - from);
	else if (s)
		s->runnable += now - from;
}

/* The thread has slept since t->since, until it was woken, or until now, if nobody has woken it. */
static void close_sleep(struct waits *w, const struct wait_thread *t, u64 now)
{
	u64 until = t->woken ? t->woken : now;

	if (wait_losses_touch(w->losses, t->since, until, true))
		add_unknown(w, t->activity, until - t->since);
	else
		add_wait(w, t, until - t->since, t->woken ? t->waker : WAIT_NOBODY, !t->woken);
}

/* Whoever wakes a thread that is about to stop may be faster than the event that says so. */
static void note_early(struct wait_thread *t)
{
	if (t->runs || !sleeps(t) || t->woken || !t->early)
		return;
	t->woken = t->since;
	t->waker = t->early_waker;
}

/* The thread has not run from t->since until now, when it begins to. */
static void close_off(struct waits *w, struct wait_thread *t, u64 now)
{
	note_early(t);
	if (!sleeps(t)) {
		close_runnable(w, t, t->since, now);
	} else if (t->woken) {
		close_sleep(w, t, now);
		close_runnable(w, t, t->woken, now);
	} else {
		add_unknown(w, t->activity, now - t->since);
	}
}

/* The thread has run since its last sample, which said t->activity, until now, when it says `activity`. */
static void add_run(struct waits *w, const struct wait_thread *t, u64 now, u32 activity)
{
	u64 time = now - t->since;
	struct wait_sum *s;

	if (t->torn || wait_losses_touch_cpu(w->losses, t->since, now, t->cpu)) {
		add_unknown_of_both(w, t->activity, activity, time);
		return;
	}
	s = sum_of(w, t->activity);
	if (s && activity == t->activity)
		s->running += time;
	else if (s)
		s->unsure += time;
	s = activity == t->activity ? NULL : sum_of(w, activity);
	if (s)
		s->unsure += time;
}

/* It runs on that CPU, so it must have begun to since, and no event said so. */
static void missed_begin(struct waits *w, struct wait_thread *t, u64 now, u32 cpu, u32 activity)
{
	u64 from = t->since;

	note_early(t);
	if (sleeps(t) && t->woken) {
		close_sleep(w, t, now);
		from = t->woken;
	}
	add_unknown_of_both(w, t->activity, activity, now - from);
	t->runs = true;
	t->cpu = cpu;
	t->early = 0;
}

/* It runs, and there it is. If it has gone there from another CPU, no event said so. */
static void is_on(struct wait_thread *t, u32 cpu)
{
	t->torn |= t->cpu != ANY_CPU && cpu != ANY_CPU && cpu != t->cpu;
	t->cpu = cpu != ANY_CPU ? cpu : t->cpu;
}

static void say(struct wait_thread *t, u64 now, u32 activity)
{
	t->since = now;
	t->activity = activity;
	t->torn = false;
}

/* It has said that it stops, and is not gone yet: nobody else has stopped to run there since. */
static bool is_leaving(const struct waits *w, const struct wait_thread *t, u64 now, u32 cpu)
{
	return map_get(&w->leaving, cpu) == t->tid && !wait_losses_touch_cpu(w->losses, t->since, now, cpu);
}

void waits_sample(struct waits *w, u64 time, u32 cpu, u32 tid, u32 activity)
{
	struct wait_thread *t;

	if (!tid || tid == UINT32_MAX)
		return;
	t = thread(w, tid);
	if (!t->switched || (!t->runs && is_leaving(w, t, time, cpu)))
		return;
	if (t->runs) {
		is_on(t, cpu);
		add_run(w, t, time, activity);
		t->early = 0; /* it went on, so it was not about to stop */
	} else {
		missed_begin(w, t, time, cpu, activity);
	}
	say(t, time, activity);
}

static void stop(struct waits *w, const struct wait_switch *s)
{
	struct wait_thread *t = thread(w, s->prev);

	if (t->switched && t->runs) {
		is_on(t, s->cpu);
		add_run(w, t, s->time, s->activity);
	} else if (t->switched) {
		missed_begin(w, t, s->time, s->cpu, s->activity);
	}
	if (s->state == WAIT_ENDED) {
		drop(w, t);
		return;
	}
	say(t, s->time, s->activity);
	t->switched = true;
	t->runs = false;
	t->state = s->state;
	t->place = s->place;
	t->woken = 0;
}

static void start(struct waits *w, const struct wait_switch *s)
{
	struct wait_thread *t = thread(w, s->next);

	t->torn = t->switched && t->runs;
	if (t->switched && !t->runs)
		close_off(w, t, s->time);
	if (!t->torn)
		t->since = s->time;
	t->switched = t->runs = true;
	t->cpu = s->cpu;
	t->early = 0;
}

void waits_switch(struct waits *w, const struct wait_switch *s)
{
	map_set(&w->leaving, s->cpu, s->prev);
	if (s->prev)
		stop(w, s);
	if (s->next)
		start(w, s);
}

void waits_waking(struct waits *w, u64 time, u32 tid, u32 waker)
{
	struct wait_thread *t = find(w, tid);

	if (!t || !t->switched)
		return;
	if (t->runs) {
		t->early = time;
		t->early_waker = waker;
	} else if (!t->woken) {
		t->woken = time;
		t->waker = waker;
	}
}

static int by_waiting(const void *va, const void *vb)
{
	const struct wait_sum *a = va, *b = vb;
	u64 of_a = wait_sum_waiting(a), of_b = wait_sum_waiting(b);

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return a->activity < b->activity ? -1 : a->activity > b->activity;
}

static int places_by_waiting(const void *va, const void *vb)
{
	const struct wait_place *a = va, *b = vb;

	if (a->waiting != b->waiting)
		return a->waiting > b->waiting ? -1 : 1;
	if (a->activity != b->activity)
		return a->activity < b->activity ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return a->waker < b->waker ? -1 : a->waker > b->waker;
}

/* Who ran or was ready to run may have done anything since, for a switch after the last one is not seen to be missing.
 */
static void end_thread(struct waits *w, struct wait_thread *t, u64 now)
{
	u64 from = t->since;

	note_early(t);
	if (!t->runs && sleeps(t)) {
		close_sleep(w, t, now);
		from = t->woken ? t->woken : now;
	}
	add_unknown(w, t->activity, now - from);
}

void waits_end(struct waits *w, u64 time)
{
	for (size_t i = 0; i < w->threads.n; i++) {
		if (w->threads.v[i].switched)
			end_thread(w, &w->threads.v[i], time);
		else
			w->never_switched++;
	}
	vec_free(&w->threads);
	map_free(&w->thread_of);
	map_free(&w->sum_of);
	map_free(&w->leaving);
	set_free(&w->known_places);
	if (w->sums.n)
		qsort(w->sums.v, w->sums.n, sizeof(*w->sums.v), by_waiting);
	if (w->places.n)
		qsort(w->places.v, w->places.n, sizeof(*w->places.v), places_by_waiting);
}

void waits_free(struct waits *w)
{
	vec_free(&w->sums);
	vec_free(&w->places);
	vec_free(&w->threads);
	map_free(&w->thread_of);
	map_free(&w->sum_of);
	map_free(&w->leaving);
	set_free(&w->known_places);
}
