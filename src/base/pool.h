/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: run one function over a number of work units. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/types.h"

/* Called for each unit 0..n-1 exactly once, on any worker; worker is 0..workers-1 and runs one unit at a time. */
typedef void (*pool_fn)(void *ctx, u32 worker, u32 unit);

/* Returns when all units are done. Units are handed out in order. workers == 1 runs on the caller's thread. */
void pool_run(u32 workers, u32 units, pool_fn fn, void *ctx);

/*
 * The same, for results that have to come out in order. make() leaves the unit's result in one of the caller's `slots`
 * slots; put() takes the results from there, unit after unit, on any worker but never on two at once. If all slots
 * hold results that put() has not taken yet, workers wait, so the number of waiting results is limited.
 */
typedef void (*pool_make_fn)(void *ctx, u32 worker, u32 unit, u32 slot);
typedef void (*pool_put_fn)(void *ctx, u32 slot);
void pool_run_in_order(u32 workers, u32 units, u32 slots, pool_make_fn make, pool_put_fn put, void *ctx);

/* The number of workers that suits this machine: the number of CPUs on which this process may run, at least 1. */
u32 pool_default_workers(void);

#endif
