/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a recording and reads everything in it, down to the last array element, as the commands together would. */
#ifndef UNIT_WALK_H
#define UNIT_WALK_H

#include "read/source.h"

struct walked {
	int err;	 /* of source_open */
	u32 errors;	 /* notes of level error */
	u32 warnings;	 /* and below */
	char first[256]; /* the first note's text */
	bool names_file; /* every note so far that was an error named the file */
	u64 records, samples, undecodable;
	u64 bad; /* where the last whole record ends, NO_OFFSET when that is the end */
	u64 left_out;
	u64 arena_bytes;
	u64 sum; /* over what was read, so that reading is not optimised away */
};

struct walked walk(const char *path);

/* A file without a name, for recordings made in memory. */
struct memory_file {
	int fd;
	char path[64];
};

struct memory_file memory_file(const void *p, size_t n);
void memory_file_set(const struct memory_file *f, u64 at, const void *p, size_t n);
void memory_file_cut(const struct memory_file *f, u64 size);
void memory_file_close(struct memory_file *f);

#endif
