/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes: a growing output buffer, into which encoders and text renderers write. A zeroed struct is an empty buffer.
 * With `fd` set through bytes_to_fd, the buffer empties itself into the file whenever it holds BYTES_FLUSH bytes. The
 * first write error is kept in `err` and later bytes are dropped, so a renderer can write without checks, and the
 * caller checks once.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <string.h>

#include "base/types.h"

#define BYTES_FLUSH (256u << 10)

struct bytes {
	u8 *p;
	size_t len, cap;
	int fd; /* where the buffer empties itself, if to_fd */
	bool to_fd;
	bool formulas; /* bytes_csv does not change texts that a spreadsheet takes for a formula */
	int err;       /* 0 or ERR_IO; errno of the failure in sys_errno */
	int sys_errno;
};

void bytes_to_fd(struct bytes *b, int fd);     /* sets up an empty buffer that writes to fd */
int bytes_flush(struct bytes *b);	       /* writes out what is held; returns err */
void bytes_free(struct bytes *b);	       /* drops what is held; does not flush or close */
void bytes_grow(struct bytes *b, size_t more); /* room for that many more; may flush */

static inline void bytes_put(struct bytes *b, const void *p, size_t n)
{
	if (UNLIKELY(n > b->cap - b->len))
		bytes_grow(b, n);
	if (n)
		memcpy(b->p + b->len, p, n);
	b->len += n;
}

/* What stands at `at`, which may be the end. NULL: the buffer has never held anything. */
static inline const u8 *bytes_from(const struct bytes *b, size_t at)
{
	return b->p ? b->p + at : NULL;
}

static inline void bytes_u8(struct bytes *b, u8 v)
{
	bytes_put(b, &v, 1);
}
static inline void bytes_u16(struct bytes *b, u16 v)
{
	bytes_put(b, &v, 2);
}
static inline void bytes_u32(struct bytes *b, u32 v)
{
	bytes_put(b, &v, 4);
}
static inline void bytes_u64(struct bytes *b, u64 v)
{
	bytes_put(b, &v, 8);
}

/* Seven bits at a time, the lowest first; all bytes but the last have the highest bit. */
static inline void bytes_varint(struct bytes *out, u64 v)
{
	for (; v >= 0x80; v >>= 7)
		bytes_u8(out, (u8)(v | 0x80));
	bytes_u8(out, (u8)v);
}

void bytes_zero(struct bytes *b, size_t n);

/* Text. */
static inline void bytes_char(struct bytes *b, char c)
{
	bytes_put(b, &c, 1);
}
static inline void bytes_str(struct bytes *b, const char *s)
{
	bytes_put(b, s, strlen(s));
}
void bytes_repeat(struct bytes *b, char c, int n); /* nothing when n <= 0 */
void bytes_dec(struct bytes *b, u64 v);
void bytes_hex(struct bytes *b, u64 v);			     /* lower case, no 0x */
void bytes_hex_of(struct bytes *b, const void *p, size_t n); /* each byte as two digits */
/* Right-aligned in at least width characters (up to 64); pad is ' ' or '0'. */
void bytes_dec_pad(struct bytes *b, u64 v, u32 width, char pad);
void bytes_hex_pad(struct bytes *b, u64 v, u32 width, char pad);
/* Whole numbers in full, others with this number of digits. v is finite. */
void bytes_real(struct bytes *b, double v, int digits);
void bytes_printf(struct bytes *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What a word ends with that n things are counted by: "1 file", "2 files". */
static inline const char *plural(u64 n)
{
	return n == 1 ? "" : "s";
}

/* Escaped text: JSON string contents (no quotes; bad UTF-8 becomes U+FFFD), XML/HTML text, one CSV field. */
void bytes_json(struct bytes *b, const char *s, size_t n);
void bytes_xml(struct bytes *b, const char *s, size_t n);
void bytes_csv(struct bytes *b, const char *s, size_t n);
/* The text that a CSV field says: bad UTF-8 becomes U+FFFD, and control characters '?'. */
void bytes_shown(struct bytes *b, const char *s, size_t n);
/* The line that begins at *at, without its newline; *at moves to the next line. False: there is none. */
bool bytes_line(const struct bytes *b, size_t *at, struct str *line);
/* For a terminal: control bytes (and bad UTF-8) become '?'. */
void bytes_plain(struct bytes *b, const char *s, size_t n);

#endif
