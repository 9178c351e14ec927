/* SPDX-License-Identifier: Apache-2.0 */
/* The event grammar where it needs nothing of the machine. The flag words are what perf 6.1 hands to the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "events/spec.h"
#include "notes.h"

#define G ATTR_EXCLUDE_GUEST
#define H ATTR_EXCLUDE_HOST
#define U ATTR_EXCLUDE_USER
#define K ATTR_EXCLUDE_KERNEL
#define V ATTR_EXCLUDE_HV
#define PRECISE(n) ((u64)(n) << ATTR_PRECISE_IP_SHIFT)

static const struct event_env nowhere = { .sysfs = "/nonexistent",
					  .tracefs = "/nonexistent",
					  .procfs = "/nonexistent" };

static const struct {
	const char *text;
	u32 type;
	u64 config, flags;
} singles[] = {
	{ "cycles", 0, 0, G },
	{ "cpu-cycles:u", 0, 0, K | V | G },
	{ "instructions:k", 0, 1, U | V },
	{ "cache-references:h", 0, 2, U | K },
	{ "cache-misses:uk", 0, 3, V | G },
	{ "branches:G", 0, 4, H },
	{ "branch-misses:H", 0, 5, G },
	{ "bus-cycles:GH", 0, 6, 0 },
	{ "idle-cycles-frontend:I", 0, 7, ATTR_EXCLUDE_IDLE },
	{ "stalled-cycles-backend:pp", 0, 8, G | PRECISE(2) },
	{ "ref-cycles:upppG", 0, 9, K | V | H | PRECISE(3) },
	{ "cycles:Gu", 0, 0, K | V | H },
	{ "cycles:Gp", 0, 0, H | PRECISE(1) }, /* who asks for guests gets them, precise or not */
	{ "cycles:pG", 0, 0, H | PRECISE(1) },
	{ "{cycles:u}:k", 0, 0, V | G }, /* a group lets in what its member had not */
	{ "{cycles:G}:p", 0, 0, H | PRECISE(1) },
	{ "cycles:P", 0, 0, PRECISE(3) },
	{ "{cycles:P}:p", 0, 0, PRECISE(1) | G },
	{ "cycles:D", 0, 0, ATTR_PINNED },
	{ "cycles:e", 0, 0, ATTR_EXCLUSIVE },
	{ "cpu-clock", 1, 0, G },
	{ "task-clock", 1, 1, G },
	{ "faults", 1, 2, G },
	{ "cs:u", 1, 3, K | V | G },
	{ "migrations", 1, 4, G },
	{ "minor-faults", 1, 5, G },
	{ "major-faults", 1, 6, G },
	{ "alignment-faults", 1, 7, G },
	{ "emulation-faults", 1, 8, G },
	{ "dummy", 1, 9, G },
	{ "bpf-output", 1, 10, G },
	{ "cgroup-switches", 1, 11, G },
	{ "L1-dcache-load-misses", 3, 0x10000, G },
	{ "l1d-stores", 3, 0x100, G },
	{ "L1-icache-prefetch-misses", 3, 0x10201, G },
	{ "LLC", 3, 2, G },
	{ "L2-misses", 3, 0x10002, G },
	{ "LLC-misses-stores", 3, 0x10102, G },
	{ "d-tlb-speculative-load-miss", 3, 0x10203, G },
	{ "iTLB-load-refs", 3, 4, G },
	{ "branch-loads", 3, 5, G },
	{ "branches-read-misses:u", 3, 0x10005, K | V | G },
	{ "node-writes", 0, 0, 0 },
	{ "node-write", 3, 0x106, G },
	{ "r1A8", 4, 0x1a8, G },
	{ "r0x3c:k", 4, 0x3c, U | V },
	{ "1:0x2:u", 1, 2, K | V | G },
	{ "4:0", 4, 0, G },
	{ " cycles ", 0, 0, G },
	{ "cycles/config=7/u", 0, 7, K | V | G },
	{ "cycles//:k", 0, 0, U | V },
	{ "mem:0x1000", 5, 0, G },
};

