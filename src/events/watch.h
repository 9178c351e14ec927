/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what an event's samples really contain: that the kernel accepts an attr says nothing about that. */
#ifndef EVENTS_WATCH_H
#define EVENTS_WATCH_H

#include "codec/sample.h"

/*
 * Enables the event for this thread, spins for the given time, and passes each sample to take(). There must be few
 * samples: those that do not fit into a ring of 32 kB are not seen. ERR_LIMIT if no ring can be mapped.
 */
int event_watch(int fd, const struct attr *a, u64 ns, void (*take)(void *ctx, const struct sample *s), void *ctx);

#endif
