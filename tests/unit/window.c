/* SPDX-License-Identifier: Apache-2.0 */
/* Windows out of group reads: values that are known, and each reason not to use them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attrib/window.h"

#define GROUP_SAMPLE                                                                                                  \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ |                   \
	 PERF_SAMPLE_IDENTIFIER)
#define GROUP_READ                                                                                                    \
	(PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* A group of cycles and instructions on two CPUs: ids 1, 2 and 11, 12. */
struct fixture {
	struct evlist l;
	struct windows w;
	u64 words[6];
};

static struct fixture *make(const char *leader, u64 period, u64 flags)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	struct attr a = { .size = 128,
			  .sample_type = GROUP_SAMPLE,
			  .read_format = GROUP_READ,
			  .sample_period = period,
			  .flags = ATTR_SAMPLE_ID_ALL | flags };

	evlist_add(&f->l, &a, leader, NULL);
	a.config = 1;
	a.sample_period = 0;
	evlist_add(&f->l, &a, "instructions", NULL);
	for (u32 cpu = 0; cpu < 2; cpu++)
		for (u32 e = 0; e < 2; e++)
			evlist_add_id(&f->l, e, cpu * 10 + e + 1);
	assert_int_equal(evlist_seal(&f->l, NULL, "test"), 0);
	return f;
}

static void drop(struct fixture *f)
{
	windows_free(&f->w);
	evlist_free(&f->l);
	free(f);
}

struct at {
	u64 cycles, instructions;
	u32 tid, cpu;
	u32 on;		      /* where the sample says that it was taken, when that is not the counters' CPU */
	u64 enabled, running; /* 0: as the cycles */
	u64 time;
	u64 lost;	/* 0: the read does not tell */
	bool none_lost; /* the read tells that there are none */
};

static struct window feed(struct fixture *f, struct at at)
{
	struct sample s = { .has = GROUP_SAMPLE,
			    .pid = 1,
			    .tid = at.tid,
			    .cpu = at.on ? at.on : at.cpu,
			    .time = at.time ? at.time : at.cycles };
	struct window w = { 0 };

	memcpy(f->words, (u64[]){ at.cycles, at.cpu * 10 + 1, at.instructions, at.cpu * 10 + 2 }, 32);
	s.read = (struct read_values){ .time_enabled = at.enabled ? at.enabled : at.cycles,
				       .time_running = at.running ? at.running : at.cycles,
				       .nr = 2,
				       .stride = 2,
				       .raw = { (const u8 *)f->words, 4, false },
				       .has_id = true,
				       .id_at = 1 };
	if (at.lost || at.none_lost) {
		memcpy(f->words, (u64[]){ at.cycles, at.cpu * 10 + 1, at.lost, at.instructions, at.cpu * 10 + 2, 0 },
		       48);
		s.read.raw.n = 6;
		s.read.stride = 3;
		s.read.has_lost = true;
	}
	assert_true(windows_take(&f->w, &f->l, 0, &s, &w));
	return w;
}

static void note(struct fixture *f, u32 type, u64 id, u32 cpu)
{
	struct record r = { .h.type = type, .sid.cpu = cpu };

	if (type == PERF_RECORD_LOST)
		r.lost.id = id;
	else
		r.throttle.id = id;
	windows_note(&f->w, &f->l, &r);
}

static void differences_are_counts(void **state)
{
	struct fixture *f = make("cycles/period=1000,alt-period=10/", 1010, 0);
	struct window w;

	(void)state;
	windows_settle(&f->w, &f->l);
	w = feed(f, (struct at){ 1000, 500, .tid = 7 });
	assert_int_equal(w.fault, WINDOW_FIRST);
	assert_int_equal(w.weight, 1000); /* since the counter was opened, as for the ordinary table */
	assert_int_equal(w.length, 0);
	w = feed(f, (struct at){ 1010, 530, .tid = 7 });
	assert_int_equal(w.fault, WINDOW_SOUND);
	assert_true(w.is_short);
	assert_int_equal(w.counts[0], 10);
	assert_int_equal(w.counts[1], 30);
	assert_int_equal(w.turn, 1);
	w = feed(f, (struct at){ 2010, 600, .tid = 7 });
	assert_int_equal(w.fault, WINDOW_SOUND);
	assert_false(w.is_short);
	assert_int_equal(w.weight, 1000);
	assert_int_equal(f->w.groups.n, 1);
	assert_int_equal(f->w.groups.v[0].mode, WINDOWS_TERMS);
	assert_int_equal(f->w.groups.v[0].nr_short, 1);
	assert_int_equal(f->w.groups.v[0].sum_long, 1000);
	drop(f);
}

