/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of agg/waits.h stand for: the key of activities, the places where threads wait, and who wakes
 * them. */
#ifndef AGG_WAIT_NAMES_H
#define AGG_WAIT_NAMES_H

#include "agg/waits.h"
#include "base/strtab.h"
#include "state/frames.h"

/* A function of the kernel and one of the program; ID_NONE: the stack has none. */
struct wait_stack {
	u32 kernel, user;
};

/* What the CPU was at when it woke a thread. */
enum wait_context {
	WAIT_BY_THREAD,
	WAIT_BY_SOFTIRQ, /* the thread that ran may have nothing to do with it */
	WAIT_BY_INTERRUPT,
};

struct wait_waker {
	enum wait_context context;
	u32 comm;     /* WAIT_BY_THREAD: string id */
	u32 activity; /* likewise: a text of keys */
	struct wait_stack at;
};

struct wait_names {
	struct strtab keys; /* texts of the activities in struct waits */
	VEC(struct wait_stack) places;
	VEC(struct wait_waker) wakers;
	struct set known_places, known_wakers;
	struct dsos *dsos;
	const struct frames *frames;
	VEC(u8) kinds; /* of frames, by id: what kind of function each is, once it was asked for */
};

u32 wait_names_place(struct wait_names *n, struct wait_stack at);
u32 wait_names_waker(struct wait_names *n, const struct wait_waker *w);
/*
 * The functions that say most of a stack (innermost frame first): that of the kernel which waits, or wakes, behind the
 * scheduler's own functions; and the innermost of the program itself, behind the C library's.
 */
struct wait_stack wait_names_stack(struct wait_names *n, const u32 *frames, u32 nr);
void wait_names_free(struct wait_names *n);

#endif
