/* SPDX-License-Identifier: Apache-2.0 */
/* The time since some fixed moment, which a change of the date does not affect: for waiting and for measuring. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

#include "base/types.h"

static inline u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static inline u64 clock_ms(void)
{
	return clock_ns() / 1000000;
}

#endif
