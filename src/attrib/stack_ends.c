/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/stack_ends.h"

#include <string.h>

static const struct {
	const char *name, *text, *way_out;
} ends[STACK_ENDS] = {
	[STACK_WHOLE] = { "whole", "whole", NULL },
	[STACK_SHORT] = { "too_little_copied", "too little of the stack was copied",
			  NULL }, /* it depends on how much */
	[STACK_EMPTY] = { "nothing_copied", "there was no stack, within exec or at exit", NULL },
	[STACK_NO_INFO] = { "no_information", "code without unwind information", NULL },
	[STACK_UNMAPPED] = { "unmapped", "an address in no mapping", NULL },
	[STACK_MEMORY] = { "no_memory", "memory that is not on the stack, or registers that were not recorded", NULL },
	[STACK_DEEP] = { "too_deep", "more frames than are kept", NULL },
	[STACK_NOT_64] = { "not_64_bit", "not a 64-bit program of x86_64 or aarch64", NULL },
	[STACK_NO_FP] = { "no_frame_pointer", "code without frame pointers", "--call-graph unwind" },
	[STACK_LBR] = { "branch_records", "more calls than branch records, or calls that did not return",
			"--call-graph unwind" },
};

const char *stack_end_text(enum stack_end end)
{
	return ends[end].text;
}

const char *stack_end_name(enum stack_end end)
{
	return ends[end].name;
}

enum stack_end stack_end_named(const char *name)
{
	enum stack_end end = 0;

	while (end < STACK_ENDS && strcmp(ends[end].name, name))
		end++;
	return end;
}

const char *stack_end_way_out(enum stack_end end)
{
	return ends[end].way_out;
}

void stack_counts_add(struct stack_counts *a, const struct stack_counts *b)
{
	a->stacks += b->stacks;
	a->frames += b->frames;
	a->guessed += b->guessed;
	for (u32 i = 0; i < STACK_ENDS; i++)
		a->ends[i] += b->ends[i];
}

void stack_cuts_count(struct stack_cuts *c, u32 file, enum stack_end end, u64 stacks)
{
	u32 at;

	if (end == STACK_WHOLE || !stacks)
		return;
	at = *map_at(&c->at, (u64)file * STACK_ENDS + end, (u32)c->v.n);
	if (at == c->v.n)
		vec_push(&c->v, (struct stack_cut){ .file = file, .end = end });
	c->v.v[at].stacks += stacks;
}

void stack_cuts_free(struct stack_cuts *c)
{
	map_free(&c->at);
	vec_free(&c->v);
}
