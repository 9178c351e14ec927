/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/order.h"

#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "base/mem.h"
#include "pass/feed.h"

struct span {
	u64 *first, *last;
};

static void widen(void *ctx, u64 time, u64 offset)
{
	const struct span *span = ctx;

	(void)offset;
	*span->first = MIN(*span->first, time);
	*span->last = MAX(*span->last, time);
}

void session_times(const struct session *s, u64 *first, u64 *last)
{
	u64 offset = 0;
	struct source_record at;

	*first = s->src->features.first_sample_time;
	*last = s->src->features.last_sample_time;
	if (*last)
		return;
	*first = UINT64_MAX;
	for (size_t i = 0; session_spe(s) && i < s->aux.buffers.n; i++)
		feed_operations(s->src, &s->spe, &s->aux.buffers.v[i], widen, &(struct span){ first, last });
	while (source_next(s->src, &offset, &at, NULL)) {
		struct sample_core core;

		if (at.h.type != PERF_RECORD_SAMPLE || !feed_core(s->src, &at, &core))
			continue;
		*first = MIN(*first, core.time);
		*last = MAX(*last, core.time);
	}
}

/* Where the ascending run that starts at `from` ends. */
static u64 run_end(const struct sample_ref *v, u64 n, u64 from)
{
	u64 i = from + 1;

	while (i < n && v[i].time >= v[i - 1].time)
		i++;
	return i;
}

static void merge_runs(const struct sample_ref *v, u64 a, u64 mid, u64 end, struct sample_ref *out)
{
	u64 b = mid, o = a, first = a;

	while (first < mid && b < end)
		out[o++] = v[b].time < v[first].time ? v[b++] : v[first++];
	memcpy(out + o, v + first, (mid - first) * sizeof(*v));
	o += mid - first;
	memcpy(out + o, v + b, (end - b) * sizeof(*v));
}

/*
 * A recording is a row of rings' contents, each in order: a few long ascending runs for each flush. Neighbouring runs
 * are merged, round after round, from one array into the other; equal times stay in file order. Returns the array that
 * holds the result.
 */
static struct sample_ref *sort_refs(struct sample_ref *v, struct sample_ref *other, u64 n)
{
	while (run_end(v, n, 0) < n) {
		struct sample_ref *t;

		for (u64 at = 0; at < n;) {
			u64 mid = run_end(v, n, at), end = mid < n ? run_end(v, n, mid) : n;

			merge_runs(v, at, mid, end, other);
			at = end;
		}
		t = v;
		v = other;
		other = t;
	}
	return v;
}

/* Where in time the samples are, one by one. */
struct refs {
	VEC(struct sample_ref) v;
	u64 last;
	bool sorted, timed;
};

static void add_ref(struct refs *r, u64 time, u64 offset)
{
	struct sample_ref ref = { r->timed ? time : 0, offset };

	r->sorted &= ref.time >= r->last;
	r->last = ref.time;
	vec_push(&r->v, ref);
}

static void add_operation(void *ctx, u64 time, u64 offset)
{
	add_ref(ctx, time, offset | REF_OPERATION);
}

void session_sort_samples(struct session *s, struct sample_ref **out, u64 *n)
{
	struct refs r = { .sorted = true, .timed = s->clock_is_time };
	struct source_record at;
	struct sample_core core;
	u64 offset = 0;

	vec_reserve(&r.v, s->data.nr_samples + 1);
	while (source_next(s->src, &offset, &at, NULL))
		if (at.h.type == PERF_RECORD_SAMPLE && feed_core(s->src, &at, &core))
			add_ref(&r, core.time, at.offset);
	for (size_t i = 0; session_spe(s) && i < s->aux.buffers.n; i++)
		feed_operations(s->src, &s->spe, &s->aux.buffers.v[i], add_operation, &r);
	*out = r.v.v;
	*n = r.v.n;
	if (!r.sorted) {
		struct sample_ref *other = mem_realloc(NULL, *n + 1, sizeof(*other));

		*out = sort_refs(r.v.v, other, *n);
		free(*out == other ? r.v.v : other);
	}
}

/* Samples that are not handed on yet. */
struct ahead {
	VEC(struct sample_ref) v;
	VEC(struct sample_ref) room; /* for sorting */
	u64 latest, safe;	     /* times: of those met so far; until then none can come any more */
	u64 done, late;
};

static void hand_on(const struct session *s, struct ahead *a, u64 until, in_order_fn take, void *ctx)
{
	struct sample_ref *sorted;
	struct source_record at;
	u64 n = 0;

	vec_reserve(&a->room, a->v.n);
	sorted = sort_refs(a->v.v, a->room.v, a->v.n);
	for (; n < a->v.n && sorted[n].time <= until; n++) {
		u64 offset = sorted[n].offset;

		if (source_next_asked(s->src, &offset, &at, NULL))
			take(ctx, &at);
		a->done = sorted[n].time;
	}
	memmove(a->v.v, sorted + n, (a->v.n - n) * sizeof(*sorted));
	a->v.n -= n;
}

u64 session_in_order(const struct session *s, in_order_fn take, void *ctx)
{
	struct ahead a = { 0 };
	struct source_record at;
	struct sample_core core;
	u64 offset = 0;

	while (source_next(s->src, &offset, &at, NULL) && !(s->opts.stop && *s->opts.stop)) {
		if (at.h.type == PERF_RECORD_FINISHED_ROUND && a.v.n) {
			hand_on(s, &a, a.safe, take, ctx);
			a.safe = a.latest;
		}
		if (at.h.type != PERF_RECORD_SAMPLE || !feed_core(s->src, &at, &core))
			continue;
		a.latest = MAX(a.latest, core.time);
		if (core.time < a.done)
			a.late++;
		else
			vec_push(&a.v, (struct sample_ref){ core.time, at.offset });
	}
	if (a.v.n)
		hand_on(s, &a, UINT64_MAX, take, ctx);
	vec_free(&a.v);
	vec_free(&a.room);
	return a.late;
}

/* KEY=VALUE; values may have '=', too. */
static int choose_activities(struct session *s, const char *text)
{
	const char *equals = strchr(text, '=');
	char *key;
	int err = 0;

	if (!equals || equals == text)
		return notify_error(s->notify, ERR_USAGE, "--activity: '%s' is not KEY=VALUE, like http.route=/cart",
				    text);
	key = mem_strndup(text, (size_t)(equals - text));
	if (!activity_key(&s->timelines, key))
		err = notify_error(
			s->notify, ERR_USAGE,
			"--activity: %s has no activities with '%s' (trace_id, span_id, root_span_id, service "
			"or an attribute; reticle record --activity)",
			s->src->path, key);
	free(s->chosen);
	s->chosen = err ? NULL : activity_choose(&s->timelines, key, equals + 1);
	free(key);
	return err;
}

int session_filter(struct session *s, const struct sample_filter *asked, const char *time, struct timeranges *times,
		   struct sample_filter *out)
{
	u64 first = 0, last = 0;
	int err;

	*out = *asked;
	out->times = time ? times : NULL;
	err = sample_filter_check(out, &s->src->events, s->notify);
	if (!err && out->activity)
		err = choose_activities(s, out->activity);
	out->activities = s->chosen;
	if (err || !time)
		return err;
	if (timeranges_relative(time))
		session_times(s, &first, &last);
	return timeranges_parse(times, time, first, last, s->notify);
}
