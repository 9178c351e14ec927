/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of a recording with windows: who is armed in which way, what becomes of new tasks, bursts, and what is
 * left to wait for. The kernel is made up: opening, arming and switching only take notes. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "windows/run.h"

#define PERIOD 1000000
#define LENGTH 50000
#define GROUPS 2 /* of two events each, the second of which is the twin: descriptors 100 + 10 * event + place */
#define EVENTS (2 * GROUPS)
#define MOST 64

static struct {
	enum window_armed result; /* of each way to arm */
	u32 here, watched, stepped, seized;
	s32 last_tid;
	bool last_child;
	struct window_pair last;
	u32 let_go;	/* asked, */
	bool goes;	/* and the answer; */
	u32 goes_at;	/* or yes to this one alone */
	u64 until_ns;	/* it was asked to wait */
	int errno_open; /* 0: a new task's events are opened */
	u32 added, last_pages, late, last_ring;
	u32 nr_switched;
	struct {
		int fd;
		unsigned long what;
		u64 arg;
	} switched[MOST];
	u64 timer_ns;
	u32 raised;	  /* limits of open files */
	bool refuses;	  /* any switch */
	bool there_alone; /* arms here were of one CPU, */
	cpu_set_t there;  /* which was this */
	u32 warnings;
	char warning[200];
} kernel;

u64 window_count(int leader)
{
	return 1000u + (u32)leader;
}

bool window_is_wide(const struct window_pair *p, u64 length)
{
	return length > 2 * p->length;
}

static enum window_armed arm_with(const struct window_pair *p, u32 *count)
{
	kernel.last = *p;
	++*count;
	return kernel.result;
}

enum window_armed window_arm_here(const struct window_pair *p)
{
	kernel.there_alone &=
		sched_getaffinity(0, sizeof(kernel.there), &kernel.there) == 0 && CPU_COUNT(&kernel.there) == 1;
	return arm_with(p, &kernel.here);
}

enum window_armed window_arm_watched(pid_t tid, const struct window_pair *p)
{
	kernel.last_tid = tid;
	return arm_with(p, &kernel.watched);
}

enum window_armed window_arm_stepped(pid_t tid, bool child, const struct window_pair *p, bool seized)
{
	kernel.last_tid = tid;
	kernel.last_child = child;
	kernel.seized += seized;
	return arm_with(p, &kernel.stepped);
}

bool window_let_go(pid_t tid, bool child, u64 until_ns)
{
	kernel.last_tid = tid;
	kernel.last_child = child;
	kernel.until_ns = until_ns;
	kernel.let_go++;
	return kernel.goes || kernel.let_go == kernel.goes_at;
}

int ioctl(int fd, unsigned long what, ...)
{
	va_list args;

	va_start(args, what);
	assert_true(kernel.nr_switched < MOST);
	kernel.switched[kernel.nr_switched].fd = fd;
	kernel.switched[kernel.nr_switched].what = what;
	kernel.switched[kernel.nr_switched++].arg =
		what == PERF_EVENT_IOC_PERIOD ? *va_arg(args, u64 *) : (u64)va_arg(args, int);
	va_end(args);
	return kernel.refuses ? -1 : 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *old)
{
	(void)fd, (void)flags, (void)old;
	kernel.timer_ns = (u64)to->it_value.tv_sec * 1000000000 + (u64)to->it_value.tv_nsec;
	return 0;
}

void event_set_raise_files(void)
{
	kernel.raised++;
}

void event_set_drop_task(struct event_set *set, size_t on, void (*fn)(void *ctx, const struct opened *o, u64 lost),
			 void *ctx)
{
	(void)set, (void)on, (void)fn, (void)ctx;
}

static void open_place(struct event_set *set, struct target_task task, s32 cpu)
{
	for (u32 e = 0; e < EVENTS; e++) {
		u32 place = (u32)set->events.v[e].on.n;

		vec_push(&set->events.v[e].on, (struct opened){ .fd = (int)(100 + 10 * e + place),
								.cpu = cpu,
								.task = task,
								.id = 100 + 10 * e + place,
								.ring = 70 + place });
	}
}

