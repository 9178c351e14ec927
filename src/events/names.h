/* SPDX-License-Identifier: Apache-2.0 */
/* All event names that do not come from sysfs: the kernel's generic names, and libpfm4's. */
#ifndef EVENTS_NAMES_H
#define EVENTS_NAMES_H

#include "base/types.h"

struct event_name {
	const char *name, *alias; /* alias: another spelling, or NULL */
	u32 type;
	u64 config;
};
extern const struct event_name event_names[];
extern const u32 nr_event_names;

/* Calls fn with perf's canonical spelling of each cache event that makes sense. */
void event_cache_each(void (*fn)(void *ctx, const char *name, u64 config), void *ctx);

/* Calls fn for each event that libpfm4 has for the PMUs of this machine; a build without libpfm4 has none. */
void event_pfm_each(void (*fn)(void *ctx, const char *pmu, const char *name, const char *desc), void *ctx);
bool event_pfm_built_in(void);

#endif
