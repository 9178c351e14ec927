/* SPDX-License-Identifier: Apache-2.0 */
/* Branch records of real processors, where the machine is a tree of files: which kind they are, what is said of them,
 * and what is told when the kernel refuses some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "check/capability.h"
#include "open/refused_branches.h"
#include "sys/branch_hw.h"
#include "tree.h"

#define INTEL "vendor_id\t: GenuineIntel\nflags\t\t: fpu arch_lbr\n"
#define AMD "vendor_id\t: AuthenticAMD\nflags\t\t: fpu amd_lbr_v2\n"

struct machine {
	struct file files[8];
	const char *kinds; /* what check says of it */
};

static const struct machine machines[] = {
	{ { { "cpuinfo", INTEL }, { DEV "cpu/type", "4\n" }, { DEV "cpu/caps/branches", "32\n" } },
	  "cpu: Intel LBR, 32 entries;" },
	{ { { "cpuinfo", INTEL },
	    { DEV "cpu_core/type", "4\n" },
	    { DEV "cpu_core/cpus", "0-7\n" },
	    { DEV "cpu_core/caps/branches", "32\n" },
	    { DEV "cpu_core/caps/branch_counter_nr", "4\n" },
	    { DEV "cpu_core/caps/branch_counter_width", "2\n" } },
	  "cpu_core: Intel LBR, 32 entries, 4 counters of 2 bits;" },
	{ { { "cpuinfo", AMD }, { DEV "cpu/type", "4\n" }, { DEV "cpu/caps/branches", "16\n" } },
	  "cpu: AMD LbrExtV2, 16 entries;" },
	{ { { "cpuinfo", AMD },
	    { DEV "cpu/type", "4\n" },
	    { DEV "cpu/caps/branches", "16\n" },
	    { DEV "cpu/events/branch-brs", "event=0xc4\n" } },
	  "cpu: AMD BRS, 16 entries; of one event" },
	{ { { DEV "armv8_pmuv3_0/type", "8\n" },
	    { DEV "armv8_pmuv3_0/cpus", "0-3\n" },
	    { DEV "armv8_pmuv3_0/caps/branches", "64\n" } },
	  "armv8_pmuv3_0: Arm BRBE, 64 entries;" },
	{ { { DEV "armv8_pmuv3_0/type", "8\n" }, { DEV "armv8_pmuv3_0/cpus", "0-3\n" } }, "none" },
	/* Nonsense. */
	{ { { "cpuinfo", "" }, { DEV "cpu/type", "4\n" }, { DEV "cpu/caps/branches", "-1\n" } }, "none" },
	{ { { DEV "cpu/type", "4\n" }, { DEV "cpu/caps/branches", "many\n" } }, "none" },
	{ { { "cpuinfo", INTEL } }, "none" },
};
enum { LBR, COUNTED, LBR_V2, BRS, BRBE, ARM_NONE, NO_PMU = 8 };

static struct tree tree_of(const struct machine *m)
{
	u32 n = 0;

	while (n < ARRAY_LEN(m->files) && m->files[n].path)
		n++;
	return make_tree(m->files, n);
}

/* Wherever the test runs, it says what the files say. Whether the records can be used is another matter. */
static void test_check(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(machines); i++) {
		struct tree t = tree_of(&machines[i]);
		struct capability_env env;
		struct capability_report r = { 0 };

		capability_env_init(&env, env_of(&t));
		capability_branches(&env, &r);
		bytes_char(&r.detail, 0);
		if (strcmp(machines[i].kinds, "none") && !strstr((char *)r.detail.p, machines[i].kinds))
			fail_msg("machine %u: %s", i, (char *)r.detail.p);
		if (!strcmp(machines[i].kinds, "none") && strstr((char *)r.detail.p, "entries"))
			fail_msg("machine %u has none: %s", i, (char *)r.detail.p);
		capability_report_free(&r);
		capability_env_free(&env);
		drop_tree(&t);
	}
}

static void keep(void *ctx, const struct note *note)
{
	snprintf(ctx, 1024, "%s", note->text);
}