/* The shortest long period that jitter draws is no short one. */
static void jitter_shortens_long_windows(void **state)
{
	struct fixture *f = make("cycles/period=1000,alt-period=10,period-jitter=1000/", 1010, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	assert_false(feed(f, (struct at){ 1500, 530, .tid = 7 }).is_short);
	assert_true(feed(f, (struct at){ 1515, 540, .tid = 7 }).is_short);
	drop(f);
}

static void counters_of_two_cpus_are_apart(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);
	struct window w;

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	w = feed(f, (struct at){ 9000, 9500, .tid = 7, .cpu = 1 });
	assert_int_equal(w.fault, WINDOW_FIRST);
	w = feed(f, (struct at){ 2000, 1500, .tid = 7 });
	assert_int_equal(w.fault, WINDOW_SOUND);
	assert_int_equal(w.counts[1], 1000);
	assert_int_equal(w.slot, 0);
	drop(f);
}

static void other_threads_of_a_cpu(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 8 }).fault, WINDOW_OTHER_THREAD);
	assert_int_equal(feed(f, (struct at){ 3000, 700, .tid = 8 }).fault, WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 4000, 800, .tid = 7 }).fault, WINDOW_OTHER_THREAD);
	drop(f);
}

/* Values that belong to each thread show it when they fall at a change of thread. */
static void inherited_counters_are_each_threads(void **state)
{
	struct fixture *f = make("cycles", 1000, ATTR_INHERIT);
	struct window w;

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 5000, 500, .tid = 7 });
	w = feed(f, (struct at){ 1000, 600, .tid = 8 });
	assert_int_equal(w.fault, WINDOW_FIRST);
	assert_int_equal(w.weight, 1000);
	w = feed(f, (struct at){ 6000, 700, .tid = 7 });
	assert_int_equal(w.fault, WINDOW_SOUND);
	assert_int_equal(w.counts[0], 1000);
	assert_int_equal(w.counts[1], 200);
	w = feed(f, (struct at){ 2000, 750, .tid = 8 });
	assert_int_equal(w.counts[1], 150);
	drop(f);
}

/* The same attr on a CPU for all processes: values never fall, so that a change of thread is no window, and weights
 * stay those of the counter. */
static void inherited_counters_of_a_cpu(void **state)
{
	struct fixture *f = make("cycles", 1000, ATTR_INHERIT);
	struct window w;

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	w = feed(f, (struct at){ 2000, 600, .tid = 8 });
	assert_int_equal(w.fault, WINDOW_FIRST);
	assert_int_equal(w.weight, 1000);
	assert_int_equal(feed(f, (struct at){ 3000, 700, .tid = 8 }).fault, WINDOW_SOUND);
	w = feed(f, (struct at){ 4000, 800, .tid = 7 });
	assert_int_equal(w.fault, WINDOW_OTHER_THREAD);
	assert_int_equal(w.weight, 1000);
	assert_int_equal(feed(f, (struct at){ 5000, 900, .tid = 7 }).fault, WINDOW_SOUND);
	drop(f);
}

