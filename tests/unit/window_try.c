/* SPDX-License-Identifier: Apache-2.0 */
/* What is found out about windows by trying: here on a machine that is made up, so that any can be had. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "events/watch.h"
#include "sys/probe.h"
#include "windows/fit.h"
#include "windows/native.h"

#define MOST 8u

/* --- the machine, instead of the kernel's calls --- */

static struct {
	u32 holds;	 /* counters at a time: one more is refused */
	u32 runs;	 /* and so many at a time really count */
	int errno_first; /* for the first event, or 0 */
	int errno_more;	 /* for one too many */
	u32 open, tries; /* members of the group that is being opened; groups */
	int leader;
	struct attr asked[MOST];
	const u64 *times; /* of what is watched */
	u32 nr_times;
	int watched;
	u32 watches, steady; /* how often it was watched; so often it did not alternate, as others had the CPU */
	bool leaders;	     /* leaders are tried, instead of the kernel as a whole: */
	int errno_cpu;	     /* on a CPU, or 0 */
	u64 needs;	     /* flags without which there is no permission */
	struct attr leader_asked;
	struct schedule schedule_asked;
	s32 cpu_asked;
	u32 opened;
	enum event_usable usable; /* any event; what was asked about: */
	struct attr probed;
	char probed_cpus[8];
	u32 probes;
} machine;

static int counter(bool runs)
{
	const u64 words[3] = { 1, 1, runs };
	int fd = memfd_create("counter", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, words, sizeof(words), 0), sizeof(words));
	return fd;
}

static int refuse(int err)
{
	errno = err;
	return -1;
}

int event_probe_open_group(struct attr *attr, int pid, int cpu, int leader)
{
	assert_int_equal(pid, 0);
	assert_int_equal(cpu, -1);
	if (leader < 0) {
		machine.open = 0;
		machine.tries++;
		if (machine.errno_first)
			return refuse(machine.errno_first);
	} else {
		assert_int_equal(leader, machine.leader);
	}
	if (machine.open == machine.holds)
		return refuse(machine.errno_more);
	machine.asked[machine.open++] = *attr;
	if (leader >= 0) {
		/* Whether the leader runs depends on all of the group. */
		const u64 words[3] = { 1, 1, machine.open <= machine.runs };

		assert_int_equal(pwrite(leader, words, sizeof(words), 0), sizeof(words));
		return counter(true);
	}
	machine.leader = counter(machine.runs);
	return machine.leader;
}

int event_probe_open(struct attr *attr, int pid, int cpu)
{
	return event_probe_open_group(attr, pid, cpu, -1);
}

static int open_leader(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu)
{
	int err = cpu >= 0 ? machine.errno_cpu : machine.errno_first;

	assert_int_equal(pid, cpu >= 0 ? -1 : 0);
	machine.opened++;
	machine.leader_asked = *a;
	machine.schedule_asked = *s;
	machine.cpu_asked = cpu;
	err = (a->flags & machine.needs) != machine.needs ? EACCES : err;
	return err ? refuse(err) : counter(true);
}

int event_open_scheduled(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu, int group)
{
	assert_int_equal(group, -1);
	if (machine.leaders)
		return open_leader(a, s, pid, cpu);
	assert_int_equal(pid, 0);
	assert_int_equal(cpu, -1);
	assert_int_equal(a->sample_period, s->period_long + s->period_short);
	assert_true(s->batch_count == 1 && !s->jitter_long && !s->jitter_short);
	if (machine.errno_first)
		return refuse(machine.errno_first);
	return counter(true);
}

enum event_usable event_probe(const struct attr *attr, const char *cpus, int *sys_errno)
{
	(void)sys_errno;
	machine.probed = *attr;
	strcpy(machine.probed_cpus, cpus ? cpus : "none");
	machine.probes++;
	return machine.usable;
}

