/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: what a stack is made of, each distinct one with a u32 id. A frame is a symbol of a DSO, or, where no symbol
 * is known (or source lines matter), one address of it. Ids are dense, interning is thread-safe, and a frame once
 * interned can be read without a lock.
 */
#ifndef STATE_FRAMES_H
#define STATE_FRAMES_H

#include "base/bytes.h"
#include "state/dso.h"

struct frame {
	u32 dso;
	u32 sym;     /* index in the DSO, or ID_NONE: unresolved */
	u64 addr;    /* DSO address; 0 for a frame that stands for its whole symbol */
	u32 inlined; /* string id of the inlined function's name, or 0 */
	char level;  /* 'k' kernel, '.' user, 'H' hypervisor, 'g' guest kernel, 'u' guest user; as perf prints */
};

struct frames;

struct frames *frames_new(void);
void frames_free(struct frames *f);
u32 frames_intern(struct frames *f, const struct frame *frame);
const struct frame *frames_get(const struct frames *f, u32 id);
u32 frames_count(const struct frames *f);

/* "[k] ", as it stands before a symbol: for many rows, and printf would take longer than all the rest of them. */
static inline void frame_put_level(char level, struct bytes *out)
{
	const char text[] = { '[', level, ']', ' ' };

	bytes_put(out, text, sizeof(text));
}

#endif