size_t event_set_add_task(struct event_set *set, struct target_task task, u32 pages)
{
	kernel.last_pages = pages;
	kernel.added++;
	errno = kernel.errno_open;
	if (kernel.errno_open)
		return EVENT_SET_NOWHERE;
	open_place(set, task, -1);
	return set->events.v[0].on.n - 1;
}

static void late(void *ctx, u32 ring)
{
	(void)ctx;
	kernel.late++;
	kernel.last_ring = ring;
}

static void keep_note(void *ctx, const struct note *note)
{
	(void)ctx;
	kernel.warnings++;
	strncpy(kernel.warning, note->text, sizeof(kernel.warning) - 1);
}

/* How often that was done to a descriptor. */
static u32 times(int fd, unsigned long what)
{
	u32 n = 0;

	for (u32 i = 0; i < kernel.nr_switched; i++)
		n += kernel.switched[i].fd == fd && kernel.switched[i].what == what;
	return n;
}

struct fixture {
	struct event_spec spec[EVENTS];
	struct event_set set;
	struct evlist events;
	struct window_run run;
	struct notify notify;
};

static const struct window_turn turn = { .late = late };

static struct fixture *make(enum window_how how, bool clock, s32 first_tid, s32 cpu)
{
	struct fixture *f = calloc(1, sizeof(*f));

	memset(&kernel, 0, sizeof(kernel));
	f->notify = (struct notify){ keep_note, NULL };
	for (u32 e = 0; e < EVENTS; e++) {
		struct open_event event = { .spec = &f->spec[e], .leader = e / 2 * 2, .cgroup = -1 };

		event.attr = (struct attr){ .type = clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
					    .size = ATTR_SIZE_VER7,
					    .config = clock ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_HW_CPU_CYCLES,
					    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ,
					    .sample_period = PERIOD,
					    .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID };
		event.schedule.period_short = LENGTH;
		event.schedule.jitter_short = e < 2 ? LENGTH / 2 : 0;
		event.schedule.batch_count = 3;
		f->spec[e].windowed = e % 2 == 0;
		f->spec[e].twin = e % 2 == 1;
		evlist_add(&f->events, &event.attr, "event", NULL);
		vec_push(&f->set.events, event);
	}
	f->set.ring_pages = 1000;
	f->set.follows = true;
	open_place(&f->set, (struct target_task){ first_tid, first_tid }, cpu);
	for (u32 e = 0; e < EVENTS; e++)
		evlist_add_id(&f->events, e, f->set.events.v[e].on.v[0].id);
	assert_int_equal(evlist_seal(&f->events, NULL, "test"), 0);
	assert_int_equal(window_run_begin(&f->run, how, &f->set, &f->events, 8 * PERIOD, &f->notify), 0);
	return f;
}

static void drop(struct fixture *f)
{
	window_run_end(&f->run);
	evlist_free(&f->events);
	for (u32 e = 0; e < EVENTS; e++)
		vec_free(&f->set.events.v[e].on);
	vec_free(&f->set.events);
	free(f);
}

static void fork_record(struct fixture *f, u32 tid)
{
	const struct record r = { .h.type = PERF_RECORD_FORK, .task = { .pid = 7, .ppid = 7, .tid = tid, .ptid = 7 } };

	f->run.tap.other(f->run.tap.ctx, &r);
}

