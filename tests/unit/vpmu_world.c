/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu_world.h"

#include "vpmu/cpus.h"

/* --- whom the core tells, and who starts it --- */

/* The process is the first thing that a test has of its world when it is called back. */
static struct world *world_of(struct vthread *t)
{
	return (struct world *)((char *)t->process - offsetof(struct world, process));
}

static void tell(struct world *w, u64 pc)
{
	struct told told = { .pc = pc };

	memcpy(told.counts, w->t->counts, sizeof(told.counts));
	vec_push(&w->seen, told);
}

void sampler_overflow(struct vthread *t, struct armed *a, const struct core_at *at)
{
	struct world *w = world_of(t);

	w->overflows++;
	tell(w, at->pc);
	w->seen.v[w->seen.n - 1].addr = at->addr;
	w->seen.v[w->seen.n - 1].at = *at;
	if (!w->step)
		a->at = UINT64_MAX;
	else
		a->at += (t->counts[a->count] - a->at) / w->step * w->step + w->step;
}
void sampler_entry(struct vthread *t, u64 pc)
{
	world_of(t)->entries++;
	world_of(t)->entered_at = pc;
	t->sampler_waits = false;
}
void cpus_pass(struct vthread *t)
{
	struct world *w = world_of(t);

	w->passes++;
	w->passed_after = w->entries;
	t->leaves = false;
}
void sampler_leave(struct vthread *t, u64 pc)
{
	world_of(t)->leaves++;
	world_of(t)->left_at = pc;
}
void callstack_call(struct vthread *t, const struct frame_event *e)
{
	world_of(t)->event = *e;
	world_of(t)->calls++;
}
void callstack_return(struct vthread *t, const struct frame_event *e)
{
	world_of(t)->event = *e;
	world_of(t)->returns++;
}
void callstack_jump(struct vthread *t, const struct frame_event *e)
{
	world_of(t)->event = *e;
	world_of(t)->jumps++;
}
void callstack_resume(struct vthread *t, u64 to)
{
	(void)to;
	world_of(t)->resumes++;
}
void sigframe_align(struct vthread *t)
{
	(void)t;
}

u64 callstack_interrupted(const struct vthread *t, u64 pc, bool *fault)
{
	(void)pc;
	*fault = world_of((struct vthread *)t)->fault;
	return world_of((struct vthread *)t)->was_at;
}
void truth_op(struct vthread *t, const struct block *b, u32 op)
{
	tell(world_of(t), b->ops[op].pc);
}
void truth_transfer(struct vthread *t, const struct frame_event *e, bool jump)
{
	(void)e;
	world_of(t)->transfers++;
	world_of(t)->far_jumps += jump;
}

void setup_options(struct world *w, const struct vpmu_options *o, const struct attr *attr)
{
	memset(w, 0, sizeof(*w));
	w->control.options = *o;
	if (attr) {
		w->control.nr_events = 1;
		w->control.events[0].attr = *attr;
	}
	w->process.control = &w->control;
	w->process.model = &core_models[VPMU_GENERIC_X86];
	w->process.code = code_new(false, w->process.model, o->models, !o->truth);
	w->t = core_thread_new(&w->process);
}

void setup(struct world *w, u32 models_of, bool truth)
{
	setup_options(w, &(struct vpmu_options){ .models = models_of, .truth = truth }, NULL);
}

void teardown(struct world *w)
{
	core_thread_free(w->t);
	code_free(w->process.code);
	vec_free(&w->seen);
}

void arm(struct world *w, u8 count, u64 at)
{
	core_armed(w->t)[0] = (struct armed){ .count = count, .at = at };
	core_set_armed(w->t, 1);
}

/* --- blocks --- */

