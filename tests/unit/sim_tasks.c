/* SPDX-License-Identifier: Apache-2.0 */
/* io/sim_tasks: which tasks get an EXIT at the end, and when. */
#include "sim/tasks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codec/vpmu.h"
#include "process_state.h"

struct kept {
	struct sim_tasks tasks;
	struct evlist events;
	struct bytes exits; /* a struct rec_task each */
	s32 dead;	    /* a process that was */
};

static int make(void **state)
{
	struct kept *k = mem_zalloc(sizeof(*k));
	struct attr a = { .type = PERF_TYPE_HARDWARE,
			  .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			  .flags = ATTR_SAMPLE_ID_ALL };

	evlist_add(&k->events, &a, "cycles", NULL);
	assert_int_equal(evlist_seal(&k->events, NULL, "test"), 0);
	k->dead = fork();
	if (!k->dead)
		_exit(0);
	waitpid(k->dead, NULL, 0);
	sim_tasks_begin(&k->tasks, 1, 0, k->dead);
	*state = k;
	return 0;
}

static int drop(void **state)
{
	struct kept *k = *state;

	sim_tasks_free(&k->tasks);
	evlist_free(&k->events);
	bytes_free(&k->exits);
	free(k);
	return 0;
}

static void put(struct kept *k, struct record *r, u32 pid, u32 tid, u64 time)
{
	struct bytes b = { 0 };

	r->sid = (struct sample_id){ .pid = pid, .tid = tid, .time = time };
	assert_int_equal(record_encode(r, &k->events.trailer, &b), 0);
	sim_tasks_look(&k->tasks, &k->events, &(struct iovec){ b.p, b.len });
	bytes_free(&b);
}

static void put_fork(struct kept *k, u32 pid, u32 tid, u32 ppid, u64 time)
{
	struct record r = { .h.type = PERF_RECORD_FORK };

	r.task = (struct rec_task){ .pid = pid, .tid = tid, .ppid = ppid, .ptid = ppid, .time = time };
	put(k, &r, ppid, ppid, time);
}

static void put_exit(struct kept *k, u32 pid, u32 tid, u64 time)
{
	struct record r = { .h.type = PERF_RECORD_EXIT };

	r.task = (struct rec_task){ .pid = pid, .tid = tid, .time = time };
	put(k, &r, pid, tid, time);
}

static void put_exec(struct kept *k, u32 pid, u64 time)
{
	struct record r = { .h = { .type = PERF_RECORD_COMM, .misc = PERF_RECORD_MISC_COMM_EXEC } };

	r.comm = (struct rec_comm){ pid, pid, { "program", 7 }, true };
	put(k, &r, pid, pid, time);
}

static void put_sample(struct kept *k, u32 pid, u32 tid, u64 time)
{
	struct sample s = { .pid = pid, .tid = tid, .time = time };
	struct bytes b = { 0 };

	assert_int_equal(sample_encode(&k->events.events.v[0].layout, &s, &b), 0);
	sim_tasks_look(&k->tasks, &k->events, &(struct iovec){ b.p, b.len });
	bytes_free(&b);
}

static int take(void *ctx, struct record *r)
{
	struct kept *k = ctx;

	assert_int_equal(r->h.type, PERF_RECORD_EXIT);
	assert_int_equal(r->task.time, r->sid.time);
	assert_int_equal(r->task.tid, r->sid.tid);
	bytes_put(&k->exits, &r->task, sizeof(r->task));
	return 0;
}

/* The nth EXIT, in the order in which they are put. */
static void expect(const struct kept *k, u32 n, u32 pid, u32 tid, u32 ppid, u64 time)
{
	struct rec_task t;

	assert_true(k->exits.len >= (n + 1) * sizeof(t));
	memcpy(&t, k->exits.p + n * sizeof(t), sizeof(t));
	assert_int_equal(t.pid, pid);
	assert_int_equal(t.tid, tid);
	assert_int_equal(t.ppid, ppid);
	assert_int_equal(t.ptid, ppid);
	assert_int_equal(t.time, time);
}

static void end(struct kept *k, u32 nr)
{
	assert_int_equal(sim_tasks_end(&k->tasks, take, k), 0);
	assert_int_equal(k->exits.len, nr * sizeof(struct rec_task));
	assert_int_equal(sim_tasks_end(&k->tasks, take, k), 0);
	assert_int_equal(k->exits.len, nr * sizeof(struct rec_task));
}

static void killed(void **state)
{
	struct kept *k = *state;

	put_fork(k, 1, 2, 1, 10);
	put_fork(k, 1, 3, 1, 20);
	put_fork(k, 4, 4, 1, 30); /* killed at once */
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 4, (u32)k->dead);
	put_fork(k, 5, 5, 1, 40); /* still runs */
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 5, (u32)getpid());
	put_fork(k, 6, 6, 1, 50); /* nobody knows */
	put_sample(k, 1, 3, 90);
	put_sample(k, 1, 2, 60);
	put_exit(k, 1, 2, 70);
	put_sample(k, 5, 5, 99);
	end(k, 3);
	expect(k, 0, 1, 3, 0, 91);
	expect(k, 1, 1, 1, 0, 91);
	expect(k, 2, 4, 4, 1, 31);
}

