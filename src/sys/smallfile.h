/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files of /proc and /sys, read whole. */
#ifndef SYS_SMALLFILE_H
#define SYS_SMALLFILE_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * Replaces what is in out by the contents of path (relative to dirfd, or AT_FDCWD) and a NUL that len does not count.
 * Negative errno when it cannot be opened or read; -EFBIG over limit bytes. No note is sent, because many such files
 * may be absent.
 */
int smallfile_read(int dirfd, const char *path, size_t limit, struct bytes *out);

/* The first line, without its newline, of a file of at most 4095 bytes. Caller frees; NULL when unreadable. */
char *smallfile_line(const char *path);

/* Reads a file that contains one number (decimal, or hexadecimal with 0x). false if it does not. */
bool smallfile_u64(const char *path, u64 *out);

#endif
