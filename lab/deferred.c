/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's own data of samples in the kernel: read on its return to user space, once, and joined by a cookie.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "tls.h"

enum { PAGE = 4096, COOKIES_MAX = 20000, RECORD_TLS_USER = 23 };

struct visit {
	u64 cookie;
	u32 samples, records;
	u64 size, copied, word[TLS_WORDS]; /* of the record */
};

struct visits {
	bool good;
	size_t n, samples, records;
	size_t without; /* samples that have neither bytes nor a cookie */
	size_t at_once; /* samples that have their bytes */
	struct visit v[COOKIES_MAX];
};

static struct visit *visit_of(struct visits *t, u64 cookie)
{
	/* One task: the last ones are those that are still open. */
	for (size_t i = t->n; i-- > 0 && i + 4 > t->n;)
		if (t->v[i].cookie == cookie)
			return &t->v[i];
	if (t->n == COOKIES_MAX)
		return NULL;
	t->v[t->n] = (struct visit){ .cookie = cookie };
	return &t->v[t->n++];
}

static void add_sample(struct visits *t, const u64 *record, size_t words)
{
	size_t at = 6, cookie = at + (record[at] ? 2 + record[at] / 8 : 1);

	t->samples++;
	t->good &= cookie + 1 == words;
	if (cookie >= words)
		return;
	t->at_once += record[at] && !record[cookie];
	t->without += !record[at] && !record[cookie];
	if (record[cookie]) {
		struct visit *v = visit_of(t, record[cookie]);

		if (v)
			v->samples++;
		t->good &= v != NULL;
	}
}

static void add_record(struct visits *t, const u64 *record, size_t words)
{
	struct visit *v = visit_of(t, record[1]);

	t->records++;
	t->good &= v && words == 3 + (record[2] ? 1 + record[2] / 8 : 0);
	if (!v)
		return;
	v->records++;
	v->size = record[2];
	v->copied = v->size ? record[3 + v->size / 8] : 0;
	for (size_t i = 0; i < TLS_WORDS && i < v->size / 8; i++)
		v->word[i] = record[3 + i];
}

static void read_visits(const struct event *e, struct visits *t)
{
	static u64 record[8192];

	memset(t, 0, offsetof(struct visits, v));
	t->good = !event_full(e);
	for (u64 at = e->ring->data_tail, head = __atomic_load_n(&e->ring->data_head, __ATOMIC_ACQUIRE); at < head;) {
		size_t size = event_record(e, at, record);
		u32 type = (u32)record[0];

		t->good &= type != PERF_RECORD_LOST && size && size % 8 == 0;
		if (!size)
			break;
		if (type == PERF_RECORD_SAMPLE)
			add_sample(t, record, size / 8);
		if (type == RECORD_TLS_USER)
			add_record(t, record, size / 8);
		at += size;
	}
}

static struct attr attr_kernel(const void *variable, u64 period, u32 flags)
{
	struct attr a = attr_tls(period, flags);

	a.perf.exclude_kernel = 0;
	a.perf.exclude_user = 1;
	a.tls_offset = (const char *)variable - (const char *)__builtin_thread_pointer();
	return a;
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Each is long enough for some samples, of a period that leaves time for more than taking them. */
enum { PERIOD = 20000, BLOCK = 256 << 10 };

void system_calls(int n)
{
	static char block[BLOCK];
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < n; i++)
		if (read(fd, block, BLOCK) != BLOCK)
			break;
	close(fd);
}

/* -> samples of so many calls, with a period so many times as long */
static size_t samples_of(u32 times)
{
	struct attr a = attr_kernel(activity, (u64)PERIOD * times, TLS_DEFER);
	static struct visits t;
	struct event e;

	if (event_open(&e, &a, 0, -1))
		return 0;
	event_enable(&e);
	system_calls((int)times);
	event_disable(&e);
	read_visits(&e, &t);
	event_close(&e);
	return t.samples;
}

/*
 * A sample counts what the kernel does for it. If that is about a period, as with a kernel that watches itself, hardly
 * anything else is done until the ring is full. -> how many times as long periods and calls have to be, so that being
 * longer makes no difference
 */
