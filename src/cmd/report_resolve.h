/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the options of a table, which report and top share, into what the pipeline and the views take. */
#ifndef CMD_REPORT_RESOLVE_H
#define CMD_REPORT_RESOLVE_H

#include "cmd/report_options.h"
#include "view/report.h"

/* Settles everything that can be settled before samples are read. Returns 0, or ERR_USAGE, which is noted. Call
 * selected_free(s) in either case. */
int report_resolve(const struct report_config *c, struct selected *s, struct report_opts *o, struct window_use *w,
		   const struct notify *to);
/* A word that is no key of ours may be a field of the recording's tracepoints (FIELD or EVENT.FIELD), or an attribute
 * of its activities: a key is added for it, if there is none yet, and *column is the key's. If the recording turns out
 * to have nothing of that name, unknown notes it. Returns 0, or ERR_USAGE, which is noted: there are too many. */
int report_add_field(struct pipeline_opts *o, const char *name, int (*unknown)(const char *, const struct notify *),
		     u32 *column, const struct notify *to);
/* Settles the metrics' columns from the options and what the recording holds. Returns 0, or ERR_USAGE, which is noted.
 */
int report_settle_metrics(const struct profile *p, const struct report_config *c, struct report_opts *o,
			  const struct notify *to);
/* Settles what depends on the recording: the usual columns, the columns of --fields=+... after them, and where graphs
 * begin. */
void report_choose_columns(const struct report_config *c, const struct profile *p, struct report_opts *o);

#endif
