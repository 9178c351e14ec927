/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers that are the same on every machine: splitmix64. Any seed is possible, even 0. Not for
 * secrets. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include "base/types.h"

static inline u64 random_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* 0 .. n-1. The high word of a 64 x 64 product is uniform enough: its bias is under n / 2^64. */
static inline u64 random_below(u64 *state, u64 n)
{
	return (u64)((unsigned __int128)random_next(state) * n >> 64);
}

#endif
