/* SPDX-License-Identifier: Apache-2.0 */
/* From --window and terms to the events that make windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/vpmu.h"
#include "notes.h"
#include "windows/plan.h"

static const struct event_env nowhere = { .sysfs = "/nonexistent",
					  .tracefs = "/nonexistent",
					  .procfs = "/nonexistent" };
static const struct window_rate at_4000 = { .value = 4000, .is_freq = true };
static const struct window_speed speed = { 1000000000, 3000000000 };

static struct event_specs specs_of(const char *text)
{
	struct event_specs specs = { 0 };

	assert_int_equal(event_specs_parse(&specs, text, &nowhere, NULL), 0);
	return specs;
}

static void test_options(void **state)
{
	static const struct {
		const char *text, *says; /* says NULL: fine */
		struct window_opts want;
	} rows[] = {
		{ NULL, NULL, { .wish = WINDOW_ASKED } },
		{ "", NULL, { .wish = WINDOW_ASKED } },
		{ "short=300,burst=4,jitter=20",
		  NULL,
		  { .wish = WINDOW_ASKED, .length = 300, .burst = 4, .jitter_given = true, .jitter = 20 } },
		{ "jitter=0", NULL, { .wish = WINDOW_ASKED, .jitter_given = true } },
		{ "jitter=fulll", "or 'full'", { 0 } },
		{ "jitter=full",
		  NULL,
		  { .wish = WINDOW_ASKED, .jitter_given = true, .jitter = SCHEDULE_JITTER_FULL } },
		{ "mode=refresh", NULL, { .wish = WINDOW_ASKED, .how = WINDOW_REFRESH } },
		{ "leader=cpu-clock",
		  NULL,
		  { .wish = WINDOW_ASKED, .leader = WINDOW_BY_CLOCK, .leader_given = true } },
		{ "short=0", "at least 1", { 0 } },
		{ "short=", "at least 1", { 0 } },
		{ "short=3k", "decimal", { 0 } },
		{ "short=99999999999999999999", "decimal", { 0 } },
		{ "burst=65536", "too large", { 0 } },
		{ "burst=65535", NULL, { .wish = WINDOW_ASKED, .burst = 65535 } },
		{ "short=9223372036854775808", "too large", { 0 } },
		{ "short=9223372036854775807", NULL, { .wish = WINDOW_ASKED, .length = INT64_MAX } },
		{ "mode=twins", "'twin'", { 0 } },
		{ "leader=cycle", "'cycles'", { 0 } },
		{ "shrt=3", "'short'", { 0 } },
		{ "short=3,", "missing", { 0 } },
		{ "short", "decimal", { 0 } },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct window_opts o = { 0 };
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };
		int err = window_opts_parse(&o, rows[i].text, &to);

		assert_int_equal(err, rows[i].says ? ERR_USAGE : 0);
		if (rows[i].says)
			assert_non_null(strstr(note, rows[i].says));
		else
			assert_memory_equal(&o, &rows[i].want, sizeof(o));
	}
}

static void test_names(void **state)
{
	static const struct {
		const char *name, *terms, *want;
		u32 type;
	} rows[] = {
		{ "cycles", "period=9", "cycles/period=9/", 0 },
		{ "cycles:u", "period=9,alt-period=3", "cycles/period=9,alt-period=3/u", 0 },
		{ "cycles/period=7/k", "alt-period=3", "cycles/alt-period=3/k", 0 },
		{ "cycles//", "period=9", "cycles/period=9/", 0 },
		{ "cpu/event=0x3c,freq=3,umask=1,alt-period=2,burst=8/u", "period=9",
		  "cpu/event=0x3c,umask=1,period=9/u", PERF_TYPE_RAW },
		{ "cpu/period_x=1,period-jitter=3/", "period=9", "cpu/period_x=1,period=9/", PERF_TYPE_RAW },
		{ "sched:sched_switch", "period=9", "sched:sched_switch/period=9/", PERF_TYPE_TRACEPOINT },
		{ "sched:sched_switch:u", "period=9", "sched:sched_switch/period=9/u", PERF_TYPE_TRACEPOINT },
		{ "sched:sched_switch/period=3/u", "period=9", "sched:sched_switch/period=9/u", PERF_TYPE_TRACEPOINT },
		{ "mem:0x1000:rw", "period=9", "mem:0x1000:rw/period=9/", PERF_TYPE_BREAKPOINT },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char *name = window_name(rows[i].name, rows[i].type, rows[i].terms);

		assert_string_equal(name, rows[i].want);
		free(name);
	}
}

