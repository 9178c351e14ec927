/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most recordings have many records of one lane in a row, as many as a CPU or a thread wrote before another one did.
 * The first pass notes these runs for each block (pass/hop.h), and a worker goes from one run of its lanes to the
 * next. In blocks with too many runs the place and the lane of each record are noted instead, which takes a second
 * look at the headers of all of them.
 *
 * So blocks are processed in rounds, in two steps. First a block is looked at: how much of each lane is in it, and
 * where its records are, if the runs do not say. Then each worker goes through these notes, block after block, and
 * takes the records of its lanes.
 *
 * It is not known in advance how long the lanes of one worker take in a round, but over many rounds that evens out. So
 * nobody waits at the end of a round: a few rounds are open at a time, and a worker may be in one while another is
 * still in the one before. A thread does the first of these that is possible: it takes its own worker's lanes in the
 * next round that has been read; it reads a block, if there is room for one more round; it takes the lanes of another
 * worker that is behind because its thread does something else, or could not be started. Everything that a worker has
 * belongs to the thread that takes its lanes, for the time of one round; the lock hands it over.
 *
 * A lane is given to a worker when it first occurs: to the one with the fewest bytes so far. Which worker reads
 * which counters does not change the result, only the time.
 */
#include "pass/lanes.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"

#define ROUND_BLOCKS 16u /* that are looked at before they are taken */
#define OPEN_ROUNDS 4u
#define AHEAD 12 /* records that are asked for before they are taken */
#define ASKED_LINES 3

/* A block, looked at. */
struct looked_at {
	VEC(u32) records;    /* RUN() of each; none if the block has runs */
	u64 bytes[NR_LANES]; /* of the records of each lane */
};

struct round {
	u32 looked; /* how many of its blocks were looked at */
	struct looked_at blocks[ROUND_BLOCKS];
};

struct lane_worker {
	u64 load;	     /* bytes of its lanes so far */
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

/* The ith run of a block, as places in source.data. */
static u32 run_of(const struct session *s, const struct block *b, u32 i, u64 *from, u64 *to)
{
	const u32 *run = &s->data.runs.v[b->run + i];

	*from = b->offset + RUN_AT(run[0]);
	*to = i + 1 < b->nr_runs ? b->offset + RUN_AT(run[1]) : b->end;
	return RUN_LANE(run[0]);
}

static void look_at_records(const struct source *src, const struct block *b, struct looked_at *to)
{
	u64 offset = b->offset;
	struct last_lane last = { 0 };
	struct source_record at;
	size_t n = 0;

	while (offset < b->end && source_next(src, &offset, &at, NULL)) {
		u32 lane = record_lane(src, &at, &last);

		to->bytes[lane] += offset - at.offset;
		if (n == to->records.cap)
			vec_reserve(&to->records, n + 1);
		to->records.v[n++] = RUN(at.offset - b->offset, lane);
	}
	to->records.n = n;
}

static void look(struct lanes *l, u32 block)
{
	const struct block *b = &l->s->data.blocks.v[block];
	struct looked_at *to = &round_at(l, block / ROUND_BLOCKS)->blocks[block % ROUND_BLOCKS];

	to->records.n = 0;
	for (u32 i = 0; i < NR_LANES; i++)
		to->bytes[i] = 0;
	if (!b->nr_runs)
		look_at_records(l->s->src, b, to);
	for (u32 i = 0; i < b->nr_runs; i++) {
		u64 from, end;
		u32 lane = run_of(l->s, b, i, &from, &end);

		to->bytes[lane] += end - from;
	}
}

static void give_lanes(struct lanes *l, u32 round)
{
	const struct round *r = round_at(l, round);

	for (u32 lane = 0; lane < LANES; lane++) {
		u64 n = 0;

		for (u32 i = 0; i < blocks_of(l, round); i++)
			n += r->blocks[i].bytes[lane];
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
static void find_mine(struct lane_worker *w, const struct looked_at *b)
{
	u32 n = 0;

	vec_reserve(&w->mine, b->records.n);
	for (size_t i = 0; i < b->records.n; i++) {
		w->mine.v[n] = RUN_AT(b->records.v[i]);
		n += w->lanes[RUN_LANE(b->records.v[i])];
	}
	w->mine.n = n;
}

/* The lines of most records that are read. */
static void ask_for(const u8 *record)
{
	for (u32 i = 0; i < ASKED_LINES; i++)
		__builtin_prefetch(record + (size_t)i * CACHE_LINE);
}

static void take_records(struct lanes *l, u32 worker, u64 start)
{
	const struct source *src = l->s->src;
	const struct lane_worker *w = &l->worker[worker];

	for (size_t k = 0; k < w->mine.n; k++) {
		u64 offset = start + w->mine.v[k];
		struct source_record at;

		if (k + AHEAD < w->mine.n)
			ask_for(src->data + start + w->mine.v[k + AHEAD]);
		if (source_next_asked(src, &offset, &at, NULL))
			l->fn(l->ctx, worker, &at);
	}
}

static void take_runs(struct lanes *l, u32 worker, const struct block *b)
{
	for (u32 i = 0; i < b->nr_runs; i++) {
		struct source_record at;
		u64 offset, end;

		if (!l->worker[worker].lanes[run_of(l->s, b, i, &offset, &end)])
			continue;
		while (offset < end && source_next(l->s->src, &offset, &at, NULL))
			l->fn(l->ctx, worker, &at);
	}
}

static void take(struct lanes *l, u32 worker)
{
	struct lane_worker *w = &l->worker[worker];
	u32 first = w->round * ROUND_BLOCKS;

	for (u32 i = 0; i < blocks_of(l, w->round) && !stopped(l); i++) {
		const struct block *b = &l->s->data.blocks.v[first + i];

		w->lanes[LANE_ANY] = (first + i) % l->workers == worker;
		if (b->nr_runs) {
			take_runs(l, worker, b);
			continue;
		}
		find_mine(w, &round_at(l, w->round)->blocks[i]);
		take_records(l, worker, b->offset);
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
	w->lanes[LANE_EVERY] = 1;
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
