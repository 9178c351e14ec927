/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals: where a recorder may not run a BPF program in each sample, it takes the activity of a sample from what the
 * thread has written down, by time.
 *
 * A thread's journal is a ring in a file of a directory that the recorder reads. What the thread works for is first
 * shown, then written down here with the clock (CLOCK_MONOTONIC), within the call that changes it: a sample before or
 * after that call has a time before or after that of the entry. The same holds for a signal handler between any two of
 * these instructions, as it leaves the activity as it was.
 *
 * Nobody waits for the reader, so a ring may run over. The writer takes a number (`next`), writes the entry into the
 * slot of that number, and at last the number, plus one, into the slot's `number`. A reader that finds this number,
 * and then sees that `next` has not come round to the slot again, has read a whole entry. A signal handler takes
 * numbers of its own. Stores of the number taken come before those of the entry, and these before the slot's number.
 *
 * A file has all its memory when it is mapped, because a program must not be ended by a full file system. Of a child
 * that is made by any kind of fork, the page that leads to the ring is wiped (MADV_WIPEONFORK), so it never writes
 * into the journal of its parent, and makes one of its own with its first entry. Threads that end leave their journal
 * to the next ones that begin, as each entry has the number of its thread. So there are as many as there were threads
 * at a time, however often many begin and end together.
 *
 * doc/activities.md says what it costs. Nothing of this is done unless RETICLE_ACTIVITY_JOURNAL or
 * activity_journal_start names a directory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "reticle/activity.h"

#define FOLDER "RETICLE_ACTIVITY_JOURNAL"
#define ENTRIES "RETICLE_ACTIVITY_JOURNAL_ENTRIES"
#define USUAL_ENTRIES 4096u
#define LEAST_ENTRIES 64u
#define MOST_ENTRIES (1u << 16)
#define PAGE 4096
#define SPARES 16384
#define NAME_ROOM 64
#define TRIES 100 /* names for a file: an earlier process may have had the same ones */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct slot {
	_Atomic uint32_t number; /* of its entry, plus one */
	uint32_t tid;
	uint64_t time;
	uint8_t record[sizeof(struct activity_snapshot)]; /* `valid` (24) is 0: nothing */
};

struct head {
	char magic[8];
	uint32_t slots, slot_size; /* slots: a power of two */
	uint32_t pid;
	uint32_t started; /* when its process began, as in /proc/PID/stat; 0: not known. The next one began later */
	uint64_t image;	  /* of the process: other after exec */
	/* Which numbers processes have, and which time it is: inodes of namespaces, 0 where there are none. */
	uint64_t processes, clocks;
};

struct ring {
	struct head head;
	_Alignas(64) _Atomic uint64_t next;
	_Alignas(PAGE) struct slot slots[];
};

struct publication {
	char magic[8];
	uint32_t pid, size; /* size: of the payload behind it */
	uint64_t image, processes, clocks;
	uint64_t time; /* 0: it is being changed */
};

_Static_assert(sizeof(struct slot) == 128, "two cache lines");
_Static_assert(sizeof(struct head) == 48 && sizeof(struct publication) == 48, "what readers rely on");
_Static_assert(offsetof(struct ring, next) == 64 && offsetof(struct ring, slots) == PAGE, "what readers rely on");

/* A page of its own, which is zero in a child. */
struct journal {
	struct ring *ring;
	uint32_t mask, tid;
};

HIDDEN _Thread_local struct journal *activity_journal_of_thread;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool kept;
static char folder[PAGE - NAME_ROOM];
static uint32_t entries;
static uint64_t image;
static _Atomic unsigned names; /* taken */
static _Atomic(struct journal *) spare[SPARES];
static _Atomic unsigned spares; /* behind these there have been none */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t entries_wanted(void)
{
	const char *text = secure_getenv(ENTRIES);
	unsigned long n = text ? strtoul(text, NULL, 10) : USUAL_ENTRIES;
	uint32_t power = LEAST_ENTRIES;

	while (power * 2ul <= n && power < MOST_ENTRIES)
		power *= 2;
	return power;
}

static int keep_in(const char *dir)
{
	char absolute[PATH_MAX]; /* the program may go to another directory */
	size_t n;

	if (*dir != '/' && !realpath(dir, absolute))
		return -errno;
	dir = *dir == '/' ? dir : absolute;
	n = strlen(dir);
	if (n >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, dir, n + 1);
	entries = entries_wanted();
	image = now();
	if (pthread_atfork(NULL, NULL, activity_journal_in_child))
		return -ENOMEM;
	kept = true;
	return 0;
}

static void look_at_environment(void)
{
	const char *dir = secure_getenv(FOLDER);

	if (dir && *dir)
		(void)keep_in(dir);
}

int activity_journal_start(const char *dir)
{
	pthread_once(&once, look_at_environment);
	return kept ? 0 : keep_in(dir);
}

/* ---- Files: PID-IMAGE-N.ring and PID-IMAGE-0.process, in hexadecimal ---- */

static char *put_hex(char *to, uint64_t n)
{
	unsigned digits = 1;

	while (digits < 16 && n >> 4 * digits)
		digits++;
	while (digits--)
		*to++ = "0123456789abcdef"[n >> 4 * digits & 15];
	return to;
}

/* May be called in a child of which other threads are gone: no stdio. */
static void name_file(char path[PAGE], unsigned n, const char *kind)
{
	size_t length = strlen(folder);
	char *to = path + length;

	memcpy(path, folder, length);
	*to++ = '/';
	to = put_hex(to, (uint64_t)getpid());
	*to++ = '-';
	to = put_hex(to, image);
	*to++ = '-';
	to = put_hex(to, n);
	memcpy(to, kind, strlen(kind) + 1);
}

