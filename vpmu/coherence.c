/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory as servers have it: sets of ways by a line's lowest bits, each with a lock of its own. A way has the
 * bits of the cores that use the line, and the one that has stored to it since others did (MESI's M; who is alone and
 * only loaded is not told apart from S). A line that does not fit any more is nobody's: its cores' own caches answer.
 *
 * Cores do not say what they evict. A line that its owner changed, and has loaded as many others since as its L2 has,
 * was written back by then: it is shared. So a program that fills a large buffer in one thread and reads it in another
 * does not look as if they fought over it.
 */
#include "vpmu/coherence.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/mem.h"

#define SETS (1u << 16)
#define WAYS 4
#define OWNER_LINES 16384 /* of an L2: both cores' have as many */
#define AHEAD 40000	  /* slots that a core may be ahead of others, */
#define PATIENCE 20	  /* and how often it lets them run before it goes on all the same: they may wait for it */

struct way {
	u64 line; /* 0: none; no program has that one */
	u64 cores;
	u32 used;  /* when: the set's turn */
	u32 since; /* what owner's evictions were when it stored last */
	s32 owner; /* -1: nobody changed it */
};

struct set {
	_Atomic u32 lock;
	u32 turn;
	struct way ways[WAYS];
};

struct coherence {
	_Atomic u32 evicted[COHERENCE_CORES];
	_Atomic u64 clock[COHERENCE_CORES]; /* work and base; 0: at rest */
	u64 base[COHERENCE_CORES];	    /* each core's own: what it missed while it was at rest */
	struct set sets[SETS];
};

struct coherence *coherence_new(void)
{
	return mem_zalloc(sizeof(struct coherence));
}

void coherence_evicted(struct coherence *c, u32 core)
{
	atomic_fetch_add_explicit(&c->evicted[core], 1, memory_order_relaxed);
}

/* The clock of the slowest of the other cores that run; UINT64_MAX: none does. */
static u64 slowest(const struct coherence *c, u32 core)
{
	u64 least = UINT64_MAX;

	for (u32 i = 0; i < COHERENCE_CORES; i++) {
		u64 at = i == core ? 0 : atomic_load_explicit(&c->clock[i], memory_order_relaxed);

		if (at)
			least = MIN(least, at);
	}
	return least;
}

void coherence_pace(struct coherence *c, u32 core, u64 work)
{
	bool rested = !atomic_load_explicit(&c->clock[core], memory_order_relaxed);
	u64 least = slowest(c, core), at = work + c->base[core];

	if (rested && least != UINT64_MAX && at < least) {
		c->base[core] += least - at;
		at = least;
	}
	atomic_store_explicit(&c->clock[core], MAX(at, 1ull), memory_order_relaxed);
	for (u32 i = 0; i < PATIENCE && least != UINT64_MAX && at > least + AHEAD; i++) {
		sched_yield();
		least = slowest(c, core);
	}
}

void coherence_rest(struct coherence *c, u32 core)
{
	atomic_store_explicit(&c->clock[core], 0, memory_order_relaxed);
}

static struct way *way_of(struct set *s, u64 line)
{
	struct way *oldest = &s->ways[0];

	s->turn++;
	for (u32 i = 0; i < WAYS; i++) {
		struct way *w = &s->ways[i];

		if (w->line == line) {
			w->used = s->turn;
			return w;
		}
		if (s->turn - w->used > s->turn - oldest->used)
			oldest = w;
	}
	*oldest = (struct way){ .line = line, .used = s->turn, .owner = -1 };
	return oldest;
}

static u32 evictions_of(const struct coherence *c, s32 core)
{
	return atomic_load_explicit(&c->evicted[core], memory_order_relaxed);
}

static enum coherence_was use(const struct coherence *c, struct way *w, u32 core, bool store)
{
	u64 me = 1ull << core, others = w->cores & ~me;
	bool mine = w->cores & me, changed = w->owner >= 0 && w->owner != (s32)core;
	enum coherence_was was = !others	? (mine ? COHERENT_OWN : COHERENT_NOBODYS) :
				 mine && !store ? COHERENT_OWN :
						  COHERENT_SHARED;

	if (changed && evictions_of(c, w->owner) - w->since < OWNER_LINES)
		was = COHERENT_MODIFIED;
	if (store) {
		w->cores = me;
		w->owner = (s32)core;
		w->since = evictions_of(c, w->owner);
	} else {
		w->cores |= me;
		if (changed)
			w->owner = -1;
	}
	return was;
}

enum coherence_was coherence_use(struct coherence *c, u32 core, u64 line, bool store)
{
	struct set *s = &c->sets[line % SETS];
	enum coherence_was was;

	while (atomic_exchange_explicit(&s->lock, 1, memory_order_acquire))
		;
	was = use(c, way_of(s, line), core, store);
	atomic_store_explicit(&s->lock, 0, memory_order_release);
	return was;
}
