/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes: which functions make the heaviest activities heavy.
 *
 * How heavy an activity is, is only known from its samples. If the heavy ones were chosen by the same samples that are
 * then compared, those with many samples of any function by chance would be among them, and functions that all
 * activities run alike would be found. So each sample is drawn into one of two halves: the heavy activities are chosen
 * by the first half, and compared with the others by the second one. Counts of samples that are drawn apart in this
 * way are independent of each other (as counts of independent events are), so what the second half says is as true of
 * the activities that were chosen as of any. The price is half of the samples.
 */
#ifndef AGG_ACTIVITY_CAUSES_H
#define AGG_ACTIVITY_CAUSES_H

#include "base/types.h"
#include "base/vec.h"

/* What one activity has of one function. */
struct activity_part {
	u32 activity, function; /* from 0 */
	u64 weight, samples;
	u64 seed; /* by which its samples are drawn: the same for the same names */
};

struct activity_cause {
	u32 function;
	double heavy, others; /* mean weight per activity */
	double errors;	      /* the difference, in its standard errors; 0: not to be said */
};
struct activity_causes {
	VEC(struct activity_cause) v; /* by the difference, largest first */
	u64 nr_heavy, nr_others;
	double heavy, others; /* mean weight of an activity */
};

/*
 * The heaviest `share` of all activities, at most (but those of the largest weight in any case, and those of equal
 * weight together), against the others. Weights are twice those of the second half, for they stand for all samples.
 */
void activity_causes_find(const struct activity_part *parts, size_t n, u32 activities, u32 functions, double share,
			  struct activity_causes *out);
void activity_causes_free(struct activity_causes *c);

/* A function's weight in a group of activities; those that have none of it count among the members. */
struct activity_group {
	double members;
	double sum, squares; /* of the activities' weights, and of their squares */
	double counted;	     /* sum of the squared weights of single samples: the variance that chance gives to sum */
	u64 samples;
};

/*
 * The difference of the means of heavy and others, in its standard errors. The error of either mean is that by which
 * the activities of its group differ (Welch), but not less than what counting samples leaves to chance, of one sample
 * at least: what three samples say alike is not certain. One activity alone does not differ from others of its group;
 * it is taken to differ as much as those of the other group do. 0: not to be said, because a group is
 * empty.
 */
double activity_difference(const struct activity_group *heavy, const struct activity_group *others);

#endif
