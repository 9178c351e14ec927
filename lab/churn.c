/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that go away in mid-batch, of each kind and very often: for a kernel that watches its memory and its locks.
 * What it has to say is on the console, where lab/run looks for it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { CYCLES = 100000, PAGE = 4096, RING_PAGES = 9 };
/* A sample takes hundreds of microseconds in such a kernel: much shorter periods would leave no time for anything
 * else. */
enum { WHOLE = 40000, SHORT = 2000, BATCH = 8 };
enum { BLOCK = 500 }; /* rounds of one kind, one after the other */

struct round {
	int n;
	pid_t rival;	      /* on the other CPU */
	volatile bool *brisk; /* is it wanted often? */
};

static struct attr attr_churn(void)
{
	struct attr a = attr_burst(WHOLE, SHORT, BATCH);

	a.jitter = SHORT / 2;
	return a;
}

/* The long period is over, the batch isn't. */
static void work_into_batch(int n)
{
	work(25000 + n * 140 % 14000);
}

static int churn_task(const struct round *r)
{
	struct attr a = attr_churn();
	int fd = perf_open(&a, 0, -1, -1);

	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_into_batch(r->n);
	close(fd);
	return 0;
}

static int churn_cpu(const struct round *r)
{
	struct attr a = attr_churn();
	int fd = perf_open(&a, -1, r->n / 8 % 2, -1);

	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_into_batch(r->n);
	close(fd);
	return 0;
}

/* Samples are written until the last reference, the ring's, goes. */
static int churn_ring(const struct round *r)
{
	struct attr a = attr_churn();
	int fd = perf_open(&a, 0, -1, -1);

	if (fd < 0)
		return fd;
	void *ring = mmap(NULL, RING_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_into_batch(r->n);
	close(fd);
	work_into_batch(r->n + 1);
	if (ring == MAP_FAILED)
		return -ENOMEM;
	munmap(ring, RING_PAGES * PAGE);
	return 0;
}

/* A child in mid-batch of its own; every other time its parent's event goes first. */
static int churn_inherited(const struct round *r)
{
	struct attr a = attr_churn();

	a.perf.inherit = 1;
	int fd = perf_open(&a, 0, -1, -1);
	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	pid_t pid = r->n / 8 % 4 ? 0 : fork();
	if (r->n / 8 % 4 == 0 && !pid) {
		work_into_batch(r->n);
		_exit(0);
	}
	work_into_batch(r->n + 1);
	if (pid > 0 && r->n / 32 % 2)
		waitpid(pid, NULL, 0);
	close(fd);
	if (pid > 0 && !(r->n / 32 % 2))
		waitpid(pid, NULL, 0);
	return 0;
}

/* The leader goes first: its sibling, which has bursts too, stands alone then. */
static int churn_group(const struct round *r)
{
	struct attr a = attr_churn(), other = attr_churn();

	other.perf.disabled = 0;
	int fd = perf_open(&a, 0, -1, -1);
	if (fd < 0)
		return fd;
	int sibling = perf_open(&other, 0, -1, fd);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_into_batch(r->n);
	close(fd);
	work_into_batch(r->n + 1);
	close(sibling);
	return sibling < 0 ? sibling : 0;
}

static int churn_frequency(const struct round *r)
{
	struct attr a = attr_churn();
	u64 other = 500;

	a.perf.freq = 1;
	a.perf.sample_freq = 2000;
	int fd = perf_open(&a, 0, -1, -1);
	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_into_batch(r->n);
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &other);
	work_into_batch(r->n + 1);
	close(fd);
	return 0;
}

static int churn_clock(const struct round *r)
{
	struct attr a = attr_burst(40000, 10000, 2);

	a.perf.type = PERF_TYPE_SOFTWARE;
	a.perf.config = r->n / 8 % 2 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;
	a.perf.exclude_kernel = 0;
	int fd = perf_open(&a, 0, -1, -1);
	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work(20000 + r->n * 7 % 20000);
	close(fd);
	return 0;
}

/* Somebody else's, on the other CPU. */
static int churn_other(const struct round *r)
{
	struct attr a = attr_churn();
	int fd = perf_open(&a, r->rival, -1, -1);

	if (fd < 0)
		return fd;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_into_batch(r->n);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 1 + r->n / 8 % 5);
	work_into_batch(r->n + 1);
	close(fd);
	return 0;
}

/*
 * It sleeps now and then: QEMU executes one CPU after the other, and changes only slowly from one that never does.
 * What it executes counts on the other CPU as well, so it sleeps long where it is not wanted.
 */
static pid_t start_rival(const volatile bool *brisk)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin(1);
	for (;;) {
		work(5000);
		usleep(*brisk ? 500 : 20000);
	}
}

static bool run_churn(char *figures)
{
	static int (*const kinds[])(const struct round *) = {
		churn_task,  churn_cpu,	      churn_ring,  churn_inherited,
		churn_group, churn_frequency, churn_clock, churn_other,
	};
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	struct round r = { .brisk = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	int err = 0, kind = 0;

	if (r.brisk == MAP_FAILED)
		return failed(figures, "no memory");
	r.rival = start_rival(r.brisk);
	pin(0);
	for (; r.n < CYCLES && !err; r.n++) {
		kind = r.n / BLOCK % KINDS;
		*r.brisk = kinds[kind] == churn_other;
		err = kinds[kind](&r);
	}
	kill(r.rival, SIGKILL);
	waitpid(r.rival, NULL, 0);
	munmap((void *)r.brisk, PAGE);
	if (err)
		return failed(figures, "kind %d, cycle %d: %s", kind, r.n - 1, strerror(-err));
	return passed(figures,
		      "%d events opened and closed in mid-batch: of tasks, CPUs, children, groups, clocks ...", r.n);
}

const struct scenario churn_scenarios[] = {
	{ "churn", run_churn, WATCHED },
	{ 0 },
};
