/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feed: turns records into hits. All code that uses samples gets them here: the collector, script, --stats, dump.
 *
 * Most sample records give one hit. If samples read the counters of their group, a record gives one hit for each
 * member that counted something, or the end of a window. This depends on the previous values of the counters, so
 * records of one set of counters have to come in the order of the file. Lanes (pass/lanes.h) make sure of that, or
 * feed_split, if the records are used in another order later.
 *
 * In a view of branches, each entry of a sample's branch stack is a hit, at its target (HIT_BRANCH).
 *
 * Things for which a consumer does not ask cost nothing: by default only the few fields of struct sample_core are
 * decoded.
 */
#ifndef PASS_FEED_H
#define PASS_FEED_H

#include "attrib/branch_history.h"
#include "attrib/group_read.h"
#include "attrib/hit.h"
#include "attrib/lbr.h"
#include "attrib/spe.h"
#include "attrib/unwind.h"
#include "codec/spe_shapes.h"
#include "read/source.h"
#include "state/timelines.h"

/* h is valid during the call. Its chain is valid as long as the recording or, if it was made here, until FEED_CHAINS
 * more chains have been made. */
#define FEED_CHAINS 64
typedef void (*hit_fn)(void *ctx, const struct hit *h);

struct equal_operations;

/* Counts of AUX data. */
struct aux_counts {
	u64 operations; /* whole ones */
	u64 broken;	/* that contained bytes which are not a packet */
	u64 bad_bytes, unknown_packets;
};

/* One per worker. The caller sets the fields up to `together` and zeroes the rest. */
struct feed {
	const struct source *src;
	bool full;     /* each hit has all fields of its sample */
	bool branches; /* each branch in a sample is a hit, of weight 1; nothing else is */
	bool history;  /* the branches in a sample are put before the callers of its chain */
	bool reads; /* samples that read counters are split, as described above; else they are hits of their own event
		     */
	struct windows *windows;	   /* settled; with reads: they may end windows. NULL: none do */
	const struct spe *spe;		   /* AUX data become hits. NULL: they do not */
	struct equal_operations *equal;	   /* with it: equal ones are counted, and become one hit. NULL: each is one */
	const struct timelines *timelines; /* hits have their thread's activity. NULL: none has */
	struct lbr *lbr;	 /* call stacks of branch records become the hit's chain. NULL: they do not */
	struct unwinder *unwind; /* copies of stacks become the hit's chain. NULL: they do not */
	bool together;		 /* with spe: an operation is one hit, however many events it is a sample of */
	u64 undecodable;	 /* number of samples that could not be decoded, or have no known event */
	u64 unmoved;		 /* number of those that give no hit, as none of the counters that they read moved */
	struct aux_counts aux;
	struct spe_shapes shapes; /* of the records in them */
	u32 next_buffer;	  /* probably the next of spe->aux->buffers */
	struct group_read counters;
	VEC(struct member_sample) members; /* of one sample */
	u64 (*chains)[CHAIN_WORDS];	   /* FEED_CHAINS of them, taken in turn */
	u32 next_chain;
};
void feed_free(struct feed *f);

/* Hands on the hits of a sample record. ERR_NOTFOUND: its event is not known; ERR_UNSUPPORTED: its event has bits that
 * this version does not know; or the error of sample_decode. Errors are counted, not noted. */
int feed_sample(struct feed *f, const struct source_record *at, hit_fn take, void *ctx);

/* Takes any other record; some are needed for windows. */
void feed_note(struct feed *f, const struct source_record *at);

/* Hands on the hits of any record: of a sample, or of the AUX data after an AUXTRACE record; other records are taken
 * note of. */
void feed_record(struct feed *f, const struct source_record *at, hit_fn take, void *ctx);

/* No more records will come: hands on hits for what was only counted. */
void feed_flush(const struct feed *f, hit_fn take, void *ctx);

/* Goes through the operations in a buffer of AUX data, in order: the time (ns), and the place of the first packet in
 * source.data. */
typedef void (*operation_fn)(void *ctx, u64 time, u64 offset);
void feed_operations(const struct source *src, const struct spe *spe, const struct aux_buffer *b, operation_fn take,
		     void *ctx);
/* Hands on the hits of one operation. */
void feed_operation(struct feed *f, u64 time, u64 offset, hit_fn take, void *ctx);

/*
 * Does only the part that needs the order: appends the parts of a record, followed by one with event ID_NONE.
 * feed_parts then makes hits from them, in any order and with any feed; it returns the number of parts that it used.
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
