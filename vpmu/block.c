/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "vpmu/access_run.h"
#include "vpmu/cache.h"
#include "vpmu/predictor.h"
#include "vpmu/tasks_impl.h"

struct code {
	struct decoder *decoder;
	const struct model *model;
	u32 models; /* VPMU_MODEL_* */
	bool runs;
	struct arena arena;
	struct map by_code; /* hash of address and bytes: id of the newest such block */
	VEC(struct block *) blocks;
	u32 nr_ops;
};

struct code *code_new(bool arm64, const struct model *model, u32 vpmu_models, bool runs)
{
	struct code *c = mem_zalloc(sizeof(*c));

	c->decoder = decoder_new(arm64);
	c->model = model;
	c->models = vpmu_models;
	c->runs = runs && !arm64;
	if (!c->decoder) {
		free(c);
		return NULL;
	}
	return c;
}

void code_free(struct code *c)
{
	decoder_free(c->decoder);
	arena_free(&c->arena);
	map_free(&c->by_code);
	vec_free(&c->blocks);
	free(c);
}

/* The bytes stand behind the operations. */
static u8 *bytes_of(const struct block *b)
{
	return (u8 *)&b->ops[b->nr];
}

static bool is_same(const struct block *b, const struct code_insn *insns, u32 nr)
{
	const u8 *bytes = bytes_of(b);

	if (b->nr != nr)
		return false;
	for (u32 i = 0; i < nr; i++) {
		if (b->ops[i].pc != insns[i].pc || b->ops[i].size != insns[i].size ||
		    memcmp(bytes, insns[i].bytes, insns[i].size))
			return false;
		bytes += insns[i].size;
	}
	return true;
}

static void put_op(const struct code *c, struct block *b, u32 i, const struct decoded *d)
{
	const struct model *m = c->model;
	struct op *op = &b->ops[i];

	op->kind = d->kind;
	op->access |= d->cost == COST_ATOMIC ? OP_LOCKED : 0;
	op->stall = c->models ? (u16)(m->op[d->cost] * m->width) : 0;
	/* QEMU ends a block at each branch. One that does not has not been understood. */
	if (i + 1 < b->nr && op->kind >= OP_REP)
		op->kind = OP_PLAIN;
	if (op->kind == OP_REP && c->models) {
		op->stall = (u16)(m->repeat_start * m->width);
		b->repeats = (d->moves ? d->moves : m->repeat_each * m->repeat_bytes) * m->width;
	}
	b->stall += op->stall;
}

static void put_end(const struct code *c, struct block *b, u64 target)
{
	bool branch, plain;
	u32 lines;

	b->kind = b->ops[b->nr - 1].kind;
	branch = b->kind >= OP_COND;
	b->call = b->kind == OP_CALL || b->kind == OP_CALL_INDIRECT;
	b->returns = b->kind == OP_RETURN;
	b->anywhere =
		b->kind == OP_SYSCALL || b->kind == OP_JUMP_INDIRECT || b->kind == OP_CALL_INDIRECT || b->returns;
	b->frames = b->call || b->returns || b->kind == OP_JUMP_INDIRECT;
	b->sums[SUM_BRANCH] = branch;
	b->sums[SUM_CALL] = b->call;
	b->sums[SUM_RETURN] = b->returns;
	b->sums[SUM_STALL] = (u16)b->stall; /* a block with more passes each horizon */
	b->next = b->kind == OP_REP ? NO_PC : b->kind == OP_JUMP || b->kind == OP_CALL ? target : b->end;
	b->other = b->kind == OP_COND ? target : b->next;
	/* What the return stack and the table of targets have to do with is not modelled in line. */
	plain = !c->models || !b->frames;
	b->plain_next = plain && b->next == b->end ? b->next : NO_PC;
	b->plain_other = plain ? b->other : NO_PC;
	b->branch = b->kind == OP_COND ? predict_key(b->ops[b->nr - 1].pc) : 0;
	b->more_lines = (u8)(((b->end - 1) >> LINE_SHIFT) - (b->pc >> LINE_SHIFT));
	lines = b->more_lines + 1;
	b->events_max = b->nr + 3 * lines;
	b->slots = b->nr + b->stall;
	b->first_line = b->pc >> LINE_SHIFT;
	b->last_line = lines > 2 ? NO_LINE : (b->end - 1) >> LINE_SHIFT;
}

static struct block *block_new(struct code *c, const struct code_insn *insns, u32 nr)
{
	u64 end = insns[nr - 1].pc + insns[nr - 1].size;
	size_t bytes = 0;
	struct block *b;
	struct decoded d;
	u32 derived = DERIVED_NONE;
	u8 *to;

	for (u32 i = 0; i < nr; i++)
		bytes += insns[i].size;
	b = arena_alloc(&c->arena, sizeof(*b) + nr * sizeof(b->ops[0]) + bytes, 64);
	memset(b, 0, sizeof(*b) + nr * sizeof(b->ops[0]));
	b->pc = insns[0].pc;
	b->end = end;
	b->nr = nr;
	to = bytes_of(b);
	for (u32 i = 0; i < nr; i++) {
		b->ops[i].pc = insns[i].pc;
		b->ops[i].size = (u8)insns[i].size;
		decode(c->decoder, insns[i].bytes, insns[i].size, insns[i].pc, &d);
		put_op(c, b, i, &d);
		b->leaps |= decode_leap(c->decoder, insns[i].bytes, insns[i].size, &derived);
		memcpy(to, insns[i].bytes, insns[i].size);
		to += insns[i].size;
	}
	put_end(c, b, d.target);
	if (c->runs)
		access_runs_find(b, bytes_of(b));
	b->id = (u32)c->blocks.n;
	b->first_op = c->nr_ops;
	c->nr_ops += nr;
	return b;
}

bool code_goes_on(struct code *c, const struct code_insn *insn, const void *host)
{
	enum { PAGE = 1 << PAGE_SHIFT, INSN_MAX = 15 };
	u8 bytes[INSN_MAX];
	u64 left = PAGE - insn->pc % PAGE;

	/* What begins an instruction is none by itself. */
	return left < INSN_MAX && !decode_size(c->decoder, insn->bytes, insn->size) &&
	       guest_read((u64)(uintptr_t)host, bytes, sizeof(bytes)) &&
	       decode_size(c->decoder, bytes, sizeof(bytes)) > left;
}

const struct block *code_block(struct code *c, const struct code_insn *insns, u32 nr)
{
	u64 key = hash_u64(insns[0].pc);
	struct block *b, *older;
	u32 id;

	for (u32 i = 0; i < nr; i++)
		key = hash_mix(key, hash_bytes(insns[i].bytes, insns[i].size));
	id = map_get(&c->by_code, key);
	older = id == ID_NONE ? NULL : c->blocks.v[id];
	for (b = older; b; b = b->older)
		if (is_same(b, insns, nr))
			return b;
	b = block_new(c, insns, nr);
	b->older = older;
	map_set(&c->by_code, key, b->id);
	vec_push(&c->blocks, b);
	return b;
}

u32 code_nr_blocks(const struct code *c)
{
	return (u32)c->blocks.n;
}

const struct block *code_get(const struct code *c, u32 id)
{
	return c->blocks.v[id];
}

u32 code_nr_ops(const struct code *c)
{
	return c->nr_ops;
}
