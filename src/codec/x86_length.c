/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/x86_length.h"

#define LONGEST 15u

/*
 * What follows the opcodes of one byte: . nothing, i a byte, w 2 bytes, z a value of 4 bytes (2 with the prefix 66), d
 * 4 bytes, v a value of 4 bytes or what the prefixes say, e 3 bytes, o an address; M an operand (ModRM), m that and a
 * byte, Z that and a value, t and T the same if it is a test; - there is no such instruction, or it is told apart
 * before.
 */
static const char one_byte[] = "MMMMiz--MMMMiz--" /* 0 */
			       "MMMMiz--MMMMiz--"
			       "MMMMiz--MMMMiz--"
			       "MMMMiz--MMMMiz--"
			       "----------------" /* 4: REX */
			       "................"
			       "---M----zZim...."
			       "iiiiiiiiiiiiiiii"
			       "mZ-mMMMMMMMMMMMM" /* 8 */
			       "..........-....."
			       "oooo....iz......"
			       "iiiiiiiivvvvvvvv"
			       "mmw.--mZe.w..i-." /* c */
			       "MMMM---.MMMMMMMM"
			       "iiiiiiiidd-i...."
			       "-.--..tT......MM";
/* Behind 0f. */
static const char two_bytes[] = "MMMM-.....-.-M.m" /* 0 */
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"........--------"
				"MMMMMMMMMMMMMMMM" /* 4 */
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"mmmmMMM.MMMMMMMM"
				"dddddddddddddddd" /* 8 */
				"MMMMMMMMMMMMMMMM"
				"...MmM--...MmMMM"
				"MMMMMMMMMMmMMMMM"
				"MMmMmmmM........" /* c */
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM";

struct prefixes {
	bool small, wide, short_address;
};

/* The bytes of an operand in memory or a register; 0: they are not all there. */
static u32 operand_size(const u8 *p, u32 n)
{
	u32 size = 1, mod, rm;

	if (!n)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (n < 2)
			return 0;
		size = 2;
		rm = p[1] & 7;
	}
	if (mod == 1)
		return size + 1;
	return mod == 2 || rm == 5 ? size + 4 : size;
}

/* What is behind an opcode of that kind; UINT32_MAX: it is none, or not there. */
static u32 rest_of(char kind, const u8 *p, u32 n, const struct prefixes *x)
{
	u32 value = x->small && !x->wide ? 2 : 4, size;

	switch (kind) {
	case '.':
		return 0;
	case 'i':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'd':
		return 4;
	case 'z':
		return value;
	case 'v':
		return x->wide ? 8 : value;
	case 'o':
		return x->short_address ? 4 : 8;
	case '-':
		return UINT32_MAX;
	default:
		break;
	}
	size = operand_size(p, n);
	if (!size)
		return UINT32_MAX;
	if (kind == 'm' || (kind == 't' && !(p[0] & 0x30)))
		return size + 1;
	return kind == 'Z' || (kind == 'T' && !(p[0] & 0x30)) ? size + value : size;
}

/* Of an instruction of a map that a prefix of several bytes names (VEX, EVEX), or escapes of the opcode. */
static char kind_of_map(u32 map, u8 opcode)
{
	if (map == 1)
		return two_bytes[opcode];
	return map == 3 ? 'm' : 'M';
}

static bool is_prefix(u8 b)
{
	switch (b) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

/* Takes the prefixes; false: there is no opcode behind them. */
static bool take_prefixes(const u8 *code, u32 n, u32 *i, struct prefixes *x, struct x86_insn *out)
{
	for (; *i < n; ++*i) {
		u8 b = code[*i];

		if ((b & 0xf0) == 0x40) {
			x->wide = b & 8;
			++*i;
			break;
		}
		if (!is_prefix(b))
			break;
		x->small |= b == 0x66;
		x->short_address |= b == 0x67;
		out->jump_table |= b == 0x3e;
	}
	return *i < n;
}

bool x86_insn_decode(const u8 *code, u32 n, struct x86_insn *out)
{
	struct prefixes x = { 0 };
	u32 i = 0, rest;
	char kind;

	n = MIN(n, LONGEST);
	*out = (struct x86_insn){ 0 };
	if (!take_prefixes(code, n, &i, &x, out))
		return false;
	out->opcode = i;
	if (code[i] == 0xc5 || code[i] == 0xc4 || code[i] == 0x62) {
		u32 more = code[i] == 0xc5 ? 1 : code[i] == 0xc4 ? 2 : 3;

		if (n - i < more + 2)
			return false;
		kind = kind_of_map(more == 1 ? 1 : code[i + 1] & (more == 2 ? 0x1f : 7), code[i + more + 1]);
		i += more + 1;
	} else if (code[i] != 0x0f) {
		kind = one_byte[code[i]];
	} else {
		if (++i == n)
			return false;
		if (code[i] == 0x38 || code[i] == 0x3a) {
			kind = kind_of_map(code[i] == 0x38 ? 2 : 3, 0);
			i++;
		} else {
			kind = two_bytes[code[i]];
		}
	}
	if (i >= n)
		return false;
	i++;
	rest = rest_of(kind, code + i, n - i, &x);
	if (rest > n - i)
		return false;
	out->size = i + rest;
	return true;
}
