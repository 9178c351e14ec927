/* SPDX-License-Identifier: Apache-2.0 */
/* Our side of state/apart.h: who has it trusts nothing that comes back. */
#include "state/apart.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/regular.h"
#include "base/sanitized.h"
#include "state/apart_impl.h"
#include "state/demangle.h"
#include "state/unxz.h"

/* What parsers may take in all: so much for nothing, and so much for each MB that a file has on disk. Compilers' DWARF
 * takes a tenth of that. */
#define CPU_FREE_MS 1000
#define CPU_PER_MB_MS 250
#define MEMORY_FREE (64ull << 20)
#define MEMORY_TIMES 32
#define UNPACKED_TIMES 4 /* what is packed pays like a file that is so many times larger */
#define MOST_DEATHS 4
#define MOST_FORGIVEN 16 /* when what they died of is not asked for again */
#define LOOK_EVERY_MS 20
/* A parser that owes an answer computes or reads. One that sleeps at so many looks, and works at none of them, never
 * answers. */
#define MOST_ASLEEP (5000 / LOOK_EVERY_MS)
#define LEAST_WORK_US 1000 /* in LOOK_EVERY_MS; less is what sending a byte now and then takes */
#define MOST_WANTS 65536   /* with one question: files of split units, and where they are */
#define LONGEST_PATH 4096
#define NOBODY (-1)
#define MOST_AHEAD 16u

#define SLOWDOWN (SANITIZED ? 16 : 1)

struct apart {
	pthread_mutex_t lock;
	int keeper; /* socket */
	pid_t keeper_pid;
	int parser; /* socket, or NOBODY */
	pid_t parser_pid;
	u32 generation; /* of parsers: each has opened none of the files of the one before */
	u32 deaths, nr_files;
	struct map seen; /* device and inode of files: each is paid for once, however it is spelled */
	struct map died; /* likewise: of those that a parser died of; and what else has an identity */
	u32 remembered;	 /* of the deaths, those of what is in it */
	u32 forgiven;	 /* deaths, in all */
	bool died_ahead; /* a parser died of opening ahead: from then on nothing is opened ahead */
	s64 cpu_us;	 /* that is left */
	s64 cpu_used;	 /* of it, by this parser, when it was last looked */
	u64 own_memory;	 /* that a child of ours begins with */
	u64 disk;	 /* bytes of the files that the parser has open */
	u64 unpacking;	 /* bytes that it may take for the present question beside that */
	u64 waited_ns;	 /* for the parser, since it was last looked after */
	u32 asleep;	 /* at so many looks since it last worked */
	bool ask_again;	 /* the parser has died for time that others had taken */
	/* What the parser was told to open ahead, in this order, and has not answered to yet. */
	struct apart_file *opening[MOST_AHEAD];
	u32 nr_opening;
};

enum verdict { UNKNOWN, GOOD, NO_DWARF, DIED };

struct apart_file {
	struct apart *a;
	int fd;
	u32 id, generation; /* of the parser that has it open; 0: none */
	bool alone, paid;
	enum dwarf_part part;
	bool died_ahead;   /* a parser died of opening it, which does not count yet */
	bool needs_others; /* units stand in other files, or one was asked for */
	u64 disk;
	u64 inode;		       /* and device, as they are in the maps; 0: not known */
	_Atomic(enum verdict) verdict; /* looked at before the lock is taken, too */
};

static u64 writable_memory(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (u64)pages * (u64)sysconf(_SC_PAGESIZE);
}

struct apart *apart_new(void)
{
	struct apart *a;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return NULL;
	pid = fork();
	if (!pid)
		apart_keep(ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return NULL;
	}
	a = mem_zalloc(sizeof(*a));
	*a = (struct apart){
		.keeper = ends[0], .keeper_pid = pid, .parser = NOBODY, .cpu_us = CPU_FREE_MS * 1000 * SLOWDOWN
	};
	pthread_mutex_init(&a->lock, NULL);
	a->own_memory = writable_memory();
	return a;
}

void apart_free(struct apart *a)
{
	if (!a)
		return;
	if (a->parser != NOBODY)
		close(a->parser);
	close(a->keeper);
	while (waitpid(a->keeper_pid, NULL, 0) < 0 && errno == EINTR)
		;
	pthread_mutex_destroy(&a->lock);
	map_free(&a->seen);
	map_free(&a->died);
	free(a);
}

