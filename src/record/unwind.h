/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding while recording: code in this process that turns the copies of stacks in samples into call chains, before
 * they are written. To the recorder it is these functions, because mappings and unwind information belong to the
 * layers that read recordings.
 */
#ifndef RECORD_UNWIND_H
#define RECORD_UNWIND_H

#include "codec/evlist.h"
#include "codec/features.h"

/* Called on the recorder's thread. */
struct record_unwind {
	/* The events as the kernel writes them, and the same as the recording describes them. Before all records; they
	 * stay valid until the recording ends. */
	void (*begin)(void *ctx, const struct evlist *kernel, const struct evlist *recorded);
	/* Takes a record. The records for what existed before come first, and then those of all rings, in order of
	 * time but for the microseconds that the kernel takes to complete a record. Appends what the recording gets in
	 * its place. */
	void (*take)(void *ctx, const u8 *record, u16 size, struct bytes *out);
	/* Adds to a file's features what became of the stacks since the file before. After all its records. */
	void (*describe)(void *ctx, struct features *f, struct arena *arena);
	/* Sets the same fields of that feature for the file so far, but by reason alone: cuts name no files, and their
	 * texts are static. The caller frees unwound_cuts. */
	void (*sum_up)(void *ctx, struct features *f);
	void *ctx;
};

#endif
