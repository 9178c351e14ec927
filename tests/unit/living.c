/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the side-band: what lives, and no more. */
#include "pass/living.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/record.h"

static void apply(struct living *l, struct record *r)
{
	const struct trailer_layout none = { 0 };
	struct bytes b = { 0 };

	assert_int_equal(record_encode(r, &none, &b), 0);
	living_apply(l, b.p, (u16)b.len);
	bytes_free(&b);
}

static struct str str(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static void comm(struct living *l, u32 pid, u32 tid, const char *name, bool exec)
{
	apply(l, &(struct record){ .h.type = PERF_RECORD_COMM, .comm = { pid, tid, str(name), exec } });
}

static void task(struct living *l, u32 type, u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	apply(l, &(struct record){ .h.type = type, .task = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid } });
}

static void map(struct living *l, u32 pid, u64 start, u64 len, const char *path, u16 misc)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = misc } };

	r.mmap.pid = r.mmap.tid = pid;
	r.mmap.start = start;
	r.mmap.len = len;
	r.mmap.filename = str(path);
	apply(l, &r);
}

/* What it would tell, as "comm PID/TID NAME; map PID START NAME; ...", sorted by nothing. */
static char *told(const struct living *l)
{
	struct bytes records = { 0 }, text = { 0 };
	struct record r;

	living_put(l, &records);
	for (size_t at = 0; at < records.len; at += r.h.size) {
		const struct trailer_layout none = { 0 };

		assert_int_equal(record_decode(cursor_over(records.p + at, records.len - at, false), at, &none, &r),
				 0);
		if (r.h.type == PERF_RECORD_COMM)
			bytes_printf(&text, "comm %u/%u %.*s; ", r.comm.pid, r.comm.tid, (int)r.comm.comm.len,
				     r.comm.comm.p);
		else
			bytes_printf(&text, "map %u %llx %.*s; ", r.mmap.pid, (unsigned long long)r.mmap.start,
				     (int)r.mmap.filename.len, r.mmap.filename.p);
	}
	bytes_char(&text, 0);
	bytes_free(&records);
	return (char *)text.p;
}

static void expect(const struct living *l, const char *want)
{
	char *got = told(l);

	assert_string_equal(got, want);
	free(got);
}

static void test_fork_inherits(void **state)
{
	struct living l = { 0 };

	(void)state;
	comm(&l, 1, 1, "sh", true);
	map(&l, 1, 0x1000, 0x1000, "/bin/sh", 2);
	task(&l, PERF_RECORD_FORK, 2, 2, 1, 1);
	task(&l, PERF_RECORD_EXIT, 1, 1, 0, 0);
	expect(&l, "map 2 1000 /bin/sh; comm 2/2 sh; ");
	comm(&l, 2, 2, "ls", true); /* exec takes the old mappings away */
	map(&l, 2, 0x5000, 0x1000, "/bin/ls", 2);
	expect(&l, "map 2 5000 /bin/ls; comm 2/2 ls; ");
	living_free(&l);
}

static void test_threads_hold_their_process(void **state)
{
	struct living l = { 0 };

	(void)state;
	comm(&l, 7, 7, "app", true);
	map(&l, 7, 0x1000, 0x1000, "/app", 2);
	task(&l, PERF_RECORD_FORK, 7, 8, 7, 7);
	task(&l, PERF_RECORD_EXIT, 7, 7, 0, 0);
	expect(&l, "map 7 1000 /app; comm 7/8 app; ");
	task(&l, PERF_RECORD_EXIT, 7, 8, 0, 0);
	expect(&l, "");
	living_free(&l);
}

static void test_covered_mappings_go(void **state)
{
	struct living l = { 0 };

	(void)state;
	comm(&l, 1, 1, "a", false);
	map(&l, 1, 0x1000, 0x1000, "/one", 2);
	map(&l, 1, 0x3000, 0x1000, "/two", 2);
	map(&l, 1, 0x0, 0x2000, "/over", 2);
	map(&l, 1, 0x3800, 0x1000, "/part", 2); /* covers a part only */
	expect(&l, "map 1 3000 /two; map 1 0 /over; map 1 3800 /part; comm 1/1 a; ");
	living_free(&l);
}