static void test_refusals(void **state)
{
	const u64 any = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	const struct {
		u32 machine, type;
		u64 filter;
		int failed;
		const char *says, *way_out;
	} rows[] = {
		{ BRBE, 0, PERF_SAMPLE_BRANCH_CALL_STACK, EOPNOTSUPP, "BRBE keeps no call stacks", "unwind" },
		{ BRBE, 8, PERF_SAMPLE_BRANCH_CALL_STACK, EINVAL, "BRBE keeps no call stacks", "unwind" },
		{ BRBE, 0, any | PERF_SAMPLE_BRANCH_IN_TX, EOPNOTSUPP, "transactions", "leave out" },
		{ BRBE, 0, any | BRANCH_COUNTERS, EOPNOTSUPP, "does not count", "records=lbr" },
		{ LBR_V2, 0, PERF_SAMPLE_BRANCH_CALL_STACK, EOPNOTSUPP, "LbrExtV2 keeps no call stacks", "unwind" },
		{ LBR_V2, 0, any | PERF_SAMPLE_BRANCH_NO_CYCLES, EOPNOTSUPP, "cannot leave out", "no_cycles" },
		{ LBR_V2, 0, any | BRANCH_COUNTERS, EINVAL, "does not count", "--pmu=sim" },
		{ LBR_V2, 0, any | PERF_SAMPLE_BRANCH_NO_TX, EOPNOTSUPP, "transactions", "leave out" },
		{ BRS, 0, PERF_SAMPLE_BRANCH_CALL_STACK, EINVAL, "BRS keeps no call stacks", "unwind" },
		{ BRS, 0, PERF_SAMPLE_BRANCH_ANY_CALL, EINVAL, "without filters", "-b" },
		{ BRS, 0, any, EINVAL, "its own event and a period of more than 16", "-e branch-brs -c" },
		{ LBR, 0, any | BRANCH_COUNTERS, EINVAL, "older than 6.8", "leave out counter" },
		{ COUNTED, 0, BRANCH_COUNTERS | PERF_SAMPLE_BRANCH_CALL_STACK, EINVAL, "between branches",
		  "-j any,counter" },
		{ COUNTED, 0, any | BRANCH_COUNTERS, EINVAL, "refuses these filters", "reticle check" },
		{ LBR, 0, any, EINVAL, "refuses these filters", "reticle check" },
		{ ARM_NONE, 0, any, EOPNOTSUPP, "armv8_pmuv3_0 has none", "Linux 6.17" },
		{ ARM_NONE, 0, PERF_SAMPLE_BRANCH_CALL_STACK, EOPNOTSUPP, "keep no call stacks", "unwind" },
		{ NO_PMU, 0, any, ENOENT, "does not offer them", "--pmu=sim" },
		{ LBR, PERF_TYPE_SOFTWARE, any, EOPNOTSUPP, "events of the hardware", "-e cycles" },
		{ NO_PMU, PERF_TYPE_TRACEPOINT, any, EINVAL, "events of the hardware", "--pmu=sim" },
		{ BRBE, 77, any, ENODEV, "does not offer them", "--pmu=sim" }, /* another PMU's */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct open_event e = { .name = "cycles",
					.attr = { .type = rows[i].type, .branch_sample_type = rows[i].filter } };
		struct tree t = tree_of(&machines[rows[i].machine]);
		char text[1024] = "";
		struct notify to = { keep, text };

		assert_int_equal(refused_branches(&e, rows[i].failed, t.dir, t.dir, &to), ERR_UNSUPPORTED);
		if (!strstr(text, rows[i].says) || !strstr(text, rows[i].way_out) || strncmp(text, "cannot open", 11))
			fail_msg("row %u: %s", i, text);
		drop_tree(&t);
	}
}

/* What the drivers take is not refused. */
static void test_accepted(void **state)
{
	const u64 common = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN |
			   PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |
			   PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_HW_INDEX |
			   PERF_SAMPLE_BRANCH_PRIV_SAVE | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL;
	const u64 parts = PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
	const struct {
		struct branch_hw hw;
		u64 filter;
	} rows[] = {
		{ { BRANCH_HW_LBR, 32, 0, 0 }, common | parts | PERF_SAMPLE_BRANCH_IN_TX },
		{ { BRANCH_HW_LBR, 32, 0, 0 }, PERF_SAMPLE_BRANCH_CALL_STACK },
		{ { BRANCH_HW_LBR, 32, 4, 2 }, common | BRANCH_COUNTERS },
		{ { BRANCH_HW_LBR_V2, 16, 0, 0 }, common },
		{ { BRANCH_HW_BRBE, 64, 0, 0 }, common | parts },
		{ { BRANCH_HW_BRS, 16, 0, 0 }, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER },
		{ { BRANCH_HW_NONE, 0, 0, 0 }, common },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (branch_hw_refuses(&rows[i].hw, rows[i].filter))
			fail_msg("row %u: %s", i, branch_hw_refuses(&rows[i].hw, rows[i].filter));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
