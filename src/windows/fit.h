/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which events there are, and how many events of a group the hardware can count at a time, by trying on this
 * process. */
#ifndef WINDOWS_FIT_H
#define WINDOWS_FIT_H

#include "events/spec.h"

/*
 * How many events of the group of `leader` (with a twin of the leader, if so told) can be on the hardware at the same
 * time. It is the number of all of them if they fit, or if it cannot be found out (no permission, no such event: then
 * opening them later gives the error).
 */
u32 window_fit(const struct event_specs *specs, u32 leader, bool with_twin);
/* A window_supply's `has` (windows/plan.h) for this machine's PMUs. */
bool window_has_event(void *ctx, const char *name);

#endif
