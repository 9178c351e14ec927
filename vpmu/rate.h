/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling by frequency: finds the period that gives so many samples per second of the thread's clock.
 *
 * As the kernel does: it begins with a period of 1, and each sample (and each tick of the clock) tells how fast the
 * event counts, of which one eighth is believed. The first estimates are believed more (all of the first two, then
 * 1/2, 1/3, .. 1/8), so that the period is right after a few samples rather than after some dozens.
 */
#ifndef VPMU_RATE_H
#define VPMU_RATE_H

#include "base/types.h"

struct rate {
	u64 period;	    /* of a whole turn; never 0 */
	u64 time_ns, value; /* of the last estimate */
	u32 estimates;	    /* so far; no longer counted when an eighth of each is believed */
};

/* inherited: the period that a parent has come to; 0: none. */
void rate_start(struct rate *r, u64 inherited, u64 time_ns, u64 value);
/* The event stands at value now; freq samples per second are wanted. An event that did not count teaches nothing. */
void rate_train(struct rate *r, u64 freq, u64 time_ns, u64 value);

#endif
