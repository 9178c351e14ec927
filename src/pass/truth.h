/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truth: the exact counts of the virtual PMU, beside the recording, whose samples show only a part of them. Names come
 * from the recording itself, by the same state that reports use.
 */
#ifndef PASS_TRUTH_H
#define PASS_TRUTH_H

#include "codec/vpmu.h"
#include "pass/session.h"

struct truth;

/* How the recording was made, for the head of the file; and what ran outside the virtual PMU. */
struct truth_about {
	const char *recording; /* path of the recording, which is complete */
	const struct vpmu_options *options;
	const char *const *command; /* ends with NULL */
	u64 lost;		    /* records for which there was no room */
	u32 escaped;		    /* programs that ran without the virtual PMU */
};

/* ERR_IO (noted) when no temporary file can be made. */
int truth_new(struct truth **out, const struct notify *to);
void truth_free(struct truth *t);
/* One VPMU_RECORD_TRUTH_*, header included. */
void truth_take(struct truth *t, const u8 *record, u16 size);
/* Sums the records and finds names; call it once, after the last record. ERR_*, noted, if the recording cannot be
 * read, or if the records could not be stored. */
int truth_finish(struct truth *t, const struct truth_about *about, const struct notify *to);
/* After truth_finish: writes everything as JSON. doc/vpmu.md has the schema. */
void truth_write(struct truth *t, const struct truth_about *about, struct bytes *out);

#endif
