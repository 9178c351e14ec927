/* SPDX-License-Identifier: Apache-2.0 */
/* Every event that the grammar knows on this machine, by kind, and whether it can be opened here. */
#ifndef EVENTS_CATALOG_H
#define EVENTS_CATALOG_H

#include "base/vec.h"
#include "events/spec.h"
#include "sys/probe.h"

enum event_class { CLASS_HW, CLASS_SW, CLASS_CACHE, CLASS_PMU, CLASS_TRACEPOINT, CLASS_PFM, CLASS_SIM, CLASS_COUNT };

struct event_row {
	enum event_class class;
	char *name;
	char *alias; /* another spelling, or NULL */
	char *desc;  /* a description of what it counts, or NULL */
	enum event_usable usable;
};

struct event_catalog {
	VEC(struct event_row) v; /* by class, then as the kernel or the tables order them */
	int trace_err;		 /* why tracepoints are missing: 0, ERR_PERM, ERR_NOTFOUND... */
};

/* classes: a mask of 1 << CLASS_*. Tracepoints are not opened one by one; one of them is tried, and the result is
 * taken for all. */
void event_catalog_load(struct event_catalog *out, u32 classes, const struct event_env *env);
void event_catalog_free(struct event_catalog *c);

#endif
