/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the virtual PMU's samples of loads and stores and in the values of groups, what the sampler takes
 * along into the next program, and how it stands still. */
#include "sampler_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "vpmu/truth.h"

/* --- samples of loads and stores */

#define MEMORY                                                                                                        \
	(RIG_FIELDS | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |             \
	 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_RAW)
#define NOT_AVAILABLE 0x1e05080021ull

static struct rig *memory_new(u64 config, u64 sample_type)
{
	struct attr a = { .type = PERF_TYPE_RAW, .config = config, .sample_type = sample_type, .sample_period = 10 };
	struct rig *r = rig_new(&a, config == VPMU_MEM_LOADS ? VC_SLOW_LOADS : VC_L1D_STORES);

	sampler_start(&r->t);
	return r;
}

static u64 level_of(u64 lvl, u64 num)
{
	return lvl << PERF_MEM_LVL_SHIFT | num << PERF_MEM_LVLNUM_SHIFT;
}

static void test_memory_loads(void **state)
{
	const u64 levels[] = {
		[IN_L1] = level_of(PERF_MEM_LVL_L1, PERF_MEM_LVLNUM_L1),
		[IN_L2] = level_of(PERF_MEM_LVL_L2, PERF_MEM_LVLNUM_L2),
		[IN_LLC] = level_of(PERF_MEM_LVL_L3, PERF_MEM_LVLNUM_L3),
		[IN_MEMORY] = level_of(PERF_MEM_LVL_LOC_RAM, PERF_MEM_LVLNUM_RAM),
	};
	struct rig *r = memory_new(VPMU_MEM_LOADS, MEMORY);

	(void)state;
	for (u32 i = 0; i < 16; i++) {
		bool walk = i & 4, peer = i & 8, locked = i == 3;
		struct core_at at = { .pc = PC, .addr = 0x77, .locked = locked };
		u64 expected = PERF_MEM_S(OP, LOAD) | levels[i & 3] | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(TLB, HIT);

		at.load = met_at(30 + i, i & 3, walk, peer);
		at.store = met_at(99, IN_L1, false, false);
		at.store.addr = 0x1234;
		expected |= walk ? PERF_MEM_S(TLB, WK) : PERF_MEM_S(TLB, L1) | PERF_MEM_S(TLB, L2);
		expected |= peer ? PERF_MEM_S(SNOOP, HITM) : PERF_MEM_S(SNOOP, NONE);
		expected |= locked ? PERF_MEM_S(LOCK, LOCKED) : 0;
		sampler_put_sample(&r->t, 0, 10, &at, true);
		assert_int_equal(r->sample.data_src, expected);
		assert_int_equal(r->sample.weight, 30 + i);
		assert_int_equal(r->sample.addr, DATA);
		assert_int_equal(r->sample.phys_addr, vpmu_physical(3, DATA));
		assert_int_equal(r->sample.data_page_size, 4096);
		assert_int_equal(r->sample.code_page_size, 4096);
		assert_true(r->sample.misc & PERF_RECORD_MISC_EXACT_IP);
		assert_int_equal(r->told.total, 30 + i);
		assert_int_equal(r->told.physical, vpmu_physical(3, DATA));
		assert_int_equal(r->nr_told, i + 1);
	}
	rig_free(r);
}

/* Of stores it is known whether L1 had the line, and no latency. */
static void test_memory_stores(void **state)
{
	struct rig *r = memory_new(VPMU_MEM_STORES, MEMORY & ~(u64)PERF_SAMPLE_PHYS_ADDR);

	(void)state;
	for (u8 level = IN_L1; level <= IN_MEMORY; level++) {
		struct core_at at = { .pc = PC };
		u64 expected = PERF_MEM_S(OP, STORE) | level_of(PERF_MEM_LVL_L1, PERF_MEM_LVLNUM_L1) |
			       PERF_MEM_S(SNOOP, NA) | PERF_MEM_S(TLB, HIT) | PERF_MEM_S(TLB, L1) |
			       PERF_MEM_S(TLB, L2);

		at.store = met_at(50, level, false, false);
		expected |= level == IN_L1 ? PERF_MEM_S(LVL, HIT) : PERF_MEM_S(LVL, MISS);
		sampler_put_sample(&r->t, 0, 10, &at, true);
		assert_int_equal(r->sample.data_src, expected);
		assert_int_equal(r->sample.weight, 0);
		assert_int_equal(r->sample.addr, DATA);
		assert_int_equal(r->told.kind, VPMU_OP_STORE);
		assert_int_equal(r->told.total, 0);
		assert_int_equal(r->told.physical, 0); /* it was not asked for */
	}
	rig_free(r);
}

