/* SPDX-License-Identifier: Apache-2.0 */
/* What flows past the recorder, as records: whose window it is, which tasks are born. Nothing is opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "windows/run.h"

#define SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ | PERF_SAMPLE_PERIOD)
#define PERIOD 1000000
#define LENGTH 50000
#define PLACES 2 /* tasks 100 and 101 */
#define GROUPS 2 /* of two twins each: ids 10 + place, 20 + place; 30 + place, 40 + place */

/* --- the kernel's switches, instead of the kernel */

#define MOST_SWITCHED 64
static struct {
	u32 n;
	int fd[MOST_SWITCHED];
} enabled;

int ioctl(int fd, unsigned long what, ...)
{
	if (what == PERF_EVENT_IOC_ENABLE && enabled.n < MOST_SWITCHED)
		enabled.fd[enabled.n++] = fd;
	return 0;
}

static u32 times_enabled(int fd)
{
	u32 n = 0;

	for (u32 i = 0; i < enabled.n; i++)
		n += enabled.fd[i] == fd;
	return n;
}

struct fixture {
	struct event_spec spec[2 * GROUPS];
	struct event_set set;
	struct evlist events;
	struct window_run run;
};

static u64 id_of(u32 group, u32 place, bool twin)
{
	return 10 * (group * 2 + twin + 1) + place;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	for (u32 e = 0; e < 2 * GROUPS; e++) {
		struct open_event event = { .spec = &f->spec[e], .leader = e / 2 * 2, .cgroup = -1 };

		event.attr = (struct attr){ .type = PERF_TYPE_SOFTWARE,
					    .size = ATTR_SIZE_VER7,
					    .config = PERF_COUNT_SW_TASK_CLOCK,
					    .sample_type = SAMPLE_TYPE,
					    .sample_period = PERIOD,
					    .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
					    .flags = ATTR_SAMPLE_ID_ALL };
		event.schedule.period_short = LENGTH;
		f->spec[e].windowed = e % 2 == 0;
		f->spec[e].twin = e % 2 == 1;
		evlist_add(&f->events, &event.attr, "task-clock", NULL);
		for (u32 i = 0; i < PLACES; i++) {
			u64 id = id_of(e / 2, i, e % 2);

			vec_push(&event.on,
				 (struct opened){ .fd = -1, .cpu = -1, .id = id, .task = { 100, 100 + (s32)i } });
			evlist_add_id(&f->events, e, id);
		}
		vec_push(&f->set.events, event);
	}
	assert_int_equal(evlist_seal(&f->events, NULL, "test"), 0);
	assert_int_equal(window_run_begin(&f->run, WINDOW_TWIN, &f->set, &f->events, 0, NULL), 0);
	f->run.follows = true;
	assert_int_equal(f->run.states.of.n, PLACES * GROUPS);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	window_run_end(&f->run);
	evlist_free(&f->events);
	for (u32 e = 0; e < 2 * GROUPS; e++)
		vec_free(&f->set.events.v[e].on);
	vec_free(&f->set.events);
	vec_free(&f->set.rings);
	free(f);
	return 0;
}

/* Of one leader, when both had counted this much; the record says this period, or none (0). */
static void sample_of_period(struct fixture *f, u32 group, u32 place, bool twin, u64 first, u64 second, u64 period)
{
	/* The twin's stands first, so that the leader's has to be found by its id. */
	u64 members[] = { second, id_of(group, place, true), first, id_of(group, place, false) };
	struct sample s = { .has = SAMPLE_TYPE, .id = id_of(group, place, twin), .period = period };
	struct bytes record = { 0 };

	s.read = (struct read_values){ .nr = 2, .stride = 2, .has_id = true, .id_at = 1 };
	s.read.raw = (struct u64s){ (const u8 *)members, ARRAY_LEN(members), false };
	assert_int_equal(sample_encode(&f->events.events.v[group * 2 + twin].layout, &s, &record), 0);
	f->run.tap.sample(f->run.tap.ctx, record.p, (u16)record.len);
	bytes_free(&record);
}

static void sample(struct fixture *f, u32 group, u32 place, bool twin, u64 first, u64 second)
{
	sample_of_period(f, group, place, twin, first, second, 0);
}

static void other(struct fixture *f, const struct record *r)
{
	f->run.tap.other(f->run.tap.ctx, r);
}

