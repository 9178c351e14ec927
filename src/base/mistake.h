/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a wrong word in an option's text: the text, carets under the place, and what is near to it. */
#ifndef BASE_MISTAKE_H
#define BASE_MISTAKE_H

#include "base/bytes.h"
#include "base/err.h"

/* The nearest few of the names that were offered. */
struct near {
	struct str want;
	struct {
		char name[64];
		u32 distance;
	} best[4];
	u32 n;
};
void near_offer(struct near *n, const char *name);

struct mistake {
	const char *text; /* all of it; NULL: no place is shown */
	struct str at;	  /* what is wrong there */
	const struct near *near;
	const char *hint; /* a line behind all else; both may be NULL */
};
/* Notes `head`, the text with carets, the near names and the hint. Returns err. */
int mistake_note(const struct mistake *m, int err, const char *head, const struct notify *to);

#endif
