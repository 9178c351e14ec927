/* SPDX-License-Identifier: Apache-2.0 */
/* Place: where an address of a sample lies. */
#ifndef ATTRIB_PLACE_H
#define ATTRIB_PLACE_H

#include "state/procs.h"

struct place {
	const struct vmap *map; /* NULL: no mapping holds it */
	u64 addr;		/* as symbol look-ups take it (state/dso.h); the raw address when map is NULL */
	u32 dso;		/* 0 ([unknown]) when map is NULL */
	u32 sym;		/* ID_NONE: no symbol */
	char level;		/* as struct frame */
};

/* cpumode: PERF_RECORD_MISC_CPUMODE_MASK bits of the sample, or of the last PERF_CONTEXT_* mark in its chain. */
void place_find(struct dsos *dsos, const struct thread_view *thread, u32 cpumode, u64 ip, struct place *out);

/* In which mode code at addr runs, where nothing but the mappings tells: PERF_RECORD_MISC_USER or _KERNEL, as it is
 * user space or the kernel that maps something there; _HYPERVISOR when neither does. */
u32 place_mode(const struct thread_view *thread, u64 addr);

/* The DSO alone. */
u32 place_dso(const struct thread_view *thread, u32 cpumode, u64 addr);

/* The kernel function that holds addr: its name, its start, and the short name of its module (left alone when it is in
 * none). NULL: there is none. */
const char *place_kernel_function(struct dsos *dsos, const struct maps *kernel, u64 addr, u64 *start,
				  const char **module);

char cpumode_level(u32 cpumode); /* as struct frame's level */

/* What PERF_CONTEXT_* value means as a cpumode; ID_NONE for a value that is no known mark. */
u32 context_cpumode(u64 mark);
#define IS_CONTEXT_MARK(ip) ((ip) >= PERF_CONTEXT_MAX)

#endif
