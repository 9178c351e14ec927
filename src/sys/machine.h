/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording's header says about the machine it was made on, from /proc, /sys and uname. */
#ifndef SYS_MACHINE_H
#define SYS_MACHINE_H

#include "base/arena.h"
#include "codec/features.h"

/* Fills in, and marks present, what this machine tells of: hostname, release, version of this program, architecture,
 * CPUs, memory, command line, topologies, PMUs and caches. Text lives in arena. */
void machine_features(struct features *f, struct arena *arena);
/* Of these only hostname, release, version, architecture and command line. */
void machine_software_features(struct features *f, struct arena *arena);

static inline void feature_mark(struct features *f, enum feature id)
{
	f->present[id / 64] |= 1ull << id % 64;
}

#endif
