/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's own data in its samples: the right bytes of the right thread, and none where there is none.
 *
 * Where words are expected, they are counted up from the first one; a pointer leads to words of the same form.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "tls.h"

enum { PAGE = 4096 };

__thread u64 activity[TLS_WORDS] __attribute__((aligned(64)));
__thread u64 *activity_record;

u64 *activity_page(void)
{
	void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void activity_fill(u64 *to, u64 first)
{
	for (u64 i = 0; i < TLS_WORDS; i++)
		to[i] = first + i;
	__asm__ volatile("" : : : "memory");
}

static struct attr attr_at(const void *variable, u32 flags)
{
	struct attr a = attr_tls(700, flags);

	a.tls_offset = (const char *)variable - (const char *)__builtin_thread_pointer();
	return a;
}

struct attr attr_tls(u64 period, u32 flags)
{
	struct attr a = attr_cycles(period);

	a.perf.size = sizeof(a);
	a.perf.sample_type |= TLS_USER;
	a.tls_size = TLS_WORDS * sizeof(u64);
	a.tls_flags = flags;
	return a;
}

/* ---- what samples have */

static bool add_dump(struct tls_samples *t, const u64 *record, size_t words)
{
	u32 mode = record[0] >> 32 & PERF_RECORD_MISC_CPUMODE_MASK;
	struct tls_sample s = { .pid = record[1], .tid = record[1] >> 32, .user = mode == PERF_RECORD_MISC_USER };
	size_t at = 6;

	if (t->with_stack)
		at += record[at] ? 2 + record[at] / 8 : 1;
	if (at >= words || at + (record[at] ? 2 + record[at] / 8 : 1) != words)
		return false;
	s.size = record[at++];
	for (size_t i = 0; i < TLS_WORDS && i < s.size / 8; i++)
		s.word[i] = record[at + i];
	if (s.size)
		s.copied = record[at + s.size / 8];
	if (t->n < TLS_SAMPLES_MAX)
		t->v[t->n++] = s;
	return true;
}

bool tls_read(const struct event *e, struct tls_samples *t)
{
	static u64 record[8192];
	bool good = true;

	t->n = 0;
	for (u64 at = e->ring->data_tail, head = __atomic_load_n(&e->ring->data_head, __ATOMIC_ACQUIRE); at < head;) {
		size_t size = event_record(e, at, record);
		u32 type = (u32)record[0];

		good &= type != PERF_RECORD_LOST && size && size % 8 == 0;
		if (type == PERF_RECORD_SAMPLE)
			good &= add_dump(t, record, size / 8);
		t->largest = size > t->largest ? size : t->largest;
		if (!size)
			break;
		at += size;
	}
	return good;
}

/* Runs so many cycles on CPU 0 and reads the samples. -> 0, or -errno; -EPROTO: some were not as they should be. */
static int run_tls(struct tls_samples *t, const struct attr *a, u64 cycles)
{
	struct event e;

	pin(0);
	int err = event_open(&e, a, 0, -1);
	if (err)
		return err;
	event_enable(&e);
	work(cycles);
	event_disable(&e);
	bool good = tls_read(&e, t);
	event_close(&e);
	return good ? 0 : -EPROTO;
}

bool tls_sample_has(const struct tls_sample *s, u64 first)
{
	bool same = s->size == sizeof(s->word) && s->copied == s->size;

	for (u64 i = 0; i < TLS_WORDS; i++)
		same &= s->word[i] == first + i;
	return same;
}

struct tls_count tls_count(const struct tls_samples *t, u64 first)
{
	struct tls_count c = { .all = t->n };

	for (size_t i = 0; i < t->n; i++) {
		c.right += tls_sample_has(&t->v[i], first);
		c.none += !t->v[i].size;
		c.unread += t->v[i].size && !t->v[i].copied;
	}
	return c;
}

/* ---- right bytes */

/* Each of 300 values is there for 3,000 cycles: four or five samples, in turn. */
static bool run_main(char *figures)
{
	struct attr a = attr_at(activity, 0);
	static struct tls_samples t;
	struct event e;
	u32 seen[301] = { 0 };
	size_t wrong = 0, seldom = 0, often = 0;

	pin(0);
	activity_fill(activity, 0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	event_enable(&e);
	for (u64 i = 1; i <= 300; i++) {
		*(volatile u64 *)activity = i;
		work(3000);
	}
	event_disable(&e);
	bool good = tls_read(&e, &t);
	event_close(&e);
	for (size_t i = 0; i < t.n; i++) {
		struct tls_sample s = t.v[i];
		u64 value = s.word[0];

		s.word[0] = 0;
		bool right = tls_sample_has(&s, 0) && value <= 300 && (!i || value >= t.v[i - 1].word[0]);
		wrong += !right;
		seen[right ? value : 0]++;
	}
	for (int i = 2; i < 300; i++)
		seldom += seen[i]<4, often += seen[i]> 5;
	/* While the other CPU runs, QEMU's cycles go on here, too: once or twice a value is there for longer. */
	if (!good || wrong || seldom || often > 5)
		return failed(figures, "%zu of %zu samples wrong, %zu values not seen as often as they should be",
			      wrong, t.n, seldom + often);
	return passed(figures, "%zu samples, each of 300 values in 4 or 5 of them (%zu in more), in turn", t.n, often);
}

static bool run_pointer(char *figures)
{
	struct attr a = attr_at(&activity_record, TLS_DEREF);
	static struct tls_samples t;
	u64 *page = activity_page();
	u64 *const nowhere[] = { NULL, (u64 *)-4096l, (u64 *)(1l << 55), (u64 *)((1l << 39) - 8) };

	activity_fill(page, 500);
	activity_record = page;
	int err = run_tls(&t, &a, 700000);
	struct tls_count c = tls_count(&t, 500);
	if (err || c.right != c.all || c.all < 900)
		return failed(figures, "%d; %zu of %zu right", err, c.right, c.all);
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		struct tls_count none;

		activity_record = nowhere[i];
		err = run_tls(&t, &a, 70000);
		none = tls_count(&t, 0);
		if (err || none.none + none.unread != none.all || !none.all)
			return failed(figures, "pointer %p: %d, %zu of %zu without bytes", (void *)nowhere[i], err,
				      none.none + none.unread, none.all);
	}
	activity_record = NULL;
	munmap(page, 2 * PAGE);
	return passed(figures, "%zu of %zu samples right; NULL and 3 pointers to nowhere: nothing", c.right, c.all);
}

static void *threaded(void *first)
{
	activity_fill(activity, (u64)(size_t)first);
	for (int i = 0; i < 100; i++) {
		work(20000);
		sched_yield();
	}
	return NULL;
}

/* An inherited event for a process of five threads, which take turns; each one's words begin with a number of its own.
 */
static bool run_threads(char *figures)
{
	struct attr a = attr_at(activity, 0);
	static struct tls_samples t;
	struct {
		u32 tid;
		u64 first;
		size_t n;
	} seen[8] = { 0 };
	size_t n_seen = 0, wrong = 0, kernel = 0;
	pthread_t threads[4];
	struct event e;

	pin(0);
	a.perf.inherit = 1;
	activity_fill(activity, 10000);
	int err = event_open(&e, &a, 0, 0);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	event_enable(&e);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, threaded, (void *)(20000 + 10000 * i));
	threaded((void *)10000);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	event_disable(&e);
	bool good = tls_read(&e, &t);
	event_close(&e);
	for (size_t i = 0; i < t.n; i++) {
		const struct tls_sample *s = &t.v[i];
		size_t k = 0;

		/* A period may end with the very instruction that enters the kernel. */
		if (!s->user) {
			kernel++;
			wrong += s->size != 0;
			continue;
		}
		while (k < n_seen && seen[k].tid != s->tid)
			k++;
		if (k == n_seen && k < 8)
			seen[n_seen++].tid = s->tid;
		/* A thread's first samples are from before it has set them all. */
		if (!seen[k & 7].first && s->word[0] % 10000 == 0 && tls_sample_has(s, s->word[0]))
			seen[k & 7].first = s->word[0];
		wrong += seen[k & 7].first && !tls_sample_has(s, seen[k & 7].first);
		seen[k & 7].n += seen[k & 7].first != 0;
	}
	size_t least = n_seen == 5 ? ~(size_t)0 : 0;
	for (size_t k = 0; k < n_seen; k++)
		least = seen[k].n < least ? seen[k].n : least;
	if (!good || wrong || least < 1000 || kernel > 100)
		return failed(figures, "%zu threads, %zu samples wrong of %zu, %zu of one thread", n_seen, wrong, t.n,
			      least);
	return passed(figures,
		      "5 threads in turn, %zu samples, %zu of a thread at least: none has another one's; %zu on the "
		      "way into the kernel: empty",
		      t.n, least, kernel);
}