/* Hardware counters: the task is stopped, and while one group is armed the others make room. */
static void test_stepped(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, false, 7, -1);

	(void)state;
	window_run_turn(&f->run, &turn); /* nothing before it starts */
	assert_int_equal(kernel.stepped, 0);
	window_run_start(&f->run, false, 7);
	kernel.nr_switched = 0;
	for (u32 i = 0; i < GROUPS; i++)
		window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.stepped, GROUPS);
	assert_true(kernel.last_child && kernel.last_tid == 7);
	assert_int_equal(kernel.last.first, 120);
	assert_int_equal(kernel.last.second, 130);
	assert_true(kernel.last.period == PERIOD && kernel.last.length == LENGTH && !kernel.last.clock);
	for (int first = 100; first <= 120; first += 20) {
		assert_int_equal(times(first, PERF_EVENT_IOC_DISABLE), 1);
		assert_int_equal(times(first, PERF_EVENT_IOC_ENABLE), 1);
	}
	assert_int_equal(window_states_at(&f->run.states, 0, 1)->since, 1120);
	f->run.states.drift_ms = 0;
	assert_int_equal(window_run_timeout(&f->run, 1000), 1000); /* all are armed */
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.stepped, GROUPS);
	drop(f);
}

/* Who may not be traced is told of once; who waits to be stopped keeps the others quiet until then. */
static void test_refused(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, false, 7, -1);

	(void)state;
	kernel.result = WINDOW_FORBIDDEN;
	window_run_start(&f->run, false, 1);
	window_run_turn(&f->run, &turn);
	assert_false(kernel.last_child);
	assert_int_equal(kernel.warnings, 1);
	assert_non_null(strstr(kernel.warning, "thread 7 may not be traced"));
	drop(f);
	f = make(WINDOW_TWIN, false, 7, -1);
	kernel.result = WINDOW_SEIZED;
	window_run_start(&f->run, false, 7);
	kernel.nr_switched = 0;
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.stepped, 1); /* one at a time */
	assert_int_equal(times(120, PERF_EVENT_IOC_DISABLE), 1);
	assert_int_equal(times(120, PERF_EVENT_IOC_ENABLE), 0);
	kernel.result = WINDOW_ARMED;
	for (u32 i = 0; i < 1000 && kernel.stepped < 3; i++) {
		usleep(1000);
		window_run_turn(&f->run, &turn);
	}
	assert_int_equal(kernel.stepped, 3); /* it again, and then the other one */
	assert_int_equal(kernel.seized, 1);
	drop(f);
}

/* Clocks are watched, and nobody has to make room for them. A CPU's are armed from that CPU. */
static void test_clocks(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, true, 7, -1);

	cpu_set_t before;

	(void)state;
	window_run_start(&f->run, false, 7);
	kernel.nr_switched = 0;
	for (u32 i = 0; i < GROUPS; i++)
		window_run_turn(&f->run, &turn);
	assert_true(kernel.watched == GROUPS && !kernel.stepped && kernel.last.clock);
	assert_int_equal(kernel.nr_switched, 0);
	drop(f);
	for (u32 i = 0; i < 2; i++) {
		f = make(WINDOW_TWIN, true, -1, i ? -1 : 1 << 20); /* there is no such CPU */
		window_run_start(&f->run, false, 7);
		window_run_turn(&f->run, &turn);
		assert_int_equal(kernel.here, 0);
		drop(f);
	}
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (s32 cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t after;

		if (!CPU_ISSET((u32)cpu, &before))
			continue;
		f = make(WINDOW_TWIN, true, -1, cpu);
		kernel.there_alone = true;
		window_run_start(&f->run, false, 7);
		for (u32 i = 0; i < GROUPS; i++) /* on a busy machine a turn ends early */
			window_run_turn(&f->run, &turn);
		assert_int_equal(kernel.here, GROUPS);
		assert_true(kernel.there_alone && CPU_ISSET((u32)cpu, &kernel.there));
		assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
		assert_true(CPU_EQUAL(&before, &after)); /* and back */
		drop(f);
	}
}

/* What has its turn is armed at once, as long as that does not take its time. */
static void test_several(void **state)
{
	u32 most = 0;

	(void)state;
	for (u32 i = 0; i < 100 && most < GROUPS; i++) {
		struct fixture *f = make(WINDOW_TWIN, true, 7, -1);

		assert_int_equal(kernel.raised, 1); /* each task takes descriptors */
		window_run_start(&f->run, false, 7);
		window_run_turn(&f->run, &turn);
		most = MAX(most, kernel.watched);
		kernel.raised = 0;
		f->set.follows = false;
		window_run_end(&f->run);
		assert_int_equal(window_run_begin(&f->run, WINDOW_TWIN, &f->set, &f->events, 0, &f->notify), 0);
		assert_int_equal(kernel.raised, 0);
		drop(f);
	}
	assert_int_equal(most, GROUPS);
}

