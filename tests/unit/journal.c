/* SPDX-License-Identifier: Apache-2.0 */
/* Journals of activities: rings that are written while they are read, run over, are damaged or false; and the
 * directory that they are in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first. */
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "notes.h"
#include "own_dir.h"
#include "record/journal_ring.h"
#include "record/journals.h"
#include "state/timelines.h"

#define SLOTS 64u
#define SIZE (JOURNAL_SLOTS_AT + SLOTS * JOURNAL_SLOT)
#define IMAGE 77

/* ---- A writer, in a file ---- */

struct writing {
	int fd;
	u8 *p;
	u64 next;
};

static u64 inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static void put_head(u8 *p, const char *magic, u32 first, u32 second, u32 pid, u64 image)
{
	const u64 places[] = { image, inode("/proc/self/ns/pid"), inode("/proc/self/ns/time") };

	memcpy(p, magic, 8);
	memcpy(p + 8, &first, 4);
	memcpy(p + 12, &second, 4);
	memcpy(p + 16, &pid, 4);
	memcpy(p + 24, places, sizeof(places));
}

static struct writing begin_in(int fd, u32 pid)
{
	struct writing w = { .fd = fd };

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	w.p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(w.p, MAP_FAILED);
	put_head(w.p, "RETJRNL1", SLOTS, JOURNAL_SLOT, pid, IMAGE);
	return w;
}

static struct writing begin(void)
{
	return begin_in(memfd_create("journal", MFD_CLOEXEC), 10);
}

/* And a reader of it. */
static struct writing begin_both(struct journal_ring *r)
{
	struct writing w = begin();

	assert_true(journal_ring_begin(r, w.fd));
	return w;
}

static void end(struct writing *w)
{
	munmap(w->p, SIZE);
	close(w->fd);
}

static void take_number(struct writing *w)
{
	w->next++;
	memcpy(w->p + JOURNAL_NEXT_AT, &w->next, sizeof(w->next));
}

/* The entry n, with the activity `id`, 0 being none. */
static u8 *fill(struct writing *w, u64 n, u32 tid, u64 time, u8 id)
{
	u8 *slot = w->p + JOURNAL_SLOTS_AT + n % SLOTS * JOURNAL_SLOT;
	u32 number = (u32)n + 1;

	memset(slot, 0, JOURNAL_SLOT);
	memcpy(slot + 4, &tid, 4);
	memcpy(slot + 8, &time, 8);
	slot[16] = slot[32] = id;
	slot[40] = id != 0;
	memcpy(slot, &number, 4);
	return slot;
}

static void say(struct writing *w, u32 tid, u64 time, u8 id)
{
	take_number(w);
	fill(w, w->next - 1, tid, time, id);
}

/* ---- A reader, by a clock of its own ---- */

static u64 clock_now; /* what the clock says */

static u64 test_clock(void)
{
	return clock_now;
}

struct said {
	u32 tid;
	u64 time;
	int id; /* -1: not known */
};

struct heard {
	struct said v[256];
	u32 n;
};

static void hear(void *ctx, const struct journal_ring *r, const struct journal_entry *e, u64 time)
{
	struct heard *h = ctx;

	assert_true(h->n < ARRAY_LEN(h->v));
	if (e)
		assert_true(e->size == 0 || e->size >= ACTIVITY_FIXED);
	h->v[h->n++] = (struct said){ e ? e->tid : r->last.tid, time, e ? (e->size ? e->record[0] : 0) : -1 };
}

static void read_at_time(struct journal_ring *r, u64 now, struct heard *h)
{
	clock_now = now;
	h->n = 0;
	assert_true(journal_ring_read(r, test_clock, hear, h));
}

static void heard_is(const struct heard *h, u32 i, u32 tid, u64 time, int id)
{
	assert_true(i < h->n);
	assert_int_equal(h->v[i].tid, tid);
	assert_int_equal(h->v[i].time, time);
	assert_int_equal(h->v[i].id, id);
}

