/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/exec_head.h"

#include <elf.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct str trim(const char *p, const char *end)
{
	for (; p < end && is_blank(*p); p++)
		;
	for (; end > p && is_blank(end[-1]); end--)
		;
	return (struct str){ p, (u32)(end - p) };
}

/* A line that does not end within the head is cut there: right when what is cut off are arguments, else it is none. */
static void decode_script(const char *p, size_t n, struct exec_head *out)
{
	const char *end = memchr(p, '\n', n), *stop;
	bool whole = end || n < EXEC_HEAD_SIZE;
	struct str line;

	if (!end)
		end = p + n;
	stop = memchr(p, 0, (size_t)(end - p));
	line = trim(p + 2, stop ? stop : end);
	out->interp.p = line.p;
	while (out->interp.len < line.len && !is_blank(line.p[out->interp.len]))
		out->interp.len++;
	if (!out->interp.len || (!whole && out->interp.len == line.len))
		return;
	out->arg = trim(line.p + out->interp.len, line.p + line.len);
	out->kind = EXEC_SCRIPT;
}

static void decode_elf(const u8 *p, size_t n, struct exec_head *out)
{
	struct cursor c;

	out->is64 = p[EI_CLASS] == ELFCLASS64;
	out->little = p[EI_DATA] == ELFDATA2LSB;
	c = cursor_over(p, n, out->little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__));
	cursor_skip(&c, EI_NIDENT);
	out->type = cursor_u16(&c);
	out->machine = cursor_u16(&c);
	out->kind = c.bad ? EXEC_NONE : EXEC_ELF;
}

void exec_head_decode(const void *head, size_t n, struct exec_head *out)
{
	*out = (struct exec_head){ 0 };
	if (n > 2 && !memcmp(head, "#!", 2))
		decode_script(head, n, out);
	else if (n > EI_NIDENT && !memcmp(head, ELFMAG, SELFMAG))
		decode_elf(head, n, out);
}
