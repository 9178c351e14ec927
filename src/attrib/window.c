/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows from the values of group reads.
 *
 * Problem. A sample has the value of each counter of its group; the difference to the previous sample is the count of
 * a window. This is right only if nothing happened to the counters in between, and the records tell that: THROTTLE
 * means that there were no samples while members continued to count; LOST means that a sample may be missing, so that
 * two windows look like one; a difference between enabled and running times means that the counters were not on the
 * hardware all the time.
 *
 * Whose counts. Counters of a CPU count any thread that runs there, so both samples must be of the same thread. Events
 * that children inherit have values per thread, but all threads share one id. Events on a CPU for all processes have
 * the same attrs as these, so the values decide: if a value decreases when another thread has its turn, values are per
 * thread. Until that is known, a window over a change of thread is not used.
 *
 * Short or long. The event's name states it or, with a fixed period, the values show it: windows of at most half the
 * period do not occur in plain sampling, because a counter overflows after a whole period. In a group without short
 * windows every window counts.
 */
#include "attrib/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SEEN_SHARE 20 /* one in so many windows of a group is short, when they are made on purpose */

struct window_slot {
	u64 id; /* of the first member */
	u64 time, enabled, running, lost;
	u32 group, turns, tid, cpu;
	u32 throttles, losses, all_losses; /* at the last sample */
	u32 at;				   /* which member it was of */
	s64 twin_off;			   /* for how much longer the twin was off the hardware than the leader */
	bool twin_known;
	size_t values;
};

bool window_event(const struct event *e)
{
	const u64 format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

	return !e->unsupported && e->attr.sample_type & PERF_SAMPLE_READ && (e->attr.read_format & format) == format;
}

static u32 count_of(const struct map *m, u64 key)
{
	u32 n = map_get(m, key);

	return n == ID_NONE ? 0 : n;
}

static u32 throttles_of(const struct windows *w, u64 id)
{
	return w->all_throttles ? w->unknown_throttles + count_of(&w->throttles, id) : 0;
}

static u32 losses_of(const struct windows *w, u32 cpu)
{
	if (!w->all_losses)
		return 0;
	return cpu == ID_NONE ? w->all_losses : w->unknown_losses + count_of(&w->losses, cpu);
}

void windows_note(struct windows *w, const struct evlist *l, const struct record *r)
{
	u32 first;

	switch (r->h.type) {
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		w->all_throttles++;
		first = map_get(&w->first_ids, r->throttle.id);
		if (first != ID_NONE)
			++*map_at(&w->throttles, w->slots.v[first].id, 0);
		else if (evlist_of_id(l, r->throttle.id) == ID_NONE)
			w->unknown_throttles++;
		break;
	case PERF_RECORD_LOST:
		w->all_losses++;
		if (l->trailer.fields & PERF_SAMPLE_CPU)
			++*map_at(&w->losses, r->sid.cpu, 0);
		else
			w->unknown_losses++;
		break;
	default:
		break;
	}
}

/* Twins are opened alike; only when they are switched on differs. */
static bool alike(const struct event *a, const struct event *b)
{
	return attr_same_event(&a->attr, &b->attr) && a->attr.sample_period == b->attr.sample_period;
}

static bool has_twin(const struct window_group *g, const struct evlist *l)
{
	const struct event *leader = &l->events.v[g->leader];

	for (u32 i = 0; i < g->nr; i++)
		if (g->events[i] != g->leader && alike(leader, &l->events.v[g->events[i]]))
			return true;
	return false;
}

/* As the name states it. */
static void settle_by_terms(struct window_group *g, const struct evlist *l)
{
	const struct attr *leader = &l->events.v[g->leader].attr;
	struct schedule *s = &g->schedule;
	u64 shorts = s->period_short * s->batch_count;

	g->mode = has_twin(g, l) ? WINDOWS_TWIN : WINDOWS_TERMS;
	g->short_max = schedule_short_max(&(struct schedule){ 0, s->period_short, 0, 0, s->jitter_short });
	if (leader->flags & ATTR_FREQ)
		return;
	if (leader->sample_period <= s->period_short) {
		g->mode = WINDOWS_REFRESH;
		g->short_max = UINT64_MAX;
		return;
	}
	if (!s->period_long)
		s->period_long =
			leader->sample_period > shorts ? leader->sample_period - shorts : leader->sample_period;
	g->short_max = schedule_short_max(s);
}

