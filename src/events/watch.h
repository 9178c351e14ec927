/* SPDX-License-Identifier: Apache-2.0 */
/* What an event's samples are really like: an attr that the kernel accepts says nothing about that. */
#ifndef EVENTS_WATCH_H
#define EVENTS_WATCH_H

#include "codec/sample.h"

/*
 * Switches the event of this thread on, spins for so long, and gives each sample to take(). There must be few: what
 * does not fit a ring of 32 kB is not seen. ERR_LIMIT when no ring can be mapped.
 */
int event_watch(int fd, const struct attr *a, u64 ns, void (*take)(void *ctx, const struct sample *s), void *ctx);

#endif
