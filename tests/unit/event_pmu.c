/* SPDX-License-Identifier: Apache-2.0 */
/* PMU events, tracepoints and hybrid machines, in trees of files that the test makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "events/parse.h"
#include "notes.h"
#include "tree.h"

#define G ATTR_EXCLUDE_GUEST

static const struct file server[] = {
	{ DEV "cpu/type", "4\n" },
	{ DEV "cpu/format/event", "config:0-7,32-35\n" },
	{ DEV "cpu/format/umask", "config:8-15\n" },
	{ DEV "cpu/format/inv", "config:23\n" },
	{ DEV "cpu/format/cmask", "config:24-31\n" },
	{ DEV "cpu/format/offcore_rsp", "config1:0-63\n" },
	{ DEV "cpu/format/ldlat", "config1:0-15\n" },
	{ DEV "cpu/format/third", "config3:1,3,5\n" },
	{ DEV "cpu/events/cpu-cycles", "event=0x3c\n" },
	{ DEV "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ DEV "cpu/events/topdown", "event=0x00,umask=0x82\n" },
	{ DEV "cpu/events/topdown.scale", "0.5\n" },
	{ DEV "cpu/events/topdown.unit", "slots\n" },
	{ DEV "cpu/events/sampled", "event=0x1,period=77\n" },
	{ DEV "cpu/events/asks", "event=0x2,umask=?\n" },
	{ DEV "cpu/events/loop", "loop\n" },
	{ DEV "cpu/events/broken", "event=,,=\n" },
	{ DEV "cpu/events/strange", "nothing=3\n" },
	{ DEV "uncore_imc_0/type", "17\n" },
	{ DEV "uncore_imc_0/cpumask", "0,18\n" },
	{ DEV "uncore_imc_0/format/event", "config:0-7\n" },
	{ DEV "uncore_imc_0/events/cas_count_read", "event=0x4\n" },
	{ DEV "uncore_imc_1/type", "18\n" },
	{ DEV "uncore_imc_1/cpumask", "0,18\n" },
	{ DEV "uncore_imc_1/format/event", "config:0-7\n" },
	{ DEV "uncore_imc_1/events/cas_count_read", "event=0x4\n" },
	{ DEV "uncore_imc_free_running/type", "19\n" },
	{ DEV "arm_spe_0/type", "20\n" },
	{ DEV "arm_spe_0/cpumask", "0-3\n" },
	{ DEV "arm_spe_0/caps/min_interval", "1024\n" },
	{ DEV "arm_spe_0/format/ts_enable", "config:0\n" },
	{ DEV "arm_spe_0/format/load_filter", "config:33\n" },
	{ DEV "arm_spe_0/format/event_filter", "config1:0-63\n" },
	{ DEV "arm_spe_0/format/min_latency", "config2:0-11\n" },
	{ DEV "arm_spe_0/format/inv_data_src_filter", "config4:0-63\n" },
	{ DEV "arm_spe_1/type", "22\n" },
	{ DEV "hostile/type", "21\n" },
	{ DEV "hostile/cpumask", "rm -rf\n" },
	{ DEV "hostile/format/toofar", "config:0-64\n" },
	{ DEV "hostile/format/backwards", "config:9-3\n" },
	{ DEV "hostile/format/word", "config9:0\n" },
	{ DEV "hostile/format/empty", "" },
	{ DEV "hostile/format/junk", "config:0-7,\n" },
	{ DEV "hostile/format/fine", "config:4\n" },
	{ DEV "notype/format/x", "config:0\n" },
	{ DEV "badtype/type", "-3\n" },
	{ DEV "bad name/type", "3\n" },
	{ "trace/events/sched/sched_switch/id", "314\n" },
	{ "trace/events/sched/sched_wakeup/id", "317\n" },
	{ "trace/events/sched/sched_wakeup_new/id", "316\n" },
	{ "trace/events/sched/enable", "0\n" },
	{ "trace/events/ftrace/function/format", "x\n" },
	{ "trace/events/probe_app/main/id", "2001\n" },
	{ "trace/events/bad/id_is_text/id", "abc\n" },
};

static const struct file hybrid[] = {
	{ DEV "cpu_core/type", "4\n" },
	{ DEV "cpu_core/cpus", "0-15\n" },
	{ DEV "cpu_core/format/event", "config:0-7\n" },
	{ DEV "cpu_core/events/cpu-cycles", "event=0x3c\n" },
	{ DEV "cpu_atom/type", "10\n" },
	{ DEV "cpu_atom/cpus", "16-23\n" },
	{ DEV "cpu_atom/format/event", "config:0-7\n" },
	{ DEV "cpu_atom/events/cpu-cycles", "event=0x3c\n" },
};

static const struct file arm[] = {
	{ DEV "armv8_pmuv3_0/type", "8\n" },
	{ DEV "armv8_pmuv3_0/cpus", "0-7\n" },
	{ DEV "armv8_pmuv3_0/format/event", "config:0-15\n" },
	{ DEV "armv8_pmuv3_0/format/long", "config1:0\n" },
	{ DEV "armv8_pmuv3_0/events/l1d_cache_refill", "event=0x0003\n" },
};

static const struct {
	const char *text;
	u32 n, type;
	u64 config, config1;
} server_rows[] = {
	{ "cpu/event=0x3c/", 1, 4, 0x3c, 0 },
	{ "cpu/event=0xf3c,umask=1,inv,cmask=0x10/", 1, 4, 0xf1080013c, 0 },
	{ "cpu/r13c/u", 1, 4, 0x13c, 0 },
	{ "cpu/config=0x55,config1=3/", 1, 4, 0x55, 3 },
	{ "cpu/umask=2,config=0x55/", 1, 4, 0x255, 0 },
	{ "cpu/mem-loads/", 1, 4, 0x1cd, 3 },
	{ "cpu/mem-loads,ldlat=30/P", 1, 4, 0x1cd, 31 },
	{ "cpu/event=mem-loads/", 1, 4, 0x1cd, 3 },
	{ "cpu/MEM-LOADS/", 1, 4, 0x1cd, 3 },
	{ "cpu/cycles/", 1, 4, 0x3c, 0 },
	{ "cpu/asks,umask=7/", 1, 4, 0x702, 0 },
	{ "mem-loads:pp", 1, 4, 0x1cd, 3 },
	{ "topdown", 1, 4, 0x8200, 0 },
	{ "uncore_imc_1/cas_count_read/", 1, 18, 4, 0 },
	{ "uncore_imc/cas_count_read/", 2, 17, 4, 0 },
	{ "imc/cas_count_read/", 2, 17, 4, 0 },
	{ "uncore_imc_?/event=4/", 2, 17, 4, 0 },
	{ "*_imc_[01]/event=4/", 2, 17, 4, 0 },
	{ "cas_count_read", 2, 17, 4, 0 },
	{ "arm_spe_0/ts_enable=1,load_filter=1,min_latency=20/", 1, 20, 0x200000001, 0 },
	{ "arm_spe_0//", 1, 20, 1, 0 },
	{ "arm_spe_0/load_filter=1/", 1, 20, 0x200000001, 0 },
	{ "arm_spe_0/ts_enable=0,load_filter=1/", 1, 20, 0x200000000, 0 },
	{ "arm_spe_0/config=0/", 1, 20, 0, 0 },
	{ "arm_spe_1//", 1, 22, 0, 0 }, /* its driver knows no such term */
	{ "arm_spe_*//", 2, 20, 1, 0 },
	{ "hostile/fine/", 1, 21, 0x10, 0 },
	{ "sched:sched_switch", 1, 2, 314, 0 },
	{ "sched:sched_switch:u", 1, 2, 314, 0 },
	{ "sched:sched_w*", 2, 2, 317, 0 },
	{ "*:sched_*", 3, 2, 314, 0 },
	{ "probe_app:main/call-graph=fp/", 1, 2, 2001, 0 },
	{ "cycles", 1, 0, 0, 0 },
};

