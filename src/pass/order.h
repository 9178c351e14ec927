/* SPDX-License-Identifier: Apache-2.0 */
/* Order: a recording's samples by time, and times in options. */
#ifndef PASS_ORDER_H
#define PASS_ORDER_H

#include "attrib/filter.h"
#include "pass/session.h"

/* Times of the first and the last sample: from the header, else by looking at all of them. */
void session_times(const struct session *s, u64 *first, u64 *last);

/* The samples in time order (file order where times are equal or absent), for views that print them one by one.
 */
struct sample_ref {
	u64 time;
	u64 offset; /* of the record in source.data; or REF_OPERATION | that of an operation in AUX data */
};
#define REF_OPERATION (1ull << 63)
void session_sort_samples(struct session *s, struct sample_ref **out, u64 *n); /* caller frees */

/*
 * Goes through the samples in time order, and keeps only where those of two rounds of the recorder are; without rounds
 * (FINISHED_ROUND records), all. Not for recordings without times, nor for AUX data. Returns the number of samples
 * that are left out, because they are in a later round than they should be.
 */
typedef void (*in_order_fn)(void *ctx, const struct source_record *at);
u64 session_in_order(const struct session *s, in_order_fn take, void *ctx);

/*
 * Makes the filter that the user asked for from `asked` and the text of --time (NULL: all times), for which *times is
 * filled; the caller frees it in any case. ERR_USAGE, noted: the text is not a time, or samples do not have the fields
 * that the filter needs.
 */
int session_filter(struct session *s, const struct sample_filter *asked, const char *time, struct timeranges *times,
		   struct sample_filter *out);

#endif
