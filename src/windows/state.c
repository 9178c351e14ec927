/* SPDX-License-Identifier: Apache-2.0 */
#include "windows/state.h"

#define THROTTLED_MS 12	   /* longer than a tick of any kernel; twice as long each time */
#define WATCHES 3	   /* before stepping */
#define BACKOFF_MAX_MS 500 /* nothing is put off for longer */
#define RAN_MS 2	   /* until a task that ran is watched again, longer where there are many; */
#define RAN_TRIES 32	   /* so many times, and twice as long for as many more */
#define SLEEPS 4	   /* tries without a sample: it sleeps for long */
#define STEP_AGAIN_MS 30   /* at most so often is a task stopped for a clock that was armed before */
#define DRIFT_LOOK_MS 10   /* or longer, between two passes after clocks were armed, seen to drift, or ran unarmed, */
#define DRIFT_QUIET_MS 200 /* for so long */
#define GIVE_UP_MS 2000	   /* a burst that does not end was throttled: another one is let loose */

void window_states_add(struct window_states *t, const struct window_place *p)
{
	vec_push(&t->places, *p);
	for (size_t g = 0; g < t->groups.n; g++)
		vec_push(&t->of, (struct window_state){ 0 });
}

void window_states_start(struct window_states *t, size_t place, bool armed, u64 now_ms)
{
	for (size_t g = 0; g < t->groups.n && t->how == WINDOW_TWIN; g++)
		if (armed)
			*window_states_at(t, place, g) = (struct window_state){ .armed = WINDOW_ON, .ever = true };
		else
			window_states_at(t, place, g)->due_ms = now_ms;
}

void window_states_free(struct window_states *t)
{
	vec_free(&t->groups);
	vec_free(&t->places);
	vec_free(&t->of);
}

/* --- what comes --- */

/*
 * Clocks drift by some microseconds with each switch of a task, and are armed anew while it runs. For hardware
 * counters, which do not drift, the task is stopped.
 */
static const struct correction {
	u32 in_row; /* windows far from what was asked */
	u32 most;   /* corrections of a group in a place */
	u32 after_ms;
} corrections[] = { [false] = { 8, 3, 30 }, [true] = { 8, UINT32_MAX, 4 } };

static void judge(struct window_states *t, struct window_state *s, const struct window_group_run *g, u64 length,
		  u64 now_ms)
{
	const struct correction *c = &corrections[g->clock];
	const struct window_pair asked = { .period = g->period, .length = g->length, .clock = g->clock };

	if (s->armed != WINDOW_ON || s->anew || s->value < s->since || s->corrections == c->most)
		return;
	if (!window_is_wide(&asked, length)) {
		s->wide = s->fruitless = 0;
		return;
	}
	s->wide++;
	/* A single one is an interrupt that came late. */
	if (g->clock && s->wide > 1)
		t->drift_ms = now_ms;
	if (s->wide < c->in_row)
		return;
	s->corrections++;
	s->anew = true;
	s->due_ms = now_ms + MIN(c->after_ms << MIN(s->fruitless, 7u), (u32)BACKOFF_MAX_MS);
	s->fruitless++;
	t->rearmed++;
}

/* It slept, and does not any more. */
static void try_soon(struct window_state *s, u64 now_ms)
{
	s->tries = 0;
	s->due_ms = MIN(s->due_ms, now_ms + RAN_MS);
}

static bool ends_window(enum window_how how, const struct window_state *s, const struct window_group_run *g, bool twin,
			u64 length)
{
	switch (how) {
	case WINDOW_TWIN:
		return twin && s->first;
	case WINDOW_REFRESH:
		return s->burst_at > 1;
	case WINDOW_NATIVE:
		return length <= g->short_max;
	default:
		return true;
	}
}

bool window_states_sample(struct window_states *t, size_t state, bool twin, u64 value, u64 now_ms, u64 *length)
{
	struct window_state *s = &t->of.v[state];
	const struct window_group_run *g = &t->groups.v[state % t->groups.n];
	bool ends;

	*length = value - s->value;
	if (g->clock && s->due_ms) {
		t->drift_ms = now_ms;
		if (s->idle >= SLEEPS)
			try_soon(s, now_ms);
	}
	s->idle = 0;
	s->burst_at++;
	if (s->wanted)
		s->wanted--;
	ends = s->known && ends_window(t->how, s, g, twin, *length);
	if (ends && t->how == WINDOW_TWIN)
		judge(t, s, g, *length, now_ms);
	s->known = true;
	s->first = !twin;
	s->value = value;
	return ends;
}

void window_states_throttle(struct window_states *t, size_t state, u64 now_ms)
{
	struct window_state *s = &t->of.v[state];

	/* Both leaders are told, and the kernel lets them go on at its next tick. */
	if (t->how != WINDOW_TWIN || s->armed != WINDOW_ON || s->anew)
		return;
	s->anew = true;
	s->due_ms = now_ms + MIN(THROTTLED_MS << MIN(s->throttles, 8u), (u32)BACKOFF_MAX_MS);
	s->throttles++;
	t->rearmed++;
}