static void ended(void **state)
{
	struct kept *k = *state;

	put_fork(k, 1, 2, 1, 10);
	put_exit(k, 1, 1, 20);
	put_exit(k, 1, 2, 30);
	end(k, 0);
}

/* The first thread ends with the others, and its id goes on; that of the thread that called it does not end. */
static void executed_by_thread(void **state)
{
	struct kept *k = *state;

	put_fork(k, 1, 2, 1, 10);
	put_fork(k, 1, 3, 1, 20);
	put_sample(k, 1, 1, 95); /* ahead of the one that calls */
	put_sample(k, 1, 2, 50);
	put_sample(k, 1, 3, 60);
	sim_tasks_told(&k->tasks, VPMU_RECORD_EXEC, 1, 3);
	put_exec(k, 1, 80);
	put_exit(k, 1, 1, 120);
	end(k, 2);
	expect(k, 0, 1, 1, 0, 79);
	expect(k, 1, 1, 2, 0, 51);
}

static void executed_by_first(void **state)
{
	struct kept *k = *state;

	put_exec(k, 1, 1); /* the program itself */
	put_fork(k, 1, 2, 1, 10);
	sim_tasks_told(&k->tasks, VPMU_RECORD_EXEC, 1, 1);
	put_exec(k, 1, 80);
	put_sample(k, 1, 1, 100);
	end(k, 2);
	expect(k, 0, 1, 2, 0, 11);
	expect(k, 1, 1, 1, 0, 101);
}

static void same_id_again(void **state)
{
	struct kept *k = *state;

	put_fork(k, 7, 7, 1, 10);
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 7, (u32)getpid());
	put_fork(k, 7, 8, 7, 20);
	put_exit(k, 1, 1, 30);
	put_fork(k, 7, 7, 1, 40);
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 7, (u32)getpid());
	end(k, 2);
	expect(k, 0, 7, 7, 1, 21);
	expect(k, 1, 7, 8, 1, 21);
}

/* The parent was killed between writing of the birth and saying so: the child wrote of it, too. */
static void born_twice(void **state)
{
	struct kept *k = *state;

	put_fork(k, 7, 7, 1, 10);
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 7, (u32)k->dead);
	put_fork(k, 7, 7, 1, 12);
	put_sample(k, 7, 7, 20);
	put_exit(k, 1, 1, 30);
	end(k, 1);
	expect(k, 0, 7, 7, 1, 21);
}

/* Those that have ended are forgotten in time; whoever is still to end is not, nor is its process. */
static void thousands(void **state)
{
	struct kept *k = *state;

	put_fork(k, 3, 3, 1, 10);
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 3, (u32)k->dead);
	put_fork(k, 3, 4, 3, 20);
	put_exit(k, 3, 3, 30); /* its first thread */
	put_exit(k, 1, 1, 30);
	for (u32 i = 0; i < 10000; i++) {
		put_fork(k, 100 + i, 100 + i, 1, 40 + i);
		if (i == 5000)
			sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 100 + i, (u32)k->dead);
		else
			put_exit(k, 100 + i, 100 + i, 40 + i);
		assert_true(k->tasks.v.n < 100);
	}
	end(k, 2);
	expect(k, 0, 3, 4, 1, 31);
	expect(k, 1, 5100, 5100, 1, 5041);
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

/* Its first thread has ended, another runs. */
static void first_thread_ended(void **state)
{
	struct kept *k = *state;
	pthread_t other;
	s32 pid = fork();

	if (!pid) {
		alarm(60);
		pthread_create(&other, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	wait_for_state(pid, 'Z');
	put_exit(k, 1, 1, 5);
	put_fork(k, 2, 2, 1, 10);
	sim_tasks_told(&k->tasks, VPMU_RECORD_PROCESS, 2, (u32)pid);
	put_fork(k, 2, 3, 2, 20);
	put_exit(k, 2, 2, 30);
	end(k, 0);
	kill(pid, SIGKILL);
	/* Dead, and not yet waited for. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	end(k, 1);
	expect(k, 0, 2, 3, 1, 31);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed, make, drop),
		cmocka_unit_test_setup_teardown(ended, make, drop),
		cmocka_unit_test_setup_teardown(executed_by_thread, make, drop),
		cmocka_unit_test_setup_teardown(executed_by_first, make, drop),
		cmocka_unit_test_setup_teardown(same_id_again, make, drop),
		cmocka_unit_test_setup_teardown(born_twice, make, drop),
		cmocka_unit_test_setup_teardown(thousands, make, drop),
		cmocka_unit_test_setup_teardown(first_thread_ended, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
