/* SPDX-License-Identifier: Apache-2.0 */
/* Formats records with several threads and writes them out in order. */
#ifndef CMD_SCRIPT_RUN_H
#define CMD_SCRIPT_RUN_H

#include "pass/order.h"
#include "view/script/script.h"

struct script_result {
	u64 samples;   /* that there were, be they shown or not */
	u64 skipped;   /* those that could not be decoded, beside these */
	bool printed;  /* anything */
	int sys_errno; /* of a write that failed; EPIPE among them */
};

/*
 * Prints refs[0..n) of src on fd, in that order. Each is a sample or a side-band record. Memory is bounded by the
 * number of workers, not by n. Returns 0, ERR_IO or ERR_INTERRUPTED.
 */
int script_run(const struct script *s, const struct source *src, const struct sample_ref *refs, u64 n, u32 workers,
	       int fd, const bool *stop, struct script_result *result);

#endif
