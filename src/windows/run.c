/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problem. Twins cannot be inherited: all counters of a child begin at once, so the distance between the two leaders
 * is lost. Kernels before 6.12 cannot inherit group reads at all.
 *
 * Windows that the kernel makes itself (native) have neither problem: their events are inherited as others are.
 *
 * Design. Each task has its own counters. An event that counts nothing is inherited on all CPUs and carries the
 * side-band; its ring wakes the recorder at each record, so a task has counters within a fraction of a millisecond
 * after its FORK. The program is not stopped for that (ptrace could do it, at each clone, but would lock out
 * debuggers).
 *
 * The first task of a command arms itself before its exec. Later ones are armed while they run: clocks by watching the
 * counter, hardware counters by a few hundred single steps, because nothing else is fine enough. A task that sleeps is
 * left alone, and tried again, less and less often as long as it has no samples. Until it is armed it is sampled
 * without windows. windows/state.c decides when a task is armed.
 *
 * Edge cases. Tasks that end before they have counters are counted (missed). After throttling, kernels restart the
 * twins without the distance, or only one of them; they are armed again. The distance is checked in each window; if it
 * is lost for other reasons, the twins are armed again, too. Clocks lose it all the time, because each switch of a
 * task starts, and stops, the timers of its twins one after the other. As long as windows are too long, the rings are
 * read often and the twins are armed again.
 */
#include "windows/run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/sample.h"

#define TASK_RING_BYTES (256u << 10)
#define MANY_TASKS 256	     /* more have smaller rings */
#define TURN_MS 2	     /* of arming, before rings are emptied again */
#define LET_GO_NS 2000000000 /* at the end, before programs are left to a trap that may end them */

static int fd_of(const struct window_run *w, u32 event, size_t place)
{
	return w->set->events.v[event].on.v[w->states.places.v[place].on].fd;
}

static u64 id_of(const struct window_run *w, u32 event, size_t place)
{
	return w->set->events.v[event].on.v[w->states.places.v[place].on].id;
}

/* --- what flows past --- */

static u64 leader_value(const struct sample *s, u64 first_id)
{
	for (u32 i = 0; i < s->read.nr; i++)
		if (read_id(&s->read, i) == first_id)
			return read_value(&s->read, i);
	return s->read.nr ? read_value(&s->read, 0) : 0;
}

static struct window_pair pair_of(const struct window_run *w, size_t place, const struct window_group_run *g)
{
	return (struct window_pair){ fd_of(w, g->first, place), fd_of(w, g->second, place), g->period, g->length,
				     g->clock };
}

static void look_at_sample(void *ctx, const u8 *record, u16 size)
{
	struct window_run *w = ctx;
	u32 event = evlist_find(w->events, record, size, true, false), at;
	const struct window_group_run *g;
	struct sample sample;
	u64 length;

	if (event >= w->events->events.n ||
	    sample_decode(&w->events->events.v[event].layout, cursor_over(record, size, false), &sample))
		return;
	at = map_get(&w->by_id, sample.id);
	if (at == ID_NONE)
		return;
	g = &w->states.groups.v[at / 2 % w->states.groups.n];
	/* Inherited events have the values of each task by itself, but samples say their periods. */
	if (w->states.how == WINDOW_NATIVE && sample.period) {
		if (sample.period <= g->short_max)
			window_stats_add(w->stats, sample.period);
		return;
	}
	if (window_states_sample(&w->states, at / 2, at & 1,
				 leader_value(&sample, id_of(w, g->first, at / 2 / w->states.groups.n)), clock_ms(),
				 &length))
		window_stats_add(w->stats, length);
}

static void be_born(struct window_run *w, struct target_task task)
{
	u32 *known = map_at(&w->tids, (u32)task.tid, 0);

	if (*known)
		return;
	*known = 1;
	vec_push(&w->born, task);
}