/* ---- all tasks of a CPU, the kernel's own too */

static pid_t start_yielder(int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	activity_fill(activity, 1000 * (u64)getpid());
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;) {
		work(5000);
		sched_yield();
	}
}

static bool run_cpu(char *figures)
{
	struct attr a = attr_at(activity, 0);
	static struct tls_samples t;
	size_t right = 0, wrong = 0, kernel = 0, others = 0, others_none = 0;
	pid_t pids[3];
	int ends[2];
	char byte;
	struct event e;

	a.perf.exclude_kernel = 0;
	/* Not cycles, which an idle CPU doesn't have. */
	a.perf.type = PERF_TYPE_SOFTWARE;
	a.perf.config = PERF_COUNT_SW_CPU_CLOCK;
	a.perf.sample_period = 50000;
	if (pipe(ends))
		return failed(figures, "pipe: %s", strerror(errno));
	pin(1);
	for (int i = 0; i < 3; i++)
		pids[i] = start_yielder(ends[1]);
	pin(0);
	for (int i = 0; i < 3; i++)
		if (read(ends[0], &byte, 1) != 1)
			return failed(figures, "no children");
	int err = event_open(&e, &a, -1, 1);
	if (!err) {
		event_enable(&e);
		usleep(40000); /* work here would keep QEMU from running the other CPU */
	}
	stop_tasks(pids, 3);
	if (!err) {
		usleep(5000); /* nobody is left */
		event_disable(&e);
		if (!tls_read(&e, &t))
			err = -EPROTO;
		event_close(&e);
	}
	close(ends[0]);
	close(ends[1]);
	if (err)
		return failed(figures, "%s", strerror(-err));
	for (size_t i = 0; i < t.n; i++) {
		const struct tls_sample *s = &t.v[i];
		bool ours = s->pid == (u32)pids[0] || s->pid == (u32)pids[1] || s->pid == (u32)pids[2];

		others += !ours;
		others_none += !ours && !s->size;
		/* In the kernel memory and thread pointer may be another task's. */
		kernel += ours && !s->user && !s->size;
		right += ours && s->user && tls_sample_has(s, 1000 * (u64)s->pid);
	}
	wrong = t.n - others - kernel - right;
	snprintf(
		figures, FIGURES_MAX,
		"three processes: %zu samples in user mode, right; %zu in the kernel, empty; %zu not so; the kernel's "
		"own: %zu of %zu empty",
		right, kernel, wrong, others_none, others);
	return right > 300 && !wrong && kernel && others > 30 && others_none == others;
}

