/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/jumps.h"

#include "codec/x86_branch.h"
#include "codec/x86_length.h"

static bool is_jump(const u8 *p)
{
	return (p[0] & 0xf0) == 0x70 || (p[0] & 0xfc) == 0xe0 || p[0] == 0xe9 || p[0] == 0xeb || p[0] == 0xff ||
	       (p[0] == 0x0f && (p[1] & 0xf0) == 0x80);
}

/* ff /4 and, to another segment, ff /5. With a scaled index the address comes out of the compiler's table. n: bytes of
 * the instruction from its opcode on. */
static bool leads_anywhere(const u8 *p, u32 n)
{
	u32 kind = p[1] >> 3 & 7, mod = p[1] >> 6;

	if (kind != 4 && kind != 5)
		return false;
	return mod == 3 || (p[1] & 7) != 4 || n < 3 || !(p[2] >> 6);
}

/*
 * Does it set the stack pointer to a value that was kept elsewhere (longjmp, coroutines)? A function's own frame is
 * where its frame pointer says. p: its opcode, behind the prefix that makes it one of 64 bits.
 */
static bool changes_stack(const u8 *p)
{
	u32 rex = p[-1], reg = (p[1] >> 3 & 7) | (rex & 4 ? 8 : 0), rm = (p[1] & 7) | (rex & 1 ? 8 : 0);

	if ((rex & 0xf8) != 0x48)
		return false;
	if (p[0] == 0x89)
		return p[1] >> 6 == 3 && rm == 4 && reg != 5;
	return p[0] == 0x8b && reg == 4 && (rm != 5 || p[1] >> 6 == 0);
}

static void add(struct jumps *j, u64 to)
{
	for (u32 i = 0; i < j->n; i++)
		if (j->to[i] == to)
			return;
	if (j->n == JUMPS_OUT)
		j->anywhere = true;
	else
		j->to[j->n++] = to;
}

/* What fills up behind code: nop and int3. */
static bool is_fill(const u8 *p, u32 n)
{
	return p[0] == 0x90 || p[0] == 0xcc || (n > 1 && p[0] == 0x0f && p[1] == 0x1f);
}

/* Does code go on behind its last instruction? After a call only if that returns, and the compiler puts last what does
 * not. */
static bool goes_on_behind(const u8 *p, u32 n)
{
	struct x86_branch b;

	x86_branch_decode(p, n, true, &b);
	return b.flow != X86_AWAY && b.flow != X86_CALL;
}

void jumps_find(const u8 *code, u32 n, u64 start, struct jumps *out)
{
	struct x86_branch b;
	struct x86_insn in;
	bool changed = false; /* what it jumps to after that has not been called by its caller */

	*out = (struct jumps){ 0 };
	for (u32 i = 0; i < n && !out->anywhere; i += in.size) {
		const u8 *p = code + i;
		u64 to;

		if (!x86_insn_decode(p, n - i, &in)) {
			out->anywhere = true;
			return;
		}
		if (!is_fill(p + in.opcode, in.size - in.opcode))
			out->runs_on = goes_on_behind(p, in.size);
		/* An opcode of one byte may be the last one that is there. */
		if (in.size - in.opcode < 2)
			continue;
		changed |= in.opcode && changes_stack(p + in.opcode);
		if (!is_jump(p + in.opcode))
			continue;
		if (p[in.opcode] == 0xff) {
			out->anywhere =
				!changed && !in.jump_table && leads_anywhere(p + in.opcode, in.size - in.opcode);
			continue;
		}
		x86_branch_decode(p, in.size, true, &b);
		to = start + i + in.size + (u64)b.target;
		if (b.target != INT64_MAX && (to < start || to >= start + n))
			add(out, to);
	}
}