static void test_singles(void **state)
{
	char note[NOTE_ROOM] = "";
	struct notify to = { keep_note, note };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(singles); i++) {
		struct event_specs specs = { 0 };
		int err = event_specs_parse(&specs, singles[i].text, &nowhere, &to);

		if (!strcmp(singles[i].text, "node-writes")) {
			assert_int_equal(err, ERR_NOTFOUND);
			continue;
		}
		if (err || specs.v.n != 1)
			fail_msg("'%s': %s", singles[i].text, note);
		if (specs.v.v[0].attr.type != singles[i].type || specs.v.v[0].attr.config != singles[i].config ||
		    specs.v.v[0].attr.flags != singles[i].flags)
			fail_msg("'%s': type %u config %#llx flags %#llx", singles[i].text, specs.v.v[0].attr.type,
				 (unsigned long long)specs.v.v[0].attr.config,
				 (unsigned long long)specs.v.v[0].attr.flags);
		assert_int_equal(specs.v.v[0].leader, 0);
		event_specs_free(&specs);
	}
}

/* Every flag and field that a term sets. */
static void test_terms(void **state)
{
	struct event_specs specs = { 0 };
	const struct event_spec *s;

	(void)state;
	assert_int_equal(
		event_specs_parse(&specs,
				  "cycles/period=999700,name='a,b:c/d',time=0,call-graph=dwarf,stack-size=8192,"
				  "no-inherit,max-stack=7,nr=3,overwrite,percore,branch_type='any_call,u',"
				  "aux-output,aux-sample-size=4096,config1=1,config2=0x2,config3=3,config4=4/u,"
				  "cs/freq=99,inherit=1,branch_type=no/",
				  &nowhere, NULL),
		0);
	assert_int_equal(specs.v.n, 2);
	s = &specs.v.v[0];
	assert_string_equal(s->name, "a,b:c/d");
	assert_true(s->has_period && !s->has_freq);
	assert_int_equal(s->attr.sample_period, 999700);
	assert_true(s->has_time && !s->time && s->has_call_graph);
	assert_string_equal(s->call_graph, "dwarf");
	assert_int_equal(s->stack_size, 8192);
	assert_true(s->has_inherit && !s->inherit);
	assert_int_equal(s->max_stack, 7);
	assert_int_equal(s->nr, 3);
	assert_true(s->has_overwrite && s->overwrite && s->percore && s->has_branches);
	assert_int_equal(s->attr.branch_sample_type, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER);
	assert_int_equal(s->attr.aux_sample_size, 4096);
	assert_int_equal(s->attr.config1, 1);
	assert_int_equal(s->attr.config2, 2);
	assert_int_equal(s->attr.config3, 3);
	assert_int_equal(s->attr.config4, 4);
	assert_int_equal(s->attr.flags, K | V | G | ATTR_AUX_OUTPUT);
	s = &specs.v.v[1];
	assert_true(s->has_freq && !s->has_period && (s->attr.flags & ATTR_FREQ));
	assert_int_equal(s->attr.sample_period, 99);
	assert_true(s->has_inherit && s->inherit && s->has_branches);
	assert_int_equal(s->attr.branch_sample_type, 0);
	assert_string_equal(s->name, "cs/freq=99,inherit=1,branch_type=no/");
	event_specs_free(&specs);
}

