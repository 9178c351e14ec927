/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ring of a journal (codec/journal.h), read while its program writes it.
 *
 * It is read, never mapped: who made the file may shorten it at any time. An entry counts when its slot held it before
 * the entry was read, and when no writer had come round to the slot after that. If some were overwritten before they
 * could be read, nobody knows what the thread works for from the last time on at which it was certain, until the next
 * entry.
 */
#ifndef RECORD_JOURNAL_RING_H
#define RECORD_JOURNAL_RING_H

#include "codec/journal.h"

struct journal_ring {
	int fd;
	struct journal_head head;
	u64 next;    /* the entry that is to be read next */
	u64 certain; /* a time until which nothing came behind the last entry, and none is later; 0: none is known */
	struct journal_entry last; /* tid 0: there was none */
	bool gap;		   /* entries behind the last one are missing */
	bool doubted;		   /* the reader's: it had no time for this ring, and has told so */
	u64 lost, refused;	   /* entries that were overwritten; that make no sense: since they were last told */
};

/* From the file's head. False: it is no ring, or none yet. */
bool journal_ring_begin(struct journal_ring *r, int fd);
/* Of a ring that was there before: what was said long ago is not read, but what holds now is. */
void journal_ring_skip(struct journal_ring *r);

/* entry: what its thread works for from its time on; NULL: from `time` on nobody knows that of r->last.tid, which may
 * be 0. */
typedef void (*journal_fn)(void *ctx, const struct journal_ring *r, const struct journal_entry *entry, u64 time);

/* Reads what is there. now: reads CLOCK_MONOTONIC. False: the file is no ring any more. */
bool journal_ring_read(struct journal_ring *r, u64 (*now)(void), journal_fn fn, void *ctx);

#endif
