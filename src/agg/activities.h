/* SPDX-License-Identifier: Apache-2.0 */
/* Activities with what their threads did: the rows of a profile by a key of activities and by function, summed by that
 * key. */
#ifndef AGG_ACTIVITIES_H
#define AGG_ACTIVITIES_H

#include "agg/activity_causes.h"
#include "agg/profile.h"

#define ACTIVITY_TOP 8 /* functions of an activity, at most */

struct activity_sum {
	u32 text; /* of the key: an id in the profile's texts */
	u64 self, samples;
	u32 nr_top;
	struct {
		u32 frame;
		u64 self;
	} top[ACTIVITY_TOP]; /* the hottest first */
};

/* The heaviest first, equal ones by name. */
struct activity_sums {
	VEC(struct activity_sum) v;
};

/* p is sorted by one field, which is the key, and by symbol, and its rows by weight. */
void activities_sum(const struct profile *p, const struct profile_event *e, struct activity_sums *out);
void activities_free(struct activity_sums *s);

/* As activity_causes_find, of all activities that have the key. A cause's function is a frame. */
void activities_compare(const struct profile *p, const struct profile_event *e, double share,
			struct activity_causes *out);

#endif
