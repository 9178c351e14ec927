/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most of a report on a small recording is spent on what the last one found out as well: /proc/kallsyms is 5 MB of
 * text that the kernel unpacks anew for each reader, symbol tables are sorted whole, DWARF sections are unpacked
 * whole, and all that for a few thousand addresses. So the results are kept: a symbol table as blocks of which a
 * look-up reads one (stored.h), the answers of DWARF by address (dso_answers.c).
 *
 * Rules that make it safe to have:
 *
 *  - The key holds everything an entry depends on: the build id; device, inode, size and times of each file that was
 *    read; the boot, for the kernel; and the version of reticle. It is written into the entry and compared, so that
 *    names that meet by chance (a file's name is a hash of the key) find nothing rather than something else. There is
 *    no other rule of when an entry is out of date. Of a file that was changed just now nothing is kept: it may change
 *    once more within what its file system takes for the same time.
 *  - Only a directory that belongs to the user, and that nobody else may write to, is used, and it is made only in a
 *    directory of which the same is true (root may have been given the HOME of another user). The same goes for each
 *    file, which must be a regular one with no second name. It is opened relative to the directory, never through a
 *    link; ~/.cache may be one where HOME is the user's own. All are made private (0700, 0600), because the kernel's
 *    addresses are secrets where it says so.
 *  - Files appear whole, by rename. They are never changed, so a reader that has one open reads it to its end.
 *  - Each block of an entry carries a checksum, and is read through a cursor all the same: a checksum tells accidents,
 *    not malice. What does not add up is worked out anew, and kept in the place of what was damaged.
 *  - All entries together have a limit; those that were not used for longest go. A use counts once a day.
 *
 * Layout of a file, in this machine's byte order: magic, version of the format, length of the key, size of the body
 * (u64), checksum of the four with the key (u64), the key, the body.
 */
#include "state/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"

#define MAGIC 0x31636e7973746572ull /* "retsync1", which another byte order does not read as such */
#define FORMAT 2u
#define HEAD 32u
#define LARGEST_KEY 4096u
#define LIMIT_BYTES (256ull << 20)
#define LIMIT_FILES 4096u
#define DAY 86400
#define STALE_TEMPORARY 3600 /* seconds after which a file that was not finished is somebody's who died */
#define MOST_OPEN 200u	     /* entries: there may be a thousand, and as few descriptors */
#define SETTLED_AFTER 2	     /* seconds: the coarsest times that file systems keep */
#define TEMPORARY ".new-"
#define MOST_TEMPORARIES 256u /* names that are tried for one */

struct cache {
	int dir;
	struct cache_limits limits;
	_Atomic u64 grown; /* bytes since room was made */
	atomic_uint added; /* also makes the names of unfinished files differ */
	atomic_uint open;  /* entries that keep a descriptor */
};

static bool is_ours(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_dir_at(int at, const char *name, int flags)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
}

/* `name` in the directory `parent`, which is closed; ours, or -1. It is made only where the parent is ours, too: root
 * with the HOME of somebody else leaves nothing there that its owner could not use. */
static int open_ours(int parent, const char *name, int flags)
{
	struct stat st;
	int fd;

	if (parent < 0)
		return -1;
	fd = open_dir_at(parent, name, flags);
	if (fd < 0 && errno == ENOENT && !fstat(parent, &st) && is_ours(&st, S_IFDIR) && !mkdirat(parent, name, 0700))
		fd = open_dir_at(parent, name, flags);
	close(parent);
	if (fd >= 0 && (fstat(fd, &st) || !is_ours(&st, S_IFDIR))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_dir(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int parent = -1, at;
	struct stat st;
	bool own;

	if (base && *base == '/') {
		parent = open_dir_at(AT_FDCWD, base, 0);
	} else if (home && *home == '/') {
		/* Where a link of somebody else leads to is theirs to choose. */
		at = open_dir_at(AT_FDCWD, home, 0);
		own = at >= 0 && !fstat(at, &st) && is_ours(&st, S_IFDIR);
		parent = open_ours(at, ".cache", own ? 0 : O_NOFOLLOW);
	}
	return open_ours(parent, "reticle", O_NOFOLLOW);
}

struct cache *cache_new(const struct cache_limits *limits)
{
	int dir = open_dir();
	struct cache *c;

	if (dir < 0)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->dir = dir;
	c->limits = limits ? *limits : (struct cache_limits){ LIMIT_BYTES, LIMIT_FILES };
	return c;
}

struct kept_file {
	char name[CACHE_NAME];
	u64 size;
	struct timespec used;
};

static int by_use(const void *va, const void *vb)
{
	const struct kept_file *a = va, *b = vb;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? 1 : -1;
	return a->used.tv_nsec < b->used.tv_nsec ? 1 : a->used.tv_nsec > b->used.tv_nsec ? -1 : 0;
}

/* Lets go of what was not used for longest, until the rest is within the limits. */
static void make_room(struct cache *c)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	VEC(struct kept_file) files = { 0 };
	const struct dirent *e;
	s64 now = time(NULL);
	struct stat st;
	u64 bytes = 0;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)) != NULL) {
		struct kept_file f = { .size = 0 };

		if (strlen(e->d_name) >= CACHE_NAME || fstatat(c->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (!strncmp(e->d_name, TEMPORARY, strlen(TEMPORARY))) {
			if (now - st.st_mtime > STALE_TEMPORARY)
				unlinkat(c->dir, e->d_name, 0);
			continue;
		}
		memcpy(f.name, e->d_name, strlen(e->d_name) + 1);
		f.size = (u64)st.st_size;
		f.used = st.st_mtim;
		vec_push(&files, f);
	}
	if (d)
		closedir(d);
	if (files.n)
		qsort(files.v, files.n, sizeof(*files.v), by_use);
	for (size_t i = 0; i < files.n; i++) {
		bytes += files.v[i].size;
		if (bytes > c->limits.bytes || i >= c->limits.files)
			unlinkat(c->dir, files.v[i].name, 0);
	}
	vec_free(&files);
}

void cache_trim(struct cache *c)
{
	if (c && c->added)
		make_room(c);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	cache_trim(c);
	close(c->dir);
	free(c);
}

static void name_of(enum cache_kind kind, const struct bytes *key, char name[CACHE_NAME])
{
	snprintf(name, CACHE_NAME, "%c%016llx%016llx", (char)kind,
		 (unsigned long long)hash_bytes_by(FORMAT, key->p, key->len),
		 (unsigned long long)hash_bytes_by(~(u64)kind, key->p, key->len));
}

static void put_head(struct bytes *out, const struct bytes *key, u64 body)
{
	struct bytes sum = { 0 };

	bytes_u64(&sum, MAGIC);
	bytes_u32(&sum, FORMAT);
	bytes_u32(&sum, (u32)key->len);
	bytes_u64(&sum, body);
	bytes_put(out, sum.p, sum.len);
	bytes_put(&sum, key->p, key->len);
	bytes_u64(out, hash_stable(sum.p, sum.len));
	bytes_put(out, key->p, key->len);
	bytes_free(&sum);
}

static bool read_at(int fd, u64 at, void *to, size_t size)
{
	u8 *p = to;

	while (size) {
		ssize_t n = pread(fd, p, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += (u64)n;
		size -= (size_t)n;
	}
	return true;
}

/* Is it the head that the writer of this key would have written? */
static bool has_head(int fd, const struct bytes *key, u64 size)
{
	u8 there[HEAD + LARGEST_KEY];
	struct bytes want = { 0 };
	bool same;

	if (size < HEAD + key->len || !read_at(fd, 0, there, HEAD + key->len))
		return false;
	put_head(&want, key, size - HEAD - key->len);
	same = !memcmp(want.p, there, want.len);
	bytes_free(&want);
	return same;
}

bool cache_has(const struct cache *c, enum cache_kind kind, const struct bytes *key)
{
	char name[CACHE_NAME];

	if (!c || key->len > LARGEST_KEY)
		return false;
	name_of(kind, key, name);
	return !faccessat(c->dir, name, R_OK, AT_SYMLINK_NOFOLLOW);
}

bool cache_has_any(const struct cache *c, enum cache_kind kind)
{
	int fd = c ? openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	bool any = false;

	if (!d && fd >= 0)
		close(fd);
	while (d && !any && (e = readdir(d)) != NULL)
		any = e->d_name[0] == (char)kind;
	if (d)
		closedir(d);
	return any;
}

/* A file that is ours, or -1. */
static int open_entry(const struct cache *c, const char *name, struct stat *st)
{
	int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	/* It has no name any more when another one was put in its place since, and is as good. */
	if (fd >= 0 && (fstat(fd, st) || !is_ours(st, S_IFREG) || st->st_nlink > 1)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int cache_find(struct cache *c, enum cache_kind kind, const struct bytes *key, struct cache_entry *out)
{
	char name[CACHE_NAME];
	struct stat st;
	int fd;

	if (!c || key->len > LARGEST_KEY)
		return ERR_NOTFOUND;
	name_of(kind, key, name);
	fd = open_entry(c, name, &st);
	if (fd < 0)
		return ERR_NOTFOUND;
	if (st.st_size > 2ll * CACHE_LARGEST || !has_head(fd, key, (u64)st.st_size)) {
		close(fd);
		return ERR_FORMAT;
	}
	if (time(NULL) - st.st_mtime > DAY)
		futimens(fd, NULL);
	*out = (struct cache_entry){
		.fd = fd, .at = HEAD + key->len, .size = (u64)st.st_size - HEAD - key->len, .cache = c
	};
	memcpy(out->name, name, sizeof(name));
	atomic_fetch_add(&c->open, 1);
	return 0;
}

bool cache_entry_read(const struct cache_entry *e, u64 at, void *to, size_t size)
{
	struct stat st;
	bool fine;
	int fd;

	if (at > e->size || size > e->size - at)
		return false;
	if (e->fd >= 0)
		return read_at(e->fd, e->at + at, to, size);
	fd = e->cache ? open_entry(e->cache, e->name, &st) : -1;
	fine = fd >= 0 && read_at(fd, e->at + at, to, size);
	if (fd >= 0)
		close(fd);
	return fine;
}

void cache_entry_rest(struct cache_entry *e)
{
	if (e->cache && atomic_load(&e->cache->open) > MOST_OPEN)
		cache_entry_close(e);
}

void cache_entry_close(struct cache_entry *e)
{
	if (e->fd < 0)
		return;
	close(e->fd);
	e->fd = -1;
	if (e->cache)
		atomic_fetch_sub(&e->cache->open, 1);
}

static bool write_all(int fd, const struct bytes *b)
{
	size_t at = 0;

	while (at < b->len) {
		ssize_t n = write(fd, b->p + at, b->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/*
 * A new file that is not yet an entry, open for writing, or -1. Its name is only made of this process and a count,
 * which another cache of the same process, or a process of the same number in a container, may use as well: then the
 * next one.
 */
static int open_temporary(struct cache *c, char name[CACHE_NAME])
{
	int fd = -1;

	for (u32 tries = 0; fd < 0 && tries < MOST_TEMPORARIES; tries++) {
		snprintf(name, CACHE_NAME, TEMPORARY "%d-%u", (int)getpid(), atomic_fetch_add(&c->added, 1));
		fd = openat(c->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

bool cache_keep(struct cache *c, enum cache_kind kind, const struct bytes *key, const struct bytes *body)
{
	char name[CACHE_NAME], temporary[CACHE_NAME];
	struct bytes head = { 0 };
	bool fine;
	int fd;

	if (!c || key->len > LARGEST_KEY || body->len > CACHE_LARGEST)
		return false;
	name_of(kind, key, name);
	fd = open_temporary(c, temporary);
	if (fd < 0)
		return false;
	put_head(&head, key, body->len);
	fine = write_all(fd, &head) && write_all(fd, body);
	fine = !close(fd) && fine;
	bytes_free(&head);
	fine = fine && !renameat(c->dir, temporary, c->dir, name);
	if (!fine)
		unlinkat(c->dir, temporary, 0);
	if (atomic_fetch_add(&c->grown, body->len) + body->len > c->limits.bytes / 2) {
		atomic_store(&c->grown, 0);
		make_room(c);
	}
	return fine;
}

void cache_drop_unfinished(struct cache *c, pid_t pid)
{
	int fd = c ? openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	char begin[CACHE_NAME];

	if (!d && fd >= 0)
		close(fd);
	snprintf(begin, sizeof(begin), TEMPORARY "%d-", (int)pid);
	while (d && (e = readdir(d)) != NULL)
		if (!strncmp(e->d_name, begin, strlen(begin)))
			unlinkat(c->dir, e->d_name, 0);
	if (d)
		closedir(d);
}

static void put_stat(struct bytes *key, const struct stat *st)
{
	bytes_u64(key, st->st_dev);
	bytes_u64(key, st->st_ino);
	bytes_u64(key, (u64)st->st_size);
	bytes_u64(key, (u64)st->st_mtim.tv_sec);
	bytes_u64(key, (u64)st->st_mtim.tv_nsec);
	bytes_u64(key, (u64)st->st_ctim.tv_sec);
	bytes_u64(key, (u64)st->st_ctim.tv_nsec);
}

bool cache_key_file(struct bytes *key, int fd, s64 now)
{
	struct stat st = { 0 };
	bool there = fd >= 0 && !fstat(fd, &st);

	if (!there)
		st = (struct stat){ 0 };
	put_stat(key, &st);
	return fd < 0 || (there && st.st_ctim.tv_sec + SETTLED_AFTER <= now);
}
