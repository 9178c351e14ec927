/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as data: everything that their intervals were made of. */
#ifndef VIEW_METRICS_DATA_H
#define VIEW_METRICS_DATA_H

#include "base/json.h"
#include "view/report.h"

/* Members of an event's object: how its windows were made, and all of them together. */
void metrics_json_event(const struct profile *p, const struct metric_table *t, struct json *j);
/* Members of a row's object: "windows":{counts},"sums":{event: sum},"metrics":{name:{value, low, high, ...}}. */
void metrics_json_block(const struct metric_table *t, const double *block, struct json *j);
/* Likewise "paths":[...]: the stacks of the row. */
void metrics_json_paths(const struct row_view *v, const struct metric_table *t, struct json *j);

/* The fields of all events' metrics, as far as they are columns, and of their groups' members, each name once; where
 * an event lacks one its fields are empty. */
struct metric_fields {
	VEC(const struct metric *) metrics;
	VEC(const char *) events;
};
void metrics_csv_fields(const struct profile *p, const struct report_opts *o, struct metric_fields *out);
void metrics_csv_fields_free(struct metric_fields *f);
void metrics_csv_header(const struct metric_fields *f, struct bytes *out);
/* t NULL: an event without windows. */
void metrics_csv_block(const struct metric_fields *f, const struct metric_table *t, const double *block,
		       struct bytes *out);

#endif
