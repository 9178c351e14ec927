/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/pipeline_windows.h"

#include <string.h>

#include "agg/keys.h"
#include "attrib/group_read.h"
#include "codec/vpmu.h"
#include "pass/feed.h"

/* How much of the recording is looked at to tell short windows from long ones. */
#define SURVEY_WINDOWS 20000
#define SURVEY_RECORDS 200000
#define SURVEY_SHARE 8 /* one in so many samples is looked at where that is needed to know whose counters are */

static void count_window(void *ctx, const struct hit *h)
{
	*(u32 *)ctx += h->window != NULL;
}

/*
 * Enough windows are looked at to tell their lengths, and then more, within bounds, until it is known whether
 * inherited counters are each thread's: before that, lanes must not tell threads apart.
 */
static void survey(struct window_pass *w, const struct session *s)
{
	struct feed feed = { .src = s->src, .reads = true, .windows = &w->windows };
	u64 offset = 0, most = MAX((u64)SURVEY_RECORDS, s->data.nr_samples / SURVEY_SHARE), n = 0;
	struct source_record at;
	u32 windows = 0;

	while (n < most && source_next(s->src, &offset, &at, NULL)) {
		if (at.h.type != PERF_RECORD_SAMPLE)
			feed_note(&feed, &at);
		else if (feed_event(s->src, &at) && window_event(feed_event(s->src, &at)))
			(void)feed_sample(&feed, &at, count_window, &windows);
		n++;
		if ((windows >= SURVEY_WINDOWS || n >= SURVEY_RECORDS) && windows_proven(&w->windows))
			break;
	}
	feed_free(&feed);
}

/* What a row of the table is, as far as code goes. */
static enum window_unit unit_of(const struct pipeline_opts *o)
{
	u64 keys = 0;

	for (u32 i = 0; i < o->nr_sort; i++)
		keys |= 1ull << MIN(o->sort_order[i], SORT_FIELD);
	if (!o->nr_sort)
		return UNIT_FUNCTION;
	if (keys & (KEYS_LINES | 1ull << SORT_ADDR))
		return UNIT_ADDRESS;
	if (keys >> SORT_SYMBOL & 1)
		return UNIT_FUNCTION;
	return keys >> SORT_DSO & 1 ? UNIT_OBJECT : UNIT_ANY;
}

void window_pass_start(struct window_pass *w, const struct session *s, struct pipeline_opts *o)
{
	*w = (struct window_pass){ 0 };
	for (u32 i = 0; i < o->nr_sort; i++)
		if (o->sort_order[i] == SORT_EVENT)
			return; /* one table of all events */
	if (!o->windows || !group_read_used(&s->src->events))
		return;
	w->opts = *o->windows;
	w->windows.machine = event_machine_of(s->src->features.arch, s->src->features.cpuid);
	w->on = true;
	survey(w, s);
	windows_settle(&w->windows, &s->src->events);
	w->on = w->windows.groups.n > 0;
	if (!w->on)
		return;
	if (w->opts.default_sort) {
		o->sort_order[0] = SORT_COMM;
		o->sort_order[1] = SORT_DSO;
		o->sort_order[2] = SORT_SYMBOL;
		o->nr_sort = 3;
	}
	w->setup = (struct window_setup){
		&w->windows, w->opts.attribution, unit_of(o), w->opts.range, { 0 }, false,
	};
	o->children = o->children && w->opts.children;
	o->no_chains = !o->children && !w->opts.chains && w->opts.attribution != ATTRIBUTION_CALLCHAIN;
	w->setup.chains = !o->no_chains;
}

void window_pass_free(struct window_pass *w)
{
	windows_free(&w->windows);
}

bool window_pass_by_address(const struct window_pass *w)
{
	return w->on && code_range_given(&w->opts.range);
}

void window_worker_start(const struct window_pass *w, struct session *s, struct window_worker *out)
{
	*out = (struct window_worker){ 0 };
	if (!w->on)
		return;
	windows_copy_settled(&out->windows, &w->windows);
	out->hits = window_hits_new(&w->setup, s->frames, s->dsos, &out->windows);
}

void window_worker_join(struct window_pass *w, struct window_worker *from)
{
	struct code_seen seen;

	if (!from->hits)
		return;
	seen = window_hits_seen(from->hits);
	if (seen.file && seen.last_line) {
		w->setup.seen.first_line =
			w->setup.seen.last_line ? MIN(w->setup.seen.first_line, seen.first_line) : seen.first_line;
		w->setup.seen.last_line = MAX(w->setup.seen.last_line, seen.last_line);
	}
	w->setup.seen.file |= seen.file;
	w->setup.seen.inside |= seen.inside;
	windows_join(&w->windows, &from->windows);
	window_hits_free(from->hits);
	windows_free(&from->windows);
}
