/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Horizon: a moment of a live stream, and what was there when it came, as records. Rounds go behind it one after the
 * other; what their side-band said is told to the living (pass/living.h).
 */
#ifndef PASS_HORIZON_H
#define PASS_HORIZON_H

#include "codec/evlist.h"
#include "pass/living.h"

struct side_record {
	u64 time, at;		 /* at: in pending */
	u32 pid, tid;		 /* of a sample that tells an activity */
	enum activity_what what; /* what such a sample says; 0: it is another record */
};

/* A zeroed struct is the beginning. */
struct horizon {
	struct living living;
	struct bytes pending; /* of the rounds that went behind it last, not told yet */
	VEC(struct side_record) side;
	u64 newest, complete; /* times: of the newest record taken; up to which all records have come */
	u64 lost, throttled;  /* in all that is behind it */
};

/* What there was before the first round: told at once. */
void horizon_begin(struct horizon *h, const u8 *records, u64 len);
/* More rounds will go: what is older than the rounds before the last has all come, and is told. */
void horizon_move(struct horizon *h);
/* One more round, of this machine's byte order. */
void horizon_take(struct horizon *h, const struct evlist *events, const u8 *records, u64 len);
/* Appends records that bring about what is there. */
void horizon_put(const struct horizon *h, struct bytes *out);
void horizon_free(struct horizon *h);

#endif
