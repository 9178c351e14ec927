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

static u32 put_name(struct kallsyms *k, const char *s, size_t n)
{
	u32 at = (u32)k->names.len;

	bytes_put(&k->names, s, n);
	bytes_char(&k->names, 0);
	return at;
}

/* "ffffffff81000000 T _text" or "ffffffffc0000000 t init\t[mod]". */
static void parse_line(struct kallsyms *k, const char *p, const char *end, struct str *module, u32 *module_at)
{
	struct kallsyms_symbol s = { 0 };
	const char *at = text_hex(p, end, &s.addr), *mod;
	size_t len;

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
	len = (size_t)((mod ? mod : end) - at);
	s.name = put_name(k, at, len);
	if (mod && end - mod > 3 && mod[1] == '[' && end[-1] == ']') {
		struct str name = { mod + 2, (u32)(end - mod - 3) };

		/* Modules come in runs: one copy of the name for each. */
		if (name.len != module->len || memcmp(name.p, module->p, name.len) != 0) {
			*module = name;
			*module_at = put_name(k, name.p, name.len);
		}
		s.module = *module_at;
	}
	vec_push(&k->syms, s);
}

void kallsyms_parse(struct kallsyms *k, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	struct str module = { NULL, 0 };
	u32 module_at = 0;

	*k = (struct kallsyms){ 0 };
	bytes_char(&k->names, 0);
	while (p < end && k->names.len < UINT32_MAX - 65536) {
		const char *line = p, *eol = memchr(p, '\n', (size_t)(end - p));

		p = eol ? eol + 1 : end;
		if (!eol)
			eol = end;
		if (eol - line < 65536)
			parse_line(k, line, eol, &module, &module_at);
	}
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

void kallsyms_keep_modules(struct kallsyms *k)
{
	struct kallsyms all = *k;
	u32 last = 0, module = 0;

	*k = (struct kallsyms){ .lines = all.lines, .zeros = all.zeros };
	bytes_char(&k->names, 0);
	for (size_t i = 0; i < all.syms.n; i++) {
		struct kallsyms_symbol s = all.syms.v[i];
		const char *names = (const char *)all.names.p;

		if (!s.module)
			continue;
		if (s.module != last)
			module = put_name(k, names + s.module, strlen(names + s.module));
		last = s.module;
		s.module = module;
		s.name = put_name(k, names + s.name, strlen(names + s.name));
		vec_push(&k->syms, s);
	}
	kallsyms_free(&all);
}

void kallsyms_add(struct symtab_build *b, const struct kallsyms *k, struct str module, u64 delta)
{
	const char *names = (const char *)k->names.p;
	bool match = !module.len;
	/* The kernel's names are taken as one block; a module takes its few. */
	u32 base = module.len ? 0 : symtab_build_name(b, names, k->names.len), last = 0;

	if (!module.len)
		vec_reserve(&b->syms, b->syms.n + k->syms.n);
	for (size_t i = 0; i < k->syms.n; i++) {
		const struct kallsyms_symbol *s = &k->syms.v[i];
		char t = (char)(s->type & ~0x20);
		u32 name;

		if (s->module != last) {
			last = s->module;
			match = last ? module.len && is_name(k, last, module) : !module.len;
		}
		if (!match)
			continue;
		name = base ? base + s->name : symtab_build_name(b, names + s->name, strlen(names + s->name));
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
}
