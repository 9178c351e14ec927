/* SPDX-License-Identifier: Apache-2.0 */
/* Can a recording answer what the report's options ask of its windows? */
#ifndef CMD_REPORT_CHECK_H
#define CMD_REPORT_CHECK_H

#include "view/report.h"

/* ERR_USAGE, noted with the way out, when what --attribution needs was not recorded, or nothing lies in the range. */
int report_check_windows(const struct profile *p, enum attribution a, const struct code_range *r,
			 const struct notify *to);

#endif
