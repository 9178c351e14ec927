/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_windows.h"

#include <string.h>

#include "attrib/group_read.h"
#include "codec/vpmu.h"

/* How much of the recording is looked at to tell short windows from long ones. */
#define SURVEY_WINDOWS 20000
#define SURVEY_RECORDS 200000

u32 window_pass_take(struct window_pass *w, const struct session *s, const struct event *e, const struct sample *sample,
		     struct window *out)
{
	const struct evlist *l = &s->src->events;

	if (!w->on || !window_event(e) || !windows_take(&w->windows, l, (u32)(e - l->events.v), sample, out))
		return ID_NONE;
	return w->windows.groups.v[out->group].leader;
}

void window_pass_note(struct window_pass *w, const struct session *s, const struct source_record *at)
{
	struct record r;

	if (!w->on || (at->h.type != PERF_RECORD_THROTTLE && at->h.type != PERF_RECORD_UNTHROTTLE &&
		       at->h.type != PERF_RECORD_LOST))
		return;
	if (!session_decode(s, at, &r))
		windows_note(&w->windows, &s->src->events, &r);
}

static void survey(struct window_pass *w, const struct session *s)
{
	u64 offset = 0;
	struct source_record at;

	for (u32 n = 0, windows = 0;
	     n < SURVEY_RECORDS && windows < SURVEY_WINDOWS && source_next(s->src, &offset, &at, NULL); n++) {
		const struct event *e = at.h.type == PERF_RECORD_SAMPLE ? session_sample_event(s, &at) : NULL;
		struct window window;
		struct sample sample;

		if (!e) {
			window_pass_note(w, s, &at);
			continue;
		}
		if (window_event(e) && !sample_decode(&e->layout, cursor_over(at.p, at.h.size, s->src->swap), &sample))
			windows += window_pass_take(w, s, e, &sample, &window) != ID_NONE;
	}
}

/* Arm's numbers are also those of the virtual PMU's raw events, on every core. */
static bool has_arm_numbers(const struct features *f)
{
	return (f->arch && (!strncmp(f->arch, "aarch64", 7) || !strncmp(f->arch, "arm", 3))) ||
	       vpmu_simulated(f->cpuid).len;
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
	w->windows.arm = has_arm_numbers(&s->src->features);
	w->on = true;
	survey(w, s);
	windows_settle(&w->windows, &s->src->events);
	w->on = w->windows.groups.n > 0;
	if (!w->on)
		return;
	if (w->opts.default_sort) {
		o->sort_order[0] = SORT_SYMBOL;
		o->nr_sort = 1;
	}
	o->children = o->children && w->opts.children;
	o->no_chains = !o->children && !w->opts.chains && w->opts.attribution != ATTRIBUTION_CALLCHAIN;
}

void window_pass_free(struct window_pass *w)
{
	windows_free(&w->windows);
	window_hits_free(w->hits);
}

bool window_pass_by_address(const struct window_pass *w)
{
	return w->on && code_range_given(&w->opts.range);
}

struct window_hits *window_pass_hits(struct window_pass *w, struct session *s)
{
	if (w->on)
		w->hits = window_hits_new(w->opts.attribution, &w->opts.range, s->frames, s->dsos, &w->windows);
	return w->hits;
}

struct profile_windows *window_pass_result(const struct window_pass *w, u32 event, struct window_sums *sums)
{
	u32 group = map_get(&w->windows.by_leader, event);
	struct profile_windows *p = profile_windows_new(&w->windows.groups.v[group], w->opts.attribution, sums);

	p->range = w->opts.range;
	p->seen = window_hits_seen(w->hits);
	return p;
}