/* ---- exec */

/* The event follows the program over its exec: the same offset is another variable then. Here it is the same one
 * again. */
int sample_exec(struct event *e, const struct attr *a, void (*before)(void))
{
	char byte = 0;
	int ends[2], err;

	if (pipe(ends))
		return -errno;
	pin(0);
	pid_t pid = fork();
	if (!pid) {
		activity_fill(activity, 1000);
		if (read(ends[0], &byte, 1) == 1)
			before();
		execl("/init", "init", "tls", "2000", NULL);
		_exit(1);
	}
	err = event_open(e, a, pid, -1);
	if (!err)
		event_enable(e);
	if (write(ends[1], &byte, 1) != 1)
		err = -EIO;
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	return err;
}

static void before_exec(void)
{
	work(700000);
}

static bool run_exec(char *figures)
{
	struct attr a = attr_at(activity, 0);
	static struct tls_samples t;
	size_t n[3] = { 0 }, unset = 0;
	struct event e;
	int err = sample_exec(&e, &a, before_exec);

	if (err)
		return failed(figures, "open: %s", strerror(-err));
	bool good = tls_read(&e, &t);
	event_close(&e);
	for (size_t i = 0; i < t.n; i++) {
		n[1] += tls_sample_has(&t.v[i], 1000);
		n[2] += tls_sample_has(&t.v[i], 2000);
		unset += !t.v[i].size;
	}
	n[0] = t.n - n[1] - n[2] - unset;
	snprintf(figures, FIGURES_MAX,
		 "%zu samples before, %zu after; of those between %zu have no thread pointer yet, %zu no value", n[1],
		 n[2], unset, n[0]);
	return good && n[1] > 900 && n[2] > 900 && unset && unset + n[0] < 200;
}