/* Frequencies are made periods only where it is known what there are in a second; what the kernel sees happen has no
 * periods. */
static void test_speeds(void **state)
{
	static const struct {
		const char *text;
		enum window_how how;
		bool fine, occurs;
	} rows[] = {
		{ "{branch-misses/alt-period=5/,cycles}:S", WINDOW_TWIN, false, false },
		{ "{branch-misses/freq=100,alt-period=5/,cycles}:S", WINDOW_REFRESH, false, false },
		{ "{r1234/alt-period=5/,cycles}:S", WINDOW_TWIN, false, false },
		{ "{LLC-loads/alt-period=5/,cycles}:S", WINDOW_TWIN, false, false },
		{ "{faults/freq=1000,alt-period=5/,cpu-clock}:S", WINDOW_TWIN, false, true },
		{ "{branch-misses/period=100,alt-period=5/,cycles}:S", WINDOW_TWIN, true, false },
		{ "{branch-misses/alt-period=5/,cycles}:S", WINDOW_NATIVE, true, false },
		{ "{branch-misses/alt-period=5/,cycles}:S", WINDOW_SIM, true, false },
		{ "{faults/alt-period=5/,cpu-clock}:S", WINDOW_PLAIN, true, false },
		{ "{instructions/alt-period=5/,cycles}:S", WINDOW_TWIN, true, false },
		{ "{ref-cycles/alt-period=5/,cycles}:S", WINDOW_TWIN, true, false },
		{ "{task-clock/alt-period=50000/,faults}:S", WINDOW_TWIN, true, false },
		{ "{r3c/name=cpu_clk_unhalted.thread,alt-period=5/,faults}:S", WINDOW_TWIN, true, false },
		{ "{r3c/name=CPU_CYCLES,alt-period=5/,faults}:S", WINDOW_TWIN, true, false },
		{ "{rc0/name=INST_RETIRED,alt-period=5/,faults}:S", WINDOW_TWIN, true, false },
		{ "{rd0/name=mem_inst_retired.stlb_miss_loads,alt-period=5/,faults}:S", WINDOW_TWIN, false, false },
		{ "{rd1/name=instr_tlb_miss,alt-period=5/,faults}:S", WINDOW_TWIN, false, false },
		{ "{cycles/alt-period=300/,faults}:S", WINDOW_TWIN, true, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of(rows[i].text);
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };

		assert_int_equal(window_take_specs(&specs, &(struct window_opts){ 0 }, false, NULL), 0);
		assert_int_equal(window_of_occurrences(&specs, rows[i].how) != NULL, rows[i].occurs);
		assert_int_equal(window_make_specs(&specs, rows[i].how, at_4000, speed, &to),
				 rows[i].fine ? 0 : ERR_USAGE);
		assert_true(rows[i].fine ? !*note : strstr(note, "period=") != NULL);
		event_specs_free(&specs);
	}
}

/* Who may have windows, and what is said to the others. */
static void test_takes(void **state)
{
	static const struct {
		const char *text;
		struct window_opts o;
		bool sim;
		int err;
		const char *says;
		u32 windowed; /* of the first eight specs, a bit each */
	} rows[] = {
		{ "{cycles/period=999700,alt-period=300/,instructions}:uS", { 0 }, false, 0, NULL, 1 },
		{ "cs,{cycles/alt-period=300/,instructions}:S,{cycles,branches}:S", { 0 }, false, 0, NULL, 2 },
		{ "{cycles,instructions}:S", { 0 }, false, 0, NULL, 0 },
		{ "{cycles,instructions}:S,{cycles,branches}:S", { .wish = WINDOW_ASKED }, false, 0, NULL, 5 },
		{ "cycles,instructions", { .wish = WINDOW_ASKED }, false, ERR_USAGE, "'{cycles,...}:S'", 0 },
		{ "{cycles,instructions}", { .wish = WINDOW_ASKED }, false, ERR_USAGE, "S", 0 },
		{ "cycles/alt-period=300/", { 0 }, false, ERR_USAGE, "after the brace", 0 },
		{ "{cycles/alt-period=300/,instructions}", { 0 }, false, ERR_USAGE, "after the brace", 0 },
		{ "cycles/alt-period=300/", { 0 }, true, 0, "does not read a group", 0 },
		{ "{cycles,instructions/alt-period=300/}:S", { 0 }, true, ERR_USAGE, "first event", 0 },
		{ "{cycles/alt-period=300/,instructions}:S",
		  { .wish = WINDOW_REFUSED },
		  false,
		  ERR_USAGE,
		  "--no-window",
		  0 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of(rows[i].text);
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };
		u32 windowed = 0;

		assert_int_equal(window_take_specs(&specs, &rows[i].o, rows[i].sim, &to), rows[i].err);
		for (u32 s = 0; s < specs.v.n; s++)
			windowed |= (u32)specs.v.v[s].windowed << s;
		assert_int_equal(windowed, rows[i].windowed);
		assert_true(rows[i].says ? strstr(note, rows[i].says) != NULL : !*note);
		event_specs_free(&specs);
	}
}

