/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space over time: a log of mappings, where a newer one hides what it covers.
 *
 * A version of a space is a prefix of its log, so keeping all versions costs nothing beyond the log itself. What holds
 * address A in version n is the newest entry below n that covers A; failing that, what held A in the parent when it
 * was forked. Short logs are scanned backwards. Long ones (JITs, databases) get an index when the log is sealed: for
 * each aligned run of 32, 512, 8192.. entries a sorted list of what is visible of them, 4 bytes each. A prefix is at
 * most fifteen such runs of each length and a rest.
 */
#ifndef STATE_SPACE_H
#define STATE_SPACE_H

#include "base/vec.h"

#define SPACE_REGION_SHIFT 20
#define SPACE_REGION_BITS 9

/* One mapping. */
struct vmap {
	u64 start, end; /* end exclusive */
	u64 pgoff;
	u32 dso; /* 0: unmapped again */
	u32 prot;
};

struct space {
	const struct space *parent; /* what was inherited by fork; NULL: nothing */
	u32 parent_n;		    /* entries of the parent's log at that time */
	u64 inherited;		    /* entries that the parents hold for it */
	u32 id;			    /* of the spaces of procs, the same in each run; from 1 on */
	u32 depth;		    /* of parents */
	/* A Bloom filter over the 1 MB regions that any version maps something in, or a parent. */
	u64 regions[(1 << SPACE_REGION_BITS) / 64];
	VEC(struct vmap) log;
	VEC(u64) clock;		   /* of each entry: when it came; ascending */
	struct space_index *index; /* made by space_seal; NULL for a short log */
};

/* A version of a space. space == NULL: nothing is mapped. */
struct maps {
	const struct space *space;
	u32 n;
};

/*
 * A space that starts as a copy of that version (fork). The parent must outlive it. A long line of parents makes
 * look-ups slow, so what they hold is copied now and then, as long as *may_copy entries allow; what was copied is
 * taken off it.
 */
struct space *space_new(struct maps parent, u64 *may_copy);
void space_add(struct space *s, const struct vmap *m, u64 clock);
void space_seal(struct space *s);
void space_free(struct space *s);

/* The version that holds at clock; narrows [*from, *until) to where it holds. */
struct maps space_at(const struct space *s, u64 clock, u64 *from, u64 *until);

static inline u32 space_region_bit(u64 addr)
{
	return (u32)((addr >> SPACE_REGION_SHIFT) * 0x9e3779b97f4a7c15u >> (64 - SPACE_REGION_BITS));
}

/* False: nothing was ever mapped at addr. Broken stacks are full of addresses that are none; this tells most of them.
 */
static inline bool space_may_hold(const struct space *s, u64 addr)
{
	u32 bit = space_region_bit(addr);

	return s && s->regions[bit / 64] >> (bit % 64) & 1;
}

/* The mapping that holds addr, or NULL. */
const struct vmap *maps_find(const struct maps *maps, u64 addr);

#endif