static void settle_group(struct window_group *g, const struct evlist *l)
{
	const struct event *leader = &l->events.v[g->leader];
	u64 known = g->nr_short + g->nr_long;

	if (window_schedule_of(leader->name, &g->schedule)) {
		settle_by_terms(g, l);
		g->usual_short = g->schedule.period_short;
		g->usual_long = g->schedule.period_long ? g->schedule.period_long :
				g->nr_long		? g->sum_long / g->nr_long :
							  0;
		return;
	}
	g->mode = WINDOWS_PLAIN;
	g->short_max = UINT64_MAX;
	g->usual_short = known ? (g->sum_short + g->sum_long) / known : 0;
	if (leader->attr.flags & ATTR_FREQ || g->nr_short <= known / SEEN_SHARE)
		return;
	g->mode = has_twin(g, l) ? WINDOWS_TWIN : WINDOWS_SEEN;
	g->short_max = leader->attr.sample_period / 2;
	g->usual_short = g->sum_short / g->nr_short;
	g->usual_long = g->nr_long ? g->sum_long / g->nr_long : 0;
}

static void new_group(struct windows *w, const struct evlist *l, u32 event, const struct read_values *r)
{
	const struct event *e = &l->events.v[event];
	struct window_group g = { .leader = event, .nr = r->nr, .short_max = e->attr.sample_period / 2 };

	for (u32 i = 0; i < r->nr; i++) {
		g.events[i] = evlist_of_id(l, read_id(r, i));
		g.roles[i] = (u8)MIN(
			event_role_of(&l->events.v[g.events[i]].attr, l->events.v[g.events[i]].name, w->machine),
			(u32)NR_ROLES);
	}
	g.per_thread = e->attr.flags & ATTR_INHERIT && e->attr.sample_type & PERF_SAMPLE_TID;
	/* What a name states holds from the first sample on, so that what is fed is sorted by it. */
	if (w->settled || window_schedule_of(e->name, &g.schedule))
		settle_group(&g, l);
	map_set(&w->by_event, g.events[0], (u32)w->groups.n);
	map_set(&w->by_leader, event, (u32)w->groups.n);
	vec_push(&w->groups, g);
}

/* Are these the group's members, in its order? */
static bool same_members(const struct window_group *g, const struct evlist *l, const struct read_values *r)
{
	for (u32 i = 0; i < g->nr; i++)
		if (i >= r->nr || evlist_of_id(l, read_id(r, i)) != g->events[i])
			return false;
	return r->nr == g->nr;
}

/* Which group a read is of; ID_NONE: none that can be had. */
static u32 group_of(struct windows *w, const struct evlist *l, u32 event, const struct read_values *r)
{
	u32 first, group;

	if (!r->has_id || r->nr < 2 || r->nr > WINDOW_MEMBERS)
		return ID_NONE;
	for (u32 i = 0; i < r->nr; i++)
		if (evlist_of_id(l, read_id(r, i)) == ID_NONE)
			return ID_NONE;
	first = evlist_of_id(l, read_id(r, 0));
	if (map_get(&w->by_event, first) == ID_NONE) {
		if (map_get(&w->by_leader, event) != ID_NONE)
			return ID_NONE;
		new_group(w, l, event, r);
	}
	group = map_get(&w->by_event, first);
	return same_members(&w->groups.v[group], l, r) ? group : ID_NONE;
}

static u64 counters_key(const struct window_group *g, u64 id, u32 tid)
{
	return g->per_thread ? hash_mix(hash_u64(id), tid + 1ull) : hash_u64(id);
}

static struct window_slot *find_slot(struct windows *w, const struct evlist *l, u32 event, const struct sample *s)
{
	u64 id = read_id(&s->read, 0);
	u32 known, group, *at;

	if (w->last_id && w->last_id == id && w->last_tid == s->tid &&
	    s->read.nr == w->groups.v[w->slots.v[w->last_slot].group].nr)
		return &w->slots.v[w->last_slot];
	known = map_get(&w->first_ids, id);
	/* Most samples are of counters that were seen before: what their ids are is settled. */
	group = known != ID_NONE && w->slots.v[known].id == id ? w->slots.v[known].group :
								 group_of(w, l, event, &s->read);
	if (group == ID_NONE || s->read.nr != w->groups.v[group].nr)
		return NULL;
	at = map_at(&w->by_counters, counters_key(&w->groups.v[group], id, s->tid), (u32)w->slots.n);
	if (*at == w->slots.n) {
		struct window_slot slot = { .id = id, .group = group, .values = w->values.n };

		for (u32 i = 0; i < s->read.nr; i++) {
			vec_push(&w->values, 0);
			map_set(&w->first_ids, read_id(&s->read, i), *at);
		}
		vec_push(&w->slots, slot);
	}
	w->last_id = id;
	w->last_tid = s->tid;
	w->last_slot = *at;
	return &w->slots.v[*at];
}