static void throttling_ends_a_window(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	feed(f, (struct at){ 1000, 500, .tid = 7, .cpu = 1 });
	note(f, PERF_RECORD_THROTTLE, 1, 0);
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 7, .cpu = 1 }).fault, WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 7 }).fault, WINDOW_THROTTLED);
	assert_int_equal(feed(f, (struct at){ 3000, 700, .tid = 7 }).fault, WINDOW_SOUND);
	note(f, PERF_RECORD_UNTHROTTLE, 12, 1); /* a member's: its group's */
	assert_int_equal(feed(f, (struct at){ 3000, 800, .tid = 7, .cpu = 1 }).fault, WINDOW_THROTTLED);
	assert_int_equal(feed(f, (struct at){ 4000, 800, .tid = 7 }).fault, WINDOW_SOUND);
	note(f, PERF_RECORD_THROTTLE, 99, 0); /* nobody's: might be anybody's */
	assert_int_equal(feed(f, (struct at){ 5000, 900, .tid = 7 }).fault, WINDOW_THROTTLED);
	drop(f);
}

static void losses_are_of_a_cpu(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	feed(f, (struct at){ 1000, 500, .tid = 7, .cpu = 1 });
	note(f, PERF_RECORD_LOST, 1, 1);
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 7 }).fault, WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 7, .cpu = 1 }).fault, WINDOW_LOST);
	assert_int_equal(feed(f, (struct at){ 3000, 700, .tid = 7, .cpu = 1 }).fault, WINDOW_SOUND);
	drop(f);
}

/* A thread that moved: what either CPU lost may have been its, and what others lost meanwhile is not known to be. */
static void losses_and_threads_that_move(void **state)
{
	struct fixture *f = make("cycles", 1000, ATTR_INHERIT);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7 });
	f->w.groups.v[0].proven = true; /* the values are the thread's */
	note(f, PERF_RECORD_LOST, 1, 1);
	/* The same counters, read on the other CPU. */
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 7, .on = 1 }).fault, WINDOW_LOST);
	assert_int_equal(feed(f, (struct at){ 3000, 700, .tid = 7 }).fault, WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 4000, 800, .tid = 7 }).fault, WINDOW_SOUND);
	note(f, PERF_RECORD_LOST, 1, 1);
	assert_int_equal(feed(f, (struct at){ 5000, 900, .tid = 7 }).fault, WINDOW_SOUND);
	note(f, PERF_RECORD_LOST, 1, 0);
	assert_int_equal(feed(f, (struct at){ 6000, 999, .tid = 7, .on = 1 }).fault, WINDOW_LOST);
	drop(f);
}

/* Both a LOST record and the reads tell of it: a sample is missing once. */
static void losses_that_are_told_twice(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7, .lost = 4 });
	note(f, PERF_RECORD_LOST, 1, 0);
	assert_int_equal(feed(f, (struct at){ 4000, 600, .tid = 7, .lost = 6 }).lost, 3); /* two, and this one */
	assert_int_equal(feed(f, (struct at){ 5000, 700, .tid = 7, .lost = 6 }).fault, WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 6000, 800, .tid = 7, .lost = 7 }).fault, WINDOW_LOST);
	drop(f);
}

/* Where nobody counts lost samples, the length tells whether a long window hides a short one. */
static void lost_short_windows_are_counted(void **state)
{
	static const u32 lengths[][2] = { { 1000, 0 }, { 10, 1 }, { 1010, 1 }, { 1000, 0 }, { 3030, 3 }, { 2020, 2 } };
	struct fixture *f = make("cycles/period=1000,alt-period=10/", 1010, 0);
	const struct window_group *g;
	u64 at = 1000;

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ at, 500, .tid = 7 });
	g = f->w.groups.v;
	for (u32 i = 0; i < ARRAY_LEN(lengths); i++) {
		struct window w;

		note(f, PERF_RECORD_LOST, 1, 0);
		at += lengths[i][0];
		w = feed(f, (struct at){ at, 500, .tid = 7 });
		assert_int_equal(w.fault, WINDOW_LOST);
		assert_int_equal(w.lost, lengths[i][1]);
	}
	assert_int_equal(g->nr_short + g->nr_long, 0);
	assert_int_equal(feed(f, (struct at){ at + 10, 500, .tid = 7 }).lost, 0);
	assert_int_equal(feed(f, (struct at){ at + 1010, 500, .tid = 7 }).fault, WINDOW_SOUND);
	assert_true(g->nr_short == 1 && g->sum_short == 10 && g->nr_long == 1 && g->sum_long == 1000);
	drop(f);
}