static void test_in_order(void **state)
{
	struct journal_ring r;
	struct writing w = begin_both(&r);
	struct heard h;

	(void)state;
	assert_int_equal(r.head.pid, 10);
	assert_int_equal(r.head.image, IMAGE);
	read_at_time(&r, 5, &h);
	assert_int_equal(h.n, 0);
	say(&w, 11, 6, 1);
	say(&w, 11, 7, 1); /* the same again says nothing */
	say(&w, 11, 8, 0);
	say(&w, 12, 9, 2); /* another thread has taken it */
	read_at_time(&r, 20, &h);
	assert_int_equal(h.n, 3);
	heard_is(&h, 0, 11, 6, 1);
	heard_is(&h, 1, 11, 8, 0);
	heard_is(&h, 2, 12, 9, 2);
	/* Many times round, in portions of all sizes. */
	for (u32 n = 1; n <= SLOTS; n++) {
		for (u32 i = 0; i < n; i++)
			say(&w, 12, 1000 * n + i, (u8)(1 + (n * SLOTS + i) % 200));
		read_at_time(&r, 1000 * (n + 1), &h);
		assert_int_equal(h.n, n);
		for (u32 i = 0; i < n; i++)
			heard_is(&h, i, 12, 1000 * n + i, 1 + (n * SLOTS + i) % 200);
	}
	assert_int_equal(r.lost + r.refused, 0);
	end(&w);
}

/* An entry whose number was taken may be written later; what a signal handler wrote behind it waits for it. */
static void test_unwritten(void **state)
{
	struct journal_ring r;
	struct writing w = begin_both(&r);
	struct heard h;

	(void)state;
	say(&w, 11, 10, 1);
	take_number(&w);
	say(&w, 11, 12, 3);
	read_at_time(&r, 20, &h);
	assert_int_equal(h.n, 1);
	fill(&w, 1, 11, 11, 2);
	read_at_time(&r, 30, &h);
	assert_int_equal(h.n, 2);
	heard_is(&h, 0, 11, 11, 2);
	heard_is(&h, 1, 11, 12, 3);
	/* One that is never written is overwritten at last. */
	take_number(&w);
	read_at_time(&r, 40, &h);
	for (u32 i = 0; i < SLOTS; i++)
		say(&w, 11, 50 + i, 4);
	read_at_time(&r, 200, &h);
	assert_int_equal(h.n, 2);
	heard_is(&h, 0, 11, 30, -1); /* it may be of any time after 30: since then one was always missing */
	heard_is(&h, 1, 11, 50, 4);
	assert_int_equal(r.lost, 1);
	end(&w);
}

/* What a handler did between taking a number and the clock is of an earlier time than the entry before it. */
static void test_handler(void **state)
{
	struct journal_ring r;
	struct writing w = begin_both(&r);
	struct heard h;

	(void)state;
	say(&w, 11, 15, 1);
	say(&w, 11, 11, 2);
	say(&w, 11, 12, 1);
	say(&w, 0, 20, 3); /* makes no sense, and hides what came then */
	read_at_time(&r, 30, &h);
	assert_int_equal(h.n, 4);
	heard_is(&h, 3, 11, 15, -1); /* not before the last time of those that were told */
	end(&w);
}

/* From when on it is not known: when it was certain last that nothing more had been said. */
static void test_overwritten(void **state)
{
	struct journal_ring r;
	struct writing w = begin_both(&r);
	struct heard h;

	(void)state;
	say(&w, 11, 10, 1);
	read_at_time(&r, 100, &h);
	for (u32 i = 0; i < SLOTS + 5; i++)
		say(&w, 11, 200 + i, 2 + i % 2);
	read_at_time(&r, 300, &h);
	assert_int_equal(h.n, SLOTS + 1);
	heard_is(&h, 0, 11, 100, -1);
	heard_is(&h, 1, 11, 205, 3);
	assert_int_equal(r.lost, 5);
	/* Of a journal that is first seen then, nothing was known. */
	assert_true(journal_ring_begin(&r, w.fd));
	read_at_time(&r, 300, &h);
	heard_is(&h, 0, 0, 0, -1);
	heard_is(&h, 1, 11, 205, 3);
	/* What was there before is not read; what holds is. */
	assert_true(journal_ring_begin(&r, w.fd));
	journal_ring_skip(&r);
	read_at_time(&r, 300, &h);
	assert_int_equal(r.lost, 0);
	heard_is(&h, h.n - 1, 11, 200 + SLOTS + 4, 2);
	end(&w);
}