static const struct insn known[] = {
	{ 'n', 1, { 0x90 } },						/* nop */
	{ 'm', 3, { 0x48, 0x8b, 0x00 } },				/* mov (%rax),%rax */
	{ 'd', 3, { 0x48, 0xf7, 0xf1 } },				/* div */
	{ 'j', 6, { 0x0f, 0x85 } },					/* jne rel */
	{ 'g', 5, { 0xe9 } },						/* jmp rel */
	{ 'c', 5, { 0xe8 }, 3, INFO_STORE, -8, -8 },			/* call rel */
	{ 'r', 1, { 0xc3 }, 3, INFO_LOAD, 0, 8 },			/* ret */
	{ 'i', 2, { 0xff, 0xe0 } },					/* jmp *%rax */
	{ 'I', 2, { 0xff, 0xd0 } },					/* call *%rax */
	{ 'R', 3, { 0xf3, 0x48, 0xa5 } },				/* rep movsq */
	{ 'S', 2, { 0xf3, 0xaa } },					/* rep stosb */
	{ 'C', 2, { 0xf2, 0xae } },					/* repne scasb */
	{ 's', 2, { 0x0f, 0x05 } },					/* syscall */
	{ 'p', 1, { 0x53 }, 3, INFO_STORE, -8, -8 },			/* push %rbx */
	{ 'P', 1, { 0x5b }, 3, INFO_LOAD, 0, 8 },			/* pop %rbx */
	{ 'l', 5, { 0x48, 0x8b, 0x4c, 0x24, 0x13 }, 3, INFO_LOAD, 19 }, /* mov 19(%rsp),%rcx */
	{ 'b', 4, { 0x88, 0x44, 0x24, 0xfb }, 0, INFO_STORE, -5 },	/* mov %al,-5(%rsp) */
	{ 'a', 4, { 0x48, 0x83, 0xec, 0x18 }, 0, 0, 0, -24 },		/* sub $24,%rsp */
	{ 'k', 5, { 0xf0, 0x48, 0x0f, 0xc1, 0x08 } },			/* lock xadd %rcx,(%rax) */
};

const struct insn *known_as(char letter)
{
	u32 k = 0;

	while (known[k].letter != letter)
		assert_true(++k < ARRAY_LEN(known));
	return &known[k];
}

const struct block *block(struct world *w, u64 pc, const char *text, s32 rel)
{
	struct code_insn insns[64];
	u8 bytes[64][8];
	u32 n = 0;

	for (; text[n]; n++) {
		const struct insn *k = known_as(text[n]);

		memcpy(bytes[n], k->bytes, 6);
		if (strchr("jgc", text[n]))
			memcpy(bytes[n] + k->size - 4, &rel, 4);
		insns[n] = (struct code_insn){ pc, bytes[n], k->size };
		pc += k->size;
	}
	return code_block(w->process.code, insns, n);
}

void enter(struct world *w, const struct block *b)
{
	u32 models_of = w->control.options.models;

	if (b->nr == 1 && core_may_be_again(w->t, b))
		core_enter_again(w->t, b);
	else if (models_of == VPMU_MODEL_ALL)
		core_enter(w->t, b, !b->more_lines);
	else if (models_of || w->t->branches)
		core_enter_some(w->t, b);
	else
		core_enter_counts(w->t, b);
}

void access_at(struct world *w, u32 op, u64 addr, u32 size_log2, u32 how)
{
	core_access(w->t, size_log2 << INFO_SIZE_SHIFT | how | (u64)op << TOLD_OP, addr, 0);
}

u64 count(struct world *w, enum vpmu_count c)
{
	const u64 *n = w->t->counts;

	core_settle(w->t);
	assert_int_equal(n[VC_SLOTS], n[VC_SLOTS_RETIRING] + n[VC_SLOTS_BAD_SPECULATION] + n[VC_SLOTS_FRONTEND] +
					      n[VC_SLOTS_BACKEND]);
	assert_int_equal(n[VC_SLOTS_RETIRING], n[VC_INSTRUCTIONS]);
	assert_int_equal(n[VC_NONE], 0);
	return n[c];
}
