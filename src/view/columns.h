/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: one row per thing that a table can show of a profile row. Text, CSV and JSON render from the same rows, so
 * a new column is one line here and a getter.
 */
#ifndef VIEW_COLUMNS_H
#define VIEW_COLUMNS_H

#include "agg/group_rows.h"
#include "base/bytes.h"

enum column_id {
	COLUMN_OVERHEAD, /* self weight */
	COLUMN_CHILDREN, /* weight with callees */
	COLUMN_SAMPLES,
	COLUMN_PERIOD,
	COLUMN_COMM,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_CPU,
	COLUMN_TIME,
	COLUMN_EVENT,
	COLUMN_PARENT,
	COLUMN_DSO,
	COLUMN_SYMBOL,
	COLUMN_SRCLINE,
	NR_COLUMNS
};

enum column_type {
	COLUMN_PERCENT, /* number() is a weight; tables show it as a share of the event's whole */
	COLUMN_NUMBER,	/* right-aligned in tables */
	COLUMN_TEXT,
};

#define COLUMN_UNKNOWN UINT64_MAX

/* A row in its surroundings: what getters are handed. */
struct row_view {
	struct profile *profile;
	struct profile_event *event;
	const struct row *row;
	const double *windows;	       /* the row's block (agg/window_sums.h), or NULL */
	const struct group_line *line; /* of which row stands for all members, or NULL */
	bool long_names;	       /* DSOs by their paths */
};

struct column {
	const char *name;   /* what --sort and --fields call it */
	const char *key;    /* in JSON and CSV */
	const char *header; /* in tables, as perf has it */
	enum column_type type;
	u8 width;				 /* least width in tables */
	s32 sort_key;				 /* enum sort_key, or -1: a value */
	u64 (*number)(const struct row_view *v); /* or COLUMN_UNKNOWN: null in JSON, nothing in CSV */
	/* Raw bytes of a TEXT column, for the renderer to escape. */
	void (*text)(const struct row_view *v, struct bytes *out);
	/* How tables write it when that differs ("[k] schedule", "  12:sh"); NULL: as number or text. */
	void (*label)(const struct row_view *v, struct bytes *out);
};

extern const struct column columns[NR_COLUMNS];

/* By name or an accepted other spelling (sym, symbol, command, sample ...); ID_NONE when there is none. */
u32 column_find(const char *name, size_t len);
/* The column that shows a sort key. */
u32 column_of_key(u32 sort_key);

/* 100 * part / whole; 0 when the whole is 0. */
double share_of(u64 part, u64 whole);

#endif
