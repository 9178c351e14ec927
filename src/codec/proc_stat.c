/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/proc_stat.h"

#include <stdlib.h>
#include <string.h>

#define COMM_MAX 15 /* bytes, TASK_COMM_LEN without its end */

/* Moves *p behind the next blank-separated word and returns its number; 0 at the end. */
static s64 next_number(const char **p, const char *end)
{
	s64 v;

	while (*p < end && **p == ' ')
		++*p;
	v = *p < end ? strtoll(*p, NULL, 10) : 0;
	while (*p < end && **p != ' ')
		++*p;
	return v;
}

bool proc_stat_parse(const char *text, size_t len, struct proc_stat *out)
{
	const char *open = memchr(text, '(', len), *close = open ? memrchr(text, ')', len) : NULL, *p,
		   *end = text + len;

	if (!close || close < open || end - close < 4)
		return false;
	out->comm = (struct str){ open + 1, (u32)MIN(close - open - 1, COMM_MAX) };
	p = close + 4; /* ") S " */
	out->ppid = (s32)next_number(&p, end);
	for (int i = 0; i < 4; i++) /* pgrp session tty tpgid */
		next_number(&p, end);
	out->flags = (u32)next_number(&p, end);
	for (int i = 0; i < 10; i++) /* four fault counts, four times, priority, nice */
		next_number(&p, end);
	out->threads = (u32)next_number(&p, end);
	next_number(&p, end); /* itrealvalue */
	out->start_ticks = (u64)next_number(&p, end);
	return true;
}
