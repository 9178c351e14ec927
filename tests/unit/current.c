/* SPDX-License-Identifier: Apache-2.0 */
/* The address spaces of now: what is mapped after each record, and only that. */
#include "state/current.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_dir.h"

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

/* "path+offset" of what lies there, or "-". Files have numbers in the order in which they are first mapped. */
static const char *at(struct current *c, u32 pid, u64 pc)
{
	static const char *const names[] = { "", "/a", "/b", "/c" };
	static char text[64];
	struct current_space *s = current_space(c, pid);
	struct current_code code;

	if (!s || !current_find(c, s, pc, &code))
		return "-";
	assert_true(code.start <= pc && pc < code.end);
	assert_true(code.file < ARRAY_LEN(names));
	snprintf(text, sizeof(text), "%s+%llx", names[code.file], (unsigned long long)(pc + code.shift));
	return text;
}

static struct current *new_one(struct dsos **dsos)
{
	const struct symbol_opts opts = { .no_kernel = true };

	*dsos = dsos_new(&opts, NULL);
	return current_new(*dsos, NULL);
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
		if (pid > 2000)
			assert_null(current_space(c, pid - 2000));
	}
	assert_string_equal(at(c, 19999, 0x1001), "/a+1");
	current_free(c);
	dsos_free(dsos);
}

/* Of a process that existed before, nobody knows the threads. */
static void first_threads_may_end_first(void **state)
{
	struct dsos *dsos;
	struct current *c = new_one(&dsos);

	(void)state;
	map(c, 1, 0x1000, 0x2000, 0, "/a");
	task(c, PERF_RECORD_FORK, 1, 5, 1);
	task(c, PERF_RECORD_EXIT, 1, 1, 1);
	assert_string_equal(at(c, 1, 0x1001), "/a+1");
	task(c, PERF_RECORD_EXIT, 1, 5, 1);
	assert_string_equal(at(c, 1, 0x1001), "/a+1");
	map(c, 1, 0x3000, 0x4000, 0, "/b");
	assert_string_equal(at(c, 1, 0x3001), "/b+1");
	current_free(c);
	dsos_free(dsos);
}

/* What is unmapped is not told: a process can have mapped at more addresses than it may have at once. */
static void mappings_are_limited(void **state)
{
	struct dsos *dsos;
	struct current *c = new_one(&dsos);
	u64 top = 1ull << 40;

	(void)state;
	for (u64 i = 0; i < 16384; i++)
		map(c, 1, top - i * 0x2000, top - i * 0x2000 + 0x1000, 0, "/a");
	assert_false(current_doubtful(c, 1));
	assert_string_equal(at(c, 1, top + 1), "/a+1");
	/* A child has them, too, whatever its parent does then. */
	task(c, PERF_RECORD_FORK, 2, 2, 1);
	map(c, 1, 0x1000, 0x2000, 0, "/b");
	assert_true(current_doubtful(c, 1));
	assert_string_equal(at(c, 1, top + 1), "-");
	assert_string_equal(at(c, 1, 0x1001), "/b+1");
	assert_false(current_doubtful(c, 2));
	assert_string_equal(at(c, 2, top + 1), "/a+1");
	current_again(c, 1);
	assert_false(current_doubtful(c, 1));
	/* And all together: those that have most are forgotten. */
	for (u32 pid = 3; pid < 300; pid++) {
		task(c, PERF_RECORD_FORK, pid, pid, 2);
		map(c, pid, top, top + 0x1000, 0, "/b");
		assert_string_equal(at(c, pid, top + 1), "/b+1");
	}
	assert_true(current_doubtful(c, 2) || current_doubtful(c, 3));
	current_free(c);
	dsos_free(dsos);
}

/* Nobody can tell the mappings again: those that are known stay. */
static void what_is_known_has_to_do(void **state)
{
	struct dsos *dsos;
	struct current *c = new_one(&dsos);

	(void)state;
	map(c, 1, 0x1000, 0x2000, 0, "/a");
	current_apply(c, &(struct record){ .h.type = PERF_RECORD_LOST });
	assert_true(current_doubtful(c, 1));
	current_settle(c, 1);
	assert_false(current_doubtful(c, 1));
	assert_string_equal(at(c, 1, 0x1001), "/a+1");
	current_settle(c, 9);
	assert_null(current_space(c, 9));
	current_free(c);
	dsos_free(dsos);
}

static struct cfi_index *index_at(struct current *c, u32 pid, u64 pc)
{
	struct current_code code;

	assert_true(current_find(c, current_space(c, pid), pc, &code));
	return code.index;
}

/* What one process cannot have, because it is gone or has another root directory, another one can. */
static void a_file_may_be_there_for_another_process(void **state)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };
	char dir[OWN_DIR_PATH], there[64], path[64];
	struct dsos *dsos;
	struct current *c = new_one(&dsos);
	struct stat st;
	FILE *f;

	(void)state;
	own_dir_make(dir);
	snprintf(there, sizeof(there), "%s/there", dir);
	snprintf(path, sizeof(path), "%s/path", dir);
	f = fopen(there, "we");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	fclose(f);
	r.mmap = (struct rec_mmap){ .start = 0x1000, .len = 0x1000, .prot = EXECUTABLE, .ino = st.st_ino };
	r.mmap.filename = str(path);
	for (r.mmap.pid = 1; r.mmap.pid < 4; r.mmap.pid++)
		current_apply(c, &r);
	assert_null(index_at(c, 1, 0x1001));
	assert_int_equal(link(there, path), 0);
	assert_null(index_at(c, 1, 0x1001)); /* it is not asked for twice */
	assert_non_null(index_at(c, 2, 0x1001));
	assert_non_null(index_at(c, 1, 0x1001));
	unlink(there);
	unlink(path);
	rmdir(dir);
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
		cmocka_unit_test(first_threads_may_end_first),
		cmocka_unit_test(mappings_are_limited),
		cmocka_unit_test(what_is_known_has_to_do),
		cmocka_unit_test(a_file_may_be_there_for_another_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
