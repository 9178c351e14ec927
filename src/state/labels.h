/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of threads (ACTIVITY_LABELS) become what threads of other programs say: a record with ids, and attributes by
 * the numbers of their names. The names are those of a process, in the order in which its threads say them.
 */
#ifndef STATE_LABELS_H
#define STATE_LABELS_H

#include "base/set.h"
#include "base/vec.h"
#include "codec/activity.h"

struct label_keys {
	u32 pid;
	u64 image;	       /* of the process (struct activity_record) */
	VEC(struct str) names; /* at most ACTIVITY_KEYS_MAX; texts point into the records */
};

struct labels {
	VEC(struct label_keys *) processes;
	struct set known; /* of them */
};

#define LABELS_RECORD (ACTIVITY_FIXED + ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX)

struct labelled {
	u8 record[LABELS_RECORD];
	u32 size;			 /* of the record */
	bool whole;			 /* nothing was left out because there was no room */
	u64 met[ACTIVITY_KEYS_MAX / 64]; /* names that it has; the first value of one counts */
	const struct label_keys *keys;	 /* good as long as the labels are; names are added later */
};

void labels_free(struct labels *l);
void labels_take(struct labels *l, u32 pid, const struct activity_record *r, struct labelled *out);

#endif