/* A task that was armed by steps is known to have been, and clocks are looked at often when they have begun. */
static void test_known(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, false, 7, -1);
	u64 before = clock_ms();

	(void)state;
	window_run_start(&f->run, false, 7);
	assert_in_range(f->run.states.drift_ms, before, clock_ms());
	window_run_turn(&f->run, &turn);
	assert_in_range(f->run.states.places.v[0].stepped_ms, before, clock_ms());
	drop(f);
}

/* A new task has a place, counters that run, and a ring that is read. */
static void test_born(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, true, 7, -1);
	struct window_summary sum;

	(void)state;
	kernel.result = WINDOW_ASLEEP;
	fork_record(f, 8);
	window_run_turn(&f->run, &turn);
	assert_true(kernel.added == 1 && kernel.late == 1 && kernel.last_ring == 71);
	assert_int_equal(kernel.nr_switched, 0); /* it has not begun */
	window_run_start(&f->run, false, 7);
	kernel.nr_switched = 0;
	fork_record(f, 8);
	fork_record(f, 9);
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.added, 2);
	for (u32 e = 0; e < EVENTS; e++)
		assert_int_equal(times((int)(100 + 10 * e + 2), PERF_EVENT_IOC_ENABLE), e % 2 == 0);
	for (u32 e = 0; e < EVENTS; e++)
		assert_int_equal(evlist_of_id(&f->events, 102 + 10 * e), e);
	assert_int_equal(map_get(&f->run.by_id, 102), 2 * 2 * GROUPS);
	assert_int_equal(map_get(&f->run.by_id, 132), 2 * (2 * GROUPS + 1) + 1);
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.added, 2);
	window_run_summary(&f->run, &sum);
	assert_true(sum.places == 3 && sum.unarmed == 3 && !sum.missed && !sum.cpus);
	drop(f);
}

/* One that has ended is missed; of others it is said once why they are left out. */
static void test_missed(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, true, 7, -1);
	struct window_summary sum;

	(void)state;
	kernel.errno_open = ESRCH;
	fork_record(f, 8);
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.warnings, 0);
	kernel.errno_open = EMFILE;
	for (u32 tid = 9; tid < 11; tid++)
		fork_record(f, tid);
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.warnings, 1);
	assert_non_null(strstr(kernel.warning, "thread 9 "));
	assert_non_null(strstr(kernel.warning, "ulimit -n"));
	window_run_summary(&f->run, &sum);
	assert_true(sum.missed == 3 && sum.places == 1);
	drop(f);
	f = make(WINDOW_TWIN, true, 7, -1);
	kernel.errno_open = ENOMEM;
	fork_record(f, 8);
	window_run_turn(&f->run, &turn);
	assert_non_null(strstr(kernel.warning, "--no-window needs fewer counters"));
	drop(f);
}

/* Rings of tasks are small, those of many tasks smaller, and none is larger than was asked for. */
static void test_rings(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, true, 7, -1);
	u32 page = (u32)sysconf(_SC_PAGESIZE);

	(void)state;
	fork_record(f, 8);
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.last_pages, (256 << 10) / page);
	f->set.ring_pages = 2;
	fork_record(f, 9);
	window_run_turn(&f->run, &turn);
	assert_int_equal(kernel.last_pages, 2);
	f->set.ring_pages = 1000;
	for (u32 tid = 10; tid <= 264; tid++) {
		fork_record(f, tid);
		window_run_turn(&f->run, &turn);
		assert_int_equal(kernel.last_pages, (tid == 264 ? 64 << 10 : 256 << 10) / page);
	}
	drop(f);
}

/* Each time that the timer fires, all groups get a burst, unless one is under way. Lengths are drawn where there is
 * jitter. */
