/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of a table, those of report and top, to what the pipeline and the views take. */
#ifndef CMD_REPORT_RESOLVE_H
#define CMD_REPORT_RESOLVE_H

#include "cmd/report_options.h"
#include "view/report.h"

/* Everything that can be settled before samples are read. ERR_USAGE, noted; selected_free(s) in any case. */
int report_resolve(const struct report_config *c, struct selected *s, struct report_opts *o, struct window_use *w,
		   const struct notify *to);
/* What the options say of metrics, on what the recording has. ERR_USAGE, noted. */
int report_settle_metrics(const struct profile *p, const struct report_config *c, struct report_opts *o,
			  const struct notify *to);
/* What depends on the recording: the usual columns, with those of --fields=+... after them, and where graphs begin. */
void report_choose_columns(const struct report_config *c, const struct profile *p, struct report_opts *o);

#endif