static void test_makes_no_sense(void **state)
{
	struct writing w = begin();
	struct journal_ring r;
	struct heard h;
	u64 far = 1ull << 60, back = 3;
	u8 *slot;

	(void)state;
	assert_true(journal_ring_begin(&r, w.fd));
	say(&w, 11, 10, 1);
	read_at_time(&r, 20, &h);
	say(&w, 11, 9999, 2); /* of the future */
	say(&w, 0, 30, 2);
	say(&w, 11, 0, 2);
	take_number(&w);
	slot = fill(&w, w.next - 1, 11, 31, 2);
	slot[40] = 7; /* neither valid nor not */
	take_number(&w);
	slot = fill(&w, w.next - 1, 11, 32, 2);
	slot[42] = 85; /* more attributes than there is room */
	read_at_time(&r, 40, &h);
	assert_int_equal(h.n, 1);
	heard_is(&h, 0, 11, 20, -1);
	assert_int_equal(r.refused, 5);
	slot[42] = 84;
	say(&w, 11, 41, 3);
	read_at_time(&r, 50, &h);
	heard_is(&h, 0, 11, 41, 3);
	/* A number that goes far ahead is a gap, one that goes back no ring. */
	memcpy(w.p + JOURNAL_NEXT_AT, &far, sizeof(far));
	read_at_time(&r, 60, &h);
	assert_int_equal(h.n, 1);
	heard_is(&h, 0, 11, 50, -1);
	assert_true(r.lost > 1ull << 59);
	memcpy(w.p + JOURNAL_NEXT_AT, &back, sizeof(back));
	assert_false(journal_ring_read(&r, test_clock, hear, &h));
	/* Nor is one that was cut off. */
	assert_true(journal_ring_begin(&r, w.fd));
	assert_int_equal(ftruncate(w.fd, JOURNAL_SLOTS_AT), 0);
	assert_false(journal_ring_read(&r, test_clock, hear, &h));
	assert_int_equal(ftruncate(w.fd, 40), 0);
	assert_false(journal_ring_begin(&r, w.fd));
	end(&w);
}

static void test_heads(void **state)
{
	static const u32 slots[] = { 0, 3, 65, JOURNAL_MOST_SLOTS * 2, 1u << 31, UINT32_MAX };
	struct journal_head head;
	u8 p[JOURNAL_HEAD];

	(void)state;
	put_head(p, "RETJRNL1", JOURNAL_MOST_SLOTS, JOURNAL_SLOT, 10, 1);
	assert_true(journal_ring_decode(p, &head));
	for (u32 i = 0; i < ARRAY_LEN(slots); i++) {
		memcpy(p + 8, &slots[i], 4);
		assert_false(journal_ring_decode(p, &head));
	}
	put_head(p, "RETJRNL1", SLOTS, JOURNAL_SLOT * 2, 10, 1);
	assert_false(journal_ring_decode(p, &head));
	put_head(p, "RETJRNL1", SLOTS, JOURNAL_SLOT, 0, 1);
	assert_false(journal_ring_decode(p, &head));
	put_head(p, "RETPROC1", SLOTS, JOURNAL_SLOT, 10, 1);
	assert_false(journal_ring_decode(p, &head));
}

/* ---- Written by another thread meanwhile ---- */

#define MANY 300000u

