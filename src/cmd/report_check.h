/* SPDX-License-Identifier: Apache-2.0 */
/* Can a recording answer what the report's options ask of its windows? */
#ifndef CMD_REPORT_CHECK_H
#define CMD_REPORT_CHECK_H

#include "cmd/report_options.h"
#include "view/report.h"

/* ERR_USAGE, noted with the way out, when what --attribution needs was not recorded, or nothing lies in the range. */
int report_check_windows(const struct profile *p, enum attribution a, const struct code_range *r,
			 const struct notify *to);

/* --stats, --tasks and --mmaps: ERR_USAGE, noted, with what they do not look at and would have to. */
int report_check_recording(const struct report_config *c, const struct notify *to);

/* The option that leaves no function metrics, of this recording when it has been read; NULL: none does. */
const char *report_excludes_metrics(const struct report_config *c, const struct profile *p);

#endif
