/* SPDX-License-Identifier: Apache-2.0 */
#include "record/journals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/regular.h"
#include "base/vec.h"
#include "record/journal_owner.h"
#include "record/journal_ring.h"

#define FILES_MAX 16384u /* open at a time */
#define NAMES_MAX 65536u /* that are remembered */
#define OPENS_MAX 1024u	 /* for a reading */
#define NAME_MOST 64u
#define FIRST_TIME_NAMESPACE 0xeffffffau /* the kernel's PROC_TIME_INIT_INO */
#define FLUSH (64u << 10)
#define LOOK_AGAIN_NS 100000000ull /* after the directory has changed: its time is coarse */
#define ENDED_NS 500000000ull	   /* between two looks for programs that have ended */
#define FILES_LEFT 64		   /* descriptors, for all else that the recorder opens */
#define LEAST_MS 2
#define USUAL_MS 20

enum kind { RING, PUBLICATION };

struct file {
	enum kind kind;
	char name[NAME_MOST];
	struct journal_ring ring; /* its fd and its head are a publication's as well */
	u64 published;		  /* when, of what was told last */
	bool begun;		  /* it has a head */
	bool ended;		  /* its program */
};

struct journals {
	const struct notify *to;
	char *path;
	bool own;
	int dir;
	uid_t uid;
	dev_t device;
	u64 processes, clocks; /* inodes of our namespaces */
	struct map names;      /* hashes of names -> 1, or 0 if the file was removed and there may be another one */
	VEC(struct file) files;
	u64 changed;		   /* the directory's time at the last look, */
	u64 changed_at, looked_at; /* and when a change was seen, and that look was, by our clock */
	u64 looked_for_ended;
	u64 before, since; /* when the last two readings began: what comes now has no earlier time in its record */
	bool renew, told, told_room, lost;
	size_t turn; /* which of files is read next */
	u32 most;    /* entries of a ring that came with the last reading, in 1/1000 of its slots */
};

/* ---- The directory ---- */

static int make_own(struct journals *j)
{
	const char *const run = getenv("XDG_RUNTIME_DIR"), *const in[] = { run, "/dev/shm", "/tmp" };

	j->own = true;
	for (u32 i = 0; i < ARRAY_LEN(in); i++) {
		if (!in[i] || *in[i] != '/')
			continue;
		j->path = mem_printf("%s/reticle-journal-XXXXXX", in[i]);
		if (mkdtemp(j->path))
			return 0;
		free(j->path);
		j->path = NULL;
	}
	return notify_error(j->to, ERR_IO,
			    "--activity=journal: cannot make a directory for journals in /dev/shm or "
			    "/tmp: %s",
			    strerror(errno));
}

static u64 inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static int look_at_dir(struct journals *j)
{
	struct stat st;

	j->dir = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dir < 0 || fstat(j->dir, &st))
		return notify_error(j->to,
				    errno == ENOENT ? ERR_NOTFOUND :
				    errno == EACCES ? ERR_PERM :
						      ERR_IO,
				    "--activity=journal: cannot open the directory %s: %s", j->path, strerror(errno));
	j->device = st.st_dev;
	j->uid = geteuid();
	j->processes = inode("/proc/self/ns/pid");
	j->clocks = inode("/proc/self/ns/time");
	if (j->clocks && j->clocks != FIRST_TIME_NAMESPACE)
		return notify_error(
			j->to, ERR_UNSUPPORTED,
			"--activity=journal: in a time namespace of its own, the clock of journals is another "
			"one than that of samples");
	return 0;
}

const char *journals_dir(const struct journals *j)
{
	return j->path;
}

void journals_renew(struct journals *j)
{
	j->renew = true;
}

/* ---- Files ---- */

static void tell(struct journals *j, const char *name, const char *why)
{
	if (!j->told)
		notify_warn(
			j->to,
			"--activity=journal: %s/%s is not read: %s. Other journals that are left out are not named. "
			"The samples of all these threads belong to no activity",
			j->path, name, why);
	j->told = true;
}