static void *write_many(void *ctx)
{
	struct writing *w = ctx;

	for (u64 n = 0; n < MANY; n++) {
		u8 *slot = w->p + JOURNAL_SLOTS_AT + n % SLOTS * JOURNAL_SLOT;
		u64 time = n + 1;
		u8 id = (u8)(1 + n % 250);

		__atomic_store_n((u64 *)(void *)(w->p + JOURNAL_NEXT_AT), n + 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		memcpy(slot + 8, &time, 8);
		memset(slot + 16, id, 24);
		slot[40] = 1;
		memcpy(slot + 4, &(u32){ 11 }, 4);
		__atomic_store_n((u32 *)(void *)slot, (u32)n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

struct checked {
	u64 whole, gaps;
};

static u64 never(void)
{
	return UINT64_MAX;
}

static void check_whole(void *ctx, const struct journal_ring *r, const struct journal_entry *e, u64 time)
{
	struct checked *c = ctx;

	(void)r;
	c->gaps += !e;
	if (!e)
		return;
	c->whole++;
	for (u32 i = 0; i < 24; i++)
		assert_int_equal(e->record[i], 1 + (time - 1) % 250);
}

static void test_while_written(void **state)
{
	struct writing w = begin();
	struct checked c = { 0 };
	struct journal_ring r;
	pthread_t thread;
	u64 read = 0;

	(void)state;
	assert_true(journal_ring_begin(&r, w.fd));
	assert_int_equal(pthread_create(&thread, NULL, write_many, &w), 0);
	while (r.next < MANY)
		assert_true(journal_ring_read(&r, never, check_whole, &c));
	pthread_join(thread, NULL);
	read = c.whole + r.lost;
	assert_int_equal(read, MANY);
	assert_int_equal(r.refused, 0);
	end(&w);
}

/* ---- The directory ---- */

struct world {
	char dir[OWN_DIR_PATH], note[NOTE_ROOM];
	struct notify notify;
	struct sample_layout layout;
	struct timelines t;
	struct bytes kept; /* what timelines point into */
};

static int take_records(void *ctx, const struct bytes *records)
{
	struct world *w = ctx;
	struct bytes copy = { 0 };

	bytes_put(&copy, records->p, records->len); /* stays until the end of the test */
	for (size_t at = 0; at < copy.len;) {
		u16 size;
		struct sample s;

		memcpy(&size, copy.p + at + 6, sizeof(size));
		assert_int_equal(sample_decode(&w->layout, cursor_over(copy.p + at, size, false), &s), 0);
		assert_int_equal(s.id, 5);
		timelines_add(&w->t, s.pid, s.tid, s.time, cursor_over(s.raw, s.raw_size, false));
		at += size;
	}
	bytes_u64(&w->kept, (u64)(uintptr_t)copy.p);
	return 0;
}

static void make_world(struct world *w)
{
	const struct attr a = { .type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_BPF_OUTPUT,
				.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_ID };

	*w = (struct world){ .notify = { keep_note, w->note } };
	own_dir_make(w->dir);
	assert_int_equal(sample_layout_init(&w->layout, &a, NULL, NULL), 0);
}

static void free_world(struct world *w)
{
	timelines_free(&w->t);
	for (size_t i = 0; i < w->kept.len; i += 8) {
		u64 p;

		memcpy(&p, w->kept.p + i, sizeof(p));
		free((void *)(uintptr_t)p);
	}
	bytes_free(&w->kept);
}

static void read_for(struct world *w, struct journals *j, u64 most_ns)
{
	const struct journals_sink to = { &w->layout, 5, take_records, w };

	assert_int_equal(journals_read(j, &to, most_ns), 0);
}

static void read_all(struct world *w, struct journals *j)
{
	read_for(w, j, UINT64_MAX / 2);
}

static int make_file(const struct world *w, const char *name, const void *p, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	return fd;
}

static bool is_there(const struct world *w, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	return !access(path, F_OK);
}

static const struct activity *at(const struct world *w, u32 tid, u64 time)
{
	return &w->t.all.v[timelines_at(&w->t, (u32)getpid(), tid, time)];
}

static void test_directory(void **state)
{
	struct writing before, later;
	struct journals *j;
	struct world w;
	u64 start = clock_ns();
	u8 published[JOURNAL_PUBLISHED_AT + 26] = { 0 };

	(void)state;
	make_world(&w);
	before = begin_in(make_file(&w, "before.ring", "", 0), (u32)getpid());
	say(&before, 1, 1000, 1); /* long ago, and still so */
	assert_int_equal(journals_begin(&j, w.dir, &w.notify), 0);
	assert_string_equal(journals_dir(j), w.dir);
	later = begin_in(make_file(&w, "later.ring", "", 0), (u32)getpid());
	say(&later, 2, start, 2);
	put_head(published, "RETPROC1", (u32)getpid(), 26, 0, 0);
	memcpy(published + 16, &(u64){ IMAGE }, 8);
	memcpy(published + 24, later.p + 32, 16);
	memcpy(published + 40, &start, 8);
	memcpy(published + 48, "\x0a\x18\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop", 26);
	close(make_file(&w, "it.process", published, sizeof(published)));
	read_all(&w, j);
	/* A new file, of --switch-output, has all again. */
	journals_renew(j);
	timelines_free(&w.t);
	say(&later, 2, start + 1, 0);
	read_all(&w, j);
	timelines_seal(&w.t);
	assert_int_equal(activity_trace(at(&w, 1, start)->record)[0], 1);
	assert_int_equal(activity_trace(at(&w, 2, start)->record)[0], 2);
	assert_int_equal(at(&w, 2, start)->payload.len, 26);
	assert_int_equal(at(&w, 2, start + 1)->status, ACTIVITY_NONE);
	journals_end(j);
	assert_true(is_there(&w, "later.ring")); /* its process is there */
	assert_string_equal(w.note, "");
	end(&before);
	end(&later);
	free_world(&w);
}

/* Journals of processes that have ended are read to their end, and removed. */
static void test_ended(void **state)
{
	struct writing one;
	struct journals *j;
	struct world w;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	make_world(&w);
	one = begin_in(make_file(&w, "1.ring", "", 0), (u32)pid);
	say(&one, 7, 5, 1);
	assert_int_equal(journals_begin(&j, w.dir, &w.notify), 0);
	read_all(&w, j);
	assert_false(is_there(&w, "1.ring"));
	timelines_seal(&w.t);
	assert_int_equal(activity_trace(w.t.all.v[timelines_at(&w.t, (u32)pid, 7, 5)].record)[0], 1);
	/* The next process with that number may have a file of the same name. */
	end(&one);
	timelines_free(&w.t);
	one = begin_in(make_file(&w, "1.ring", "", 0), (u32)getpid());
	say(&one, 8, 6, 2);
	read_all(&w, j);
	timelines_seal(&w.t);
	assert_int_equal(activity_trace(at(&w, 8, 6)->record)[0], 2);
	journals_end(j);
	end(&one);
	free_world(&w);
}

/* The lower half of when this process began, as the kernel says it. */
static u32 began(void)
{
	char text[1024] = "";
	FILE *f = fopen("/proc/self/stat", "re");
	const char *field;

	assert_true(f && fgets(text, sizeof(text), f));
	fclose(f);
	field = strrchr(text, ')');
	for (u32 i = 0; i < 20; i++)
		field = strchr(field + 1, ' ');
	return (u32)strtoull(field, NULL, 10);
}

/* A process has the number of an earlier one, which has left its journal: what that said last is not of this one. */
static void test_earlier_process(void **state)
{
	struct writing earlier, own;
	struct journals *j;
	struct world w;
	u32 started = began(), other = started - 1;

	(void)state;
	make_world(&w);
	earlier = begin_in(make_file(&w, "1.ring", "", 0), (u32)getpid());
	memcpy(earlier.p + 20, &other, 4);
	say(&earlier, 7, 5, 1);
	own = begin_in(make_file(&w, "2.ring", "", 0), (u32)getpid());
	memcpy(own.p + 20, &started, 4);
	say(&own, 8, 5, 2);
	assert_int_equal(journals_begin(&j, w.dir, &w.notify), 0);
	read_all(&w, j);
	timelines_seal(&w.t);
	assert_int_equal(timelines_at(&w.t, (u32)getpid(), 7, 5), TIMELINE_UNKNOWN);
	assert_int_equal(activity_trace(at(&w, 8, 5)->record)[0], 2);
	assert_false(is_there(&w, "1.ring"));
	assert_true(is_there(&w, "2.ring"));
	assert_string_equal(w.note, "");
	journals_end(j);
	end(&earlier);
	end(&own);
	free_world(&w);
}

/* What a journal said last holds until somebody has read it again: not longer. */
static void test_no_time(void **state)
{
	struct writing one;
	struct journals *j;
	struct world w;
	u64 start = clock_ns(), later;

	(void)state;
	make_world(&w);
	one = begin_in(make_file(&w, "1.ring", "", 0), (u32)getpid());
	say(&one, 7, start, 1);
	assert_int_equal(journals_begin(&j, w.dir, &w.notify), 0);
	read_all(&w, j);
	later = clock_ns();
	say(&one, 7, later, 2);
	read_for(&w, j, 0);
	read_for(&w, j, 0);
	timelines_seal(&w.t); /* the recording ends here */
	assert_int_equal(at(&w, 7, start)->status, ACTIVITY_KNOWN);
	assert_int_equal(at(&w, 7, later)->status, ACTIVITY_LOST);
	assert_int_equal(w.t.threads.v[0].v.n, 2); /* and that is said once */
	/* Or it goes on. */
	timelines_free(&w.t);
	journals_renew(j);
	read_all(&w, j);
	later = clock_ns();
	read_for(&w, j, 0);
	say(&one, 7, later + 1, 3);
	read_all(&w, j);
	timelines_seal(&w.t);
	assert_int_equal(activity_trace(at(&w, 7, later)->record)[0], 2);
	assert_int_equal(activity_trace(at(&w, 7, later + 1)->record)[0], 3);
	journals_end(j);
	end(&one);
	free_world(&w);
}

#define NOBODY 65534

/* As root: of a process that has become another user, what it wrote before and what it writes then; and what that
 * user says of others. As another user there is one user only. */
static void test_users(void **state)
{
	static const char *const names[] = { "before.ring", "after.ring", "of-root.ring" };
	struct writing one[3];
	struct journals *j;
	struct world w;
	int told[2], go[2];
	bool root = !geteuid();
	pid_t pid;
	char c;

	(void)state;
	make_world(&w);
	assert_true(!pipe(told) && !pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit((root && (setgid(NOBODY) || setuid(NOBODY))) || write(told[1], "", 1) != 1 ||
		      read(go[0], &c, 1) != 0);
	}
	close(go[0]);
	assert_int_equal(read(told[0], &c, 1), 1);
	for (u32 i = 0; i < 3; i++) {
		one[i] = begin_in(make_file(&w, names[i], "", 0), i < 2 ? (u32)pid : (u32)getpid());
		say(&one[i], 1 + i, 5, (u8)(1 + i));
		assert_int_equal(root && i ? fchown(one[i].fd, NOBODY, NOBODY) : 0, 0);
	}
	assert_int_equal(journals_begin(&j, w.dir, &w.notify), 0);
	read_all(&w, j);
	timelines_seal(&w.t);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(w.t.all.v[timelines_at(&w.t, (u32)pid, 1 + i, 5)].status, ACTIVITY_KNOWN);
	assert_int_equal(at(&w, 3, 5)->status == ACTIVITY_KNOWN, !root);
	assert_int_equal(strstr(w.note, "another user than its process. Other journals") != NULL, root);
	close(go[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	journals_end(j);
	for (u32 i = 0; i < 3; i++)
		end(&one[i]);
	close(told[0]);
	close(told[1]);
	free_world(&w);
}

/* What is no journal is not read, and nothing waits for it. */
static void test_false_files(void **state)
{
	struct writing foreign, cut;
	struct journals *j;
	struct world w;
	char path[128];

	(void)state;
	make_world(&w);
	snprintf(path, sizeof(path), "%s/pipe.ring", w.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/link.ring", w.dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/dir.ring", w.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	close(make_file(&w, "empty.ring", "", 0));
	close(make_file(&w, "text.process", "RETPROC1 and so on, but nothing that makes sense at all.", 56));
	foreign = begin_in(make_file(&w, "foreign.ring", "", 0), (u32)getpid());
	foreign.p[32] ^= 1; /* of another PID namespace */
	say(&foreign, 1, 10, 1);
	cut = begin_in(make_file(&w, "cut.ring", "", 0), (u32)getpid());
	say(&cut, 2, 10, 1);
	assert_int_equal(journals_begin(&j, w.dir, &w.notify), 0);
	assert_non_null(strstr(w.note, "in another PID namespace"));
	assert_int_equal(ftruncate(cut.fd, 100), 0);
	read_all(&w, j);
	read_all(&w, j);
	assert_int_equal(w.t.threads.n, 0);
	journals_end(j);
	end(&foreign);
	end(&cut);
	free_world(&w);
}

/* Each millisecond one more, which is seldom enough for them to be removed. */
static void make_files_in(const char *dir, int told)
{
	char path[160];
	int fd;

	for (u32 i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "%s/%u.ring", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || (i == 0 && write(told, "", 1) != 1))
			_exit(0);
		close(fd);
		usleep(1000);
	}
	_exit(1);
}

static void test_own_directory(void **state)
{
	char note[NOTE_ROOM] = "", path[128], c;
	const struct notify to = { keep_note, note };
	struct journals *j;
	struct stat st;
	int told[2];
	pid_t pid;

	(void)state;
	assert_int_equal(journals_begin(&j, NULL, &to), 0);
	snprintf(path, sizeof(path), "%s", journals_dir(j));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	strcat(path, "/left.ring");
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	path[strlen(path) - strlen("/left.ring")] = '\0';
	/* A program that goes on makes files as long as it can. */
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (!pid)
		make_files_in(path, told[1]);
	assert_int_equal(read(told[0], &c, 1), 1);
	journals_end(j);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(told[0]);
	close(told[1]);
	assert_int_not_equal(stat(path, &st), 0);
	assert_int_equal(journals_begin(&j, "/nowhere/at/all", &to), ERR_NOTFOUND);
	assert_non_null(strstr(note, "/nowhere/at/all"));
	journals_end(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),	cmocka_unit_test(test_unwritten),
		cmocka_unit_test(test_overwritten),	cmocka_unit_test(test_makes_no_sense),
		cmocka_unit_test(test_heads),		cmocka_unit_test(test_while_written),
		cmocka_unit_test(test_directory),	cmocka_unit_test(test_ended),
		cmocka_unit_test(test_false_files),	cmocka_unit_test(test_own_directory),
		cmocka_unit_test(test_earlier_process), cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_users),		cmocka_unit_test(test_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
