/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames are spread over shards by hash, each with its own lock, so that workers rarely meet. The frames themselves
 * stand in pages that never move: an id names a page and a place in it, and whoever has an id got it after the frame
 * was written.
 */
#include "state/frames.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/set.h"

#define NR_SHARDS 64
#define PAGE_SHIFT 12
#define NR_PAGES (1u << 16) /* 268 M frames */

struct shard {
	pthread_mutex_t lock;
	struct set ids;
};

struct frames {
	struct shard shards[NR_SHARDS];
	pthread_mutex_t pages_lock;
	_Atomic(struct frame *) pages[NR_PAGES];
	atomic_uint n;
};

struct frames *frames_new(void)
{
	struct frames *f = mem_zalloc(sizeof(*f));

	for (u32 i = 0; i < NR_SHARDS; i++)
		pthread_mutex_init(&f->shards[i].lock, NULL);
	pthread_mutex_init(&f->pages_lock, NULL);
	return f;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	for (u32 i = 0; i < NR_SHARDS; i++) {
		pthread_mutex_destroy(&f->shards[i].lock);
		set_free(&f->shards[i].ids);
	}
	for (u32 i = 0; i < NR_PAGES && f->pages[i]; i++)
		free(f->pages[i]);
	pthread_mutex_destroy(&f->pages_lock);
	free(f);
}

static struct frame *place(struct frames *f, u32 id)
{
	struct frame *page = atomic_load_explicit(&f->pages[id >> PAGE_SHIFT], memory_order_acquire);

	return &page[id & ((1u << PAGE_SHIFT) - 1)];
}

/* A new id with room for its frame. */
static u32 allot(struct frames *f)
{
	u32 id, page;

	pthread_mutex_lock(&f->pages_lock);
	id = f->n;
	page = id >> PAGE_SHIFT;
	if (page >= NR_PAGES)
		abort(); /* 268 M distinct frames: more than 24 GB of them, memory has ended long before */
	if (!f->pages[page])
		atomic_store_explicit(&f->pages[page], mem_alloc(sizeof(struct frame) << PAGE_SHIFT),
				      memory_order_release);
	f->n = id + 1;
	pthread_mutex_unlock(&f->pages_lock);
	return id;
}

static u64 frame_hash(const struct frame *k)
{
	u64 h = hash_mix(k->addr, (u64)k->dso << 32 | k->sym);

	return hash_u64(hash_mix(h, (u64)k->inlined << 8 | (u8)k->level));
}

static bool frame_equal(const struct frame *a, const struct frame *b)
{
	return a->dso == b->dso && a->sym == b->sym && a->addr == b->addr && a->inlined == b->inlined &&
	       a->level == b->level;
}

u32 frames_intern(struct frames *f, const struct frame *frame)
{
	u64 h = frame_hash(frame), in_shard = h / NR_SHARDS;
	struct shard *s = &f->shards[h % NR_SHARDS];
	u32 at, id;

	pthread_mutex_lock(&s->lock);
	SET_FIND(id, &s->ids, in_shard, at, frame_equal(place(f, id), frame));
	if (id == ID_NONE) {
		id = allot(f);
		*place(f, id) = *frame;
		set_add(&s->ids, in_shard, id);
	}
	pthread_mutex_unlock(&s->lock);
	return id;
}

const struct frame *frames_get(const struct frames *f, u32 id)
{
	return place((struct frames *)f, id);
}

u32 frames_count(const struct frames *f)
{
	return f->n;
}