static void test_server(void **state)
{
	struct tree t = make_tree(server, ARRAY_LEN(server));
	char note[NOTE_ROOM];
	struct notify to = { keep_note, note };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(server_rows); i++) {
		struct event_specs specs = { 0 };
		const struct attr *a;

		if (event_specs_parse(&specs, server_rows[i].text, env_of(&t), &to))
			fail_msg("'%s': %s", server_rows[i].text, note);
		a = &specs.v.v[0].attr;
		if (specs.v.n != server_rows[i].n || a->type != server_rows[i].type ||
		    a->config != server_rows[i].config || a->config1 != server_rows[i].config1)
			fail_msg("'%s': %zu events, type %u config %#llx config1 %#llx", server_rows[i].text,
				 specs.v.n, a->type, (unsigned long long)a->config, (unsigned long long)a->config1);
		event_specs_free(&specs);
	}
	drop_tree(&t);
}

/* Operations without times are what the user asked for, and a warning says what that means. */
static void test_spe_times(void **state)
{
	static const struct {
		const char *text;
		bool warned;
	} rows[] = {
		{ "arm_spe_0//", false },	    { "arm_spe_0/ts_enable=1/", false },
		{ "arm_spe_0/ts_enable/u", false }, { "arm_spe_0/ts_enable=0/u", true },
		{ "arm_spe_0/config=2/", true },    { "arm_spe_0/config=3/", false },
		{ "arm_spe_1//", false },
	};
	struct tree t = make_tree(server, ARRAY_LEN(server));
	char note[NOTE_ROOM];
	struct notify to = { keep_note, note };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = { 0 };

		*note = 0;
		assert_int_equal(event_specs_parse(&specs, rows[i].text, env_of(&t), &to), 0);
		if ((strstr(note, "without ts_enable") != NULL) != rows[i].warned)
			fail_msg("'%s': %s", rows[i].text, note);
		event_specs_free(&specs);
	}
	drop_tree(&t);
}

