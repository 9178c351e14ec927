/* SPDX-License-Identifier: Apache-2.0 */
/* Activities with what their threads did: the rows of a profile by a key of activities and by function, summed by that
 * key. */
#ifndef AGG_ACTIVITIES_H
#define AGG_ACTIVITIES_H

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

/*
 * Which functions make the heaviest activities heavy: those of weight at least that of the heaviest `share` of all
 * that have the key, against the others. A function's weight per activity, in either group, and how sure it is that
 * both differ: the difference in standard errors (Welch). Sorted by the difference, largest first.
 */
struct activity_cause {
	u32 frame;
	double heavy, others; /* mean weight per activity */
	double errors;	      /* the difference, in its standard errors; 0: not to be said */
};
struct activity_causes {
	VEC(struct activity_cause) v;
	u64 nr_heavy, nr_others;
	double heavy, others; /* mean weight of an activity */
	u64 least;	      /* weight of the lightest heavy one */
};
void activities_compare(const struct profile *p, const struct profile_event *e, const struct activity_sums *s,
			double share, struct activity_causes *out);
void activity_causes_free(struct activity_causes *c);

#endif