static void look_at_other(void *ctx, const struct record *r)
{
	struct window_run *w = ctx;
	u32 at;

	if (r->h.type == PERF_RECORD_FORK && w->follows)
		be_born(w, (struct target_task){ (s32)r->task.pid, (s32)r->task.tid });
	if (r->h.type != PERF_RECORD_THROTTLE)
		return;
	at = map_get(&w->by_id, r->throttle.id);
	if (at != ID_NONE)
		window_states_throttle(&w->states, at / 2, clock_ms());
}

/* --- places --- */

static void add_place(struct window_run *w, const struct opened *o, size_t on)
{
	struct window_place p = { .task = o->task, .cpu = o->cpu, .on = on };
	u32 place = (u32)w->states.places.n;

	window_states_add(&w->states, &p);
	for (u32 g = 0; g < w->states.groups.n; g++) {
		u32 key = (place * (u32)w->states.groups.n + g) * 2;

		if (w->states.groups.v[g].second != w->states.groups.v[g].first)
			map_set(&w->by_id, id_of(w, w->states.groups.v[g].second, place), key + 1);
		map_set(&w->by_id, id_of(w, w->states.groups.v[g].first, place), key);
	}
	if (o->task.tid >= 0)
		map_set(&w->tids, (u32)o->task.tid, 1);
}

static void find_groups(struct window_run *w)
{
	for (u32 e = 0; e < w->set->events.n; e++) {
		const struct open_event *leader = &w->set->events.v[e];
		struct window_group_run g = { .first = e, .second = e, .period = leader->attr.sample_period };

		if (!leader->spec || !leader->spec->windowed)
			continue;
		for (u32 i = e + 1; i < w->set->events.n; i++)
			if (w->set->events.v[i].leader == e && w->set->events.v[i].spec &&
			    w->set->events.v[i].spec->twin)
				g.second = i;
		g.clock = window_is_clock(&leader->attr);
		g.length = leader->schedule.period_short ? leader->schedule.period_short : leader->attr.sample_period;
		g.short_max = schedule_short_max(&leader->schedule);
		g.jitter = leader->schedule.jitter_short;
		g.burst = MAX(leader->schedule.batch_count, 1u);
		vec_push(&w->states.groups, g);
	}
}

static int make_timer(struct window_run *w)
{
	w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return w->timer >= 0 ? 0 : notify_error(w->notify, ERR_IO, "cannot make a timer: %s", strerror(errno));
}

int window_run_begin(struct window_run *w, enum window_how how, struct event_set *set, struct evlist *events,
		     u64 interval_ns, const struct notify *to)
{
	*w = (struct window_run){ .states.how = how, .set = set, .events = events, .notify = to, .timer = -1 };
	w->tap = (struct flow_tap){ look_at_sample, look_at_other, w };
	w->interval_ns = interval_ns;
	w->random = clock_ns();
	w->follows = set->follows;
	w->stats = mem_zalloc(sizeof(*w->stats));
	find_groups(w);
	for (size_t i = 0; w->states.groups.n && i < set->events.v[w->states.groups.v[0].first].on.n; i++)
		add_place(w, &set->events.v[w->states.groups.v[0].first].on.v[i], i);
	if (set->follows)
		event_set_raise_files();
	return how == WINDOW_REFRESH ? make_timer(w) : 0;
}

/* --- twins --- */

void window_run_pairs(struct window_run *w, struct window_pairs *out)
{
	out->n = 0;
	for (size_t g = 0; g < w->states.groups.n && w->states.places.n && out->n < WINDOW_PAIRS; g++)
		out->pair[out->n++] = pair_of(w, 0, &w->states.groups.v[g]);
}

/* From that CPU itself, whose counters count us then. */
static enum window_armed arm_cpu(s32 cpu, const struct window_pair *pair)
{
	cpu_set_t before, there;
	enum window_armed armed = WINDOW_ASLEEP;