static void born(struct fixture *f, u32 type, u32 tid)
{
	other(f, &(struct record){ .h.type = type, .task = { .pid = 100, .ppid = 100, .tid = tid, .ptid = 100 } });
}

/* A window is one group's in one place, however the others' samples stand between. */
static void test_samples(void **state)
{
	struct fixture *f = *state;
	struct window_summary sum;

	for (u32 place = 0; place < PLACES; place++)
		for (u32 group = 0; group < GROUPS; group++)
			sample(f, group, place, false, PERIOD * (group + 1), 7);
	for (u32 place = 0; place < PLACES; place++)
		for (u32 group = 0; group < GROUPS; group++)
			sample(f, group, place, true, PERIOD * (group + 1) + 100 + group + 2 * place, PERIOD);
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.windows, 4);
	assert_int_equal(sum.low, 100);
	assert_int_equal(sum.median, 101);
	assert_int_equal(sum.high, 103);
	assert_int_equal(sum.asked, LENGTH);
	assert_true(sum.clock);
}

/* Of a hundred windows, the 5th, the 50th and the 95th; no place has been armed yet. */
static void test_summary(void **state)
{
	struct fixture *f = *state;
	struct window_summary sum;

	for (u32 i = 1; i <= 100; i++) {
		sample(f, 0, 0, false, i * PERIOD, 7);
		sample(f, 0, 0, true, i * PERIOD + i, PERIOD);
	}
	window_run_summary(&f->run, &sum);
	assert_true(sum.windows == 100 && sum.low == 5 && sum.median == 50 && sum.high == 95);
	assert_true(sum.how == WINDOW_TWIN && sum.places == PLACES && sum.unarmed == PLACES && !sum.cpus);
	window_states_at(&f->run.states, 0, 1)->ever = true; /* the first group stands for its place */
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.unarmed, PLACES);
	window_states_at(&f->run.states, 1, 0)->ever = true;
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.unarmed, PLACES - 1);
	f->run.states.how = WINDOW_REFRESH; /* which arms nothing */
	f->run.states.places.v[0].task.tid = -1;
	window_run_summary(&f->run, &sum);
	assert_true(sum.how == WINDOW_REFRESH && !sum.unarmed && sum.cpus);
	f->run.states.groups.n = 0;
	window_run_summary(&f->run, &sum);
	assert_true(sum.how == WINDOW_AUTO && !sum.windows && !sum.cpus && !sum.asked);
	f->run.states.groups.n = GROUPS;
}

/* Where the kernel alternates periods each sample says its own, and those that are short are windows. Samples that do
 * not say it are told apart by what was counted. */
static void test_native(void **state)
{
	struct fixture *f = *state;
	struct window_summary sum;

	f->run.states.how = WINDOW_NATIVE;
	sample_of_period(f, 0, 0, false, 1000, 7, PERIOD);
	sample_of_period(f, 0, 0, false, 1000, 7, 4 * LENGTH + 1);
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.windows, 0);
	sample_of_period(f, 0, 0, false, 1000, 7, 4 * LENGTH);
	window_run_summary(&f->run, &sum);
	assert_true(sum.windows == 1 && sum.median > 4 * LENGTH * 0.99 && sum.median <= 4 * LENGTH);
	sample(f, 0, 0, false, PERIOD, 7);
	sample(f, 0, 0, false, PERIOD + 100, 7);
	window_run_summary(&f->run, &sum);
	assert_true(sum.windows == 2 && sum.low == 100);
	/* Elsewhere a period says nothing. */
	f->run.states.how = WINDOW_TWIN;
	sample_of_period(f, 1, 0, false, PERIOD, 7, 10);
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.windows, 2);
}

/* Samples of events that make no windows, and what is no sample of anybody's. */
static void test_strangers(void **state)
{
	struct fixture *f = *state;
	struct window_summary sum;
	static const u8 junk[8] = { 9, 0, 0, 0, 0, 0, 8, 0 };

	map_free(&f->run.by_id);
	map_set(&f->run.by_id, id_of(0, 0, true), 1);
	sample(f, 0, 0, false, PERIOD, 7); /* its id is nobody's */
	sample(f, 0, 0, true, PERIOD + 100, 7);
	f->run.tap.sample(f->run.tap.ctx, junk, sizeof(junk));
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.windows, 0);
	assert_int_equal(window_states_at(&f->run.states, 0, 0)->value, PERIOD + 100);
	assert_int_equal(window_states_at(&f->run.states, 0, 1)->value, 0);
}

