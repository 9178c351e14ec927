/* SPDX-License-Identifier: Apache-2.0 */
/* The address spaces of now: what is mapped after each record, and only that. */
#include "state/current.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define EXECUTABLE 5

static struct str str(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static void map_as(struct current *c, u32 pid, u64 start, u64 end, u64 pgoff, const char *path, u32 prot)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };

	r.mmap = (struct rec_mmap){
		.pid = pid, .tid = pid, .start = start, .len = end - start, .pgoff = pgoff, .prot = prot, .ino = 1
	};
	r.mmap.filename = str(path);
	current_apply(c, &r);
}

static void map(struct current *c, u32 pid, u64 start, u64 end, u64 pgoff, const char *path)
{
	map_as(c, pid, start, end, pgoff, path, EXECUTABLE);
}

static void task(struct current *c, u32 type, u32 pid, u32 tid, u32 ppid)
{
	current_apply(c,
		      &(struct record){ .h.type = type,
					.task = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ppid, .time = 1 } });
}

static void exec(struct current *c, u32 pid)
{
	current_apply(c, &(struct record){ .h.type = PERF_RECORD_COMM, .comm = { pid, pid, str("new"), true } });
}

/* "path+offset" of what lies there, or "-". */
static const char *at(struct current *c, u32 pid, u64 pc)
{
	static char text[64];
	struct current_space *s = current_space(c, pid);
	struct current_code code;

	if (!s || !current_find(c, s, pc, &code))
		return "-";
	assert_true(code.start <= pc && pc < code.end);
	snprintf(text, sizeof(text), "%s+%llx", current_path(c, code.file), (unsigned long long)(pc + code.shift));
	return text;
}

static struct current *new_one(struct dsos **dsos)
{
	const struct symbol_opts opts = { .no_kernel = true };

	*dsos = dsos_new(&opts, NULL);
	return current_new(*dsos);
}

static void newer_mappings_hide_older_ones(void **state)
{
	struct dsos *dsos;
	struct current *c = new_one(&dsos);

	(void)state;
	assert_string_equal(at(c, 1, 0x1000), "-");
	map(c, 1, 0x1000, 0x9000, 0x1000, "/a");
	map(c, 1, 0x3000, 0x4000, 0, "/b");
	assert_string_equal(at(c, 1, 0x2fff), "/a+2fff");
	assert_string_equal(at(c, 1, 0x3001), "/b+1");
	assert_string_equal(at(c, 1, 0x4002), "/a+4002");
	assert_string_equal(at(c, 1, 0x9000), "-");
	map(c, 1, 0x2000, 0x5000, 0, "/c"); /* over the end of one, a whole one, and the beginning of one */
	assert_string_equal(at(c, 1, 0x1800), "/a+1800");
	assert_string_equal(at(c, 1, 0x3000), "/c+1000");
	assert_string_equal(at(c, 1, 0x5000), "/a+5000");
	map_as(c, 1, 0x6000, 0x7000, 0, "/data", 1);
	assert_string_equal(at(c, 1, 0x6500), "-");
	assert_string_equal(at(c, 1, 0x7500), "/a+7500");
	map(c, 1, 0, 0x10000, 0, "//anon");
	assert_string_equal(at(c, 1, 0x5000), "+5000");
	current_free(c);
	dsos_free(dsos);
}

static void spaces_follow_their_processes(void **state)
{
	struct dsos *dsos;
	struct current *c = new_one(&dsos);

	(void)state;
	map(c, 1, 0x1000, 0x2000, 0, "/a");
	task(c, PERF_RECORD_FORK, 2, 2, 1);
	map(c, 2, 0x3000, 0x4000, 0, "/b");
	assert_string_equal(at(c, 2, 0x1001), "/a+1");
	assert_string_equal(at(c, 2, 0x3001), "/b+1");
	assert_string_equal(at(c, 1, 0x3001), "-");
	/* Within exec the call is still in the old program. */
	exec(c, 2);
	assert_string_equal(at(c, 2, 0x1001), "/a+1");
	map(c, 2, 0x7000, 0x8000, 0, "/c");
	assert_string_equal(at(c, 2, 0x1001), "-");
	assert_string_equal(at(c, 2, 0x7001), "/c+1");
	/* The first thread may end before others. */
	task(c, PERF_RECORD_FORK, 2, 3, 2);
	task(c, PERF_RECORD_EXIT, 2, 2, 2);
	assert_string_equal(at(c, 2, 0x7001), "/c+1");
	task(c, PERF_RECORD_EXIT, 2, 3, 2);
	assert_null(current_space(c, 2));
	/* A number may come again. */
	task(c, PERF_RECORD_FORK, 2, 2, 1);
	assert_string_equal(at(c, 2, 0x1001), "/a+1");
	current_free(c);
	dsos_free(dsos);
}

static void losses_leave_doubts(void **state)
{
	const struct record lost = { .h.type = PERF_RECORD_LOST };
	struct dsos *dsos;
	struct current *c = new_one(&dsos);

	(void)state;
	map(c, 1, 0x1000, 0x2000, 0, "/a");
	assert_false(current_doubtful(c, 1));
	assert_false(current_doubtful(c, 2));
	current_apply(c, &lost);
	assert_true(current_doubtful(c, 1));
	assert_true(current_doubtful(c, 2));
	/* A child has what its parent had; exec brings all anew. */
	task(c, PERF_RECORD_FORK, 3, 3, 1);
	assert_true(current_doubtful(c, 3));
	exec(c, 3);
	assert_false(current_doubtful(c, 3));
	current_again(c, 1);
	assert_false(current_doubtful(c, 1));
	assert_string_equal(at(c, 1, 0x1001), "-");
	current_free(c);
	dsos_free(dsos);
}

static void many_processes_take_the_room_of_a_few(void **state)
{
	struct dsos *dsos;
	struct current *c = new_one(&dsos);

	(void)state;
	map(c, 1, 0x1000, 0x2000, 0, "/a");
	for (u32 pid = 2; pid < 20000; pid++) {
		task(c, PERF_RECORD_FORK, pid, pid, pid - 1);
		task(c, PERF_RECORD_EXIT, pid - 1, pid - 1, pid - 1);
		assert_null(current_space(c, pid - 1));
	}
	assert_string_equal(at(c, 19999, 0x1001), "/a+1");
	current_free(c);
	dsos_free(dsos);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newer_mappings_hide_older_ones),
		cmocka_unit_test(spaces_follow_their_processes),
		cmocka_unit_test(losses_leave_doubts),
		cmocka_unit_test(many_processes_take_the_room_of_a_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
