/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/feed.h"

#include <stdlib.h>

#include "base/mem.h"
#include "pass/feed_aux.h"

void feed_free(struct feed *f)
{
	group_read_free(&f->counters);
	vec_free(&f->members);
	free(f->chains);
}

static struct cursor bytes_of(const struct source *src, const struct source_record *at)
{
	return cursor_over(at->p, at->h.size, src->swap);
}

static u32 event_of(const struct source *src, const struct source_record *at)
{
	return src->events.events.n == 1 ? 0 : evlist_find(&src->events, at->p, at->h.size, true, src->swap);
}

const struct event *feed_event(const struct source *src, const struct source_record *at)
{
	const struct evlist *l = &src->events;
	u32 i = event_of(src, at);

	return i == ID_NONE || l->events.v[i].unsupported || l->events.v[i].activity ? NULL : &l->events.v[i];
}

const struct event *feed_core(const struct source *src, const struct source_record *at, struct sample_core *out)
{
	const struct event *e = feed_event(src, at);

	return e && !sample_core_decode(&e->layout, bytes_of(src, at), out) ? e : NULL;
}

static int failed(struct feed *f, int err)
{
	f->undecodable++;
	return err;
}

static bool reads_counters(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_READ && e->attr.read_format & PERF_FORMAT_ID;
}

/* Is more of its samples needed than the few fields of struct sample_core? */
static bool wants_whole(const struct feed *f, const struct event *e)
{
	return f->full || f->branches || (f->history && branch_history_event(e)) || (f->reads && reads_counters(e)) ||
	       (f->lbr && lbr_event(e)) || (f->unwind && unwind_event(e));
}

/* Everything of the hit that follows from the record alone. room: for the whole sample, where it is needed. */
static int start_hit(struct feed *f, const struct source_record *at, struct hit *h, struct sample *room)
{
	const struct evlist *l = &f->src->events;
	u32 event = event_of(f->src, at);
	const struct event *e;
	int err;

	if (event == ID_NONE)
		return failed(f, ERR_NOTFOUND);
	e = &l->events.v[event];
	if (e->activity)
		return ERR_NOTFOUND; /* it was read before (pass/session.c) */
	if (e->unsupported)
		return failed(f, ERR_UNSUPPORTED);
	h->full = wants_whole(f, e) ? room : NULL;
	if (h->full)
		err = sample_decode(&e->layout, bytes_of(f->src, at), room);
	else
		err = sample_core_decode(&e->layout, bytes_of(f->src, at), &h->s);
	if (err)
		return failed(f, err);
	if (h->full)
		h->s = sample_core_of(room);
	if (!(e->attr.sample_type & PERF_SAMPLE_PERIOD))
		h->s.period = e->attr.sample_period;
	h->e = e;
	h->event = event;
	h->cpumode = at->h.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	h->clock = l->has_time ? h->s.time : at->offset;
	h->offset = at->offset;
	h->nth = 0;
	h->made = HIT_MEASURED;
	h->exact = at->h.misc & PERF_RECORD_MISC_EXACT_IP;
	h->window = NULL;
	h->branch = NULL;
	h->past = NULL;
	h->operation = NULL;
	h->together = 0;
	h->stitched = 0;
	h->exact_words = 0;
	h->activity = f->timelines ? timelines_at(f->timelines, h->s.pid, h->s.tid, h->clock) : TIMELINE_UNKNOWN;
	return 0;
}

static u64 *room_for_chain(struct feed *f)
{
	if (!f->chains)
		f->chains = mem_alloc(FEED_CHAINS * sizeof(*f->chains));
	return f->chains[f->next_chain++ % FEED_CHAINS];
}

/* The chain becomes that of the branch records, if they say something. */
static void take_branches(struct feed *f, struct hit *h, struct sample *full)
{
	struct lbr_stack stack;
	u64 *words;

	if (!lbr_take(f->lbr, h, &stack))
		return;
	words = room_for_chain(f);
	h->s.chain = (struct u64s){ .p = (const u8 *)words, .n = lbr_chain(&stack, h, words) };
	h->stitched = (u16)(stack.n - stack.own);
	full->chain = h->s.chain;
}

/* Likewise that of the copied stack. */
static void take_unwound(struct feed *f, struct hit *h, struct sample *full)
{
	struct unwound stack;
	u64 *words;

	if (!unwind_take(f->unwind, h, &stack))
		return;
	words = room_for_chain(f);
	h->s.chain = (struct u64s){ .p = (const u8 *)words,
				    .n = unwind_chain(&stack, h->cpumode, h->s.ip, &h->s.chain, words) };
	full->chain = h->s.chain;
}

/* The branches come before the callers. */
static void take_history(struct feed *f, struct hit *h, struct sample *full, struct branch_history *past)
{
	u64 *words = room_for_chain(f);
	u32 exact;

	branch_history_read(full, past);
	h->past = past;
	h->s.chain = (struct u64s){ .p = (const u8 *)words, .n = branch_history_chain(h, past, words, &exact) };
	h->exact_words = (u16)exact;
	full->chain = h->s.chain;
}

/* As a hit of that event, whose weight was read from its counter. */
static void be_member(struct feed *f, struct hit *h, const struct member_sample *m)
{
	h->made = m->event == h->event && !reads_counters(h->e) ? HIT_MEASURED : HIT_MEMBER;
	h->event = m->event;
	h->e = &f->src->events.events.v[m->event];
	h->s.period = m->weight;
}

static u32 explode(struct feed *f, const struct sample *s)
{
	vec_reserve(&f->members, s->read.nr);
	return group_read_explode(&f->counters, &f->src->events, s, f->members.v, s->read.nr);
}

