/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a program: what an ELF header or a script's first line says. Text stays within them. */
#include <string.h>

#include "codec/exec_head.h"
#include "fuzz.h"

static void check_text(struct str s, const char *head, size_t size)
{
	if (!s.len)
		return;
	MUST(s.p >= head && s.p + s.len <= head + size);
	MUST(!memchr(s.p, '\n', s.len) && !memchr(s.p, 0, s.len));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	size_t n = MIN(size, (size_t)EXEC_HEAD_SIZE);
	char *head = mem_alloc(n + !n);
	struct exec_head h;

	memcpy(head, data, n);
	exec_head_decode(head, n, &h);
	check_text(h.interp, head, n);
	check_text(h.arg, head, n);
	MUST((h.kind == EXEC_SCRIPT) == (h.interp.len && h.kind != EXEC_NONE));
	free(head);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
