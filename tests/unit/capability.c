/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a machine, where the machine is a tree of files; and the list of its events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "check/capability.h"
#include "events/catalog.h"
#include "tree.h"

static const struct file rich[] = {
	{ "self/status", "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t000000c000200000\n" },
	{ "kallsyms", "ffffffff81000000 T _text\n" },
	{ "cpuinfo", "flags\t\t: fpu hypervisor lahf\n" },
	{ "sys/kernel/perf_event_max_sample_rate", "100000\n" },
	{ "sys/kernel/perf_cpu_time_max_percent", "0\n" },
	{ "sys/kernel/perf_event_max_stack", "127\n" },
	{ "sys/kernel/perf_event_mlock_kb", "516\n" },
	{ "sys/kernel/perf_event_paranoid", "-1\n" },
	{ "kernel/btf/vmlinux", "x" },
	{ "trace/uprobe_events", "" },
	{ "trace/events/sched/sched_switch/id", "1\n" },
	{ DEV "arm_spe_0/type", "11\n" },
	{ DEV "intel_pt/type", "12\n" },
	{ DEV "ibs_op/type", "13\n" },
	{ DEV "uprobe/type", "14\n" },
	{ DEV "strange/type", "2147483000\n" },
	{ DEV "strange/format/event", "config:0-7\n" },
	{ DEV "strange/events/nothing", "event=1\n" },
};

static const struct file poor[] = {
	{ "self/status", "CapEff:\t0000000000000000\n" },
	{ "kallsyms", "0000000000000000 T _text\n0000000000000000 T _stext\n" },
	{ "cpuinfo", "flags\t\t: fpu lahf\n" },
	{ "sys/kernel/perf_event_max_sample_rate", "250\n" },
	{ "sys/kernel/perf_cpu_time_max_percent", "25\n" },
	{ "sys/kernel/perf_event_max_stack", "16\n" },
	{ "sys/kernel/perf_event_mlock_kb", "64\n" },
};

static const struct file hostile[] = {
	{ "self/status", "CapEff:\n" },
	{ "kallsyms", "" },
	{ "sys/kernel/perf_event_max_sample_rate", "many\n" },
	{ "sys/kernel/perf_cpu_time_max_percent", "" },
	{ "sys/kernel/perf_event_max_stack", "12 13\n" },
};

static const struct capability *find(const char *name)
{
	for (u32 i = 0; i < nr_capabilities; i++)
		if (!strcmp(capabilities[i].name, name))
			return &capabilities[i];
	fail_msg("no capability '%s'", name);
	return NULL;
}

struct expected {
	const char *name;
	enum capability_state state;
	const char *detail, *remedy; /* parts; remedy NULL: nothing to do */
};

static void compare(const struct file *files, u32 n, const struct expected *rows, u32 nr_rows)
{
	struct tree t = make_tree(files, n);
	struct capability_env env;

	capability_env_init(&env, env_of(&t));
	for (u32 i = 0; i < nr_rows; i++) {
		struct capability_report r;

		capability_probe(find(rows[i].name), &env, &r);
		bytes_char(&r.detail, 0);
		bytes_char(&r.remedy, 0);
		if (r.state != rows[i].state || !strstr((char *)r.detail.p, rows[i].detail) ||
		    (rows[i].remedy ? !strstr((char *)r.remedy.p, rows[i].remedy) : *r.remedy.p))
			fail_msg("%s: %s, '%s', '%s'", rows[i].name, capability_state_name(r.state),
				 (char *)r.detail.p, (char *)r.remedy.p);
		capability_report_free(&r);
	}
	capability_env_free(&env);
	drop_tree(&t);
}

static void test_rich(void **state)
{
	static const struct expected rows[] = {
		{ "capabilities", CAPABILITY_OK, "CAP_PERFMON, CAP_SYS_ADMIN, CAP_BPF", "CAP_SYS_PTRACE" },
		{ "kernel symbols", CAPABILITY_OK, "shows addresses", NULL },
		{ "environment", CAPABILITY_OK, "virtual machine", NULL },
		{ "max sample rate", CAPABILITY_OK, "100000 per second", NULL },
		{ "CPU time limit", CAPABILITY_OK, "never slowed", NULL },
		{ "call chain depth", CAPABILITY_OK, "127", NULL },
		{ "ring memory", CAPABILITY_OK, "no limit", NULL },
		{ "BTF", CAPABILITY_OK, "vmlinux", NULL },
		{ "uprobes", CAPABILITY_OK, "and a PMU", NULL },
		{ "Arm SPE", CAPABILITY_OK, "arm_spe_0", NULL },
		{ "Intel PT", CAPABILITY_OK, "intel_pt", NULL },
		{ "AMD IBS", CAPABILITY_OK, "ibs_op", NULL },
		{ "other PMUs", CAPABILITY_OK, "strange, uprobe", NULL },
		{ "kernel", CAPABILITY_OK, "Linux", NULL },
	};

	(void)state;
	compare(rich, ARRAY_LEN(rich), rows, ARRAY_LEN(rows));
}

