/* SPDX-License-Identifier: Apache-2.0 */
/* Which events an operation of Arm SPE is a sample of, whose it is, and what --itrace asks for. */
#include "attrib/spe_counted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/perf_abi.h"
#include "notes.h"

#define L1D (1u << SPE_EVENT_L1D_MISS | 1u << SPE_EVENT_L1D_ACCESS)
#define LLC (1u << SPE_EVENT_LLC_MISS | 1u << SPE_EVENT_LLC_ACCESS)
#define ALL (1u << SPE_EVENT_INSTRUCTIONS)

/* --- who ran where, instead of what a recording says --- */

static bool known_thread;

u64 aux_time(const struct aux *a, u64 ticks)
{
	(void)a;
	return ticks * 10;
}

bool aux_thread(const struct aux *a, u32 cpu, u64 time, u32 *pid, u32 *tid)
{
	(void)a;
	if (!known_thread)
		return false;
	*pid = 1000 + cpu;
	*tid = (u32)time;
	return true;
}

u32 aux_process(const struct aux *a, u32 tid)
{
	(void)a;
	return tid + 1;
}

u64 aux_midr(const struct aux *a, u32 cpu)
{
	(void)a;
	return cpu;
}

/* --- tests --- */

static void test_itrace(void **state)
{
	static const struct {
		const char *text;
		u32 events;
		const char *error; /* begins so */
	} rows[] = {
		{ "", 0, NULL },
		{ "f", L1D, NULL },
		{ "fm", L1D | LLC, NULL },
		{ "b", 1u << SPE_EVENT_BRANCH_MISS, NULL },
		{ "a", 1u << SPE_EVENT_REMOTE_ACCESS, NULL },
		{ "M", 1u << SPE_EVENT_MEMORY, NULL },
		{ "tM", 1u << SPE_EVENT_TLB_MISS | 1u << SPE_EVENT_TLB_ACCESS | 1u << SPE_EVENT_MEMORY, NULL },
		{ "i", ALL, NULL },
		{ "i1i", ALL, NULL },
		{ "i1if", ALL | L1D, NULL },
		{ "if", ALL | L1D, NULL },
		{ "i1", 0, "--itrace: i takes every sampled operation here" },
		{ "i1u", 0, "--itrace: i takes every sampled operation here" },
		{ "i2i", 0, "--itrace: i takes every sampled operation here" },
		{ "i11i", 0, "--itrace: i takes every sampled operation here" },
		/* Of branch traces, with their numbers. */
		{ "g16f", L1D, NULL },
		{ "e+1-2m", LLC, NULL },
		{ "Z", 0, NULL },
		{ "f2", 0, "--itrace: '2' is not an event" },
		{ "y", 0, "--itrace: 'y' is not an event" },
		{ "fy", 0, "--itrace: 'y' is not an event" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char text[NOTE_ROOM] = "";
		u32 events = 77;
		int err = spe_events_parse(rows[i].text, &events, &(struct notify){ keep_note, text });

		assert_int_equal(err, rows[i].error ? ERR_USAGE : 0);
		assert_memory_equal(text, rows[i].error ? rows[i].error : "",
				    rows[i].error ? strlen(rows[i].error) : 1);
		if (!err)
			assert_int_equal(events, rows[i].events);
	}
}

static void test_counts(void **state)
{
	static const struct {
		u32 happened;
		enum spe_event event;
	} rows[] = {
		{ SPE_EV_L1D_REFILL, SPE_EVENT_L1D_MISS },	{ SPE_EV_L1D_ACCESS, SPE_EVENT_L1D_ACCESS },
		{ SPE_EV_LLC_REFILL, SPE_EVENT_LLC_MISS },	{ SPE_EV_LLC_ACCESS, SPE_EVENT_LLC_ACCESS },
		{ SPE_EV_TLB_WALK, SPE_EVENT_TLB_MISS },	{ SPE_EV_TLB_ACCESS, SPE_EVENT_TLB_ACCESS },
		{ SPE_EV_MISPREDICTED, SPE_EVENT_BRANCH_MISS }, { SPE_EV_REMOTE_ACCESS, SPE_EVENT_REMOTE_ACCESS },
	};
	struct spe_record r = { .has = SPE_HAS(SPE_OPERATION), .operation_class = SPE_LOAD_STORE };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		for (u32 e = 0; e < SPE_EVENT_MEMORY; e++) {
			r.events = rows[i].happened;
			assert_int_equal(spe_counts(&r, e), e == rows[i].event);
			r.events = ~rows[i].happened;
			assert_int_equal(spe_counts(&r, e), e != rows[i].event);
		}
	r.events = 0;
	for (u32 store = 0; store < 2; store++) {
		r.operation = (u8)store;
		assert_true(spe_counts(&r, SPE_EVENT_MEMORY) && spe_counts(&r, SPE_EVENT_INSTRUCTIONS));
	}
	r.operation_class = SPE_BRANCH;
	assert_true(!spe_counts(&r, SPE_EVENT_MEMORY) && spe_counts(&r, SPE_EVENT_INSTRUCTIONS));
}

/* They come behind the events of the recording, of which those that fill buffers have no samples of their own. */
static void test_added(void **state)
{
	u32 types[] = { 9, 12 };
	const struct aux aux = { .pmu_type = 9, .pmu_types = { types, ARRAY_LEN(types), ARRAY_LEN(types) } };
	struct evlist l = { 0 };
	struct spe s;

	(void)state;
	evlist_add(&l, &(struct attr){ .type = 9, .sample_type = PERF_SAMPLE_IP }, "arm_spe_0//", NULL);
	evlist_add(&l, &(struct attr){ .type = 1, .sample_type = PERF_SAMPLE_IP }, "cpu-clock", NULL);
	evlist_add(&l, &(struct attr){ .type = 12, .sample_type = PERF_SAMPLE_IP }, "arm_spe_1//", NULL);
	spe_add_events(&s, 1u << SPE_EVENT_LLC_MISS | 1u << SPE_EVENT_INSTRUCTIONS, &aux, &l);
	assert_ptr_equal(s.aux, &aux);
	assert_int_equal(l.events.n, 5);
	assert_true(l.events.v[0].silent && l.events.v[2].silent);
	assert_false(l.events.v[1].silent || l.events.v[3].silent || l.events.v[4].silent);
	for (u32 i = 0; i < SPE_NR_EVENTS; i++)
		assert_int_equal(s.of[i], i == SPE_EVENT_LLC_MISS ? 3 : i == SPE_EVENT_INSTRUCTIONS ? 4 : ID_NONE);
	assert_string_equal(l.events.v[3].name, "llc-miss");
	assert_int_equal(l.events.v[3].attr.config, SPE_EV_LLC_REFILL);
	assert_int_equal(l.events.v[3].attr.type, 9);
	assert_string_equal(l.events.v[4].name, "instructions");
	evlist_free(&l);
}

/* --- as samples of what a group counts --- */

#define SPE_PMU 9
#define USER (ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV)
#define JITTER (1ull << 16)
#define CACHE(level, result) (PERF_COUNT_HW_CACHE_##level | (u64)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* What a group counts beside cycles. */
static const struct {
	u32 type;
	u64 config;
} counters[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },  { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES }, { PERF_TYPE_HW_CACHE, CACHE(L1D, MISS) },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },  { PERF_TYPE_HW_CACHE, CACHE(LL, MISS) },
	{ PERF_TYPE_HW_CACHE, CACHE(DTLB, MISS) },	     { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS }, /* of another group, once more */
};
enum { INSTRUCTIONS, BRANCHES, BRANCH_MISSES, L1D_MISSES, CACHE_MISSES, LLC_MISSES, DTLB_MISSES, BUS_CYCLES, AGAIN };

