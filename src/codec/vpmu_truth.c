/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/vpmu_truth.h"

#include "base/err.h"

#define HEADER_SIZE 8
#define FIELDS_SIZE (HEADER_SIZE + 2 * 4 + 4 * 8 + 2 * 4 + 8 + 2 * 4 + 8)
#define COUNTS_SIZE (NR_VPMU_COUNTS * 8)
#define OPERATION_SIZE (6 * 4 + 3 * 8)

const char *const vpmu_level_names[VPMU_LEVELS] = { "L1", "L2", "LLC", "DRAM" };

static u16 size_of(u32 type)
{
	return FIELDS_SIZE + (type == VPMU_RECORD_TRUTH_OPERATION ? OPERATION_SIZE : COUNTS_SIZE);
}

static void put_operation(const struct vpmu_truth_operation *o, struct bytes *out)
{
	bytes_u32(out, o->kind);
	bytes_u32(out, o->flags);
	bytes_u32(out, o->level);
	bytes_u32(out, o->issue);
	bytes_u32(out, o->total);
	bytes_u32(out, o->translation);
	bytes_u64(out, o->to);
	bytes_u64(out, o->addr);
	bytes_u64(out, o->physical);
}

static bool take_operation(struct cursor *c, struct vpmu_truth_operation *o)
{
	o->kind = cursor_u32(c);
	o->flags = cursor_u32(c);
	o->level = cursor_u32(c);
	o->issue = cursor_u32(c);
	o->total = cursor_u32(c);
	o->translation = cursor_u32(c);
	o->to = cursor_u64(c);
	o->addr = cursor_u64(c);
	o->physical = cursor_u64(c);
	return o->kind <= VPMU_OP_BRANCH && o->level < VPMU_LEVELS;
}

void vpmu_truth_encode(const struct vpmu_truth *t, struct bytes *out)
{
	bytes_u32(out, t->type);
	bytes_u16(out, 0);
	bytes_u16(out, size_of(t->type));
	bytes_u32(out, t->pid);
	bytes_u32(out, t->tid);
	bytes_u64(out, t->time);
	bytes_u64(out, t->begun);
	bytes_u64(out, t->pc);
	bytes_u64(out, t->other_pc);
	bytes_u32(out, t->node);
	bytes_u32(out, t->parent);
	bytes_u64(out, t->id);
	bytes_u32(out, t->calls);
	bytes_u32(out, t->returns);
	bytes_u64(out, t->functions);
	if (t->type == VPMU_RECORD_TRUTH_OPERATION)
		put_operation(&t->op, out);
	else
		bytes_put(out, t->counts, sizeof(t->counts));
}

int vpmu_truth_decode(struct cursor c, struct vpmu_truth *out)
{
	size_t left = cursor_left(&c);
	u16 size;

	*out = (struct vpmu_truth){ .type = cursor_u32(&c) };
	cursor_skip(&c, 2);
	size = cursor_u16(&c);
	if (c.bad || left != size || out->type < VPMU_RECORD_TRUTH_PC || out->type > VPMU_RECORD_TRUTH_END ||
	    size != size_of(out->type))
		return ERR_FORMAT;
	out->pid = cursor_u32(&c);
	out->tid = cursor_u32(&c);
	out->time = cursor_u64(&c);
	out->begun = cursor_u64(&c);
	out->pc = cursor_u64(&c);
	out->other_pc = cursor_u64(&c);
	out->node = cursor_u32(&c);
	out->parent = cursor_u32(&c);
	out->id = cursor_u64(&c);
	out->calls = cursor_u32(&c);
	out->returns = cursor_u32(&c);
	out->functions = cursor_u64(&c);
	if (out->type == VPMU_RECORD_TRUTH_OPERATION)
		return take_operation(&c, &out->op) ? 0 : ERR_FORMAT;
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		out->counts[i] = cursor_u64(&c);
	return 0;
}