/* A sample that reads its group ends a window, or counts for each member. */
static void hand_on_reads(struct feed *f, struct hit *h, const struct sample *s, hit_fn take, void *ctx)
{
	const struct evlist *l = &f->src->events;
	struct window window;
	u32 n;

	if (f->windows && window_event(h->e) && windows_take(f->windows, l, h->event, s, &window)) {
		h->event = f->windows->groups.v[window.group].leader;
		h->e = &l->events.v[h->event];
		h->s.period = window.weight;
		h->made = HIT_WINDOW;
		h->window = &window;
		take(ctx, h);
		return;
	}
	n = explode(f, s);
	f->unmoved += !n;
	for (h->nth = 0; h->nth < n; h->nth++) {
		be_member(f, h, &f->members.v[h->nth]);
		take(ctx, h);
	}
}

/* What a branch leads to is where it is counted. In which mode that runs, its mappings tell (place_mode). */
static void hand_on_branches(struct hit *h, const struct sample *s, hit_fn take, void *ctx)
{
	h->made = HIT_BRANCH;
	h->exact = true;
	h->s.period = 1;
	h->s.chain = (struct u64s){ 0 };
	for (h->nth = 0; h->nth < s->nr_branches; h->nth++) {
		struct branch_entry b = sample_branch(s, h->nth);

		h->branch = &b;
		h->s.ip = b.to;
		take(ctx, h);
	}
}

/* Apart, so that those who want the core alone have no room for a whole sample on their stack. */
static __attribute__((noinline)) int feed_whole(struct feed *f, const struct source_record *at, hit_fn take, void *ctx)
{
	struct branch_history past;
	struct sample s;
	struct hit h;
	int err = start_hit(f, at, &h, &s);

	if (err)
		return err;
	if (f->branches) {
		hand_on_branches(&h, &s, take, ctx);
		return 0;
	}
	if (f->history && branch_history_event(h.e))
		take_history(f, &h, &s, &past);
	else if (f->lbr && lbr_event(h.e))
		take_branches(f, &h, &s);
	else if (f->unwind && unwind_event(h.e))
		take_unwound(f, &h, &s);
	if (f->reads && reads_counters(h.e))
		hand_on_reads(f, &h, &s, take, ctx);
	else
		take(ctx, &h);
	return 0;
}

int feed_sample(struct feed *f, const struct source_record *at, hit_fn take, void *ctx)
{
	struct hit h;
	int err;

	if (f->full || f->branches || f->history || f->reads || f->lbr || f->unwind)
		return feed_whole(f, at, take, ctx);
	err = start_hit(f, at, &h, NULL);
	if (!err)
		take(ctx, &h);
	return err;
}

/* Threads end, and programs begin, with stacks of their own. */
static void forget_thread(struct feed *f, const struct source_record *at)
{
	struct record r;

	if (record_decode(bytes_of(f->src, at), at->offset,
			  evlist_trailer(&f->src->events, at->p, at->h.size, f->src->swap), &r))
		return;
	if (at->h.type == PERF_RECORD_EXIT)
		lbr_forget(f->lbr, r.task.tid);
	else if (at->h.misc & PERF_RECORD_MISC_COMM_EXEC)
		lbr_forget(f->lbr, r.comm.tid);
}

void feed_note(struct feed *f, const struct source_record *at)
{
	const struct evlist *l = &f->src->events;
	struct record r;

	if (f->lbr && (at->h.type == PERF_RECORD_EXIT || at->h.type == PERF_RECORD_COMM))
		forget_thread(f, at);
	if (!f->windows || (at->h.type != PERF_RECORD_THROTTLE && at->h.type != PERF_RECORD_UNTHROTTLE &&
			    at->h.type != PERF_RECORD_LOST))
		return;
	if (!record_decode(bytes_of(f->src, at), at->offset, evlist_trailer(l, at->p, at->h.size, f->src->swap), &r))
		windows_note(f->windows, l, &r);
}

void feed_split(struct feed *f, const struct source_record *at, struct feed_parts *out)
{
	const struct event *e = feed_event(f->src, at);
	struct sample s;

	if (e && !sample_decode(&e->layout, bytes_of(f->src, at), &s)) {
		u64 period = e->attr.sample_type & PERF_SAMPLE_PERIOD ? s.period : e->attr.sample_period;
		u32 n;

		if (reads_counters(e)) {
			n = explode(f, &s);
			for (u32 i = 0; i < n; i++)
				vec_push(&out->v, f->members.v[i]);
		} else {
			vec_push(&out->v, (struct member_sample){ (u32)(e - f->src->events.events.v), period });
		}
	}
	vec_push(&out->v, (struct member_sample){ ID_NONE, 0 });
}

u32 feed_parts(struct feed *f, const struct source_record *at, const struct member_sample *parts, hit_fn take,
	       void *ctx)
{
	struct sample s;
	struct hit h;
	int err = start_hit(f, at, &h, &s);
	u32 n = 0;

	for (; parts[n].event != ID_NONE; n++) {
		h.nth = n;
		if (err)
			continue;
		be_member(f, &h, &parts[n]);
		take(ctx, &h);
	}
	f->unmoved += !n && !err;
	return n + 1;
}

void feed_record(struct feed *f, const struct source_record *at, hit_fn take, void *ctx)
{
	if (at->h.type == PERF_RECORD_SAMPLE)
		(void)feed_sample(f, at, take, ctx);
	else if (at->h.type == PERF_RECORD_AUXTRACE && f->spe)
		feed_aux(f, at, take, ctx);
	else
		feed_note(f, at);
}