/* A schedule of a frequency states no long period: what long windows without losses have shown. Until then none are
 * invented. */
static void lost_windows_of_a_frequency(void **state)
{
	static const u32 lengths[][2] = { { 900, 0 }, { 1010, 0 }, { 1300, 0 }, { 10, 1 }, { 2020, 2 }, { 3030, 3 } };

	(void)state;
	/* What has been seen: nothing; a window in the first reading; one as windows come in. */
	for (u32 seen = 0; seen < 3; seen++) {
		struct fixture *f = make("cycles/alt-period=10/", 4000, ATTR_FREQ);
		u64 at = 1000;

		feed(f, (struct at){ at, 500, .tid = 7 });
		if (seen == 1)
			feed(f, (struct at){ at + 1000, 500, .tid = 7 });
		windows_settle(&f->w, &f->l);
		feed(f, (struct at){ at, 500, .tid = 7 });
		if (seen == 2)
			assert_false(feed(f, (struct at){ at += 1000, 500, .tid = 7 }).is_short);
		for (u32 i = 0; i < ARRAY_LEN(lengths); i++) {
			struct window w;

			note(f, PERF_RECORD_LOST, 1, 0);
			w = feed(f, (struct at){ at += lengths[i][0], 500, .tid = 7 });
			assert_int_equal(w.lost, !seen && !w.is_short ? 0 : lengths[i][1]);
		}
		drop(f);
	}
}

/* LOST records of another event: the reads say that no sample of this group went, unless its events are inherited. */
static void counted_losses_invent_none(void **state)
{
	static const char *const names[] = { "cycles/period=1000,alt-period=10/", "cycles" };

	(void)state;
	for (u32 i = 0; i < 4; i++) {
		bool plain = i & 1, inherited = i & 2;
		struct fixture *f = make(names[plain], 1010, inherited ? ATTR_INHERIT : 0);
		u64 at = 1000;

		for (u32 n = 0; n < 2; n++)
			feed(f, (struct at){ at += 1010, 500, .tid = 7, .none_lost = true });
		windows_settle(&f->w, &f->l);
		feed(f, (struct at){ at, 500, .tid = 7, .none_lost = true });
		note(f, PERF_RECORD_LOST, 1, 0);
		assert_int_equal(feed(f, (struct at){ at += 3030, 500, .tid = 7, .none_lost = true }).lost,
				 inherited ? 3 : plain);
		note(f, PERF_RECORD_LOST, 1, 0);
		assert_int_equal(feed(f, (struct at){ at += 10, 500, .tid = 7, .none_lost = true }).lost, 1);
		assert_int_equal(feed(f, (struct at){ at + 2020, 500, .tid = 7, .lost = 3 }).lost, plain ? 4 : 2);
		drop(f);
	}
}

/* Where the reads tell how many samples went, of bursts too. */
static void lost_samples_take_their_windows(void **state)
{
	static const struct {
		u64 length, gone;
		u32 lost;
	} cases[] = { { 1010, 1, 1 }, { 20, 1, 2 }, { 1020, 2, 2 }, { 1030, 3, 3 }, { 2030, 4, 3 }, { 2050, 6, 5 } };
	struct fixture *f = make("cycles/period=1000,alt-period=10,burst=3/", 1030, 0);
	u64 at = 1000, gone = 1;

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ at, 500, .tid = 7, .lost = gone });
	for (u32 i = 0; i < ARRAY_LEN(cases); i++) {
		struct window w;

		at += cases[i].length;
		gone += cases[i].gone;
		w = feed(f, (struct at){ at, 500, .tid = 7, .lost = gone });
		assert_int_equal(w.fault, WINDOW_LOST);
		assert_int_equal(w.lost, cases[i].lost);
	}
	drop(f);
}