static void make(struct event_specs *specs, const struct window_opts *o, enum window_how how, struct window_rate rate)
{
	assert_int_equal(window_take_specs(specs, o, how == WINDOW_SIM, NULL), 0);
	assert_int_equal(window_make_specs(specs, how, rate, speed, NULL), 0);
}

static void test_twins(void **state)
{
	struct window_opts asked = { .wish = WINDOW_ASKED };
	struct event_specs specs =
		specs_of("cs,{cycles/period=999700,alt-period=300/,instructions}:uS,{cpu-clock,faults}:S");
	static const u32 leaders[] = { 0, 1, 1, 1, 4, 4, 4 };

	(void)state;
	make(&specs, &asked, WINDOW_TWIN, at_4000);
	assert_int_equal(specs.v.n, 7);
	for (u32 i = 0; i < 7; i++) {
		assert_int_equal(specs.v.v[i].leader, leaders[i]);
		assert_int_equal(specs.v.v[i].twin, i == 2 || i == 5);
		assert_int_equal(specs.v.v[i].windowed, i == 1 || i == 4);
	}
	assert_string_equal(specs.v.v[1].name, "cycles/period=999700,alt-period=300/");
	assert_string_equal(specs.v.v[2].name, specs.v.v[1].name);
	assert_int_equal(specs.v.v[2].attr.sample_period, 999700);
	assert_int_equal(specs.v.v[2].schedule.period_short, 300);
	/* 4000 Hz of a clock are 250 us. */
	assert_string_equal(specs.v.v[4].name, "cpu-clock/period=200000,alt-period=50000/");
	event_specs_free(&specs);
}

static void assert_samples_at(const struct event_spec *s, u64 freq)
{
	assert_true(s->has_freq && !s->has_period && s->attr.flags & ATTR_FREQ);
	assert_int_equal(s->attr.sample_period, freq);
}

/* When nobody asked for a frequency, windows take as many samples in a second as events without windows do; of a
 * clock, fewer. */
static void test_default_rate(void **state)
{
	const struct window_rate rate = { .value = 4000, .is_freq = true, .of_samples = true };
	struct window_opts asked = { .wish = WINDOW_ASKED };
	struct event_specs specs =
		specs_of("{cpu-clock,faults}:S,{cpu-clock/freq=4000/,faults}:S,{cycles,instructions}:S");

	(void)state;
	make(&specs, &asked, WINDOW_TWIN, rate);
	assert_string_equal(specs.v.v[0].name, "cpu-clock/period=4950000,alt-period=50000/");
	assert_string_equal(specs.v.v[3].name, "cpu-clock/period=200000,alt-period=50000/");
	assert_int_equal(specs.v.v[6].attr.sample_period + specs.v.v[6].schedule.period_short, speed.other / 2000);
	event_specs_free(&specs);
	/* Who alternates periods adapts the long one to a frequency, but 4000 of a clock are too many. */
	specs = specs_of("{cpu-clock,faults}:S,{cycles,instructions}:S");
	make(&specs, &asked, WINDOW_NATIVE, rate);
	assert_string_equal(specs.v.v[0].name,
			    "cpu-clock/period=4950000,alt-period=50000,period-jitter=full,alt-period-jitter=50000/");
	assert_string_equal(specs.v.v[2].name, "cycles/alt-period=300,period-jitter=full,alt-period-jitter=300/");
	assert_samples_at(&specs.v.v[2], 2000);
	event_specs_free(&specs);
	specs = specs_of("{cpu-clock,faults}:S,{cycles/freq=3000/,instructions}:S");
	make(&specs, &asked, WINDOW_SIM, rate);
	assert_samples_at(&specs.v.v[0], 2000);
	assert_string_equal(specs.v.v[0].name,
			    "cpu-clock/alt-period=50000,period-jitter=full,alt-period-jitter=50000/");
	assert_samples_at(&specs.v.v[2], 3000);
	event_specs_free(&specs);
	/* -F is a frequency of windows, and the recorder's to give. */
	specs = specs_of("{cycles,instructions}:S");
	make(&specs, &asked, WINDOW_SIM, at_4000);
	assert_false(specs.v.v[0].has_freq);
	event_specs_free(&specs);
	asked.burst = 4;
	specs = specs_of("{cpu-clock,faults}:S");
	make(&specs, &asked, WINDOW_REFRESH, rate);
	assert_string_equal(
		specs.v.v[0].name,
		"cpu-clock/period=12300000,alt-period=50000,burst=4,period-jitter=full,alt-period-jitter=50000/");
	event_specs_free(&specs);
}