/* --- arming --- */

size_t window_states_next(const struct window_states *t, u64 now_ms)
{
	size_t next = t->of.n;
	u64 due = now_ms + 1;

	for (size_t i = 0; i < t->of.n; i++) {
		const struct window_state *s = &t->of.v[i];

		if (!s->due_ms || t->places.v[i / t->groups.n].gone || s->due_ms >= due)
			continue;
		next = i;
		due = s->due_ms;
	}
	return next;
}

bool window_states_may_arm(const struct window_states *t, size_t place, size_t group)
{
	for (size_t g = 0; g < t->groups.n; g++)
		if (g != group && window_states_at(t, place, g)->armed == WINDOW_STOPPING)
			return false;
	return true;
}

/* On a busy machine a task runs when we do not, so that watching it fails. Clocks that were armed once go without for
 * a while then. */
bool window_states_only_watch(const struct window_states *t, size_t place, size_t group, u64 now_ms)
{
	const struct window_state *s = window_states_at(t, place, group);

	if (!t->groups.v[group].clock || s->armed == WINDOW_STOPPING)
		return false;
	return t->no_tracing || s->waited < WATCHES ||
	       (s->ever && now_ms - t->places.v[place].stepped_ms < STEP_AGAIN_MS);
}

/* A task that sleeps is tried less and less often; with clocks, for which it is rarely stopped, often while it
 * samples. */
static u64 next_try(const struct window_states *t, const struct window_state *s, bool clock, u64 now_ms)
{
	/* One that has stopped waits for us. */
	u64 stopped = 1u << MIN(s->tries, 4u);
	u64 idle = 1u << MIN(clock ? s->idle : s->tries, 9u);
	u64 busy = clock ? (RAN_MS + t->places.n / 8) << MIN(s->tries / RAN_TRIES, 8u) : 0;

	return now_ms + (s->armed == WINDOW_STOPPING ? stopped : MIN(MAX(idle, busy), (u64)BACKOFF_MAX_MS));
}

/* Returns whether it is to be tried again. */
static bool take_result(struct window_state *s, enum window_armed armed, bool clock)
{
	switch (armed) {
	case WINDOW_ASLEEP:
	case WINDOW_WAITS: /* its twins, if they are on, go on with the distance that they have */
		return true;
	case WINDOW_ARMED:
		s->armed = WINDOW_ON;
		s->ever = true;
		s->wide = 0;
		break;
	case WINDOW_SEIZED:
		s->armed = WINDOW_STOPPING;
		break;
	case WINDOW_FORBIDDEN:
		s->armed = clock ? WINDOW_OFF : WINDOW_REFUSES;
		break;
	default:
		s->armed = WINDOW_OFF;
	}
	s->anew = false;
	return s->armed == WINDOW_OFF || s->armed == WINDOW_STOPPING;
}

void window_states_settle(struct window_states *t, size_t place, size_t group, enum window_armed armed, u64 count,
			  u64 now_ms)
{
	struct window_place *p = &t->places.v[place];
	struct window_state *s = window_states_at(t, place, group);
	bool clock = t->groups.v[group].clock, again;

	t->no_tracing |= armed == WINDOW_FORBIDDEN;
	p->gone = armed == WINDOW_GONE;
	again = take_result(s, armed, clock);
	if (armed == WINDOW_ARMED && clock)
		t->drift_ms = now_ms;
	s->since = count;
	s->idle++;
	s->tries = again ? s->tries + 1 : 0;
	s->waited = again ? s->waited + (armed == WINDOW_WAITS || armed == WINDOW_CUT_SHORT) : 0;
	s->due_ms = again && !p->gone ? next_try(t, s, clock, now_ms) : 0;
}

/* Until so many windows can have come as a correction rests on: looks between tell nothing that could be acted on. */
static u64 look_ms(const struct window_states *t)
{
	u64 ns = 0;

	for (size_t g = 0; g < t->groups.n; g++)
		if (t->groups.v[g].clock)
			ns = MAX(ns, t->groups.v[g].period);
	return MAX(ns / 1000000 * corrections[true].in_row, (u64)DRIFT_LOOK_MS);
}

int window_states_timeout(const struct window_states *t, int most, u64 now_ms)
{
	u64 look = look_ms(t);

	if (now_ms - t->drift_ms < MAX(DRIFT_QUIET_MS, 2 * look))
		most = (int)MIN((u64)most, look);
	for (size_t i = 0; i < t->of.n; i++) {
		u64 due = t->of.v[i].due_ms;

		if (due && !t->places.v[i / t->groups.n].gone)
			most = due <= now_ms ? 0 : (int)MIN((u64)most, due - now_ms);
	}
	return most;
}

/* --- bursts --- */

u32 window_state_burst(struct window_state *s, const struct window_group_run *g, u64 now_ms)
{
	if (s->wanted && now_ms - s->wanted_ms < GIVE_UP_MS)
		return 0;
	s->burst_at = 0;
	s->wanted_ms = now_ms;
	/* The first sample says where the first window begins. */
	return g->burst + 1 - MIN(s->wanted, g->burst);
}
