/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problem: the beginning of a record is known only from the record before it, but all threads should work on finding
 * them.
 *
 * The data are cut into chunks. A worker guesses the first record that begins in its chunk, by trying places until a
 * sequence of headers there makes sense, and goes on from it. Chunks are then taken in order, and each guess is
 * checked: it is right if the records of the previous chunk end exactly there, and only then are the results used.
 * After a wrong guess (a payload that looks like records, a record longer than a chunk) the chunk is read again from
 * the right place. So a wrong guess costs only time. A single worker does not need to guess.
 */
#include "pass/hop.h"

#include "base/pool.h"

#define CHUNK_BYTES (4u << 20)
#define SLOTS_PER_WORKER 4u
#define BLOCKS_OF_SMALL 16u
#define LEAST_BLOCK_BYTES (128u << 10)
#define GUESS_BYTES (256u << 10)      /* how far a first record is looked for */
#define GUESS_ROW 16		      /* headers that have to make sense in a row */
#define MOST_RUNS (BLOCK_BYTES / 512) /* of a block: notes of more would take 1 % of one of full size */
#define NO_LANE NR_LANES

struct chunk {
	u64 start, end; /* of its records; start is a guess, or NO_OFFSET */
	u64 bad;	/* what is no record, or NO_OFFSET */
	u64 nr_samples;
	VEC(u32) others;	  /* records that are no samples, from the chunk's place on */
	VEC(struct block) blocks; /* their runs are here: */
	VEC(u32) runs;
};

struct hop {
	const struct source *src;
	const struct hop_opts *opts;
	struct hop_result *out;
	struct chunk *chunks; /* by slot */
	bool guesses;
	u32 unit;   /* the chunk that is taken next */
	u64 offset; /* where its first record is */
	u64 bad;    /* NO_OFFSET so far */
};

static bool stopped(const struct hop *h)
{
	return h->opts->stop && *h->opts->stop;
}

static u64 chunk_place(u32 unit)
{
	return (u64)unit * CHUNK_BYTES;
}

static bool makes_sense(const struct source *src, u64 offset)
{
	struct source_record at;

	for (u32 i = 0; i < GUESS_ROW && offset < src->size; i++)
		if (!source_next(src, &offset, &at, NULL) || at.h.size % 8 || !record_kind(at.h.type))
			return false;
	return true;
}

static u64 guess(const struct source *src, u64 place)
{
	u64 end = MIN(src->size, place + GUESS_BYTES);

	for (u64 offset = place; offset < end; offset += 8)
		if (makes_sense(src, offset))
			return offset;
	return NO_OFFSET;
}

/* *last: the thread that was noted before. What a wrong guess takes for samples does no harm. */
static void note_thread(const struct hop *h, const struct source_record *at, u64 *last)
{
	struct cursor c = cursor_over(at->p, at->h.size, h->src->swap);
	u32 pid = 0, tid = 0;

	if (h->opts->at_tid) {
		cursor_skip(&c, h->opts->at_tid);
		pid = cursor_u32(&c);
		tid = cursor_u32(&c);
	}
	if (*last == ((u64)pid << 32 | tid))
		return;
	*last = (u64)pid << 32 | tid;
	threadset_add(h->opts->threads, THREADSET_PID, pid);
	threadset_add(h->opts->threads, THREADSET_TID, tid);
}

static bool is_aside(const struct hop *h, const struct source_record *at)
{
	u32 event = h->opts->aside ? evlist_find(&h->src->events, at->p, at->h.size, true, h->src->swap) : ID_NONE;

	return event != ID_NONE && &h->src->events.events.v[event] == h->opts->aside;
}

/* Small recordings are cut into smaller blocks, so that workers have equal shares of them. */
static u64 block_bytes(const struct source *src)
{
	return MIN(MAX(src->size / BLOCKS_OF_SMALL, (u64)LEAST_BLOCK_BYTES), (u64)BLOCK_BYTES);
}

/* A block, and the runs in it so far. */
struct filling {
	u64 start;
	u32 run, lane; /* its first run; the lane of its last one, or NO_LANE */
	bool crowded;  /* there are too many runs */
	struct last_lane last;
};

static void note_lane(const struct hop *h, struct chunk *c, const struct source_record *at, struct filling *f)
{
	u32 lane = record_lane(h->src, at, &f->last);

	if (lane == f->lane)
		return;
	f->lane = lane;
	f->crowded = c->runs.n - f->run == MOST_RUNS;
	if (!f->crowded)
		vec_push(&c->runs, RUN(at->offset - f->start, lane));
}