/* Late, or where the operation has no such access, a sample knows the address at most. */
static void test_memory_unknown(void **state)
{
	struct rig *r = memory_new(VPMU_MEM_LOADS, MEMORY);

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct core_at at = { .pc = PC, .addr = i ? DATA : 0 };

		if (i == 2)
			at.load = met_at(30, IN_L2, false, false);
		else
			at.store = met_at(30, IN_L2, false, false);
		sampler_put_sample(&r->t, 0, 10, &at, i < 2);
		assert_int_equal(r->sample.data_src, NOT_AVAILABLE);
		assert_int_equal(r->sample.weight, 0);
		assert_int_equal(r->sample.addr, at.addr);
		assert_int_equal(r->sample.data_page_size, i ? 4096 : 0);
		assert_int_equal(r->sample.phys_addr, i ? vpmu_physical(3, DATA) : 0);
		assert_int_equal(r->sample.misc & PERF_RECORD_MISC_EXACT_IP, i < 2 ? PERF_RECORD_MISC_EXACT_IP : 0);
		assert_int_equal(r->nr_told, 0);
	}
	rig_free(r);
}

/* --- read values */

static struct rig *group_new(u64 read_format)
{
	struct attr a = { .type = PERF_TYPE_HARDWARE,
			  .sample_type = RIG_FIELDS | PERF_SAMPLE_READ,
			  .read_format = read_format,
			  .sample_period = 100,
			  .flags = ATTR_INHERIT_STAT };
	struct rig *r = rig_new(&a, VC_INSTRUCTIONS);

	/* Another group's event stands between the leader and its member. */
	a.sample_period = 0;
	rig_add_event(r, &a, 1, VC_BRANCHES);
	rig_add_event(r, &a, 0, VC_CYCLES);
	sampler_start(&r->t);
	r->t.counts[VC_INSTRUCTIONS] = 40;
	r->t.counts[VC_CYCLES] = 70;
	r->t.counts[VC_BRANCHES] = 5;
	r->t.counts[VC_TIME_NS] = 900;
	return r;
}

