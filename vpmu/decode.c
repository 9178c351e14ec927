/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow is decoded from the bytes: it decides whether counts are exact, takes a few lines for each
 * architecture, and must not depend on whether capstone knows an instruction. Capstone names the rest, without
 * operands, for the cost.
 */
#include "vpmu/decode.h"

#include <capstone/capstone.h>
#include <stdlib.h>

#include "base/mem.h"
#include "vpmu/decode_impl.h"

struct decoder {
	csh handle;
	cs_insn *insn; /* capstone's scratch */
	bool arm64;
};

struct decoder *decoder_new(bool arm64)
{
	struct decoder *d = mem_zalloc(sizeof(*d));

	d->arm64 = arm64;
	if (cs_open(arm64 ? CS_ARCH_ARM64 : CS_ARCH_X86, arm64 ? CS_MODE_ARM : CS_MODE_64, &d->handle)) {
		free(d);
		return NULL;
	}
	d->insn = cs_malloc(d->handle);
	if (!d->insn) {
		decoder_free(d);
		return NULL;
	}
	return d;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

static bool disassemble(struct decoder *d, const u8 *code, size_t size, u64 pc)
{
	return cs_disasm_iter(d->handle, &code, &size, &pc, d->insn);
}

void decode(struct decoder *d, const u8 *code, u32 size, u64 pc, struct decoded *out)
{
	u32 id;

	*out = (struct decoded){ 0 };
	(d->arm64 ? arm64_kind : x86_kind)(code, size, pc, out);
	/* Branches cost what the predictor says. */
	if (out->kind >= OP_COND)
		return;
	id = disassemble(d, code, size, pc) ? d->insn->id : 0;
	out->cost = (d->arm64 ? arm64_cost : x86_cost)(id, code, size);
}

bool decode_leap(const struct decoder *d, const u8 *code, u32 size, u32 *derived)
{
	return (d->arm64 ? arm64_leap : x86_leap)(code, size, derived);
}

u32 decode_size(struct decoder *d, const u8 *code, u32 max)
{
	return disassemble(d, code, max, 0) ? d->insn->size : 0;
}
