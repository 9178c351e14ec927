/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/vpmu_truth.h"

#include "base/err.h"

#define HEADER_SIZE 8
#define TRUTH_SIZE (HEADER_SIZE + 2 * 4 + 4 * 8 + 2 * 4 + 8 + 2 * 4 + 8 + NR_VPMU_COUNTS * 8)

void vpmu_truth_encode(const struct vpmu_truth *t, struct bytes *out)
{
	bytes_u32(out, t->type);
	bytes_u16(out, 0);
	bytes_u16(out, TRUTH_SIZE);
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
	bytes_put(out, t->counts, sizeof(t->counts));
}

int vpmu_truth_decode(struct cursor c, struct vpmu_truth *out)
{
	u16 size;

	if (cursor_left(&c) != TRUTH_SIZE)
		return ERR_FORMAT;
	out->type = cursor_u32(&c);
	cursor_skip(&c, 2);
	size = cursor_u16(&c);
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
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		out->counts[i] = cursor_u64(&c);
	return size == TRUTH_SIZE && out->type >= VPMU_RECORD_TRUTH_PC && out->type <= VPMU_RECORD_TRUTH_END ?
		       0 :
		       ERR_FORMAT;
}
