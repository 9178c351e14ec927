/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truth: what the virtual PMU counted, exactly, put beside the recording that samples only show a part of. Names come
 * from the recording itself, by the same state that reports use.
 */
#ifndef PASS_TRUTH_H
#define PASS_TRUTH_H

#include "codec/vpmu.h"
#include "pass/session.h"

struct truth;

/* How the recording was made, for the file's head; and what ran outside the virtual PMU. */
struct truth_about {
	const char *recording; /* path; it is complete by now */
	const struct vpmu_options *options;
	const char *const *command; /* ends with NULL */
	u64 lost;		    /* records that found no place */
	u32 escaped;		    /* programs that ran without the virtual PMU */
};

/* ERR_IO (noted) when no temporary file can be made. */
int truth_new(struct truth **out, const struct notify *to);
void truth_free(struct truth *t);
/* One VPMU_RECORD_TRUTH_*, header included. */
void truth_take(struct truth *t, const u8 *record, u16 size);
/* Adds it up and names it; call once, when nothing more comes. ERR_*, noted, when the recording cannot be read, or
 * what was collected could not be kept. */
int truth_finish(struct truth *t, const struct truth_about *about, const struct notify *to);
/* After truth_finish: all of it as JSON. doc/vpmu.md has the schema. */
void truth_write(struct truth *t, const struct truth_about *about, struct bytes *out);

#endif
