/* SPDX-License-Identifier: Apache-2.0 */
/* What Arm SPE says of operations, by row, as text, CSV or JSON. */
#ifndef VIEW_SPE_H
#define VIEW_SPE_H

#include "agg/operations.h"
#include "base/lists.h"
#include "view/report.h"

struct spe_opts {
	struct name_list cores; /* that the recording was made on, where they are known */
	double percent_limit;	/* rows with a smaller share of the operations are left out */
	u32 most;		/* rows at most; 0: all */
	bool no_kinds;		/* rows are not split into kinds */
	bool quiet;		/* no lines that begin with # */
	bool color, long_names, whole_names;
	u32 room; /* columns of the terminal; 0: there is none */
	u32 workers;
};

void spe_text(const struct profile *p, const struct spe_opts *o, struct bytes *out);
void spe_csv(const struct profile *p, const struct spe_opts *o, struct bytes *out);
/* {"meta":{},"tally":{},"events":[{"name","total":{...},"rows":[{key: value, ..., "operations", "issue":{}, ...,
 * "kinds":[{"kind","source","operations",...}], "histograms":{"issue":[[from,to,operations],...],...}}]}]} */
void spe_json(const struct profile *p, const struct spe_opts *o, struct bytes *out);

#endif
