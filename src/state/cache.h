/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol cache: what was worked out of large files once, in files of $XDG_CACHE_HOME/reticle (~/.cache/reticle).
 *
 * An entry is found by its key, which says all that the entry was made from: when any of that changes, the key does.
 * Whether a cache is there changes how long things take, never what comes out, but for symbols of files that could be
 * found only while they were recorded (dsos_keep_build). See cache.c for what is held against damage and against
 * others.
 */
#ifndef STATE_CACHE_H
#define STATE_CACHE_H

#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"

struct cache;

enum cache_kind { CACHE_SYMBOLS = 's', CACHE_LINES = 'l', CACHE_KERNEL = 'k' };

#define CACHE_NAME 40 /* bytes of an entry's file name */

/* An entry that was found. One with a cache may be without its descriptor (cache_entry_rest). */
struct cache_entry {
	int fd;
	u64 at, size; /* where its bytes lie in the file */
	struct cache *cache;
	char name[CACHE_NAME];
};

/* A body larger than this is not kept. */
#define CACHE_LARGEST (64u << 20)

/* How much is kept at most, of all entries together. */
struct cache_limits {
	u64 bytes;
	u32 files;
};

/* NULL: there is no place for one, or the place is not ours alone. Makes the directory. limits: NULL for the usual
 * ones. */
struct cache *cache_new(const struct cache_limits *limits);
/* When something was added, removes what is more than the limits. For when nobody adds any more, as in cache_free. */
void cache_trim(struct cache *c);
void cache_free(struct cache *c);

/* Every function takes a NULL cache: nothing is found, nothing is kept. Thread-safe. */

/* Is an entry there? Its bytes are not looked at. */
bool cache_has(const struct cache *c, enum cache_kind kind, const struct bytes *key);
/* Is any entry of that kind there? */
bool cache_has_any(const struct cache *c, enum cache_kind kind);
/* 0 or ERR_*. The bytes are as they were on the disk: whoever reads them checks them. */
int cache_find(struct cache *c, enum cache_kind kind, const struct bytes *key, struct cache_entry *out);
/* Adds it, or puts it in the place of another. False: it could not be written, and is not kept. */
bool cache_keep(struct cache *c, enum cache_kind kind, const struct bytes *key, const struct bytes *body);
/* Removes what a process began to write that was killed since. */
void cache_drop_unfinished(struct cache *c, pid_t pid);

/* Bytes [at, at + size) of an entry into `to`, if they are all there. Thread-safe. */
bool cache_entry_read(const struct cache_entry *e, u64 at, void *to, size_t size);
/* It will be read now and then: where many entries are open, this one is opened anew for each read. By then it may be
 * another one of that name, or gone. */
void cache_entry_rest(struct cache_entry *e);
void cache_entry_close(struct cache_entry *e); /* before its cache is freed */

/*
 * What an open file is and when it was changed last: part of a key. fd -1: none. False: it was changed so short a time
 * before `now` (seconds since 1970) that a change to come may get the same time: then nothing may be kept of it.
 */
bool cache_key_file(struct bytes *key, int fd, s64 now);

#endif
