/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals of activities: the files in which programs that use the library of activity/ write down what each thread
 * works for, and since when (activity/src/journal.c says how). They are of this machine's byte order. Whoever writes
 * them may write anything.
 *
 * A ring: a head, the number of the next entry at JOURNAL_NEXT_AT, and from JOURNAL_SLOTS_AT on slots, of which the
 * entry n is in slot n % slots. A publication: a head, and behind it the message that the process publishes.
 */
#ifndef CODEC_JOURNAL_H
#define CODEC_JOURNAL_H

#include "base/types.h"
#include "codec/activity.h"

#define JOURNAL_NEXT_AT 64u
#define JOURNAL_SLOTS_AT 4096u
#define JOURNAL_SLOT 128u /* bytes */
#define JOURNAL_MOST_SLOTS (1u << 16)
#define JOURNAL_RECORD_MAX (JOURNAL_SLOT - 16)
#define JOURNAL_PUBLISHED_AT 48u /* the message; what is before it is its head */
#define JOURNAL_HEAD 48u	 /* bytes of a ring's head */

struct journal_head {
	u32 slots; /* a power of two; of a ring */
	u32 size;  /* bytes of the message; of a publication */
	u32 pid;
	u32 started; /* when that process began, in clock ticks (the lower half); 0: not known; of a ring */
	/* The inodes of the namespaces in which the process has that number, and the clock that time; 0: not known. */
	u64 processes, clocks;
	u64 image; /* another one after exec */
	u64 time;  /* when it was published, by CLOCK_MONOTONIC */
};

/* False: this is none, or none yet. p: JOURNAL_HEAD bytes; */
bool journal_ring_decode(const u8 *p, struct journal_head *out);
/* JOURNAL_PUBLISHED_AT bytes. */
bool journal_publication_decode(const u8 *p, struct journal_head *out);

struct journal_entry {
	u32 tid;
	u64 time;		       /* from then on, by CLOCK_MONOTONIC */
	u16 size;		       /* of the record; 0: the thread works for nothing */
	u8 record[JOURNAL_RECORD_MAX]; /* as of struct activity_record */
};

enum journal_slot {
	JOURNAL_WHOLE,
	JOURNAL_UNWRITTEN, /* the entry is not, or not wholly, there */
	JOURNAL_REFUSED,   /* it makes no sense */
};

/* Is the entry n in that slot? */
bool journal_slot_holds(const u8 *slot, u64 n);
/* What a slot says, which was read after it was seen to hold the entry. */
enum journal_slot journal_slot_decode(const u8 *slot, struct journal_entry *out);

#endif