	CPU_ZERO(&there);
	CPU_SET((u32)cpu, &there);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before))
		return armed;
	if (!sched_setaffinity(0, sizeof(there), &there)) {
		armed = window_arm_here(pair);
		sched_setaffinity(0, sizeof(before), &before);
	}
	return armed;
}

static enum window_armed arm(struct window_run *w, size_t place, size_t group)
{
	struct window_place *p = &w->states.places.v[place];
	const struct window_group_run *g = &w->states.groups.v[group];
	struct window_pair pair = pair_of(w, place, g);
	bool seized = window_states_at(&w->states, place, group)->armed == WINDOW_STOPPING;

	if (p->task.tid < 0)
		return arm_cpu(p->cpu, &pair);
	if (window_states_only_watch(&w->states, place, group, clock_ms()))
		return window_arm_watched(p->task.tid, &pair);
	p->stepped_ms = clock_ms();
	return window_arm_stepped(p->task.tid, p->task.tid == w->child, &pair, seized);
}

static void tell_forbidden(struct window_run *w, const struct window_place *p)
{
	if (!w->told_forbidden)
		notify_warn(w->notify,
			    "thread %d may not be traced, so it has no windows (CAP_SYS_PTRACE allows tracing, "
			    "and mode=refresh does not need it)",
			    p->task.tid);
	w->told_forbidden = true;
}

/*
 * While a group is armed, the others of its place make room on the hardware: in turns with them its counters would
 * stand still half of the time. Switching off a leader switches its group off as one, and so it comes back: the
 * distance of its twins stays.
 */
static void keep_quiet(const struct window_run *w, size_t place, size_t but, bool quiet)
{
	for (size_t g = 0; g < w->states.groups.n; g++)
		if (g != but)
			ioctl(fd_of(w, w->states.groups.v[g].first, place),
			      quiet ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

static void arm_state(struct window_run *w, size_t place, size_t group)
{
	const struct window_group_run *g = &w->states.groups.v[group];
	enum window_armed armed = WINDOW_ASLEEP;

	if (window_states_may_arm(&w->states, place, group)) {
		if (!g->clock)
			keep_quiet(w, place, group, true);
		armed = arm(w, place, group);
		if (!g->clock && armed != WINDOW_SEIZED)
			keep_quiet(w, place, group, false);
	}
	if (armed == WINDOW_FORBIDDEN && !g->clock)
		tell_forbidden(w, &w->states.places.v[place]);
	window_states_settle(&w->states, place, group, armed,
			     armed == WINDOW_ARMED ? window_count(fd_of(w, g->first, place)) : 0, clock_ms());
}

/* --- the run --- */

/* Leaders that make no windows, and those that need no arming. */
static void switch_on(const struct window_run *w, size_t place)
{
	for (u32 e = 0; e < w->set->events.n; e++) {
		const struct open_event *event = &w->set->events.v[e];
		bool by_hand = event->spec && event->spec->windowed &&
			       (w->states.how == WINDOW_TWIN || w->states.how == WINDOW_REFRESH);

		if (event->spec && event->leader == e && !by_hand)
			ioctl(fd_of(w, e, place), PERF_EVENT_IOC_ENABLE, 0);
	}
}

/* Until the next burst: as long as a long period takes, with the jitter of the first group's. */
static void start_timer(struct window_run *w)
{
	const struct schedule *s = &w->set->events.v[w->states.groups.v[0].first].spec->schedule;
	u64 width = schedule_width(s->jitter_long, s->period_long);
	u64 of_interval = s->period_long ? (u64)((double)w->interval_ns / (double)s->period_long * (double)width) : 0;
	u64 ns = schedule_draw(w->interval_ns, of_interval, &w->random);
	struct itimerspec spec = { .it_value = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) } };

	timerfd_settime(w->timer, 0, &spec, NULL);
}

