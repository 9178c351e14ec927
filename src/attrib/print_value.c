/* SPDX-License-Identifier: Apache-2.0 */
/* Print formats: carried out on a record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "attrib/print_format.h"

u64 record_number(const struct print_record *r, u64 at, u32 size)
{
	u64 v = 0;

	if ((size != 1 && size != 2 && size != 4 && size != 8) || at > r->size || size > r->size - at)
		return 0;
	for (u32 i = 0; i < size; i++)
		v |= (u64)r->raw[at + i] << 8 * (r->formats->big_endian ? size - 1 - i : i);
	return v;
}

static u64 keep_bits(u64 v, u64 bits)
{
	return bits && bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static u64 calculate(char op, u64 a, u64 b)
{
	switch (op) {
	case OP_OR_ELSE:
		return a || b;
	case OP_AND_THEN:
		return a && b;
	case OP_EQUAL:
		return a == b;
	case OP_UNEQUAL:
		return a != b;
	case OP_LESS_EQUAL:
		return a <= b;
	case OP_MORE_EQUAL:
		return a >= b;
	case OP_LEFT:
		return a << (b & 63);
	case OP_RIGHT:
		return a >> (b & 63);
	case '<':
		return a < b;
	case '>':
		return a > b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '&':
		return a & b;
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return b ? a / b : 0;
	case '%':
		return b ? a % b : 0;
	}
	return 0;
}

u64 print_format_eval(const struct expr *x, const struct print_record *r)
{
	switch (x->kind) {
	case EXPR_NUMBER:
		return x->value;
	case EXPR_FIELD:
		return record_number(r, x->field->offset, x->field->size);
	case EXPR_ELEMENT:
		return record_number(r, x->value, x->size);
	case EXPR_CAST:
		return keep_bits(print_format_eval(x->a, r), x->value);
	case EXPR_NOT:
		return !print_format_eval(x->a, r);
	case EXPR_INVERT:
		return ~print_format_eval(x->a, r);
	case EXPR_BINARY:
		return calculate(x->op, print_format_eval(x->a, r), print_format_eval(x->b, r));
	case EXPR_CHOICE:
		return print_format_eval(print_format_eval(x->a, r) ? x->b : x->c, r);
	default:
		return 0;
	}
}

/* --- text --- */

/* n: at most so many bytes; a NUL ends it before. */
static void put_text(const struct conversion *c, const char *s, size_t n, struct bytes *out)
{
	size_t len = strnlen(s, c->precision >= 0 ? MIN(n, (size_t)c->precision) : n);
	size_t pad = c->width > 0 && (size_t)c->width > len ? (size_t)c->width - len : 0;
	bool left = strchr(c->flags, '-') != NULL;

	for (size_t i = 0; !left && i < pad; i++)
		bytes_char(out, ' ');
	bytes_put(out, s, len);
	for (size_t i = 0; left && i < pad; i++)
		bytes_char(out, ' ');
}

static void put_names(const struct expr *x, const struct conversion *c, const struct print_record *r,
		      struct bytes *out)
{
	u64 v = print_format_eval(x->a, r);
	bool any = false, flags = x->kind == EXPR_FLAGS;
	size_t start = out->len;

	for (const struct named_value *n = x->names; n && out->len - start < PRINTED_MOST; n = n->next) {
		if (flags ? !v && n->value < 0 : (s64)v == n->value) {
			put_text(c, n->name.p, n->name.len, out);
			return;
		}
		if (!flags || n->value <= 0 || (v & (u64)n->value) != (u64)n->value)
			continue;
		if (any)
			bytes_put(out, x->text.p, x->text.len);
		put_text(c, n->name.p, n->name.len, out);
		any = true;
		v &= ~(u64)n->value;
	}
	if (!v && flags)
		return;
	if (any)
		bytes_put(out, x->text.p, x->text.len);
	bytes_str(out, "0x");
	bytes_hex(out, v);
}

/* Where a dynamic field's bytes are; false: not in the record. */
static bool dynamic(const struct trace_field *f, const struct print_record *r, u32 *at, u32 *len)
{
	u64 loc = record_number(r, f->offset, f->size);

	*at = (u32)(loc & 0xffff) + (f->kind == TRACE_REL_LOC ? f->offset + f->size : 0);
	*len = (u32)(loc >> 16 & 0xffff);
	return *len && *at <= r->size && *len <= r->size - *at;
}

