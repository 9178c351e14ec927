/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe/line.h"

#include <ctype.h>
#include <stdlib.h>

static bool unescape(struct line *l, const char **s, const char *end, struct arena *arena)
{
	char *out = arena_alloc(arena, (size_t)(end - *s) + 1, 1);
	u32 n = 0;

	for ((*s)++; *s < end && **s != '"'; (*s)++) {
		if (**s == '\\' && *s + 3 < end && (*s)[1] == 'x') {
			const char digits[3] = { (*s)[2], (*s)[3], 0 };

			out[n++] = (char)strtoul(digits, NULL, 16);
			*s += 3;
		} else {
			*s += **s == '\\' && *s + 1 < end;
			out[n++] = **s;
		}
	}
	if (*s == end)
		return false;
	(*s)++;
	l->text = (struct str){ out, n };
	return true;
}

bool line_split(struct line *l, const char *s, size_t len, struct arena *arena)
{
	const char *end = s + len;

	*l = (struct line){ 0 };
	while (s < end) {
		const char *start;
		char *word, *eq;

		if (isspace((u8)*s)) {
			s++;
			continue;
		}
		if (*s == '#')
			break;
		if (*s == '"') {
			if (!unescape(l, &s, end, arena))
				return false;
			continue;
		}
		for (start = s; s < end && !isspace((u8)*s);)
			s++;
		word = arena_strndup(arena, start, (size_t)(s - start));
		if (!l->word) {
			l->word = word;
			continue;
		}
		if (l->n == LINE_WORDS)
			return false;
		eq = strchr(word, '=');
		if (eq)
			*eq = 0;
		l->args[l->n].key = word;
		l->args[l->n++].value = eq ? eq + 1 : NULL;
	}
	return true;
}

static bool one_number(const char *s, size_t n, const struct value_name *names, u64 *out)
{
	char text[64], *end;

	if (!n || n >= sizeof(text))
		return false;
	memcpy(text, s, n);
	text[n] = 0;
	for (; names && names->name; names++)
		if (!strcmp(names->name, text)) {
			*out = names->value;
			return true;
		}
	*out = *text == '-' ? (u64)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	return !*end;
}

bool value_number(const char *s, const struct value_name *names, u64 *out)
{
	*out = 0;
	if (!s)
		return false;
	for (;; s++) {
		size_t n = strcspn(s, "|");
		u64 v;

		if (!one_number(s, n, names, &v))
			return false;
		*out |= v;
		s += n;
		if (!*s)
			return true;
	}
}

bool value_list(const char *s, const struct value_name *names, struct arena *arena, struct u64s *out)
{
	u32 n = 0, max = 1;
	u64 *words;

	if (!s)
		return false;
	for (const char *p = s; *p; p++)
		max += *p == ',';
	words = arena_array(arena, u64, max);
	for (; *s; s += *s == ',') {
		size_t len = strcspn(s, ",");

		if (!one_number(s, len, names, &words[n++]))
			return false;
		s += len;
	}
	*out = (struct u64s){ (const u8 *)words, n, false };
	return true;
}

bool value_hex(const char *s, struct arena *arena, struct str *out)
{
	size_t len = s ? strlen(s) : 1;
	u8 *bytes;

	if (len % 2)
		return false;
	bytes = arena_alloc(arena, len / 2 + 1, 8);
	for (size_t i = 0; i < len / 2; i++) {
		const char digits[3] = { s[2 * i], s[2 * i + 1], 0 };

		if (!isxdigit((u8)digits[0]) || !isxdigit((u8)digits[1]))
			return false;
		bytes[i] = (u8)strtoul(digits, NULL, 16);
	}
	*out = (struct str){ (const char *)bytes, (u32)(len / 2) };
	return true;
}
