/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a recording: it goes from record header to record header. */
#ifndef PASS_HOP_H
#define PASS_HOP_H

#include "pass/record_lane.h"
#include "read/source.h"
#include "state/threadset.h"

/* A sequence of whole records in source.data. None begins more than BLOCK_BYTES after the beginning of its block. */
struct block {
	u64 offset, end;
	u32 run, nr_runs; /* in hop_result.runs; 0: they were not noted */
};
#define BLOCK_BYTES (1u << 20)

/* A run is a sequence of records of one lane, up to the next run of the block or to the block's end. */
#define RUN(at, lane) ((u32)(at) << NR_LANES_BITS | (lane))
#define RUN_AT(run) ((run) >> NR_LANES_BITS) /* from the beginning of the block */
#define RUN_LANE(run) ((run) & ((1u << NR_LANES_BITS) - 1))
_Static_assert(BLOCK_BYTES <= 1u << (32 - NR_LANES_BITS), "where a run is in its block, and its lane, make a u32");

struct hop_opts {
	u32 workers;
	/* Called for every record that is not a sample, in the file's order, on any thread but never on two at
	 * once. */
	void (*record)(void *ctx, const struct source_record *at);
	/* Called now and then, in the same way, with the number of bytes so far; may be NULL. */
	void (*progress)(void *ctx, u64 done, u64 total);
	void *ctx;
	const bool *stop; /* may be NULL */
	/* Gets the threads that have samples; NULL: not needed. */
	struct threadset *threads;
	/* The event of the source whose samples are handed to record() like other records, and not counted; NULL:
	 * there is none. */
	const struct event *aside;
	bool lanes; /* the runs of records of one lane are noted, in blocks that have few */
	u32 at_tid; /* offset of pid and tid in samples; 0: samples have none, so all belong to thread 0 */
};

struct hop_result {
	VEC(struct block) blocks;
	VEC(u32) runs;
	u64 nr_samples;
	u64 left_out; /* bytes at the end, from a header that makes no sense on */
};

/*
 * Goes from record header to record header: counts the samples, cuts the data into blocks of whole records, and calls
 * record() for all other records. If a header makes no sense, the rest is left out, counted and noted. ERR_INTERRUPTED
 * when *stop says so. The caller frees the blocks and runs in any case.
 */
int hop_records(const struct source *src, const struct hop_opts *opts, struct hop_result *out);

#endif
