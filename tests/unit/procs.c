/* SPDX-License-Identifier: Apache-2.0 */
/* What the side-band says of processes, asked at different times. */
#include "state/procs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct strtab strings;
	struct dsos *dsos;
	struct procs *procs;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	f->procs = procs_new(&f->strings, f->dsos);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	procs_free(f->procs);
	dsos_free(f->dsos);
	strtab_free(&f->strings);
	free(f);
	return 0;
}

static struct str str(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static void comm(struct fixture *f, u64 clock, u32 pid, u32 tid, const char *name, bool exec)
{
	struct record r = { .h.type = PERF_RECORD_COMM, .comm = { pid, tid, str(name), exec } };

	procs_apply(f->procs, &r, clock);
}

static void fork_task(struct fixture *f, u64 clock, u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	struct record r = { .h.type = PERF_RECORD_FORK,
			    .task = { .pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid } };

	procs_apply(f->procs, &r, clock);
}

static void map(struct fixture *f, u64 clock, u32 pid, u64 start, u64 len, const char *path)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER },
			    .mmap = { .pid = pid, .start = start, .len = len, .prot = 5, .filename = str(path) } };

	procs_apply(f->procs, &r, clock);
}

static const char *comm_at(struct fixture *f, u32 pid, u32 tid, u64 clock)
{
	struct thread_view v;

	procs_thread_at(f->procs, pid, tid, clock, &v);
	assert_true(clock >= v.from && clock < v.until);
	return v.comm == ID_NONE ? "-" : strtab_get(&f->strings, v.comm);
}

static const char *path_at(struct fixture *f, u32 pid, u64 clock, u64 addr)
{
	struct thread_view v;
	const struct vmap *m;

	procs_thread_at(f->procs, pid, pid, clock, &v);
	m = maps_find(&v.maps, addr);
	return m ? dsos_at(f->dsos, m->dso)->path : "-";
}

static void names_change_with_time(void **state)
{
	struct fixture *f = *state;

	comm(f, 0, 1, 1, "shell", false);
	fork_task(f, 10, 2, 2, 1, 1);
	comm(f, 20, 2, 2, "child", true);
	fork_task(f, 30, 2, 3, 2, 2);
	comm(f, 40, 2, 3, "worker", false);
	procs_seal(f->procs);
	assert_string_equal(comm_at(f, 1, 1, 100), "shell");
	assert_string_equal(comm_at(f, 2, 2, 5), "-");
	assert_string_equal(comm_at(f, 2, 2, 10), "shell");
	assert_string_equal(comm_at(f, 2, 2, 19), "shell");
	assert_string_equal(comm_at(f, 2, 2, 20), "child");
	assert_string_equal(comm_at(f, 2, 3, 35), "child");
	assert_string_equal(comm_at(f, 2, 3, 40), "worker");
	assert_string_equal(comm_at(f, 9, 9, 40), "-");
	assert_string_equal(comm_at(f, 0, 0, 40), "swapper");
}

static void fork_copies_and_exec_keeps(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 1, 0x1000, 0x1000, "/bin/a");
	fork_task(f, 10, 2, 2, 1, 1);
	map(f, 20, 1, 0x1000, 0x1000, "/bin/b"); /* the parent only */
	comm(f, 30, 2, 2, "x", true);
	map(f, 31, 2, 0x5000, 0x1000, "/bin/x");
	procs_seal(f->procs);
	assert_string_equal(path_at(f, 1, 5, 0x1800), "/bin/a");
	assert_string_equal(path_at(f, 1, 20, 0x1800), "/bin/b");
	assert_string_equal(path_at(f, 2, 25, 0x1800), "/bin/a");
	/* Samples within execve still have the old program's callers; what the new one maps hides the rest. */
	assert_string_equal(path_at(f, 2, 30, 0x1800), "/bin/a");
	assert_string_equal(path_at(f, 2, 40, 0x5000), "/bin/x");
	assert_string_equal(path_at(f, 2, 25, 0x5000), "-");
}

/* A child has no space of its own until it maps something. */
static void children_that_map_nothing(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 1, 0x1000, 0x1000, "/bin/a");
	fork_task(f, 10, 2, 2, 1, 1);
	fork_task(f, 20, 3, 3, 2, 2);
	map(f, 30, 1, 0x1000, 0x1000, "/bin/b");
	map(f, 40, 2, 0x3000, 0x1000, "/bin/c");
	fork_task(f, 50, 4, 4, 3, 3);
	procs_seal(f->procs);
	for (u32 pid = 2; pid <= 4; pid++)
		assert_string_equal(path_at(f, pid, 60, 0x1800), "/bin/a");
	assert_string_equal(path_at(f, 1, 60, 0x1800), "/bin/b");
	assert_string_equal(path_at(f, 2, 35, 0x3000), "-");
	assert_string_equal(path_at(f, 2, 40, 0x3000), "/bin/c");
	assert_string_equal(path_at(f, 3, 60, 0x3000), "-");
	assert_string_equal(path_at(f, 4, 60, 0x3000), "-");
	assert_string_equal(path_at(f, 4, 45, 0x1800), "-");
}

