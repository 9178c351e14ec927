/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred call chains (Linux 6.19): a sample's chain ends in PERF_CONTEXT_USER_DEFERRED and a cookie, and the user
 * part follows in a CALLCHAIN_DEFERRED record when the thread returns to user space. Several samples share a cookie if
 * the thread stayed in the kernel between them.
 */
#ifndef ATTRIB_DEFERRED_H
#define ATTRIB_DEFERRED_H

#include "base/cursor.h"
#include "base/map.h"
#include "base/vec.h"

struct deferred_chains {
	struct map by_cookie; /* -> in chains */
	VEC(struct u64s) chains;
};

/* ips must outlive d. If a cookie comes again, it replaces the earlier one. */
void deferred_add(struct deferred_chains *d, u64 cookie, const struct u64s *ips);
/* The user part, or NULL: it was lost, or the recording ended first. d may be NULL. */
const struct u64s *deferred_find(const struct deferred_chains *d, u64 cookie);
void deferred_free(struct deferred_chains *d);

#endif
