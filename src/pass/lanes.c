/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are processed in rounds, in two steps. First the headers of the records in them are read, and the place and
 * the lane of each record are noted. Then each worker goes through these notes, block after block, and takes the
 * records of its lanes. Both steps go through all records; the first one reads half a dozen words of each.
 *
 * It is not known in advance how long the lanes of one worker take in a round, but over many rounds that evens out. So
 * nobody waits at the end of a round: a few rounds are open at a time, and a worker may be in one while another is
 * still in the one before. A thread does the first of these that is possible: it takes its own worker's lanes in the
 * next round that has been read; it reads a block, if there is room for one more round; it takes the lanes of another
 * worker that is behind because its thread does something else, or could not be started. Everything that a worker has
 * belongs to the thread that takes its lanes, for the time of one round; the lock hands it over.
 *
 * A lane is given to a worker when it first occurs: to the one with the fewest samples so far. Which worker reads
 * which counters does not change the result, only the time.
 */
#include "pass/lanes.h"

#include <pthread.h>
#include <stdlib.h>

#include "attrib/group_read.h"
#include "attrib/lane.h"
#include "base/mem.h"
#include "base/pool.h"
#include "codec/perf_abi.h"
#include "pass/feed.h"

#define ANY_LANE LANES	       /* a sample that reads nothing, AUX data */
#define EVERY_LANE (LANES + 1) /* a record that is no sample */
#define NR_LANES (LANES + 2)
#define ROUND_BLOCKS 16u /* that are looked at before they are taken */
#define OPEN_ROUNDS 4u
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
	u32 looked; /* how many of its blocks were looked at */
	struct looked_at blocks[ROUND_BLOCKS];
};

struct lane_worker {
	u64 load;	     /* samples of its lanes so far */
	u32 round;	     /* that it takes next */
	bool busy;	     /* a thread is taking it */
	u32 lanes[NR_LANES]; /* of the round that it takes: 1 for those that are its own */
	VEC(u32) mine;	     /* of the block that it takes */
};

struct lanes {
	struct session *s;
	lane_fn fn;
	void *ctx;
	u32 workers;
	struct lane_worker *worker;
	u32 owner[LANES]; /* worker, or ID_NONE */
	struct round rounds[OPEN_ROUNDS];

	/* Under the lock. Rounds are counted from 0; round i is in rounds[i % OPEN_ROUNDS]. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	u32 nr_rounds, nr_blocks;
	u32 next_block; /* to be looked at */
	u32 given;	/* rounds that were looked at as a whole, and all lanes in which have a worker */
};

/* What a thread does next: looks at a block, takes the lanes of a worker in its next round, or nothing more. */
struct task {
	enum { TASK_TAKE, TASK_LOOK, TASK_NONE } kind;
	u32 of; /* block, or worker */
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
	return lane_spread(0, cursor_u32(&c));
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
	return lane_spread(id, e->attr.flags & ATTR_INHERIT ? tid : 0);
}

static bool stopped(const struct lanes *l)
{
	return l->s->opts.stop && *l->s->opts.stop;
}

static struct round *round_at(struct lanes *l, u32 round)
{
	return &l->rounds[round % OPEN_ROUNDS];
}

static u32 blocks_of(const struct lanes *l, u32 round)
{
	return MIN(ROUND_BLOCKS, l->nr_blocks - round * ROUND_BLOCKS);
}