/* What a group of windows is like is what its leader was opened with. */
static void test_groups(void **state)
{
	static const struct {
		struct schedule s;
		u32 config;
		struct window_group_run is;
	} rows[] = {
		{ { .period_short = LENGTH },
		  PERF_COUNT_SW_TASK_CLOCK,
		  { .length = LENGTH, .short_max = 4 * LENGTH, .burst = 1, .clock = true } },
		{ { .period_long = 900, .period_short = 100, .batch_count = 3, .jitter_short = 20 },
		  PERF_COUNT_SW_PAGE_FAULTS,
		  { .length = 100, .short_max = 505, .burst = 3, .jitter = 20 } },
		{ { 0 }, PERF_COUNT_SW_PAGE_FAULTS, { .length = PERIOD, .burst = 1 } }, /* all periods are short */
	};
	struct fixture *f = *state;

	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct window_group_run *g;

		window_run_end(&f->run);
		f->set.events.v[2].schedule = rows[i].s;
		f->set.events.v[2].attr.config = rows[i].config;
		assert_int_equal(window_run_begin(&f->run, WINDOW_TWIN, &f->set, &f->events, 0, NULL), 0);
		assert_int_equal(f->run.states.groups.n, GROUPS);
		g = &f->run.states.groups.v[1];
		assert_true(g->first == 2 && g->second == 3 && g->period == PERIOD);
		assert_int_equal(g->length, rows[i].is.length);
		assert_int_equal(g->short_max, rows[i].is.short_max);
		assert_int_equal(g->jitter, rows[i].is.jitter);
		assert_int_equal(g->burst, rows[i].is.burst);
		assert_int_equal(g->clock, rows[i].is.clock);
	}
	/* One without a twin, and one that makes none. */
	window_run_end(&f->run);
	f->spec[1].twin = f->spec[2].windowed = false;
	assert_int_equal(window_run_begin(&f->run, WINDOW_PLAIN, &f->set, &f->events, 0, NULL), 0);
	assert_int_equal(f->run.states.groups.n, 1);
	assert_int_equal(f->run.states.groups.v[0].second, 0);
	assert_int_equal(map_get(&f->run.by_id, id_of(0, 1, false)), 2);
	assert_int_equal(map_get(&f->run.by_id, id_of(0, 1, true)), ID_NONE);
	assert_int_equal(map_get(&f->run.by_id, id_of(1, 0, false)), ID_NONE);
	assert_int_equal(f->run.timer, -1);
}

/* Where a sample does not name its leader, its first member stands for it, and what lies behind the record for none.
 */
static void test_unnamed(void **state)
{
	struct fixture *f = *state;
	struct window_summary sum;

	for (u32 i = 0; i < 2; i++) {
		u64 members[] = { PERIOD + 100 * i, 98, 7, 99 }, behind[] = { PERIOD, id_of(0, 0, false) };
		struct sample s = { .has = SAMPLE_TYPE, .id = id_of(0, 0, i) };
		struct bytes record = { 0 };
		u16 size;

		s.read = (struct read_values){ .nr = 2, .stride = 2, .has_id = true, .id_at = 1 };
		s.read.raw = (struct u64s){ (const u8 *)members, ARRAY_LEN(members), false };
		assert_int_equal(sample_encode(&f->events.events.v[i].layout, &s, &record), 0);
		size = (u16)record.len;
		bytes_put(&record, (const u8 *)behind, sizeof(behind));
		f->run.tap.sample(f->run.tap.ctx, record.p, size);
		bytes_free(&record);
	}
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.windows, 1);
	assert_int_equal(sum.median, 100);
}

