/* SPDX-License-Identifier: Apache-2.0 */
/* The message about a wrong word in an option's text: the text, carets under the wrong part, and similar names. */
#ifndef BASE_MISTAKE_H
#define BASE_MISTAKE_H

#include "base/bytes.h"
#include "base/err.h"

/* The few names, of those that were offered, that are most similar. */
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
	const char *text; /* the whole text; NULL: no place is shown */
	struct str at;	  /* the wrong part of it */
	const struct near *near;
	const char *hint; /* the last line; near and hint may be NULL */
};
/* Notes `head`, the text with carets, the similar names and the hint. Returns err. */
int mistake_note(const struct mistake *m, int err, const char *head, const struct notify *to);

#endif
