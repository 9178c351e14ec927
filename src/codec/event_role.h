/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: what an event counts, no matter how the event is written. `cycles`, `cpu/cycles/u`, `r11` on an Arm core and a
 * vendor's own name all count cycles; formulas use roles. Which cache answers cache-references depends on the machine:
 * that of L1 data on Arm, L2 on AMD, and the last level on others.
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
	ROLE_LLC_REFERENCES, /* of the last level */
	ROLE_LLC_MISSES,
	ROLE_L1D_REFERENCES, /* loads and stores */
	ROLE_L1D_MISSES,
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

/* Whose events they are, as far as the meaning of numbers and of cache-references depends on it. */
enum event_machine {
	MACHINE_OTHER,
	MACHINE_ARM, /* raw numbers are those of Arm's PMUv3 */
	MACHINE_AMD,
	MACHINE_POWER,
	MACHINE_SIM, /* the virtual PMU: Arm's raw numbers on every core */
	NR_EVENT_MACHINES
};
/* From a recording's header; either may be NULL. */
enum event_machine event_machine_of(const char *arch, const char *cpuid);

/* ID_NONE: the event has no role. name: the event's name, with terms and modifiers. */
u32 event_role_of(const struct attr *a, const char *name, enum event_machine machine);
/* The role of cache-misses there (of cache-references, if references). */
u32 event_role_of_caches(enum event_machine machine, bool references);
/* The event's own part of "armv8_pmuv3_0/br_retired,alt-period=300/u" or "cycles/period=1000/u" or "cycles:u": *name
 * is moved to it, and its length returned. */
size_t event_bare_name(const char **name);
/* Finds a role by the name that formulas use; ID_NONE if there is none. */
u32 event_role_find(const char *name, size_t len);

#endif