static void test_thread_data(void **state)
{
	static const struct {
		const char *text;
		u16 size, flags;
		s32 offset;
	} rows[] = {
		{ "cs/tls-size=64/", 64, 0, 0 },
		{ "cs/tls-size=4096,tls-offset=-64,tls-pointer/", 4096, PERF_SAMPLE_TLS_DEREF, -64 },
		{ "cs/tls-offset=0x10,tls-size=8,tls-pointer=0/", 8, 0, 16 },
		{ "cs/tls-size=8,tls-defer/", 8, PERF_SAMPLE_TLS_DEFER, 0 },
		{ "cs/tls-size=8,tls-pointer,tls-defer/", 8, PERF_SAMPLE_TLS_DEREF | PERF_SAMPLE_TLS_DEFER, 0 },
		{ "cs/tls-size=8,tls-pointer,tls-defer=0/", 8, PERF_SAMPLE_TLS_DEREF, 0 },
		{ "cs/tls-size=8,tls-offset=-0x80000000/", 8, 0, INT32_MIN },
		{ "cs/tls-size=8,tls-offset=2147483647/", 8, 0, INT32_MAX },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = { 0 };
		const struct attr *a;

		assert_int_equal(event_specs_parse(&specs, rows[i].text, &nowhere, NULL), 0);
		a = &specs.v.v[0].attr;
		assert_int_equal(a->sample_tls_user, rows[i].size);
		assert_int_equal(a->sample_tls_offset, rows[i].offset);
		assert_int_equal(a->sample_tls_flags, rows[i].flags);
		assert_string_equal(specs.v.v[0].name, rows[i].text);
		event_specs_free(&specs);
	}
}

/* Terms that shape the sampling, by themselves, with -c and with -F. */
static void test_schedules(void **state)
{
	static const struct {
		const char *text;
		u64 given;  /* by -c; 0: the event's own */
		bool freq;  /* by -F */
		u64 period; /* of the attr, in the end */
		struct schedule want;
	} rows[] = {
		{ "cycles/period=999700,alt-period=300/", 0, false, 1000000, { 999700, 300, 1, 0, 0 } },
		{ "cycles/alt-period=300,period=999700,burst=4/", 0, false, 1000900, { 999700, 300, 4, 0, 0 } },
		{ "cycles/alt-period=10,alt-period-jitter=10/", 90, false, 100, { 90, 10, 1, 0, 10 } },
		{ "cycles/period-jitter=90/", 90, false, 90, { 90, 0, 0, 90, 0 } },
		{ "cycles/alt-period=10,burst=16,period-jitter=7/", 4000, true, 4000, { 0, 10, 16, 7, 0 } },
		/* The last one counts, as in perf. */
		{ "cycles/freq=99,period=900,alt-period=10/", 0, false, 910, { 900, 10, 1, 0, 0 } },
		{ "cycles/period=900,freq=99,alt-period=10/", 0, true, 99, { 0, 10, 1, 0, 0 } },
		{ "cycles/freq=99,alt-period=10/", 0, true, 99, { 0, 10, 1, 0, 0 } },
		{ "cycles/period=7/", 0, false, 7, { 0 } },
		{ "cs/alt-period=10/", 0, false, 0, { 0 } }, /* it takes no samples */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = { 0 };
		struct schedule got;
		struct attr a;

		assert_int_equal(event_specs_parse(&specs, rows[i].text, &nowhere, NULL), 0);
		a = specs.v.v[0].attr;
		a.sample_period = rows[i].given ? rows[i].given : a.sample_period;
		a.flags |= rows[i].freq ? ATTR_FREQ : 0;
		assert_int_equal(event_spec_schedule(&specs.v.v[0], &a, &got, NULL), 0);
		assert_int_equal(a.sample_period, rows[i].period);
		assert_int_equal(got.period_long, rows[i].want.period_long);
		assert_int_equal(got.period_short, rows[i].want.period_short);
		assert_int_equal(got.batch_count, rows[i].want.batch_count);
		assert_int_equal(got.jitter_long, rows[i].want.jitter_long);
		assert_int_equal(got.jitter_short, rows[i].want.jitter_short);
		assert_int_equal(!!(a.sample_type & PERF_SAMPLE_PERIOD), got.period_short || got.jitter_long);
		event_specs_free(&specs);
	}
}