/* Samples beside the windows: three quarters are of instructions, and all are half as many as samples were asked for,
 * or twice as many as windows. */
static void test_samples_of_members(void **state)
{
	static const struct {
		struct window_rate rate;
		const char *has;
	} rows[] = {
		{ { .value = 4000, .is_freq = true, .of_samples = true },
		  ",instructions/freq=1500,period-jitter=full/" },
		{ { .value = 4000, .is_freq = true }, ",instructions/freq=6000,period-jitter=full/" },
		{ { .value = 3000 }, ",instructions/period=2000,period-jitter=full/" },
		{ { .value = 1 }, ",instructions/period=1,period-jitter=full/" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct window_supply from = { .rate = rows[i].rate };
		struct bytes out = { 0 };

		window_default_group(&(struct window_opts){ 0 }, &from, &out);
		if (!strstr((char *)out.p, rows[i].has))
			fail_msg("no %s in %s", rows[i].has, (char *)out.p);
		bytes_free(&out);
	}
}

static void test_others(void **state)
{
	struct window_opts asked = {
		.wish = WINDOW_ASKED, .length = 100, .burst = 4, .jitter_given = true, .jitter = 80
	};
	struct event_specs specs = specs_of("{cycles,instructions}:S");

	(void)state;
	make(&specs, &asked, WINDOW_REFRESH, (struct window_rate){ .value = 10000 });
	assert_int_equal(specs.v.n, 2);
	assert_string_equal(specs.v.v[0].name,
			    "cycles/period=10000,alt-period=100,burst=4,period-jitter=80,alt-period-jitter=50/");
	assert_true(window_needs_bursts(&specs) && window_needs_jitter(&specs));
	event_specs_free(&specs);

	specs = specs_of("{cycles/alt-period=300/,instructions}:S");
	make(&specs, &(struct window_opts){ 0 }, WINDOW_PLAIN, at_4000);
	assert_string_equal(specs.v.v[0].name, "cycles/period=300/");
	assert_int_equal(specs.v.v[0].attr.sample_period, 300);
	assert_false(event_spec_scheduled(&specs.v.v[0]));
	event_specs_free(&specs);

	specs = specs_of("{cycles,instructions}:S");
	make(&specs, &(struct window_opts){ .wish = WINDOW_ASKED }, WINDOW_SIM, at_4000);
	assert_string_equal(specs.v.v[0].name, "cycles/alt-period=300,period-jitter=full,alt-period-jitter=300/");
	assert_false(specs.v.v[0].has_period);
	event_specs_free(&specs);

	/* A jitter that was asked for is kept, none as well. */
	specs = specs_of("{cycles/alt-period=300,period-jitter=0/,instructions}:S");
	make(&specs, &(struct window_opts){ 0 }, WINDOW_SIM, at_4000);
	assert_string_equal(specs.v.v[0].name, "cycles/alt-period=300/");
	event_specs_free(&specs);
	specs = specs_of("{cycles/period=9000,alt-period=300,period-jitter=full/,instructions}:S");
	make(&specs, &(struct window_opts){ 0 }, WINDOW_REFRESH, at_4000);
	assert_string_equal(specs.v.v[0].name, "cycles/period=9000,alt-period=300,period-jitter=full/");
	event_specs_free(&specs);
	specs = specs_of("{cycles,instructions}:S");
	asked = (struct window_opts){ .wish = WINDOW_ASKED, .jitter_given = true, .jitter = SCHEDULE_JITTER_FULL };
	make(&specs, &asked, WINDOW_REFRESH, (struct window_rate){ .value = 9000 });
	assert_string_equal(specs.v.v[0].name,
			    "cycles/period=9000,alt-period=300,period-jitter=full,alt-period-jitter=300/");
	event_specs_free(&specs);
}

/* The samples of tracepoints always tell periods. */
static void test_tracepoints(void **state)
{
	struct event_specs specs = specs_of("{faults,cycles}:S");

	(void)state;
	assert_int_equal(window_take_specs(&specs, &(struct window_opts){ .wish = WINDOW_ASKED }, false, NULL), 0);
	assert_non_null(window_of_occurrences(&specs, WINDOW_TWIN));
	assert_null(window_of_occurrences(&specs, WINDOW_PLAIN));
	specs.v.v[0].attr.type = PERF_TYPE_TRACEPOINT;
	assert_non_null(window_of_occurrences(&specs, WINDOW_PLAIN));
	event_specs_free(&specs);
}

/* All the jitter that there is, unless something else is asked for. */
static void test_jitter_by_default(void **state)
{
	static const struct {
		enum window_how how;
		const char *name;
	} rows[] = {
		{ WINDOW_SIM, "cycles/period=9000,alt-period=300,period-jitter=full,alt-period-jitter=300/" },
		{ WINDOW_NATIVE, "cycles/period=9000,alt-period=300,period-jitter=full,alt-period-jitter=300/" },
		{ WINDOW_REFRESH, "cycles/period=9000,alt-period=300,period-jitter=full,alt-period-jitter=300/" },
		{ WINDOW_TWIN, "cycles/period=9000,alt-period=300/" },
		{ WINDOW_PLAIN, "cycles/period=300/" },
	};
	const struct window_opts none = { .wish = WINDOW_ASKED, .jitter_given = true };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of("{cycles/period=9000,alt-period=300/,instructions}:S");

		make(&specs, &(struct window_opts){ 0 }, rows[i].how, at_4000);
		assert_string_equal(specs.v.v[0].name, rows[i].name);
		event_specs_free(&specs);
		specs = specs_of("{cycles/period=9000,alt-period=300/,instructions}:S");
		make(&specs, &none, rows[i].how, at_4000);
		assert_string_equal(specs.v.v[0].name, rows[i].how == WINDOW_PLAIN ?
							       "cycles/period=300/" :
							       "cycles/period=9000,alt-period=300/");
		event_specs_free(&specs);
	}
}

