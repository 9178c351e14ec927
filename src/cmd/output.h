/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a command's result goes: standard output, or a file that appears under its name only when it is complete, so
 * that a failure leaves an older one as it was.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/bytes.h"
#include "base/err.h"

struct output {
	bool owner_only;    /* nobody else may read the file: set it once it is open */
	struct bytes bytes; /* write into this */
	const char *path;   /* NULL: standard output */
	char *temporary;    /* NULL: written in place, as for devices and pipes */
	int fd;
};

/* path NULL or "-": standard output. ERR_IO, noted. */
int output_open(struct output *o, const char *path, const struct notify *to);
/* The file itself, which others may read as it grows: behind what it holds, or in its place. ERR_IO, noted. */
int output_append(struct output *o, const char *path, bool behind, const struct notify *to);
/* Would output_open do, after long work? Nothing is left behind. ERR_IO, noted. */
int output_check(const char *path, const struct notify *to);
/* Finishes the file. On ERR_IO, noted unless it is a pipe that nobody reads any more, nothing is left behind. */
int output_close(struct output *o, const struct notify *to);
/* Ends it without a result: an older file stays as it was. */
void output_drop(struct output *o);

/* The size of the terminal that fd is; 0 where there is none, or it does not say. */
void terminal_size(int fd, u32 *rows, u32 *columns);

/*
 * Is memory to be given back although the process ends next? The kernel takes it back faster than thousands of
 * free()s; only leak checkers want to see them.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CMD_FREES 1
#elif defined(__has_feature)
#define CMD_FREES (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define CMD_FREES 0
#endif

#endif
