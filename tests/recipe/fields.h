/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of each kind of line, as rows: which member of which struct a key sets, and how its value is written. */
#ifndef RECIPE_FIELDS_H
#define RECIPE_FIELDS_H

#include "codec/record.h"
#include "codec/sample.h"
#include "recipe/line.h"

enum field_kind {
	FIELD_NUMBER, /* an integer of the member's size */
	FIELD_LIST,   /* struct u64s */
	FIELD_CURSOR, /* struct cursor over a list of u64 */
	FIELD_FLAG,   /* bool, set by naming it */
};

struct field {
	const char *key;
	enum field_kind kind;
	u16 offset, size;
	const struct value_name *names;
};

struct record_row {
	const char *word;
	u32 type;
	struct field fields[14];
	u16 text; /* offset of the struct str that takes the quoted text; 0: none */
};

extern const struct record_row record_rows[];
extern const u32 nr_record_rows;
extern const struct field sample_fields[]; /* end with a NULL key */
extern const struct field sid_fields[];
extern const struct field attr_fields[];
extern const struct value_name misc_names[], context_names[];

/* Sets the member of base that key names. False when no row has the key; *bad when its value is not understood. */
bool field_set(const struct field *rows, void *base, const char *key, const char *value, struct arena *arena,
	       bool *bad);

#endif
