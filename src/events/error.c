/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a wrong event. */
#include <stdarg.h>
#include <stdio.h>

#include "events/parse.h"

int event_fail(struct event_ctx *c, int err, span at, const struct near *near, const char *hint, const char *fmt, ...)
{
	const struct mistake m = { c->text, at, near, hint };
	char head[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	return mistake_note(&m, err, head, c->to);
}