static void end_block(const struct hop *h, struct chunk *c, u64 end, struct filling *f)
{
	if (f->crowded)
		c->runs.n = f->run;
	vec_push(&c->blocks, (struct block){ f->start, end, f->run, (u32)c->runs.n - f->run });
	*f = (struct filling){ end, (u32)c->runs.n, NO_LANE, !h->opts->lanes, f->last };
}

/* The records that begin before the end of the chunk. */
static void hop_chunk(const struct hop *h, struct chunk *c, u64 place)
{
	const struct source *src = h->src;
	u64 last = UINT64_MAX, offset = c->start, limit = MIN(src->size, place + CHUNK_BYTES);
	struct filling f = { c->start, 0, NO_LANE, !h->opts->lanes, { 0 } };
	const u64 most = block_bytes(src);
	struct source_record at;

	c->nr_samples = 0;
	c->others.n = c->blocks.n = c->runs.n = 0;
	c->bad = NO_OFFSET;
	while (offset < limit && source_next(src, &offset, &at, &c->bad)) {
		if (at.h.type == PERF_RECORD_SAMPLE && !is_aside(h, &at)) {
			c->nr_samples++;
			if (h->opts->threads)
				note_thread(h, &at, &last);
		} else {
			vec_push(&c->others, (u32)(at.offset - place));
		}
		if (!f.crowded)
			note_lane(h, c, &at, &f);
		if (offset - f.start >= most)
			end_block(h, c, offset, &f);
	}
	if (offset > f.start)
		end_block(h, c, offset, &f);
	c->end = offset;
}

static void look(void *ctx, u32 worker, u32 unit, u32 slot)
{
	const struct hop *h = ctx;
	struct chunk *c = &h->chunks[slot];
	u64 place = chunk_place(unit);

	(void)worker;
	c->start = NO_OFFSET;
	if (stopped(h))
		return;
	source_prefetch(h->src, place, CHUNK_BYTES);
	if (!h->guesses)
		return;
	c->start = unit ? guess(h->src, place) : 0;
	if (c->start != NO_OFFSET)
		hop_chunk(h, c, place);
}

static void take(void *ctx, u32 slot)
{
	struct hop *h = ctx;
	struct chunk *c = &h->chunks[slot];
	u64 place = chunk_place(h->unit++);

	if (stopped(h) || h->bad != NO_OFFSET || h->offset >= MIN(h->src->size, place + CHUNK_BYTES))
		return;
	if (c->start != h->offset) {
		c->start = h->offset;
		hop_chunk(h, c, place);
	}
	h->offset = c->end;
	h->bad = c->bad;
	h->out->nr_samples += c->nr_samples;
	for (size_t i = 0; i < c->others.n; i++) {
		u64 offset = place + c->others.v[i];
		struct source_record at;

		if (source_next(h->src, &offset, &at, NULL))
			h->opts->record(h->opts->ctx, &at);
	}
	for (size_t i = 0; i < c->blocks.n; i++) {
		struct block b = c->blocks.v[i];

		b.run += (u32)h->out->runs.n;
		vec_push(&h->out->blocks, b);
	}
	for (size_t i = 0; i < c->runs.n; i++)
		vec_push(&h->out->runs, c->runs.v[i]);
	if (h->opts->progress)
		h->opts->progress(h->opts->ctx, h->offset, h->src->size);
}

int hop_records(const struct source *src, const struct hop_opts *opts, struct hop_result *out)
{
	u32 slots = opts->workers * SLOTS_PER_WORKER, units = (u32)((src->size + CHUNK_BYTES - 1) / CHUNK_BYTES);
	struct hop h = { .src = src, .opts = opts, .out = out, .guesses = opts->workers > 1, .bad = NO_OFFSET };

	*out = (struct hop_result){ 0 };
	h.chunks = mem_zalloc(slots * sizeof(*h.chunks));
	pool_run_in_order(opts->workers, units, slots, look, take, &h);
	for (u32 i = 0; i < slots; i++) {
		vec_free(&h.chunks[i].others);
		vec_free(&h.chunks[i].blocks);
		vec_free(&h.chunks[i].runs);
	}
	free(h.chunks);
	if (stopped(&h))
		return ERR_INTERRUPTED;
	if (h.bad != NO_OFFSET) {
		out->left_out = src->size - h.bad;
		(void)notify_at(src->notify, NOTE_WARNING, ERR_FORMAT, src->path, src->data_offset + h.bad,
				"not a record; the remaining %llu bytes are left out",
				(unsigned long long)out->left_out);
	}
	return 0;
}