static u32 slowness(void)
{
	u32 times = 1;

	for (size_t n = samples_of(1), longer; times < 64; times *= 2, n = longer) {
		longer = samples_of(2 * times);
		if (n <= longer + longer / 2)
			break;
	}
	return times;
}

/* ---- the right bytes, once */

/* All but the very last, which disabling the event may have cut off, have their record, and one alone. */
static size_t unanswered(const struct visits *t)
{
	size_t bad = 0;

	for (size_t i = 0; i + 1 < t->n; i++)
		bad += t->v[i].records != 1 || !t->v[i].samples;
	return bad;
}

static bool run_deferred(char *figures)
{
	enum { VALUES = 200 };
	static struct visits t;
	size_t wrong = 0, seen = 0;
	struct event e;
	u64 last = 0;

	pin(0);
	u32 times = slowness();
	struct attr a = attr_kernel(activity, (u64)PERIOD * times, TLS_DEFER);
	activity_fill(activity, 0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	event_enable(&e);
	for (u64 i = 1; i <= VALUES; i++) {
		*(volatile u64 *)activity = i;
		system_calls((int)times);
	}
	event_disable(&e);
	read_visits(&e, &t);
	event_close(&e);
	for (size_t i = 0; i < t.n; i++) {
		struct visit *v = &t.v[i];
		bool right = v->size == sizeof(v->word) && v->copied == v->size && v->word[0] <= VALUES &&
			     v->word[0] >= last && v->word[7] == 7;

		if (!v->records)
			continue;
		wrong += !right;
		seen += v->word[0] != last;
		last = v->word[0];
	}
	size_t open = unanswered(&t);
	/* A period of the kernel's may end with the very instruction that leaves it. */
	snprintf(figures, FIGURES_MAX,
		 "%zu samples in the kernel, %zu records, each of %zu of 200 values; %zu wrong, %zu cookies not "
		 "answered once, %zu without; %zu read at once, on the way out%s",
		 t.samples, t.records, seen, wrong, open, t.without, t.at_once,
		 t.good ? "" : "; records lost or bent");
	return t.good && !wrong && !open && !t.without && t.at_once < 20 && seen == VALUES && t.samples > t.records;
}

/* ---- memory that is not in place */

/* -> records that have all bytes, with `first` at their beginning; -1: not so */
static long brought_in(u64 *page, u32 first, bool user)
{
	struct attr a = attr_kernel(&activity_record, user ? 700 : PERIOD, TLS_DEREF | TLS_DEFER);
	static struct visits t;
	struct event e;
	long n = 0;

	if (user) {
		a.perf.exclude_kernel = 1;
		a.perf.exclude_user = 0;
	}
	pin(0);
	activity_record = page;
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return -1;
	event_enable(&e);
	if (user)
		work(70000);
	else
		system_calls(50);
	event_disable(&e);
	activity_record = NULL;
	read_visits(&e, &t);
	event_close(&e);
	if (!t.good || unanswered(&t) || (user && t.at_once + 3 < t.samples))
		return -1;
	for (size_t i = 0; i < t.n; i++) {
		if (!t.v[i].records)
			continue;
		if (t.v[i].copied != sizeof(t.v[i].word) || (u32)t.v[i].word[0] != first)
			return -1;
		n++;
	}
	return n;
}

static bool run_absent(char *figures)
{
	u64 *pages = activity_page();
	int fd = open("/init", O_RDONLY);
	u64 *file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	long got[3];

	close(fd);
	activity_fill(pages, 70);
	madvise(pages, 2 * PAGE, MADV_DONTNEED);
	got[0] = brought_in(pages, 0, false);
	got[1] = brought_in(file, 0x464c457f, false);
	madvise(pages, 2 * PAGE, MADV_DONTNEED);
	got[2] = brought_in(pages, 0, true);
	munmap(pages, 2 * PAGE);
	munmap(file, PAGE);
	snprintf(figures, FIGURES_MAX,
		 "records with all bytes: %ld of an absent page, %ld of a file not read yet; %ld of samples in user "
		 "mode",
		 got[0], got[1], got[2]);
	return got[0] > 0 && got[1] > 0 && got[2] > 0 && got[2] < 4;
}

/* ---- exec: what the samples before are about is gone */

static void before_exec(void)
{
	system_calls(20);
}

static bool run_exec(char *figures)
{
	pin(0);
	struct attr a = attr_kernel(activity, (u64)PERIOD * slowness(), TLS_DEFER);
	static struct visits t;
	size_t empty = 0, wrong = 0, before = 0, after = 0;
	struct event e;
	int err = sample_exec(&e, &a, before_exec);

	if (err)
		return failed(figures, "open: %s", strerror(-err));
	read_visits(&e, &t);
	event_close(&e);
	for (size_t i = 0; i < t.n; i++) {
		struct visit *v = &t.v[i];

		empty += v->records && !v->size;
		before += v->size && v->word[0] == 1000;
		after += v->size && v->word[0] == 2000;
		wrong += v->records > 1;
		/* The old program's words must not come after the new one's. */
		wrong += after && v->size && v->word[0] == 1000;
	}
	snprintf(figures, FIGURES_MAX,
		 "%zu samples; records: %zu of the old program, %zu of the new one, %zu empty; %zu wrong", t.samples,
		 before, after, empty, wrong);
	return t.good && before && empty && after && !wrong;
}

/* ---- what it costs */

/* Runs and tells how long that took, in ns, and how many samples or records there were. */
static u64 timed(const struct attr *a, bool user, size_t *n)
{
	static struct visits t;
	struct event e;

	pin(0);
	if (event_open(&e, a, 0, -1))
		return 0;
	event_enable(&e);
	u64 begin = now();
	if (user)
		work(2000000);
	else
		system_calls(200);
	u64 end = now();
	event_disable(&e);
	event_drain(&e);
	*n = e.n;
	if (a->tls_flags & TLS_DEFER) {
		e.ring->data_tail = 0;
		read_visits(&e, &t);
		*n = t.records;
	}
	event_close(&e);
	return end - begin;
}

static bool run_cost(char *figures)
{
	struct attr user = attr_tls(2000, 0), kernel = attr_kernel(activity, PERIOD, TLS_DEFER),
		    bare[2] = { user, kernel };
	size_t n[4];
	u64 ns[4];

	for (int i = 0; i < 2; i++) {
		bare[i].perf.sample_type &= ~(u64)TLS_USER;
		bare[i].tls_size = bare[i].tls_flags = bare[i].tls_offset = 0;
	}
	activity_fill(activity, 1);
	user.tls_offset = kernel.tls_offset;
	/* Whatever else the kernel does meanwhile makes it longer. */
	for (int i = 0; i < 12; i++) {
		static const bool in_user[4] = { true, true, false, false };
		const struct attr *a[4] = { &bare[0], &user, &bare[1], &kernel };
		u64 took = timed(a[i % 4], in_user[i % 4], &n[i % 4]);

		if (!took || !n[i % 4])
			return failed(figures, "no samples");
		ns[i % 4] = i < 4 || took < ns[i % 4] ? took : ns[i % 4];
	}
	/* QEMU's clock goes on by 2 ns with each instruction. */
	double at_once = ((double)ns[1] - (double)ns[0]) / 2 / n[1],
	       record = ((double)ns[3] - (double)ns[2]) / 2 / n[3];
	snprintf(figures, FIGURES_MAX,
		 "64 bytes, instructions: %.0f at once, in each of %zu samples; %.0f for each of %zu deferred records",
		 at_once, n[1], record, n[3]);
	return at_once > 0 && record > at_once;
}

const struct scenario deferred_scenarios[] = {
	{ "tls-deferred", run_deferred, PATCHED },
	{ "tls-deferred-absent", run_absent, PATCHED },
	{ "tls-deferred-exec", run_exec, PATCHED },
	{ "tls-deferred-cost", run_cost, PATCHED | COUNTS | ALONE },
	{ 0 },
};
