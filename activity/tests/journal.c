/* SPDX-License-Identifier: Apache-2.0 */
/* Journals: what calls write down, and when; threads that follow each other; children of all kinds of fork; what the
 * process publishes; and where no journal is, or cannot be made. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "journals.h"
#include "numbered.h"

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The entry n of this thread is of that number, and of a time since `since`. */
static void says(const struct journal_reader *j, uint64_t n, uint8_t number, uint64_t since)
{
	const struct seen_slot *s = journal_slot(j, n);

	CHECK(j->ring->next > n && s->number == (uint32_t)n + 1 && s->tid == (uint32_t)syscall(SYS_gettid));
	CHECK(s->time >= since && s->time <= now());
	CHECK(s->record.valid == (number != 0) && (!number || s->record.trace[0] == number));
}

static void calls(void)
{
	struct activity_stack *coroutine = activity_stack_new();
	struct activity_snapshot work;
	struct journal_reader j;
	uint64_t since = now();

	CHECK(activity_thread_start());
	journal_open(&j, getpid());
	CHECK(!j.ring->next);
	push(1);
	says(&j, 0, 1, since);
	since = now();
	CHECK(activity_attribute(3, "/cart", 5));
	says(&j, 1, 1, since);
	CHECK(journal_slot(&j, 1)->record.size == 7 && !memcmp(journal_slot(&j, 1)->record.attrs, "\3\5/cart", 7));
	CHECK(!memcmp(&journal_slot(&j, 1)->record, (const void *)otel_thread_ctx_v1, 35));
	activity_capture(&work);
	push(2);
	says(&j, 2, 2, since);
	activity_pop();
	says(&j, 3, 1, since);
	activity_switch(coroutine);
	says(&j, 4, 0, since);
	activity_adopt(&work);
	says(&j, 5, 1, since);
	activity_switch(NULL);
	says(&j, 6, 1, since);
	activity_clear();
	says(&j, 7, 0, since);
	activity_restore(&work);
	says(&j, 8, 1, since);
	/* Round and round. */
	for (unsigned i = 0; i < 200000; i++)
		set((uint8_t)(1 + i % 100));
	says(&j, 9 + 199999, (uint8_t)(1 + 199999 % 100), since);
	CHECK(j.ring->next == 9 + 200000);
	journal_close(&j);
}

/* ---- Threads ---- */

static void *one_thread(void *number)
{
	set(*(uint8_t *)number);
	return NULL;
}

static void threads(void)
{
	struct journal_reader j;
	uint8_t number;
	uint32_t first;

	for (number = 1; number < 100; number++) {
		pthread_t t;

		CHECK(!pthread_create(&t, NULL, one_thread, &number) && !pthread_join(t, NULL));
	}
	journal_open(&j, getpid()); /* one for all, as they came one after the other */
	CHECK(j.ring->next == 2 * 99);
	first = journal_slot(&j, 0)->tid;
	for (unsigned n = 0; n < 99; n++) {
		const struct seen_slot *s = journal_slot(&j, 2 * n);

		CHECK(s->record.valid == 1 && s->record.trace[0] == n + 1 && s[1].tid == s->tid && !s[1].record.valid);
		CHECK(s->time <= s[1].time && s->tid != (uint32_t)getpid());
	}
	CHECK(journal_slot(&j, 196)->tid != first);
	journal_close(&j);
}

/* More at a time than a small number, again and again: there are not more journals than threads. */
#define TOGETHER 150

static void *with_others(void *all)
{
	set(1);
	pthread_barrier_wait(all);
	return NULL;
}

static void many_together(void)
{
	pthread_t t[TOGETHER];
	pthread_barrier_t all;
	char path[PATH_MAX];

	CHECK(!setenv("RETICLE_ACTIVITY_JOURNAL_ENTRIES", "64", 1));
	CHECK(!pthread_barrier_init(&all, NULL, TOGETHER));
	for (unsigned times = 0; times < 3; times++) {
		for (unsigned i = 0; i < TOGETHER; i++)
			CHECK(!pthread_create(&t[i], NULL, with_others, &all));
		for (unsigned i = 0; i < TOGETHER; i++)
			CHECK(!pthread_join(t[i], NULL));
	}
	CHECK(journal_find(path, getpid(), ".ring") == TOGETHER);
	while (journal_find(path, getpid(), ".ring"))
		CHECK(!unlink(path));
}

/* ---- Children ---- */

