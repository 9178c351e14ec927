/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread's rseq area points to, in its samples. The C library's registration is replaced by a longer one. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "tls.h"

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif

enum { AREA_SIZE = 64, FEATURE_SIZE = 40, ACTIVITY = 32 / 8 };

/* Words of a thread's rseq area; activity is [4]. */
static __thread u64 area[AREA_SIZE / 8] __attribute__((aligned(AREA_SIZE)));

static int set_rseq(void *at, u32 size, int flags)
{
	return syscall(SYS_rseq, at, size, flags, RSEQ_SIG) ? -errno : 0;
}

/* -> 0, or -errno */
static int take_over(u32 size)
{
	int err = set_rseq((char *)__builtin_thread_pointer() + __rseq_offset, 32, RSEQ_FLAG_UNREGISTER);

	return err ? err : set_rseq(area, size, 0);
}

/* Samples of so much work. -> 0, or -errno */
static int run_rseq(struct tls_samples *t, int offset)
{
	struct attr a = attr_tls(700, TLS_RSEQ);
	struct event e;

	a.tls_offset = offset;
	pin(0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return err;
	event_enable(&e);
	work(200000);
	event_disable(&e);
	bool good = tls_read(&e, t);
	event_close(&e);
	return good ? 0 : -EPROTO;
}

/* The C library's 32 bytes: there is no field. */
static void *short_thread(void *count)
{
	static struct tls_samples t;

	if (!run_rseq(&t, 0))
		*(struct tls_count *)count = tls_count(&t, 0);
	return NULL;
}

static void *long_thread(void *count)
{
	static struct tls_samples t;

	activity_fill(activity, 600);
	area[ACTIVITY] = (u64)activity;
	if (!take_over(AREA_SIZE) && !run_rseq(&t, 0))
		*(struct tls_count *)count = tls_count(&t, 600);
	return NULL;
}

static struct tls_count in_thread(void *(*run)(void *))
{
	struct tls_count count = { 0 };
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run, &count))
		pthread_join(thread, NULL);
	return count;
}

static bool all_of(const char *what, size_t n, struct tls_count c, char *figures)
{
	return (c.all > 200 && n == c.all) || failed(figures, "%s: %zu of %zu", what, n, c.all);
}

/* In a process of its own, whose registrations nobody else needs. */
static bool check_rseq(char *figures)
{
	static struct tls_samples t;
	u64 *page = activity_page();
	struct tls_count c;

	activity_fill(page, 300);
	activity_fill(page + 100, 400);
	c = in_thread(short_thread);
	if (!all_of("32 bytes registered, nothing sampled", c.none, c, figures))
		return false;
	c = in_thread(long_thread);
	if (!all_of("another thread's", c.right, c, figures))
		return false;
	int err = take_over(AREA_SIZE);
	if (!err)
		err = run_rseq(&t, 0);
	c = tls_count(&t, 0);
	if (err || !all_of("no activity", c.none, c, figures))
		return err ? failed(figures, "rseq: %s", strerror(-err)) : false;
	area[ACTIVITY] = (u64)page;
	err = run_rseq(&t, 0);
	c = tls_count(&t, 300);
	if (err || !all_of("right", c.right, c, figures))
		return false;
	err = run_rseq(&t, 800);
	struct tls_count behind = tls_count(&t, 400);
	if (err || !all_of("right at offset 800", behind.right, behind, figures))
		return false;
	madvise(page, 4096, MADV_DONTNEED);
	err = run_rseq(&t, 0);
	struct tls_count absent = tls_count(&t, 300);
	if (err || !all_of("absent", absent.unread, absent, figures))
		return false;
	return passed(figures,
		      "%zu of %zu right, %zu at an offset; other thread: its own; NULL, 32 bytes registered: size 0; "
		      "absent: 0 bytes",
		      c.right, c.all, behind.right);
}

static bool run_own(char *figures)
{
	char *shared = mmap(NULL, FIGURES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 1;

	if (getauxval(AT_RSEQ_FEATURE_SIZE) < FEATURE_SIZE)
		return failed(figures, "the kernel's rseq has %lu bytes", getauxval(AT_RSEQ_FEATURE_SIZE));
	pid_t pid = fork();
	if (!pid)
		_exit(!check_rseq(shared));
	waitpid(pid, &status, 0);
	memcpy(figures, shared, FIGURES_MAX);
	munmap(shared, FIGURES_MAX);
	return !status;
}

static bool run_refused(char *figures)
{
	struct attr a = attr_tls(1000, TLS_RSEQ | TLS_DEREF);
	int both = perf_open(&a, 0, -1, -1);

	/* A length that ends before the field does. */
	pid_t pid = fork();
	if (!pid)
		_exit(take_over(36) != -EINVAL);
	int status = 1;
	waitpid(pid, &status, 0);
	if (both != -EINVAL || status)
		return failed(figures, "%d, %d", both, status);
	return passed(figures, "with TLS_DEREF: EINVAL; rseq of 36 bytes: EINVAL");
}

const struct scenario rseq_scenarios[] = {
	{ "rseq-refused", run_refused, PATCHED },
	{ "rseq", run_own, PATCHED },
	{ 0 },
};