/* Names may say anything. */
static void absurd_schedules_lose_windows(void **state)
{
	static const char *const names[] = {
		"cycles/period=18446744073709551606,alt-period=10/",
		"cycles/period=18446744073709551615,alt-period=4294967295,burst=4294967295/",
		"cycles/alt-period=4294967295,burst=4294967295/"
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(names); i++) {
		struct fixture *f = make(names[i], UINT64_MAX, 0);

		windows_settle(&f->w, &f->l);
		feed(f, (struct at){ 0, 500, .tid = 7, .lost = 1 });
		note(f, PERF_RECORD_LOST, 1, 0);
		assert_int_equal(feed(f, (struct at){ UINT64_MAX, 500, .tid = 7, .lost = 1 }).fault, WINDOW_LOST);
		assert_int_equal(feed(f, (struct at){ UINT64_MAX, 500, .tid = 7, .lost = UINT64_MAX }).fault,
				 WINDOW_LOST);
		drop(f);
	}
}

static void multiplexed_and_backwards(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	feed(f, (struct at){ 1000, 500, .tid = 7, .enabled = 100, .running = 90 });
	assert_int_equal(feed(f, (struct at){ 2000, 600, .tid = 7, .enabled = 200, .running = 190 }).fault,
			 WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 3000, 700, .tid = 7, .enabled = 300, .running = 280 }).fault,
			 WINDOW_MULTIPLEXED);
	assert_int_equal(feed(f, (struct at){ 4000, 650, .tid = 7, .enabled = 400, .running = 380 }).fault,
			 WINDOW_BACKWARDS);
	assert_int_equal(feed(f, (struct at){ 5000, 750, .tid = 7, .enabled = 500, .running = 480 }).fault,
			 WINDOW_SOUND);
	drop(f);
}

/* Without terms the values say it: half of the windows are at most half of a fixed period. */
static void short_windows_are_seen(void **state)
{
	struct fixture *f = make("cycles", 1000, 0), *plain = make("cycles", 1000, 0),
		       *freq = make("cycles", 1000, ATTR_FREQ);
	struct window w;

	(void)state;
	for (u64 i = 0; i < 100; i++) {
		feed(f, (struct at){ 1000 * i + 900, i, .tid = 7 });
		feed(f, (struct at){ 1000 * i + 1000, i, .tid = 7 });
		feed(plain, (struct at){ 1001 * i, i, .tid = 7 });
		feed(freq, (struct at){ 100 * i, i, .tid = 7 });
	}
	windows_settle(&f->w, &f->l);
	windows_settle(&plain->w, &plain->l);
	windows_settle(&freq->w, &freq->l);
	assert_int_equal(f->w.groups.v[0].mode, WINDOWS_SEEN);
	assert_int_equal(plain->w.groups.v[0].mode, WINDOWS_PLAIN);
	assert_int_equal(freq->w.groups.v[0].mode, WINDOWS_PLAIN);
	assert_int_equal(feed(f, (struct at){ 1000, 10, .tid = 7 }).fault, WINDOW_FIRST);
	assert_false(feed(f, (struct at){ 1900, 10, .tid = 7 }).is_short);
	w = feed(f, (struct at){ 2000, 11, .tid = 7 });
	assert_true(w.is_short);
	feed(plain, (struct at){ 1000, 10, .tid = 7 });
	assert_true(feed(plain, (struct at){ 2001, 10, .tid = 7 }).is_short); /* each one counts */
	drop(f);
	drop(plain);
	drop(freq);
}