/* None by default where the PMU refuses such periods. */
static void test_refused_jitter(void **state)
{
	struct event_specs specs = specs_of("{cycles/period=9000,alt-period=300/,instructions}:S");

	(void)state;
	specs.v.v[0].refuses_jitter = true;
	make(&specs, &(struct window_opts){ 0 }, WINDOW_NATIVE, at_4000);
	assert_string_equal(specs.v.v[0].name, "cycles/period=9000,alt-period=300/");
	event_specs_free(&specs);
}

/* On real hardware not where a long period, which a frequency can make shorter yet, is not far from a short one. */
static void test_jitter_of_near_periods(void **state)
{
	static const struct {
		const char *text, *name;
		enum window_how how;
	} rows[] = {
		{ "{cycles/period=4800,alt-period=300/,instructions}:S",
		  "cycles/period=4800,alt-period=300,period-jitter=full,alt-period-jitter=300/", WINDOW_NATIVE },
		{ "{cycles/period=4799,alt-period=300/,instructions}:S", "cycles/period=4799,alt-period=300/",
		  WINDOW_NATIVE },
		{ "{cycles/period=4799,alt-period=300/,instructions}:S", "cycles/period=4799,alt-period=300/",
		  WINDOW_REFRESH },
		{ "{cycles/period=4799,alt-period=300/,instructions}:S",
		  "cycles/period=4799,alt-period=300,period-jitter=full,alt-period-jitter=300/", WINDOW_SIM },
		/* One of the two that is given is all that there is. */
		{ "{cycles/period=9000,alt-period=300,alt-period-jitter=0/,instructions}:S",
		  "cycles/period=9000,alt-period=300/", WINDOW_REFRESH },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of(rows[i].text);

		make(&specs, &(struct window_opts){ 0 }, rows[i].how, at_4000);
		assert_string_equal(specs.v.v[0].name, rows[i].name);
		event_specs_free(&specs);
	}
}

