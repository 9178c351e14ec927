/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing the value of an option that has its own grammar, such as --window short=300 or --pmu=sim,seed=1: the current
 * part, its meaning as a number or as one of several names, and the note that shows where it is wrong.
 */
#ifndef BASE_OPTEXT_H
#define BASE_OPTEXT_H

#include "base/mistake.h"

struct optext {
	const char *text; /* all of it */
	struct str at;	  /* the current part: a value, or the word if it has no value */
	const struct notify *to;
};

static inline bool str_is(struct str s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.p, word, s.len);
}

/* Reads all of s as a decimal number of at most max. */
bool str_number(struct str s, u64 max, u64 *out);
/* Splits "A<sep>B" into two halves, which point into s. False if s has no such character; nothing is set then. */
bool str_split(struct str s, char sep, struct str *a, struct str *b);

/* Notes that the current part is wrong: `head`, the text with carets below the part, the similar names and the hint
 * (the last two may be NULL). Returns ERR_USAGE. */
int optext_fail(const struct optext *t, const struct near *near, const char *hint, const char *head);
/*
 * Finds which of the n names the current part is, and sets *out to its index. The name of row i is at names + i *
 * stride, so a table's own rows can be used. Otherwise ERR_USAGE, noted with `head`, and with all the names after
 * `lead`, such as "cores: ".
 */
int optext_choose(const struct optext *t, const char *const *names, size_t stride, u32 n, const char *head,
		  const char *lead, u32 *out);

#endif