static struct spe made_for(struct evlist *l, const struct attr *spe, enum event_machine machine, const char **why)
{
	static const struct aux aux = { .pmu_type = SPE_PMU };
	struct spe s;

	*l = (struct evlist){ 0 };
	for (u32 i = 0; i < ARRAY_LEN(counters); i++) {
		const struct attr a = { .type = counters[i].type,
					.config = counters[i].config,
					.flags = USER,
					.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ,
					.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID };

		evlist_add(l, &a, "counter", NULL);
	}
	/* Not of a group. */
	evlist_add(l, &(struct attr){ .type = PERF_TYPE_RAW, .config = 0x22, .flags = USER }, "r22", NULL);
	evlist_add(l, spe, "arm_spe_0//", NULL);
	spe_add_events(&s, 0, &aux, l);
	*why = spe_add_counted(&s, machine, l);
	return s;
}

/* Is an operation of this kind, in which all of that happened, counted for it? 2: no event is made. */
static u32 counts_as(const struct spe *s, const struct evlist *l, u32 counter, u8 kind, u64 events)
{
	struct spe_record r = { .has = SPE_HAS(SPE_OPERATION), .events = events, .operation_class = SPE_LOAD_STORE };

	r.operation = kind == SPE_KIND_STORE;
	if (kind == SPE_KIND_BRANCH)
		r.operation_class = SPE_BRANCH;
	for (u32 i = 0; i < s->nr_made; i++)
		if (attr_same_event(&l->events.v[s->made[i].event].attr, &l->events.v[counter].attr))
			return spe_made_counts(&r, &s->made[i]);
	return 2;
}

