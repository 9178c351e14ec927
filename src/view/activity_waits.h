/* SPDX-License-Identifier: Apache-2.0 */
/* What activities waited for, as two tables: the time that each of them ran and waited, and its waits by place. */
#ifndef VIEW_ACTIVITY_WAITS_H
#define VIEW_ACTIVITY_WAITS_H

#include "agg/profile.h"
#include "agg/wait_names.h"
#include "view/activities.h"

struct activity_waits {
	const struct waits *waits;
	const struct wait_names *names;
	u64 gaps; /* number of times in which records are missing */
	u64 late; /* number of samples that were left out, because they are out of order */
};

void activity_waits_text(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			 struct bytes *out);
/* places: the second table, else the first. Times are in ns. */
void activity_waits_csv(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			bool places, struct bytes *out);
/* As the member "waits" of an object. */
void activity_waits_json(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			 struct json *j);

#endif
