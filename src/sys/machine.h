/* SPDX-License-Identifier: Apache-2.0 */
/* The information about the machine in a recording's header, from /proc, /sys and uname. */
#ifndef SYS_MACHINE_H
#define SYS_MACHINE_H

#include "base/arena.h"
#include "codec/event_role.h"
#include "codec/features.h"

/* Fills in, and marks as present, what this machine provides of: hostname, release, version of this program,
 * architecture, CPUs, memory, command line, topologies, PMUs and caches. Text lives in arena. */
void machine_features(struct features *f, struct arena *arena);
/* Fills in only hostname, release, version, architecture and command line. */
void machine_software_features(struct features *f, struct arena *arena);

/* Which core a CPU is, by Arm's MIDR register. False: it has none, or nobody says. */
bool machine_midr(u32 cpu, u64 *out);

/* What this machine's generic events count. */
enum event_machine machine_events(void);

static inline void feature_mark(struct features *f, enum feature id)
{
	f->present[id / 64] |= 1ull << id % 64;
}

#endif
