/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which print formats of tracepoints may be evaluated.
 *
 * A print format is C: a string with conversions, and expressions for them. It comes out of the recording, so only
 * what is known to be harmless is let through to attrib/print_format.h, which carries it out:
 *
 *   - conversions of numbers, characters, strings and pointers, whose width and precision have at most three digits; a
 *     precision that the arguments give (.*) only shortens a string;
 * - names, numbers, casts and operators; division only by a literal number that is not 0; - arrays only with a small
 *   literal index, so that the access is near the data; - no pointers are followed, and the only functions are those
 *   that look up a value in a list of names or print a string of the record; not those that print bytes by a count
 *   from the record, and not sizeof; - brackets are balanced, and not nested deeply.
 *
 * Nearly all formats of a kernel satisfy these rules. The others are printed field by field.
 */
#include <string.h>

#include "codec/tracefmt.h"

#define NESTING_MAX 64
#define DIGITS_MAX 3

enum token { START, NAME, NUMBER, STRING, OPEN, CLOSE, OPERATOR, END, WILD };

struct lexer {
	const char *p, *end;
	struct str text; /* of the last token */
	u32 depth;
};

static bool is_in(char c, const char *set)
{
	return c && strchr(set, c);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *skip_digits(const char *p, const char *end, u32 *n)
{
	for (*n = 0; p < end && is_digit(*p); p++)
		++*n;
	return p;
}

/* Behind a '%': where the conversion ends; NULL when it is none of those that are known. */
static const char *conversion_end(const char *p, const char *end)
{
	u32 width, precision = 0;

	while (p < end && is_in(*p, "-+ #0"))
		p++;
	p = skip_digits(p, end, &width);
	if (p < end && *p == '.') {
		p++;
		p = p < end && *p == '*' ? p + 1 : skip_digits(p, end, &precision);
	}
	for (u32 i = 0; i < 2 && p < end && is_in(*p, "hlLzqjt"); i++)
		p++;
	if (p == end || !is_in(*p, "diuxXocsp%") || width > DIGITS_MAX || precision > DIGITS_MAX)
		return NULL;
	return p + 1;
}

/* From behind the opening quote to behind the closing one; NULL: a conversion is not known, or the string does not
 * end. */
static const char *string_end(const char *p, const char *end, char quote)
{
	while (p && p < end && *p != quote) {
		if (*p == '%' && quote == '"')
			p = conversion_end(p + 1, end);
		else if (*p == '\\' && p + 1 < end && p[1] == '%')
			return NULL; /* whoever takes the backslash away has a conversion that was not looked at */
		else
			p += *p == '\\' && p + 1 < end ? 2 : 1;
	}
	return p && p < end ? p + 1 : NULL;
}

static enum token next_word(struct lexer *l)
{
	const char *p = l->p;

	while (p < l->end && is_word(*p))
		p++;
	l->text = (struct str){ l->p, (u32)(p - l->p) };
	l->p = p;
	return is_digit(*l->text.p) ? NUMBER : NAME;
}

static enum token next_token(struct lexer *l)
{
	char c;

	while (l->p < l->end && is_in(*l->p, " \t\n\\"))
		l->p++;
	l->text = (struct str){ l->p, 1 };
	if (l->p == l->end)
		return END;
	c = *l->p;
	if (is_word(c))
		return next_word(l);
	l->p++;
	if (c == '"' || c == '\'') {
		const char *end = string_end(l->p, l->end, c);

		l->p = end ? end : l->end;
		return end ? STRING : WILD;
	}
	if (is_in(c, "({[?"))
		return ++l->depth > NESTING_MAX ? WILD : OPEN;
	if (is_in(c, ")}]")) {
		l->depth -= l->depth > 0;
		return CLOSE;
	}
	return is_in(c, "+-*/%&|^~!<>=,:;.") ? OPERATOR : WILD;
}

/* The next token, if it is a number of at most so many, taken; it may stand in brackets when they may be there. */
static bool takes_number(struct lexer *l, u64 least, u64 most, bool brackets)
{
	enum token t = next_token(l);
	bool open = brackets && t == OPEN && *l->text.p == '(';
	u64 v = 0;

	if (open)
		t = next_token(l);
	if (t != NUMBER || (l->text.p[0] == '0' && l->text.len > 1))
		return false;
	for (u32 i = 0; i < l->text.len && is_digit(l->text.p[i]); i++)
		v = MIN(v * 10 + (u64)(l->text.p[i] - '0'), most + 1);
	if (v < least || v > most)
		return false;
	return !open || (next_token(l) == CLOSE && *l->text.p == ')');
}

static bool is_function(const struct str name)
{
	static const char *const known[] = { "__print_flags", "__print_symbolic", "__get_str",
					     "__get_rel_str", "__get_cpumask",	  "__get_bitmask" };

	for (u32 i = 0; i < ARRAY_LEN(known); i++)
		if (name.len == strlen(known[i]) && !memcmp(name.p, known[i], name.len))
			return true;
	return false;
}

/* Does a value, or a type, end with this token, so that '*' behind it multiplies or makes a pointer type? */
static bool ends_value(enum token t, char c)
{
	return t == NAME || t == NUMBER || t == CLOSE || (t == OPERATOR && c == '*');
}

/* '?' opens too: each needs its ':'. */
struct open_brackets {
	char closed_by[NESTING_MAX];
	u32 n, choices;
};

/* False: what closes was not opened. */
static bool brackets_take(struct open_brackets *b, enum token t, char c)
{
	if (t == CLOSE)
		return b->n && b->closed_by[--b->n] == c;
	if (t == OPERATOR && c == ':')
		return b->choices-- > 0;
	if (t == OPEN && c == '?')
		b->choices++;
	else if (t == OPEN)
		b->closed_by[b->n++] = c == '(' ? ')' : c == '[' ? ']' : '}'; /* the lexer counts depth as well */
	return true;
}

bool trace_print_is_tame(struct str print)
{
	struct lexer l = { .p = print.p, .end = print.len ? print.p + print.len : print.p };
	enum token last = START, now;
	struct str before = { "", 0 };
	struct open_brackets open = { 0 };

	for (; (now = next_token(&l)) != END; last = now) {
		char c = *l.text.p;

		if (now == WILD || !brackets_take(&open, now, c))
			return false;
		if (last == NAME && (now == OPEN && c == '(') != is_function(before))
			return false;
		if (now == OPEN && c == '[') {
			if (!takes_number(&l, 0, TRACE_INDEX_MAX, false))
				return false;
			now = NUMBER; /* what has to close it comes next */
			continue;
		}
		if (now == OPERATOR && c == '*' && !ends_value(last, *before.p))
			return false;
		if (now == OPERATOR && (c == '/' || c == '%')) {
			if (!takes_number(&l, 1, UINT32_MAX, true))
				return false;
			now = NUMBER;
		}
		before = l.text;
	}
	return !open.n && !open.choices && !(last == NAME && is_function(before)) && last != OPERATOR && last != OPEN;
}
