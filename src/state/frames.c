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
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define NR_SHARDS 64
#define PAGE_SHIFT 12
#define NR_PAGES (1u << 16) /* 268 M frames */

struct shard {
	pthread_mutex_t lock;
	u32 *slots; /* frame ids, ID_NONE: empty */
	u32 n, mask;
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
		free(f->shards[i].slots);
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

static void grow(struct frames *f, struct shard *s)
{
	u32 *old = s->slots, size = old ? (s->mask + 1) * 2 : 64, old_size = old ? s->mask + 1 : 0;

	s->slots = mem_realloc(NULL, size, sizeof(u32));
	memset(s->slots, 0xff, size * sizeof(u32));
	s->mask = size - 1;
	for (u32 i = 0; i < old_size; i++) {
		u32 at;

		if (old[i] == ID_NONE)
			continue;
		at = (u32)(frame_hash(place(f, old[i])) >> 6) & s->mask;
		while (s->slots[at] != ID_NONE)
			at = (at + 1) & s->mask;
		s->slots[at] = old[i];
	}
	free(old);
}

u32 frames_intern(struct frames *f, const struct frame *frame)
{
	u64 h = frame_hash(frame);
	struct shard *s = &f->shards[h % NR_SHARDS];
	u32 at, id;

	pthread_mutex_lock(&s->lock);
	if (!s->slots || s->n >= (s->mask + 1) / 4 * 3)
		grow(f, s);
	at = (u32)(h >> 6) & s->mask;
	while ((id = s->slots[at]) != ID_NONE && !frame_equal(place(f, id), frame))
		at = (at + 1) & s->mask;
	if (id == ID_NONE) {
		id = allot(f);
		*place(f, id) = *frame;
		s->slots[at] = id;
		s->n++;
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
