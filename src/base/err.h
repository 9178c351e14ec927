/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors and notes.
 *
 * Library code (everything below cmd/) returns 0 or a negative enum err, never prints and never exits. A message for
 * the user goes to the caller's notifier, once, from the place where the cause is known; the error code is then
 * returned unchanged through all callers. A message is lower case, says first what failed and then what can be done
 * about it, and has no trailing newline.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/types.h"

enum err {
	ERR_IO = -1,	      /* the system refused; the note says why (errno) */
	ERR_TRUNCATED = -2,   /* the input ends in the middle of something */
	ERR_FORMAT = -3,      /* the input contradicts its own format */
	ERR_UNSUPPORTED = -4, /* valid, but not known to this version or this build */
	ERR_PERM = -5,	      /* not allowed; the note says what would allow it */
	ERR_NOTFOUND = -6,    /* the thing asked for does not exist */
	ERR_USAGE = -7,	      /* the command line or an option's text is wrong */
	ERR_LIMIT = -8,	      /* a stated limit was reached */
	ERR_INTERRUPTED = -9, /* a signal asked to stop */
};

/* "truncated", "bad format"...; "ok" for 0. Static string. */
const char *err_name(int err);

enum note_level { NOTE_ERROR, NOTE_WARNING, NOTE_INFO };

#define NO_OFFSET UINT64_MAX

struct note {
	enum note_level level;
	int err;	  /* enum err, or 0 */
	const char *file; /* the input concerned, or NULL */
	u64 offset;	  /* byte offset in it, or NO_OFFSET */
	const char *text; /* valid during the call only */
	bool lines; /* text has several lines, and all newlines are ours; otherwise a newline in it comes from a name
		     */
};

/* Where notes go. A NULL notifier, or a NULL fn, drops them. fn may be called from several threads at once. */
struct notify {
	void (*fn)(void *ctx, const struct note *note);
	void *ctx;
};

/* Sends a formatted note and returns err, so that a failing function can `return notify_at(...)`. */
int notify_at(const struct notify *to, enum note_level level, int err, const char *file, u64 offset, const char *fmt,
	      ...) PRINTF_LIKE(6, 7);

#define notify_error(to, err, ...) notify_at(to, NOTE_ERROR, err, NULL, NO_OFFSET, __VA_ARGS__)
#define notify_warn(to, ...) ((void)notify_at(to, NOTE_WARNING, 0, NULL, NO_OFFSET, __VA_ARGS__))

#endif
