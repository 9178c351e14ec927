/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs in the kernel's notation: "0-3,8,10-11". */
#ifndef SYS_CPULIST_H
#define SYS_CPULIST_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"

#define CPULIST_MAX 65536 /* CPU numbers are below this */

struct cpulist {
	VEC(u32) v; /* ascending, each once */
};

/* ERR_USAGE, without a note, if text is not such a list or is empty. The contents of out are replaced. */
int cpulist_parse(struct cpulist *out, const char *text);
/* The CPUs that are online. ERR_IO if the system does not say. */
int cpulist_online(struct cpulist *out, const struct notify *to);
/* The same by the kernel's list alone, where a guess is worth nothing. ERR_NOTFOUND without it. */
int cpulist_online_told(struct cpulist *out);
bool cpulist_has(const struct cpulist *l, u32 cpu);
void cpulist_free(struct cpulist *l);

#endif