static int create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static uint64_t inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* The lower half of the number behind the name, and 19 more fields, in clock ticks. */
static uint32_t started(void)
{
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1), at;
	uint64_t ticks = 0;

	if (fd >= 0)
		close(fd);
	for (at = n; at > 0 && text[at - 1] != ')';)
		at--;
	for (int fields = 0; at < n && fields < 20; at++)
		fields += text[at] == ' ';
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
		ticks = ticks * 10 + (uint64_t)(text[at] - '0');
	return (uint32_t)ticks;
}

static bool make_ring(struct journal *j)
{
	size_t bytes = sizeof(struct ring) + entries * sizeof(struct slot);
	char path[PAGE];
	struct ring *ring = MAP_FAILED;
	int fd, failed, tries = 0;

	do {
		name_file(path, atomic_fetch_add(&names, 1) + 1, ".ring");
		fd = create(path);
	} while (fd < 0 && errno == EEXIST && ++tries < TRIES);
	if (fd < 0)
		return false;
	do
		failed = posix_fallocate(fd, 0, (off_t)bytes);
	while (failed == EINTR);
	if (!failed)
		ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	if (ring == MAP_FAILED) {
		unlink(path);
		return false;
	}
	ring->head.slots = entries;
	ring->head.slot_size = sizeof(struct slot);
	ring->head.pid = (uint32_t)getpid();
	ring->head.started = started();
	ring->head.image = image;
	ring->head.processes = inode("/proc/self/ns/pid");
	ring->head.clocks = inode("/proc/self/ns/time");
	atomic_thread_fence(memory_order_release);
	memcpy(ring->head.magic, "RETJRNL1", 8);
	j->mask = entries - 1;
	j->tid = (uint32_t)syscall(SYS_gettid);
	atomic_signal_fence(memory_order_seq_cst);
	j->ring = ring;
	return true;
}

/* ---- Journals ---- */

static struct journal *new_journal(void)
{
	struct journal *j = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (j == MAP_FAILED)
		return NULL;
	if (!madvise(j, PAGE, MADV_WIPEONFORK) && make_ring(j))
		return j;
	munmap(j, PAGE);
	return NULL;
}

static struct journal *take_spare(void)
{
	struct journal *j = NULL;

	for (unsigned i = 0, n = atomic_load(&spares); i < n && !j; i++)
		if (atomic_load(&spare[i]))
			j = atomic_exchange(&spare[i], NULL);
	if (j)
		j->tid = (uint32_t)syscall(SYS_gettid);
	return j;
}

void activity_journal_begin(void)
{
	int error = errno;
	struct journal *j;

	pthread_once(&once, look_at_environment);
	if (!kept)
		return;
	j = take_spare();
	j = j ? j : new_journal();
	atomic_signal_fence(memory_order_seq_cst);
	activity_journal_of_thread = j;
	errno = error;
}

void activity_journal_end(void)
{
	struct journal *j = activity_journal_of_thread, *none;

	activity_journal_of_thread = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	for (unsigned i = 0, n; i < SPARES && j; i++) {
		none = NULL;
		if (!atomic_compare_exchange_strong(&spare[i], &none, j))
			continue;
		j = NULL;
		for (n = atomic_load(&spares); n <= i && !atomic_compare_exchange_weak(&spares, &n, i + 1);)
			;
	}
	if (!j)
		return;
	if (j->ring)
		munmap(j->ring, sizeof(struct ring) + ((size_t)j->mask + 1) * sizeof(struct slot));
	munmap(j, PAGE);
}

/* In a child. */
static __attribute__((noinline, cold)) struct ring *begin_again(struct journal *j)
{
	int error = errno;

	if (!make_ring(j))
		activity_journal_of_thread = NULL;
	errno = error;
	return j->ring;
}

void activity_journal_note(const void *record)
{
	struct journal *j = activity_journal_of_thread;
	struct ring *ring = j->ring;
	struct slot *s;
	uint64_t number;

	if (__builtin_expect(!ring, 0)) {
		ring = begin_again(j);
		if (!ring)
			return;
	}
	number = atomic_fetch_add_explicit(&ring->next, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	s = &ring->slots[number & j->mask];
	s->time = now();
	s->tid = j->tid;
	if (record)
		memcpy(s->record, record, sizeof(s->record));
	else
		memset(s->record + 24, 0, 4);
	atomic_store_explicit(&s->number, (uint32_t)number + 1, memory_order_release);
}

/* ---- What the process publishes ---- */

static bool put_at(int fd, const void *p, size_t n, size_t at)
{
	return pwrite(fd, p, n, (off_t)at) == (ssize_t)n;
}

/* The one that this process has written before. Where others may write into the directory, it could be theirs. */
static int open_again(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1))
		return fd;
	close(fd);
	return -1;
}

void activity_journal_publish(const void *payload, size_t size)
{
	struct publication head = { .pid = (uint32_t)getpid() }, changing = { 0 };
	char path[PAGE];
	int fd;

	pthread_once(&once, look_at_environment);
	if (!kept)
		return;
	name_file(path, 0, ".process");
	fd = create(path);
	if (fd < 0)
		fd = open_again(path);
	if (fd < 0)
		return;
	memcpy(head.magic, "RETPROC1", 8);
	head.size = (uint32_t)size;
	head.image = image;
	head.processes = inode("/proc/self/ns/pid");
	head.clocks = inode("/proc/self/ns/time");
	head.time = now();
	if (put_at(fd, &changing, sizeof(changing), 0) && put_at(fd, payload, size, sizeof(head)))
		(void)put_at(fd, &head, sizeof(head), 0);
	close(fd);
}
