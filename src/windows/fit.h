/* SPDX-License-Identifier: Apache-2.0 */
/* What events there are, and how many of a group the hardware counts at a time: tried on ourselves. */
#ifndef WINDOWS_FIT_H
#define WINDOWS_FIT_H

#include "events/spec.h"

/*
 * The group of `leader`, with a twin of it where so told: how many of those events can be on the hardware together.
 * All of them when they fit, or when it cannot be found out (no rights, no such event: opening them in earnest says
 * more).
 */
u32 window_fit(const struct event_specs *specs, u32 leader, bool with_twin);
/* A window_supply's `has` (windows/plan.h) for this machine's PMUs. */
bool window_has_event(void *ctx, const char *name);

#endif
