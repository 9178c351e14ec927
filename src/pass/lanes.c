/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are processed in rounds, in two steps. First workers read the headers of the records in them, and note for
 * each record its place and its lane. Then each worker goes through these notes, block after block, and takes the
 * records of its lanes. Both steps go through all records; the first one reads half a dozen words of each.
 *
 * It is not known in advance how long the lanes of one worker take, and the others would have to wait for it at the
 * end of each round. So the rounds overlap: during the second step of one round, workers that have finished their
 * lanes do the first step of the next round, block by block.
 *
 * A lane is given to a worker when it first occurs: to the one with the fewest samples so far. Which worker reads
 * which counters does not change the result, only the time.
 */
#include "pass/lanes.h"

#include <stdlib.h>

#include "attrib/group_read.h"
#include "base/mem.h"
#include "base/pool.h"
#include "codec/perf_abi.h"
#include "pass/feed.h"

#define LANES_BITS 6
#define LANES (1u << LANES_BITS)
#define ANY_LANE LANES	       /* a sample that reads nothing, AUX data */
#define EVERY_LANE (LANES + 1) /* a record that is no sample */
#define NR_LANES (LANES + 2)
#define ROUND_BLOCKS 32u /* that are looked at before they are taken */
#define LANE_BITS 8
#define AHEAD 12 /* records that are asked for before they are taken */
#define ASKED_LINES 3

_Static_assert(BLOCK_BYTES <= 1u << (32 - LANE_BITS), "where a record is in its block, and its lane, make a u32");

/* A block, looked at. */
struct looked_at {
	VEC(u32) records; /* offset in the block, and lane */
	u64 counts[NR_LANES];
};

struct round {
	u32 first, n; /* blocks of the session */
	struct looked_at blocks[ROUND_BLOCKS];
};

struct lane_worker {
	u64 load;      /* samples of its lanes so far */
	VEC(u32) mine; /* of the block that it takes */
};

struct lanes {
	struct session *s;
	lane_fn fn;
	void *ctx;
	u32 workers;
	struct lane_worker *worker;
	struct round *taken, *next;
	u32 owner[LANES]; /* worker, or ID_NONE */
};

bool lanes_needed(const struct evlist *l)
{
	return group_read_used(l) || lbr_used(l);
}

/* Somebody who chooses ids and threads that meet in one lane makes one worker do it all, no more. */
static u32 spread(u64 id, u32 tid)
{
	return (u32)((id * 0x9e3779b97f4a7c15u + tid * 0xbf58476d1ce4e5b9u) >> (64 - LANES_BITS));
}

/* Stacks are stitched by thread. */
static u32 thread_lane(const struct event *e, const struct source_record *at, bool swap)
{
	struct cursor c = cursor_over(at->p, at->h.size, swap);

	cursor_skip(&c, e->layout.at_tid + 4u);
	return spread(0, cursor_u32(&c));
}

static u32 lane_of(const struct lanes *l, const struct source_record *at)
{
	const struct event *e = feed_event(l->s->src, at);
	u32 tid = 0;
	u64 id;

	if (!e)
		return ANY_LANE;
	if (UNLIKELY(lbr_event(e)) && e->layout.at_tid)
		return thread_lane(e, at, l->s->src->swap);
	if (!sample_first_member(&e->layout, cursor_over(at->p, at->h.size, l->s->src->swap), &id, &tid))
		return ANY_LANE;
	/* Where events are inherited, one id stands for counters of each thread. */
	return spread(id, e->attr.flags & ATTR_INHERIT ? tid : 0);
}

static bool stopped(const struct lanes *l)
{
	return l->s->opts.stop && *l->s->opts.stop;
}

static void look(const struct lanes *l, struct round *r, u32 block)
{
	const struct block *b = &l->s->data.blocks.v[r->first + block];
	struct looked_at *to = &r->blocks[block];
	u64 offset = b->offset;
	struct source_record at;
	size_t n = 0;

	for (u32 i = 0; i < NR_LANES; i++)
		to->counts[i] = 0;
	while (offset < b->end && source_next(l->s->src, &offset, &at, NULL)) {
		u32 lane = at.h.type == PERF_RECORD_SAMPLE   ? lane_of(l, &at) :
			   at.h.type == PERF_RECORD_AUXTRACE ? ANY_LANE :
							       EVERY_LANE;

		to->counts[lane]++;
		if (n == to->records.cap)
			vec_reserve(&to->records, n + 1);
		to->records.v[n++] = (u32)(at.offset - b->offset) << LANE_BITS | lane;
	}
	to->records.n = n;
}

