/* SPDX-License-Identifier: Apache-2.0 */
#include "base/optext.h"

bool str_number(struct str s, u64 max, u64 *out)
{
	u64 v = 0;

	for (u32 i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (u64)(s.p[i] - '0'), &v))
			return false;
	}
	*out = v;
	return s.len && v <= max;
}

bool str_split(struct str s, char sep, struct str *a, struct str *b)
{
	const char *at = memchr(s.p, sep, s.len);

	if (!at)
		return false;
	*a = (struct str){ s.p, (u32)(at - s.p) };
	*b = (struct str){ at + 1, (u32)(s.p + s.len - at - 1) };
	return true;
}

int optext_fail(const struct optext *t, const struct near *near, const char *hint, const char *head)
{
	const struct mistake m = { t->text, t->at, near, hint };

	return mistake_note(&m, ERR_USAGE, head, t->to);
}

int optext_choose(const struct optext *t, const char *const *names, size_t stride, u32 n, const char *head,
		  const char *lead, u32 *out)
{
	struct near near = { .want = t->at };
	struct bytes hint = { 0 };
	int err;

	bytes_str(&hint, lead);
	for (u32 i = 0; i < n; i++) {
		const char *name = *(const char *const *)((const char *)names + i * stride);

		if (str_is(t->at, name)) {
			*out = i;
			bytes_free(&hint);
			return 0;
		}
		near_offer(&near, name);
		bytes_printf(&hint, "%s%s", i ? ", " : "", name);
	}
	bytes_char(&hint, 0);
	err = optext_fail(t, &near, (const char *)hint.p, head);
	bytes_free(&hint);
	return err;
}
