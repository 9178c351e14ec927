/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of what instructions load and store.
 *
 * DWARF says of each variable where it is at each instruction: in a register, or at a place of the frame. Where the
 * base register of an instruction's operand holds a pointer that is a variable, its type and the displacement are the
 * answer. That is so for about half of all loads. The rest have bases that the compiler made: a member that was loaded
 * before, a pointer that goes through an array, what a call has returned. So each register's value is followed through
 * the code: a load of a member that is a pointer makes the register one to what that points to.
 *
 * The code is cut into blocks at jumps and at where they lead. A value that comes to a block from two sides is kept as
 * far as both agree (`meet`). Each register's value can become less exact only a few times, so that ends. What a value
 * can be, from exact to nothing:
 *
 *	FRAME n         n bytes from the frame's address
 *	ADDRESS n       a linked address
 *	NUMBER n        a number, which may be an address where files are not moved
 *	POINTER t n     n bytes behind the beginning of a t
 *	ELEMENT t n     the same in one of several t that lie in an array
 *	INDEXED t n f   the same, and some multiple of f more
 *	MULTIPLE n      a number that n divides
 *	ANY             nothing is known
 *
 * A wrong answer is worse than none. So what lies outside the type is not known (the kernel's container_of leads
 * there), variables of different types in one register are no answer unless one type lies in the other, and an index
 * counts only if it is known to be a multiple of whole elements.
 *
 * Code behind a jump by a table has no known way to it; it is taken to come from all such jumps.
 *
 * Where exceptions lead is not read from the file. Code that handles one, and to which no jump leads, begins with
 * nothing; but it is taken to come from jumps by tables, if there are any, and from a call that stands right before
 * it, though that may never return. There an answer can be wrong; such code hardly ever has samples.
 */
#include "state/data_flow.h"

#include <elf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "state/data_values.h"

#define ROUNDS 64u	       /* a block is gone through so many times at most, on average */
#define MOST_WORK (1ull << 28) /* places of variables that are looked at */
#define MOST_STEPS 65536u      /* of a function */

struct block {
	u32 first, end; /* steps */
	bool queued;
};

struct data_flow {
	const struct data_code *code;
	struct data_world world;
	struct step *steps;
	u32 *offsets; /* of steps, in the code */
	u32 nr_steps;
	struct map step_of; /* offset -> step */
	VEC(struct block) blocks;
	struct map block_of; /* offset -> block */
	struct state *in;    /* of each block */
	struct state aside;  /* what comes from jumps by tables */
	VEC(u32) queue;
	struct map begins; /* address -> bits of the registers of which a variable begins there */
};

static u64 pc_of(const struct data_flow *f, u32 step)
{
	return f->code->start + f->offsets[step];
}

static void step_over(struct data_flow *f, struct state *s, u32 step)
{
	u32 begins = map_get(&f->begins, pc_of(f, step));

	if (begins != ID_NONE)
		state_take_claims(&f->world, s, pc_of(f, step), begins);
	state_step(&f->world, s, pc_of(f, step), &f->steps[step]);
}

/* --- blocks --- */

static void decode(struct data_flow *f)
{
	const bool arm = f->code->machine == EM_AARCH64;
	u32 at = 0, room = MIN(f->code->n / (arm ? 4 : 1), MOST_STEPS);

	f->steps = mem_alloc((room + 1) * sizeof(*f->steps));
	f->offsets = mem_alloc((room + 1) * sizeof(*f->offsets));
	while (at < f->code->n && f->nr_steps < room) {
		struct step *s = &f->steps[f->nr_steps];

		if (arm)
			arm_step(f->code->p + at, f->code->n - at, f->code->start + at, s);
		else
			x86_step(f->code->p + at, f->code->n - at, f->code->start + at, s);
		if (!s->size)
			break;
		map_set(&f->step_of, at, f->nr_steps);
		f->offsets[f->nr_steps++] = at;
		at += s->size;
	}
}

/* The offset of where a jump leads, if that is in the code. */
static bool target_of(const struct data_flow *f, const struct step *s, u32 *offset)
{
	if ((s->flow != STEP_BRANCH && s->flow != STEP_JUMP) || s->target - f->code->start >= f->code->n)
		return false;
	*offset = (u32)(s->target - f->code->start);
	return map_get(&f->step_of, *offset) != ID_NONE;
}

static void cut(struct data_flow *f)
{
	struct map leaders = { 0 };
	u32 to;

	map_set(&leaders, 0, 0);
	for (u32 i = 0; i < f->nr_steps; i++) {
		if (target_of(f, &f->steps[i], &to))
			map_set(&leaders, to, 0);
		if (f->steps[i].flow > STEP_CALL && i + 1 < f->nr_steps)
			map_set(&leaders, f->offsets[i + 1], 0);
	}
	for (u32 i = 0; i < f->nr_steps; i++) {
		if (map_get(&leaders, f->offsets[i]) != ID_NONE) {
			map_set(&f->block_of, f->offsets[i], (u32)f->blocks.n);
			vec_push(&f->blocks, (struct block){ .first = i });
		}
		f->blocks.v[f->blocks.n - 1].end = i + 1;
	}
	map_free(&leaders);
}

static void enqueue(struct data_flow *f, u32 block)
{
	if (f->blocks.v[block].queued)
		return;
	f->blocks.v[block].queued = true;
	vec_push(&f->queue, block);
}

static bool join(struct data_flow *f, struct state *to, const struct state *from, u64 pc)
{
	bool changed = false;

	for (u32 r = 0; r < STEP_REGS; r++) {
		struct value v = value_meet(&f->world, r, from, pc, to->r[r], from->r[r]);

		changed |= v.kind != to->r[r].kind || v.n != to->r[r].n || v.type != to->r[r].type ||
			   v.factor != to->r[r].factor;
		to->r[r] = v;
	}
	return changed;
}