static void look(struct lanes *l, u32 block)
{
	const struct block *b = &l->s->data.blocks.v[block];
	struct looked_at *to = &round_at(l, block / ROUND_BLOCKS)->blocks[block % ROUND_BLOCKS];
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

static void give_lanes(struct lanes *l, u32 round)
{
	const struct round *r = round_at(l, round);

	for (u32 lane = 0; lane < LANES; lane++) {
		u64 n = 0;

		for (u32 i = 0; i < blocks_of(l, round); i++)
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
static void find_mine(struct lane_worker *w, const struct looked_at *b, bool any)
{
	u32 n = 0;

	w->lanes[ANY_LANE] = any;
	vec_reserve(&w->mine, b->records.n);
	for (size_t i = 0; i < b->records.n; i++) {
		w->mine.v[n] = b->records.v[i] >> LANE_BITS;
		n += w->lanes[b->records.v[i] & ((1u << LANE_BITS) - 1)];
	}
	w->mine.n = n;
}

/* The lines of most records that are read. */
static void ask_for(const u8 *record)
{
	for (u32 i = 0; i < ASKED_LINES; i++)
		__builtin_prefetch(record + (size_t)i * CACHE_LINE);
}

static void take(struct lanes *l, u32 worker)
{
	const struct session *s = l->s;
	struct lane_worker *w = &l->worker[worker];
	u32 first = w->round * ROUND_BLOCKS;

	for (u32 i = 0; i < blocks_of(l, w->round) && !stopped(l); i++) {
		u64 start = s->data.blocks.v[first + i].offset;

		find_mine(w, &round_at(l, w->round)->blocks[i], (first + i) % l->workers == worker);
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

/* The first round that somebody has still to take. */
static u32 oldest_round(const struct lanes *l)
{
	u32 oldest = l->nr_rounds;

	for (u32 i = 0; i < l->workers; i++)
		oldest = MIN(oldest, l->worker[i].round);
	return oldest;
}

/* A thread that finds no task waits. When another thread finishes its task, one waiting thread looks again. */
static bool find_task(const struct lanes *l, u32 self, struct task *t)
{
	bool done = true;

	for (u32 i = 0; i < l->workers; i++) {
		const struct lane_worker *w = &l->worker[(self + i) % l->workers];

		*t = (struct task){ TASK_TAKE, (self + i) % l->workers };
		if (!w->busy && w->round < l->given)
			return true;
		done = done && w->round == l->nr_rounds;
		*t = (struct task){ TASK_LOOK, l->next_block };
		if (!i && l->next_block < l->nr_blocks && l->next_block / ROUND_BLOCKS < oldest_round(l) + OPEN_ROUNDS)
			return true;
	}
	*t = (struct task){ TASK_NONE, 0 };
	return done || stopped(l);
}

/* Before the task and, once the lock was let go of, behind it. */
static void begin(struct lanes *l, const struct task *t)
{
	struct lane_worker *w;

	if (t->kind == TASK_LOOK) {
		l->next_block++;
		return;
	}
	w = &l->worker[t->of];
	w->busy = true;
	for (u32 i = 0; i < LANES; i++)
		w->lanes[i] = l->owner[i] == t->of;
	w->lanes[EVERY_LANE] = 1;
}

static void end(struct lanes *l, u32 self, const struct task *t)
{
	if (t->kind == TASK_LOOK) {
		round_at(l, t->of / ROUND_BLOCKS)->looked++;
		while (l->given < l->nr_rounds && round_at(l, l->given)->looked == blocks_of(l, l->given)) {
			give_lanes(l, l->given);
			round_at(l, l->given++)->looked = 0;
		}
	} else {
		l->worker[t->of].busy = false;
		l->worker[t->of].round++;
		if (!self)
			session_progress(l->s, "processing", oldest_round(l) * ROUND_BLOCKS, l->nr_blocks);
	}
	pthread_cond_broadcast(&l->changed);
}

static void work(void *ctx, u32 thread, u32 self)
{
	struct lanes *l = ctx;
	struct task t;

	(void)thread;
	pthread_mutex_lock(&l->lock);
	for (;;) {
		while (!find_task(l, self, &t))
			pthread_cond_wait(&l->changed, &l->lock);
		if (t.kind == TASK_NONE)
			break;
		begin(l, &t);
		pthread_mutex_unlock(&l->lock);
		if (t.kind == TASK_TAKE)
			take(l, t.of);
		else if (!stopped(l))
			look(l, t.of);
		pthread_mutex_lock(&l->lock);
		end(l, self, &t);
	}
	pthread_mutex_unlock(&l->lock);
}

void lanes_run(struct session *s, u32 workers, lane_fn fn, void *ctx)
{
	struct lanes *l = mem_zalloc(sizeof(*l));

	l->s = s;
	l->fn = fn;
	l->ctx = ctx;
	l->workers = workers;
	l->nr_blocks = (u32)s->data.blocks.n;
	l->nr_rounds = (l->nr_blocks + ROUND_BLOCKS - 1) / ROUND_BLOCKS;
	l->worker = mem_zalloc(workers * sizeof(*l->worker));
	for (u32 i = 0; i < LANES; i++)
		l->owner[i] = ID_NONE;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	pool_run(workers, workers, work, l);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	for (u32 i = 0; i < OPEN_ROUNDS * ROUND_BLOCKS; i++)
		vec_free(&l->rounds[i / ROUND_BLOCKS].blocks[i % ROUND_BLOCKS].records);
	for (u32 i = 0; i < workers; i++)
		vec_free(&l->worker[i].mine);
	free(l->worker);
	free(l);
}
