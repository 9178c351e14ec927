/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples could not say at once, and records that came later do. Several samples share a cookie, which leads to
 * such a record, if the thread stayed in the kernel between them.
 *
 * Deferred call chains (Linux 6.19): a sample's chain ends in PERF_CONTEXT_USER_DEFERRED and a cookie, and the user
 * part follows in a CALLCHAIN_DEFERRED record when the thread returns to user space.
 *
 * Deferred bytes of the thread's memory (kernel/): a sample has a cookie behind them, and the bytes are in a TLS_USER
 * record. Each event has a record of its own.
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

struct deferred_bytes {
	u64 cookie;
	u32 event, n;
	const u8 *p;
};

struct deferred_tls {
	struct map by_cookie; /* a hash of event and cookie -> in bytes */
	VEC(struct deferred_bytes) bytes;
};

/* b->p must outlive d. If a cookie of an event comes again, it replaces the earlier one. */
void deferred_tls_add(struct deferred_tls *d, const struct deferred_bytes *b);
/* NULL: the record was lost, or the recording ended first. d may be NULL. */
const struct deferred_bytes *deferred_tls_find(const struct deferred_tls *d, u32 event, u64 cookie);
void deferred_tls_free(struct deferred_tls *d);

#endif
