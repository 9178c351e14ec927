/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of sample rows share; nobody else includes it. */
#ifndef VIEW_EXPORT_SAMPLE_ROWS_IMPL_H
#define VIEW_EXPORT_SAMPLE_ROWS_IMPL_H

#include "attrib/spe.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/perf_abi.h"
#include "codec/spe.h"
#include "view/export/sample_rows.h"

#define MAX_COLUMNS 64u
#define NR_MODES 5u
#define CHAIN_SLOTS (1u << 14)
#define TUPLE_SLOTS_LOG 12
#define TUPLE_KEY 8 /* words */

/* The texts of a frame, as ids of the writer; ID_NONE: it has none. */
struct frame_texts {
	bool known;
	u32 symbol, dso, path, build_id;
};

/* A raw chain that was met, and the number of its stack. */
struct chain_slot {
	u64 hash; /* 0: empty */
	u64 stack;
};

/* What a column's value is taken from. */
struct asked {
	const struct hit *h;
	const struct thread_view *t;
	u32 frame; /* of its ip */
};

/* Columns side by side whose values follow from the same few things: the values are looked for once for each of these
 * (sample_parts.c). */
enum row_part {
	PART_TIME,
	PART_THREAD,
	PART_PERIOD, /* each sample of an event may have another one */
	PART_CODE,
	PART_DATUM,
	PART_LATENCY,
	PART_ACCESSOR, /* thread, period, and what the access did */
	PART_ACCESS,   /* what it met, and its stack */
	PART_STACK,
	PART_WINDOW,
	NR_ROW_PARTS
};

/* What the values of a tuple follow from, and the tuple. */
struct tuple_slot {
	u64 key[TUPLE_KEY];
	u32 tuple;
	u32 round; /* of tuples: others are gone */
};

struct part {
	u8 part; /* enum row_part */
	u32 first, end;
	struct tuple_slot *slots; /* NULL: values of other rows are no use */
};

struct sample_rows {
	struct sample_rows_opts opts;
	struct resolver *resolver;
	const struct row_column *fixed;
	u32 nr_fixed, nr_columns; /* behind the fixed ones are those of windows */
	struct parquet_column columns[MAX_COLUMNS];
	u8 *window_column; /* of an event; 0: none */
	struct part parts[NR_ROW_PARTS];
	u32 nr_parts, round;
	struct row_writer *out, *stacks;
	u32 modes[NR_MODES];		/* texts */
	struct map comms;		/* string id -> text */
	VEC(struct frame_texts) frames; /* by id */
	VEC(struct frame_texts) stack_frames;
	VEC(u32) events;  /* texts of their names */
	struct map words; /* part << 56 | bits of data_src -> text */
	struct map data;  /* dso << 32 | symbol of data -> text */
	struct map flags; /* events of an operation -> text */
	struct chain_slot *chains;
	struct map seen;   /* stack -> 0 */
	VEC(char *) names; /* of counters of windows */
	struct bytes text;
	u64 count, filtered;
};

struct row_column {
	const char *name;
	u8 kind;
	bool optional;
	u8 part; /* enum row_part */
	/* Sets *v; false: there is none. */
	bool (*value)(struct sample_rows *r, const struct asked *a, u64 *v);
};

extern const struct row_column sample_columns[], memory_columns[];
extern const u32 nr_sample_columns, nr_memory_columns;

/* Signed numbers end there; what is larger cannot be true. */
static inline u64 row_limited(u64 v)
{
	return MIN(v, (u64)INT64_MAX);
}

static inline u32 row_text(struct row_writer *w, const char *s)
{
	return row_writer_text(w, s, strlen(s));
}

static inline bool row_has(const struct asked *a, u64 bit)
{
	return a->h->full->has & bit;
}

/* Of an operation that was sampled: is there a packet for this (codec/spe.h, SPE_HAS...)? A sample has no packets. */
static inline bool row_packet(const struct asked *a, u64 bit)
{
	return !a->h->operation || a->h->operation->record->has & bit;
}

/* After the columns are known. */
void row_parts_new(struct sample_rows *r);
void row_parts_free(struct sample_rows *r);
/* Writes the row of a hit. */
void row_parts_write(struct sample_rows *r, struct asked *a);
/* What was counted in the window that the hit ends, as values of the columns behind the fixed ones. */
void row_window(const struct sample_rows *r, const struct hit *h, u64 *values, bool *missing);

const struct frame_texts *row_frame(struct sample_rows *r, u32 frame);
/* The number of the hit's stack; false: it has none. */
bool row_stack(struct sample_rows *r, const struct asked *a, u64 *v);

/* Columns that both tables have. */
bool row_time(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_event(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_comm(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_pid(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_tid(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_cpu(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_period(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_mode(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_ip(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_symbol(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_dso(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_path(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_build_id(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_addr(struct sample_rows *r, const struct asked *a, u64 *v);
bool row_weight(struct sample_rows *r, const struct asked *a, u64 *v);

#endif
