/* SPDX-License-Identifier: Apache-2.0 */
/* Print formats: from their text to what is carried out. Nesting was bounded by trace_print_is_tame. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "attrib/print_format.h"

#define DEEPEST 200
#define WIDEST 999	/* columns, and characters of a precision */
#define MOST_EXPRS 8192 /* of a format: the longest of a kernel have a tenth of that */
#define MOST_LOOKUPS 512

struct parser {
	const struct trace_event *e;
	struct arena *arena;
	const char *p, *end;
	struct bytes text; /* scratch */
	u32 depth, exprs, lookups;
	bool bad;
};

static void skip_blanks(struct parser *s)
{
	while (s->p < s->end && (isspace((u8)*s->p) || *s->p == '\\'))
		s->p++;
}

static bool takes(struct parser *s, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

static void expect(struct parser *s, const char *word)
{
	s->bad |= !takes(s, word);
}

static char peek(struct parser *s)
{
	skip_blanks(s);
	return s->p < s->end ? *s->p : 0;
}

static bool is_word(char c)
{
	return isalnum((u8)c) || c == '_';
}

static struct str take_word(struct parser *s)
{
	struct str w;

	skip_blanks(s);
	w = (struct str){ s->p, 0 };
	while (s->p < s->end && is_word(*s->p))
		s->p++;
	w.len = (u32)(s->p - w.p);
	return w;
}

static struct expr *new_expr(struct parser *s, enum expr_kind kind)
{
	struct expr *x = arena_new(s->arena, struct expr);

	*x = (struct expr){ .kind = kind };
	s->bad |= s->exprs++ > MOST_EXPRS;
	return x;
}

static bool is(struct str w, const char *name)
{
	return w.len == strlen(name) && !memcmp(w.p, name, w.len);
}

static const struct trace_field *find_field(struct parser *s, struct str name)
{
	s->lookups++;
	for (size_t i = 0; i < s->e->fields.n && s->lookups < MOST_LOOKUPS; i++) {
		const struct trace_field *f = &s->e->fields.v[i];

		if (f->name.len == name.len && !memcmp(f->name.p, name.p, name.len))
			return f;
	}
	s->bad = true;
	return NULL;
}

static char escaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

static struct str keep_text(struct parser *s)
{
	return (struct str){ arena_strndup(s->arena, s->text.len ? (char *)s->text.p : "", s->text.len),
			     (u32)s->text.len };
}

/* One or more strings that stand together, without quotes. */
static struct str take_string(struct parser *s)
{
	s->text.len = 0;
	expect(s, "\"");
	while (!s->bad) {
		for (; s->p < s->end && *s->p != '"'; s->p++) {
			if (*s->p == '\\' && s->p + 1 < s->end)
				bytes_char(&s->text, escaped(*++s->p));
			else
				bytes_char(&s->text, *s->p);
		}
		expect(s, "\"");
		if (peek(s) != '"')
			break;
		s->p++;
	}
	return keep_text(s);
}

static struct expr *parse_expr(struct parser *s, u32 least);

/* What libtraceevent knows of names that the kernel left in formats. */
static bool known_name(struct str name, s64 *value)
{
	static const struct {
		const char *name;
		s64 value;
	} known[] = { { "HI_SOFTIRQ", 0 },	{ "TIMER_SOFTIRQ", 1 },	    { "NET_TX_SOFTIRQ", 2 },
		      { "NET_RX_SOFTIRQ", 3 },	{ "BLOCK_SOFTIRQ", 4 },	    { "IRQ_POLL_SOFTIRQ", 5 },
		      { "TASKLET_SOFTIRQ", 6 }, { "SCHED_SOFTIRQ", 7 },	    { "HRTIMER_SOFTIRQ", 8 },
		      { "RCU_SOFTIRQ", 9 },	{ "HRTIMER_NORESTART", 0 }, { "HRTIMER_RESTART", 1 } };

	for (u32 i = 0; i < ARRAY_LEN(known); i++)
		if (is(name, known[i].name)) {
			*value = known[i].value;
			return true;
		}
	return false;
}

/* A number that stands there; one below 0 or a name that nobody knows is -1. */
static s64 constant(const struct expr *x)
{
	static const struct print_record none = { .size = 0 };
	s64 v;

	if (x->kind == EXPR_TEXT)
		return known_name(x->text, &v) ? v : -1;
	v = (s64)print_format_eval(x, &none);
	return v < 0 ? -1 : v;
}

/* { value, "name" }, ...; some end with one that has no name: { -1, NULL }. */
static struct named_value *parse_names(struct parser *s)
{
	struct named_value *first = NULL, **last = &first;

	while (!s->bad && takes(s, ",")) {
		struct named_value *v = arena_new(s->arena, struct named_value);
		struct expr *value;

		if (peek(s) == ')')
			break; /* a comma behind the last one */
		expect(s, "{");
		value = parse_expr(s, 0);
		expect(s, ",");
		if (s->bad)
			break;
		*v = (struct named_value){ .value = constant(value) };
		if (peek(s) == '"') {
			v->name = take_string(s);
			*last = v;
			last = &v->next;
		} else {
			(void)parse_expr(s, 0);
		}
		expect(s, "}");
	}
	return first;
}

static struct expr *parse_call(struct parser *s, struct str name)
{
	static const struct {
		const char *name;
		enum expr_kind kind;
	} calls[] = {
		{ "__print_flags", EXPR_FLAGS },   { "__print_symbolic", EXPR_SYMBOL },
		{ "__get_str", EXPR_STRING },	   { "__get_rel_str", EXPR_STRING },
		{ "__get_bitmask", EXPR_BITMASK }, { "__get_cpumask", EXPR_CPUMASK },
	};
	struct expr *x = new_expr(s, EXPR_TEXT);
	u32 i = 0;

	while (i < ARRAY_LEN(calls) && !is(name, calls[i].name))
		i++;
	if (i == ARRAY_LEN(calls)) {
		s->bad = true;
		return x;
	}
	x->kind = calls[i].kind;
	if (x->kind == EXPR_FLAGS || x->kind == EXPR_SYMBOL) {
		x->a = parse_expr(s, 0);
		if (x->kind == EXPR_FLAGS) {
			expect(s, ",");
			if (!s->bad)
				x->text = take_string(s);
		}
		x->names = parse_names(s);
	} else {
		x->field = find_field(s, take_word(s));
		s->bad |= x->field && x->field->kind != TRACE_DATA_LOC && x->field->kind != TRACE_REL_LOC;
	}
	expect(s, ")");
	return x;
}

static struct expr *parse_number(struct parser *s, struct str word)
{
	struct expr *x = new_expr(s, EXPR_NUMBER);
	char text[32], *end;

	if (word.len >= sizeof(text)) {
		s->bad = true;
		return x;
	}
	memcpy(text, word.p, word.len);
	text[word.len] = 0;
	x->value = strtoull(text, &end, 0);
	s->bad |= strspn(end, "uUlL") != strlen(end);
	return x;
}

/* Of an array: of each of its elements; how many there are stands behind its name, in the format. */
static u32 element_size(const struct trace_event *e, const struct trace_field *f)
{
	const char *p = f->name.p + f->name.len, *end = e->format.p + e->format.len;
	u32 n = 0;

	while (p < end && (*p == ' ' || *p == '['))
		p++;
	for (; p < end && isdigit((u8)*p) && n <= TRACEFMT_DATA_MAX; p++)
		n = n * 10 + (u32)(*p - '0');
	return n && n <= f->size ? f->size / n : f->size;
}

/* REC->field, or an element of it. */
static struct expr *parse_field(struct parser *s)
{
	struct expr *x = new_expr(s, EXPR_FIELD);
	u64 index;

	expect(s, "->");
	x->field = find_field(s, take_word(s));
	if (s->bad || !takes(s, "["))
		return x;
	index = parse_number(s, take_word(s))->value;
	expect(s, "]");
	s->bad |= x->field->kind != TRACE_ARRAY || index > TRACE_INDEX_MAX;
	x->kind = EXPR_ELEMENT;
	x->size = element_size(s->e, x->field);
	x->value = x->field->offset + index * x->size;
	return x;
}

/* Behind a '(': the words of a type, up to its ')'. False: it is none, and nothing is taken. */
static bool takes_type(struct parser *s, u64 *bits)
{
	static const struct {
		const char *name;
		u64 bits;
	} sizes[] = { { "u8", 8 },     { "s8", 8 },   { "char", 8 }, { "u16", 16 }, { "s16", 16 },
		      { "short", 16 }, { "u32", 32 }, { "s32", 32 }, { "int", 32 } };
	const char *begin = s->p;
	struct str word = { "", 0 }, last = word;
	u32 words = 0;

	while ((word = take_word(s)).len && !isdigit((u8)*word.p)) {
		if (is(word, "REC") || (word.len > 2 && !memcmp(word.p, "__p", 3)) ||
		    (word.len > 2 && !memcmp(word.p, "__g", 3)))
			break;
		last = word;
		words++;
	}
	*bits = 0;
	for (u32 i = 0; i < ARRAY_LEN(sizes); i++)
		if (is(last, sizes[i].name))
			*bits = sizes[i].bits;
	if (words && !word.len) {
		while (takes(s, "*"))
			*bits = 0;
		if (takes(s, ")") && (is_word(peek(s)) || strchr("(!~-\"'", peek(s))) && peek(s))
			return true;
	}
	s->p = begin;
	return false;
}

/* Of what stands below it. Trees are walked by recursion. */
static struct expr *deeper(struct parser *s, struct expr *x)
{
	x->depth = 1 + MAX(x->a ? x->a->depth : 0, MAX(x->b ? x->b->depth : 0, x->c ? x->c->depth : 0));
	s->bad |= x->depth > DEEPEST;
	return x;
}

static struct expr *parse_unary(struct parser *s);

static struct expr *parse_brackets(struct parser *s)
{
	const char *begin = s->p;
	struct expr *x;
	u64 bits;

	if (takes_type(s, &bits)) {
		x = new_expr(s, EXPR_CAST);
		x->value = bits;
		x->a = parse_unary(s);
		return deeper(s, x);
	}
	if (takes(s, "REC") && takes(s, ")"))
		return parse_field(s);
	s->p = begin;
	x = parse_expr(s, 0);
	expect(s, ")");
	return x;
}

/* 'c' */
static struct expr *parse_character(struct parser *s)
{
	struct expr *x = new_expr(s, EXPR_NUMBER);

	expect(s, "'");
	if (s->end - s->p > 1 && *s->p == '\\')
		x->value = (u8)escaped(*++s->p);
	else if (s->p < s->end)
		x->value = (u8)*s->p;
	s->p += s->p < s->end;
	expect(s, "'");
	return x;
}

static struct expr *parse_primary(struct parser *s)
{
	struct expr *x = new_expr(s, EXPR_TEXT);
	struct str word;

	if (peek(s) == '"') {
		x->text = take_string(s);
		return x;
	}
	if (peek(s) == '\'')
		return parse_character(s);
	word = take_word(s);
	if (!word.len)
		s->bad = true;
	else if (isdigit((u8)*word.p))
		return parse_number(s, word);
	else if (is(word, "REC"))
		return parse_field(s);
	else if (takes(s, "("))
		return deeper(s, parse_call(s, word));
	x->text = word;
	return x;
}

static struct expr *parse_operator(struct parser *s, enum expr_kind kind)
{
	struct expr *x = new_expr(s, kind);

	if (kind == EXPR_BINARY) {
		x->op = '-';
		x->a = new_expr(s, EXPR_NUMBER);
		x->b = parse_unary(s);
	} else {
		x->a = parse_unary(s);
	}
	return deeper(s, x);
}

static struct expr *parse_unary(struct parser *s)
{
	struct expr *x;

	s->bad |= s->depth >= DEEPEST;
	if (s->bad)
		return new_expr(s, EXPR_NUMBER);
	s->depth++;
	if (takes(s, "("))
		x = parse_brackets(s);
	else if (takes(s, "!"))
		x = parse_operator(s, EXPR_NOT);
	else if (takes(s, "~"))
		x = parse_operator(s, EXPR_INVERT);
	else if (takes(s, "-"))
		x = parse_operator(s, EXPR_BINARY);
	else
		x = parse_primary(s);
	s->depth--;
	return x;
}

struct binary {
	const char *text;
	u32 rank;
	char op;
};

/* Longer ones first. */
static const struct binary binaries[] = {
	{ "||", 1, OP_OR_ELSE },
	{ "&&", 2, OP_AND_THEN },
	{ "==", 6, OP_EQUAL },
	{ "!=", 6, OP_UNEQUAL },
	{ "<=", 7, OP_LESS_EQUAL },
	{ ">=", 7, OP_MORE_EQUAL },
	{ "<<", 8, OP_LEFT },
	{ ">>", 8, OP_RIGHT },
	{ "|", 3, '|' },
	{ "^", 4, '^' },
	{ "&", 5, '&' },
	{ "<", 7, '<' },
	{ ">", 7, '>' },
	{ "+", 9, '+' },
	{ "-", 9, '-' },
	{ "*", 10, '*' },
	{ "/", 10, '/' },
	{ "%", 10, '%' },
};

static const struct binary *peek_binary(struct parser *s)
{
	skip_blanks(s);
	for (u32 i = 0; i < ARRAY_LEN(binaries); i++) {
		size_t n = strlen(binaries[i].text);

		if ((size_t)(s->end - s->p) >= n && !memcmp(s->p, binaries[i].text, n))
			return &binaries[i];
	}
	return NULL;
}

/* Binary operators of a rank above `least`, and at 0 the choice. */
static struct expr *parse_expr(struct parser *s, u32 least)
{
	struct expr *left = parse_unary(s), *x;
	const struct binary *b;

	while (!s->bad && (b = peek_binary(s)) && b->rank > least) {
		s->p += strlen(b->text);
		x = new_expr(s, EXPR_BINARY);
		x->op = b->op;
		x->a = left;
		x->b = parse_expr(s, b->rank);
		left = deeper(s, x);
	}
	if (least || s->bad || !takes(s, "?"))
		return left;
	x = new_expr(s, EXPR_CHOICE);
	x->a = left;
	x->b = parse_expr(s, 0);
	expect(s, ":");
	x->c = parse_expr(s, 0);
	return deeper(s, x);
}

/* --- the string --- */

static s32 take_digits(const char **p)
{
	s32 v = -1;

	for (; isdigit((u8) * *p) && v <= WIDEST; ++*p)
		v = MAX(v, 0) * 10 + (**p - '0');
	return v;
}

/* Behind the '%'. False: it is not known. *star: its precision is an argument. */
static bool parse_conversion(const char **at, struct conversion *c, bool *star)
{
	static const char *const pointers[] = { "I4", "i4", "I6c", "I6", "i6", "ISpc", "U",
						"M",  "m",  "S",   "s",	 "F",  "f" };
	const char *p = *at;
	u32 n = 0;

	c->bits = 32;
	for (; *p && strchr("-+ #0", *p); p++)
		if (n < sizeof(c->flags) - 1 && !strchr(c->flags, *p))
			c->flags[n++] = *p;
	c->width = take_digits(&p);
	if (*p == '.') {
		p++;
		*star = *p == '*';
		p += *star;
		c->precision = *star ? -1 : take_digits(&p);
		if (!*star && c->precision < 0)
			c->precision = 0; /* "%.d" */
	}
	for (u32 i = 0; i < 2 && *p && strchr("hlLzqjt", *p); i++, p++)
		c->bits = *p == 'h' ? c->bits / 2 : 64;
	c->kind = *p == 'i' ? 'd' : *p;
	if (!*p || !strchr("duxXocsp", c->kind) || c->width > WIDEST || c->precision > WIDEST)
		return false;
	p++;
	for (u32 i = 0; c->kind == 'p' && i < ARRAY_LEN(pointers) && !c->pointer[0]; i++)
		if (!strncmp(p, pointers[i], strlen(pointers[i])))
			memcpy(c->pointer, pointers[i], strlen(pointers[i]) + 1);
	if (c->kind == 'p' && !c->pointer[0] && isalnum((u8)*p))
		return false;
	*at = p + strlen(c->pointer);
	return true;
}

static struct expr *next_argument(struct expr **args)
{
	struct expr *x = *args;

	*args = x ? x->next : NULL;
	return x;
}

/* Text as it stands, with "%%" made plain, up to a conversion or the end. */
static struct str take_plain(struct parser *s, const char **at)
{
	const char *p = *at;

	for (s->text.len = 0; *p && (*p != '%' || p[1] == '%'); p++) {
		p += *p == '%';
		bytes_char(&s->text, *p);
	}
	*at = p;
	return keep_text(s);
}

static struct conversion *parse_parts(struct parser *s, const char *text, struct expr *args)
{
	struct conversion *first = NULL, **last = &first;

	while (*text && !s->bad) {
		struct conversion *c = arena_new(s->arena, struct conversion);
		bool star = false;

		*c = (struct conversion){ .width = -1, .precision = -1 };
		c->text = take_plain(s, &text);
		*last = c;
		last = &c->next;
		if (!*text)
			break;
		text++;
		s->bad |= !parse_conversion(&text, c, &star);
		if (star)
			s->bad |= !(c->precision_arg = next_argument(&args));
		s->bad |= !(c->arg = next_argument(&args));
	}
	return first;
}

struct print_format *print_format_parse(const struct trace_event *e, struct arena *arena)
{
	struct parser s = { .e = e, .arena = arena, .p = e->print.p };
	struct print_format *f = arena_new(arena, struct print_format);
	struct expr *first = NULL, **last = &first;
	struct str text;

	if (!e->print_is_tame || !e->print.len)
		return NULL;
	s.end = s.p + e->print.len;
	text = take_string(&s);
	while (!s.bad && takes(&s, ",")) {
		*last = parse_expr(&s, 0);
		last = &(*last)->next;
	}
	f->parts = s.bad ? NULL : parse_parts(&s, text.p, first);
	bytes_free(&s.text);
	return s.bad || peek(&s) ? NULL : f;
}
