/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One perf ring buffer, mapped. The kernel writes records and moves data_head; we read and move data_tail. Head and
 * tail only grow; their position in the ring is their value modulo its size (a power of two). Records are 8-aligned
 * and may wrap around the end; their 8-byte headers never do.
 *
 * A backward ring (attr.write_backward) is a flight recorder: the head moves down, each record is written before the
 * older one, and the kernel overwrites the oldest records. The contents are read now and then, with the ring paused.
 */
#ifndef SYS_RING_H
#define SYS_RING_H

#include <linux/perf_event.h>
#include <sys/uio.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/types.h"

struct ring {
	struct perf_event_mmap_page *page;
	u8 *data;
	u64 size; /* of the data part */
	u64 tail; /* position up to which records were consumed; backward: the head when the ring was last read */
	bool backward;
	int fd; /* the event that owns it; not ours to close */
	s32 cpu, tid;
};

/* Maps 1 + pages pages of fd; pages is a power of two. r->backward is set by the caller. Negative errno: EPERM is the
 * mlock limit. */
int ring_map(struct ring *r, int fd, u32 pages);
void ring_unmap(struct ring *r);

/* The bytes that can be read, in one or two parts (*nr; 0 if the ring is empty, or unmapped). Returns their length. */
u64 ring_peek(const struct ring *r, struct iovec part[2], int *nr);
/* A backward ring. */
void ring_pause(const struct ring *r, bool on);
/* The records that came since the last call and are still there, the oldest first. Pause the ring before, long enough
 * for all writers to finish. */
void ring_look(struct ring *r, struct bytes *out);
/* The number of bytes that can be read, as ring_peek would tell. */
u64 ring_filled(const struct ring *r);
/* The record at that distance from the oldest byte, which the caller knows to be there whole or, from its header on,
 * in part: *size bytes, in one piece; what wraps around the ring's end is put together in `joined`. NULL: it is not
 * whole. */
const u8 *ring_record(const struct ring *r, u64 at, u64 filled, u16 *size, struct bytes *joined);
/* Gives n bytes back to the kernel after use. */
void ring_consume(struct ring *r, u64 n);

#endif
