/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AUX area of a ring, mapped: hardware writes its trace there, past the kernel. Head and tail only grow, as the
 * ring's do; their position in the area is their value modulo its size (a power of two). The kernel says in the ring,
 * with PERF_RECORD_AUX, which part of the area belongs to which stretch of time, and what was lost.
 */
#ifndef SYS_AUX_AREA_H
#define SYS_AUX_AREA_H

#include "sys/ring.h"

struct aux_area {
	struct perf_event_mmap_page *page; /* the ring's; NULL: there is no area */
	u8 *data;
	u64 size;
	u64 tail;	  /* position up to which it was consumed */
	u64 head;	  /* and up to which data can be read, when aux_area_look looked */
	bool overwritten; /* it is never full: its oldest bytes are overwritten */
	u64 written;	  /* into such an area until the last aux_area_take */
};

/* Maps so many pages (a power of two) behind a ring that is mapped for an event with an AUX area. Negative errno:
 * EPERM is the mlock limit. */
int aux_area_map(struct aux_area *a, const struct ring *r, u32 pages, bool overwritten);
void aux_area_unmap(struct aux_area *a);
/* Notes what can be read. The AUX records about it are in the ring by then. */
void aux_area_look(struct aux_area *a);
/* The same up to where records from the ring have told of the area, which is newer when the ring was emptied since. */
void aux_area_told(struct aux_area *a, u64 end);
/* The bytes that were there then, in one or two parts (*nr; 0: none). Returns their number. */
u64 aux_area_peek(const struct aux_area *a, struct iovec part[2], int *nr);
/*
 * The same for an area that is overwritten, while nothing is written: the newest bytes of those that came since the
 * last time, `most` of them at most. written: how many ever came, as records from the ring tell.
 */
void aux_area_take(struct aux_area *a, u64 written, u64 most);
/* Gives n bytes back to the kernel after use. */
void aux_area_consume(struct aux_area *a, u64 n);

#endif