/* Without room nothing new is kept; what there was stays as it is. */
static void no_room(void **state)
{
	struct fixture *f = *state;

	comm(f, 0, 1, 1, "shell", false);
	map(f, 1, 1, 0x1000, 0x1000, "/bin/a");
	procs_limit(f->procs, 0);
	comm(f, 10, 1, 1, "other", false);
	fork_task(f, 20, 2, 2, 1, 1);
	map(f, 30, 1, 0x1000, 0x1000, "/bin/b");
	map(f, 30, 7, 0x1000, 0x1000, "/bin/b");
	assert_in_range(procs_left_out(f->procs), 4, 8);
	procs_limit(f->procs, 1 << 20);
	map(f, 40, 7, 0x1000, 0x1000, "/bin/b");
	procs_seal(f->procs);
	assert_string_equal(comm_at(f, 1, 1, 60), "shell");
	assert_string_equal(comm_at(f, 2, 2, 60), "-");
	assert_string_equal(path_at(f, 1, 60, 0x1000), "/bin/a");
	assert_string_equal(path_at(f, 7, 60, 0x1000), "/bin/b");
}

static void threads_share_and_ids_come_again(void **state)
{
	struct fixture *f = *state;

	fork_task(f, 10, 5, 5, 1, 1);
	map(f, 11, 5, 0x1000, 0x1000, "/bin/first");
	fork_task(f, 12, 5, 6, 5, 5);
	fork_task(f, 50, 5, 5, 1, 1); /* the id 5 again */
	map(f, 51, 5, 0x1000, 0x1000, "/bin/second");
	procs_seal(f->procs);
	assert_string_equal(path_at(f, 5, 30, 0x1000), "/bin/first");
	assert_string_equal(path_at(f, 5, 50, 0x1000), "-");
	assert_string_equal(path_at(f, 5, 60, 0x1000), "/bin/second");
}

static void anonymous_code_has_a_perf_map(void **state)
{
	struct fixture *f = *state;
	struct thread_view v;
	const struct vmap *m;

	map(f, 0, 7, 0x1000, 0x1000, "//anon");
	map(f, 0, 7, 0x4000, 0x1000, "[vdso]");
	procs_seal(f->procs);
	procs_thread_at(f->procs, 7, 7, 1, &v);
	m = maps_find(&v.maps, 0x1234);
	assert_string_equal(dsos_at(f->dsos, m->dso)->path, "/tmp/perf-7.map");
	assert_int_equal(vmap_addr(m, f->dsos, 0x1234), 0x1234);
	m = maps_find(&v.maps, 0x4010);
	assert_int_equal(dsos_at(f->dsos, m->dso)->kind, DSO_VDSO);
	assert_int_equal(vmap_addr(m, f->dsos, 0x4010), 0x10);
}

static void the_idle_task_has_its_name_from_the_start(void **state)
{
	struct fixture *f = *state;

	comm(f, 20, 0, 0, "idle", false);
	procs_seal(f->procs);
	assert_string_equal(comm_at(f, 0, 0, 5), "swapper");
	assert_string_equal(comm_at(f, 0, 0, 20), "idle");
	assert_string_equal(comm_at(f, 0, 0, 50), "idle");
}

static void map_as(struct fixture *f, u16 misc, u32 pid, u64 start, const char *name)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP, .misc = misc },
			    .mmap = { .pid = pid, .start = start, .len = 0x1000, .filename = str(name) } };

	procs_apply(f->procs, &r, 0);
}

static void guests_do_not_hide_the_host(void **state)
{
	struct fixture *f = *state;
	const u64 text = 0xffffffff81000000;
	struct thread_view v;

	map_as(f, PERF_RECORD_MISC_KERNEL, ID_NONE, text, "[kernel.kallsyms]_text");
	map_as(f, PERF_RECORD_MISC_GUEST_KERNEL, ID_NONE, text, "[guest.kernel.kallsyms]_text");
	map_as(f, PERF_RECORD_MISC_USER, 1, 0x1000, "/host/bin");
	map_as(f, PERF_RECORD_MISC_GUEST_USER, 1, 0x1000, "/guest/bin");
	map_as(f, PERF_RECORD_MISC_GUEST_USER, 1, 0x5000, "/guest/bin");
	map_as(f, PERF_RECORD_MISC_GUEST_KERNEL, 1, 0x6000, "/guest/bin");
	procs_seal(f->procs);
	procs_thread_at(f->procs, 1, 1, 0, &v);
	assert_int_equal(dsos_at(f->dsos, maps_find(&v.kernel, text)->dso)->kind, DSO_KERNEL);
	assert_string_equal(dsos_at(f->dsos, maps_find(&v.maps, 0x1000)->dso)->path, "/host/bin");
	assert_null(maps_find(&v.maps, 0x5000));
	assert_null(maps_find(&v.maps, 0x6000));
	assert_null(maps_find(&v.maps, text));
}

static void hostile_ranges_do_no_harm(void **state)
{
	struct fixture *f = *state;
	struct thread_view v;

	map(f, 0, 7, UINT64_MAX - 5, 100, "/wraps");
	map(f, 0, 7, 0x1000, 0, "/empty");
	map(f, 0, UINT32_MAX, 0x1000, 1, "");
	fork_task(f, 1, 7, 7, 7, 7);
	fork_task(f, 1, UINT32_MAX, UINT32_MAX, 8, 8);
	comm(f, 1, 0, 0, "", true);
	procs_seal(f->procs);
	procs_thread_at(f->procs, 7, 7, UINT64_MAX, &v);
	assert_non_null(maps_find(&v.maps, UINT64_MAX - 1));
	assert_null(maps_find(&v.maps, 0x1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_change_with_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(fork_copies_and_exec_keeps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(children_that_map_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_share_and_ids_come_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(anonymous_code_has_a_perf_map, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_idle_task_has_its_name_from_the_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(guests_do_not_hide_the_host, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile_ranges_do_no_harm, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
