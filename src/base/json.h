/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON: the only code that writes it. It takes care of commas, quotes and escapes; the caller writes the elements in
 * order.
 *
 *	struct json j = { .out = out };
 *
 *	json_object(&j);
 *	json_set_text(&j, "name", name);
 *	json_set_list(&j, "weights");
 *	for (...)
 *		json_u64(&j, weight);
 *	json_list_end(&j);
 *	json_object_end(&j);
 *
 * An element of a list is written as a value, and a member of an object as its key and then its value; json_set_X does
 * both. The caller has to close every object and list, in the right order: the writer keeps no stack, so nesting has
 * no limit. Keys that are passed as `key` come from the program, and need no escapes; json_key_text takes any text.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/bytes.h"

struct json {
	struct bytes *out;
	const char *gap; /* written before the next key or element, after its comma; NULL: nothing (json_line) */
	bool more;	 /* the list or object has an element already: a comma comes next */
	bool spaced;	 /* a blank after each comma and colon, for readers */
};

/* What comes before a key, or before an element of a list. Only this file's functions need it. */
static inline void json_next(struct json *j)
{
	if (j->more)
		bytes_char(j->out, ',');
	if (UNLIKELY(j->gap != NULL)) {
		bytes_str(j->out, j->gap);
		j->gap = NULL;
	} else if (UNLIKELY(j->spaced) && j->more) {
		bytes_char(j->out, ' ');
	}
	j->more = true;
}

/* The next key or element begins a new line, which begins with `indent` (blanks, or ""). */
#define json_line(j, indent) ((j)->gap = "\n" indent)

static inline void json_key(struct json *j, const char *key)
{
	json_next(j);
	bytes_char(j->out, '"');
	bytes_str(j->out, key);
	bytes_str(j->out, UNLIKELY(j->spaced) ? "\": " : "\":");
	j->more = false; /* no comma between a key and its value */
}
void json_key_text(struct json *j, const char *key); /* of any text */
void json_key_part(struct json *j, const char *key, size_t n);

/* Values: elements of a list, or the value of the key that was just written. */
static inline void json_u64(struct json *j, u64 v)
{
	json_next(j);
	bytes_dec(j->out, v);
}
void json_s64(struct json *j, s64 v);
static inline void json_bool(struct json *j, bool v)
{
	json_next(j);
	bytes_str(j->out, v ? "true" : "false");
}
static inline void json_null(struct json *j)
{
	json_next(j);
	bytes_str(j->out, "null");
}
void json_real(struct json *j, double v, int digits);	 /* whole numbers in full; null if v is not finite */
void json_fixed(struct json *j, double v, int decimals); /* with this number of decimals; null if v is not finite */
void json_str(struct json *j, const char *s, size_t n);	 /* bad UTF-8 becomes U+FFFD, controls are escaped */
void json_text(struct json *j, const char *s);		 /* NULL: null */
void json_addr(struct json *j, u64 v);			 /* "0x...": most readers keep 53 bits of a number only */
void json_hex(struct json *j, const u8 *p, size_t n);	 /* bytes, as "0123..." */

static inline void json_object(struct json *j)
{
	json_next(j);
	bytes_char(j->out, '{');
	j->more = false;
}
static inline void json_object_end(struct json *j)
{
	bytes_char(j->out, '}');
	j->more = true;
}
static inline void json_list(struct json *j)
{
	json_next(j);
	bytes_char(j->out, '[');
	j->more = false;
}
static inline void json_list_end(struct json *j)
{
	bytes_char(j->out, ']');
	j->more = true;
}
/* The same for a list with one line per element: the bracket gets its own line, too. */
void json_list_end_line(struct json *j);
/* Elements or members that were rendered earlier by a writer whose `more` was set at the start: they begin with a
 * comma. */
void json_rendered(struct json *j, const char *text, size_t n);
/* Ends a document, or a line of one, and begins the next. */
static inline void json_end(struct json *j)
{
	bytes_char(j->out, '\n');
	j->more = false;
}

/* A member: key and value. */
static inline void json_set_u64(struct json *j, const char *key, u64 v)
{
	json_key(j, key);
	json_u64(j, v);
}
static inline void json_set_s64(struct json *j, const char *key, s64 v)
{
	json_key(j, key);
	json_s64(j, v);
}
static inline void json_set_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}
static inline void json_set_real(struct json *j, const char *key, double v, int digits)
{
	json_key(j, key);
	json_real(j, v, digits);
}
static inline void json_set_str(struct json *j, const char *key, const char *s, size_t n)
{
	json_key(j, key);
	json_str(j, s, n);
}
static inline void json_set_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_text(j, s);
}
static inline void json_set_addr(struct json *j, const char *key, u64 v)
{
	json_key(j, key);
	json_addr(j, v);
}
static inline void json_set_hex(struct json *j, const char *key, const u8 *p, size_t n)
{
	json_key(j, key);
	json_hex(j, p, n);
}
static inline void json_set_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_object(j);
}
static inline void json_set_list(struct json *j, const char *key)
{
	json_key(j, key);
	json_list(j);
}

#endif
