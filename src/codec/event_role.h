/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: what an event counts, no matter how the event is written. `cycles`, `cpu/cycles/u`, `r11` on an Arm core and a
 * vendor's own name all count cycles; formulas use roles.
 */
#ifndef CODEC_EVENT_ROLE_H
#define CODEC_EVENT_ROLE_H

#include "codec/attr.h"

enum event_role {
	ROLE_CYCLES,
	ROLE_INSTRUCTIONS,
	ROLE_BRANCHES,
	ROLE_BRANCH_MISSES,
	ROLE_BRANCH_RETURNS,
	ROLE_CACHE_REFERENCES,
	ROLE_CACHE_MISSES,
	ROLE_L1D_LOADS,
	ROLE_L1D_LOAD_MISSES,
	ROLE_L1I_MISSES,
	ROLE_L2_REFERENCES,
	ROLE_L2_MISSES,
	ROLE_LLC_LOADS,
	ROLE_LLC_LOAD_MISSES,
	ROLE_DTLB_LOADS,
	ROLE_DTLB_LOAD_MISSES,
	ROLE_ITLB_MISSES,
	ROLE_STALLS_FRONTEND,
	ROLE_STALLS_BACKEND,
	ROLE_SLOTS,
	ROLE_SLOTS_RETIRING,
	ROLE_SLOTS_BAD_SPECULATION,
	ROLE_SLOTS_FRONTEND,
	ROLE_SLOTS_BACKEND,
	ROLE_CALLS,
	ROLE_TIME, /* nanoseconds: cpu-clock, task-clock */
	NR_ROLES
};

/* The names that formulas use; also accepted as events' names. */
extern const char *const event_role_names[NR_ROLES];

/* ID_NONE: the event has no role. name: the event's name, with terms and modifiers. arm: raw numbers are those of
 * Arm's PMUv3. */
u32 event_role_of(const struct attr *a, const char *name, bool arm);
/* Finds a role by the name that formulas use; ID_NONE if there is none. */
u32 event_role_find(const char *name, size_t len);

#endif
