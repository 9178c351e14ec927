/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a recording: it goes from record header to record header. */
#ifndef PASS_HOP_H
#define PASS_HOP_H

#include "read/source.h"
#include "state/threadset.h"

/* A sequence of whole records in source.data. None begins more than BLOCK_BYTES after the beginning of its block. */
struct block {
	u64 offset, end;
};
#define BLOCK_BYTES (1u << 20)

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
	u32 at_tid; /* offset of pid and tid in samples; 0: samples have none, so all belong to thread 0 */
};

struct hop_result {
	VEC(struct block) blocks;
	u64 nr_samples;
	u64 left_out; /* bytes at the end, from a header that makes no sense on */
};

/*
 * Goes from record header to record header: counts the samples, cuts the data into blocks of whole records, and calls
 * record() for all other records. If a header makes no sense, the rest is left out, counted and noted. ERR_INTERRUPTED
 * when *stop says so. The caller frees the blocks in any case.
 */
int hop_records(const struct source *src, const struct hop_opts *opts, struct hop_result *out);

#endif