/* Kernels that alternate periods have one jitter: who asked for another is told. */
static void test_native_jitter(void **state)
{
	static const struct {
		const char *text;
		u64 of_long, of_short;
		bool told;
	} rows[] = {
		{ "{cycles/period=9000,alt-period=300,period-jitter=0/,instructions}:S", 0, 0, false },
		{ "{cycles/period=9000,alt-period=300,period-jitter=60,alt-period-jitter=60/,instructions}:S", 60, 60,
		  false },
		/* As --window's jitter=200 is elsewhere. */
		{ "{cycles/period=9000,alt-period=300,period-jitter=200,alt-period-jitter=150/,instructions}:S", 200,
		  200, false },
		{ "{cycles/period=9000,alt-period=300,period-jitter=6000,alt-period-jitter=300/,instructions}:S", 6000,
		  300, false },
		{ "{cycles/period=9000,alt-period=300,alt-period-jitter=60/,instructions}:S", 60, 60, true },
		{ "{cycles/period=9000,alt-period=300,period-jitter=6000/,instructions}:S", 6000, 300, true },
		{ "{cycles/period=9000,alt-period=300,period-jitter=100,alt-period-jitter=60/,instructions}:S", 100,
		  100, true },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of(rows[i].text);
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };

		assert_int_equal(window_take_specs(&specs, &(struct window_opts){ 0 }, false, NULL), 0);
		assert_int_equal(window_make_specs(&specs, WINDOW_NATIVE, at_4000, speed, &to), 0);
		assert_int_equal(specs.v.v[0].schedule.jitter_long, rows[i].of_long);
		assert_int_equal(specs.v.v[0].schedule.jitter_short, rows[i].of_short);
		assert_int_equal(strstr(note, "has one jitter") != NULL, rows[i].told);
		event_specs_free(&specs);
	}
}

/* A frequency that has become a period is none any more. */
static void test_made_a_period(void **state)
{
	struct event_specs specs = specs_of("{instructions/freq=2000,alt-period=5/,cycles}:S");

	(void)state;
	assert_int_equal(window_take_specs(&specs, &(struct window_opts){ 0 }, false, NULL), 0);
	assert_int_equal(window_make_specs(&specs, WINDOW_TWIN, at_4000, speed, NULL), 0);
	for (u32 i = 0; i < specs.v.n; i++)
		if (specs.v.v[i].windowed || specs.v.v[i].twin) {
			assert_true(specs.v.v[i].has_period && !specs.v.v[i].has_freq);
			assert_false(specs.v.v[i].attr.flags & ATTR_FREQ);
			/* Even, for the sake of QEMU's counters: 3000000000 / 2000 - 5 is odd. */
			assert_int_equal(specs.v.v[i].attr.sample_period, 1499994);
		}
	assert_true(specs.v.v[0].windowed);
	event_specs_free(&specs);
}

/* That of twins is drawn once, unless the event has a jitter (of 0), or its windows are not much shorter. */
static void test_drawn_period(void **state)
{
	static const struct {
		const char *text;
		u64 least, most;
	} rows[] = {
		{ "{cycles/freq=1000,alt-period=300/,instructions}:S", 2699730, 3299670 },
		{ "{cycles/freq=1000,alt-period=300,period-jitter=0/,instructions}:S", 2999700, 2999700 },
		{ "{cycles/freq=1000,alt-period=1000000/,instructions}:S", 2000000, 2000000 },
		{ "{cycles/period=1000001,alt-period=300/,instructions}:S", 1000001, 1000001 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		u64 least = UINT64_MAX, most = 0;

		for (u64 seed = 1; seed <= 100; seed++) {
			const struct window_speed drawn = { 1000000000, 3000000000, seed };
			struct event_specs specs = specs_of(rows[i].text);
			u64 period;

			assert_int_equal(window_take_specs(&specs, &(struct window_opts){ 0 }, false, NULL), 0);
			specs.v.v[0].refuses_jitter = true; /* of which twins have none */
			assert_int_equal(window_make_specs(&specs, WINDOW_TWIN, at_4000, drawn, NULL), 0);
			period = specs.v.v[0].attr.sample_period;
			assert_int_equal(specs.v.v[1].attr.sample_period, period);
			assert_true(period % 2 == 0 || rows[i].least % 2);
			least = MIN(least, period);
			most = MAX(most, period);
			event_specs_free(&specs);
		}
		assert_in_range(least, rows[i].least, rows[i].least + rows[i].least / 50);
		assert_in_range(most, rows[i].most - rows[i].most / 50, rows[i].most);
	}
}

static void test_too_long(void **state)
{
	static const struct {
		const char *text;
		struct window_rate rate;
		const char *says;
		enum window_how how; /* AUTO: twin */
	} rows[] = {
		{ "{cycles/alt-period=300/,instructions}:S", { .value = 300 }, "not shorter" },
		{ "{cycles/alt-period=300/,instructions}:S",
		  { .value = 10000000, .is_freq = true },
		  "the period of 300 that its frequency means" },
		{ "{cycles/alt-period=300,period-jitter=1001/,instructions}:S", { .value = 1000 }, "jitter" },
		/* Who adapts periods to a frequency starts from what it means, too. */
		{ "{cycles/alt-period=3000000/,instructions}:S",
		  { .value = 1000, .is_freq = true },
		  "that its frequency means",
		  WINDOW_SIM },
		{ "{cycles/alt-period=3000000/,instructions}:S",
		  { .value = 1000, .is_freq = true },
		  "that its frequency means",
		  WINDOW_NATIVE },
		{ "{cycles/alt-period=300,period-jitter=3000000/,instructions}:S",
		  { .value = 1000, .is_freq = true },
		  "the jitter of 3000000 is larger than the period of 2999700 that its frequency means",
		  WINDOW_SIM },
		{ "{cycles/freq=2000,alt-period=300,period-jitter=1500000/,instructions}:S",
		  { .value = 4000, .is_freq = true, .of_samples = true },
		  "the jitter of 1500000 is larger",
		  WINDOW_SIM },
		{ "{cycles/alt-period=2000000/,instructions}:S",
		  { .value = 4000, .is_freq = true, .of_samples = true },
		  "that its frequency means",
		  WINDOW_SIM },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of(rows[i].text);
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };

		assert_int_equal(window_take_specs(&specs, &(struct window_opts){ 0 }, false, &to), 0);
		assert_int_equal(
			window_make_specs(&specs, rows[i].how ? rows[i].how : WINDOW_TWIN, rows[i].rate, speed, &to),
			ERR_USAGE);
		assert_non_null(strstr(note, rows[i].says));
		event_specs_free(&specs);
	}
}

