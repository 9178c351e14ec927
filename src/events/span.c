/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for all kinds of events: comparing and reading parts of the text, and adding the events that it names. */
#include <ctype.h>
#include <strings.h>

#include "events/parse.h"

bool span_is(span s, const char *word)
{
	return strlen(word) == s.len && !memcmp(s.p, word, s.len);
}

bool span_is_nocase(span s, const char *word)
{
	return strlen(word) == s.len && !strncasecmp(s.p, word, s.len);
}

static bool read_digits(span s, u32 base, u64 *out)
{
	u64 v = 0;

	for (u32 i = 0; i < s.len; i++) {
		u8 ch = (u8)s.p[i];
		u32 digit = isdigit(ch) ? ch - '0' : isxdigit(ch) ? (u32)tolower(ch) - 'a' + 10 : 99;

		if (digit >= base || v > (UINT64_MAX - digit) / base)
			return false;
		v = v * base + digit;
	}
	*out = v;
	return s.len > 0;
}

bool span_number(span s, u64 *out)
{
	if (s.len > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X'))
		return read_digits((span){ s.p + 2, s.len - 2 }, 16, out);
	return read_digits(s, 10, out);
}

/* "r1a8", also "r0x1a8" */
bool event_raw_code(span s, u64 *out)
{
	if (s.len < 2 || s.p[0] != 'r' || span_is(s, "read"))
		return false;
	s = (span){ s.p + 1, s.len - 1 };
	if (s.len > 2 && s.p[0] == '0' && s.p[1] == 'x')
		s = (span){ s.p + 2, s.len - 2 };
	return read_digits(s, 16, out);
}

struct event_spec *event_add(struct event_ctx *c)
{
	u32 at = (u32)c->out->v.n;

	vec_push(&c->out->v, (struct event_spec){ .leader = at, .option = c->option });
	c->out->v.v[at].attr.flags = ATTR_EXCLUDE_GUEST;
	return &c->out->v.v[at];
}