static void test_poor(void **state)
{
	static const struct expected rows[] = {
		{ "capabilities", CAPABILITY_LIMITED, "none", "CAP_PERFMON to record" },
		{ "kernel symbols", CAPABILITY_NO, "hides addresses", "kptr_restrict=0" },
		{ "environment", CAPABILITY_OK, "no sign of a hypervisor", NULL },
		{ "max sample rate", CAPABILITY_LIMITED, "250", "perf_event_max_sample_rate=100000" },
		{ "CPU time limit", CAPABILITY_OK, "25 %", NULL },
		{ "call chain depth", CAPABILITY_LIMITED, "16", "max_stack=127" },
		{ "ring memory", CAPABILITY_LIMITED, "64 KiB", "mlock_kb=516" },
		{ "BTF", CAPABILITY_NO, "No such file", "CONFIG_DEBUG_INFO_BTF" },
		{ "tracepoints", CAPABILITY_NO, "no ", "mount -t tracefs" },
		{ "uprobes", CAPABILITY_NO, "none", "CONFIG_UPROBE_EVENTS" },
		{ "other PMUs", CAPABILITY_NO, "none", NULL },
	};

	(void)state;
	compare(poor, ARRAY_LEN(poor), rows, ARRAY_LEN(rows));
}

static void test_hostile(void **state)
{
	static const struct expected rows[] = {
		{ "capabilities", CAPABILITY_LIMITED, "none", "CAP_PERFMON" },
		{ "kernel symbols", CAPABILITY_NO, "cannot be read", "CONFIG_KALLSYMS" },
		{ "max sample rate", CAPABILITY_LIMITED, "unknown", NULL },
		{ "CPU time limit", CAPABILITY_LIMITED, "unknown", NULL },
		{ "call chain depth", CAPABILITY_LIMITED, "unknown", NULL },
		{ "ring memory", CAPABILITY_LIMITED, "unknown", NULL },
	};

	(void)state;
	compare(hostile, ARRAY_LEN(hostile), rows, ARRAY_LEN(rows));
}

/* On whatever machine this runs: every row says something, and what is not ok for want of rights says what to do. */
static void test_here(void **state)
{
	struct capability_env env;

	(void)state;
	capability_env_init(&env, NULL);
	for (u32 i = 0; i < nr_capabilities; i++) {
		struct capability_report r;

		capability_probe(&capabilities[i], &env, &r);
		assert_true(r.detail.len > 0);
		for (size_t k = 0; k < r.detail.len; k++)
			assert_true(r.detail.p[k] >= ' ');
		capability_report_free(&r);
	}
	capability_env_free(&env);
}

static const struct event_row *row_of(const struct event_catalog *c, const char *name)
{
	for (size_t i = 0; i < c->v.n; i++)
		if (!strcmp(c->v.v[i].name, name))
			return &c->v.v[i];
	return NULL;
}

static void test_catalog(void **state)
{
	struct tree t = make_tree(rich, ARRAY_LEN(rich));
	struct event_catalog c = { 0 };
	const struct event_row *row;

	(void)state;
	event_catalog_load(&c, ~0u, env_of(&t));
	row = row_of(&c, "cpu-cycles");
	assert_non_null(row);
	assert_string_equal(row->alias, "cycles");
	assert_int_equal(row->class, CLASS_HW);
	row = row_of(&c, "strange/nothing/");
	assert_non_null(row);
	assert_int_equal(row->class, CLASS_PMU);
	assert_int_equal(row->usable, EVENT_ABSENT); /* no kernel has a PMU of that number */
	assert_string_equal(row->desc, "event=1");
	assert_non_null(row_of(&c, "sched:sched_switch"));
	assert_non_null(row_of(&c, "L1-dcache-load-misses"));
	assert_null(row_of(&c, "L1-icache-stores"));
	assert_int_equal(c.trace_err, 0);
	for (size_t i = 1; i < c.v.n; i++)
		assert_true(c.v.v[i - 1].class <= c.v.v[i].class);
	event_catalog_free(&c);
	event_catalog_load(&c, 1u << CLASS_SW, env_of(&t));
	for (size_t i = 0; i < c.v.n; i++)
		assert_int_equal(c.v.v[i].class, CLASS_SW);
	assert_int_equal(c.v.n, 12);
	event_catalog_free(&c);
	drop_tree(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rich), cmocka_unit_test(test_poor),    cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_here), cmocka_unit_test(test_catalog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