int event_watch(int fd, const struct attr *a, u64 ns, void (*take)(void *ctx, const struct sample *s), void *ctx)
{
	assert_true(fd >= 0);
	assert_true(a->sample_type & PERF_SAMPLE_TIME && ns >= 10 * a->sample_period);
	for (u32 i = 0; i < machine.nr_times; i++)
		take(ctx,
		     &(struct sample){ .time = machine.watches < machine.steady ? i * 1000000ull : machine.times[i] });
	machine.watches++;
	return machine.watched;
}

/* --- groups that fit --- */

/* Event 1 leads events 1 to n, and event 0 is alone. */
static u32 fit(u32 n, bool with_twin)
{
	struct event_specs specs = { 0 };
	u32 fits;

	for (u32 i = 0; i <= n; i++)
		vec_push(&specs.v, (struct event_spec){ .leader = MIN(i, 1u), .attr = { .type = 4, .config = i } });
	specs.v.v[1].attr.sample_period = 1000;
	specs.v.v[1].attr.flags = ATTR_FREQ | ATTR_PINNED;
	machine.tries = 0;
	fits = window_fit(&specs, 1, with_twin);
	vec_free(&specs.v);
	return fits;
}

static void set_machine(u32 holds, u32 runs)
{
	memset(&machine, 0, sizeof(machine));
	machine.holds = holds;
	machine.runs = runs;
	machine.errno_more = EINVAL;
}

static void test_fit(void **state)
{
	u64 begin;

	(void)state;
	set_machine(6, 6);
	assert_int_equal(fit(4, false), 4);
	assert_int_equal(machine.tries, 1);
	assert_int_equal(fit(5, true), 6);
	set_machine(4, 4); /* the kernel refuses it */
	assert_int_equal(fit(6, false), 4);
	assert_int_equal(machine.tries, 3);
	assert_int_equal(fit(6, true), 4);
	machine.errno_more = ENOSPC;
	assert_int_equal(fit(6, false), 4);
	set_machine(6, 3); /* or takes it, and counts nothing */
	assert_int_equal(fit(6, false), 3);
	begin = clock_ns(); /* it has a moment to count */
	assert_int_equal(fit(3, false), 3);
	assert_true(clock_ns() - begin >= 200000);
	set_machine(1, 1); /* what is alone need not be tried */
	assert_int_equal(fit(3, false), 1);
	set_machine(0, 0);
	assert_int_equal(fit(1, false), 1);
	assert_int_equal(machine.tries, 0);
}

/* The first event of all may lead. */
static void test_fit_first(void **state)
{
	struct event_specs specs = { 0 };

	(void)state;
	set_machine(2, 2);
	for (u32 i = 0; i < 3; i++)
		vec_push(&specs.v, (struct event_spec){ .attr = { .type = 4, .config = i } });
	assert_int_equal(window_fit(&specs, 0, false), 2);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(machine.asked[i].config, i);
	vec_free(&specs.v);
}

/* Then opening them says why. */
static void test_cannot_be_tried(void **state)
{
	(void)state;
	set_machine(4, 4);
	machine.errno_first = EINVAL; /* of a first event that is no word about room */
	assert_int_equal(fit(6, false), 6);
	assert_int_equal(machine.tries, 1);
	machine.errno_first = 0;
	machine.errno_more = EACCES;
	assert_int_equal(fit(6, true), 7);
	assert_int_equal(machine.tries, 1);
}

/* The leader's twin first, then the group; nothing samples, and only the first waits to be switched on. */
static void test_members(void **state)
{
	(void)state;
	set_machine(8, 8);
	assert_int_equal(fit(3, true), 4);
	for (u32 i = 0; i < 4; i++) {
		const struct attr *a = &machine.asked[i];

		assert_int_equal(a->config, i ? i : 1);
		assert_int_equal(a->sample_period, 0);
		assert_int_equal(a->flags & (ATTR_FREQ | ATTR_PINNED), 0);
		assert_int_equal(!!(a->flags & ATTR_DISABLED), !i);
		assert_true(a->flags & ATTR_EXCLUDE_KERNEL);
	}
}

/* --- events that there are --- */