static u8 mask_byte(const struct print_record *r, u32 at, u32 len, u32 i)
{
	return r->raw[at + (r->formats->big_endian ? len - 1 - i : i)];
}

static void put_bitmask(const struct print_record *r, u32 at, u32 len, struct bytes *out)
{
	for (u32 i = len; i-- > 0;)
		bytes_printf(out, "%02x%s", mask_byte(r, at, len, i), i && i % 4 == 0 ? "," : "");
}

static void put_cpumask(const struct print_record *r, u32 at, u32 len, struct bytes *out)
{
	const char *comma = "";

	for (u32 i = 0, first; i < len * 8; i++) {
		if (!(mask_byte(r, at, len, i / 8) >> i % 8 & 1))
			continue;
		for (first = i; i + 1 < len * 8 && mask_byte(r, at, len, (i + 1) / 8) >> (i + 1) % 8 & 1; i++)
			;
		bytes_printf(out, "%s%u", comma, first);
		if (i > first)
			bytes_printf(out, "-%u", i);
		comma = ",";
	}
}

static void put_field_text(const struct expr *x, const struct conversion *c, const struct print_record *r,
			   struct bytes *out)
{
	const struct trace_field *f = x->field;
	struct str known;
	u64 addr;

	if (f->kind == TRACE_NUMBER && f->size == r->formats->long_size) {
		addr = record_number(r, f->offset, f->size);
		if (r->string(r->ctx, addr, &known))
			put_text(c, known.p, MIN(known.len, PRINTED_MOST), out);
		else
			bytes_hex(out, addr);
		return;
	}
	if (f->offset <= r->size)
		put_text(c, (const char *)r->raw + f->offset,
			 f->size ? MIN(f->size, r->size - f->offset) : r->size - f->offset, out);
}

static void put_string(const struct expr *x, const struct conversion *c, const struct print_record *r,
		       struct bytes *out)
{
	u32 at, len;

	switch (x->kind) {
	case EXPR_TEXT:
		put_text(c, x->text.p, x->text.len, out);
		break;
	case EXPR_FIELD:
		put_field_text(x, c, r, out);
		break;
	case EXPR_FLAGS:
	case EXPR_SYMBOL:
		put_names(x, c, r, out);
		break;
	case EXPR_CHOICE:
		put_string(print_format_eval(x->a, r) ? x->b : x->c, c, r, out);
		break;
	case EXPR_STRING:
		if (dynamic(x->field, r, &at, &len))
			put_text(c, (const char *)r->raw + at, len, out);
		break;
	case EXPR_BITMASK:
	case EXPR_CPUMASK:
		if (dynamic(x->field, r, &at, &len))
			(x->kind == EXPR_BITMASK ? put_bitmask : put_cpumask)(r, at, len, out);
		break;
	default:
		break;
	}
}

/* --- numbers --- */