struct apart_file *apart_file_new(struct apart *a, int fd, bool alone, enum dwarf_part part)
{
	struct apart_file *f = mem_zalloc(sizeof(*f));
	struct stat st = { 0 };

	*f = (struct apart_file){ .a = a, .fd = fd, .alone = alone, .part = part };
	pthread_mutex_lock(&a->lock);
	f->id = a->nr_files++;
	if (!fstat(fd, &st)) {
		f->inode = hash_pair((u64)st.st_dev, (u64)st.st_ino);
		if (*map_at(&a->seen, f->inode, f->id) == f->id)
			f->disk = (u64)st.st_blocks * 512;
		if (map_get(&a->died, f->inode) != ID_NONE)
			f->verdict = DIED;
	}
	pthread_mutex_unlock(&a->lock);
	return f;
}

static void grant_memory(const struct apart *a)
{
	u64 most = a->own_memory + MEMORY_FREE + a->disk * MEMORY_TIMES + a->unpacking;
	struct rlimit now;

	if (SANITIZED || prlimit(a->parser_pid, RLIMIT_DATA, NULL, &now))
		return;
	now.rlim_cur = MIN((rlim_t)most, now.rlim_max);
	prlimit(a->parser_pid, RLIMIT_DATA, &now, NULL);
}

static void grant_time(struct apart *a, u64 bytes)
{
	a->cpu_us += (s64)bytes * CPU_PER_MB_MS * 1000 / (1 << 20) * SLOWDOWN;
}

static void put_u32s(struct bytes *out, u32 a, u32 b)
{
	bytes_u32(out, a);
	bytes_u32(out, b);
}

/* Takes what the parser has used off what is left. False: nothing is left. */
static bool pay(struct apart *a)
{
	struct timespec t;
	clockid_t clock;
	s64 us;

	if (clock_getcpuclockid(a->parser_pid, &clock) || clock_gettime(clock, &t))
		return true; /* it has ended; its socket will say so */
	us = (s64)t.tv_sec * 1000000 + t.tv_nsec / 1000;
	a->cpu_us -= us - a->cpu_used;
	a->cpu_used = us;
	return a->cpu_us > 0;
}

/* It waits for something that is no disk, or was stopped: the state in /proc/PID/stat, which follows the name in
 * brackets. */
static bool is_asleep(pid_t pid)
{
	char path[32], text[128] = "";
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = 0;
		fclose(f);
	}
	end = strrchr(text, ')');
	return end && end[1] == ' ' && (end[2] == 'S' || end[2] == 'T' || end[2] == 't');
}

/* Does the parser that we wait for still deserve it? Whatever it sends meanwhile, it has to work. */
static bool look_after(struct apart *a)
{
	/* On a busy machine we look late. */
	s64 looks = (s64)MAX(a->waited_ns / (LOOK_EVERY_MS * 1000000ull), 1ull), before = a->cpu_used;
	bool good = pay(a);

	a->waited_ns = 0;
	/* One that has done little and is not asleep waits for a CPU. */
	if (a->cpu_used - before >= LEAST_WORK_US * looks)
		a->asleep = 0;
	else
		a->asleep += is_asleep(a->parser_pid);
	return good && a->asleep <= MOST_ASLEEP;
}

/* Until the parser's socket may be ready for that, or it is time to look after the parser. False: it is given up. */
static bool wait_for(struct apart *a, short events)
{
	struct pollfd p = { .fd = a->parser, .events = events };
	u64 start = clock_ns(), due = LOOK_EVERY_MS * 1000000ull - MIN(a->waited_ns, LOOK_EVERY_MS * 1000000ull);
	int ready = poll(&p, 1, (int)(due / 1000000) + 1);

	if (ready < 0 && errno != EINTR)
		return false;
	a->waited_ns += clock_ns() - start;
	return a->waited_ns < LOOK_EVERY_MS * 1000000ull || look_after(a);
}

