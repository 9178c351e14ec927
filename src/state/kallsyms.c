/* SPDX-License-Identifier: Apache-2.0 */
#include "state/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "state/text.h"

/* Text, weak and data symbols; 'r' (read-only data) and the rest do not count. */
static bool type_counts(char type)
{
	char t = (char)(type & ~0x20);

	return t == 'T' || t == 'W' || t == 'D' || t == 'B';
}

/* "ffffffff81000000 T _text" or "ffffffffc0000000 t init\t[mod]", in the text at [p, end), behind which is a byte that
 * may become a NUL. */
static void parse_line(struct kallsyms *k, char *p, char *end, struct str *module)
{
	struct kallsyms_symbol s = { 0 };
	const char *text = (const char *)k->names.p, *digits = text_hex(p, end, &s.addr);
	char *at = p + (digits - p), *mod;

	if (at == p || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return;
	k->lines++;
	s.type = at[1];
	at += 3;
	if (!s.addr)
		k->zeros++;
	if (!type_counts(s.type) || *at == '$')
		return;
	mod = memchr(at, '\t', (size_t)(end - at));
	s.name = (u32)(at - text);
	if (mod && end - mod > 3 && mod[1] == '[' && end[-1] == ']') {
		struct str name = { mod + 2, (u32)(end - mod - 3) };

		/* Modules come in runs: all of one have the same copy of the name. */
		if (name.len != module->len || memcmp(name.p, module->p, name.len) != 0)
			*module = name;
		s.module = (u32)(module->p - text);
		end[-1] = 0;
	}
	*(mod ? mod : end) = 0;
	vec_push(&k->syms, s);
}

void kallsyms_parse(struct kallsyms *k, struct bytes *text)
{
	struct str module = { NULL, 0 };
	char *p, *end;

	bytes_char(text, 0);
	*k = (struct kallsyms){ .names = *text };
	*text = (struct bytes){ 0 };
	p = (char *)k->names.p;
	end = p + k->names.len - 1;
	while (p < end) {
		char *line = p, *eol = memchr(p, '\n', (size_t)(end - p));

		p = eol ? eol + 1 : end;
		if (!eol)
			eol = end;
		if (eol - line < 65536)
			parse_line(k, line, eol, &module);
	}
	k->names.p[0] = 0; /* the empty name */
}

void kallsyms_free(struct kallsyms *k)
{
	vec_free(&k->syms);
	bytes_free(&k->names);
}

static bool is_name(const struct kallsyms *k, u32 at, struct str name)
{
	const char *s = (const char *)k->names.p + at;

	return !strncmp(s, name.p, name.len) && !s[name.len];
}

bool kallsyms_address(const struct kallsyms *k, struct str name, u64 *addr)
{
	for (size_t i = 0; i < k->syms.n; i++)
		if (!k->syms.v[i].module && name.len && is_name(k, k->syms.v[i].name, name)) {
			*addr = k->syms.v[i].addr;
			return true;
		}
	return false;
}

static u32 put_name(struct kallsyms *k, const char *s)
{
	u32 at = (u32)k->names.len;

	bytes_put(&k->names, s, strlen(s) + 1);
	return at;
}

/* Those of all, with their names. */
static void copy_modules(struct kallsyms *k, const struct kallsyms *all)
{
	const char *names = (const char *)all->names.p;
	u32 last = 0, module = 0;

	*k = (struct kallsyms){ .lines = all->lines, .zeros = all->zeros };
	bytes_char(&k->names, 0);
	for (size_t i = 0; i < all->syms.n; i++) {
		struct kallsyms_symbol s = all->syms.v[i];

		if (!s.module)
			continue;
		if (s.module != last)
			module = put_name(k, names + s.module);
		last = s.module;
		s.module = module;
		s.name = put_name(k, names + s.name);
		vec_push(&k->syms, s);
	}
}

static void add_symbol(struct symtab_build *b, const struct kallsyms_symbol *s, u32 name, u64 delta)
{
	char t = (char)(s->type & ~0x20);

	vec_push(&b->syms, (struct raw_symbol){
				   .start = s->addr + delta,
				   .end = s->addr + delta,
				   .name = name,
				   .bind = t == 'W'	? BIND_WEAK :
					   s->type == t ? BIND_GLOBAL :
							  BIND_LOCAL,
				   .is_func = t == 'T' || t == 'W',
			   });
}

void kallsyms_take_kernel(struct symtab_build *b, struct kallsyms *k, u64 delta)
{
	struct kallsyms all = *k;
	u32 base = 0;

	copy_modules(k, &all);
	if (b->syms.n) {
		base = symtab_build_name(b, (const char *)all.names.p, all.names.len);
	} else {
		bytes_free(&b->names);
		b->names = all.names;
		all.names = (struct bytes){ 0 };
	}
	vec_reserve(&b->syms, b->syms.n + all.syms.n);
	for (size_t i = 0; i < all.syms.n; i++)
		if (!all.syms.v[i].module)
			add_symbol(b, &all.syms.v[i], base + all.syms.v[i].name, delta);
	kallsyms_free(&all);
}

void kallsyms_add_module(struct symtab_build *b, const struct kallsyms *k, struct str module, u64 delta)
{
	const char *names = (const char *)k->names.p;
	bool match = false;
	u32 last = 0;

	for (size_t i = 0; i < k->syms.n; i++) {
		const struct kallsyms_symbol *s = &k->syms.v[i];
		const char *name = names + s->name;

		if (s->module != last)
			match = s->module && is_name(k, s->module, module);
		last = s->module;
		if (match)
			add_symbol(b, s, symtab_build_name(b, name, strlen(name)), delta);
	}
}