static void test_bursts(void **state)
{
	struct fixture *f = make(WINDOW_REFRESH, false, 7, -1);
	u64 least = UINT64_MAX, most = 0, early = UINT64_MAX, late_ns = 0;

	(void)state;
	f->spec[0].schedule = (struct schedule){ .period_long = 4 * PERIOD, .jitter_long = PERIOD };
	close(f->run.timer);
	f->run.timer = eventfd(1000, EFD_SEMAPHORE | EFD_NONBLOCK);
	window_run_tick(&f->run);
	assert_int_equal(kernel.nr_switched, 0); /* it has not begun */
	window_run_start(&f->run, false, 7);
	for (u32 i = 0; i < 500; i++) {
		kernel.nr_switched = 0;
		for (u32 g = 0; g < GROUPS; g++)
			window_states_at(&f->run.states, 0, g)->wanted = 0; /* as if all of it had come */
		window_run_tick(&f->run);
		assert_int_equal(times(100, PERF_EVENT_IOC_REFRESH), 1);
		assert_int_equal(times(120, PERF_EVENT_IOC_REFRESH), 1);
		assert_int_equal(times(120, PERF_EVENT_IOC_PERIOD), 0);
		assert_int_equal(kernel.switched[0].what, PERF_EVENT_IOC_PERIOD);
		assert_int_equal(kernel.switched[1].arg, 4);
		least = MIN(least, kernel.switched[0].arg), most = MAX(most, kernel.switched[0].arg);
		early = MIN(early, kernel.timer_ns), late_ns = MAX(late_ns, kernel.timer_ns);
	}
	assert_in_range(least, LENGTH * 3 / 4, LENGTH * 3 / 4 + LENGTH / 20);
	assert_in_range(most, LENGTH * 5 / 4 - LENGTH / 20, LENGTH * 5 / 4);
	/* An eighth of 8 ms to each side. */
	assert_in_range(early, 7 * PERIOD, 7 * PERIOD + PERIOD / 10);
	assert_in_range(late_ns, 9 * PERIOD - PERIOD / 10, 9 * PERIOD);
	kernel.nr_switched = 0;
	window_run_tick(&f->run); /* four are still to come */
	assert_int_equal(kernel.nr_switched, 0);
	window_states_at(&f->run.states, 0, 0)->wanted = 0;
	f->run.states.places.v[0].gone = true;
	window_run_tick(&f->run);
	assert_int_equal(kernel.nr_switched, 0);
	f->run.states.places.v[0].gone = false;
	while (read(f->run.timer, &most, sizeof(most)) > 0)
		;
	window_run_tick(&f->run); /* the timer has not fired */
	assert_int_equal(kernel.nr_switched, 0);
	drop(f);
}

/* Without jitter a timer fires after its interval, which may be more than a second; a burst that is refused is tried
 * again the next time. */
static void test_timer(void **state)
{
	static const struct {
		u64 interval, period_long, jitter, least, most;
	} rows[] = { { 2500000007, 0, 0, 2500000007, 2500000007 },
		     { 2500000007, 4 * PERIOD, 0, 2500000007, 2500000007 },
		     { 999999999, 0, SCHEDULE_JITTER_FULL, 999999999, 999999999 },
		     { 3000000000, PERIOD, SCHEDULE_JITTER_FULL, 1500000000, 4500000000 } };
	struct fixture *f = make(WINDOW_REFRESH, false, 7, -1);
	u64 least = 0, most = 0; /* of the last row */

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		least = UINT64_MAX, most = 0;
		f->spec[0].schedule =
			(struct schedule){ .period_long = rows[i].period_long, .jitter_long = rows[i].jitter };
		f->run.interval_ns = rows[i].interval;
		for (u32 k = 0; k < 200; k++) {
			window_run_start(&f->run, true, 7);
			assert_in_range(kernel.timer_ns, rows[i].least, rows[i].most);
			least = MIN(least, kernel.timer_ns), most = MAX(most, kernel.timer_ns);
			kernel.nr_switched = 0;
		}
	}
	assert_true(least < 1700000000 && most > 4300000000);
	close(f->run.timer);
	f->run.timer = eventfd(1000, EFD_SEMAPHORE | EFD_NONBLOCK);
	kernel.refuses = true;
	for (u32 i = 1; i <= 3; i++) {
		window_run_tick(&f->run);
		assert_int_equal(times(100, PERF_EVENT_IOC_REFRESH), i);
		assert_int_equal(window_states_at(&f->run.states, 0, 0)->wanted, 0);
	}
	kernel.refuses = false;
	window_run_tick(&f->run);
	assert_int_equal(window_states_at(&f->run.states, 0, 0)->wanted, 4);
	drop(f);
}

