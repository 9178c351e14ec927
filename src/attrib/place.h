/* SPDX-License-Identifier: Apache-2.0 */
/* Place: the map, DSO and symbol of a sample's address. */
#ifndef ATTRIB_PLACE_H
#define ATTRIB_PLACE_H

#include "state/procs.h"

struct place {
	const struct vmap *map; /* NULL: it is in no mapping */
	u64 addr;		/* as symbol look-ups take it (state/dso.h); the raw address when map is NULL */
	u32 dso;		/* 0 ([unknown]) when map is NULL */
	u32 sym;		/* ID_NONE: no symbol */
	char level;		/* as struct frame */
};

/* cpumode: PERF_RECORD_MISC_CPUMODE_MASK bits of the sample, or of the last PERF_CONTEXT_* mark in its chain. */
void place_find(struct dsos *dsos, const struct thread_view *thread, u32 cpumode, u64 ip, struct place *out);

#define PLACE_MADE_UP 512 /* the same everywhere, so that filters see the text that is shown */

/* What is shown for code without a symbol: "[dso+0x1234]", or "[unknown]" where not even an address is known; cut if
 * it does not fit. size >= 32. Returns buf. */
const char *place_made_up_name(const struct dsos *dsos, u32 dso, u64 addr, char *buf, size_t size);

/* The mode in which code at addr runs, if only the mappings can tell: PERF_RECORD_MISC_USER or _KERNEL, depending on
 * whether user space or the kernel maps something there; _HYPERVISOR if neither does. */
u32 place_mode(const struct thread_view *thread, u64 addr);

/* The DSO alone. */
u32 place_dso(const struct thread_view *thread, u32 cpumode, u64 addr);

/* The kernel function that holds addr: its name, its start, and the short name of its module (left alone when it is in
 * none). NULL: there is none. */
const char *place_kernel_function(struct dsos *dsos, const struct maps *kernel, u64 addr, u64 *start,
				  const char **module);

char cpumode_level(u32 cpumode); /* like level in struct frame */

/* The cpumode for a PERF_CONTEXT_* value; ID_NONE if the value is not a known mark. */
u32 context_cpumode(u64 mark);
/* And back, for a cpumode that has one. */
u64 cpumode_context(u32 cpumode);
#define IS_CONTEXT_MARK(ip) ((ip) >= PERF_CONTEXT_MAX)

#endif