/*
 * Of counters that may be a CPU's or each thread's: the slot of the thread that had the turn before, when it was
 * another one and the counters may be the same; else ID_NONE. What the values of the two threads show is kept.
 */
static u32 turn_before(struct windows *w, struct window_group *g, const struct window_slot *slot,
		       const struct sample *s)
{
	u32 me = (u32)(slot - w->slots.v), *last = map_at(&w->last_threads, slot->id, me);
	u32 before = *last;

	*last = me;
	if (before == me)
		return ID_NONE;
	for (u32 i = 0; i < g->nr && !g->proven; i++)
		g->proven = read_value(&s->read, i) < w->values.v[w->slots.v[before].values + i];
	return g->proven ? ID_NONE : before;
}

/* Does a group that is armed for bursts begin one here? Its counters were off most of the time since. */
static bool was_off(const struct window_group *g, const struct window_slot *slot, const struct sample *s)
{
	return g->mode == WINDOWS_REFRESH && s->read.time_enabled &&
	       (s->read.time_enabled - slot->enabled) * 2 < s->time - slot->time;
}

/* Since Linux 6.0 members tell how many samples of theirs found no room. */
static u64 lost_samples(const struct read_values *r)
{
	u64 n = 0;

	for (u32 i = 0; r->has_lost && i < r->nr; i++)
		n += read_lost(r, i);
	return n;
}

/*
 * Was the group off the hardware in this window? The times are those of the event that the sample is of. A twin's
 * began when it was switched on, later than its leader's, so what the leader was off by then is a difference that
 * stays until they are armed anew, which makes it smaller.
 */
static bool was_multiplexed(const struct window_group *g, struct window_slot *slot, const struct sample *s, u32 at)
{
	u64 off = s->read.time_enabled - s->read.time_running, before = slot->enabled - slot->running;
	s64 apart = (s64)(off - before);

	if (g->mode != WINDOWS_TWIN || at == slot->at)
		return apart;
	if (at < slot->at) /* a long one */
		return slot->twin_known && -apart != slot->twin_off;
	if (!slot->twin_known || apart < slot->twin_off)
		slot->twin_off = apart;
	slot->twin_known = true;
	return apart != slot->twin_off;
}

static enum window_fault fault_of(struct windows *w, const struct window_group *g, struct window_slot *slot,
				  const struct sample *s, u32 cpu, u32 at, u64 lost)
{
	const struct read_values *r = &s->read;

	if (!slot->turns)
		return WINDOW_FIRST;
	for (u32 i = 0; i < r->nr; i++)
		if (read_value(r, i) < w->values.v[slot->values + i])
			return WINDOW_BACKWARDS;
	if (!g->per_thread && slot->tid != s->tid)
		return WINDOW_OTHER_THREAD;
	if (throttles_of(w, slot->id) != slot->throttles)
		return WINDOW_THROTTLED;
	if (lost != slot->lost)
		return WINDOW_LOST;
	if (losses_of(w, slot->cpu) != slot->losses || (cpu != slot->cpu && w->all_losses != slot->all_losses))
		return WINDOW_LOST;
	if (was_multiplexed(g, slot, s, at))
		return WINDOW_MULTIPLEXED;
	return was_off(g, slot, s) ? WINDOW_PAUSED : WINDOW_SOUND;
}

/* Of so many windows in a row, how many were short? Long ones come in turn with bursts, and make up the length. */
static u64 shorts_among(const struct window_group *g, u64 n, u64 length)
{
	u64 turn = MAX(1u, g->schedule.batch_count) + 1ull, more = g->usual_long - g->usual_short,
	    longs = (n + turn / 2) / turn;

	if (g->usual_long > g->usual_short)
		longs = length > n * g->usual_short ? (length - n * g->usual_short + more / 2) / more : 0;
	if (g->mode != WINDOWS_SEEN)
		longs = MAX(n / turn, MIN(longs, (n + turn - 1) / turn));
	return n - MIN(longs, n);
}

