/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: everything that a table can show about a profile's row: a value, or the value of a key. Text, CSV and JSON
 * are rendered from the same tables: values have their rows in agg/columns.c, and keys in agg/keys.c.
 */
#ifndef AGG_COLUMNS_H
#define AGG_COLUMNS_H

#include "agg/profile.h"
#include "base/bytes.h"

/* Values come first; then there is a column for each key. */
enum column_id {
	COLUMN_OVERHEAD, /* self weight */
	COLUMN_CHILDREN, /* weight with callees */
	COLUMN_KERNEL,	 /* self weight by mode of the CPU (agg/cpu_modes.h) */
	COLUMN_USER,
	COLUMN_GUEST_KERNEL,
	COLUMN_GUEST_USER,
	COLUMN_SAMPLES,
	COLUMN_PERIOD,
	COLUMN_WEIGHT_MEAN, /* of the samples' own weights (agg/weights.h) */
	COLUMN_WEIGHT_P50,
	COLUMN_WEIGHT_P99,
	COLUMN_WEIGHT_MAX,
	NR_VALUE_COLUMNS,
	COLUMN_COMM = NR_VALUE_COLUMNS + SORT_COMM,
	COLUMN_EVENT = NR_VALUE_COLUMNS + SORT_EVENT,
	COLUMN_PARENT = NR_VALUE_COLUMNS + SORT_PARENT,
	COLUMN_DSO = NR_VALUE_COLUMNS + SORT_DSO,
	COLUMN_SYMBOL = NR_VALUE_COLUMNS + SORT_SYMBOL,
	NR_COLUMNS = NR_VALUE_COLUMNS + MAX_KEYS
};

enum column_type {
	COLUMN_PERCENT, /* number() is a weight; tables show it as a share of the event's whole */
	COLUMN_NUMBER,	/* right-aligned in tables */
	COLUMN_TEXT,	/* left-aligned */
};

_Static_assert(sizeof(((struct profile *)0)->row_order) >= NR_COLUMNS, "each column may be one to sort by");

#define COLUMN_UNKNOWN UINT64_MAX

/* A row with its context, as passed to getters. */
struct row_view {
	const struct profile *profile;
	const struct profile_event *event;
	const struct row *row;
	bool long_names; /* DSOs by their paths */
};

/* value: the row's value of the key, if the column belongs to a key. */
struct column {
	const char *name;   /* its name in --sort and --fields */
	const char *other;  /* another name that perf accepts for the same, or NULL */
	const char *key;    /* in JSON and CSV */
	const char *header; /* in tables, as perf has it */
	enum column_type type;
	u8 width; /* least width in tables */
	/* A number in JSON and CSV; COLUMN_UNKNOWN: null in JSON, nothing in CSV. */
	u64 (*number)(const struct row_view *v, u64 value);
	/* If it is not a number: raw bytes, which the renderer has to escape. */
	void (*text)(const struct row_view *v, u64 value, struct bytes *out);
	/* How tables show it if that is different ("[k] schedule", " 12:sh"); NULL: as number or text. */
	void (*label)(const struct row_view *v, u64 value, struct bytes *out);
	bool of_row;  /* the label depends on more of the row than the value */
	u32 measures; /* bits of the measures that have to be in use (agg/measure.h) */
};

/* id: enum column_id, below NR_COLUMNS. Names of fields' columns are in the profile: column_header, column_json. */
const struct column *column_get(u32 id);
u64 column_number(u32 id, const struct row_view *v);
void column_text(u32 id, const struct row_view *v, struct bytes *out);
void column_label(u32 id, const struct row_view *v, struct bytes *out);

/* Its header in tables, and its key in JSON and CSV. */
const char *column_header(const struct profile *p, u32 id);
const char *column_json(const struct profile *p, u32 id);

/* Finds a column by its name or its other name (sym, command, sample ...); ID_NONE if there is none. */
u32 column_find(const char *name, size_t len);

/* Does the column belong to a key, and to which? */
static inline bool column_is_key(u32 id)
{
	return id >= NR_VALUE_COLUMNS && id < NR_COLUMNS;
}
static inline u32 column_key(u32 id)
{
	return id - NR_VALUE_COLUMNS;
}
static inline u32 column_of_key(u32 sort_key)
{
	return NR_VALUE_COLUMNS + sort_key;
}

/* 100 * part / whole; 0 when the whole is 0. */
double share_of(u64 part, u64 whole);

#endif
