/* SPDX-License-Identifier: Apache-2.0 */
/* Can a recording answer what the report's options ask of its windows? */
#ifndef CMD_REPORT_CHECK_H
#define CMD_REPORT_CHECK_H

#include "cmd/report_options.h"
#include "view/report.h"

/* Returns ERR_USAGE if the recording lacks what --attribution needs, or if no sample lies in the range. The note says
 * what to do. */
int report_check_windows(const struct profile *p, enum attribution a, const struct code_range *r,
			 const struct notify *to);

/* Returns ERR_USAGE, which is noted, if --stats, --tasks or --mmaps is combined with an option that these ignore. */
int report_check_recording(const struct report_config *c, const struct notify *to);

/* Likewise for --total-cycles. */
int report_check_cycles(const struct report_config *c, const struct notify *to);

/* The option because of which there are no function metrics, or NULL. p is the recording's profile, or NULL before it
 * has been read. */
const char *report_excludes_metrics(const struct report_config *c, const struct profile *p);

#endif