/* Two leaders of one period in one group: each reads both, and either's sample ends a window. */
static void twins_are_known(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);
	struct sample s = { .has = GROUP_SAMPLE, .pid = 1, .tid = 7 };
	struct attr twin = f->l.events.v[0].attr;
	struct window w = { 0 };
	u32 second;

	(void)state;
	second = evlist_add(&f->l, &twin, "cycles", NULL);
	evlist_add_id(&f->l, second, 3);
	for (u64 round = 0; round < 2; round++) {
		for (u64 i = 1; i < 50; i++)
			for (u64 late = 0; late < 2; late++) {
				u64 cycles = 1000 * i + 30 * late;

				memcpy(f->words, (u64[]){ cycles, 1, i, 2, cycles - 30, 3 }, 48);
				s.read = (struct read_values){ .nr = 3,
							       .stride = 2,
							       .raw = { (const u8 *)f->words, 6, false },
							       .has_id = true,
							       .id_at = 1 };
				assert_true(windows_take(&f->w, &f->l, late ? second : 0, &s, &w));
			}
		if (!round)
			windows_settle(&f->w, &f->l);
	}
	assert_int_equal(f->w.groups.n, 1);
	assert_int_equal(f->w.groups.v[0].mode, WINDOWS_TWIN);
	assert_int_equal(f->w.groups.v[0].leader, 0);
	assert_int_equal(f->w.groups.v[0].nr_short, 49);
	assert_int_equal(f->w.groups.v[0].sum_short, 49 * 30);
	assert_int_equal(f->w.groups.v[0].nr_long, 48);
	assert_true(w.is_short);
	drop(f);
}

/* A sample of the first leader (0) or the second (2) of twins; off: how long that one had been off the hardware. */
static struct window feed_twin(struct fixture *f, u32 event, u64 cycles, u64 length, u64 off)
{
	struct sample s = { .has = GROUP_SAMPLE, .pid = 1, .tid = 7 };
	struct window w = { 0 };

	memcpy(f->words, (u64[]){ cycles, 1, 0, 2, cycles - length, 3 }, 48);
	s.read = (struct read_values){ .time_enabled = cycles + off,
				       .time_running = cycles,
				       .nr = 3,
				       .stride = 2,
				       .raw = { (const u8 *)f->words, 6, false },
				       .has_id = true,
				       .id_at = 1 };
	assert_true(windows_take(&f->w, &f->l, event, &s, &w));
	return w;
}

/* Each leader's times are its own; what counts is what came to the difference of both. */
static void twins_in_turns(void **state)
{
	struct fixture *f = make("cycles/period=1000,alt-period=30/", 1000, 0);
	struct attr twin = f->l.events.v[0].attr;
	u32 second = evlist_add(&f->l, &twin, "cycles/period=1000,alt-period=30/", NULL);

	(void)state;
	evlist_add_id(&f->l, second, 3);
	windows_settle(&f->w, &f->l);
	/* The leader was off for 70 before the twin was switched on, and then both were together. */
	feed_twin(f, 0, 1000, 30, 70);
	assert_int_equal(feed_twin(f, second, 1030, 30, 0).fault, WINDOW_SOUND);
	feed_twin(f, 0, 2000, 30, 170);
	assert_int_equal(feed_twin(f, second, 2030, 30, 100).fault, WINDOW_SOUND);
	feed_twin(f, 0, 3000, 30, 170);
	assert_int_equal(feed_twin(f, second, 3030, 30, 120).fault, WINDOW_MULTIPLEXED);
	feed_twin(f, 0, 4000, 30, 190);
	assert_int_equal(feed_twin(f, second, 4030, 30, 120).fault, WINDOW_SOUND);
	/* Armed anew, meanwhile the leader was off for another 5. */
	feed_twin(f, 0, 5000, 30, 195);
	assert_int_equal(feed_twin(f, second, 5030, 30, 120).fault, WINDOW_SOUND);
	/* Throttled, both go on at once. */
	feed_twin(f, 0, 6000, 0, 195);
	assert_int_equal(feed_twin(f, second, 6000, 0, 120).fault, WINDOW_EMPTY);
	/* In any order, off the hardware meanwhile, and throttled in between. */
	feed_twin(f, second, 7000, 0, 130);
	assert_int_equal(feed_twin(f, 0, 7000, 0, 255).fault, WINDOW_EMPTY);
	feed_twin(f, 0, 8000, 0, 255);
	note(f, PERF_RECORD_THROTTLE, 3, 0);
	assert_int_equal(feed_twin(f, second, 8000, 0, 130).fault, WINDOW_EMPTY);
	drop(f);
}

