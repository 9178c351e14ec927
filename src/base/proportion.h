/* SPDX-License-Identifier: Apache-2.0 */
/* A proportion that was seen in samples, and Wilson's interval in which the true one lies with a probability of 95 %.
 */
#ifndef BASE_PROPORTION_H
#define BASE_PROPORTION_H

#include "base/types.h"

struct proportion {
	double value, low, high; /* 0 to 1; NaN where nothing was counted */
	double half;		 /* of the interval's width, before it is cut at 0 and 1 */
};

/* part of whole, of which so many tell something of their own: the interval is that of so many samples. */
struct proportion proportion_of(u64 part, u64 whole, u64 independent);

#endif
