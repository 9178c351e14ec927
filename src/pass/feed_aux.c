/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the feed for AUX data: a sampled operation is a hit of every event for which it counts. */
#include "pass/feed_aux.h"

#include "codec/spe_reader.h"
#include "pass/equal_operations.h"
#include "pass/operation_hits.h"

static struct spe_reader reader_over(const struct source *src, const struct aux_buffer *b)
{
	return (struct spe_reader){ .data = src->data + b->at,
				    .len = b->size,
				    .aux_offset = b->aux_offset,
				    .spare = src->size - b->at - b->size };
}

static bool is_sample(const struct feed *f, const struct spe_record *r)
{
	for (u32 i = 0; i < f->spe->nr_made; i++)
		if (spe_made_counts(r, &f->spe->made[i]))
			return true;
	return false;
}

/* full: as that of spe_hit. */
static void hand_on(const struct feed *f, const struct aux_buffer *b, const struct spe_record *r, u64 *time,
		    struct sample *full, hit_fn take, void *ctx)
{
	struct spe_operation o = { .record = r };
	struct hit h;

	if (!is_sample(f, r)) {
		*time = spe_time(f->spe, r, *time);
		return;
	}
	spe_hit(f->spe, b, &o, time, &h, f->full ? full : NULL);
	if (!f->src->events.has_time)
		h.clock = h.offset;
	if (f->timelines)
		h.activity = timelines_at(f->timelines, h.s.pid, h.s.tid, h.clock);
	operation_hits(f, &h, r, take, ctx);
}

void feed_aux(struct feed *f, const struct source_record *at, hit_fn take, void *ctx)
{
	const struct aux_buffer *b = aux_buffer_next(f->spe->aux, (u64)(at->payload - f->src->data), &f->next_buffer);
	struct spe_wanted wanted;
	struct spe_record r;
	struct spe_reader reader;
	struct sample full = { 0 };
	u64 time;

	if (!b)
		return;
	wanted = spe_wanted(f->spe);
	reader = reader_over(f->src, b);
	reader.shapes = &f->shapes;
	reader.wanted = &wanted;
	time = b->clock;
	for (;;) {
		if (f->equal)
			f->aux.operations += equal_operations_take(f->equal, f, b, &reader, &time, take, ctx);
		if (!spe_next(&reader, &r))
			break;
		if (reader.has_ticks && f->spe->aux->has_conversion)
			time = aux_time(f->spe->aux, reader.ticks);
		hand_on(f, b, &r, &time, &full, take, ctx);
		f->aux.operations++;
	}
	f->aux.operations += reader.passed;
	f->aux.broken += reader.broken;
	f->aux.bad_bytes += reader.bad_bytes;
	f->aux.unknown_packets += reader.unknown;
}

void feed_flush(const struct feed *f, hit_fn take, void *ctx)
{
	if (f->equal)
		equal_operations_flush(f->equal, f, take, ctx);
}

void feed_operations(const struct source *src, const struct spe *spe, const struct aux_buffer *b, operation_fn take,
		     void *ctx)
{
	struct spe_reader reader = reader_over(src, b);
	struct spe_record r;
	u64 time = b->clock;

	while (spe_next(&reader, &r)) {
		time = spe_time(spe, &r, time);
		take(ctx, time, b->at + r.at);
	}
}

void feed_operation(struct feed *f, u64 time, u64 offset, hit_fn take, void *ctx)
{
	const struct aux_buffer *b = aux_buffer_at(f->spe->aux, offset);
	struct spe_reader reader;
	struct sample full = { 0 };
	struct spe_record r;

	if (!b)
		return;
	reader = reader_over(f->src, b);
	reader.at = offset - b->at;
	if (spe_next(&reader, &r))
		hand_on(f, b, &r, &time, &full, take, ctx);
}