static void bursts_begin_after_a_pause(void **state)
{
	struct fixture *f = make("cpu-clock/period=10,alt-period=10,burst=4/u", 10, 0);

	(void)state;
	windows_settle(&f->w, &f->l);
	assert_int_equal(f->w.groups.n, 0);
	feed(f, (struct at){ 10, 1, .tid = 7, .time = 100, .enabled = 10, .running = 10 });
	assert_int_equal(f->w.groups.v[0].mode, WINDOWS_REFRESH);
	assert_int_equal(feed(f, (struct at){ 20, 2, .tid = 7, .time = 111, .enabled = 20, .running = 20 }).fault,
			 WINDOW_SOUND);
	assert_int_equal(feed(f, (struct at){ 30, 3, .tid = 7, .time = 1000, .enabled = 31, .running = 31 }).fault,
			 WINDOW_PAUSED);
	drop(f);
}

static void terms_of_a_schedule(void **state)
{
	struct schedule s;

	(void)state;
	assert_true(window_schedule_of("cycles/period=999700,alt-period=300,burst=4,alt-period-jitter=20/u", &s));
	assert_int_equal(s.period_long, 999700);
	assert_int_equal(s.period_short, 300);
	assert_int_equal(s.batch_count, 4);
	assert_int_equal(s.jitter_short, 20);
	assert_int_equal(s.jitter_long, 0);
	assert_true(window_schedule_of("cpu/event=0x3c,alt-period=0x12c/", &s));
	assert_int_equal(s.period_short, 300);
	assert_int_equal(s.batch_count, 1);
	assert_false(window_schedule_of("cycles:u", &s));
	assert_false(window_schedule_of("cycles/period=999700/", &s));
	assert_false(window_schedule_of("cycles/alt-period=0/", &s));
	assert_false(window_schedule_of("cycles/alt-period=/", &s));
}

/* Reads that are no group's, or name what nobody knows. */
static void strange_reads_have_no_windows(void **state)
{
	struct fixture *f = make("cycles", 1000, 0);
	struct sample s = { .has = GROUP_SAMPLE };
	struct window w;

	(void)state;
	assert_false(windows_take(&f->w, &f->l, 0, &s, &w));
	memcpy(f->words, (u64[]){ 1, 1, 2, 99 }, 32);
	s.read = (struct read_values){
		.nr = 2, .stride = 2, .raw = { (const u8 *)f->words, 4, false }, .has_id = true, .id_at = 1
	};
	assert_false(windows_take(&f->w, &f->l, 0, &s, &w));
	f->words[3] = 2;
	assert_true(windows_take(&f->w, &f->l, 0, &s, &w));
	s.read.nr = 1; /* the same counters with another number of members */
	assert_false(windows_take(&f->w, &f->l, 0, &s, &w));
	drop(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_counts),
		cmocka_unit_test(counters_of_two_cpus_are_apart),
		cmocka_unit_test(other_threads_of_a_cpu),
		cmocka_unit_test(inherited_counters_are_each_threads),
		cmocka_unit_test(inherited_counters_of_a_cpu),
		cmocka_unit_test(throttling_ends_a_window),
		cmocka_unit_test(losses_are_of_a_cpu),
		cmocka_unit_test(losses_and_threads_that_move),
		cmocka_unit_test(losses_that_are_told_twice),
		cmocka_unit_test(lost_short_windows_are_counted),
		cmocka_unit_test(absurd_schedules_lose_windows),
		cmocka_unit_test(lost_windows_of_a_frequency),
		cmocka_unit_test(counted_losses_invent_none),
		cmocka_unit_test(lost_samples_take_their_windows),
		cmocka_unit_test(multiplexed_and_backwards),
		cmocka_unit_test(short_windows_are_seen),
		cmocka_unit_test(twins_are_known),
		cmocka_unit_test(twins_in_turns),
		cmocka_unit_test(bursts_begin_after_a_pause),
		cmocka_unit_test(terms_of_a_schedule),
		cmocka_unit_test(jitter_shortens_long_windows),
		cmocka_unit_test(strange_reads_have_no_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
