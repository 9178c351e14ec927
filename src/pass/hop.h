/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a recording: from record header to record header. */
#ifndef PASS_HOP_H
#define PASS_HOP_H

#include "read/source.h"
#include "state/threadset.h"

/* Whole records, in source.data. None begins further than BLOCK_BYTES behind the beginning of its block. */
struct block {
	u64 offset, end;
};
#define BLOCK_BYTES (1u << 20)

struct hop_opts {
	u32 workers;
	/* Shown everything that is no sample, in the file's order, on any thread but never on two at once. */
	void (*record)(void *ctx, const struct source_record *at);
	/* Told now and then, likewise, how many bytes were gone through; may be NULL. */
	void (*progress)(void *ctx, u64 done, u64 total);
	void *ctx;
	const bool *stop; /* may be NULL */
	/* Whose samples there are; NULL: nobody asks. */
	struct threadset *threads;
	u32 at_tid; /* where pid and tid stand in samples; 0: nowhere, so all are of thread 0 */
};

struct hop_result {
	VEC(struct block) blocks;
	u64 nr_samples;
	u64 left_out; /* bytes at the end, behind what is no record */
};

/*
 * Goes from record header to record header: counts the samples, cuts the data into blocks of whole records, and shows
 * everything else. Where a header makes no sense the rest is left out, counted and noted. ERR_INTERRUPTED when *stop
 * says so. The caller frees the blocks in any case.
 */
int hop_records(const struct source *src, const struct hop_opts *opts, struct hop_result *out);

#endif