int tls_program(u64 first)
{
	activity_fill(activity, first);
	work(700000);
	system_calls(20);
	return 0;
}

/* ---- nothing there */

/* What the pointer leads to isn't there. -> bytes copied, in each of the samples the same; -1: not so, or a fault
 * happened. */
static long copied_from(u64 *record, u64 first, size_t *n)
{
	struct attr a = attr_at(&activity_record, TLS_DEREF);
	static struct tls_samples t;
	struct rusage before, after;
	long copied = -1;

	activity_record = record;
	getrusage(RUSAGE_SELF, &before);
	/* The ring's pages are the kernel's; reading them and the work is all that could fault here. */
	int err = run_tls(&t, &a, 70000);
	getrusage(RUSAGE_SELF, &after);
	activity_record = NULL;
	*n = t.n;
	for (size_t i = 0; i < t.n && !err; i++) {
		if (i && copied != (long)t.v[i].copied)
			return -1;
		copied = t.v[i].copied;
		u64 want[TLS_WORDS];
		activity_fill(want, first);
		if (memcmp(t.v[i].word, want, (size_t)copied))
			return -1;
	}
	return after.ru_majflt == before.ru_majflt ? copied : -1;
}

static bool run_absent(char *figures)
{
	u64 *pages = activity_page(), *gone = (u64 *)0x20000, *barred = activity_page();
	int fd = open("/init", O_RDONLY);
	u64 *file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	size_t n[5];
	long got[5];

	close(fd);
	activity_fill(pages + PAGE / 8 - 4, 70); /* runs over into the second page */
	madvise(pages + PAGE / 8, PAGE, MADV_DONTNEED);
	activity_fill(barred, 70);
	mprotect(barred, 2 * PAGE, PROT_NONE);
	got[0] = copied_from(pages + PAGE / 8 - 4, 70, &n[0]);
	got[1] = copied_from(pages + PAGE / 8, 0, &n[1]);
	got[2] = copied_from(gone, 0, &n[2]);
	got[3] = copied_from(barred, 0, &n[3]);
	got[4] = copied_from(file, 0, &n[4]);
	munmap(pages, 2 * PAGE);
	munmap(barred, 2 * PAGE);
	munmap(file, PAGE);
	snprintf(figures, FIGURES_MAX,
		 "second page absent: %ld bytes; absent: %ld; unmapped: %ld; PROT_NONE: %ld; file not read yet: %ld "
		 "(%zu samples)",
		 got[0], got[1], got[2], got[3], got[4], n[0] + n[1] + n[2] + n[3] + n[4]);
	/* Of the 32 bytes that are there as many as the architecture's copy manages. */
	return got[0] > 0 && got[0] <= 32 && !got[1] && !got[2] && !got[3] && !got[4] && n[0] && n[1] && n[2] &&
	       n[3] && n[4];
}

/* As much of everything as can be asked for. */
static bool run_limits(char *figures)
{
	struct attr a = attr_at(activity, 0);
	static struct tls_samples t = { .with_stack = true };

	activity_fill(activity, 40);
	a.tls_size = PAGE;
	a.tls_offset -= PAGE - (int)sizeof(activity);
	a.perf.sample_period = 20000;
	a.perf.sample_type |= PERF_SAMPLE_STACK_USER;
	a.perf.sample_stack_user = 65528;
	int err = run_tls(&t, &a, 1000000);
	size_t whole = 0;
	for (size_t i = 0; i < t.n; i++)
		whole += t.v[i].size == PAGE;
	snprintf(figures, FIGURES_MAX,
		 "4096 bytes and a stack of 65528: %zu records of at most %zu bytes, %zu with all 4096", t.n,
		 t.largest, whole);
	return !err && t.n > 40 && whole == t.n && t.largest <= 65528 && t.largest > 60000;
}

/* ---- what can't be had */