static void put_number(const struct conversion *c, const struct print_record *r, struct bytes *out)
{
	u64 v = keep_bits(print_format_eval(c->arg, r), c->bits);
	char format[24], precision[8] = "", width[8] = "";

	if (c->kind == 'd' && c->bits < 64 && v >> (c->bits - 1))
		v |= ~0ull << c->bits;
	if (c->kind == 'c') {
		bytes_char(out, (char)v);
		return;
	}
	if (c->width >= 0)
		snprintf(width, sizeof(width), "%d", (int)MIN(c->width, 999));
	if (c->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", (int)MIN(c->precision, 999));
	snprintf(format, sizeof(format), "%%%s%s%sll%c", c->flags, width, precision, c->kind);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	bytes_printf(out, format, (unsigned long long)v);
#pragma GCC diagnostic pop
}

static void put_function(const struct conversion *c, const struct print_record *r, struct bytes *out)
{
	u64 v = print_format_eval(c->arg, r), start = v;
	const char *name = r->symbol(r->ctx, v, &start);

	if (!name) {
		bytes_str(out, "0x");
		bytes_hex(out, v);
		return;
	}
	bytes_str(out, name);
	if (c->pointer[0] == 'F' || c->pointer[0] == 'S')
		bytes_printf(out, "+0x%llx", (unsigned long long)(v - start));
}

/* The bytes of an address in a field that holds it; NULL: it does not. */
static const u8 *address_bytes(const struct conversion *c, const struct print_record *r, u32 n)
{
	const struct expr *x = c->arg;
	u32 at, len;

	while (x->kind == EXPR_CAST)
		x = x->a;
	if (x->kind != EXPR_FIELD)
		return NULL;
	at = x->field->offset;
	len = x->field->size;
	if (x->field->kind > TRACE_ARRAY && !dynamic(x->field, r, &at, &len))
		return NULL;
	return len >= n && at <= r->size && n <= r->size - at ? r->raw + at : NULL;
}

/* As RFC 5952 has it: the longest row of zeros is "::". */
static void put_ip6_short(const u8 *p, struct bytes *out)
{
	u32 best = 0, best_at = 8;

	for (u32 i = 0, n; i < 8; i += n + 1) {
		for (n = 0; i + n < 8 && !p[2 * (i + n)] && !p[2 * (i + n) + 1]; n++)
			;
		if (n > best && n > 1)
			best = n, best_at = i;
	}
	for (u32 i = 0; i < 8; i++) {
		if (i == best_at) {
			bytes_str(out, "::");
			i += best - 1;
			continue;
		}
		if (i && i != best_at + best)
			bytes_char(out, ':');
		bytes_hex(out, (u64)(p[2 * i] << 8 | p[2 * i + 1]));
	}
}

static void put_ip4(const u8 *p, const char *each, struct bytes *out)
{
	for (u32 i = 0; i < 4; i++) {
		bytes_str(out, i ? "." : "");
		bytes_printf(out, *each == 'i' ? "%03u" : "%u", p[i]);
	}
}

/* A struct sockaddr: family, port, and the address behind it, or 4 bytes further on. */
static void put_socket(const struct conversion *c, const struct print_record *r, struct bytes *out)
{
	const u8 *p = address_bytes(c, r, 8);
	u32 family = p ? (u32)record_number(r, (u64)(p - r->raw), 2) : 0, port = p ? (u32)p[2] << 8 | p[3] : 0;

	if (family == AF_INET) {
		put_ip4(p + 4, "I", out);
		bytes_printf(out, ":%u", port);
	} else if (family == AF_INET6 && (p = address_bytes(c, r, 24))) {
		bytes_char(out, '[');
		put_ip6_short(p + 8, out);
		bytes_printf(out, "]:%u", port);
	}
}

static void put_address(const struct conversion *c, const struct print_record *r, struct bytes *out)
{
	char kind = c->pointer[0], of = c->pointer[1];
	bool mac = kind == 'M' || kind == 'm', id = kind == 'U';
	const u8 *p = address_bytes(c, r, mac ? 6 : of == '4' ? 4 : 16);

	if (!p)
		return;
	if (id)
		for (u32 i = 0; i < 16; i++)
			bytes_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i]);
	else if (mac)
		for (u32 i = 0; i < 6; i++)
			bytes_printf(out, "%s%02x", i && kind == 'M' ? ":" : "", p[i]);
	else if (of == '4')
		put_ip4(p, c->pointer, out);
	else if (c->pointer[2] == 'c')
		put_ip6_short(p, out);
	else
		for (u32 i = 0; i < 16; i += 2)
			bytes_printf(out, "%s%02x%02x", i && kind == 'I' ? ":" : "", p[i], p[i + 1]);
}

static void put_pointer(const struct conversion *c, const struct print_record *r, struct bytes *out)
{
	if (!c->pointer[0]) {
		bytes_str(out, "0x");
		bytes_hex(out, print_format_eval(c->arg, r));
	} else if (strchr("SsFf", c->pointer[0])) {
		put_function(c, r, out);
	} else if (c->pointer[1] == 'S') {
		put_socket(c, r, out);
	} else {
		put_address(c, r, out);
	}
}

static void put_conversion(const struct conversion *c, const struct print_record *r, struct bytes *out)
{
	struct conversion now;

	if (c->precision_arg) {
		now = *c;
		now.precision = (s32)print_format_eval(c->precision_arg, r);
		c = &now;
	}
	if (c->kind == 's')
		put_string(c->arg, c, r, out);
	else if (c->kind == 'p')
		put_pointer(c, r, out);
	else if (c->kind)
		put_number(c, r, out);
}

void print_format_put(const struct print_format *f, const struct print_record *r, struct bytes *out)
{
	size_t start = out->len;

	for (const struct conversion *c = f->parts; c && out->len - start < PRINTED_MOST; c = c->next) {
		bytes_put(out, c->text.p, c->text.len);
		put_conversion(c, r, out);
	}
}
