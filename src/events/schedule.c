/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that terms fit together, and makes a schedule from the terms for alternating periods and jitter. The long
 * period is the event's own, from period= or -c; with a frequency it is not known here, and is found while sampling.
 */
#include "events/parse.h"
#include "events/tls_user.h"

span event_terms_value(const struct event_terms *terms, const char *name)
{
	for (u32 i = terms->n; i--;)
		if (span_is(terms->v[i].name, name))
			return terms->v[i].has_value ? terms->v[i].value : terms->v[i].all;
	return (span){ 0 };
}

static bool too_wide(u64 jitter, u64 period)
{
	return jitter != SCHEDULE_JITTER_FULL && jitter > period;
}

static int check_alone(struct event_ctx *c, struct schedule *s, const struct event_terms *terms)
{
	span alt = event_terms_value(terms, "alt-period"), burst = event_terms_value(terms, "burst");
	span jitter = event_terms_value(terms, "alt-period-jitter");

	if (alt.len && !s->period_short)
		return event_fail(c, ERR_USAGE, alt, NULL, NULL, "'alt-period' is at least 1");
	if (burst.len && !s->batch_count)
		return event_fail(c, ERR_USAGE, burst, NULL, NULL, "'burst' is at least 1");
	if (burst.len && !alt.len)
		return event_fail(c, ERR_USAGE, burst, NULL, "alt-period=N is the length of each short period",
				  "'burst' needs 'alt-period', too");
	if (jitter.len && !alt.len)
		return event_fail(c, ERR_USAGE, jitter, NULL, "the long period's is 'period-jitter'",
				  "'alt-period-jitter' needs 'alt-period'");
	if (alt.len && too_wide(s->jitter_short, s->period_short))
		return event_fail(c, ERR_USAGE, jitter, NULL, NULL,
				  "'alt-period-jitter' must not be larger than 'alt-period'");
	if (alt.len && !s->batch_count)
		s->batch_count = 1;
	return 0;
}

static int check_tls(struct event_ctx *c, const struct event_spec *s, const struct event_terms *terms)
{
	span size = event_terms_value(terms, "tls-size"), offset = event_terms_value(terms, "tls-offset");
	span pointer = event_terms_value(terms, "tls-pointer"), defer = event_terms_value(terms, "tls-defer");

	if (size.len && (!s->attr.sample_tls_user || s->attr.sample_tls_user % 8))
		return event_fail(c, ERR_USAGE, size, NULL, NULL, "'tls-size' is a multiple of 8, up to %d",
				  TLS_USER_MAX);
	if (!size.len && (offset.len || pointer.len || defer.len))
		return event_fail(c, ERR_USAGE,
				  offset.len  ? offset :
				  pointer.len ? pointer :
						defer,
				  NULL, "tls-size=N is the number of bytes", "this needs 'tls-size', too");
	return 0;
}

int event_schedule_check(struct event_ctx *c, struct event_spec *s, const struct event_terms *terms)
{
	struct schedule known = s->schedule;
	int err = check_tls(c, s, terms);

	if (!err)
		err = check_alone(c, &s->schedule, terms);
	if (err || !s->has_period || !event_spec_scheduled(s))
		return err;
	known = s->schedule;
	known.period_long = s->attr.sample_period;
	if (!known.period_long)
		return event_fail(c, ERR_USAGE, event_terms_value(terms, "period"), NULL, NULL,
				  "'period' is at least 1");
	if (too_wide(known.jitter_long, known.period_long))
		return event_fail(c, ERR_USAGE, event_terms_value(terms, "period-jitter"), NULL, NULL,
				  "'period-jitter' must not be larger than 'period'");
	if (known.period_short >= known.period_long)
		return event_fail(c, ERR_USAGE, event_terms_value(terms, "alt-period"), NULL,
				  "period= is the long period, alt-period= the short one",
				  "'alt-period' must be shorter than 'period'");
	if (schedule_check(&known))
		return event_fail(c, ERR_USAGE, event_terms_value(terms, "period"), NULL, NULL, "%s",
				  schedule_check(&known));
	return 0;
}

int event_spec_schedule(const struct event_spec *s, struct attr *a, struct schedule *out, const struct notify *to)
{
	const char *wrong;

	*out = (struct schedule){ 0 };
	if (!a->sample_period || !event_spec_scheduled(s))
		return 0;
	*out = s->schedule;
	a->sample_type |= PERF_SAMPLE_PERIOD; /* what tells long windows from short ones */
	if (a->flags & ATTR_FREQ)
		return 0;
	out->period_long = a->sample_period;
	wrong = out->period_short >= out->period_long	     ? "the short period (alt-period=) is not shorter" :
		too_wide(out->jitter_long, out->period_long) ? "the jitter is larger" :
							       schedule_check(out);
	if (wrong)
		return notify_error(to, ERR_USAGE, "%s with a period of %llu: %s", s->name,
				    (unsigned long long)a->sample_period, wrong);
	a->sample_period = schedule_whole(out);
	return 0;
}
