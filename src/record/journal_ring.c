/* SPDX-License-Identifier: Apache-2.0 */
#include "record/journal_ring.h"

#include <string.h>
#include <unistd.h>

#define AT_ONCE 256u  /* slots */
#define LOOK_BACK 64u /* entries before the newest one, which may not be written yet */

static bool read_at(int fd, void *to, size_t n, u64 at)
{
	return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

static bool read_next(const struct journal_ring *r, u64 *out)
{
	return read_at(r->fd, out, sizeof(*out), JOURNAL_NEXT_AT);
}

bool journal_ring_begin(struct journal_ring *r, int fd)
{
	u8 head[JOURNAL_HEAD];

	*r = (struct journal_ring){ .fd = fd };
	return read_at(fd, head, sizeof(head), 0) && journal_ring_decode(head, &r->head);
}

void journal_ring_skip(struct journal_ring *r)
{
	u64 next;

	if (read_next(r, &next))
		r->next = next - MIN(next, (u64)LOOK_BACK);
}

/* One that reads while it is written. */
struct reading {
	struct journal_ring *r;
	u64 (*now)(void);
	journal_fn fn;
	void *ctx;
	bool waits; /* for an entry that is not written yet */
	u8 held[AT_ONCE * JOURNAL_SLOT], read[AT_ONCE * JOURNAL_SLOT];
};

/* From when on it is not known what the last thread works for. */
static void begin_gap(struct reading *g)
{
	struct journal_ring *r = g->r;

	if (r->gap)
		return;
	r->gap = true;
	g->fn(g->ctx, r, NULL, r->certain);
}

static void lose(struct reading *g, u64 n)
{
	g->r->lost += n;
	g->r->next += n;
	begin_gap(g);
}

static bool says_the_same(const struct journal_ring *r, const struct journal_entry *e)
{
	return !r->gap && e->tid == r->last.tid && e->size == r->last.size &&
	       !memcmp(e->record, r->last.record, e->size);
}

static void take(struct reading *g, const u8 *slot, u64 until)
{
	struct journal_ring *r = g->r;
	struct journal_entry e;
	bool same;

	if (journal_slot_decode(slot, &e) == JOURNAL_REFUSED || e.time > until) {
		r->refused++;
		begin_gap(g);
		return;
	}
	same = says_the_same(r, &e);
	r->last = e;
	r->gap = false;
	r->certain = MAX(r->certain, e.time); /* that of a signal handler comes behind an entry of a later time */
	if (!same)
		g->fn(g->ctx, r, &r->last, e.time);
}

/* So many slots from that of r->next on, which lie one behind the other. False: the file has become shorter. */
static bool read_slots(struct reading *g, u32 n)
{
	struct journal_ring *r = g->r;
	u64 at = JOURNAL_SLOTS_AT + (r->next & (r->head.slots - 1)) * JOURNAL_SLOT, first = r->next, next, until;

	if (!read_at(r->fd, g->held, n * JOURNAL_SLOT, at))
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!read_at(r->fd, g->read, n * JOURNAL_SLOT, at))
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!read_next(r, &next) || next < r->next)
		return false;
	until = g->now();
	for (u32 i = 0; i < n && !g->waits; i++) {
		if (next - (first + i) > r->head.slots) {
			lose(g, 1);
		} else if (!journal_slot_holds(g->held + i * JOURNAL_SLOT, first + i)) {
			g->waits = true;
		} else {
			take(g, g->read + i * JOURNAL_SLOT, until);
			r->next++;
		}
	}
	return true;
}

bool journal_ring_read(struct journal_ring *r, u64 (*now)(void), journal_fn fn, void *ctx)
{
	struct reading g = { .r = r, .now = now, .fn = fn, .ctx = ctx };
	u64 before = now(), end;

	if (!read_next(r, &end) || end < r->next)
		return false;
	if (end - r->next > r->head.slots)
		lose(&g, end - r->next - r->head.slots);
	while (r->next < end && !g.waits) {
		u64 to_wrap = r->head.slots - (r->next & (r->head.slots - 1));

		if (!read_slots(&g, (u32)MIN(MIN(end - r->next, to_wrap), (u64)AT_ONCE)))
			return false;
	}
	if (!g.waits)
		r->certain = MAX(r->certain, before);
	return true;
}