/* A period of -c for which the terms are too wide is known only when it is there. */
static void test_schedule_late(void **state)
{
	char note[NOTE_ROOM] = "";
	struct notify to = { keep_note, note };
	struct event_specs specs = { 0 };
	struct schedule got;
	struct attr a;

	(void)state;
	assert_int_equal(event_specs_parse(&specs, "cycles/period-jitter=20/", &nowhere, NULL), 0);
	a = specs.v.v[0].attr;
	a.sample_period = 10;
	assert_int_equal(event_spec_schedule(&specs.v.v[0], &a, &got, &to), ERR_USAGE);
	assert_non_null(strstr(note, "period of 10"));
	event_specs_free(&specs);
}

static void test_groups(void **state)
{
	struct event_specs specs = { 0 };
	const struct event_spec *s;

	(void)state;
	assert_int_equal(
		event_specs_parse(&specs, "cs, {cycles:u,instructions}:SD ,mine{dummy,faults:p}:k", &nowhere, NULL),
		0);
	assert_int_equal(event_specs_parse(&specs, "task-clock", &nowhere, NULL), 0);
	assert_int_equal(specs.v.n, 6);
	s = specs.v.v;
	assert_int_equal(s[0].leader, 0);
	assert_int_equal(s[1].leader, 1);
	assert_int_equal(s[2].leader, 1);
	assert_int_equal(s[4].leader, 3);
	assert_int_equal(s[5].leader, 5);
	assert_string_equal(s[1].name, "cycles:u");
	assert_true(s[1].sample_read && s[2].sample_read && !s[3].sample_read);
	assert_true(s[1].pinned && !s[2].pinned);
	assert_null(s[1].group_name);
	assert_string_equal(s[4].group_name, "mine");
	assert_int_equal(s[1].attr.flags, K | V | G | ATTR_PINNED);
	assert_int_equal(s[2].attr.flags, G);
	assert_int_equal(s[3].attr.flags, U | V | G); /* a group's modifier keeps the default */
	assert_int_equal(s[4].attr.flags, U | V | G | PRECISE(1));
	assert_int_equal(s[4].option, 0);
	assert_int_equal(s[5].option, 1);
	event_specs_free(&specs);
}

static void test_breakpoints(void **state)
{
	static const struct {
		const char *text;
		u64 addr, len;
		u32 access;
		u64 flags;
	} rows[] = {
		{ "mem:0x1000", 0x1000, 4, 3, G },
		{ "mem:4096/8:rw", 4096, 8, 3, G },
		{ "mem:0x20:x", 0x20, 8, 4, G },
		{ "mem:0x20:w:k", 0x20, 4, 2, U | V },
		{ "mem:0x20/1:r:u", 0x20, 1, 1, K | V | G },
		{ "mem:0x20:u", 0x20, 4, 3, K | V | G },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = { 0 };
		const struct attr *a;

		assert_int_equal(event_specs_parse(&specs, rows[i].text, &nowhere, NULL), 0);
		a = &specs.v.v[0].attr;
		assert_int_equal(a->type, PERF_TYPE_BREAKPOINT);
		assert_int_equal(a->config1, rows[i].addr);
		assert_int_equal(a->config2, rows[i].len);
		assert_int_equal(a->bp_type, rows[i].access);
		assert_int_equal(a->flags, rows[i].flags);
		assert_int_equal(a->sample_period, 1);
		event_specs_free(&specs);
	}
}

