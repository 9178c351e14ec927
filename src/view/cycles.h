/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of code by the cycles that they took according to branch records (report --total-cycles): text, CSV or JSON.
 */
#ifndef VIEW_CYCLES_H
#define VIEW_CYCLES_H

#include "agg/code_blocks.h"
#include "base/bytes.h"

struct cycles_opts {
	double percent_limit; /* blocks with a smaller share of the cycles are left out */
	bool quiet;	      /* no lines that begin with # */
	bool whole_names;     /* are not cut to fit the room */
	bool long_names;      /* paths of shared objects */
	u32 room;	      /* columns of the terminal; 0: there is none */
};

struct cycles_of {
	const struct code_blocks *blocks;
	struct str simulated; /* the core that was simulated; empty: a real one */
	u64 samples;	      /* with branches */
	u64 lost;	      /* samples */
	/* Of the branch counters that blocks->event_sums has; with their events' list. */
	const struct branch_counters *counters;
	const struct evlist *events;
};

void cycles_text(const struct cycles_of *c, struct dsos *dsos, const struct cycles_opts *o, struct bytes *out);
/* The last column is the core, if it was simulated. */
void cycles_csv(const struct cycles_of *c, struct dsos *dsos, const struct cycles_opts *o, struct bytes *out);
/* {"simulated" (the core, or null),"cycles","samples","lost","blocks":[{"sampled_cycles","average_percent",
 * "average_cycles","symbol","from","to","from_line","to_line","dso"}]}; with branch counters also "counters":[{"name",
 * "event","most"}], and in each block, for the counter A, "events_A" (a mean per passage) and "full_A" (passages in
 * which it held the most that it can). */
void cycles_json(const struct cycles_of *c, struct dsos *dsos, const struct cycles_opts *o, struct bytes *out);

#endif