/* Of the default group. */
#define CACHES "L1-dcache-load-misses,cache-references,cache-misses"

static void test_split(void **state)
{
	static const struct {
		const char *text;
		u32 max;
		bool twin;
		u32 groups;
		const char *names; /* afterwards; '|' before each leader */
		u32 leader;
	} rows[] = {
		{ "cs,faults,{cycles,branches,branch-misses,instructions,cache-misses}:S,{cs,faults}", 4, false, 2,
		  "|cs|faults|cycles,instructions,branches,branch-misses|cycles,instructions,cache-misses|cs,faults",
		  2 },
		{ "cs,{cycles,branches,branch-misses,cache-misses}:S,faults", 3, true, 3,
		  "|cs|cycles,branches|cycles,branch-misses|cycles,cache-misses|faults", 1 },
		{ "cs,{instructions,branches,branch-misses}:S,faults", 2, false, 2,
		  "|cs|instructions,branches|instructions,branch-misses|faults", 1 },
		{ "{cycles,branches,cache-misses}:S", 3, false, 1, "|cycles,branches,cache-misses" },
		{ "{cycles,branches,cache-misses}:S", 3, true, 2, "|cycles,branches|cycles,cache-misses" },
		{ "{cycles,branches,instructions,cache-misses}:S", 3, false, 2,
		  "|cycles,instructions,branches|cycles,instructions,cache-misses" },
		{ "{cycles,instructions,branches,branch-misses,cache-misses}:S,cs", 5, true, 2,
		  "|cycles,instructions,branches,branch-misses|cycles,instructions,cache-misses|cs" },
		/* The default group on few counters: what makes a ratio stays together. */
		{ "{cycles,instructions,branch-misses," CACHES "}:S", 5, true, 2,
		  "|cycles,instructions,branch-misses,L1-dcache-load-misses|"
		  "cycles,instructions,cache-references,cache-misses" },
		{ "{cycles,instructions,branches}:S", 3, true, 0, NULL },
		{ "{cycles,branches}:S", 2, true, 0, NULL },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = specs_of(rows[i].text);
		char names[256] = "";

		assert_int_equal(window_split(&specs, rows[i].leader, rows[i].max, rows[i].twin), rows[i].groups);
		for (u32 s = 0; s < specs.v.n && rows[i].names; s++) {
			bool leads = specs.v.v[s].leader == s;

			strcat(names, leads ? "|" : ",");
			strcat(names, specs.v.v[s].name);
			if (!leads)
				assert_int_equal(specs.v.v[s].leader, specs.v.v[s - 1].leader);
		}
		if (rows[i].names)
			assert_string_equal(names, rows[i].names);
		event_specs_free(&specs);
	}
}

