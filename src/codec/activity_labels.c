/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "codec/activity.h"

#define TRACE_BYTES 16
#define SPAN_BYTES 8

bool activity_label_next(struct cursor *c, struct str *key, struct str *value)
{
	u32 key_len = cursor_u8(c), value_len = cursor_u8(c);

	key->p = (const char *)cursor_bytes(c, key_len);
	key->len = key_len;
	value->p = (const char *)cursor_bytes(c, value_len);
	value->len = value_len;
	return !c->bad;
}

/* trace_id, traceId, "trace id", trace.id: the same name. */
static bool is_name(struct str key, const char *plain)
{
	size_t n = 0, len = strlen(plain);

	for (u32 i = 0; i < key.len; i++) {
		if (memchr(" _.-", key.p[i], 4))
			continue;
		if (n == len || tolower((u8)key.p[i]) != plain[n])
			return false;
		n++;
	}
	return n == len;
}

static bool is_zero(const u8 *id, u32 n)
{
	u8 any = 0;

	for (u32 i = 0; i < n; i++)
		any |= id[i];
	return !any;
}

static bool hex_id(struct str value, u8 *id, u32 n)
{
	static const char digits[] = "0123456789abcdef";

	if (value.len != 2 * n)
		return false;
	for (u32 i = 0; i < value.len; i++) {
		const char *digit = value.p[i] ? strchr(digits, tolower((u8)value.p[i])) : NULL;

		if (!digit)
			return false;
		id[i / 2] = (u8)(id[i / 2] << 4 | (digit - digits));
	}
	return !is_zero(id, n);
}

/* A number of 64 bits in decimal digits. */
static bool number_id(struct str value, u8 *id)
{
	u64 number = 0;

	for (u32 i = 0; i < value.len; i++) {
		u64 digit = (u64)(u8)value.p[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	for (u32 i = 0; i < SPAN_BYTES; i++)
		id[i] = (u8)(number >> (8 * (SPAN_BYTES - 1 - i)));
	return number;
}

static bool is_text(struct str s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.p, text, s.len);
}

enum activity_id activity_label_id(struct str key, struct str value, u8 id[16])
{
	memset(id, 0, TRACE_BYTES);
	/* As Datadog's library has it. */
	if (is_text(key, "span id") && number_id(value, id))
		return ACTIVITY_SPAN_ID;
	if (is_text(key, "local root span id") && number_id(value, id))
		return ACTIVITY_ROOT_ID;
	memset(id, 0, TRACE_BYTES);
	if (is_name(key, "traceid") && hex_id(value, id, TRACE_BYTES))
		return ACTIVITY_TRACE_ID;
	memset(id, 0, TRACE_BYTES);
	if (is_name(key, "spanid") && hex_id(value, id, SPAN_BYTES))
		return ACTIVITY_SPAN_ID;
	return ACTIVITY_NO_ID;
}
