/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/trace_visits.h"

#include "pass/feed.h"
#include "pass/order.h"

struct reader {
	const struct session *s;
	struct trace_visits *out;
	struct feed feed;
};

/* Does the sample say what the thread works for? One that could not be read, or was not looked at, may work for any.
 */
static bool says(const struct activity *a, u32 number)
{
	return number != TIMELINE_UNKNOWN &&
	       (a->status == ACTIVITY_NONE || a->status == ACTIVITY_KNOWN || a->status == ACTIVITY_BARE);
}

static void take_hit(void *ctx, const struct hit *h)
{
	struct reader *r = ctx;
	const struct activity *a = &r->s->timelines.all.v[h->activity];

	if (says(a, h->activity))
		trace_visits_sample(r->out, h->clock, h->s.tid, activity_trace(a->record));
}

static void take_record(void *ctx, const struct source_record *at)
{
	struct reader *r = ctx;

	(void)feed_sample(&r->feed, at, take_hit, r);
}

void session_trace_visits(const struct session *s, struct trace_visits *out)
{
	struct reader r = { .s = s, .out = out, .feed = { .src = s->src, .timelines = session_timelines(s) } };

	*out = (struct trace_visits){ 0 };
	(void)session_in_order(s, take_record, &r);
	trace_visits_end(out);
	feed_free(&r.feed);
}