static void start_place(struct window_run *w, size_t place, bool armed)
{
	if (!armed)
		switch_on(w, place);
	/* It samples without windows until it has its turn. */
	for (size_t g = 0; g < w->states.groups.n && w->states.how == WINDOW_TWIN && !armed; g++)
		ioctl(fd_of(w, w->states.groups.v[g].first, place), PERF_EVENT_IOC_ENABLE, 0);
	window_states_start(&w->states, place, armed, clock_ms());
}

void window_run_start(struct window_run *w, bool own, pid_t child)
{
	w->started = true;
	w->child = child;
	w->states.drift_ms = clock_ms();
	/* The kernel's own are inherited: all places are the command's, and exec switches them on. */
	for (size_t i = 0; i < w->states.places.n; i++)
		start_place(w, i, own && (!i || w->states.how == WINDOW_NATIVE));
	/* The event that follows mmaps. */
	for (size_t e = 0; e < w->set->events.n && !own; e++)
		for (size_t i = 0; !w->set->events.v[e].spec && i < w->set->events.v[e].on.n; i++)
			ioctl(w->set->events.v[e].on.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	if (w->timer >= 0)
		start_timer(w);
}

static u32 ring_pages(const struct window_run *w)
{
	u32 bytes = w->states.places.n > MANY_TASKS ? TASK_RING_BYTES / 4 : TASK_RING_BYTES;

	return MIN(MAX(bytes / (u32)sysconf(_SC_PAGESIZE), 1u), w->set->ring_pages);
}

/* Why a task that lives has no counters; said once. */
static void tell_limit(struct window_run *w, struct target_task task, int failed)
{
	if (!w->told_limit)
		notify_warn(w->notify, "thread %d and perhaps others are left out: %s (%s)", task.tid,
			    strerror(failed),
			    failed == EMFILE			? "ulimit -n, or --no-window" :
			    failed == EACCES || failed == EPERM ? "it has rights that this user lacks" :
								  "--no-window needs fewer counters");
	w->told_limit = true;
}

static void open_born(struct window_run *w, const struct window_turn *turn)
{
	for (size_t i = 0; i < w->born.n; i++) {
		size_t on = event_set_add_task(w->set, w->born.v[i], ring_pages(w));

		if (on == EVENT_SET_NOWHERE) {
			w->missed++;
			if (errno != ESRCH)
				tell_limit(w, w->born.v[i], errno);
			continue;
		}
		for (u32 e = 0; e < w->set->events.n; e++)
			if (w->set->events.v[e].spec)
				evlist_add_id(w->events, e, w->set->events.v[e].on.v[on].id);
		add_place(w, &w->set->events.v[0].on.v[on], on);
		turn->late(turn->ctx, w->set->events.v[0].on.v[on].ring);
		if (w->started)
			start_place(w, w->states.places.n - 1, false);
	}
	w->born.n = 0;
}

/* Tasks whose descriptors have all hung up, and whose ring is empty. */
static void close_ended(struct window_run *w, const struct window_turn *turn)
{
	for (size_t i = 0; i < w->states.places.n; i++) {
		const struct watched_ring *ring;
		struct window_place *p = &w->states.places.v[i];
		struct iovec part[2];
		int nr;

		if (p->task.tid < 0 || fd_of(w, 0, i) < 0)
			continue;
		ring = &w->set->rings.v[w->set->events.v[0].on.v[p->on].ring];
		if (ring->live < ring->fds.n || ring_peek(&ring->ring, part, &nr))
			continue;
		event_set_drop_task(w->set, p->on, turn->lost, turn->ctx);
		p->gone = true;
		/* The number may come again. */
		map_set(&w->tids, (u32)p->task.tid, 0);
	}
}

void window_run_turn(struct window_run *w, const struct window_turn *turn)
{
	u64 begin;

	if (w->follows)
		open_born(w, turn);
	if (w->set->by_task)
		close_ended(w, turn);
	if (!w->started || w->states.how != WINDOW_TWIN)
		return;
	/* On a busy machine it takes long, and rings want to be emptied. */
	begin = clock_ms();
	do {
		size_t next = window_states_next(&w->states, clock_ms());

		if (next == w->states.of.n)
			break;
		arm_state(w, next / w->states.groups.n, next % w->states.groups.n);
	} while (clock_ms() - begin < TURN_MS);
}

/* All windows of the burst that comes have the length that is drawn here. */
static void draw_length(struct window_run *w, int fd, const struct window_group_run *g)
{
	u64 period = schedule_draw(g->length, g->jitter, &w->random);

	if (g->jitter)
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

static void let_loose(struct window_run *w, size_t place, size_t group, u64 now)
{
	const struct window_group_run *g = &w->states.groups.v[group];
	struct window_state *s = window_states_at(&w->states, place, group);
	u32 burst = window_state_burst(s, g, now);

	if (burst)
		draw_length(w, fd_of(w, g->first, place), g);
	if (burst && !ioctl(fd_of(w, g->first, place), PERF_EVENT_IOC_REFRESH, burst))
		s->wanted = g->burst + 1;
}

void window_run_tick(struct window_run *w)
{
	u64 expired, now = clock_ms();

	if (read(w->timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	start_timer(w);
	for (size_t i = 0; i < w->states.places.n && w->started; i++)
		for (size_t g = 0; g < w->states.groups.n && !w->states.places.v[i].gone; g++)
			let_loose(w, i, g, now);
}

int window_run_timeout(const struct window_run *w, int most)
{
	return window_states_timeout(&w->states, most, clock_ms());
}

void window_run_summary(const struct window_run *w, struct window_summary *out)
{
	*out = (struct window_summary){ .how = w->states.groups.n ? w->states.how : WINDOW_AUTO,
					.missed = w->missed,
					.rearmed = w->states.rearmed,
					.places = (u32)w->states.places.n };
	if (!w->states.groups.n)
		return;
	out->asked = w->states.groups.v[0].length;
	out->clock = w->states.groups.v[0].clock;
	out->windows = w->stats->n;
	out->low = window_stats_at(w->stats, 5);
	out->median = window_stats_at(w->stats, 50);
	out->high = window_stats_at(w->stats, 95);
	out->cpus = w->states.places.n && w->states.places.v[0].task.tid < 0;
	for (size_t i = 0; i < w->states.of.n && w->states.how == WINDOW_TWIN; i++)
		out->unarmed += i % w->states.groups.n == 0 && !w->states.of.v[i].ever;
}

/* Returns whether all have been let go. tell: of those that have not. */
static bool let_go(struct window_run *w, u64 until_ns, bool tell)
{
	bool all = true;

	for (size_t i = 0; i < w->states.of.n; i++) {
		const struct window_place *p = &w->states.places.v[i / w->states.groups.n];
		struct window_state *s = &w->states.of.v[i];

		if (s->armed != WINDOW_STOPPING || p->gone)
			continue;
		if (window_let_go(p->task.tid, p->task.tid == w->child, until_ns)) {
			s->armed = WINDOW_OFF;
			continue;
		}
		all = false;
		if (tell)
			notify_warn(w->notify,
				    "thread %d is in a system call that cannot be interrupted, and may get a SIGTRAP "
				    "behind it, because it was about to be armed by single steps",
				    p->task.tid);
	}
	return all;
}

void window_run_let_go(struct window_run *w)
{
	/* All are interrupted first, and then waited for together. */
	if (!let_go(w, 0, false))
		let_go(w, clock_ns() + LET_GO_NS, true);
}

void window_run_end(struct window_run *w)
{
	if (w->timer >= 0)
		close(w->timer);
	window_states_free(&w->states);
	vec_free(&w->born);
	map_free(&w->by_id);
	map_free(&w->tids);
	free(w->stats);
	*w = (struct window_run){ .timer = -1 };
}