static void test_read_values(void **state)
{
	const u64 times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct core_at at = { .pc = PC };
	struct rig *r = group_new(PERF_FORMAT_GROUP | PERF_FORMAT_ID | times);

	(void)state;
	sampler_put_sample(&r->t, 0, 100, &at, true);
	assert_int_equal(r->sample.read.nr, 2);
	assert_int_equal(r->sample.read.time_enabled, 900);
	assert_int_equal(r->sample.read.time_running, 900);
	assert_true(read_value(&r->sample.read, 0) == 40 && read_id(&r->sample.read, 0) == 10);
	assert_true(read_value(&r->sample.read, 1) == 70 && read_id(&r->sample.read, 1) == 12);
	rig_free(r);
	r = group_new(PERF_FORMAT_ID);
	sampler_put_sample(&r->t, 0, 100, &at, true);
	assert_int_equal(r->sample.read.nr, 1);
	assert_true(read_value(&r->sample.read, 0) == 40 && read_id(&r->sample.read, 0) == 10);
	rig_free(r);
	/* On virtual CPUs each has an id of its own. */
	r = group_new(PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	r->control.options.cpus = 8;
	sampler_put_sample(&r->t, 0, 100, &at, true);
	assert_int_equal(r->sample.id, 10 + 5 * 3);
	assert_int_equal(read_id(&r->sample.read, 1), 12 + 5 * 3);
	rig_free(r);
}

/* At a thread's end a group is read as a whole, with how many there are. */
static void test_read_record(void **state)
{
	static const u64 expected[] = { 2, 900, 40, 70 };
	struct rig *r = group_new(PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_RUNNING);

	(void)state;
	sampler_put_read(&r->t, 2);
	assert_true(r->read.pid == 3 && r->read.tid == 4);
	assert_int_equal(cursor_left(&r->read.values), sizeof(expected));
	for (u32 i = 0; i < ARRAY_LEN(expected); i++)
		assert_int_equal(cursor_u64(&r->read.values), expected[i]);
	rig_free(r);
}

/* --- over an exec */

static u64 period_of(struct rig *r)
{
	struct core_at at = { .pc = PC };

	r->t.counts[VC_INSTRUCTIONS] = r->armed[0].at;
	sampler_overflow(&r->t, &r->armed[0], &at);
	return r->t.counts[VC_INSTRUCTIONS];
}

static struct rig *exec_new(void)
{
	struct attr a = { .type = PERF_TYPE_HARDWARE,
			  .config = PERF_COUNT_HW_INSTRUCTIONS,
			  .sample_type = RIG_FIELDS | PERF_SAMPLE_READ,
			  .sample_period = 1000 };
	struct rig *r = rig_new(&a, VC_INSTRUCTIONS);

	sampler_start(&r->t);
	return r;
}

/* The next program of this thread. */
static void next_program(struct rig *r, int fd, bool truth)
{
	memset(r->t.counts, 0, sizeof(r->t.counts));
	r->t.first = false;
	errno = 1234;
	sampler_take_over(&r->t.carried, truth, fd);
	assert_int_equal(errno, 1234);
	assert_true(fd < 0 || (fcntl(fd, F_GETFD) < 0 && errno == EBADF));
}

/* Values and periods go on, also that the thread is the first one, whose events nobody inherits. */
static void test_exec(void **state)
{
	struct rig *r = exec_new();
	int fd;

	(void)state;
	assert_int_equal(period_of(r), 1000);
	r->t.counts[VC_INSTRUCTIONS] = 1700;
	errno = 1234;
	fd = sampler_exec_prepare();
	assert_int_equal(errno, 1234);
	assert_true(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	sampler_exec(&r->t, fd);
	assert_null(r->t.sampler);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	next_program(r, fd, false);
	assert_non_null(r->t.carried.events);
	assert_null(r->t.carried.windows);
	sampler_start(&r->t);
	assert_null(r->t.carried.events);
	assert_true(r->t.first);
	assert_int_equal(sampler_value(&r->t, 0), 1700);
	assert_int_equal(period_of(r), 300);
	rig_free(r);
}

/* A program without standard input has a file where that would be. */
static void test_exec_without_input(void **state)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	struct rig *r = exec_new();

	(void)state;
	close(STDIN_FILENO);
	assert_int_equal(sampler_exec_prepare(), STDIN_FILENO);
	r->t.counts[VC_INSTRUCTIONS] = 700;
	sampler_exec(&r->t, STDIN_FILENO);
	next_program(r, STDIN_FILENO, false);
	assert_non_null(r->t.carried.events);
	sampler_start(&r->t);
	assert_int_equal(sampler_value(&r->t, 0), 700);
	rig_free(r);
	if (input >= 0) {
		assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
		close(input);
	}
}

/* Windows of the truth come along where there is one. */
static void test_exec_windows(void **state)
{
	struct rig *r = exec_new();
	int fd = sampler_exec_prepare();

	(void)state;
	r->t.truth = (struct truth *)r;
	sampler_exec(&r->t, fd);
	r->t.truth = NULL;
	next_program(r, fd, true);
	assert_non_null(r->t.carried.events);
	assert_non_null(r->t.carried.windows);
	assert_true(r->t.carried.windows->of[1].open && r->t.carried.windows->of[1].time == 77);
	free(r->t.carried.windows);
	sampler_start(&r->t);
	rig_free(r);
}

/* What could not be carried along, or is not what is expected, is left: all begins anew. */
static void test_exec_without(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct rig *r = exec_new();
		int fd = i == 0 ? -1 : i == 1 ? sampler_exec_prepare() : open("/dev/null", O_RDONLY | O_CLOEXEC);

		r->t.counts[VC_INSTRUCTIONS] = 700;
		sampler_exec(&r->t, fd);
		if (i == 2)
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC); /* it could not be written */
		next_program(r, fd, true);
		assert_null(r->t.carried.events);
		assert_null(r->t.carried.windows);
		r->t.first = true;
		sampler_start(&r->t);
		assert_int_equal(sampler_value(&r->t, 0), 0);
		assert_int_equal(period_of(r), 1000);
		rig_free(r);
	}
}