/*
 * Do the reads of this event count its lost samples? The kernel counts those of inherited events with the parent's,
 * and the children's reads say 0.
 */
static bool counts_lost(const struct evlist *l, u32 event, const struct read_values *r)
{
	return r->has_lost && !(l->events.v[event].attr.flags & ATTR_INHERIT);
}

/*
 * How many short windows are lost in one that LOST records lie in, and nobody knows how many samples of its group are
 * missing, if any. The length tells: a long window that is no longer than others hides none. Periods that follow a
 * frequency differ by more than a short one, so that only whole turns show.
 */
static u32 windows_by_length(const struct window_group *g, u64 length)
{
	u64 s = g->usual_short, burst = MAX(1u, g->schedule.batch_count), l, turn, spread;

	if (g->short_max == UINT64_MAX)
		return (u32)MIN(s ? MAX((length + s / 2) / s, 1ull) : 1, (u64)UINT32_MAX);
	if (length <= g->short_max)
		return 1;
	l = g->usual_long ? g->usual_long : g->nr_long ? g->sum_long / g->nr_long : 0;
	turn = l + burst * s;
	if (!l)
		return 0;
	if (turn < l) /* no such schedule is real */
		return 1;
	spread = g->schedule.period_short && !g->schedule.period_long ? l / 2 : g->schedule.jitter_long / 2 + s / 2;
	if (length < l + spread)
		return 0;
	return (u32)MIN(MAX((length + turn / 2) / turn * burst, 1ull), (u64)UINT32_MAX);
}

/* The same, where gone samples are missing. */
static u32 windows_by_count(const struct window_group *g, u64 length, u64 gone)
{
	gone = MIN(gone, (u64)UINT32_MAX - 1);
	return g->short_max == UINT64_MAX ? (u32)gone + 1 : (u32)shorts_among(g, gone + 1, length);
}

static u32 lost_windows(const struct window_group *g, u64 length, u64 gone, bool counted)
{
	if (gone)
		return windows_by_count(g, length, gone);
	return counted ? length <= g->short_max : windows_by_length(g, length);
}

/* at: which member the sample is of. before: from turn_before. */
static void measure(struct windows *w, struct window_group *g, const struct window_slot *slot, u32 at, u32 before,
		    const struct sample *s, struct window *out)
{
	out->weight = at != ID_NONE && before != ID_NONE ?
			      read_value(&s->read, at) - w->values.v[w->slots.v[before].values + at] :
			      0;
	for (u32 i = 0; i < g->nr; i++) {
		u64 *last = &w->values.v[slot->values + i], now = read_value(&s->read, i);

		out->counts[i] = now - *last;
		*last = now;
	}
	if (before == ID_NONE)
		out->weight = at == ID_NONE ? 0 : out->counts[at];
	out->length = out->fault == WINDOW_FIRST || out->fault == WINDOW_BACKWARDS ? 0 : out->weight;
	out->is_short = out->length && out->length <= g->short_max;
	if (!out->length && g->mode == WINDOWS_TWIN && at != slot->at && out->fault != WINDOW_FIRST &&
	    out->fault != WINDOW_BACKWARDS)
		out->fault = WINDOW_EMPTY; /* whatever else came to it */
	if (!out->length || out->fault == WINDOW_LOST)
		return;
	*(out->is_short ? &g->nr_short : &g->nr_long) += 1;
	*(out->is_short ? &g->sum_short : &g->sum_long) += out->length;
}

bool windows_take(struct windows *w, const struct evlist *l, u32 event, const struct sample *s, struct window *out)
{
	struct window_slot *slot = find_slot(w, l, event, s);
	u32 cpu = s->has & PERF_SAMPLE_CPU ? s->cpu : ID_NONE;
	u32 before = ID_NONE, at;
	struct window_group *g;
	u64 lost;

	if (!slot)
		return false;
	g = &w->groups.v[slot->group];
	at = window_member_of(g, event);
	if (g->per_thread && !g->proven)
		before = turn_before(w, g, slot, s);
	out->group = slot->group;
	out->slot = (u32)(slot - w->slots.v);
	out->turn = slot->turns;
	out->nr = g->nr;
	lost = lost_samples(&s->read);
	out->fault = (u8)fault_of(w, g, slot, s, cpu, at, lost);
	if (out->fault == WINDOW_SOUND && before != ID_NONE)
		out->fault = WINDOW_OTHER_THREAD;
	measure(w, g, slot, at, before, s, out);
	out->lost = 0;
	if (out->fault == WINDOW_LOST)
		out->lost = lost_windows(g, out->length, lost > slot->lost ? lost - slot->lost : 0,
					 counts_lost(l, event, &s->read));
	slot->at = at;
	slot->turns++;
	slot->tid = s->tid;
	slot->cpu = cpu;
	slot->time = s->time;
	slot->enabled = s->read.time_enabled;
	slot->running = s->read.time_running;
	slot->lost = lost;
	slot->throttles = throttles_of(w, slot->id);
	slot->losses = losses_of(w, cpu);
	slot->all_losses = w->all_losses;
	return true;
}