static bool has_but_caches(void *ctx, const char *name)
{
	(void)ctx;
	return !strstr(name, "cache") && !strstr(name, "LLC");
}

static void test_default_group(void **state)
{
	u32 all = VPMU_MODEL_ALL, branch = VPMU_MODEL_BRANCH;
	const struct {
		struct window_opts o;
		struct window_supply from;
		const char *want;
	} rows[] = {
		{ { 0 }, { 0 }, "{cycles,instructions,branch-misses," CACHES "}:S" },
		/* Where cache-misses are those of L1D, the other one is of the last level. */
		{ { 0 },
		  { .machine = MACHINE_ARM },
		  "{cycles,instructions,branch-misses,LLC-load-misses,cache-references,cache-misses}:S" },
		{ { 0 }, { .machine = MACHINE_AMD }, "{cycles,instructions,branch-misses," CACHES "}:S" },
		{ { 0 }, { window_sim_has, &all, false, true }, "{cycles,instructions,branch-misses," CACHES "}:uS" },
		{ { 0 }, { window_sim_has, &branch, false, true }, "{cycles,instructions,branch-misses}:uS" },
		{ { 0 },
		  { window_sim_has, &branch, false, true, { .value = 4000, .is_freq = true, .of_samples = true } },
		  "{cycles,instructions,branch-misses}:uppS,instructions/freq=1500,period-jitter=full/upp,"
		  "branch-misses/freq=125,period-jitter=full/upp" },
		{ { 0 },
		  { window_sim_has, &branch, false, true, { .value = 100000 } },
		  "{cycles,instructions,branch-misses}:uppS,instructions/period=66666,period-jitter=full/upp,"
		  "branch-misses/period=4000,period-jitter=full/upp" },
		{ { 0 }, { .has = has_but_caches, .user_only = true }, "{cycles,instructions,branch-misses}:uS" },
		{ { .leader = WINDOW_BY_INSTRUCTIONS }, { 0 }, "{instructions,cycles,branch-misses," CACHES "}:S" },
		{ { .leader = WINDOW_BY_CLOCK }, { .clock = true }, "{cpu-clock,context-switches,page-faults}:S" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes b = { 0 };

		window_default_group(&rows[i].o, &rows[i].from, &b);
		assert_string_equal((const char *)b.p, rows[i].want);
		bytes_free(&b);
	}
}

/* Of the virtual PMU: what its models count, by whole names. */
static void test_sim_has(void **state)
{
	u32 all = VPMU_MODEL_ALL, none = 0;

	(void)state;
	for (u32 i = 0; i < nr_vpmu_events; i++) {
		assert_int_equal(window_sim_has(&all, vpmu_events[i].name),
				 vpmu_is_modelled(vpmu_events[i].count, all));
		assert_int_equal(window_sim_has(&none, vpmu_events[i].name),
				 vpmu_is_modelled(vpmu_events[i].count, none));
	}
	assert_true(window_sim_has(&none, "instructions"));
	assert_false(window_sim_has(&all, "instruction") || window_sim_has(&all, "no-such-event"));
}

/* Only hardware counters that see the kernel. */
static void test_counts_handler(void **state)
{
	const struct attr cycles = { .type = PERF_TYPE_HARDWARE }, user = { .flags = ATTR_EXCLUDE_KERNEL },
			  clock = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK },
			  faults = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS };

	(void)state;
	assert_true(window_counts_handler(WINDOW_TWIN, &cycles));
	assert_true(window_counts_handler(WINDOW_REFRESH, &cycles));
	assert_true(window_counts_handler(WINDOW_NATIVE, &cycles));
	assert_false(window_counts_handler(WINDOW_SIM, &cycles));
	assert_false(window_counts_handler(WINDOW_TWIN, &user));
	assert_false(window_counts_handler(WINDOW_TWIN, &clock));
	assert_false(window_counts_handler(WINDOW_TWIN, &faults));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_takes),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_samples_of_members),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_made_a_period),
		cmocka_unit_test(test_drawn_period),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_default_group),
		cmocka_unit_test(test_default_rate),
		cmocka_unit_test(test_counts_handler),
		cmocka_unit_test(test_jitter_by_default),
		cmocka_unit_test(test_refused_jitter),
		cmocka_unit_test(test_jitter_of_near_periods),
		cmocka_unit_test(test_native_jitter),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_tracepoints),
		cmocka_unit_test(test_sim_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