/* The rest of what a spec says. */
static void test_details(void **state)
{
	struct tree t = make_tree(server, ARRAY_LEN(server));
	struct event_specs specs = { 0 };
	const struct event_spec *s;

	(void)state;
	assert_int_equal(event_specs_parse(&specs,
					   "cpu/third=5/,topdown,cpu/sampled,name=mine/k,uncore_imc_0/event=1/,"
					   "arm_spe_0//,sched:sched_switch:k,arm_spe_0/period=5/,"
					   "arm_spe_0/inv_data_src_filter=0x8000000000000001/",
					   env_of(&t), NULL),
			 0);
	s = specs.v.v;
	assert_int_equal(s[0].attr.config3, 0x22); /* bits 0 and 2 of the value at 1 and 5 */
	assert_string_equal(s[0].pmu, "cpu");
	assert_null(s[0].cpus);
	assert_string_equal(s[0].name, "cpu/third=5/");
	assert_string_equal(s[1].unit, "slots");
	assert_true(s[1].scale == 0.5);
	assert_string_equal(s[1].name, "topdown");
	assert_true(s[2].has_period);
	assert_int_equal(s[2].attr.sample_period, 77);
	assert_string_equal(s[2].name, "mine");
	assert_string_equal(s[3].cpus, "0,18");
	assert_false(s[3].aux);
	assert_true(s[4].aux);
	assert_int_equal(s[4].least_period, 1024);
	assert_int_equal(s[4].attr.sample_period, 1024);
	assert_false(s[4].has_period);
	assert_string_equal(s[5].name, "sched:sched_switch");
	assert_int_equal(s[5].attr.sample_period, 1);
	assert_true(s[5].attr.sample_type & PERF_SAMPLE_RAW);
	assert_true(s[5].attr.flags & ATTR_EXCLUDE_USER);
	assert_int_equal(s[6].attr.sample_period, 5);
	assert_true(s[6].has_period);
	assert_true(s[7].attr.config4 == 0x8000000000000001);
	event_specs_free(&specs);

	assert_int_equal(event_specs_parse(&specs, "cycles,sched:*", env_of(&t), NULL), 0);
	assert_int_equal(event_specs_filter(&specs, "pid > 1", NULL), ERR_USAGE);
	assert_int_equal(event_specs_exclude(&specs, 42, NULL), ERR_USAGE);
	event_specs_free(&specs);
	assert_int_equal(event_specs_parse(&specs, "cycles", env_of(&t), NULL), 0);
	assert_int_equal(event_specs_parse(&specs, "sched:*", env_of(&t), NULL), 0);
	assert_int_equal(event_specs_filter(&specs, "pid > 1", NULL), 0);
	assert_int_equal(event_specs_filter(&specs, "prio < 9", NULL), 0);
	assert_int_equal(specs.v.n, 4);
	assert_null(specs.v.v[0].filter);
	assert_string_equal(specs.v.v[1].filter, "(pid > 1) && (prio < 9)");
	assert_string_equal(specs.v.v[3].filter, "(pid > 1) && (prio < 9)");
	assert_int_equal(event_specs_exclude(&specs, 42, NULL), 0);
	assert_null(specs.v.v[0].filter);
	assert_string_equal(specs.v.v[1].filter, "((pid > 1) && (prio < 9)) && (common_pid != 42)");
	event_specs_free(&specs);
	drop_tree(&t);
}