static void test_counted(void **state)
{
	static const struct {
		u32 counter, events;
		u8 kind, simulated, arm;
	} rows[] = {
		{ INSTRUCTIONS, SPE_EV_RETIRED, SPE_KIND_STORE, 1, 1 },
		{ INSTRUCTIONS, SPE_EV_L1D_ACCESS, SPE_KIND_STORE, 0, 0 },
		{ BRANCHES, SPE_EV_RETIRED, SPE_KIND_BRANCH, 1, 1 },
		{ BRANCHES, SPE_EV_RETIRED, SPE_KIND_LOAD, 0, 0 },
		{ BRANCH_MISSES, SPE_EV_MISPREDICTED, SPE_KIND_BRANCH, 1, 1 },
		{ BRANCH_MISSES, SPE_EV_RETIRED, SPE_KIND_BRANCH, 0, 0 },
		{ L1D_MISSES, SPE_EV_L1D_REFILL, SPE_KIND_LOAD, 1, 1 },
		{ L1D_MISSES, SPE_EV_L1D_REFILL, SPE_KIND_STORE, 0, 1 },
		{ L1D_MISSES, SPE_EV_L1D_ACCESS, SPE_KIND_LOAD, 0, 0 },
		/* Of the last level there, and of L1D on Arm's own. */
		{ CACHE_MISSES, SPE_EV_LLC_REFILL, SPE_KIND_STORE, 1, 0 },
		{ CACHE_MISSES, SPE_EV_L1D_REFILL, SPE_KIND_STORE, 0, 1 },
		{ LLC_MISSES, SPE_EV_LLC_REFILL, SPE_KIND_LOAD, 1, 1 },
		{ LLC_MISSES, SPE_EV_LLC_REFILL, SPE_KIND_STORE, 0, 0 },
		{ DTLB_MISSES, SPE_EV_TLB_WALK, SPE_KIND_LOAD, 1, 2 },
		{ BUS_CYCLES, 0xffff, SPE_KIND_LOAD, 2, 2 },
	};
	const struct attr spe = { .type = SPE_PMU, .config = JITTER | 1, .sample_period = 1000, .flags = USER };
	const char *why[2];
	struct evlist l[2];
	struct spe s[2];

	(void)state;
	s[0] = made_for(&l[0], &spe, MACHINE_SIM, &why[0]);
	s[1] = made_for(&l[1], &spe, MACHINE_ARM, &why[1]);
	assert_true(!why[0] && !why[1]);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(counts_as(&s[0], &l[0], rows[i].counter, rows[i].kind, rows[i].events),
				 rows[i].simulated);
		assert_int_equal(counts_as(&s[1], &l[1], rows[i].counter, rows[i].kind, rows[i].events), rows[i].arm);
	}
	assert_int_equal(s[0].nr_made, 7);
	assert_int_equal(s[1].nr_made, 6);
	for (u32 i = 0; i < s[1].nr_made; i++) {
		const struct event *e = &l[1].events.v[s[1].made[i].event];

		assert_true(e->counted && !e->silent);
		assert_int_equal(e->attr.flags, USER);
		/* Hardware has random bits in place of the interval's lowest eight. */
		assert_int_equal(e->attr.sample_period, 768 + 128);
		assert_int_equal(l[0].events.v[s[0].made[i].event].attr.sample_period, 1000);
	}
	assert_false(spe_wanted(&s[0]).all);
	assert_int_equal(spe_wanted(&s[1]).events,
			 SPE_EV_RETIRED | SPE_EV_MISPREDICTED | SPE_EV_L1D_REFILL | SPE_EV_LLC_REFILL);
	evlist_free(&l[0]);
	evlist_free(&l[1]);
}

