/* SPDX-License-Identifier: Apache-2.0 */
/* The branch instructions of one binary as CSV, those that were executed most first: where they are, how often they
 * were taken and mispredicted, and intervals of these ratios (agg/branch_ratios.h). */
#ifndef VIEW_EXPORT_BRANCHES_H
#define VIEW_EXPORT_BRANCHES_H

#include "agg/branch_ratios.h"
#include "base/bytes.h"

/* at: where the binary is linked. */
void view_branches(const struct branch_ratios *r, struct dsos *dsos, u32 dso, const struct dso_linked *at,
		   struct bytes *out);

#endif