static void test_hybrid(void **state)
{
	struct tree t = make_tree(hybrid, ARRAY_LEN(hybrid));
	struct event_specs specs = { 0 };
	const struct event_spec *s;

	(void)state;
	assert_int_equal(
		event_specs_parse(&specs,
				  "cycles:u,{instructions,cs,LLC-loads}:S,cpu_core/branches/,r3c,cpu_atom/event=2/",
				  env_of(&t), NULL),
		0);
	s = specs.v.v;
	assert_int_equal(specs.v.n, 11);
	assert_string_equal(s[0].name, "cpu_atom/cycles/u");
	assert_int_equal(s[0].attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(s[0].attr.config, (u64)10 << 32);
	assert_string_equal(s[0].cpus, "16-23");
	assert_string_equal(s[1].name, "cpu_core/cycles/u");
	assert_int_equal(s[1].attr.config, (u64)4 << 32);
	/* one group per PMU; the software event goes with the first */
	assert_int_equal(s[2].attr.config, (u64)10 << 32 | 1);
	assert_string_equal(s[3].name, "cs");
	assert_int_equal(s[4].attr.config, (u64)10 << 32 | 2);
	assert_int_equal(s[4].leader, 2);
	assert_int_equal(s[5].leader, 5);
	assert_int_equal(s[5].attr.config, (u64)4 << 32 | 1);
	assert_int_equal(s[6].leader, 5);
	assert_true(s[3].sample_read && s[6].sample_read);
	assert_int_equal(s[7].attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(s[7].attr.config, (u64)4 << 32 | 4);
	assert_string_equal(s[7].name, "cpu_core/branches/");
	assert_int_equal(s[8].attr.type, 10);
	assert_int_equal(s[8].attr.config, 0x3c);
	assert_int_equal(s[9].attr.type, 4);
	assert_int_equal(s[10].attr.type, 10);
	assert_int_equal(s[10].attr.config, 2);
	event_specs_free(&specs);
	drop_tree(&t);
}

static void test_arm(void **state)
{
	struct tree t = make_tree(arm, ARRAY_LEN(arm));
	struct event_specs specs = { 0 };

	(void)state;
	assert_int_equal(event_specs_parse(&specs, "cycles,armv8_pmuv3_0/l1d_cache_refill,long/,armv8_pmuv3/event=17/",
					   env_of(&t), NULL),
			 0);
	assert_int_equal(specs.v.n, 3);
	assert_int_equal(specs.v.v[0].attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(specs.v.v[0].attr.config, 0);
	assert_int_equal(specs.v.v[1].attr.config, 3);
	assert_int_equal(specs.v.v[1].attr.config1, 1);
	assert_string_equal(specs.v.v[1].cpus, "0-7");
	assert_int_equal(specs.v.v[2].attr.config, 17);
	event_specs_free(&specs);
	drop_tree(&t);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		int err;
		const char *says;
	} rows[] = {
		{ "cpu/evnt=1/", ERR_USAGE, "did you mean 'event'" },
		{ "cpu/event=0x1000/", ERR_USAGE, "at most 0xfff" },
		{ "cpu/event=abc/", ERR_USAGE, "number" },
		{ "cpu/umask=abc/", ERR_USAGE, "number" },
		{ "cpu/mem-laods/", ERR_USAGE, "'mem-loads'" },
		{ "cpu/asks/", ERR_USAGE, "needs 'umask='" },
		{ "cpu/loop/", ERR_FORMAT, "describes this event" },
		{ "cpu/broken/", ERR_FORMAT, "not a list of terms" },
		{ "cpu/strange/", ERR_FORMAT, "'nothing'" },
		{ "cpuu/event=1/", ERR_NOTFOUND, "did you mean 'cpu'" },
		{ "nosuch/event=1/", ERR_NOTFOUND, "uncore_imc_0" },
		{ "notype/x/", ERR_NOTFOUND, "no PMU" },
		{ "badtype/x/", ERR_NOTFOUND, "no PMU" },
		{ "hostile/toofar/", ERR_USAGE, "no term" },
		{ "hostile/backwards/", ERR_USAGE, "no term" },
		{ "hostile/word/", ERR_USAGE, "no term" },
		{ "hostile/junk/", ERR_USAGE, "no term" },
		{ "mem-laods", ERR_NOTFOUND, "'mem-loads'" },
		{ "sched:sched_swich", ERR_NOTFOUND, "did you mean 'sched_switch'" },
		{ "shced:sched_switch", ERR_NOTFOUND, "did you mean 'sched'" },
		{ "sched:nothing*", ERR_NOTFOUND, "no tracepoint" },
		{ "sched:", ERR_USAGE, "tracepoint" },
		{ "../x:y", ERR_USAGE, "not closed" },
		{ "..:enable", ERR_USAGE, "expected a tracepoint" },
		{ "sched:../sched", ERR_USAGE, "not closed" },
		{ "sched:sched_switch/config=1/", ERR_USAGE, "no 'config'" },
		{ "sched:sched_switch/foo=1/", ERR_USAGE, "unknown term" },
		{ "ftrace:function", ERR_NOTFOUND, "tracepoint" },
		{ "ftrace:*", ERR_NOTFOUND, "tracepoint" },
		{ "cycels:u", ERR_NOTFOUND, "did you mean 'cycles'" },
	};
	struct tree t = make_tree(server, ARRAY_LEN(server));
	char note[NOTE_ROOM];
	struct notify to = { keep_note, note };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct event_specs specs = { 0 };
		int err;

		*note = 0;
		err = event_specs_parse(&specs, rows[i].text, env_of(&t), &to);
		if (err != rows[i].err || !strstr(note, rows[i].says) || specs.v.n)
			fail_msg("'%s': %s\n%s", rows[i].text, err_name(err), note);
		event_specs_free(&specs);
	}
	drop_tree(&t);
}

/* tracefs that is not there says how to get it. */
static void test_no_tracefs(void **state)
{
	struct event_env env = { .sysfs = "/nonexistent", .tracefs = "/nonexistent", .procfs = "/nonexistent" };
	struct event_specs specs = { 0 };
	char note[NOTE_ROOM] = "";
	struct notify to = { keep_note, note };

	(void)state;
	assert_int_equal(event_specs_parse(&specs, "sched:sched_switch", &env, &to), ERR_NOTFOUND);
	assert_non_null(strstr(note, "mount -t tracefs"));
}

static const struct {
	const char *text;
	u32 type;
	u64 config;
	const char *says; /* NULL: it is an event */
} simulated[] = {
	{ "cycles", 0, 0, NULL },
	{ "r8", 4, 8, NULL },
	{ "mem-loads", 4, 0x1cd, NULL },
	{ "mem-stores:P", 4, 0x82d0, NULL },
	{ "mem-loads:zz", 0, 0, "no event 'mem-loads:zz'" },
	{ "cpu/cycles/", 0, 0, NULL },
	{ "cpu/instructions/u", 0, 1, NULL },
	{ "cpu/branch-instructions/", 0, 4, NULL },
	{ "cpu/L1-dcache-load-misses/", 3, 0x10000, NULL },
	{ "cpu/task-clock/", 1, 1, NULL },
	{ "cpu/event=0x11/", 4, 0x11, NULL },
	{ "cpu/event=instructions,period=77/", 0, 1, NULL },
	{ "cpu/config=0x10002,name=calls/u", 4, 0x10002, NULL },
	{ "cpu/r3a,alt-period=10,period=1000/", 4, 0x3a, NULL },
	{ "armv8_pmuv3_0/event=8/", 4, 8, NULL },
	{ "cpu/instructions,cycles/", 0, 0, "one event has one name" },
	{ "cpu/config=1,event=8/", 0, 0, "one event has one name" },
	{ "cpu//", 0, 0, "name or number is missing" },
	{ "cpu/period=5/", 0, 0, "name or number is missing" },
	{ "cpu/event=slots/", 0, 0, "no term or event 'slots'" },
	{ "cpu/umask=1/", 0, 0, "no term or event 'umask'" },
	{ "cpu/umask/", 0, 0, "cpu/NAME/, cpu/event=0x11/" },
	{ "cpu/burst=2,cycles/", 0, 0, "needs 'alt-period'" },
	{ "cpu_core/cycles/", 0, 0, "called cpu" },
	{ "slots", 0, 0, "'reticle list sim'" },
	{ "cpu-cycels", 0, 0, "no event 'cpu-cycels'" },
	{ "instructoins:u", 0, 0, "'instructions'" },
	{ "sched:sched_switch", 0, 0, "no event 'sched:sched_switch'" },
	{ "sched:sched_switch/period=1/", 0, 0, "no event 'sched:sched_switch'" },
};

/* The virtual PMU's events, on a machine whose own PMUs would make two of each. */
static void test_simulated(void **state)
{
	struct tree t = make_tree(hybrid, ARRAY_LEN(hybrid));
	struct event_env env = *env_of(&t);
	char note[NOTE_ROOM];
	struct notify to = { keep_note, note };

	(void)state;
	env.simulated = true;
	for (u32 i = 0; i < ARRAY_LEN(simulated); i++) {
		struct event_specs specs = { 0 };
		const char *text = simulated[i].text, *says = simulated[i].says;
		const struct event_spec *s;
		int err;

		*note = 0;
		err = event_specs_parse(&specs, text, &env, &to);
		if (!err != !says || (says && !strstr(note, says)))
			fail_msg("'%s': %s\n%s", text, err_name(err), note);
		s = specs.v.v;
		if (!err && (specs.v.n != 1 || s->attr.type != simulated[i].type ||
			     s->attr.config != simulated[i].config || s->pmu))
			fail_msg("'%s': %zu events, type %u config %#llx", text, specs.v.n, s->attr.type,
				 (unsigned long long)s->attr.config);
		event_specs_free(&specs);
	}
	drop_tree(&t);
}

static void test_format_put(void **state)
{
	u64 word = 0xffff, max;

	(void)state;
	assert_int_equal(sysfs_format_put(0x0ff0, 0x12, &word, &max), 0);
	assert_int_equal(word, 0xf12f);
	assert_int_equal(sysfs_format_put(0x0ff0, 0x100, &word, &max), ERR_LIMIT);
	assert_int_equal(max, 0xff);
	assert_int_equal(sysfs_format_put(UINT64_MAX, UINT64_MAX, &word, &max), 0);
	assert_int_equal(word, UINT64_MAX);
	word = 0;
	assert_int_equal(sysfs_format_put(1ull << 63 | 1, 3, &word, &max), 0);
	assert_int_equal(word, 1ull << 63 | 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server),	   cmocka_unit_test(test_details),   cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_arm),	   cmocka_unit_test(test_errors),    cmocka_unit_test(test_no_tracefs),
		cmocka_unit_test(test_format_put), cmocka_unit_test(test_simulated), cmocka_unit_test(test_spe_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
