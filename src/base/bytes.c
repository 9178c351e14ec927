/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

void bytes_to_fd(struct bytes *b, int fd)
{
	*b = (struct bytes){ .fd = fd, .to_fd = true };
}

int bytes_flush(struct bytes *b)
{
	size_t at = 0;

	while (b->to_fd && !b->err && at < b->len) {
		ssize_t n = write(b->fd, b->p + at, b->len - at);

		if (n >= 0) {
			at += (size_t)n;
		} else if (errno != EINTR) {
			b->err = ERR_IO;
			b->sys_errno = errno;
		}
	}
	if (b->to_fd)
		b->len = 0;
	return b->err;
}

void bytes_grow(struct bytes *b, size_t more)
{
	if (b->to_fd && b->len >= BYTES_FLUSH)
		bytes_flush(b);
	if (more <= b->cap - b->len)
		return;
	b->cap = MAX(b->cap * 2, b->len + more);
	b->cap = MAX(b->cap, b->to_fd ? (size_t)BYTES_FLUSH + 4096 : 256);
	b->p = mem_realloc(b->p, b->cap, 1);
}

void bytes_free(struct bytes *b)
{
	free(b->p);
	*b = (struct bytes){ 0 };
}

void bytes_zero(struct bytes *b, size_t n)
{
	bytes_repeat(b, 0, (int)n);
}

void bytes_repeat(struct bytes *b, char c, int n)
{
	if (n <= 0)
		return;
	if ((size_t)n > b->cap - b->len)
		bytes_grow(b, (size_t)n);
	memset(b->p + b->len, c, (size_t)n);
	b->len += (size_t)n;
}

/* Two digits a step, as the divisions are what it costs; those of 32 bits are cheaper. */
static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
	"49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
	"9899";

/* Writes the digits before text[at]. -> where the first one is */
static u32 put_digits(char *text, u32 at, u64 v)
{
	u32 low;

	for (; v > UINT32_MAX; v /= 100)
		memcpy(text + (at -= 2), pairs + v % 100 * 2, 2);
	for (low = (u32)v; low >= 100; low /= 100)
		memcpy(text + (at -= 2), pairs + (size_t)(low % 100) * 2, 2);
	if (low >= 10)
		memcpy(text + (at -= 2), pairs + (size_t)low * 2, 2);
	else
		text[--at] = (char)('0' + low);
	return at;
}

void bytes_dec(struct bytes *b, u64 v)
{
	char digits[20];
	u32 at = put_digits(digits, sizeof(digits), v);

	bytes_put(b, digits + at, sizeof(digits) - at);
}

void bytes_hex(struct bytes *b, u64 v)
{
	char digits[16];
	int at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	bytes_put(b, digits + at, sizeof(digits) - (size_t)at);
}

#define PAD_MAX 64

/* The digits of a number, at the end of text, behind what pads them: all of it, so that no length is looked at. */
static void put_padded(struct bytes *b, const char *text, u32 at, u32 width)
{
	u32 first = MIN(at, PAD_MAX - MIN(width, (u32)PAD_MAX));

	bytes_put(b, text + first, PAD_MAX - first);
}

void bytes_dec_pad(struct bytes *b, u64 v, u32 width, char pad)
{
	char text[PAD_MAX];

	memset(text, pad, sizeof(text));
	put_padded(b, text, put_digits(text, PAD_MAX, v), width);
}

void bytes_hex_of(struct bytes *b, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes_hex_pad(b, ((const u8 *)p)[i], 2, '0');
}

void bytes_hex_pad(struct bytes *b, u64 v, u32 width, char pad)
{
	char text[PAD_MAX];
	u32 at = PAD_MAX;

	memset(text, pad, sizeof(text));
	do
		text[--at] = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	put_padded(b, text, at, width);
}

void bytes_real(struct bytes *b, double v, int digits)
{
	if (v == floor(v) && fabs(v) < 0x1p63)
		bytes_printf(b, "%.0f", v);
	else
		bytes_printf(b, "%.*g", digits, v);
}

