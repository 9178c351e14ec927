/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text behind an option that has a grammar of its own, such as --window short=300 or --pmu=sim,seed=1, while it is
 * parsed: the part that is looked at, its meaning as a number or as one of several names, and the note that shows
 * where it is wrong.
 */
#ifndef BASE_OPTEXT_H
#define BASE_OPTEXT_H

#include "base/mistake.h"

struct optext {
	const char *text; /* all of it */
	struct str at;	  /* the part that is looked at: a value, or the word where there is none */
	const struct notify *to;
};

static inline bool str_is(struct str s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.p, word, s.len);
}

/* All of s as a decimal number of at most max. */
bool str_number(struct str s, u64 max, u64 *out);
/* "A<sep>B" in two halves, which are parts of s. False, and nothing is set, when s has no such character. */
bool str_split(struct str s, char sep, struct str *a, struct str *b);

/* Notes that the part is wrong: `head`, the text with carets below the part, the near names and the hint, both of
 * which may be NULL. Returns ERR_USAGE. */
int optext_fail(const struct optext *t, const struct near *near, const char *hint, const char *head);
/*
 * Which of the n names the part is; row i's name stands at names + i * stride, so that a table's own rows will do.
 * *out: its index. ERR_USAGE, noted with `head`, and with all the names behind `lead`, such as "cores: ".
 */
int optext_choose(const struct optext *t, const char *const *names, size_t stride, u32 n, const char *head,
		  const char *lead, u32 *out);

#endif
