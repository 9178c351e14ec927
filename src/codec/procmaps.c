/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/procmaps.h"

#include <string.h>
#include <sys/mman.h>

struct text {
	const char *p, *end;
	bool bad;
};

static void expect(struct text *t, char c)
{
	if (t->p == t->end || *t->p != c)
		t->bad = true;
	else
		t->p++;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 99;
}

static u64 number(struct text *t, u32 base)
{
	const char *start = t->p;
	u64 v = 0;

	for (; t->p < t->end && digit(*t->p) < (int)base; t->p++) {
		t->bad |= __builtin_mul_overflow(v, base, &v);
		t->bad |= __builtin_add_overflow(v, (u64)digit(*t->p), &v);
	}
	t->bad |= t->p == start;
	return v;
}

static void permissions(struct text *t, struct maps_line *out)
{
	static const u32 prots[] = { PROT_READ, PROT_WRITE, PROT_EXEC };

	if (t->end - t->p < 4) {
		t->bad = true;
		return;
	}
	out->prot = 0;
	for (u32 i = 0; i < 3; i++) {
		if (t->p[i] == "rwx"[i])
			out->prot |= prots[i];
		else if (t->p[i] != '-')
			t->bad = true;
	}
	if (t->p[3] != 's' && t->p[3] != 'p')
		t->bad = true;
	out->flags = t->p[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	t->p += 4;
}

bool maps_line_parse(const char *line, size_t len, struct maps_line *out)
{
	struct text t = { line, line + len, false };

	out->start = number(&t, 16);
	expect(&t, '-');
	out->end = number(&t, 16);
	expect(&t, ' ');
	if (!t.bad)
		permissions(&t, out);
	expect(&t, ' ');
	out->pgoff = number(&t, 16);
	expect(&t, ' ');
	out->maj = (u32)number(&t, 16);
	expect(&t, ':');
	out->min = (u32)number(&t, 16);
	expect(&t, ' ');
	out->ino = number(&t, 10);
	/* Blanks pad up to the name's column; a name itself starts with '/' or '['. */
	while (t.p < t.end && *t.p == ' ')
		t.p++;
	out->path = (struct str){ t.p, (u32)(t.end - t.p) };
	return !t.bad && out->end > out->start;
}

void maps_path_plain(struct str path, struct bytes *out)
{
	const char *p = path.p, *end = p + path.len, *esc;

	while ((esc = memmem(p, (size_t)(end - p), "\\012", 4))) {
		bytes_put(out, p, (size_t)(esc - p));
		bytes_char(out, '\n');
		p = esc + 4;
	}
	bytes_put(out, p, (size_t)(end - p));
}