/* At the end all who were about to be stopped go on; first all are asked, then waited for. */
static void test_let_go(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, false, 7, -1);
	u64 before;

	(void)state;
	window_run_let_go(&f->run);
	assert_int_equal(kernel.let_go, 0);
	window_states_at(&f->run.states, 0, 1)->armed = WINDOW_STOPPING;
	window_run_start(&f->run, true, 7);
	window_states_at(&f->run.states, 0, 1)->armed = WINDOW_STOPPING;
	before = clock_ns();
	window_run_let_go(&f->run);
	assert_int_equal(kernel.let_go, 2);
	assert_true(kernel.last_child && kernel.last_tid == 7);
	assert_in_range(kernel.until_ns, before + 2000000000, clock_ns() + 2000000000);
	assert_int_equal(kernel.warnings, 1);
	assert_non_null(strstr(kernel.warning, "thread 7 is in a system call"));
	kernel.let_go = 0;
	kernel.goes_at = 2; /* once it is waited for: nothing is the matter */
	window_run_let_go(&f->run);
	assert_true(kernel.let_go == 2 && kernel.warnings == 1);
	window_states_at(&f->run.states, 0, 1)->armed = WINDOW_STOPPING;
	kernel.goes = true;
	window_run_let_go(&f->run);
	assert_int_equal(kernel.let_go, 3);
	assert_int_equal(kernel.until_ns, 0);
	assert_int_equal(window_states_at(&f->run.states, 0, 1)->armed, WINDOW_OFF);
	window_states_at(&f->run.states, 0, 0)->armed = WINDOW_STOPPING;
	f->run.states.places.v[0].gone = true;
	window_run_let_go(&f->run);
	assert_true(kernel.let_go == 3 && kernel.warnings == 1);
	drop(f);
}

/* What the command's process arms by itself: the pairs of the first place. */
static void test_pairs(void **state)
{
	struct fixture *f = make(WINDOW_TWIN, true, 7, -1);
	struct window_pairs pairs;

	(void)state;
	window_run_pairs(&f->run, &pairs);
	assert_int_equal(pairs.n, GROUPS);
	for (u32 g = 0; g < GROUPS; g++) {
		assert_int_equal(pairs.pair[g].first, 100 + 20 * g);
		assert_int_equal(pairs.pair[g].second, 110 + 20 * g);
		assert_true(pairs.pair[g].length == LENGTH && pairs.pair[g].clock);
	}
	for (u32 g = GROUPS; g < WINDOW_PAIRS + 1; g++) {
		vec_push(&f->run.states.groups, f->run.states.groups.v[g % GROUPS]);
		window_run_pairs(&f->run, &pairs);
		assert_int_equal(pairs.n, MIN(g + 1, (u32)WINDOW_PAIRS));
	}
	f->run.states.places.n = 0; /* there is nobody to do it */
	window_run_pairs(&f->run, &pairs);
	assert_int_equal(pairs.n, 0);
	drop(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stepped), cmocka_unit_test(test_refused), cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_born),	cmocka_unit_test(test_missed),	cmocka_unit_test(test_rings),
		cmocka_unit_test(test_bursts),	cmocka_unit_test(test_let_go),	cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_known),	cmocka_unit_test(test_several), cmocka_unit_test(test_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