/* Either leader's record means its own state, and no id that is not ours means any. */
static void test_throttle(void **state)
{
	struct fixture *f = *state;
	struct window_states *t = &f->run.states;
	struct window_summary sum;

	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.unarmed, PLACES);
	for (u32 place = 0; place < PLACES; place++)
		window_states_start(t, place, true, 0);
	window_run_summary(&f->run, &sum);
	assert_int_equal(sum.unarmed, 0);
	other(f, &(struct record){ .h.type = PERF_RECORD_UNTHROTTLE, .throttle.id = id_of(1, 1, true) });
	other(f, &(struct record){ .h.type = PERF_RECORD_THROTTLE, .throttle.id = 99 });
	assert_int_equal(t->rearmed, 0);
	other(f, &(struct record){ .h.type = PERF_RECORD_THROTTLE, .throttle.id = id_of(0, 1, true) });
	assert_int_equal(t->rearmed, 1);
	assert_true(window_states_at(t, 1, 0)->anew);
	other(f, &(struct record){ .h.type = PERF_RECORD_THROTTLE, .throttle.id = id_of(0, 1, false) });
	assert_int_equal(t->rearmed, 1);
	other(f, &(struct record){ .h.type = PERF_RECORD_THROTTLE, .throttle.id = id_of(1, 0, false) });
	assert_int_equal(t->rearmed, 2);
	assert_true(window_states_at(t, 0, 1)->anew);
	assert_false(window_states_at(t, 0, 0)->anew);
	assert_false(window_states_at(t, 1, 1)->anew);
}

/* Each once, and none that has a place; with all CPUs none at all. */
static void test_born(void **state)
{
	struct fixture *f = *state;

	f->run.follows = false;
	born(f, PERF_RECORD_FORK, 200);
	assert_int_equal(f->run.born.n, 0);
	f->run.follows = true;
	for (u32 i = 0; i < 3; i++) {
		born(f, PERF_RECORD_FORK, 100);
		born(f, PERF_RECORD_FORK, 200);
		born(f, PERF_RECORD_FORK, 201);
		born(f, PERF_RECORD_EXIT, 202);
	}
	assert_int_equal(f->run.born.n, 2);
	assert_int_equal(f->run.born.v[0].pid, 100);
	assert_int_equal(f->run.born.v[0].tid, 200);
	assert_int_equal(f->run.born.v[1].tid, 201);
}

/* One has ended when all its descriptors have hung up, and everything in its ring has been read. */
static void test_not_ended(void **state)
{
	struct fixture *f = *state;
	struct window_turn turn = { 0 };
	struct perf_event_mmap_page *page = calloc(1, sizeof(*page));
	struct watched_ring *ring;
	u8 data[16] = { 0 };

	vec_push(&f->set.rings, (struct watched_ring){ 0 });
	ring = &f->set.rings.v[0];
	vec_push(&ring->fds, 5);
	for (u32 e = 0; e < 2 * GROUPS; e++)
		f->set.events.v[e].on.v[1].fd = dup(STDERR_FILENO);
	f->set.by_task = true;
	window_run_turn(&f->run, &turn);
	assert_false(f->run.states.places.v[1].gone);
	ring->live = 1;
	ring->ring = (struct ring){ .page = page, .data = data, .size = sizeof(data) };
	page->data_head = 8;
	window_run_turn(&f->run, &turn);
	assert_false(f->run.states.places.v[1].gone);
	ring->ring.tail = 8;
	f->run.states.places.v[1].task.tid = -1; /* a CPU does not end */
	window_run_turn(&f->run, &turn);
	assert_false(f->run.states.places.v[1].gone);
	f->run.states.places.v[1].task.tid = 101;
	ring->ring.page = NULL; /* it is not mapped, so that nothing has to be unmapped */
	f->set.by_task = false; /* places are not tasks */
	window_run_turn(&f->run, &turn);
	assert_false(f->run.states.places.v[1].gone);
	f->set.by_task = true;
	window_run_turn(&f->run, &turn);
	assert_true(f->run.states.places.v[1].gone);
	for (u32 e = 0; e < 2 * GROUPS; e++)
		assert_int_equal(f->set.events.v[e].on.v[1].fd, -1); /* closed */
	vec_free(&ring->fds);
	free(page);
}

