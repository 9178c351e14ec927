/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/regs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NR_REGS 64
#define X86_XMM0 32 /* two slots for each */
#define X86_SP 7
#define X86_IP 8
#define X86_R8 16
#define ARM64_LR 30
#define ARM64_SP 31
#define ARM64_PC 32
#define ARM64_VG 46

static const char *const x86_names[] = {
	"AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",	 "FLAGS", "CS",	 "SS",
	"DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",	  "R14", "R15"
};

static enum regs_arch settle(enum regs_arch arch)
{
#if defined(__x86_64__)
	const enum regs_arch here = REGS_X86;
#elif defined(__aarch64__)
	const enum regs_arch here = REGS_ARM64;
#else
	const enum regs_arch here = REGS_OTHER;
#endif
	return arch == REGS_HERE ? here : arch;
}

enum regs_arch regs_arch_of(const char *name)
{
	if (name && !strncmp(name, "x86", 3))
		return REGS_X86;
	return name && !strcmp(name, "aarch64") ? REGS_ARM64 : REGS_OTHER;
}

u64 regs_general(enum regs_arch arch)
{
	switch (settle(arch)) {
	case REGS_X86:
		return 0xff0fff; /* the kernel gives no DS, ES, FS, GS of 64-bit programs */
	case REGS_ARM64:
		return 0x1ffffffff;
	default:
#if defined(__riscv)
		return arch == REGS_HERE ? 0xffffffff : 0;
#else
		return 0;
#endif
	}
}

u64 regs_stack(enum regs_arch arch)
{
	arch = settle(arch);
	return arch == REGS_X86	  ? 1ull << X86_SP | 1ull << X86_IP :
	       arch == REGS_ARM64 ? 1ull << ARM64_SP | 1ull << ARM64_PC :
				    regs_general(arch);
}

u32 reg_dwarf(enum regs_arch arch, u32 n)
{
	static const u8 x86[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16 }; /* AX BX CX DX SI DI BP SP IP */

	switch (settle(arch)) {
	case REGS_X86:
		if (n < ARRAY_LEN(x86))
			return x86[n];
		return n >= X86_R8 && n < X86_R8 + 8 ? n - X86_R8 + 8 : ID_NONE;
	case REGS_ARM64:
		return n <= ARM64_PC ? n : ID_NONE;
	default:
		return ID_NONE;
	}
}

static const char *arm64_name(u32 n, char room[REG_NAME_ROOM])
{
	static const char *const rest[] = { "lr", "sp", "pc" };

	if (n < ARM64_LR) {
		snprintf(room, REG_NAME_ROOM, "x%u", n);
		return room;
	}
	return n < ARM64_LR + ARRAY_LEN(rest) ? rest[n - ARM64_LR] : n == ARM64_VG ? "vg" : NULL;
}

const char *reg_name(enum regs_arch arch, u32 n, char room[REG_NAME_ROOM])
{
	switch (settle(arch)) {
	case REGS_X86:
		if (n < X86_XMM0 || n >= NR_REGS)
			return n < ARRAY_LEN(x86_names) ? x86_names[n] : NULL;
		snprintf(room, REG_NAME_ROOM, "XMM%u", (n - X86_XMM0) / 2);
		return room;
	case REGS_ARM64:
		return arm64_name(n, room);
	default:
		return NULL;
	}
}

bool reg_is_upper(enum regs_arch arch, u32 n)
{
	return settle(arch) == REGS_X86 && n >= X86_XMM0 && n < NR_REGS && n % 2;
}

void regs_list(enum regs_arch arch, struct bytes *out)
{
	char room[REG_NAME_ROOM];
	const char *space = "";

	for (u64 mask = regs_general(arch); mask; mask &= mask - 1) {
		const char *name = reg_name(arch, (u32)__builtin_ctzll(mask), room);

		if (!name)
			continue;
		bytes_printf(out, "%s%s", space, name);
		space = " ";
	}
}

static u64 reg_bit(enum regs_arch arch, const char *name, size_t len)
{
	char room[REG_NAME_ROOM];

	for (u64 mask = regs_general(arch); mask; mask &= mask - 1) {
		const char *own = reg_name(arch, (u32)__builtin_ctzll(mask), room);

		if (own && strlen(own) == len && !strncasecmp(own, name, len))
			return mask & -mask;
	}
	return 0;
}

int regs_parse(enum regs_arch arch, const char *text, const char *what, u64 *mask, const struct notify *to)
{
	*mask = *text ? 0 : regs_general(arch);
	if (!*text && !*mask)
		return notify_error(to, ERR_UNSUPPORTED, "%s: the registers of this architecture are not known", what);
	while (*text) {
		size_t len = strcspn(text, ",");
		u64 bit = reg_bit(arch, text, len);

		if (!bit) {
			struct bytes list = { 0 };

			regs_list(arch, &list);
			notify_error(to, ERR_USAGE, "%s: no register '%.*s'; there are: %.*s", what, (int)MIN(len, 60),
				     text, (int)list.len, list.len ? (char *)list.p : "");
			bytes_free(&list);
			return ERR_USAGE;
		}
		*mask |= bit;
		text += len + (text[len] == ',');
	}
	return 0;
}
