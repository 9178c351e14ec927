/* SPDX-License-Identifier: Apache-2.0 */
/* What `reticle stat` prints of a counter_result. */
#ifndef CMD_STAT_H
#define CMD_STAT_H

#include "base/bytes.h"
#include "record/counter.h"

struct stat_view {
	const struct counter_result *r;
	char *const *command;
	const char *separator; /* between fields, or NULL */
	bool per_thread;
};

/* Laid out as perf stat does it. */
void stat_text(const struct stat_view *v, struct bytes *out);
/* perf stat -x: value, unit, event, nanoseconds counted, percent of the time, metric, its unit. */
void stat_fields(const struct stat_view *v, struct bytes *out);
/* {"command":[],"simulated","status","events":[{"name","value","values":[],"unit","metric","metric_unit",..}],...} */
void stat_json(const struct stat_view *v, struct bytes *out);

/* What is said beside a count. */
struct stat_metric {
	double value;
	const char *unit; /* "insn per cycle"; NULL: there is none */
	double per_kilo;  /* per 1000 instructions; < 0: not told */
};
void stat_metric(const struct counter_result *r, const struct counted *e, struct stat_metric *out);

/* Over the runs: the mean, and the standard error of it in percent. */
double stat_mean(const struct counted *e, double *error);

#endif
