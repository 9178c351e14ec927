/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/record_lane.h"

#include <string.h>

#include "attrib/group_read.h"
#include "codec/perf_abi.h"
#include "pass/feed.h"

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

static u64 word_at(const struct source_record *at, s32 offset)
{
	u64 word = 0;

	if (offset > 0)
		memcpy(&word, at->p + offset, sizeof(word));
	return word;
}

/* The words that sample_lane() looks at, unswapped. The record is long enough: that of an event with a first member's
 * id, which comes after the others. */
static struct last_lane words_of(const struct source *src, const struct source_record *at, const struct event *e)
{
	struct last_lane l = { .e = e,
			       .id = word_at(at, src->events.id_offset),
			       .first = word_at(at, e->layout.at_first_id) };

	if (e->layout.at_tid)
		memcpy(&l.tid, at->p + e->layout.at_tid + 4, sizeof(l.tid));
	return l;
}

static bool reads_first(const struct source_record *at, const struct event *e)
{
	return at->h.size >= e->layout.at_first_id + 8u && (!e->layout.read_head || word_at(at, e->layout.fixed_end));
}

static u32 sample_lane(const struct source *src, const struct source_record *at, struct last_lane *last)
{
	const struct event *e = feed_event(src, at);
	u32 tid = 0;
	u64 id;

	if (!e)
		return last->e ? last->lane : LANE_ANY;
	if (UNLIKELY(lbr_event(e)) && e->layout.at_tid)
		return thread_lane(e, at, src->swap);
	if (!sample_first_member(&e->layout, cursor_over(at->p, at->h.size, src->swap), &id, &tid))
		return last->e ? last->lane : LANE_ANY;
	*last = words_of(src, at, e);
	/* Where events are inherited, one id stands for counters of each thread. */
	return last->lane = lane_spread(id, e->attr.flags & ATTR_INHERIT ? tid : 0);
}

static bool like_last(const struct source *src, const struct source_record *at, const struct last_lane *last)
{
	struct last_lane l;

	if (!last->e || !reads_first(at, last->e))
		return false;
	l = words_of(src, at, last->e);
	return l.id == last->id && l.first == last->first && l.tid == last->tid;
}

u32 record_lane(const struct source *src, const struct source_record *at, struct last_lane *last)
{
	if (at->h.type == PERF_RECORD_SAMPLE)
		return like_last(src, at, last) ? last->lane : sample_lane(src, at, last);
	return at->h.type == PERF_RECORD_AUXTRACE ? LANE_ANY : LANE_EVERY;
}
