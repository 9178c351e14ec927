/* SPDX-License-Identifier: Apache-2.0 */
/* What `reticle stat` prints of a counter_result: a table first (stat_table.c), then one of the layouts. */
#ifndef CMD_STAT_H
#define CMD_STAT_H

#include "base/bytes.h"
#include "cmd/stat_formula.h"
#include "record/counter.h"
#include "record/counter_sum.h"

struct stat_view {
	const struct counter_result *r;
	const struct target_opts *target;
	const char *separator; /* between fields, or NULL */
	enum count_by by;
	const struct cpu_place *places; /* by the CPU's number */
	const struct stat_formulas *formulas;
	double interval; /* how many seconds it lasted; 0 if this is no interval */
	bool intervals;	 /* intervals were printed before, so this is their summary */
	u32 nr;		 /* which interval this is, from 0 */
	bool plain;	 /* no commas in large numbers */
	bool repeated;	 /* several runs are wanted */
};

struct stat_cell { /* an event, at what one key stands for */
	const struct counted *e;
	enum count_state state;
	u32 cells;
	double value, error; /* the mean over the runs, and its standard error in percent */
	u64 running_ns;
	double percent; /* of the time that it was wanted */
};

struct stat_table {
	const struct stat_view *view;
	VEC(struct count_key) keys;
	VEC(struct stat_cell) cells; /* by key, then by event */
};

void stat_table_make(struct stat_table *t, const struct stat_view *v);
void stat_table_free(struct stat_table *t);
const struct stat_cell *stat_table_cell(const struct stat_table *t, size_t key, size_t event);
/* Events go first and their places below them, or the other way round. Calls fn for each cell in that order. */
void stat_table_walk(const struct stat_table *t, void *ctx,
		     void (*fn)(void *ctx, const struct stat_table *t, size_t key, size_t event));
/* Where a key is: "S0-D0-C1", "CPU3", "sh-1234"; "": everywhere. */
void stat_key_name(const struct stat_table *t, const struct count_key *k, char *buf, size_t size);
/* As it is shown: clocks in ms, scaled events in their unit, else whole numbers. */
const char *stat_value(const struct stat_cell *c, bool commas, char *buf, size_t size);
const char *stat_unit(const struct counted *e);
const char *stat_state(const struct stat_cell *c); /* "<not counted>", or NULL when it was */
/* The wall time that counts go with, in seconds. */
double stat_seconds(const struct stat_view *v);

/* Laid out as perf stat does it. */
void stat_text(const struct stat_view *v, struct bytes *out);
/* perf stat -x */
void stat_fields(const struct stat_view *v, struct bytes *out);
/* perf stat -j: an object per line. */
void stat_lines(const struct stat_view *v, struct bytes *out);
/* {"command":[],"simulated","status","events":[{"name","value","values":[],"unit","metric","metric_unit",..}],...} */
void stat_json(const struct stat_view *v, struct bytes *out);

/* What is said beside a count. */
struct stat_metric {
	double value;
	int decimals;
	bool percent;
	const char *unit; /* "insn per cycle"; NULL: there is none */
	double per_kilo;  /* per 1000 instructions; < 0: not told */
};
void stat_metric(const struct stat_table *t, size_t key, size_t event, struct stat_metric *out);
/* The count of an event at that key, or of all where the virtual PMU counted it unasked; false: not known. */
bool stat_count_of(const struct stat_table *t, size_t key, u32 type, u64 config, double *out);

#endif
