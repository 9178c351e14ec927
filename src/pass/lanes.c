/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are taken some at a time, in two steps. First all workers look at the headers of the records in them, and
 * write down for each record that matters where it is and which lane it belongs to. Then each worker goes through what
 * was written down, block after block, and takes the records of its lanes. The first step touches what the second one
 * reads, and costs about a sixth of it.
 *
 * Lanes are given to workers when they are first seen, to the one with the fewest samples so far: which worker reads
 * which counters changes no result, only how long it takes.
 */
#include "pass/lanes.h"

#include <stdlib.h>

#include "attrib/group_read.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "codec/perf_abi.h"
#include "pass/feed.h"

#define LANES 64u
#define ANY_LANE LANES	       /* a sample that reads nothing, AUX data */
#define EVERY_LANE (LANES + 1) /* a record that is no sample */
#define ROUND_BLOCKS 64u       /* that are looked at before they are taken */
#define LANE_BITS 8

_Static_assert(BLOCK_BYTES <= 1u << (32 - LANE_BITS), "where a record is in its block, and its lane, make a u32");

/* A block, looked at. */
struct looked_at {
	VEC(u32) records; /* offset in the block, and lane */
	u64 counts[LANES];
};

struct lanes {
	struct session *s;
	lane_fn fn;
	void *ctx;
	u32 workers, first; /* first: block of this round */
	struct looked_at blocks[ROUND_BLOCKS];
	u32 owner[LANES]; /* worker, or ID_NONE */
	u64 *load;	  /* of each worker: samples so far */
};

bool lanes_needed(const struct evlist *l)
{
	return group_read_used(l) || lbr_used(l);
}

/* Stacks are stitched by thread. */
static u32 thread_lane(const struct event *e, const struct source_record *at, bool swap)
{
	struct cursor c = cursor_over(at->p, at->h.size, swap);

	cursor_skip(&c, e->layout.at_tid + 4u);
	return (u32)(hash_u64(cursor_u32(&c)) >> 32) % LANES;
}

static u32 lane_of(const struct lanes *l, const struct source_record *at)
{
	const struct event *e = feed_event(l->s->src, at);
	const struct cursor c = cursor_over(at->p, at->h.size, l->s->src->swap);
	u32 tid = 0;
	u64 id;

	if (!e)
		return ANY_LANE;
	if (lbr_event(e) && e->layout.at_tid)
		return thread_lane(e, at, l->s->src->swap);
	if (!sample_first_member(&e->layout, c, &id, &tid))
		return ANY_LANE;
	/* Where events are inherited, one id stands for counters of each thread. */
	if (!(e->attr.flags & ATTR_INHERIT))
		tid = 0;
	return (u32)(hash_mix(hash_u64(id), tid) >> 32) % LANES;
}

static void look(void *ctx, u32 worker, u32 unit)
{
	struct lanes *l = ctx;
	const struct block *b = &l->s->data.blocks.v[l->first + unit];
	struct looked_at *to = &l->blocks[unit];
	u64 offset = b->offset;
	struct source_record at;

	(void)worker;
	to->records.n = 0;
	for (u32 i = 0; i < LANES; i++)
		to->counts[i] = 0;
	while (offset < b->end && source_next(l->s->src, &offset, &at, NULL)) {
		u32 lane = at.h.type == PERF_RECORD_SAMPLE   ? lane_of(l, &at) :
			   at.h.type == PERF_RECORD_AUXTRACE ? ANY_LANE :
							       EVERY_LANE;

		if (lane < LANES)
			to->counts[lane]++;
		vec_push(&to->records, (u32)(at.offset - b->offset) << LANE_BITS | lane);
	}
}

static void give_lanes(struct lanes *l, u32 blocks)
{
	for (u32 lane = 0; lane < LANES; lane++) {
		u64 n = 0;

		for (u32 i = 0; i < blocks; i++)
			n += l->blocks[i].counts[lane];
		if (n && l->owner[lane] == ID_NONE) {
			l->owner[lane] = 0;
			for (u32 w = 1; w < l->workers; w++)
				if (l->load[w] < l->load[l->owner[lane]])
					l->owner[lane] = w;
		}
		if (n)
			l->load[l->owner[lane]] += n;
	}
}

static bool is_mine(const struct lanes *l, u32 lane, u32 worker, u32 block)
{
	return lane == EVERY_LANE || (lane == ANY_LANE ? block % l->workers : l->owner[lane]) == worker;
}

static bool stopped(const struct lanes *l)
{
	return l->s->opts.stop && *l->s->opts.stop;
}

/* unit: the worker whose lanes are gone through, whoever does it. */
static void take(void *ctx, u32 worker, u32 unit)
{
	struct lanes *l = ctx;
	const struct session *s = l->s;
	u32 n = MIN(ROUND_BLOCKS, (u32)s->data.blocks.n - l->first);

	(void)worker;
	for (u32 i = 0; i < n && !stopped(l); i++) {
		const struct looked_at *b = &l->blocks[i];
		u64 start = s->data.blocks.v[l->first + i].offset;

		for (size_t k = 0; k < b->records.n; k++) {
			u64 offset = start + (b->records.v[k] >> LANE_BITS);
			struct source_record at;

			if (is_mine(l, b->records.v[k] & ((1u << LANE_BITS) - 1), unit, i) &&
			    source_next(s->src, &offset, &at, NULL))
				l->fn(l->ctx, unit, &at);
		}
	}
}

void lanes_run(struct session *s, u32 workers, lane_fn fn, void *ctx)
{
	struct lanes l = { .s = s, .fn = fn, .ctx = ctx, .workers = workers };

	l.load = mem_zalloc(workers * sizeof(*l.load));
	for (u32 i = 0; i < LANES; i++)
		l.owner[i] = ID_NONE;
	for (; l.first < s->data.blocks.n && !stopped(&l); l.first += ROUND_BLOCKS) {
		u32 n = MIN(ROUND_BLOCKS, (u32)s->data.blocks.n - l.first);

		pool_run(workers, n, look, &l);
		give_lanes(&l, n);
		pool_run(workers, workers, take, &l);
		session_progress(s, "processing", l.first, s->data.blocks.n);
	}
	for (u32 i = 0; i < ROUND_BLOCKS; i++)
		vec_free(&l.blocks[i].records);
	free(l.load);
}
