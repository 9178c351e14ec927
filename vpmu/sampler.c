/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: what the kernel's perf core does between a counter that overflows and a record in the ring.
 *
 * Periods. A period ends at the operation whose cost brings the count to it; the next one begins at the count that was
 * aimed at, not at the count that was reached, so that on average nothing is lost. Only when one operation costs more
 * than a whole further period (a cache miss within a window of 50 cycles) that period is skipped and the next one
 * begins where the count stands: a counter overflows once per interrupt. PERF_SAMPLE_PERIOD is the length of the
 * period that ended. Lengths come from the event's schedule, or, by frequency, from vpmu/rate.h; there a schedule's
 * long period is what is left of the turn when its short ones are taken off, and only the end of a long period (and
 * the clock's tick) trains the rate. Threads and processes inherit the period that their process has come to.
 *
 * When a sample is taken. Normally at once: ip, chain and read values are those of the operation, which is better than
 * any hardware. With skid it is taken some instructions later, with registers or stack at the entry of the next block
 * (only there does QEMU know them), and all that is in it is from that moment; but no later than the syscall that the
 * thread leaves for. An overflow of an event whose sample still waits is merged into it, as interrupts are.
 *
 * Precise events (precise_ip of 2 and 3) do not skid.
 *
 * Throttling. Time is cut into ticks of 4 ms (the kernel's at 250 Hz), of the thread's own clock. An event that has
 * taken its share of the limit within one is stopped with its whole group, so that the values of the members still
 * belong together, and goes on at the next tick in the middle of the period it was in.
 *
 * Standing still. Events of a thread that waits for its virtual CPU, that are throttled or not enabled yet keep their
 * value and the place in their period, and `base` is set anew when they go on. The same state, saved, follows a thread
 * through exec: a sampled event does not start again there.
 *
 * Time. A thread's clock goes on while it waits for others (it catches up with the newest record of theirs). Times
 * that events were enabled, and frequencies, are about the time that it ran, as in the kernel.
 *
 * The clock's tick is an entry of the armed list on VC_TIME_NS, armed only when something waits for it: the end of the
 * delay, a throttled event, or a frequency to be kept.
 */
#include "vpmu/sampler.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/random.h"
#include "vpmu/branch_regs.h"

#define TOTALS_EVERY 65536 /* instructions: what the totals of a killed thread may lack */
#define TICK_NS 4000000ull
#define TICKS_PER_SECOND 250
#define NEVER UINT64_MAX
#define EVENT_TICK 0xff /* in armed.event */
#define EVENT_QUANTUM 0xfe
#define EVENT_LATE 0x80 /* the same, with an event's number: its late sample is due */
#define FAR_OFF 8	/* periods; what is left of one that is longer than so many new ones is cut short */
#define PRECISE 2	/* precise_ip from which on samples do not skid */

static const struct vpmu_event *event_of(const struct vthread *t, u32 i)
{
	return &t->sampler->control->events[i];
}

static bool by_frequency(const struct vpmu_event *v)
{
	return v->attr.flags & ATTR_FREQ && v->attr.sample_period;
}

static bool takes_samples(const struct vpmu_event *v)
{
	return v->count != VC_NONE && (v->schedule.period_long || v->attr.sample_period);
}

/* Only the first thread has an event that is not inherited. */
static bool exists_here(const struct vthread *t, const struct vpmu_event *v)
{
	if (v->attr.flags & ATTR_EXCLUDE_USER)
		return false;
	return t->first || v->attr.flags & ATTR_INHERIT || t->sampler->control->options.cpus;
}

/* --- periods --- */

static u64 next_period(const struct vpmu_event *v, struct sampler_event *e)
{
	struct schedule s = v->schedule;

	if (!s.period_long && !by_frequency(v))
		return v->attr.sample_period;
	if (by_frequency(v)) {
		u64 shorts = s.period_short * s.batch_count;

		s.period_long = e->rate.period > shorts ? e->rate.period - shorts : 1;
	}
	return schedule_next(&s, &e->turn);
}

static void arm(struct vthread *t, u32 event)
{
	const struct sampler_event *e = &t->sampler->state.events[event];
	u8 place = t->sampler->armed[event];

	if (place != NOT_ARMED)
		core_armed(t)[place].at = e->counts && !e->ended ? e->base + e->begun + e->period : NEVER;
}

static void event_start(struct vthread *t, u32 event)
{
	struct sampler_event *e = &t->sampler->state.events[event];

	if (e->counts)
		return;
	e->counts = true;
	e->base = t->counts[event_of(t, event)->count] - e->value;
	arm(t, event);
}

static void event_stop(struct vthread *t, u32 event)
{
	struct sampler_event *e = &t->sampler->state.events[event];

	e->value = sampler_value(t, event);
	e->counts = false;
	arm(t, event);
}

static void train(struct vthread *t, u32 event, u64 value)
{
	struct rate *r = &t->sampler->state.events[event].rate;

	rate_train(r, event_of(t, event)->attr.sample_period, sampler_elapsed(t), value);
	atomic_store_explicit(&t->process->rates[event], r->period, memory_order_relaxed);
}

/* The period that the count has reached the end of gives way to the next. Returns its length. */
static u64 period_end(struct vthread *t, u32 event)
{
	const struct vpmu_event *v = event_of(t, event);
	struct sampler_event *e = &t->sampler->state.events[event];
	u64 value = sampler_value(t, event), ended = e->period;

	if (by_frequency(v) && !e->turn.in_short)
		train(t, event, value);
	e->begun += ended;
	e->period = next_period(v, e);
	if (e->begun + e->period <= value)
		e->begun = value;
	arm(t, event);
	return ended;
}

/* --- the clock's tick --- */

static void arm_tick(struct vthread *t)
{
	struct sampler *s = t->sampler;
	const struct vpmu_options *o = &s->control->options;
	u64 clock = sampler_clock(t), next = NEVER;

	for (u32 i = 0; i < s->control->nr_events && s->state.enabled; i++)
		if (s->armed[i] != NOT_ARMED && (s->state.events[i].throttled || by_frequency(event_of(t, i))))
			next = (clock / TICK_NS + 1) * TICK_NS;
	if (!s->state.enabled)
		next = MAX(o->delay_ns, clock + 1);
	core_armed(t)[s->tick].at = next == NEVER ? NEVER : t->counts[VC_TIME_NS] + (next - clock);
}

static void enable(struct vthread *t)
{
	struct sampler_state *s = &t->sampler->state;

	s->enabled = true;
	s->since_ns = sampler_busy(t);
	for (u32 i = 0; i < t->sampler->control->nr_events; i++) {
		const struct vpmu_event *v = event_of(t, i);
		struct sampler_event *e = &s->events[i];

		if (!exists_here(t, v))
			continue;
		rate_start(&e->rate, atomic_load_explicit(&t->process->rates[i], memory_order_relaxed), 0, 0);
		schedule_start(&e->turn, t->sampler->control->options.seed ^ (u64)t->tid << 32 ^ i);
		if (takes_samples(v))
			e->period = next_period(v, e);
		event_start(t, i);
	}
}

static void unthrottle(struct vthread *t, u32 leader)
{
	const struct sampler *s = t->sampler;

	sampler_put_throttle(t, leader, true);
	for (u32 i = 0; i < s->control->nr_events; i++) {
		if (event_of(t, i)->leader != leader)
			continue;
		t->sampler->state.events[i].throttled = false;
		event_start(t, i);
	}
}

/* Keeps the frequency of an event whose samples no longer come: the kernel does this at its tick too. */
static void adjust_rate(struct vthread *t, u32 event)
{
	struct sampler_event *e = &t->sampler->state.events[event];
	u64 value = sampler_value(t, event), left = e->begun + e->period - value;

	train(t, event, value);
	if (e->turn.in_short || left / FAR_OFF <= e->rate.period)
		return;
	e->period = value + e->rate.period - e->begun;
	arm(t, event);
}

static void tick(struct vthread *t)
{
	struct sampler *s = t->sampler;

	if (!s->state.enabled && sampler_clock(t) >= s->control->options.delay_ns)
		enable(t);
	for (u32 i = 0; i < s->control->nr_events; i++) {
		const struct sampler_event *e = &s->state.events[i];

		if (e->throttled && event_of(t, i)->leader == i && e->tick != sampler_clock(t) / TICK_NS)
			unthrottle(t, i);
		else if (e->counts && s->armed[i] != NOT_ARMED && by_frequency(event_of(t, i)))
			adjust_rate(t, i);
	}
	arm_tick(t);
}

static void throttle(struct vthread *t, u32 leader)
{
	struct sampler *s = t->sampler;

	sampler_put_throttle(t, leader, false);
	s->state.events[leader].tick = sampler_clock(t) / TICK_NS;
	for (u32 i = 0; i < s->control->nr_events; i++) {
		if (event_of(t, i)->leader != leader)
			continue;
		event_stop(t, i);
		s->state.events[i].throttled = true;
	}
	arm_tick(t);
}

/* Counts the interrupt; the last that this tick allows stops the group (its sample is still taken). */
static void account(struct vthread *t, u32 event)
{
	struct sampler_event *e = &t->sampler->state.events[event];
	u32 limit = t->sampler->control->options.throttle, share = (limit + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND;
	u64 now = sampler_clock(t) / TICK_NS;

	if (!limit || e->throttled)
		return;
	if (e->tick != now) {
		e->tick = now;
		e->in_tick = 0;
	}
	if (++e->in_tick >= share)
		throttle(t, event_of(t, event)->leader);
}

/* --- samples --- */

/* As if the ring had no room for it. */
static bool dropped(struct vthread *t, u32 event)
{
	struct sampler_state *s = &t->sampler->state;
	const struct vpmu_options *o = &t->sampler->control->options;
	u64 turn = o->lose_every ? s->seen++ % o->lose_every : 0;

	if (!o->lose_every || turn + o->lose_count < o->lose_every)
		return false;
	s->events[event].lost++;
	s->lost++;
	return true;
}

static void tell_lost(struct vthread *t, u32 event)
{
	if (t->sampler->state.lost)
		sampler_put_lost(t, event, t->sampler->state.lost);
	t->sampler->state.lost = 0;
}

/* A thread that has waited for others goes on at their time. */
static void catch_up(struct vthread *t)
{
	u64 behind = tasks_time(t) - sampler_clock(t);

	t->time_base += behind;
	if (behind)
		arm_tick(t);
}

static void take(struct vthread *t, u32 event, u64 period, const struct core_at *at, bool exact)
{
	struct sampler *s = t->sampler;
	struct sampler_event *e = &s->state.events[event];
	const struct vpmu_event *v = event_of(t, event);

	catch_up(t);
	account(t, event);
	if (t->branches)
		branch_regs_interrupt(t->branches, t->counts[VC_SLOTS]);
	if (!dropped(t, event)) {
		tell_lost(t, event);
		sampler_put_sample(t, event, period, at, exact);
	}
	if (v->limit && ++e->taken == v->limit) {
		e->ended = true;
		arm(t, event);
	}
	if (s->control->options.interrupt_cycles) {
		u64 cost = core_ns(t, s->control->options.interrupt_cycles);

		t->time_base += cost;
		s->interrupts_ns += cost;
		arm_tick(t);
	}
}

static void take_waiting(struct vthread *t, u32 event, const struct core_at *at)
{
	struct sampler_event *e = &t->sampler->state.events[event];

	if (!e->waits)
		return;
	e->waits = false;
	if (t->sampler->late[event] != NOT_ARMED)
		core_armed(t)[t->sampler->late[event]].at = NEVER;
	take(t, event, e->wait_period, at, false);
}

/* Instructions between the overflow and the sample. */
static u64 draw_skid(struct vthread *t, u32 event)
{
	const struct vpmu_options *o = &t->sampler->control->options;
	u64 range = o->skid_max >= o->skid_min ? o->skid_max - o->skid_min + 1 : 1;

	if (t->sampler->late[event] == NOT_ARMED)
		return 0;
	return o->skid_min + random_below(&t->sampler->state.random, range);
}

static void overflow(struct vthread *t, u32 event, const struct core_at *at)
{
	struct sampler_event *e = &t->sampler->state.events[event];
	u64 period = period_end(t, event), skid;

	if (vpmu_is_spe(&event_of(t, event)->attr)) {
		catch_up(t);
		sampler_put_operation(t, event, at);
		return;
	}
	if (e->waits)
		return;
	skid = draw_skid(t, event);
	if (!skid && !sampler_wants_registers(t, event)) {
		take(t, event, period, at, true);
		return;
	}
	e->waits = true;
	e->wait_period = period;
	if (skid)
		core_armed(t)[t->sampler->late[event]].at = t->counts[VC_INSTRUCTIONS] + skid;
	else
		t->sampler_waits = true;
}

static void late(struct vthread *t, u32 event, const struct core_at *at)
{
	core_armed(t)[t->sampler->late[event]].at = NEVER;
	if (sampler_wants_registers(t, event))
		t->sampler_waits = true;
	else
		take_waiting(t, event, &(struct core_at){ .pc = at->pc });
}

/* The thread has been on its virtual CPU for as long as it may while others wait. */
static void quantum(struct vthread *t, struct armed *a)
{
	a->at = t->counts[VC_CYCLES] + t->sampler->control->options.quantum;
	t->leaves = t->sampler_waits = true;
}

void sampler_overflow(struct vthread *t, struct armed *a, const struct core_at *at)
{
	if (t->sampler->control->options.totals_only) {
		tasks_keep_totals(t);
		a->at = t->counts[VC_INSTRUCTIONS] + TOTALS_EVERY;
	} else if (a->event == EVENT_TICK)
		tick(t);
	else if (a->event == EVENT_QUANTUM)
		quantum(t, a);
	else if (a->event & EVENT_LATE)
		late(t, a->event & ~EVENT_LATE, at);
	else
		overflow(t, a->event, at);
}

void sampler_entry(struct vthread *t, u64 pc)
{
	const struct sampler *s = t->sampler;

	t->sampler_waits = false;
	for (u32 i = 0; i < s->control->nr_events; i++) {
		/* One that still skids has its entry armed. */
		if (s->late[i] == NOT_ARMED || core_armed(t)[s->late[i]].at == NEVER)
			take_waiting(t, i, &(struct core_at){ .pc = pc });
	}
}

void sampler_leave(struct vthread *t, u64 pc)
{
	t->sampler_waits = false;
	for (u32 i = 0; i < t->sampler->control->nr_events; i++)
		take_waiting(t, i, &(struct core_at){ .pc = pc });
}

/* --- life --- */

static u8 arm_new(struct vthread *t, u8 count, u8 event)
{
	core_armed(t)[t->sampler->nr_armed] = (struct armed){ .count = count, .event = event, .at = NEVER };
	return (u8)t->sampler->nr_armed++;
}

/* Overflows stand before late samples, so that at one operation those that are due are seen in the events' order. */
static void make_armed_list(struct vthread *t)
{
	struct sampler *s = t->sampler;
	bool skid = s->control->options.skid_max;

	for (u32 i = 0; i < s->control->nr_events; i++) {
		const struct vpmu_event *v = event_of(t, i);
		bool sampled = takes_samples(v) && exists_here(t, v);

		s->armed[i] = sampled ? arm_new(t, (u8)v->count, (u8)i) : NOT_ARMED;
	}
	for (u32 i = 0; i < s->control->nr_events; i++) {
		bool late_one = skid && s->armed[i] != NOT_ARMED && attr_precise_ip(&event_of(t, i)->attr) < PRECISE &&
				!vpmu_is_spe(&event_of(t, i)->attr);

		s->late[i] = late_one ? arm_new(t, VC_INSTRUCTIONS, (u8)(EVENT_LATE | i)) : NOT_ARMED;
	}
	s->tick = arm_new(t, VC_TIME_NS, EVENT_TICK);
	s->quantum = s->control->options.cpus ? arm_new(t, VC_CYCLES, EVENT_QUANTUM) : NOT_ARMED;
}

static void state_start(struct vthread *t)
{
	struct sampler *s = t->sampler;

	s->state.begun = true;
	s->state.random = s->control->options.seed ^ (u64)t->tid << 32 ^ EVENT_TICK;
	if (sampler_clock(t) >= s->control->options.delay_ns)
		enable(t);
	arm_tick(t);
	core_set_armed(t, s->nr_armed); /* what they wait for has changed outside of an overflow */
}

void sampler_free(struct vthread *t)
{
	if (t->sampler)
		sampler_layouts_free(t->sampler);
	free(t->sampler);
	t->sampler = NULL;
	t->sampler_waits = false;
}

void sampler_start(struct vthread *t)
{
	struct sampler *s = mem_zalloc(sizeof(*s));

	sampler_free(t); /* of the parent, after a fork */

	s->control = t->process->control;
	t->sampler = s;
	if (s->control->options.totals_only) {
		*core_armed(t) =
			(struct armed){ VC_INSTRUCTIONS, EVENT_TICK, t->counts[VC_INSTRUCTIONS] + TOTALS_EVERY };
		core_set_armed(t, 1);
		return;
	}
	sampler_layouts(s);
	if (t->carried.events)
		t->first = t->carried.events->first;
	make_armed_list(t);
	if (s->control->options.cpus)
		core_set_armed(t, 0); /* until it has a CPU: its events are that one's */
	else if (t->carried.events)
		sampler_load(t, t->carried.events);
	else
		state_start(t);
	free(t->carried.events);
	t->carried.events = NULL;
}

void sampler_stop(struct vthread *t)
{
	struct sampler *s = t->sampler;

	if (!s)
		return;
	sampler_flush_operations(t);
	for (u32 i = 0; i < s->control->nr_events && !s->control->options.totals_only && !s->control->options.cpus;
	     i++) {
		const struct vpmu_event *v = event_of(t, i);

		/* The kernel adds what a child counted to its parent, and says so when asked. */
		if (!t->first && v->attr.flags & ATTR_INHERIT_STAT && exists_here(t, v))
			sampler_put_read(t, i);
		tell_lost(t, i);
		if (s->state.events[i].lost && v->attr.read_format & PERF_READ_LOST)
			sampler_put_lost_samples(t, i, s->state.events[i].lost);
	}
	core_set_armed(t, 0);
	sampler_free(t);
}

void sampler_save(struct vthread *t, struct sampler_state *to)
{
	struct sampler *s = t->sampler;
	size_t used = offsetof(struct sampler_state, events) + s->control->nr_events * sizeof(struct sampler_event);

	if (!s->layouts) /* totals only */
		return;
	for (u32 i = 0; i < s->control->nr_events; i++)
		event_stop(t, i);
	s->state.first = t->first;
	core_armed(t)[s->tick].at = NEVER;
	if (s->quantum != NOT_ARMED)
		core_armed(t)[s->quantum].at = NEVER;
	core_set_armed(t, s->nr_armed);
	s->state.elapsed_ns = sampler_elapsed(t);
	memcpy(to, &s->state, used);
}

void sampler_load(struct vthread *t, const struct sampler_state *from)
{
	struct sampler *s = t->sampler;
	size_t used = offsetof(struct sampler_state, events) + s->control->nr_events * sizeof(struct sampler_event);

	if (s->quantum != NOT_ARMED)
		core_armed(t)[s->quantum].at = t->counts[VC_CYCLES] + s->control->options.quantum;
	if (!from->begun) {
		memset(&s->state, 0, sizeof(s->state));
		state_start(t);
		return;
	}
	memcpy(&s->state, from, used);
	s->state.since_ns = sampler_busy(t);
	for (u32 i = 0; i < s->control->nr_events; i++)
		if (s->state.enabled && exists_here(t, event_of(t, i)) && !s->state.events[i].throttled)
			event_start(t, i);
	arm_tick(t);
	core_set_armed(t, s->nr_armed);
}