/* Counters of user space alone, and operations of both. */
static void test_counted_modes(void **state)
{
	const struct attr both = { .type = SPE_PMU, .sample_period = 1000 };
	struct spe_record r = { .events = SPE_EV_RETIRED, .pc = 0x401000 };
	const char *why;
	struct evlist l;
	struct spe s = made_for(&l, &both, MACHINE_ARM, &why);

	(void)state;
	assert_null(why);
	assert_true(s.nr_made > 0 && s.made[0].user);
	assert_true(spe_made_counts(&r, &s.made[0]));
	r.pc = 0xffff800000001000;
	assert_false(spe_made_counts(&r, &s.made[0]));
	evlist_free(&l);
}

/* What makes them no samples of it. */
static void test_not_counted(void **state)
{
	static const struct {
		struct attr spe;
		const char *why; /* what it has */
	} rows[] = {
		{ { .type = SPE_PMU, .sample_period = 1000, .flags = USER, .config = 1ull << 33 }, "filtered" },
		{ { .type = SPE_PMU, .sample_period = 1000, .flags = USER, .config1 = 2 }, "filtered" },
		{ { .type = SPE_PMU, .sample_period = 1000, .flags = USER, .config2 = 10 }, "filtered" },
		{ { .type = SPE_PMU, .sample_period = 1000, .flags = USER, .config3 = 4 }, "filtered" },
		{ { .type = SPE_PMU, .flags = USER }, "how often" },
		{ { .type = SPE_PMU, .sample_period = 1000, .flags = ATTR_EXCLUDE_USER }, "modes" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why;
		struct evlist l;
		struct spe s = made_for(&l, &rows[i].spe, MACHINE_ARM, &why);

		assert_non_null(why);
		assert_non_null(strstr(why, rows[i].why));
		assert_int_equal(s.nr_made, 0);
		evlist_free(&l);
	}
}

/* Several PMUs, one for each kind of core: all in one way, or not at all. */
static void test_counted_by_several(void **state)
{
	u32 types[] = { SPE_PMU, 12 };
	const struct aux aux = { .pmu_type = SPE_PMU, .pmu_types = { types, ARRAY_LEN(types), ARRAY_LEN(types) } };
	const u64 group = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

	(void)state;
	for (u64 other = 1000; other <= 2000; other += 1000) {
		struct evlist l = { 0 };
		struct spe s;

		evlist_add(&l, &(struct attr){ .config = 1, .sample_type = PERF_SAMPLE_READ, .read_format = group },
			   "instructions", NULL);
		evlist_add(&l, &(struct attr){ .type = SPE_PMU, .sample_period = 1000 }, "arm_spe_0//", NULL);
		evlist_add(&l, &(struct attr){ .type = 12, .sample_period = other }, "arm_spe_1//", NULL);
		spe_add_events(&s, 0, &aux, &l);
		assert_int_equal(!spe_add_counted(&s, MACHINE_ARM, &l), other == 1000);
		assert_int_equal(s.nr_made, other == 1000);
		evlist_free(&l);
	}
}

static void test_time(void **state)
{
	struct aux aux = { .has_conversion = true };
	const struct spe s = { .aux = &aux };
	struct spe_record r = { .has = SPE_HAS(SPE_TIMESTAMP), .time = 7 };

	(void)state;
	assert_int_equal(spe_time(&s, &r, 3), 70);
	aux.has_conversion = false;
	assert_int_equal(spe_time(&s, &r, 3), 3);
	aux.has_conversion = true;
	r.has = 0;
	assert_int_equal(spe_time(&s, &r, 3), 3);
}

static void test_hit(void **state)
{
	const struct aux aux = { .has_conversion = true };
	const struct aux_buffer b = { .at = 4096, .cpu = 5, .tid = 60 };
	const struct spe s = { .aux = &aux };
	struct spe_record r = { .has = SPE_HAS(SPE_TIMESTAMP),
				.at = 64,
				.time = 7,
				.pc = 0x401000,
				.target = 0x402000,
				.virtual = 0x7000,
				.physical = 0x9000,
				.operation_class = SPE_BRANCH };
	struct spe_operation o = { .record = &r };
	struct sample full = { 0 };
	struct hit h;
	u64 time = 3;

	(void)state;
	r.latency[SPE_TOTAL] = 44;
	known_thread = true;
	spe_hit(&s, &b, &o, &time, &h, &full);
	assert_int_equal(time, 70);
	assert_int_equal(h.cpumode, PERF_RECORD_MISC_USER);
	assert_int_equal(h.offset, 4160);
	assert_int_equal(h.made, HIT_SYNTHESISED);
	assert_int_equal(h.clock, 70);
	assert_int_equal(h.s.ip, 0x401000);
	assert_int_equal(h.s.cpu, 5);
	assert_int_equal(h.s.pid, 1005);
	assert_int_equal(h.s.tid, 70);
	assert_int_equal(h.s.period, 1);
	assert_true(h.exact && h.full == &full && h.operation == &o);
	assert_int_equal(full.pid, 1005);
	assert_int_equal(full.tid, 70);
	assert_int_equal(full.time, 70);
	assert_int_equal(full.weight, 44);
	assert_int_equal(full.addr, 0x402000); /* of a branch where it leads */
	assert_int_equal(full.phys_addr, 0x9000);
	/* The buffer's thread, if nobody knows who ran; the record's, if it says. */
	known_thread = false;
	r.operation_class = SPE_LOAD_STORE;
	r.pc = 0xffff800000001000;
	spe_hit(&s, &b, &o, &time, &h, &full);
	assert_int_equal(h.cpumode, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(h.s.tid, 60);
	assert_int_equal(h.s.pid, 61);
	assert_int_equal(full.addr, 0x7000);
	known_thread = true;
	r.has |= SPE_HAS(SPE_CONTEXT);
	r.context = 80;
	spe_hit(&s, &b, &o, &time, &h, NULL);
	assert_int_equal(h.s.tid, 80);
	assert_int_equal(h.s.pid, 81);
	assert_null(h.full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_itrace),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_counted_modes),
		cmocka_unit_test(test_not_counted),
		cmocka_unit_test(test_counted_by_several),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_hit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