/* A parser that is busy, or stopped, does not read. */
static bool tell(struct apart *a, enum apart_kind kind, const void *p, u32 size, int fd)
{
	struct apart_head head = { kind, size };

	for (size_t at = 0; at < sizeof(head) + size;) {
		ssize_t n = apart_put(a->parser, &head, p, at, fd, MSG_DONTWAIT);

		if (n < 0 && (errno != EAGAIN || !wait_for(a, POLLOUT)))
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void end_parser(struct apart *a)
{
	if (a->parser == NOBODY)
		return;
	kill(a->parser_pid, SIGKILL); /* the keeper has not waited for it: the number is still its own */
	close(a->parser);
	a->parser = NOBODY;
	for (u32 i = 0; i < a->nr_opening; i++)
		a->opening[i]->paid = false; /* what was granted for it others may have used */
	a->nr_opening = 0;
}

void apart_renew(struct apart *a)
{
	u32 forgiven;

	pthread_mutex_lock(&a->lock);
	end_parser(a);
	map_free(&a->seen);
	a->seen = (struct map){ 0 };
	a->cpu_us = CPU_FREE_MS * 1000 * SLOWDOWN;
	forgiven = MIN(a->remembered, MOST_FORGIVEN - a->forgiven);
	a->deaths -= MIN(forgiven, a->deaths);
	a->forgiven += forgiven;
	a->remembered = 0;
	a->died_ahead = false;
	pthread_mutex_unlock(&a->lock);
}

/* It has died of that (0: of something without an identity), or is to. */
static void let_go(struct apart *a, u64 identity)
{
	bool died = a->parser != NOBODY;

	end_parser(a);
	a->deaths += died;
	if (!identity)
		return;
	a->remembered += died;
	map_set(&a->died, identity, 0);
}

static bool find_parser(struct apart *a)
{
	struct bytes in = { 0 };
	struct apart_head h;
	int ends[2], fd = -1;
	bool good;

	a->ask_again = false;
	if (a->parser != NOBODY)
		return true;
	if (a->deaths >= MOST_DEATHS || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return false;
	good = apart_send(a->keeper, APART_SPAWN, NULL, 0, ends[1]) && apart_receive(a->keeper, &h, &in, &fd) &&
	       in.len == sizeof(a->parser_pid);
	close(ends[1]);
	if (good)
		memcpy(&a->parser_pid, in.p, sizeof(a->parser_pid));
	bytes_free(&in);
	if (!good || a->parser_pid <= 0) {
		close(ends[0]);
		a->deaths = MOST_DEATHS;
		return false;
	}
	a->parser = ends[0];
	a->generation++;
	a->cpu_used = 0;
	a->cpu_us = MAX(a->cpu_us, CPU_FREE_MS * 1000 * SLOWDOWN); /* it does not pay for those before it */
	a->disk = 0;
	grant_memory(a);
	return true;
}

static bool take(struct apart *a, void *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		int fd = -1;
		ssize_t got = apart_take(a->parser, (u8 *)to + at, n - at, &fd, MSG_DONTWAIT);

		if (fd >= 0)
			close(fd); /* nobody asked for one */
		if (!got || (got < 0 && (errno != EAGAIN || !wait_for(a, POLLIN))))
			return false;
		at += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool take_message(struct apart *a, struct apart_head *h, struct bytes *out)
{
	if (!take(a, h, sizeof(*h)) || h->size > APART_LARGEST)
		return false;
	out->len = 0;
	if (h->size > out->cap)
		bytes_grow(out, h->size);
	out->len = h->size;
	return take(a, out->p, h->size);
}

static bool has_elf_head(int fd)
{
	char head[4];

	return pread(fd, head, sizeof(head), 0) == sizeof(head) && !memcmp(head, "\177ELF", 4);
}

/* A file that DWARF names: an ELF file, of the kind that may be opened at all. */
static bool give_file(struct apart *a, struct apart_file *f, const struct bytes *path)
{
	char *name = mem_strndup((const char *)path->p, path->len);
	int fd = f->alone ? -1 : regular_open(name);
	struct stat st;
	bool sent;

	free(name);
	f->needs_others = true;
	if (fd >= 0 && (!has_elf_head(fd) || fstat(fd, &st))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0) {
		a->disk += (u64)st.st_blocks * 512;
		grant_memory(a);
	}
	sent = tell(a, APART_ANSWER, NULL, 0, fd);
	if (fd >= 0)
		close(fd);
	return sent;
}

/* Where a descriptor of the parser leads to. */
static bool give_link(struct apart *a, const struct bytes *link)
{
	char path[64], to[LONGEST_PATH];
	unsigned number = 0;
	ssize_t n = -1;
	char *name = mem_strndup((const char *)link->p, link->len);

	if (sscanf(name, "/proc/self/fd/%9u", &number) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)a->parser_pid, number);
		n = readlink(path, to, sizeof(to));
	}
	free(name);
	return tell(a, APART_ANSWER, to, n > 0 ? (u32)n : 0, -1);
}

/* Waits for the answer to a question that was sent (good: it was), when the parser had used `before`. f: NULL where no
 * file is needed. identity: of what it is about. False: the parser is no more. It may be no more after a whole answer,
 * too, when there is no time left. All have that in common, so who has taken little of it has no part in that death.
 */
static bool hear(struct apart *a, struct apart_file *f, u64 identity, s64 before, bool good, struct bytes *answer)
{
	struct apart_head h;
	u32 wants = 0;

	while (good && (good = take_message(a, &h, answer)) && h.kind != APART_ANSWER)
		good = !f || wants++ == MOST_WANTS || answer->len > LONGEST_PATH ? false :
		       h.kind == APART_WANT_FILE				 ? give_file(a, f, answer) :
		       h.kind == APART_WANT_LINK				 ? give_link(a, answer) :
										   false;
	if (pay(a) && good)
		return true;
	if (a->cpu_us > 0 || a->cpu_used - before >= CPU_FREE_MS * 1000 * SLOWDOWN / 2) {
		let_go(a, identity);
	} else {
		let_go(a, 0);
		a->ask_again = true;
	}
	return good;
}

/* Sends a question and waits for its answer, as hear does. */
static bool ask(struct apart *a, struct apart_file *f, u64 identity, enum apart_kind kind, const struct bytes *q,
		int fd, struct bytes *answer)
{
	s64 before = a->cpu_used;

	a->asleep = 0;
	return hear(a, f, identity, before, tell(a, kind, q->p, (u32)q->len, fd), answer);
}

/* Tells the parser, which is there, to open the file, and where that is: it may look for others there, unless that is
 * done ahead (how: APART_AHEAD). */
static bool begin_open(struct apart *a, struct apart_file *f, u32 how)
{
	char link[32], path[LONGEST_PATH];
	struct bytes q = { 0 };
	ssize_t n;
	bool good;

	if (!f->paid)
		grant_time(a, f->disk);
	f->paid = true;
	a->disk += f->disk;
	grant_memory(a);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	n = readlink(link, path, sizeof(path));
	put_u32s(&q, f->id, how | (f->alone ? APART_ALONE : 0) | (u32)f->part * APART_PART);
	bytes_put(&q, path, (size_t)MAX(n, (ssize_t)0));
	a->asleep = 0;
	good = tell(a, APART_OPEN, q.p, (u32)q.len, f->fd);
	bytes_free(&q);
	return good;
}

/* told: it was. False: the parser is no more. */
static bool end_open(struct apart *a, struct apart_file *f, s64 before, bool told, struct bytes *answer)
{
	if (!hear(a, f, f->inode, before, told, answer) || a->parser == NOBODY)
		return false;
	if (answer->len == 4 && answer->p[0] & APART_LATER) {
		a->disk -= f->disk;
		return true;
	}
	f->generation = a->generation;
	f->verdict = answer->len == 4 && answer->p[0] & APART_USABLE ? GOOD : NO_DWARF;
	f->needs_others |= answer->len == 4 && answer->p[0] & APART_SPLIT;
	return true;
}

/*
 * Several files may be opened ahead while we are at something else. So the parser may not ask for others meanwhile: a
 * file that needs some is opened when there is a question.
 */

/* Before the next question: hears of all of them. Of these files nobody has asked yet, and perhaps nobody will. Which
 * of several has used up the time is not known, so none of them has; they are opened again one by one. */
static void end_ahead(struct apart *a)
{
	const u32 deaths = a->deaths, remembered = a->remembered;
	const bool several = a->nr_opening > 1;
	struct bytes answer = { 0 };

	for (u32 i = 0; i < a->nr_opening; i++) { /* none is left when the parser is no more */
		struct apart_file *f = a->opening[i];

		a->asleep = 0;
		if (end_open(a, f, several ? INT64_MAX / 2 : a->cpu_used, true, &answer))
			continue;
		f->died_ahead = a->remembered > remembered;
		a->died_ahead |= a->deaths > deaths;
		a->deaths = deaths;
		a->remembered = remembered;
	}
	a->nr_opening = 0;
	bytes_free(&answer);
}

/* Is there a question after all, the death counts. */
static void count_death_ahead(struct apart_file *f)
{
	f->a->deaths += f->died_ahead;
	f->a->remembered += f->died_ahead;
	f->died_ahead = false;
}

static bool is_opening(const struct apart *a, const struct apart_file *f)
{
	for (u32 i = 0; i < a->nr_opening; i++)
		if (a->opening[i] == f)
			return true;
	return false;
}

/* With a parser that has the file open. False: there is none, or it died of it. */
static bool open_file(struct apart *a, struct apart_file *f, struct bytes *answer)
{
	s64 before;

	if (!find_parser(a))
		return false;
	before = a->cpu_used;
	return f->generation == a->generation || end_open(a, f, before, begin_open(a, f, 0), answer);
}

/* Not under another of its names once more: then nothing is granted for it (disk). */
void apart_file_ahead(struct apart_file *f)
{
	struct apart *a = f->a;

	pthread_mutex_lock(&a->lock);
	if (a->nr_opening < MOST_AHEAD && !a->died_ahead && !is_opening(a, f) && f->verdict == UNKNOWN && f->disk &&
	    map_get(&a->died, f->inode) == ID_NONE && find_parser(a) && f->generation != a->generation) {
		bool told = begin_open(a, f, APART_AHEAD);

		a->opening[a->nr_opening++] = f;
		if (!told) {
			end_ahead(a); /* it is the first one without an answer that it died of */
			if (a->parser != NOBODY)
				let_go(a, 0);
		}
	}
	pthread_mutex_unlock(&a->lock);
}

void apart_file_free(struct apart_file *f)
{
	struct apart *a;
	u32 id;

	if (!f)
		return;
	a = f->a;
	id = f->id;
	pthread_mutex_lock(&a->lock);
	if (is_opening(a, f))
		end_ahead(a); /* of which the parser may die */
	if (a->parser != NOBODY && f->generation == a->generation) {
		a->disk -= f->disk;
		a->asleep = 0;
		if (!tell(a, APART_CLOSE, &id, sizeof(id), -1))
			let_go(a, 0);
	}
	pthread_mutex_unlock(&a->lock);
	close(f->fd);
	free(f);
}

static const char *why_not(const struct apart *a)
{
	return a->deaths >= MOST_DEATHS ?
		       "parsers have died of it, or of others, too often" :
		       "its parser has died, fell asleep, or took more memory or time than such a file needs";
}

static bool ask_dwarf(struct apart *a, struct apart_file *f, enum apart_kind kind, const struct bytes *q,
		      struct bytes *reply)
{
	if (!open_file(a, f, reply))
		return false;
	if (f->verdict == GOOD)
		return ask(a, f, f->inode, kind, q, -1, reply);
	reply->len = 0;
	return true;
}

/* n: how many answers there are to be. */
static int ask_of_file(struct apart_file *f, enum apart_kind kind, const struct bytes *q, u32 n, struct bytes *reply,
		       const char **why)
{
	struct apart *a = f->a;
	bool good;

	*why = NULL;
	reply->len = 0;
	if (f->verdict == DIED || f->verdict == NO_DWARF)
		return f->verdict == DIED ? ERR_LIMIT : ERR_FORMAT;
	pthread_mutex_lock(&a->lock);
	end_ahead(a);
	count_death_ahead(f);
	good = map_get(&a->died, f->inode) == ID_NONE;
	if (good)
		do
			good = ask_dwarf(a, f, kind, q, reply);
		while (!good && a->ask_again);
	good = good && (reply->len || !n || f->verdict == NO_DWARF); /* empty: too large */
	if (!good) {
		reply->len = 0;
		f->verdict = DIED;
		*why = why_not(a);
	}
	pthread_mutex_unlock(&a->lock);
	return !good ? ERR_LIMIT : f->verdict == NO_DWARF ? ERR_FORMAT : 0;
}

static int ask_of_addresses(struct apart_file *f, enum apart_kind kind, const u64 *addrs, u32 n, struct bytes *reply,
			    const char **why)
{
	struct bytes q = { 0 };
	int err;

	bytes_u32(&q, f->id);
	bytes_put(&q, addrs, n * sizeof(*addrs));
	err = ask_of_file(f, kind, &q, n, reply, why);
	bytes_free(&q);
	return err;
}

int apart_lines(struct apart_file *f, const u64 *addrs, u32 n, struct bytes *reply, const char **why)
{
	return ask_of_addresses(f, APART_LINES, addrs, n, reply, why);
}

int apart_functions(struct apart_file *f, const u64 *addrs, u32 n, struct bytes *reply, const char **why)
{
	return ask_of_addresses(f, APART_FUNCTIONS, addrs, n, reply, why);
}

int apart_types(struct apart_file *f, const struct data_code *code, const u64 *addrs, u32 n, struct bytes *reply,
		const char **why)
{
	struct bytes q = { 0 };
	int err;

	bytes_u32(&q, f->id);
	put_u32s(&q, code ? code->n : 0, code ? code->machine : 0);
	bytes_u64(&q, code ? code->start : 0);
	if (code)
		bytes_put(&q, code->p, code->n);
	bytes_put(&q, addrs, n * sizeof(*addrs));
	err = ask_of_file(f, APART_TYPES, &q, n, reply, why);
	bytes_free(&q);
	return err;
}

/* As many texts as names, each no longer than a readable name can be. */
static bool has_as_many(const struct bytes *names, const struct bytes *reply)
{
	const u8 *p = reply->p, *end = p + reply->len, *nul;
	u32 n = 0;

	for (size_t i = 0; i < names->len; i++)
		n += !names->p[i];
	for (; p < end && n; n--, p = nul + 1) {
		nul = memchr(p, 0, (size_t)(end - p));
		if (!nul || nul - p > DEMANGLE_LONGEST)
			return false;
	}
	return !n && p == end;
}

int apart_names(struct apart *a, u64 identity, const struct bytes *names, struct bytes *reply, const char **why)
{
	bool good;

	*why = NULL;
	reply->len = 0;
	if (!names->len)
		return 0;
	pthread_mutex_lock(&a->lock);
	end_ahead(a);
	if (map_get(&a->died, identity) != ID_NONE) {
		pthread_mutex_unlock(&a->lock);
		return ERR_LIMIT;
	}
	grant_time(a, names->len);
	do
		good = find_parser(a) && ask(a, NULL, identity, APART_NAMES, names, -1, reply);
	while (!good && a->ask_again);
	if (good && !has_as_many(names, reply)) {
		let_go(a, identity); /* it is not itself any more */
		good = false;
	}
	if (!good) {
		reply->len = 0;
		*why = why_not(a);
	}
	pthread_mutex_unlock(&a->lock);
	return good ? 0 : ERR_LIMIT;
}

int apart_unxz(struct apart *a, const u8 *packed, u64 size, struct bytes *reply, const char **why)
{
	const struct bytes q = { .p = (u8 *)packed, .len = size };
	bool good, plain;
	u64 identity;

	*why = NULL;
	reply->len = 0;
	if (size > APART_PACKED_BYTES)
		return ERR_FORMAT;
	identity = hash_bytes(packed, size);
	pthread_mutex_lock(&a->lock);
	end_ahead(a);
	if (map_get(&a->died, identity) != ID_NONE) {
		pthread_mutex_unlock(&a->lock);
		return ERR_LIMIT;
	}
	grant_time(a, size * UNPACKED_TIMES);
	/* The bytes, what they stand for, and that once more while its room is doubled. */
	a->unpacking = UNXZ_MEMORY + size + 3 * unxz_most(size);
	do {
		good = find_parser(a);
		if (good)
			grant_memory(a);
		good = good && ask(a, NULL, identity, APART_UNXZ, &q, -1, reply);
	} while (!good && a->ask_again);
	a->unpacking = 0;
	if (a->parser != NOBODY)
		grant_memory(a);
	if (!good)
		*why = why_not(a);
	pthread_mutex_unlock(&a->lock);
	plain = good && reply->len && reply->p[0] == 1;
	reply->len = plain ? reply->len - 1 : 0;
	if (plain)
		memmove(reply->p, reply->p + 1, reply->len);
	return !good ? ERR_LIMIT : plain ? 0 : ERR_FORMAT;
}

bool apart_file_needs_others(const struct apart_file *f)
{
	return f->needs_others;
}