/* As the kernel says it for this process: the number behind the name, and 19 more fields. */
static uint32_t began(void)
{
	char text[1024] = "";
	FILE *f = fopen("/proc/self/stat", "r");
	char *field;

	CHECK(f && fgets(text, sizeof(text), f) && !fclose(f));
	field = strrchr(text, ')');
	for (int i = 0; i < 20; i++) {
		field = strchr(field + 1, ' ');
		CHECK(field);
	}
	return (uint32_t)strtoull(field, NULL, 10);
}

static void in_child(void)
{
	struct journal_reader j;

	set(2);
	journal_open(&j, getpid());
	CHECK(j.ring->pid == (uint32_t)getpid() && j.ring->started == began());
	says(&j, j.ring->next - 1, 2, 1);
	/* It goes on with what its parent did, if the C library has told of the fork. */
	CHECK(j.ring->next == 1 || (j.ring->next == 2 && journal_slot(&j, 0)->record.trace[0] == 1));
	journal_close(&j);
	_exit(j.ring == NULL);
}

static void await(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void children(void)
{
	struct journal_reader j;
	pid_t pid;

	set(1);
	journal_open(&j, getpid());
	pid = fork();
	if (!pid)
		in_child();
	await(pid);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) /* the C library does not know of it, and may have another number for this process */
		in_child();
	await(pid);
	CHECK(j.ring->next == 1);
	says(&j, 0, 1, 1);
	journal_close(&j);
}

static void publishes(void)
{
	const struct activity_process shop = { .service = "shop" }, bank = { .service = "bank" };
	char path[PATH_MAX], text[4096];
	uint64_t time, again;
	uint32_t size;
	int fd;

	CHECK(!activity_publish(&shop) && journal_find(path, getpid(), ".process") == 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && pread(fd, text, sizeof(text), 0) > 48 && !memcmp(text, "RETPROC1", 8));
	memcpy(&size, text + 12, sizeof(size));
	memcpy(&time, text + 40, sizeof(time));
	CHECK(memmem(text + 48, size, "shop", 4) && time && time <= now());
	CHECK(!activity_publish(&bank) && journal_find(path, getpid(), ".process") == 1);
	CHECK(pread(fd, text, sizeof(text), 0) > 48 && memmem(text + 48, size, "bank", 4));
	memcpy(&again, text + 40, sizeof(again));
	CHECK(again > time);
	close(fd);
	/* Another's, or one that is linked to elsewhere, is not written into. */
	snprintf(text, sizeof(text), "%s/other", journal_dir);
	CHECK(!link(path, text) && !activity_publish(&shop));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !unlink(text) && pread(fd, text, sizeof(text), 0) > 48 && memmem(text + 48, size, "bank", 4));
	close(fd);
	CHECK(!unlink(path));
}

/* ---- Without ---- */

static void nothing(void)
{
	struct journal_reader j;

	unsetenv("RETICLE_ACTIVITY_JOURNAL");
	push(1);
	CHECK(otel_thread_ctx_v1 && !journal_find(j.path, getpid(), ""));
}

static void nowhere(void)
{
	const char *const dirs[] = { "/nowhere/at/all", "/proc/self", "/dev/null" };

	errno = 77;
	setenv("RETICLE_ACTIVITY_JOURNAL", dirs[getpid() % 3], 1);
	push(1);
	CHECK(otel_thread_ctx_v1 && otel_thread_ctx_v1->trace[0] == 1 && errno == 77);
	activity_pop();
	CHECK(!activity_publish(&(struct activity_process){ .service = "shop" }));
}

static void by_call(void)
{
	char long_one[8192];
	struct journal_reader j;

	unsetenv("RETICLE_ACTIVITY_JOURNAL");
	memset(long_one, 'x', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	long_one[0] = '/';
	CHECK(activity_journal_start(long_one) == -ENAMETOOLONG);
	CHECK(activity_journal_start("not/there") == -ENOENT);
	CHECK(!chdir(journal_dir) && !activity_journal_start(".") && !chdir("/"));
	set(1);
	journal_open(&j, getpid());
	says(&j, 0, 1, 1);
	journal_close(&j);
}

/* Each in a process of its own, which has used nothing yet. */
static void run(void (*test)(void))
{
	pid_t pid = fork();

	if (!pid) {
		test();
		exit(0);
	}
	await(pid);
}

int main(void)
{
	void (*const tests[])(void) = { calls,	 threads, many_together, children, publishes,
					nothing, nowhere, nowhere,	 nowhere,  by_call };

	journal_begin();
	for (unsigned i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		run(tests[i]);
	CHECK(!rmdir(journal_dir)); /* nothing is left */
	return 0;
}