/* Only what is certainly not there is not. */
static void test_has_event(void **state)
{
	(void)state;
	set_machine(0, 0);
	for (machine.usable = EVENT_USABLE; machine.usable <= EVENT_UNTESTED; machine.usable++)
		assert_int_equal(window_has_event(NULL, "instructions:u"), machine.usable != EVENT_ABSENT);
	assert_int_equal(machine.probed.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_true(machine.probed.flags & ATTR_EXCLUDE_KERNEL);
	assert_string_equal(machine.probed_cpus, "none");
	machine.usable = EVENT_USABLE;
	machine.probes = 0;
	assert_false(window_has_event(NULL, "no-such-event"));
	assert_false(window_has_event(NULL, "cycles,instructions")); /* it is asked for one */
	assert_int_equal(machine.probes, 0);
}

/* --- kernels that alternate periods --- */

/* The number that the next one has. */
static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static bool works(const u64 *times, u32 n)
{
	int next = next_descriptor();
	const char *why;
	bool is;

	machine.times = times;
	machine.nr_times = n;
	is = windows_native_works(&why);
	assert_int_equal(next_descriptor(), next); /* nothing stays open */
	assert_string_equal(
		why, is ? "the kernel alternates periods" :
			  "the kernel accepts the attributes of alternating periods, but does not alternate them");
	return is;
}

/* Samples with these distances in turn, the first `steady` of them only with the first one. */
static bool turns(u64 one, u64 other, u32 steady, u32 n)
{
	u64 times[100] = { 5000 };

	for (u32 i = 1; i < n; i++)
		times[i] = times[i - 1] + (i > steady && i % 2 ? other : one);
	return works(times, n);
}

static void test_alternates(void **state)
{
	(void)state;
	set_machine(0, 0);
	assert_true(turns(900000, 100000, 0, 20));
	assert_true(turns(100000, 900000, 0, 20));
	assert_false(turns(1000000, 1000000, 0, 20)); /* 1 ms each: the fields are something else */
	assert_false(turns(100000, 100000, 0, 20));
	/* Half way is far. */
	assert_true(turns(500000, 499999, 0, 20));
	assert_false(turns(500000, 500000, 0, 20));
	assert_false(turns(499999, 499999, 0, 20));
	/* Six are needed to judge. */
	assert_true(turns(900000, 100000, 0, 6));
	assert_false(turns(900000, 100000, 0, 5));
	assert_false(works(NULL, 0));
	/* Three of four neighbours: interrupts may come late. */
	assert_true(turns(900000, 100000, 4, 18));
	assert_false(turns(900000, 100000, 6, 18));
	/* As many as there is room for. */
	assert_true(turns(900000, 100000, 0, 100));
}

/* Who shares the CPU with others may have to try again, but not for ever. */
static void test_tries(void **state)
{
	static const u64 times[] = { 0, 100000, 1000000, 1100000, 2000000, 2100000, 3000000, 3100000 };

	(void)state;
	set_machine(0, 0);
	for (machine.steady = 0; machine.steady < 3; machine.steady++) {
		machine.watches = 0;
		assert_true(works(times, ARRAY_LEN(times)));
		assert_int_equal(machine.watches, machine.steady + 1);
	}
	machine.steady = 1000;
	machine.watches = 0;
	assert_false(works(times, ARRAY_LEN(times)));
	assert_in_range(machine.watches, 3, 20);
}

/* --- leaders whose periods are to alternate */

static const char *refused(const char *cpus)
{
	const struct attr leader = { .type = 4,
				     .config = 0x3c,
				     .read_format = 8,
				     .flags = ATTR_PINNED | ATTR_EXCLUSIVE | ATTR_INHERIT | ATTR_FREQ };
	const struct schedule s = { .period_short = 1000, .batch_count = 3, .jitter_long = 50000 };

	machine.opened = 0;
	return windows_native_refused(&leader, &s, cpus);
}

static void set_leaders(int here, int on_cpu)
{
	set_machine(0, 0);
	machine.leaders = true;
	machine.errno_first = here;
	machine.errno_cpu = on_cpu;
}

/* Each error says what is the matter; those of a PMU of the whole machine are its own. */
static void test_leaders(void **state)
{
	static const struct {
		int here, on_cpu;
		const char *cpus, *why;
		u32 opened;
	} rows[] = {
		{ 0, 0, NULL, NULL, 1 },
		{ 0, EINVAL, "2-3", NULL, 1 },
		{ EOPNOTSUPP, 0, NULL, "the driver of its PMU does not alternate periods", 1 },
		{ EOPNOTSUPP, 0, "2-3", "the driver of its PMU does not alternate periods", 1 },
		{ ERANGE, 0, NULL, "its PMU cannot count a period as short as that", 1 },
		{ EINVAL, 0, NULL, "its PMU refuses such periods", 1 },
		{ EINVAL, 0, "2-3", NULL, 2 },
		{ ENOENT, 0, "2-3", NULL, 2 },
		{ EINVAL, EOPNOTSUPP, "2-3", "the driver of its PMU does not alternate periods", 2 },
		{ ENOENT, EINVAL, "2-3", "its PMU refuses such periods", 2 },
		{ ENOENT, 0, NULL, NULL, 1 }, /* opening it says so better */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why;

		set_leaders(rows[i].here, rows[i].on_cpu);
		why = refused(rows[i].cpus);
		assert_int_equal(machine.opened, rows[i].opened);
		assert_int_equal(machine.cpu_asked, rows[i].opened == 2 ? 2 : -1);
		if (rows[i].why)
			assert_string_equal(why, rows[i].why);
		else
			assert_null(why);
	}
}

/* It is opened by itself, and is never switched on. */
static void test_leaders_asked(void **state)
{
	(void)state;
	set_leaders(0, 0);
	assert_null(refused(NULL));
	assert_true(machine.leader_asked.flags & ATTR_DISABLED);
	assert_false(machine.leader_asked.flags & (ATTR_PINNED | ATTR_EXCLUSIVE | ATTR_INHERIT | ATTR_FREQ));
	assert_int_equal(machine.leader_asked.read_format, 0);
	assert_int_equal(machine.leader_asked.config, 0x3c);
	assert_int_equal(machine.leader_asked.sample_period % 1000000, 3 * 1000); /* beside the long one */
	assert_int_equal(machine.schedule_asked.jitter_long, 50000);
	assert_int_equal(machine.schedule_asked.period_short, 1000);
	/* Who may not look at the kernel tries it without. */
	machine.needs = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV;
	assert_null(refused(NULL));
	assert_int_equal(machine.opened, 2);
	machine.errno_first = EOPNOTSUPP;
	assert_string_equal(refused(NULL), "the driver of its PMU does not alternate periods");
	machine.needs = 1ull << 60; /* nor without */
	assert_null(refused(NULL));
	assert_int_equal(machine.opened, 2);
}

static void test_native_refused(void **state)
{
	static const struct {
		int err;
		const char *why;
	} rows[] = {
		{ E2BIG, "this kernel has no alternating periods" },
		{ EINVAL, "this kernel has no alternating periods" },
		{ EACCES, "this user may not record" },
		{ EPERM, "this user may not record" },
	};
	const char *why;

	(void)state;
	set_machine(0, 0);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		machine.errno_first = rows[i].err;
		assert_false(windows_native_works(&why));
		assert_string_equal(why, rows[i].why);
	}
	machine.errno_first = 0;
	machine.watched = -1;
	assert_false(windows_native_works(&why));
	assert_string_equal(why, "this cannot be tried: no memory may be locked");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_fit_first),
		cmocka_unit_test(test_cannot_be_tried),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_alternates),
		cmocka_unit_test(test_tries),
		cmocka_unit_test(test_leaders),
		cmocka_unit_test(test_leaders_asked),
		cmocka_unit_test(test_native_refused),
		cmocka_unit_test(test_has_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
