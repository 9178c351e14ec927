/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feed: from records to hits. Everybody who looks at samples gets them here: the collector, script, --stats, dump.
 *
 * Most sample records are one hit. Where samples read the counters of their group, a record is one hit of each member
 * that counted something, or the end of a window: then what the counters said before decides, so records of one set of
 * counters have to come in the order of the file. Lanes (pass/lanes.h) see to that, or feed_split, for who goes
 * through the records in another order later.
 *
 * A view of branches takes each entry of a sample's branch stack as a hit, at its target (HIT_BRANCH).
 *
 * What a consumer does not ask for costs nothing: by default only the few fields of struct sample_core are decoded.
 */
#ifndef PASS_FEED_H
#define PASS_FEED_H

#include "attrib/group_read.h"
#include "attrib/hit.h"
#include "attrib/lbr.h"
#include "attrib/spe.h"
#include "attrib/unwind.h"
#include "read/source.h"

/* h is valid during the call; its chain as long as the recording, or, where it was made here, until
 * FEED_CHAINS more of them have been made. */
#define FEED_CHAINS 64
typedef void (*hit_fn)(void *ctx, const struct hit *h);

/* What came of AUX data. */
struct aux_counts {
	u64 operations; /* whole ones */
	u64 broken;	/* that held bytes which are no packet */
	u64 bad_bytes, unknown_packets;
};

/* One per worker. The caller sets the first seven and zeroes the rest. */
struct feed {
	const struct source *src;
	bool full;     /* each hit comes with all fields of its sample */
	bool branches; /* each branch that a sample holds is a hit, of weight 1; nothing else is */
	bool reads;    /* samples that read counters are split, as above; else they are hits of their own event */
	struct windows *windows; /* settled; with reads: they may end windows. NULL: none do */
	const struct spe *spe;	 /* AUX data become hits. NULL: they do not */
	struct lbr *lbr;	 /* call stacks of branch records become the hit's chain. NULL: they do not */
	struct unwinder *unwind; /* copies of stacks become the hit's chain. NULL: they do not */
	u64 undecodable;	 /* counts samples that could not be decoded, or are of no known event */
	struct aux_counts aux;
	struct group_read counters;
	VEC(struct member_sample) members; /* of one sample */
	u64 (*chains)[CHAIN_WORDS];	   /* FEED_CHAINS of them, taken in turn */
	u32 next_chain;
};
void feed_free(struct feed *f);

/* Hands on the hits of a sample record. ERR_NOTFOUND: of no known event; ERR_UNSUPPORTED: its event has bits that this
 * version does not know; or what sample_decode said. Errors are counted, not noted. */
int feed_sample(struct feed *f, const struct source_record *at, hit_fn take, void *ctx);

/* Any other record: some matter to windows. */
void feed_note(struct feed *f, const struct source_record *at);

/* The hits of any record: of a sample, of the AUX data behind an AUXTRACE record; others are noted. */
void feed_record(struct feed *f, const struct source_record *at, hit_fn take, void *ctx);

/* Every operation in a buffer of AUX data, in its order: when (ns), and where its first packet is in source.data. */
typedef void (*operation_fn)(void *ctx, u64 time, u64 offset);
void feed_operations(const struct source *src, const struct spe *spe, const struct aux_buffer *b, operation_fn take,
		     void *ctx);
/* The hits of that one operation. */
void feed_operation(struct feed *f, u64 time, u64 offset, hit_fn take, void *ctx);

/*
 * The part that needs the order, alone: appends what a record stands for, closed by one with event ID_NONE.
 * feed_parts then makes hits of them, in any order and with any feed; returns how many parts it used up.
 */
struct feed_parts {
	VEC(struct member_sample) v;
};
void feed_split(struct feed *f, const struct source_record *at, struct feed_parts *out);
u32 feed_parts(struct feed *f, const struct source_record *at, const struct member_sample *parts, hit_fn take,
	       void *ctx);

/* The event of a sample record; NULL when its id is unknown or its samples cannot be decoded. */
const struct event *feed_event(const struct source *src, const struct source_record *at);
/* The same, and the fields of the core. NULL also when those cannot be decoded. */
const struct event *feed_core(const struct source *src, const struct source_record *at, struct sample_core *out);

#endif
