/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/tracefmt.h"

#include <ctype.h>
#include <string.h>

#define FORMAT_MAX (1u << 20) /* bytes of one format file */

/* --- format files --- */

static bool starts_with(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && !memcmp(s.p, prefix, n);
}

static struct str trim(struct str s)
{
	while (s.len && isspace((u8)s.p[0]))
		s.p++, s.len--;
	while (s.len && isspace((u8)s.p[s.len - 1]))
		s.len--;
	return s;
}

/* Takes the text up to the first `end` off *s; all of it when there is none. */
static struct str take_until(struct str *s, char end)
{
	const char *at = s->len ? memchr(s->p, end, s->len) : NULL;
	struct str out = { s->p, at ? (u32)(at - s->p) : s->len };
	u32 used = out.len + (at ? 1 : 0);

	s->p += used;
	s->len -= used;
	return out;
}

static bool parse_number(struct str s, u32 *out)
{
	u64 v = 0;

	s = trim(s);
	if (!s.len)
		return false;
	for (u32 i = 0; i < s.len; i++) {
		if (!isdigit((u8)s.p[i]))
			return false;
		v = v * 10 + (u64)(s.p[i] - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*out = (u32)v;
	return true;
}

/* "unsigned long long args[6]", "__data_loc char[] name": what is it called, and what is it? */
static void parse_declaration(struct str d, struct trace_field *f)
{
	struct str base = d;
	u32 name;

	if (starts_with(d, "__data_loc"))
		f->kind = TRACE_DATA_LOC;
	else if (starts_with(d, "__rel_loc"))
		f->kind = TRACE_REL_LOC;
	else if (d.len && d.p[d.len - 1] == ']')
		f->kind = TRACE_ARRAY;
	if (f->kind == TRACE_ARRAY)
		base = trim(take_until(&d, '['));
	for (name = base.len; name && (isalnum((u8)base.p[name - 1]) || base.p[name - 1] == '_'); name--)
		;
	f->name = (struct str){ base.p + name, base.len - name };
	f->type = trim((struct str){ base.p, name });
	f->text = f->kind != TRACE_NUMBER && memmem(f->type.p, f->type.len, "char", 4) &&
		  !memmem(f->type.p, f->type.len, "unsigned char", 13);
}

/* "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;" */
static bool parse_field(struct str line, struct trace_field *f)
{
	bool has_offset = false, has_size = false;
	u32 is_signed = 0;

	while (line.len) {
		struct str part = trim(take_until(&line, ';')), value = part, key = take_until(&value, ':');

		if (starts_with(key, "field"))
			parse_declaration(trim(value), f);
		else if (starts_with(key, "offset"))
			has_offset = parse_number(value, &f->offset);
		else if (starts_with(key, "size"))
			has_size = parse_number(value, &f->size);
		else if (starts_with(key, "signed"))
			parse_number(value, &is_signed);
	}
	f->is_signed = is_signed != 0;
	f->common = starts_with(f->name, "common_");
	return has_offset && has_size && f->name.len && f->offset <= TRACEFMT_DATA_MAX &&
	       f->size <= TRACEFMT_DATA_MAX - f->offset;
}

int trace_event_decode(struct str system, struct str format, struct trace_event *out)
{
	struct str rest = format;
	bool has_id = false;

	*out = (struct trace_event){ .system = system, .format = format };
	while (rest.len) {
		struct str line = take_until(&rest, '\n'), value = trim(line), key;

		if (starts_with(value, "print fmt:")) {
			/* It may go on over the lines that follow. */
			out->print = trim((struct str){ value.p + 10, (u32)(format.p + format.len - value.p - 10) });
			break;
		}
		if (starts_with(value, "field")) {
			struct trace_field f = { 0 };

			if (!parse_field(value, &f)) {
				vec_free(&out->fields);
				return ERR_FORMAT;
			}
			vec_push(&out->fields, f);
			continue;
		}
		key = take_until(&value, ':');
		if (starts_with(key, "name"))
			out->name = trim(value);
		else if (starts_with(key, "ID"))
			has_id = parse_number(value, &out->id);
	}
	if (!has_id || !out->name.len) {
		vec_free(&out->fields);
		return ERR_FORMAT;
	}
	out->print_is_tame = trace_print_is_tame(out->print);
	return 0;
}

/* --- the feature --- */

/* A NUL-terminated word. */
static struct str take_word(struct cursor *c)
{
	const u8 *end = cursor_left(c) ? memchr(c->p, 0, cursor_left(c)) : NULL;
	struct str s;

	if (!end) {
		c->bad = true;
		return (struct str){ "", 0 };
	}
	s = cursor_text(c, (u64)(end - c->p) + 1);
	return s;
}

static struct str take_text(struct cursor *c, u64 size)
{
	const u8 *p = cursor_bytes(c, size);

	return p && size <= UINT32_MAX ? (struct str){ (const char *)p, (u32)size } : (struct str){ "", 0 };
}

static bool expect_word(struct cursor *c, const char *word)
{
	struct str s = take_word(c);

	if (s.len != strlen(word) || memcmp(s.p, word, s.len))
		c->bad = true;
	return !c->bad;
}

static void take_event(struct cursor *c, struct str system, struct tracefmt *out)
{
	u64 size = cursor_u64(c);
	struct str text = take_text(c, size);
	struct trace_event e;

	if (c->bad)
		return;
	if (size > FORMAT_MAX || trace_event_decode(system, text, &e))
		out->refused++;
	else
		vec_push(&out->events, e);
}

/* Counts need no check against what is left: a count that lies runs into the end of the input. */
static void take_events(struct cursor *c, struct tracefmt *out)
{
	u32 ftrace = cursor_u32(c), systems;

	for (u32 i = 0; i < ftrace && !c->bad; i++)
		take_event(c, (struct str){ "ftrace", 6 }, out);
	systems = cursor_u32(c);
	for (u32 i = 0; i < systems && !c->bad; i++) {
		struct str system = take_word(c);
		u32 n = cursor_u32(c);

		for (u32 k = 0; k < n && !c->bad; k++)
			take_event(c, system, out);
	}
}

int tracefmt_decode(struct cursor c, struct tracefmt *out)
{
	static const u8 magic[10] = { 23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	const u8 *p = cursor_bytes(&c, sizeof(magic));

	*out = (struct tracefmt){ 0 };
	if (!p || memcmp(p, magic, sizeof(magic)))
		return p ? ERR_FORMAT : ERR_TRUNCATED;
	take_word(&c); /* the version: 0.5 and 0.6 differ only behind what is read here */
	out->big_endian = cursor_u8(&c) == 1;
	c.swap = out->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	out->long_size = cursor_u8(&c);
	out->page_size = cursor_u32(&c);
	if (expect_word(&c, "header_page"))
		cursor_skip(&c, cursor_u64(&c));
	if (!c.bad && expect_word(&c, "header_event"))
		cursor_skip(&c, cursor_u64(&c));
	if (c.bad || (out->long_size != 4 && out->long_size != 8))
		return ERR_FORMAT;
	take_events(&c, out);
	cursor_skip(&c, cursor_u32(&c)); /* kallsyms */
	out->printk = take_text(&c, cursor_u32(&c));
	return c.bad ? ERR_TRUNCATED : 0;
}

void tracefmt_free(struct tracefmt *f)
{
	for (size_t i = 0; i < f->events.n; i++)
		vec_free(&f->events.v[i].fields);
	vec_free(&f->events);
}

const struct trace_event *tracefmt_find(const struct tracefmt *f, u32 id)
{
	for (size_t i = 0; i < f->events.n; i++)
		if (f->events.v[i].id == id)
			return &f->events.v[i];
	return NULL;
}
