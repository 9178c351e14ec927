/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timerange.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NSEC_PER_SEC 1000000000ull
#define NSEC_DIGITS 9

/* "12.5" to ns; *p ends behind it. False: no number, or beyond 64 bits. */
static bool parse_seconds(const char **p, u64 *ns)
{
	u64 sec = 0, frac = 0;
	int digits = 0;

	if (!isdigit((u8) * *p))
		return false;
	for (; isdigit((u8) * *p); ++*p)
		if (__builtin_mul_overflow(sec, 10u, &sec) || __builtin_add_overflow(sec, (u64)(**p - '0'), &sec))
			return false;
	if (**p == '.')
		for (++*p; isdigit((u8) * *p); ++*p)
			if (digits < NSEC_DIGITS) {
				frac = frac * 10 + (u64)(**p - '0');
				digits++;
			}
	for (; digits < NSEC_DIGITS; digits++)
		frac *= 10;
	return !__builtin_mul_overflow(sec, NSEC_PER_SEC, &sec) && !__builtin_add_overflow(sec, frac, ns);
}

static const char *skip_spaces(const char *p)
{
	while (isspace((u8)*p))
		p++;
	return p;
}

/* One "start,stop". */
static bool parse_absolute(const char **p, struct timerange *r)
{
	*r = (struct timerange){ 0, UINT64_MAX };
	if (**p != ',' && !parse_seconds(p, &r->start))
		return false;
	if (**p != ',')
		return false;
	++*p;
	if (**p && !isspace((u8) * *p) && !parse_seconds(p, &r->stop))
		return false;
	return r->start <= r->stop;
}

/* "10%" as 0.1. */
static bool parse_percent(const char **p, double *part)
{
	char *end;

	if (!isdigit((u8) * *p))
		return false;
	*part = strtod(*p, &end) / 100;
	if (*end != '%')
		return false;
	*p = end + 1;
	return *part >= 0 && *part <= 1;
}

/* One "10%", "10%/2" or "10%-20%". */
static bool parse_share(const char **p, u64 first, u64 last, struct timerange *r)
{
	double from = 0, to, total = (double)(last - first);

	if (!parse_percent(p, &to))
		return false;
	if (**p == '/') {
		char *end;
		unsigned long slice = isdigit((u8)(*p)[1]) ? strtoul(*p + 1, &end, 10) : 0;

		if (!slice)
			return false;
		*p = end;
		from = to * (double)(slice - 1);
		to *= (double)slice;
	} else if (**p == '-') {
		from = to;
		++*p;
		if (!parse_percent(p, &to))
			return false;
	}
	if (from > 1 || to > 1 + 1e-9 || from > to)
		return false;
	r->start = first + (u64)round(from * total);
	r->stop = to >= 1 ? last : first + (u64)round(to * total);
	/* The border belongs to the slice behind it. */
	if (r->stop > r->start && r->stop != last)
		r->stop--;
	return true;
}

bool timeranges_relative(const char *text)
{
	return strchr(text, '%') != NULL;
}

static bool in_order(const struct timeranges *t)
{
	for (size_t i = 1; i < t->v.n; i++)
		if (t->v.v[i].start <= t->v.v[i - 1].stop)
			return false;
	return true;
}

int timeranges_parse(struct timeranges *out, const char *text, u64 first, u64 last, const struct notify *to)
{
	bool relative = timeranges_relative(text), good = true;
	const char *p = skip_spaces(text);

	*out = (struct timeranges){ 0 };
	if (relative && last < MAX(first, 1u))
		return notify_error(to, ERR_USAGE,
				    "--time %s: the times of the first and last sample are not known; use start,stop",
				    text);
	while (good && *p) {
		struct timerange r;

		good = relative ? parse_share(&p, first, last, &r) : parse_absolute(&p, &r);
		if (good)
			vec_push(&out->v, r);
		if (relative && *p == ',')
			p++;
		else if (*p && !isspace((u8)*p))
			good = false;
		p = skip_spaces(p);
	}
	if (good && out->v.n && in_order(out))
		return 0;
	timeranges_free(out);
	return notify_error(to, ERR_USAGE, "--time %s: not a time range (like 12.5,13 or 10%%-20%% or 10%%/2)", text);
}

void timeranges_free(struct timeranges *t)
{
	vec_free(&t->v);
}
