/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over the rings: all are emptied, straight from their memory to the file.
 *
 * Each pass ends with a FINISHED_ROUND record. When a pass comes to the last ring, records may be in it that were
 * written after the pass emptied the first ring. So everything older than the newest record of pass n is in the file
 * by the end of pass n + 1, and readers may sort that far and no further.
 */
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/recorder_impl.h"

#define SETTLE_NS 200000 /* for who still writes into a ring that is paused */
#define ROUND_MS 100	 /* between FINISHED_ROUNDs where bursts call many times a second */

u64 recorder_window(const struct recorder *r)
{
	u64 ring = (r->set.ring_pages + 1ull) * (u64)sysconf(_SC_PAGESIZE);

	return r->unwinds ? MAX(ring, UNWOUND_AT_ONCE + UNWOUND_RECORD) : ring;
}

static int drain_ring(struct recorder *r, struct ring *ring)
{
	struct iovec part[2];
	int nr, err;
	u64 n = ring_peek(ring, part, &nr);

	if (!n)
		return 0;
	flow_look(&r->flow, part, nr);
	err = writer_put_data(&r->writer, part, nr);
	ring_consume(ring, n);
	r->round_bytes += n;
	return err;
}

/* Each tells anew what became of stacks: it may be the last one. */
static int end_round(struct recorder *r)
{
	struct features f = { 0 };
	struct bytes body = { 0 };
	int err;

	if (r->unwinds) {
		r->tell->unwind->sum_up(r->tell->unwind->ctx, &f);
		round_body_encode(&f, &body);
		r->writer.round_body = &body;
	}
	err = writer_round(&r->writer, !r->set.overwrites);
	r->writer.round_body = NULL;
	vec_free(&f.unwound_cuts);
	bytes_free(&body);
	return err;
}

int recorder_drain(struct recorder *r, bool last)
{
	int err = 0;

	r->round_bytes = 0;
	if (r->sim) {
		err = recorder_sim_drain(r, last);
		r->result->events_bytes += r->round_bytes;
		writer_round(&r->writer, false);
		return err;
	}
	if (r->snapshot_due)
		recorder_begin_snapshot(r);
	recorder_look_at_aux(r);
	if (r->unwinds)
		err = recorder_unwind_rings(r);
	for (size_t i = 0; i < r->set.rings.n && !r->unwinds && !err; i++)
		err = drain_ring(r, &r->set.rings.v[i].ring);
	err = err ? err : recorder_drain_aux(r, last);
	/* After the rings: what threads with these samples work for is there by now. */
	err = err ? err : recorder_read_journals(r, last);
	if (r->snapshot_due)
		recorder_end_snapshot(r, last);
	flow_settle(&r->flow);
	r->result->events_bytes += r->round_bytes;
	if (!r->round_bytes && !last)
		return err;
	if (r->window_how == WINDOW_REFRESH && !last && clock_ms() - r->round_ms < ROUND_MS)
		return err;
	r->round_ms = clock_ms();
	/* Samples come last, and are older than what came with rounds before. */
	return err ? err : end_round(r);
}

/* Each is paused by itself, and as short as can be: what would come meanwhile is lost. */
static int look(struct recorder *r, struct ring *ring, struct bytes *b)
{
	const struct timespec settle = { .tv_nsec = SETTLE_NS };
	struct iovec part;
	u64 lost = r->flow.lost;

	b->len = 0;
	ring_pause(ring, true);
	nanosleep(&settle, NULL);
	ring_look(ring, b);
	ring_pause(ring, false);
	part = (struct iovec){ b->p, b->len };
	if (!part.iov_len)
		return 0;
	flow_look(&r->flow, &part, 1);
	r->looked_lost += r->flow.lost - lost;
	r->round_bytes += part.iov_len;
	return writer_put_data(&r->writer, &part, 1);
}

int recorder_look(struct recorder *r)
{
	struct bytes b = { 0 };
	int err = 0;

	if (!r->set.overwrites)
		return 0;
	r->round_bytes = 0;
	for (size_t i = 0; i < r->set.rings.n && !err; i++)
		if (r->set.rings.v[i].ring.backward)
			err = look(r, &r->set.rings.v[i].ring, &b);
	/* With the mappings that those need. */
	for (size_t i = 0; i < r->set.rings.n && !err; i++)
		err = drain_ring(r, &r->set.rings.v[i].ring);
	flow_settle(&r->flow);
	r->result->events_bytes += r->round_bytes;
	bytes_free(&b);
	return err;
}
