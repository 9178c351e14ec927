/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/x86_branch.h"

#include <string.h>

#include "base/cursor.h"

struct prefixes {
	bool operands16, addresses_other;
};

/* The first byte behind the prefixes. In 32-bit code, what REX is here are instructions. */
static u8 skip_prefixes(struct cursor *c, bool is64, struct prefixes *out)
{
	u8 b;

	do {
		b = cursor_u8(c);
		out->operands16 |= b == 0x66;
		out->addresses_other |= b == 0x67;
	} while (!c->bad &&
		 (memchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf2\xf3", b, 10) || (is64 && (b & 0xf0) == 0x40)));
	return b;
}

static s64 take_signed(struct cursor *c, u32 size)
{
	return size == 1 ? (signed char)cursor_u8(c) : size == 2 ? (int16_t)cursor_u16(c) : (s32)cursor_u32(c);
}

/* What stands behind an operation's ModRM byte: of addresses in 16 bits, or in 32 and 64. */
static u32 operand_size(struct cursor *c, u8 modrm, bool is16)
{
	u32 mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return 0;
	if (is16)
		return mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0;
	if (rm == 4)
		rm = cursor_u8(c) & 7; /* the base, in the SIB byte */
	return mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0;
}

static enum x86_flow indirect(struct cursor *c, bool is16)
{
	static const enum x86_flow flows[8] = { [2] = X86_CALL, [3] = X86_CALL, [4] = X86_AWAY, [5] = X86_AWAY };
	u8 modrm = cursor_u8(c);

	cursor_skip(c, operand_size(c, modrm, is16));
	c->bad |= flows[modrm >> 3 & 7] == X86_ON; /* it adds, or pushes */
	return flows[modrm >> 3 & 7];
}

/* Of those that begin with 0f. wide: bytes of an offset. */
static enum x86_flow two_bytes(struct cursor *c, u32 wide, s64 *target)
{
	u8 b = cursor_u8(c);

	if ((b & 0xf0) == 0x80) {
		*target = take_signed(c, wide);
		return X86_MAYBE;
	}
	switch (b) {
	case 0x05: /* syscall */
	case 0x34: /* sysenter */
		return X86_ON;
	case 0x07: /* sysret */
	case 0x0b: /* ud2 */
	case 0x35: /* sysexit */
		return X86_AWAY;
	default:
		c->bad = true;
		return X86_ON;
	}
}

static enum x86_flow decode(struct cursor *c, bool is64, s64 *target)
{
	struct prefixes p = { 0 };
	u8 b = skip_prefixes(c, is64, &p);
	/* Intel's processors take no notice of 66 here in 64-bit code. */
	u32 wide = p.operands16 && !is64 ? 2 : 4;

	switch (b) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3: /* loop, jrcxz */
		*target = take_signed(c, 1);
		return X86_MAYBE;
	case 0xeb:
	case 0xe9:
		*target = take_signed(c, b == 0xeb ? 1 : wide);
		return X86_AWAY;
	case 0xe8:
		*target = take_signed(c, wide);
		return X86_CALL;
	case 0xc2: /* ret, near and far */
	case 0xca:
		cursor_skip(c, 2);
		return X86_AWAY;
	case 0xc3:
	case 0xcb:
	case 0xcf: /* iret */
	case 0xf4: /* hlt */
		return X86_AWAY;
	case 0x9a: /* far call and jump, which 64-bit code does not have */
	case 0xea:
		c->bad |= is64;
		cursor_skip(c, wide + 2);
		return b == 0x9a ? X86_CALL : X86_AWAY;
	case 0xcd: /* int */
		cursor_skip(c, 1);
		return X86_ON;
	case 0xcc:
	case 0xf1:
		return X86_ON;
	case 0xff:
		return indirect(c, p.addresses_other && !is64);
	case 0x0f:
		return two_bytes(c, wide, target);
	default:
		c->bad = true;
		return X86_ON;
	}
}

void x86_branch_decode(const u8 *code, u32 n, bool is64, struct x86_branch *out)
{
	struct cursor c = cursor_over(code, n, false);
	s64 target = INT64_MAX;
	enum x86_flow flow = decode(&c, is64, &target);

	*out = c.bad ? (struct x86_branch){ .target = INT64_MAX } :
		       (struct x86_branch){ flow, (u32)(c.p - code), target };
}