/* --- without samples, and on virtual CPUs */

/* Totals are kept up now and then, for the case that the thread is killed. */
static void test_totals(void **state)
{
	struct attr a = { .type = PERF_TYPE_HARDWARE, .sample_period = 10 };
	struct core_at at = { .pc = PC };
	struct rig *r = rig_new(&a, VC_INSTRUCTIONS);

	(void)state;
	r->control.options.totals_only = true;
	r->t.counts[VC_INSTRUCTIONS] = 50;
	sampler_start(&r->t);
	assert_int_equal(r->nr_armed, 1);
	assert_int_equal(r->armed[0].count, VC_INSTRUCTIONS);
	assert_int_equal(r->armed[0].at, 50 + 65536);
	r->t.counts[VC_INSTRUCTIONS] = 70000;
	sampler_overflow(&r->t, &r->armed[0], &at);
	assert_int_equal(r->totals, 1);
	assert_int_equal(r->armed[0].at, 70000 + 65536);
	assert_int_equal(r->samples, 0);
	rig_free(r);
}

/* A thread leaves its virtual CPU at the block that follows the end of its time there. Its events stand still
 * meanwhile, and belong to the CPU: no thread that ends tells of them. */
static void test_quantum(void **state)
{
	struct attr a = { .type = PERF_TYPE_HARDWARE, .sample_period = 1000, .sample_type = RIG_FIELDS };
	struct core_at at = { .pc = PC };
	struct rig *r = rig_new(&a, VC_INSTRUCTIONS);
	struct sampler_state *cpu = calloc(1, sizeof(*cpu));

	(void)state;
	assert_non_null(cpu);
	r->control.options.cpus = 2;
	r->control.options.quantum = 500;
	r->t.first = false;
	r->control.events[0].attr.flags &= ~ATTR_INHERIT; /* of a CPU it is all threads' */
	r->t.counts[VC_CYCLES] = 100;
	sampler_start(&r->t);
	assert_int_equal(r->nr_armed, 0);
	sampler_load(&r->t, cpu);
	assert_int_equal(r->nr_armed, 3);
	assert_int_equal(r->armed[0].at, 1000);
	assert_int_equal(r->armed[2].count, VC_CYCLES);
	assert_int_equal(r->armed[2].at, 600);
	r->t.counts[VC_CYCLES] = 640;
	r->t.counts[VC_INSTRUCTIONS] = 300;
	sampler_overflow(&r->t, &r->armed[2], &at);
	assert_int_equal(r->armed[2].at, 1140);
	assert_true(r->t.leaves && r->t.sampler_waits);
	sampler_entry(&r->t, PC);
	assert_true(r->t.leaves && !r->t.sampler_waits); /* the core sees to its leaving */
	sampler_save(&r->t, cpu);
	for (u32 i = 0; i < r->nr_armed; i++)
		assert_int_equal(r->armed[i].at, UINT64_MAX);
	r->t.counts[VC_INSTRUCTIONS] += 10000; /* elsewhere */
	sampler_load(&r->t, cpu);
	assert_int_equal(sampler_value(&r->t, 0), 300);
	assert_int_equal(r->armed[0].at, 300 + 10000 + 700);
	free(cpu);
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_loads),
		cmocka_unit_test(test_memory_stores),
		cmocka_unit_test(test_memory_unknown),
		cmocka_unit_test(test_read_values),
		cmocka_unit_test(test_read_record),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exec_without_input),
		cmocka_unit_test(test_exec_windows),
		cmocka_unit_test(test_exec_without),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_quantum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