/* The message, the column of the first caret and the number of carets; a word that must be suggested. */
static const struct {
	const char *text;
	int err;
	u32 column, carets;
	const char *says;
} wrong[] = {
	{ "cycels", ERR_NOTFOUND, 0, 6, "did you mean 'cycles'" },
	{ "cs,L1-dcache-laod-misses:u", ERR_NOTFOUND, 3, 21, "'L1-dcache-load-misses'" },
	{ "cycles:uu", ERR_USAGE, 8, 1, "repeated" },
	{ "cycles:pppp", ERR_USAGE, 10, 1, "repeated" },
	{ "cycles:z", ERR_USAGE, 7, 1, "not a modifier" },
	{ "cycles:", ERR_USAGE, 7, 1, "missing" },
	{ "cycles,,cs", ERR_USAGE, 7, 1, "missing" },
	{ "", ERR_USAGE, 0, 1, "missing" },
	{ "{cycles", ERR_USAGE, 0, 1, "not closed" },
	{ "{cycles,{cs}}", ERR_USAGE, 8, 1, "missing" },
	{ "{a", ERR_NOTFOUND, 1, 1, "unknown" },
	{ "cycles}", ERR_USAGE, 6, 1, "expected ','" },
	{ "{cycles}:", ERR_USAGE, 9, 1, "missing" },
	{ "{cycles:ppp}:p", ERR_USAGE, 13, 1, "more than three times" },
	{ "cycles/period=1", ERR_USAGE, 6, 1, "not closed" },
	{ "cycles/perod=1/", ERR_USAGE, 7, 5, "'period'" },
	{ "cycles/period=abc/", ERR_USAGE, 14, 3, "number" },
	{ "cycles/period=/", ERR_USAGE, 13, 1, "value" },
	{ "cycles/=1/", ERR_USAGE, 7, 2, "name" },
	{ "cycles/name/", ERR_USAGE, 7, 4, "needs a value" },
	{ "cycles/time=2/", ERR_USAGE, 12, 1, "0 or 1" },
	{ "cycles/period=1,/", ERR_USAGE, 16, 1, "missing" },
	{ "cycles/stack-size=65536/", ERR_USAGE, 18, 5, "at most 65535" },
	{ "cycles/branch_type=foo/", ERR_USAGE, 19, 3, "branch type" },
	{ "cycles/period=99999999999999999999/", ERR_USAGE, 14, 20, "number" },
	{ "cycles/alt-period/", ERR_USAGE, 7, 10, "'alt-period' needs a value: alt-period=N" },
	{ "cycles/period=9,alt-period=3,burst/", ERR_USAGE, 29, 5, "'burst' needs a value" },
	{ "cycles/period-jitter/", ERR_USAGE, 7, 13, "'period-jitter' needs a value" },
	{ "cycles/alt-period=3,alt-period-jitter/", ERR_USAGE, 20, 17, "'alt-period-jitter' needs a value" },
	{ "cycles/alt-period=0/", ERR_USAGE, 18, 1, "at least 1" },
	{ "cycles/period=9,alt-period=x/", ERR_USAGE, 27, 1, "number" },
	{ "cycles/alt-period=5,burst=0/", ERR_USAGE, 26, 1, "at least 1" },
	{ "cycles/burst=4294967296,alt-period=5/", ERR_USAGE, 13, 10, "at most 4294967295" },
	{ "cycles/period=9,burst=3/", ERR_USAGE, 22, 1, "needs 'alt-period'" },
	{ "cycles/period=9,alt-period-jitter=3/", ERR_USAGE, 34, 1, "needs 'alt-period'" },
	{ "cycles/alt-period=9,alt-period-jitter=10/", ERR_USAGE, 38, 2, "not be larger than 'alt-period'" },
	{ "cycles/period=9,period-jitter=10/", ERR_USAGE, 30, 2, "not be larger than 'period'" },
	{ "cycles/period=0,alt-period=18/", ERR_USAGE, 14, 1, "at least 1" },
	{ "cs/tls-size=12/", ERR_USAGE, 12, 2, "multiple of 8" },
	{ "cs/tls-size=0/", ERR_USAGE, 12, 1, "multiple of 8" },
	{ "cs/tls-size=4104/", ERR_USAGE, 12, 4, "at most 4096" },
	{ "cs/tls-pointer/", ERR_USAGE, 3, 11, "needs 'tls-size'" },
	{ "cs/tls-defer/", ERR_USAGE, 3, 9, "needs 'tls-size'" },
	{ "cs/tls-offset=8/", ERR_USAGE, 14, 1, "needs 'tls-size'" },
	{ "cs/tls-size=8,tls-offset/", ERR_USAGE, 14, 10, "32 bits" },
	{ "cs/tls-size=8,tls-offset=-/", ERR_USAGE, 25, 1, "32 bits" },
	{ "cs/tls-size=8,tls-offset=2147483648/", ERR_USAGE, 25, 10, "32 bits" },
	{ "cs/tls-size=8,tls-offset=-0x80000001/", ERR_USAGE, 25, 11, "32 bits" },
	{ "cycles/period=9223372036854775807,alt-period=1/", ERR_USAGE, 14, 19, "2^63" },
	{ "cycles/period=9,alt-period=9/", ERR_USAGE, 27, 1, "shorter than 'period'" },
	{ "cycles/alt-priod=1/", ERR_USAGE, 7, 9, "'alt-period'" },
	{ "L1-icache-stores", ERR_USAGE, 0, 16, "no such operation" },
	{ "mem:", ERR_USAGE, 4, 1, "address" },
	{ "mem:0x10/x", ERR_USAGE, 9, 1, "length" },
	{ "mem:0x10:q", ERR_USAGE, 9, 1, "access" },
	{ "mem:0x10:rr", ERR_USAGE, 9, 2, "access" },
	{ "1:x", ERR_USAGE, 2, 1, "config" },
	{ "99999999999:1", ERR_USAGE, 0, 11, "type" },
};