/* NULL: its word counts. A user must not speak for processes of others. */
static const char *refusal(const struct journals *j, const struct file *f, const struct stat *st,
			   const struct journal_owner *owner)
{
	if (f->ring.head.processes != j->processes || !j->processes)
		return "its program is in another PID namespace, in which processes have other numbers";
	if (f->ring.head.clocks != j->clocks)
		return "its program is in another time namespace, in which the clock has another time";
	if (j->uid)
		return st->st_uid == j->uid ? NULL : "it belongs to another user";
	/* root reads those of all users. A process may have made its own as root, and be another user now. */
	if (!st->st_uid)
		return NULL;
	if (!owner)
		return "its process has ended, and was not seen";
	return owner->uid == st->st_uid ? NULL : "it belongs to another user than its process";
}

static void close_file(struct journals *j, size_t at, bool remove)
{
	struct file *f = &j->files.v[at];

	close(f->ring.fd);
	if (remove && !unlinkat(j->dir, f->name, 0))
		map_set(&j->names, hash_bytes(f->name, strlen(f->name)), 0);
	*f = j->files.v[--j->files.n];
}

static void decode_head(struct file *f)
{
	u8 head[JOURNAL_PUBLISHED_AT];

	if (f->kind == RING)
		f->begun = journal_ring_begin(&f->ring, f->ring.fd);
	else
		f->begun = pread(f->ring.fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
			   journal_publication_decode(head, &f->ring.head);
}

/* Its head, once it is there. False: it is refused, or of an earlier process of that number. */
static bool begin(struct journals *j, struct file *f)
{
	struct journal_owner owner;
	const char *why;
	struct stat st;
	bool runs;

	if (f->begun)
		return true;
	decode_head(f);
	if (!f->begun)
		return true;
	runs = journal_owner_of(f->ring.head.pid, &owner);
	if (fstat(f->ring.fd, &st) || st.st_dev != j->device)
		why = "it is not a file of that directory";
	else
		why = refusal(j, f, &st, runs ? &owner : NULL);
	if (why)
		tell(j, f->name, why);
	else if (runs && f->ring.head.started && f->ring.head.started != owner.started)
		(void)unlinkat(j->dir, f->name, 0); /* what it says last is not what this process does */
	else
		return true;
	return false;
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n > m && !strcmp(name + n - m, with);
}

/* Few are left for other files: none is to be opened. */
static int open_journal(const struct journals *j, const char *name)
{
	int fd = j->files.n < FILES_MAX ? regular_open_at(j->dir, name) : -EMFILE;
	struct rlimit most;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &most) || (rlim_t)fd + FILES_LEFT < most.rlim_cur)
		return fd;
	close(fd);
	return -EMFILE;
}

/* False: nothing was to be opened. */
static bool add(struct journals *j, const char *name, bool skip)
{
	struct file f = { .kind = ends(name, ".ring") ? RING : PUBLICATION };
	u64 hash = hash_bytes(name, strlen(name));

	if (strlen(name) >= NAME_MOST || (f.kind == PUBLICATION && !ends(name, ".process")) ||
	    map_get(&j->names, hash) == 1)
		return false;
	f.ring.fd = open_journal(j, name);
	if (f.ring.fd < 0) {
		if ((f.ring.fd == -EMFILE || f.ring.fd == -ENFILE) && !j->told_room)
			notify_warn(j->to,
				    "--activity=journal: there are more journals than can be open at a time "
				    "(%zu); the others are not read (ulimit -n)",
				    j->files.n);
		j->told_room |= f.ring.fd == -EMFILE || f.ring.fd == -ENFILE;
		return true;
	}
	strcpy(f.name, name);
	map_set(&j->names, hash, 1);
	if (!begin(j, &f)) {
		close(f.ring.fd);
		return true;
	}
	if (skip && f.begun && f.kind == RING)
		journal_ring_skip(&f.ring);
	vec_push(&j->files, f);
	return true;
}