static bool run_refused(char *figures)
{
	static const struct {
		u64 sample_type;
		int offset;
		u32 size, flags, want;
	} runs[] = {
		{ TLS_USER, 0, 64, 0, 0 },
		{ TLS_USER, -8, 4096, TLS_DEREF, 0 },
		{ TLS_USER, 0, 0, 0, EINVAL },
		{ TLS_USER, 0, 12, 0, EINVAL },
		{ TLS_USER, 0, 4104, 0, EINVAL },
		{ TLS_USER, 0, 65528, 0, EINVAL },
		{ TLS_USER, 0, 64, 1 << 15, EINVAL },
		{ 0, 0, 64, 0, EINVAL },
		{ 0, 16, 0, 0, EINVAL },
		{ 0, 0, 0, TLS_DEREF, EINVAL },
		{ TLS_USER << 1, 0, 0, 0, EINVAL },
	};
	size_t n = sizeof(runs) / sizeof(*runs);

	for (size_t i = 0; i < n; i++) {
		struct attr a = attr_cycles(1000);

		a.perf.size = sizeof(a);
		a.perf.sample_type |= runs[i].sample_type;
		a.tls_offset = runs[i].offset;
		a.tls_size = runs[i].size;
		a.tls_flags = runs[i].flags;
		int fd = perf_open(&a, 0, -1, -1);
		u32 got = fd < 0 ? -fd : 0;
		if (fd >= 0)
			close(fd);
		if (got != runs[i].want)
			return failed(figures, "combination %zu: %s instead of %s", i, strerror(got),
				      strerror(runs[i].want));
	}
	return passed(figures, "%zu combinations as documented", n);
}

static int open_error(const struct attr *a, pid_t pid, int cpu)
{
	int fd = perf_open(a, pid, cpu, -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

/* As somebody without rights: four things that may be refused. */
static void errors_without_rights(struct attr a, int errors[4])
{
	errors[0] = open_error(&a, 0, -1);
	errors[1] = open_error(&a, 1, -1); /* root's process */
	errors[2] = open_error(&a, -1, 0); /* everybody's */
	a.perf.exclude_kernel = 0;
	errors[3] = open_error(&a, 0, -1);
}

static bool run_rights(char *figures)
{
	struct attr stack = attr_cycles(1000);
	int errors[2][4], status = 1;

	stack.perf.sample_type |= PERF_SAMPLE_STACK_USER;
	stack.perf.sample_stack_user = 64;
	set_sysctl("perf_event_paranoid", "2");
	pid_t pid = fork();
	if (!pid) {
		if (setuid(65534))
			_exit(2);
		errors_without_rights(attr_at(activity, 0), errors[0]);
		errors_without_rights(stack, errors[1]);
		const int *got = errors[0];
		_exit(memcmp(errors[0], errors[1], sizeof(errors[0])) || got[0] || got[1] != EACCES ||
		      got[2] != EACCES || got[3] != EACCES);
	}
	waitpid(pid, &status, 0);
	set_sysctl("perf_event_paranoid", "-1");
	if (status)
		return failed(figures, "not what PERF_SAMPLE_STACK_USER gets");
	return passed(figures,
		      "own code: yes; with the kernel, root's process, the CPU: EACCES, as PERF_SAMPLE_STACK_USER");
}

/* A kernel without the patches. */
static bool run_unknown(char *figures)
{
	struct attr a = attr_at(activity, 0);
	int large = open_error(&a, 0, -1);

	a.perf.size = PERF_ATTR_SIZE_VER6;
	int bit = open_error(&a, 0, -1);
	if (large != E2BIG || bit != EINVAL)
		return failed(figures, "%s and %s", strerror(large), strerror(bit));
	return passed(figures, "E2BIG; the bit of sample_type alone: EINVAL");
}

const struct scenario tls_scenarios[] = {
	{ "tls-unknown", run_unknown, UNPATCHED },
	{ "tls-refused", run_refused, PATCHED },
	{ "tls-rights", run_rights, PATCHED },
	{ "tls-main", run_main, PATCHED | COUNTS },
	{ "tls-threads", run_threads, PATCHED },
	{ "tls-cpu", run_cpu, PATCHED | COUNTS },
	{ "tls-exec", run_exec, PATCHED | COUNTS },
	{ "tls-pointer", run_pointer, PATCHED },
	{ "tls-absent", run_absent, PATCHED },
	{ "tls-limits", run_limits, PATCHED },
	{ 0 },
};