static void test_errors(void **state)
{
	char note[NOTE_ROOM];
	struct notify to = { keep_note, note };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(wrong); i++) {
		struct event_specs specs = { 0 };
		const char *line;
		int err;

		*note = 0;
		err = event_specs_parse(&specs, wrong[i].text, &nowhere, &to);
		assert_int_equal(specs.v.n, 0);
		line = strchr(note, '\n');
		line = line ? strchr(line + 1, '\n') : NULL;
		if (err != wrong[i].err || !strstr(note, wrong[i].says) || !line ||
		    strspn(line + 1, " ") != wrong[i].column + 4 ||
		    strspn(line + 1 + wrong[i].column + 4, "^") != wrong[i].carets)
			fail_msg("'%s': %s\n%s", wrong[i].text, err_name(err), note);
		event_specs_free(&specs);
	}
}

/* What was there before an error stays. */
static void test_error_keeps(void **state)
{
	struct event_specs specs = { 0 };

	(void)state;
	assert_int_equal(event_specs_parse(&specs, "cs", &nowhere, NULL), 0);
	assert_int_equal(event_specs_parse(&specs, "{cycles,faults},nonsense", &nowhere, NULL), ERR_NOTFOUND);
	assert_int_equal(specs.v.n, 1);
	assert_string_equal(specs.v.v[0].name, "cs");
	assert_int_equal(event_specs_filter(&specs, "a == 1", NULL), ERR_USAGE);
	event_specs_free(&specs);
}

static void test_branch_types(void **state)
{
	u64 mask;

	(void)state;
	assert_int_equal(event_branch_types("u,k", &mask, NULL), 0);
	assert_int_equal(mask, PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY);
	assert_int_equal(event_branch_types("any_ret,hw_index", &mask, NULL), 0);
	assert_int_equal(mask, PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_HW_INDEX);
	assert_int_equal(event_branch_types("any,", &mask, NULL), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_singles),	      cmocka_unit_test(test_terms),
		cmocka_unit_test(test_thread_data),   cmocka_unit_test(test_schedules),
		cmocka_unit_test(test_schedule_late), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_breakpoints),   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_error_keeps),   cmocka_unit_test(test_branch_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