static void forget_values(struct windows *w)
{
	vec_free(&w->slots);
	vec_free(&w->values);
	map_free(&w->by_counters);
	map_free(&w->first_ids);
	map_free(&w->last_threads);
	map_free(&w->throttles);
	map_free(&w->losses);
	w->last_id = 0;
	w->all_throttles = w->all_losses = w->unknown_throttles = w->unknown_losses = 0;
}

void windows_settle(struct windows *w, const struct evlist *l)
{
	forget_values(w);
	w->settled = true;
	for (size_t i = 0; i < w->groups.n; i++) {
		struct window_group *g = &w->groups.v[i];

		settle_group(g, l);
		g->nr_short = g->nr_long = g->sum_short = g->sum_long = 0;
	}
}

void windows_copy_settled(struct windows *to, const struct windows *from)
{
	*to = (struct windows){ .machine = from->machine, .settled = from->settled };
	for (u32 i = 0; i < from->groups.n; i++) {
		const struct window_group *g = &from->groups.v[i];

		vec_push(&to->groups, *g);
		map_set(&to->by_event, g->events[0], i);
		map_set(&to->by_leader, g->leader, i);
	}
}

void windows_join(struct windows *to, const struct windows *from)
{
	for (size_t i = 0; i < from->groups.n; i++) {
		const struct window_group *g = &from->groups.v[i];
		u32 at = map_get(&to->by_leader, g->leader);

		if (at == ID_NONE) {
			map_set(&to->by_event, g->events[0], (u32)to->groups.n);
			map_set(&to->by_leader, g->leader, (u32)to->groups.n);
			vec_push(&to->groups, *g);
			continue;
		}
		to->groups.v[at].nr_short += g->nr_short;
		to->groups.v[at].nr_long += g->nr_long;
		to->groups.v[at].sum_short += g->sum_short;
		to->groups.v[at].sum_long += g->sum_long;
	}
}

bool windows_proven(const struct windows *w)
{
	for (size_t i = 0; i < w->groups.n; i++)
		if (w->groups.v[i].per_thread && !w->groups.v[i].proven)
			return false;
	return true;
}

void windows_free(struct windows *w)
{
	forget_values(w);
	vec_free(&w->groups);
	map_free(&w->by_event);
	map_free(&w->by_leader);
}

/* The number that the term `name` has among those between the slashes; false when it is not there. */
static bool term(const char *text, const char *name, u64 *value)
{
	size_t len = strlen(name);

	for (const char *at = strchr(text, '/'); at; at = strpbrk(at, ",/")) {
		at++;
		if (!strncmp(at, name, len) && at[len] == '=' && at[len + 1] >= '0' && at[len + 1] <= '9') {
			*value = strtoull(at + len + 1, NULL, 0);
			return true;
		}
	}
	return false;
}

bool window_schedule_of(const char *name, struct schedule *out)
{
	struct schedule s = { .batch_count = 1 };
	u64 burst = 1;

	if (!term(name, "alt-period", &s.period_short) || !s.period_short || s.period_short > UINT32_MAX)
		return false;
	if (term(name, "burst", &burst) && burst && burst <= UINT32_MAX)
		s.batch_count = (u32)burst;
	(void)term(name, "period", &s.period_long);
	if (strstr(name, "period-jitter=full"))
		s.jitter_long = s.period_long ? s.period_long : SCHEDULE_JITTER_FULL;
	else
		(void)term(name, "period-jitter", &s.jitter_long);
	(void)term(name, "alt-period-jitter", &s.jitter_short);
	*out = s;
	return true;
}
