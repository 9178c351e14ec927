/* SPDX-License-Identifier: Apache-2.0 */
/* Activities as a table: how often each was sampled, how much it took, and in which functions. */
#ifndef VIEW_ACTIVITIES_H
#define VIEW_ACTIVITIES_H

#include "agg/activities.h"
#include "base/bytes.h"

struct activities_opts {
	const char *key;		    /* what activities are told apart by */
	u32 most;			    /* the largest number of activities that are shown; 0: all */
	u32 functions;			    /* of each, at most ACTIVITY_TOP */
	double slow;			    /* compare this share, the heaviest, with the others; 0: do not */
	bool quiet;			    /* no lines that begin with # */
	const struct activity_waits *waits; /* what activities waited for (view/activity_waits.h), or NULL */
	u32 aside[2]; /* with it: the events that it is made of, which have no table of their own */
};

/* For each event of the profile, which is as activities_sum wants it. */
void activities_text(const struct profile *p, const struct activities_opts *o, struct bytes *out);
/* One table of them, in CSV. ACTIVITY_WAITS and ACTIVITY_PLACES need o->waits. */
enum activity_table { ACTIVITY_ROWS, ACTIVITY_CAUSES, ACTIVITY_WAITS, ACTIVITY_PLACES, NR_ACTIVITY_TABLES };
void activities_csv(const struct profile *p, const struct activities_opts *o, enum activity_table which,
		    struct bytes *out);
void activities_json(const struct profile *p, const struct activities_opts *o, struct bytes *out);

#endif
