/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a command's result goes: standard output, or a file that appears under its name only when it is complete, so
 * that a failure leaves an older one as it was.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/sanitized.h"

struct output {
	bool owner_only;    /* nobody else may read the file; set this after output_open */
	struct bytes bytes; /* write into this */
	const char *path;   /* NULL: standard output */
	char *temporary;    /* NULL: written in place, as for devices and pipes */
	int fd;
};

/* If path is NULL or "-", the output is standard output. Returns 0, or ERR_IO, which is noted. */
int output_open(struct output *o, const char *path, const struct notify *to);
/* Opens the file itself, so that others can read it while it grows. With behind, the output is appended to what the
 * file holds; otherwise it replaces that. Returns 0, or ERR_IO, which is noted. */
int output_append(struct output *o, const char *path, bool behind, const struct notify *to);
/* Checks, before long work begins, that output_open would succeed. It leaves no file behind. Returns 0, or ERR_IO,
 * which is noted. */
int output_check(const char *path, const struct notify *to);
/* Would both replace, or write into, one file? Both are open. */
bool output_same(const struct output *a, const struct output *b);
/* Writes out what is in bytes; the file does not appear yet. Returns 0, or ERR_IO, which is noted as by output_close;
 * then only output_drop may follow. */
int output_flush(struct output *o, const struct notify *to);
/* Finishes the file. On ERR_IO no file is left behind. The error is noted, unless the output is a pipe that nobody
 * reads any more. */
int output_close(struct output *o, const struct notify *to);
/* Ends it without a result: an older file stays as it was. */
void output_drop(struct output *o);

/* The size of the terminal fd. Both are 0 if fd is no terminal, or the terminal does not tell its size. */
void terminal_size(int fd, u32 *rows, u32 *columns);

/*
 * Is memory to be given back although the process ends next? The kernel takes it back faster than thousands of
 * free()s; only leak checkers want to see them.
 */
#define CMD_FREES SANITIZED

#endif
