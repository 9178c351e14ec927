/* SPDX-License-Identifier: Apache-2.0 */
/* The core, die, socket and node of each CPU. */
#ifndef SYS_TOPOLOGY_H
#define SYS_TOPOLOGY_H

#include "base/types.h"

struct cpu_place {
	s32 socket, die, core, node; /* 0 if the system does not say */
};

/* sysfs: "/sys", or another place for tests. */
void topology_of(const char *sysfs, s32 cpu, struct cpu_place *out);

#endif