/* Those of files that are gone are forgotten when there are many: new ones come as long as programs begin. */
static void forget_names(struct journals *j)
{
	map_free(&j->names);
	for (size_t i = 0; i < j->files.n; i++)
		map_set(&j->names, hash_bytes(j->files.v[i].name, strlen(j->files.v[i].name)), 1);
}

/* When a directory has changed last, its time tells to some milliseconds only. */
static bool may_have_new(struct journals *j, u64 now)
{
	struct stat st;
	u64 changed;

	if (fstat(j->dir, &st))
		return false;
	changed = (u64)st.st_mtim.tv_sec * 1000000000 + (u64)st.st_mtim.tv_nsec;
	if (changed != j->changed)
		j->changed_at = now;
	j->changed = changed;
	return j->looked_at < j->changed_at + LOOK_AGAIN_NS;
}

static void look_for_new(struct journals *j, bool first)
{
	u64 now = clock_ns();
	u32 opened = 0;
	struct dirent *e;
	DIR *d;
	int fd;

	if (!may_have_new(j, now) && !first)
		return;
	j->looked_at = now;
	if (j->names.n >= NAMES_MAX)
		forget_names(j);
	fd = openat(j->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return;
	for (u32 n = 0; n < 2 * NAMES_MAX && opened < (first ? FILES_MAX : OPENS_MAX) && (e = readdir(d)); n++)
		opened += *e->d_name != '.' && add(j, e->d_name, first);
	closedir(d);
	if (opened >= OPENS_MAX)
		j->changed_at = now; /* to be continued */
}

int journals_begin(struct journals **out, const char *dir, const struct notify *to)
{
	struct journals *j = mem_zalloc(sizeof(*j));
	int err = 0;

	*out = j;
	j->to = to;
	j->dir = -1;
	j->before = j->since = clock_ns();
	if (!dir)
		err = make_own(j);
	else if (!(j->path = realpath(dir, NULL))) /* as programs change their directories */
		j->path = mem_strdup(dir);
	err = err ? err : look_at_dir(j);
	if (!err)
		look_for_new(j, true);
	return err;
}

/* Programs that go on may make another file meanwhile. */
static void remove_own(struct journals *j)
{
	struct dirent *e;
	DIR *d = j->dir >= 0 ? fdopendir(j->dir) : NULL;
	int tries = 0;

	do {
		if (d)
			rewinddir(d);
		while (d && (e = readdir(d)))
			if (*e->d_name != '.')
				(void)unlinkat(j->dir, e->d_name, 0);
	} while (rmdir(j->path) && (errno == ENOTEMPTY || errno == EEXIST) && d && ++tries < 100);
	if (d)
		closedir(d);
	else if (j->dir >= 0)
		close(j->dir);
}

void journals_end(struct journals *j)
{
	if (!j)
		return;
	while (j->files.n)
		close_file(j, j->files.n - 1, false);
	if (j->own && j->path)
		remove_own(j);
	else if (j->dir >= 0)
		close(j->dir);
	free(j->path);
	map_free(&j->names);
	vec_free(&j->files);
	free(j);
}

/* ---- Samples ---- */

struct telling {
	struct journals *j;
	const struct journals_sink *to;
	struct bytes raw, records;
	int err;
};

static void flush(struct telling *t, size_t above)
{
	if (t->records.len <= above)
		return;
	t->err = t->err ? t->err : t->to->put(t->to->ctx, &t->records);
	t->records.len = 0;
}

struct said {
	enum activity_what what;
	enum activity_status status;
	u32 pid, tid;
	u64 image, time;
	const void *data;
	u32 size;
};

/* As the kernel would: raw data end at a multiple of 8, with their size in front of them. What is read later than its
 * round has a later time in its record, because records of two rounds ago are in order already. */
static void put(struct telling *t, const struct said *s)
{
	struct sample sample = { .has = t->to->layout->sample_type,
				 .misc = PERF_RECORD_MISC_USER,
				 .pid = s->pid,
				 .tid = s->tid,
				 .time = MAX(s->time, t->j->before),
				 .id = t->to->id };

	t->raw.len = 0;
	bytes_u8(&t->raw, ACTIVITY_VERSION);
	bytes_u8(&t->raw, (u8)s->what);
	bytes_u8(&t->raw, (u8)s->status);
	bytes_u8(&t->raw, 0);
	bytes_u32(&t->raw, s->size);
	bytes_u64(&t->raw, s->time);
	bytes_u64(&t->raw, s->image);
	bytes_put(&t->raw, s->data, s->size);
	while (t->raw.len % 8 != 4)
		bytes_u8(&t->raw, 0);
	sample.raw = t->raw.p;
	sample.raw_size = (u32)t->raw.len;
	(void)sample_encode(t->to->layout, &sample, &t->records);
	flush(t, FLUSH);
}

static void put_entry(struct telling *t, const struct journal_ring *r, const struct journal_entry *e)
{
	put(t, &(struct said){ .what = ACTIVITY_THREAD,
			       .status = e->size ? ACTIVITY_KNOWN : ACTIVITY_NONE,
			       .pid = r->head.pid,
			       .tid = e->tid,
			       .image = r->head.image,
			       .time = e->time,
			       .data = e->record,
			       .size = e->size });
}

/* From then on nobody knows what its thread works for. */
static void put_gap(struct telling *t, const struct journal_ring *r, u64 time)
{
	if (r->last.tid)
		put(t, &(struct said){ .what = ACTIVITY_THREAD,
				       .status = ACTIVITY_LOST,
				       .pid = r->head.pid,
				       .tid = r->last.tid,
				       .image = r->head.image,
				       .time = time });
}

/* How much is missing, which is of no thread. */
static void put_counts(struct telling *t, struct journal_ring *r)
{
	const u64 counts[] = { r->lost, r->refused };

	put(t, &(struct said){ .what = ACTIVITY_THREAD,
			       .status = ACTIVITY_LOST,
			       .pid = r->head.pid,
			       .image = r->head.image,
			       .time = clock_ns(),
			       .data = counts,
			       .size = sizeof(counts) });
	t->j->lost |= r->lost != 0;
	r->lost = r->refused = 0;
}

static void on_entry(void *ctx, const struct journal_ring *r, const struct journal_entry *entry, u64 time)
{
	if (entry)
		put_entry(ctx, r, entry);
	else
		put_gap(ctx, r, time);
}

/* It is not read now: until it is, nobody knows whether what it said last still holds. */
static void put_doubt(struct telling *t, struct file *f)
{
	if (f->kind != RING || f->ring.gap || f->ring.doubted)
		return;
	f->ring.doubted = true;
	put_gap(t, &f->ring, f->ring.certain);
}

/* False: it is none any more. */
static bool read_ring(struct telling *t, struct journal_ring *r)
{
	struct journal_entry still = r->last;
	u64 from = r->next;
	bool ok;

	if (r->doubted && !t->j->renew)
		still.time = r->certain;
	if (t->j->renew && r->gap)
		put_gap(t, r, r->certain);
	else if ((t->j->renew || r->doubted) && r->last.tid)
		put_entry(t, r, &still);
	r->doubted = false;
	ok = journal_ring_read(r, clock_ns, on_entry, t);
	if (r->lost | r->refused)
		put_counts(t, r);
	t->j->most = MAX(t->j->most, (u32)MIN((r->next - from) * 1000 / r->head.slots, 1000ull));
	return ok;
}

/* What is read while it is being changed is read again the next time. */
static bool read_publication(struct telling *t, struct file *f)
{
	u8 head[JOURNAL_PUBLISHED_AT], again[JOURNAL_PUBLISHED_AT], payload[ACTIVITY_PAYLOAD_MAX];
	struct journal_head h;
	u32 size;

	if (pread(f->ring.fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return false;
	if (!journal_publication_decode(head, &h) || (h.time == f->published && !t->j->renew))
		return true;
	size = h.size <= sizeof(payload) ? h.size : 0;
	if (pread(f->ring.fd, payload, size, JOURNAL_PUBLISHED_AT) != (ssize_t)size)
		return false;
	if (pread(f->ring.fd, again, sizeof(again), 0) != (ssize_t)sizeof(again) ||
	    memcmp(head, again, sizeof(again)) != 0)
		return true;
	/* Who it is was checked with its first head. */
	put(t, &(struct said){ .what = ACTIVITY_PROCESS,
			       .status = size == h.size ? ACTIVITY_KNOWN : ACTIVITY_BARE,
			       .pid = f->ring.head.pid,
			       .tid = f->ring.head.pid,
			       .image = f->ring.head.image,
			       .time = h.time,
			       .data = payload,
			       .size = size });
	f->published = h.time;
	return true;
}

/* ---- Readings ---- */

/* The newest image of each process, as a place in files. */
static void find_newest(const struct journals *j, struct map *newest)
{
	for (u32 i = 0; i < j->files.n; i++) {
		const struct file *f = &j->files.v[i];
		u32 *at = map_at(newest, f->ring.head.pid, i);

		if (f->begun && f->ring.head.image > j->files.v[*at].ring.head.image)
			*at = i;
	}
}

/* Those of processes that are gone, or have called exec. Before they are read: what is read after that is all. */
static void look_for_ended(struct journals *j)
{
	struct map newest = { 0 };
	u64 now = clock_ns();

	if (now < j->looked_for_ended + ENDED_NS)
		return;
	j->looked_for_ended = now;
	find_newest(j, &newest);
	for (u32 i = 0; i < j->files.n; i++) {
		struct file *f = &j->files.v[i];
		u32 pid = f->ring.head.pid;

		f->ended = f->begun && ((kill((pid_t)pid, 0) && errno == ESRCH) ||
					f->ring.head.image < j->files.v[map_get(&newest, pid)].ring.head.image);
	}
	map_free(&newest);
}

/* As many as time allows, beginning with one that had no turn the last time. Closed ones are followed by others in
 * their places. */
static void read_files(struct telling *t, u64 until)
{
	struct journals *j = t->j;
	size_t n = j->files.n;

	for (; n && (clock_ns() < until || j->renew); n--) {
		size_t at = j->turn < j->files.n ? j->turn : 0;
		struct file *f = &j->files.v[at];
		bool ok = begin(j, f);

		if (ok && f->begun)
			ok = f->kind == RING ? read_ring(t, &f->ring) : read_publication(t, f);
		if (!ok)
			put_doubt(t, f);
		j->turn = at + (ok && !f->ended);
		if (!ok || f->ended)
			close_file(j, at, ok);
	}
	for (; n; n--)
		put_doubt(t, &j->files.v[(j->turn + n - 1) % j->files.n]);
}

int journals_read(struct journals *j, const struct journals_sink *to, u64 most_ns)
{
	struct telling t = { .j = j, .to = to };

	j->before = j->since;
	j->since = clock_ns();
	j->most = 0;
	j->lost = false;
	look_for_new(j, false);
	look_for_ended(j);
	read_files(&t, j->since + most_ns);
	j->renew = false;
	flush(&t, 0);
	bytes_free(&t.raw);
	bytes_free(&t.records);
	return t.err;
}

/* Such that rings become a quarter full. */
int journals_timeout(const struct journals *j)
{
	u64 spent = (j->since - j->before) / 1000000 + 1;

	if (j->lost || j->most >= 1000)
		return LEAST_MS;
	if (!j->files.n || !j->most)
		return USUAL_MS;
	return (int)MAX(MIN(spent * 250 / j->most, (u64)USUAL_MS), (u64)LEAST_MS);
}