static void give_lanes(struct lanes *l, const struct round *r)
{
	for (u32 lane = 0; lane < LANES; lane++) {
		u64 n = 0;

		for (u32 i = 0; i < r->n; i++)
			n += r->blocks[i].counts[lane];
		if (n && l->owner[lane] == ID_NONE) {
			l->owner[lane] = 0;
			for (u32 w = 1; w < l->workers; w++)
				if (l->worker[w].load < l->worker[l->owner[lane]].load)
					l->owner[lane] = w;
		}
		if (n)
			l->worker[l->owner[lane]].load += n;
	}
}

/* Which of the block's records are this worker's, without a branch for each: nobody could foresee it. */
static void find_mine(struct lanes *l, const struct looked_at *b, u32 worker, bool any)
{
	struct lane_worker *w = &l->worker[worker];
	u32 is_mine[NR_LANES] = { [ANY_LANE] = any, [EVERY_LANE] = 1 }, n = 0;

	for (u32 i = 0; i < LANES; i++)
		is_mine[i] = l->owner[i] == worker;
	vec_reserve(&w->mine, b->records.n);
	for (size_t i = 0; i < b->records.n; i++) {
		w->mine.v[n] = b->records.v[i] >> LANE_BITS;
		n += is_mine[b->records.v[i] & ((1u << LANE_BITS) - 1)];
	}
	w->mine.n = n;
}

/* The lines of most records that are read. */
static void ask_for(const u8 *record)
{
	for (u32 i = 0; i < ASKED_LINES; i++)
		__builtin_prefetch(record + (size_t)i * CACHE_LINE);
}

static void take(struct lanes *l, const struct round *r, u32 worker)
{
	const struct session *s = l->s;
	struct lane_worker *w = &l->worker[worker];

	for (u32 i = 0; i < r->n && !stopped(l); i++) {
		u64 start = s->data.blocks.v[r->first + i].offset;

		find_mine(l, &r->blocks[i], worker, i % l->workers == worker);
		for (size_t k = 0; k < w->mine.n; k++) {
			u64 offset = start + w->mine.v[k];
			struct source_record at;

			if (k + AHEAD < w->mine.n)
				ask_for(s->src->data + start + w->mine.v[k + AHEAD]);
			if (source_next_asked(s->src, &offset, &at, NULL))
				l->fn(l->ctx, worker, &at);
		}
	}
}

/* unit: the worker whose lanes are gone through, whoever does it, and behind them the blocks of the next round. */
static void take_or_look(void *ctx, u32 worker, u32 unit)
{
	struct lanes *l = ctx;

	(void)worker;
	if (unit < l->workers)
		take(l, l->taken, unit);
	else if (!stopped(l))
		look(l, l->next, unit - l->workers);
}

/* Takes l->taken, and looks at what comes behind it. */
static void do_round(struct lanes *l)
{
	struct round *taken = l->taken;
	u32 blocks = (u32)l->s->data.blocks.n;

	l->next->first = taken->first + taken->n;
	l->next->n = MIN(ROUND_BLOCKS, blocks - l->next->first);
	pool_run(l->workers, l->workers + l->next->n, take_or_look, l);
	session_progress(l->s, "processing", l->next->first, blocks);
	give_lanes(l, l->next);
	l->taken = l->next;
	l->next = taken;
}

void lanes_run(struct session *s, u32 workers, lane_fn fn, void *ctx)
{
	struct round rounds[2] = { 0 };
	struct lanes l = { .s = s, .fn = fn, .ctx = ctx, .workers = workers, .taken = &rounds[0], .next = &rounds[1] };

	l.worker = mem_zalloc(workers * sizeof(*l.worker));
	for (u32 i = 0; i < LANES; i++)
		l.owner[i] = ID_NONE;
	do
		do_round(&l);
	while (l.taken->n && !stopped(&l));
	for (u32 i = 0; i < 2 * ROUND_BLOCKS; i++)
		vec_free(&rounds[i / ROUND_BLOCKS].blocks[i % ROUND_BLOCKS].records);
	for (u32 i = 0; i < workers; i++)
		vec_free(&l.worker[i].mine);
	free(l.worker);
}