/* A task that has ended is armed no more, and its number may come again. */
static void test_ended(void **state)
{
	struct fixture *f = *state;
	struct window_turn turn = { 0 };

	vec_push(&f->set.rings, (struct watched_ring){ 0 });
	f->set.by_task = true;
	for (u32 e = 0; e < 2 * GROUPS; e++)
		f->set.events.v[e].on.v[1].fd = dup(STDERR_FILENO);
	assert_true(f->set.events.v[0].on.v[1].fd >= 0);
	window_run_turn(&f->run, &turn);
	assert_false(f->run.states.places.v[0].gone); /* it has no descriptor here */
	assert_true(f->run.states.places.v[1].gone);
	born(f, PERF_RECORD_FORK, 100);
	born(f, PERF_RECORD_FORK, 101);
	born(f, PERF_RECORD_FORK, 101);
	assert_int_equal(f->run.born.n, 1);
	assert_int_equal(f->run.born.v[0].tid, 101);
}

/* Descriptors of all events, and of two more: one that makes no windows, and one that follows mmaps. */
static void open_all(struct fixture *f, struct event_spec *plain)
{
	struct open_event event = { .spec = plain, .leader = 2 * GROUPS, .cgroup = -1 };
	struct open_event mmaps = { .leader = 2 * GROUPS + 1, .cgroup = -1 };

	for (u32 e = 0; e < 2 * GROUPS; e++)
		for (u32 i = 0; i < PLACES; i++)
			f->set.events.v[e].on.v[i].fd = (int)(1000 + 10 * e + i);
	for (u32 i = 0; i < PLACES; i++) {
		vec_push(&event.on, (struct opened){ .fd = (int)(2000 + i) });
		vec_push(&mmaps.on, (struct opened){ .fd = (int)(3000 + i) });
	}
	vec_push(&f->set.events, event);
	vec_push(&f->set.events, mmaps);
}

static void close_all(struct fixture *f)
{
	f->set.events.n -= 2;
	vec_free(&f->set.events.v[2 * GROUPS].on);
	vec_free(&f->set.events.v[2 * GROUPS + 1].on);
}

/* Exec switches on whatever is inherited; leaders wait only where they are armed, or let loose. */
static void test_start_how(void **state)
{
	struct fixture *f = *state;
	struct event_spec plain = { 0 };

	open_all(f, &plain);
	for (u32 how = WINDOW_SIM; how < NR_WINDOW_HOWS; how++) {
		bool waits = how == WINDOW_TWIN || how == WINDOW_REFRESH;

		f->run.states.how = how;
		for (u32 own = 0; own < 2; own++) {
			bool last = !own || how != WINDOW_NATIVE;

			enabled.n = 0;
			window_run_start(&f->run, own, 100);
			assert_int_equal(times_enabled(1001), last && how != WINDOW_REFRESH);
			assert_int_equal(times_enabled(2001), last);
			assert_int_equal(times_enabled(2000), !own);
			assert_int_equal(times_enabled(1000), !own && how != WINDOW_REFRESH);
			assert_true(waits || times_enabled(1020) == !own);
		}
	}
	close_all(f);
}

/* The command's own first place is switched on by exec; all others at once, but for twins, which wait for their turn.
 */
static void test_start(void **state)
{
	struct fixture *f = *state;
	struct event_spec plain = { 0 };

	open_all(f, &plain);
	for (u32 own = 0; own < 2; own++) {
		enabled.n = 0;
		window_run_start(&f->run, own, own ? 100 : 0);
		for (u32 i = 0; i < PLACES; i++) {
			bool at_once = !own || i;

			for (u32 e = 0; e < 2 * GROUPS; e += 2) {
				assert_int_equal(times_enabled((int)(1000 + 10 * e + i)), at_once);
				assert_int_equal(times_enabled((int)(1000 + 10 * (e + 1) + i)), 0);
			}
			assert_int_equal(times_enabled((int)(2000 + i)), at_once);
			assert_int_equal(times_enabled((int)(3000 + i)), !own);
		}
	}
	/* Whichever of the events has no spec follows mmaps. */
	enabled.n = 0;
	f->set.events.v[1].spec = NULL;
	window_run_start(&f->run, false, 0);
	assert_int_equal(times_enabled(1010), 1);
	f->set.events.v[1].spec = &f->spec[1];
	enabled.n = 0;
	f->set.events.v[0].spec = NULL;
	window_run_start(&f->run, false, 0);
	assert_int_equal(times_enabled(1000), 2); /* as a leader, and as that */
	close_all(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_samples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_throttle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unnamed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_born, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_start_how, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_summary, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_native, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_groups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_ended, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