static void flow_to(struct data_flow *f, u32 offset, const struct state *s)
{
	u32 block = map_get(&f->block_of, offset);

	if (block != ID_NONE && join(f, &f->in[block], s, f->code->start + offset))
		enqueue(f, block);
}

/* A jump by a table may lead to any block. */
static void flow_aside(struct data_flow *f, const struct state *s, u64 pc)
{
	if (!join(f, &f->aside, s, pc))
		return;
	for (u32 i = 0; i < f->blocks.n; i++)
		flow_to(f, f->offsets[f->blocks.v[i].first], &f->aside);
}

static void go_through(struct data_flow *f, u32 block)
{
	const struct block *b = &f->blocks.v[block];
	const struct step *last = &f->steps[b->end - 1];
	struct state s = f->in[block];
	u32 to;

	state_take_claims(&f->world, &s, pc_of(f, b->first), UINT32_MAX);
	for (u32 i = b->first; i < b->end; i++)
		step_over(f, &s, i);
	if (target_of(f, last, &to))
		flow_to(f, to, &s);
	if (last->flow == STEP_AWAY)
		flow_aside(f, &s, pc_of(f, b->end - 1));
	if (last->flow < STEP_JUMP && b->end < f->nr_steps)
		flow_to(f, f->offsets[b->end], &s);
}

/* Between what is left and what is jumped to. */
static bool is_filling(const struct data_flow *f, const struct block *b)
{
	for (u32 i = b->first; i < b->end; i++)
		if (!f->steps[i].nothing)
			return false;
	return true;
}

/* Blocks that nothing is known to lead to, such as those for exceptions, begin with nothing. What fills up is left as
 * it is: one of them that comes later may lead there, and so to what is behind it. */
static void settle(struct data_flow *f)
{
	u64 left = (f->blocks.n + 1) * (u64)ROUNDS;

	for (u32 next = 0; next < f->blocks.n; next++) {
		if (f->in[next].r[0].kind == UNREACHED && !is_filling(f, &f->blocks.v[next])) {
			state_forget(&f->in[next]);
			enqueue(f, next);
		}
		while (f->queue.n && left && f->world.work < MOST_WORK) {
			u32 block = f->queue.v[--f->queue.n];

			left--;
			f->blocks.v[block].queued = false;
			go_through(f, block);
		}
	}
	for (u32 i = 0; f->queue.n && i < f->blocks.n; i++)
		state_forget(&f->in[i]);
}

static void note_begins(struct data_flow *f)
{
	for (u32 r = 0; r < STEP_REGS; r++)
		for (size_t i = 0; i < f->world.vars.pointers[r].n; i++)
			*map_at(&f->begins, f->world.vars.pointers[r].v[i].from, 0) |= r == 31 ? 0 : 1u << r;
}

struct data_flow *data_flow_new(const struct data_code *code, Dwarf_Die *function, const struct data_globals *g,
				struct data_kinds *kinds)
{
	struct data_flow *f;
	Dwarf_Addr entry;

	if ((code->machine != EM_X86_64 && code->machine != EM_AARCH64) || !code->n)
		return NULL;
	f = mem_zalloc(sizeof(*f));
	f->code = code;
	f->world.globals = g;
	f->world.kinds = kinds;
	f->world.sp = code->machine == EM_AARCH64 ? 31 : 7;
	data_vars_find(&f->world.vars, function);
	note_begins(f);
	decode(f);
	cut(f);
	f->in = mem_zalloc((f->blocks.n + 1) * sizeof(*f->in));
	if (f->blocks.n && !dwarf_entrypc(function, &entry) && entry == code->start) {
		state_forget(&f->in[0]);
		f->in[0].r[f->world.sp] = (struct value){ .kind = FRAME, .n = code->machine == EM_AARCH64 ? 0 : -8 };
		enqueue(f, 0);
	}
	settle(f);
	return f;
}

void data_flow_free(struct data_flow *f)
{
	if (!f)
		return;
	data_vars_free(&f->world.vars);
	free(f->steps);
	free(f->offsets);
	map_free(&f->step_of);
	vec_free(&f->blocks);
	map_free(&f->block_of);
	free(f->in);
	vec_free(&f->queue);
	map_free(&f->begins);
	free(f);
}

static u32 block_of_step(const struct data_flow *f, u32 step)
{
	u32 low = 0, high = (u32)f->blocks.n;

	while (low + 1 < high) {
		u32 middle = low + (high - low) / 2;

		if (f->blocks.v[middle].first <= step)
			low = middle;
		else
			high = middle;
	}
	return low;
}

enum data_access data_flow_access(struct data_flow *f, u64 vaddr, struct dtype *type, u64 *offset)
{
	u32 step = vaddr - f->code->start < f->code->n ? map_get(&f->step_of, vaddr - f->code->start) : ID_NONE, block;
	const struct step *i = step == ID_NONE ? NULL : &f->steps[step];
	struct state s;
	struct place p;

	if (i && i->canary)
		return ACCESS_CANARY;
	if (!i || i->unclear || (!i->access && !i->stack))
		return ACCESS_UNKNOWN;
	if (i->stack)
		return ACCESS_STACK;
	block = block_of_step(f, step);
	s = f->in[block];
	state_take_claims(&f->world, &s, pc_of(f, f->blocks.v[block].first), UINT32_MAX);
	for (u32 k = f->blocks.v[block].first; k < step; k++)
		step_over(f, &s, k);
	state_find_place(&f->world, &s, vaddr, &i->at, &p);
	*type = p.type;
	*offset = p.offset;
	return p.access;
}