void bytes_printf(struct bytes *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < (int)sizeof(text)) {
		bytes_put(b, text, n > 0 ? (size_t)n : 0);
		return;
	}
	bytes_grow(b, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf((char *)b->p + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

/* Length of the valid UTF-8 sequence at s (1..4), or 0. */
static size_t utf8_len(const char *text, size_t n)
{
	const u8 *s = (const u8 *)text;
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/*
 * A character, of so many bytes, that does something rather than being shown: controls (C0, DEL, C1), and those that
 * turn the direction of text around, with which a name can look like another one.
 */
static bool is_control(const char *s, size_t len)
{
	const u8 *c = (const u8 *)s;

	if (len == 1)
		return *c < 0x20 || *c == 0x7f;
	if (len == 2)
		return (c[0] == 0xc2 && c[1] < 0xa0) || (c[0] == 0xd8 && c[1] == 0x9c);
	if (len != 3 || c[0] != 0xe2)
		return false;
	return (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae))) ||
	       (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

/* The number of a character of two or three bytes, or of one. */
static u32 code_point(const char *s, size_t len)
{
	const u8 *c = (const u8 *)s;

	return len == 1 ? c[0] :
	       len == 2 ? (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu) :
			  (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
}

/* How many bytes from s on are ASCII that JSON needs no escape for. */
static size_t json_run(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (u8)s[i] >= 0x20 && (u8)s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

void bytes_json(struct bytes *b, const char *s, size_t n)
{
	for (;;) {
		size_t len = json_run(s, n);

		bytes_put(b, s, len);
		s += len;
		n -= len;
		if (!n)
			return;
		len = utf8_len(s, n);

		if (!len)
			bytes_str(b, "\xef\xbf\xbd");
		else if (*s == '"' || *s == '\\')
			bytes_printf(b, "\\%c", *s);
		else if (is_control(s, len))
			bytes_printf(b, "\\u%04x", code_point(s, len));
		else
			bytes_put(b, s, len);
		len = MAX(len, (size_t)1);
		s += len;
		n -= len;
	}
}

void bytes_xml(struct bytes *b, const char *s, size_t n)
{
	while (n) {
		size_t len = utf8_len(s, n);

		if (!len || (len == 3 && !memcmp(s, "\xef\xbf", 2) && (u8)s[2] >= 0xbe)) /* U+FFFE and U+FFFF, too */
			bytes_str(b, "\xef\xbf\xbd");
		else if (*s == '<')
			bytes_str(b, "&lt;");
		else if (*s == '>')
			bytes_str(b, "&gt;");
		else if (*s == '&')
			bytes_str(b, "&amp;");
		else if (*s == '"')
			bytes_str(b, "&quot;");
		else if (*s == '\'')
			bytes_str(b, "&#39;");
		else if (is_control(s, len))
			bytes_char(b, '?');
		else
			bytes_put(b, s, len);
		len = MAX(len, (size_t)1);
		s += len;
		n -= len;
	}
}

/* Bad UTF-8 is replaced, as in the others: readers of CSV refuse the whole file for it. */
static void put_shown(struct bytes *b, const char *s, size_t n, const char *quote)
{
	while (n) {
		size_t len = utf8_len(s, n);

		if (!len)
			bytes_str(b, "\xef\xbf\xbd");
		else if (is_control(s, len))
			bytes_char(b, '?');
		else if (*s == '"')
			bytes_str(b, quote);
		else
			bytes_put(b, s, len);
		len = MAX(len, (size_t)1);
		s += len;
		n -= len;
	}
}

void bytes_shown(struct bytes *b, const char *s, size_t n)
{
	put_shown(b, s, n, "\"");
}

void bytes_csv(struct bytes *b, const char *s, size_t n)
{
	bool quote = memchr(s, ',', n) || memchr(s, '"', n);

	if (quote)
		bytes_char(b, '"');
	/* What a spreadsheet would take for a formula. */
	if (n && !b->formulas && strchr("=+-@", *s) && *s)
		bytes_char(b, '\'');
	put_shown(b, s, n, "\"\"");
	if (quote)
		bytes_char(b, '"');
}

/* How many bytes from s on are printable ASCII. */
static size_t plain_run(const char *s, size_t n)
{
	const u64 each = 0x0101010101010101u;
	size_t i = 0;

	/* Eight at a time: below 0x20 the difference has the highest bit, at 0x7f the sum, above it the byte. What is
	 * carried from one byte to the next comes from one that is none. */
	for (u64 w; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(&w, s + i, sizeof(w));
		if ((w | (w - 0x20 * each) | (w + each)) & 0x80 * each)
			break;
	}
	while (i < n && (u8)s[i] >= 0x20 && (u8)s[i] < 0x7f)
		i++;
	return i;
}

void bytes_plain(struct bytes *b, const char *s, size_t n)
{
	while (n) {
		size_t len = plain_run(s, n);

		bytes_put(b, s, len);
		s += len;
		n -= len;
		if (!n)
			return;
		len = utf8_len(s, n);

		if (!len || is_control(s, len))
			bytes_char(b, '?');
		else
			bytes_put(b, s, len);
		len = MAX(len, (size_t)1);
		s += len;
		n -= len;
	}
}

bool bytes_line(const struct bytes *b, size_t *at, struct str *line)
{
	const u8 *end;

	if (*at >= b->len)
		return false;
	line->p = (const char *)b->p + *at;
	end = memchr(b->p + *at, '\n', b->len - *at);
	line->len = (u32)(end ? (size_t)(end - b->p) - *at : b->len - *at);
	*at += line->len + 1;
	return true;
}
