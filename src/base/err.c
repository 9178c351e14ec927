/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
	[0] = "ok",
	[-ERR_IO] = "i/o error",
	[-ERR_TRUNCATED] = "truncated",
	[-ERR_FORMAT] = "bad format",
	[-ERR_UNSUPPORTED] = "unsupported",
	[-ERR_PERM] = "not permitted",
	[-ERR_NOTFOUND] = "not found",
	[-ERR_USAGE] = "usage",
	[-ERR_LIMIT] = "limit reached",
	[-ERR_INTERRUPTED] = "interrupted",
};

const char *err_name(int err)
{
	if (err > 0 || -err >= (int)ARRAY_LEN(names))
		return "unknown error";
	return names[-err];
}

int notify_at(const struct notify *to, enum note_level level, int err, const char *file, u64 offset, const char *fmt,
	      ...)
{
	char text[1024];
	va_list ap;

	if (!to || !to->fn)
		return err;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	to->fn(to->ctx, &(struct note){ level, err, file, offset, text, false });
	return err;
}
