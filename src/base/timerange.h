/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time ranges, as `--time` names them:
 *
 *	start,stop		seconds with up to nine decimals; either may be empty: from the beginning, to the end
 *	start,stop start,stop	several, in order and apart from each other
 *	10%			the first tenth of the recording; "10%/3" the third one
 *	30%-40%			from there to there; several of the percent forms, separated by commas
 *
 * Both ends belong to a range, except that the border between neighbouring percent slices belongs to only one of them.
 */
#ifndef BASE_TIMERANGE_H
#define BASE_TIMERANGE_H

#include "base/err.h"
#include "base/vec.h"

struct timerange {
	u64 start, stop; /* ns, both inclusive; 0 and UINT64_MAX where open */
};

struct timeranges {
	VEC(struct timerange) v; /* ascending, disjoint; none: everything */
};

/* first, last: times of the recording's first and last sample, which the percent forms refer to (last 0: not known).
 * ERR_USAGE, noted, for text that is not a range; *out is then empty. */
int timeranges_parse(struct timeranges *out, const char *text, u64 first, u64 last, const struct notify *to);
void timeranges_free(struct timeranges *t);

/* Does the text need the first and last time? */
bool timeranges_relative(const char *text);

static inline bool timeranges_hold(const struct timeranges *t, u64 time)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (time >= t->v.v[i].start && time <= t->v.v[i].stop)
			return true;
	return !t->v.n;
}

#endif