/* A process id that comes around again, its end having been lost, has nothing of the older one. */
static void test_reused_id(void **state)
{
	struct living l = { 0 };

	(void)state;
	comm(&l, 5, 5, "old", true);
	map(&l, 5, 0x1000, 0x1000, "/old", 2);
	comm(&l, 9, 9, "parent", true);
	task(&l, PERF_RECORD_FORK, 5, 5, 9, 9);
	expect(&l, "comm 9/9 parent; comm 5/5 parent; ");
	living_free(&l);
}

static void test_short_processes_leave_nothing(void **state)
{
	struct living l = { 0 };
	u32 widest = 0;

	(void)state;
	comm(&l, 1, 1, "make", true);
	map(&l, 1, 0x1000, 0x1000, "/make", 2);
	for (u32 pid = 2; pid < 200000; pid++) {
		task(&l, PERF_RECORD_FORK, pid, pid, 1, 1);
		task(&l, PERF_RECORD_EXIT, pid, pid, 0, 0);
		widest = MAX(widest, MAX(l.threads.mask, l.processes.mask));
	}
	expect(&l, "map 1 1000 /make; comm 1/1 make; ");
	assert_true(widest < 8192); /* maps of ids are made anew */
	living_free(&l);
}

/* The end of the thread that calls execve is not told, nor is it always that of the others. */
static void test_exec_ends_other_threads(void **state)
{
	struct living l = { 0 };

	(void)state;
	comm(&l, 7, 7, "app", true);
	task(&l, PERF_RECORD_FORK, 7, 8, 7, 7);
	task(&l, PERF_RECORD_FORK, 7, 9, 7, 7);
	task(&l, PERF_RECORD_EXIT, 7, 7, 0, 0);
	comm(&l, 7, 7, "next", true);
	expect(&l, "comm 7/7 next; ");
	task(&l, PERF_RECORD_EXIT, 7, 7, 0, 0);
	expect(&l, "");
	assert_int_equal(l.process.n, 0);
	living_free(&l);
}

/* A mapping of whom no thread is known stays for a while, as its thread's records may be on their way. */
static void test_processes_without_threads_go(void **state)
{
	struct living l = { 0 };

	(void)state;
	map(&l, 7, 0x1000, 0x1000, "/app", 2);
	map(&l, UINT32_MAX, 0x9000, 0x1000, "[kernel]", 1);
	living_settle(&l);
	map(&l, 8, 0x1000, 0x1000, "/other", 2);
	comm(&l, 8, 8, "other", false);
	living_settle(&l);
	expect(&l, "map 8 1000 /other; map 4294967295 9000 [kernel]; comm 8/8 other; ");
	living_free(&l);
}

static void test_nonsense_is_ignored(void **state)
{
	struct perf_event_header h = { .type = PERF_RECORD_MMAP2, .size = sizeof(h) };
	u8 record[24] = { 0 };
	struct living l = { 0 };

	(void)state;
	living_apply(&l, (const u8 *)&h, sizeof(h));
	h.size = sizeof(record);
	memcpy(record, &h, sizeof(h));
	living_apply(&l, record, sizeof(record));
	task(&l, PERF_RECORD_EXIT, 3, 3, 0, 0); /* of whom nothing is known */
	expect(&l, "");
	living_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork_inherits),
		cmocka_unit_test(test_threads_hold_their_process),
		cmocka_unit_test(test_covered_mappings_go),
		cmocka_unit_test(test_reused_id),
		cmocka_unit_test(test_short_processes_leave_nothing),
		cmocka_unit_test(test_exec_ends_other_threads),
		cmocka_unit_test(test_processes_without_threads_go),
		cmocka_unit_test(test_nonsense_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
