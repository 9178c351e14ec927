/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a recipe: WORD key=value flag "text". And values: numbers, names joined with |, lists joined with commas.
 */
#ifndef RECIPE_LINE_H
#define RECIPE_LINE_H

#include "base/arena.h"
#include "base/cursor.h"

#define LINE_WORDS 48

struct line {
	const char *word;
	struct {
		const char *key, *value; /* value is NULL for a flag */
	} args[LINE_WORDS];
	u32 n;
	struct str text; /* the quoted one, unescaped; p is NULL without one */
};

struct value_name {
	const char *name;
	u64 value;
};

/* False when the line is not well-formed. All text lives in the arena. */
bool line_split(struct line *l, const char *s, size_t len, struct arena *arena);
/* 12, 0x1f, -1, or names and numbers joined with |. names end with a NULL name; may be NULL. */
bool value_number(const char *s, const struct value_name *names, u64 *out);
/* 1,2,0x3 */
bool value_list(const char *s, const struct value_name *names, struct arena *arena, struct u64s *out);
/* 0a0bff */
bool value_hex(const char *s, struct arena *arena, struct str *out);

#endif
