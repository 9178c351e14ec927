/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Print formats of tracepoints, carried out.
 *
 * A print format is C: a string with conversions, and expressions for them. It comes out of the recording, so it is
 * parsed into a tree that can do no more than codec/trace_print.c lets through: read numbers and texts that lie in the
 * record, calculate, choose, name flags. Widths and precisions are bounded there; whatever a format reads is checked
 * against the record, and is 0 or nothing where that ends. The output is that of libtraceevent, as perf prints it.
 */
#ifndef ATTRIB_PRINT_FORMAT_H
#define ATTRIB_PRINT_FORMAT_H

#include "base/arena.h"
#include "base/bytes.h"
#include "codec/tracefmt.h"

enum expr_kind {
	EXPR_NUMBER,  /* value */
	EXPR_TEXT,    /* text: a string, or a name that stands for nothing here */
	EXPR_FIELD,   /* field */
	EXPR_ELEMENT, /* size bytes at value of the record */
	EXPR_CAST,    /* a; value: the bits that are kept; 0: all */
	EXPR_NOT,     /* ! a */
	EXPR_INVERT,  /* ~ a */
	EXPR_BINARY,  /* a, b; op */
	EXPR_CHOICE,  /* a ? b : c */
	EXPR_FLAGS,   /* a, names; text: what stands between them */
	EXPR_SYMBOL,  /* a, names */
	EXPR_STRING,  /* field: a dynamic text */
	EXPR_BITMASK, /* field: bits, as hexadecimal numbers */
	EXPR_CPUMASK, /* field: bits, as a list */
};

enum {
	OP_OR_ELSE = 'o',
	OP_AND_THEN = 'a',
	OP_EQUAL = '=',
	OP_UNEQUAL = '!',
	OP_LESS_EQUAL = 'l',
	OP_MORE_EQUAL = 'm',
	OP_LEFT = 'L',
	OP_RIGHT = 'R'
};

struct named_value {
	s64 value;
	struct str name;
	struct named_value *next;
};

struct expr {
	enum expr_kind kind;
	char op;
	u32 depth; /* of the tree below it */
	u32 size;
	u64 value;
	struct str text;
	const struct trace_field *field;
	struct expr *a, *b, *c;
	struct named_value *names;
	struct expr *next; /* of the arguments */
};

/* A part of the string: text as it stands, then a conversion of an argument. */
struct conversion {
	struct str text;
	char kind;	      /* d u x X o c s p; 0: none follows */
	char pointer[5];      /* what stands behind %p: "I4"; empty: nothing */
	char flags[6];	      /* of printf */
	s32 width, precision; /* -1: none */
	u32 bits;	      /* of a number */
	struct expr *arg, *precision_arg;
	struct conversion *next;
};

struct print_format {
	struct conversion *parts;
};

/* NULL: it is none of those that we know. Fields and text of e are referred to. */
struct print_format *print_format_parse(const struct trace_event *e, struct arena *arena);

struct print_record {
	const struct tracefmt *formats;
	const u8 *raw;
	u32 size;
	/* Names the kernel function at addr: its name and start; NULL: none. */
	const char *(*symbol)(void *ctx, u64 addr, u64 *start);
	/* A string of the kernel that the recording has. False: it has none there. */
	bool (*string)(void *ctx, u64 addr, struct str *out);
	void *ctx;
};

/* At most PRINTED_MOST bytes, and one argument more. */
#define PRINTED_MOST (64u << 10)
void print_format_put(const struct print_format *f, const struct print_record *r, struct bytes *out);

/* Shared: a number of the record; 0 where it does not lie in it. Only of 1, 2, 4 and 8 bytes. */
u64 record_number(const struct print_record *r, u64 at, u32 size);
/* Its value; names are what libtraceevent takes them for. */
u64 print_format_eval(const struct expr *x, const struct print_record *r);

#endif
