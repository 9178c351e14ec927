/* SPDX-License-Identifier: Apache-2.0 */
#include "view/script/insn.h"

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define TEXT(v) #v
#define LIBRARY(major) "libcapstone.so." TEXT(major)

/* With one handle each, opened when it is first needed. */
static const struct machine {
	u16 elf;
	int arch, mode;
} machines[] = {
	{ EM_X86_64, CS_ARCH_X86, CS_MODE_64 },
	{ EM_386, CS_ARCH_X86, CS_MODE_32 },
	{ EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN },
};

struct insn_decoder {
	void *library;
	__typeof__(&cs_open) open;
	__typeof__(&cs_close) close;
	__typeof__(&cs_option) option;
	__typeof__(&cs_malloc) insn_new;
	__typeof__(&cs_free) insn_free;
	__typeof__(&cs_disasm_iter) next;
	csh handle[ARRAY_LEN(machines)]; /* 0: not opened */
	cs_insn *insn[ARRAY_LEN(machines)];
};

static bool find_calls(struct insn_decoder *d)
{
	const struct {
		const char *name;
		void *call;
	} calls[] = {
		{ "cs_open", &d->open },       { "cs_close", &d->close },    { "cs_option", &d->option },
		{ "cs_malloc", &d->insn_new }, { "cs_free", &d->insn_free }, { "cs_disasm_iter", &d->next },
	};
	bool found = true;

	for (u32 i = 0; i < ARRAY_LEN(calls); i++) {
		void *call = dlsym(d->library, calls[i].name);

		memcpy(calls[i].call, &call, sizeof(call));
		found &= call != NULL;
	}
	return found;
}

struct insn_decoder *insn_decoder_new(const char **why)
{
	struct insn_decoder *d = mem_zalloc(sizeof(*d));

	d->library = dlopen(LIBRARY(CS_API_MAJOR), RTLD_NOW | RTLD_LOCAL);
	if (d->library && find_calls(d))
		return d;
	*why = LIBRARY(CS_API_MAJOR) " is needed, and not installed (Debian: libcapstone4)";
	insn_decoder_free(d);
	return NULL;
}

void insn_decoder_free(struct insn_decoder *d)
{
	if (!d)
		return;
	for (u32 i = 0; i < ARRAY_LEN(machines); i++) {
		if (d->insn[i])
			d->insn_free(d->insn[i], 1);
		if (d->handle[i])
			d->close(&d->handle[i]);
	}
	if (d->library)
		dlclose(d->library);
	free(d);
}

static bool get_machine(struct insn_decoder *d, u32 i)
{
	if (d->insn[i])
		return true;
	if (!d->handle[i] && d->open((cs_arch)machines[i].arch, (cs_mode)machines[i].mode, &d->handle[i])) {
		d->handle[i] = 0;
		return false;
	}
	if (machines[i].arch == CS_ARCH_X86)
		d->option(d->handle[i], CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d->insn[i] = d->insn_new(d->handle[i]);
	return d->insn[i];
}

/* Bytes of ModRM, SIB and displacement, with 64-bit addresses; 0: over n. */
static u32 operand_size(const u8 *p, u32 n)
{
	u32 mod = n ? p[0] >> 6 : 0, rm = n ? p[0] & 7 : 0, size = 1;

	if (!n || mod == 3)
		return n ? 1 : 0;
	if (rm == 4) {
		if (n < 2)
			return 0;
		size++;
		rm = p[1] & 7; /* a base of 5 is none there either */
		if (mod == 0 && rm == 5)
			size += 4;
	} else if (mod == 0 && rm == 5) {
		size += 4;
	}
	return size + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/*
 * How long an instruction with a VEX or EVEX prefix is, of which older capstones do not know all (those of AVX-512's
 * masks, and what strcmp() is made of). Those have one opcode, in one of three maps, which says what follows. 0: it is
 * none.
 */
static u32 vex_length(const u8 *code, u32 n)
{
	static const u8 with_imm[] = { 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6 };
	u32 prefix = n < 4 ? 0 : code[0] == 0xc5 ? 2 : code[0] == 0xc4 ? 3 : code[0] == 0x62 ? 4 : 0;
	u32 map = prefix == 2 ? 1 : prefix == 3 ? code[1] & 31 : code[1] & 7, size, operands;
	u8 opcode;

	if (!prefix || n <= prefix || map < 1 || map > 3)
		return 0;
	opcode = code[prefix];
	size = prefix + 1;
	if (map == 1 && opcode == 0x77) /* vzeroupper */
		return size;
	operands = operand_size(code + size, n - size);
	size += operands + (map == 3 || (map == 1 && memchr(with_imm, opcode, sizeof(with_imm))));
	return operands && size <= n ? size : 0;
}

u32 insn_decode(struct insn_decoder *d, u16 machine, const u8 *code, u32 n, u64 pc, struct bytes *text)
{
	const u8 *first = code;
	size_t left = n;

	for (u32 i = 0; i < ARRAY_LEN(machines); i++) {
		if (machines[i].elf != machine)
			continue;
		if (!get_machine(d, i))
			return 0;
		if (!d->next(d->handle[i], &code, &left, &pc, d->insn[i]))
			return machine == EM_X86_64 ? vex_length(first, n) : 0;
		if (text)
			bytes_printf(text, "%s%s%s", d->insn[i]->mnemonic, *d->insn[i]->op_str ? " " : "",
				     d->insn[i]->op_str);
		return d->insn[i]->size;
	}
	return 0;
}
#else
struct insn_decoder *insn_decoder_new(const char **why)
{
	*why = "this reticle was built without capstone";
	return NULL;
}

void insn_decoder_free(struct insn_decoder *d)
{
	(void)d;
}

u32 insn_decode(struct insn_decoder *d, u16 machine, const u8 *code, u32 n, u64 pc, struct bytes *text)
{
	(void)d;
	(void)machine;
	(void)code;
	(void)n;
	(void)pc;
	(void)text;
	return 0;
}
#endif
