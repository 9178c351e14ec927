/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that several recordings share, each with when and how long it was on which host. */
#ifndef VIEW_ACTIVITY_HOSTS_H
#define VIEW_ACTIVITY_HOSTS_H

#include "agg/profile.h"
#include "agg/trace_visits.h"
#include "base/bytes.h"

struct activity_host {
	const char *name;	    /* the recording's */
	struct trace_visits visits; /* with what their samples came to */
	struct clock_bounds bounds; /* against the first one */
	bool is_time;		    /* weights are nanoseconds */
	bool filtered;		    /* only visits with samples that passed the filters are shown */
};

/* Adds to the host's visits what their samples came to. p: as activities_sum wants it, by trace_id. functions: how
 * many of each are named. */
void activity_host_take(struct activity_host *h, const struct profile *p, u32 functions);

/* Traces begin at the first host. most: traces at most, 0: all. */
void activity_hosts_text(const struct activity_host *hosts, u32 n, u32 most, bool quiet, struct bytes *out);
void activity_hosts_csv(const struct activity_host *hosts, u32 n, u32 most, struct bytes *out);
void activity_hosts_json(const struct activity_host *hosts, u32 n, u32 most, struct bytes *out);

#endif
