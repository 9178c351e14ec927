/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table: the common model for everything that views show in rows and columns. A form (the report's rows, a diff, ...)
 * defines the columns and the cells; a printer makes text, CSV or JSON from them, and knows nothing about forms.
 *
 * A table does not store cells. It has functions that make them, because a profile may have millions of rows, each of
 * which is shown only once or twice: so a table needs memory only for its columns. The functions may be called by
 * several threads at once, so they must only read the form's data.
 *
 * Rows are numbered in the order in which they are shown. If `level` is given they form a tree: the rows below a row
 * are those after it with a higher level. Below a row there may also be a drawing, such as a call graph, and parts of
 * the row, such as its stacks, which have cells in some of the columns.
 */
#ifndef VIEW_TABLE_H
#define VIEW_TABLE_H

#include "base/json.h"
#include "base/vec.h"
#include "metric/metrics.h"

enum cell_kind {
	CELL_NONE,   /* no value: empty, in JSON null */
	CELL_COUNT,  /* a whole number */
	CELL_CHANGE, /* a whole number with its sign */
	CELL_SHARE,  /* a weight, which text shows as a percentage of a whole; CSV has both */
	CELL_REAL,   /* a number with `decimals` */
	CELL_RATIO,  /* a ratio and its interval */
	CELL_MARK,   /* true or false */
	CELL_TEXT,
};

struct cell {
	enum cell_kind kind;
	union {
		u64 count;
		s64 change;
		struct {
			u64 part;
			double percent;
		} share;
		double real;
		struct metric_value ratio;
		bool mark;
	};
	struct bytes *text; /* empty when a getter is called; raw bytes, for the printer to escape */
};

struct table;
struct table_column;

/* A part of a row; the form defines its meaning. */
struct table_part {
	u32 id;
	const void *of;
};
#define TABLE_PARTS 32 /* of a row, at most */

#define TABLE_TOTAL SIZE_MAX /* as a row's number: all rows together */
struct table_row {
	size_t at;
	const struct table_part *part; /* or NULL: the row itself */
};

/* Fills a cell, which is CELL_NONE initially. */
typedef void (*table_get)(const struct table *t, const struct table_column *c, const struct table_row *r,
			  struct cell *out);

#define TABLE_DIGITS 9	       /* for numbers in CSV and JSON that have no number of decimals */
#define TABLE_ALL_DECIMALS 255 /* as a column's decimals: TABLE_DIGITS, whole numbers in full */

struct table_column {
	const char *header;	/* in text */
	const char *key;	/* in CSV and JSON */
	const char *key_prefix; /* in CSV, in front of the key; or NULL */
	const char *key_of;	/* in CSV, in front of both, with a colon between them; or NULL */
	u32 key_number;		/* of several columns that are of one name, after that: "cycles#2:self"; 0: none */
	/* In JSON: the objects that contain it, the outer one first, or NULL. Columns of one object are adjacent. */
	const char *in[2];
	bool foreign;	     /* the key is from the recording and needs escapes */
	bool listed;	     /* in JSON, adjacent columns with the same key are a list */
	enum cell_kind kind; /* of its cells that are not CELL_NONE; CSV has several fields for some kinds */
	const char *unknown; /* CELL_REAL in text: the text for NAN; NULL: "-" */
	table_get get;
	u32 what, nth;	 /* for get: numbers by which the form identifies its columns */
	u32 least;	 /* width in text */
	u32 asked;	 /* width that the user asked for; 0: the width of the text */
	u8 decimals;	 /* of CELL_REAL and CELL_RATIO */
	bool sign;	 /* CELL_REAL in text: also in front of positive numbers */
	bool percent;	 /* CELL_REAL in text: followed by "%" */
	bool left;	 /* aligned in text */
	bool name;	 /* names that are too long for the table's room are cut in the middle */
	bool key_of_row; /* a key of the row: in text, from the first such column on, parts have their own text */
	bool of_parts;	 /* parts of rows have cells in it, too */
	bool joined;	 /* in text, this column and the one before it have a common header and no gap between them */
	bool bare;	 /* CELL_RATIO in text: without the interval */
	bool alike;	 /* table.number tells its cells apart */
};

struct table {
	const void *form; /* for the functions */
	VEC(struct table_column) columns;
	size_t nr_rows;
	bool has_total; /* getters take TABLE_TOTAL */
	u32 levels;	/* of the tree; 0: rows are a list */

	/* Each may be NULL. */
	bool (*wants)(const struct table *t, size_t row); /* whether the row is shown */
	/* Of a CELL_TEXT column with `alike`: rows with equal numbers have equal cells. Each is measured once, not in
	 * each of millions of rows. */
	u64 (*number)(const struct table *t, const struct table_column *c, size_t row);
	/* Asks for memory that the getters will read of the row, which is shown soon. */
	void (*fetch)(const struct table *t, size_t row);
	u32 (*level)(const struct table *t, size_t row); /* from 1 on */
	const char *parts_key;				 /* in JSON, of the list of parts */
	/* Fills at most TABLE_PARTS; returns how many. */
	u32 (*parts)(const struct table *t, size_t row, struct table_part *out);
	void (*part_text)(const struct table *t, size_t row, const struct table_part *part, struct bytes *out);
	void (*part_json)(const struct table *t, size_t row, const struct table_part *part, struct json *j);
	/* Writes the drawing below the row. worker: below table_print.workers, for the form's memory for drawings. */
	void (*draw)(const struct table *t, size_t row, u32 worker, struct bytes *out);
	void (*draw_json)(const struct table *t, size_t row, struct json *j); /* the same, as members of its object */
};

/* Adds a column and returns it, zeroed except for these arguments; valid until the next one is added. */
struct table_column *table_column_add(struct table *t, enum cell_kind kind, const char *key, const char *header,
				      table_get get);
void table_column_drop(struct table *t, u32 column);
void table_free(struct table *t);

/* --- text (table_text.c) --- */

struct table_print {
	char separator; /* fields are parted by it and not padded; 0: aligned columns */
	u32 room;	/* columns of the terminal; 0: there is none */
	bool screen;	/* lines do not go on below where the room ends */
	bool whole_names;
	bool color;
	bool no_ruler; /* no line of dots below the headers, and so no blanks behind the last one */
	u32 workers;   /* threads; at least 1 */
};

struct table_text;
/* No columns may be added while the table is printed; after columns were dropped it has to be measured again. */
struct table_text *table_text_new(const struct table *t, const struct table_print *how);
void table_text_measure(struct table_text *x);
u32 table_text_width(const struct table_text *x, u32 column); /* as measured */
void table_text_head(struct table_text *x, struct bytes *out);
void table_text_rows(struct table_text *x, struct bytes *out);
void table_text_free(struct table_text *x);
/* Does all of these at once. */
void table_text(const struct table *t, const struct table_print *how, bool head, struct bytes *out);

/* A table with levels (table_tree.c): the last column is a text and is indented by level; the others have the widths
 * of their headers. */
void table_tree_text(const struct table *t, const struct table_print *how, bool head, struct bytes *out);
/* The number of blanks before the text of a row of this level. */
u32 table_tree_indent(const struct table *t, u32 level);

/* The cell as text, not padded. */
void table_cell_text(const struct table_column *c, const struct cell *cell, struct bytes *out);
/* "12.34%" right-aligned to width, coloured by how heavy it is. */
void table_percent(double percent, int width, bool color, struct bytes *out);

/* --- CSV and JSON (table_data.c) --- */

void table_csv_header(const struct table *t, struct bytes *out);
void table_csv_rows(const struct table *t, struct bytes *out); /* and the total */
/* Elements of a list that the caller opened: one object per row, each on its own line. */
void table_json_rows(const struct table *t, struct json *j);
/* The row's members for the columns from `first` on, in an object that the caller opened. */
void table_json_members(const struct table *t, const struct table_row *r, u32 first, struct json *j);

#endif
