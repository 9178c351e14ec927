/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's registers.
 *
 * QEMU 7.2 gives plugins none. They are in its CPU state, which qemu_get_cpu() returns (the binary exports it), at a
 * place that differs between builds. It is found by content: when a program begins, all general registers are 0 but
 * the stack pointer, and the program counter that follows them is the program's entry. That pattern stands in the
 * state once or the search has failed. The first syscalls, whose arguments are known, then have to confirm the place.
 *
 * Between blocks QEMU has all registers in that state, within a block some are in the machine's own: so they are right
 * at the entry of a block and in syscalls only. Condition flags are never there: QEMU computes them when asked.
 */
#include "vpmu/regs.h"

#include <asm/unistd.h>
#include <malloc.h>

#include "vpmu/qemu.h"

#define STATE_MIN 1024u
#define STATE_MAX (1u << 20)

enum { X86_REGS = 16, X86_SP = 4, ARM64_REGS = 32, ARM64_SP = 31, ARM64_LR = 30 };

struct qemu_cpu;
extern struct qemu_cpu *qemu_get_cpu(int vcpu) __attribute__((weak));

static u64 state_u64(const u8 *state, size_t at)
{
	u64 v;

	memcpy(&v, state + at, sizeof(v));
	return v;
}

/* General registers of a program that begins, followed by its entry. */
static bool is_beginning(const u8 *at, u32 nr, u32 sp, u64 entry)
{
	for (u32 i = 0; i < nr; i++)
		if ((state_u64(at, i * 8) != 0) != (i == sp))
			return false;
	return state_u64(at, nr * 8) == entry && !(state_u64(at, sp * 8) & 7);
}

static u32 find_place(const struct vprocess *p, const u8 *state)
{
	size_t size = malloc_usable_size((void *)state);
	u32 nr = p->arm64 ? ARM64_REGS : X86_REGS, sp = p->arm64 ? ARM64_SP : X86_SP, place = 0;
	u64 entry = qemu_plugin_entry_code();

	if (size < STATE_MIN || size > STATE_MAX)
		return 0;
	for (size_t at = 0; at + (nr + 1) * 8 <= size; at += 8) {
		if (!is_beginning(state + at, nr, sp, entry))
			continue;
		if (place)
			return 0;
		place = (u32)at;
	}
	return place;
}

void regs_thread_start(struct vthread *t, unsigned vcpu)
{
	struct vprocess *p = t->process;
	u8 *state = qemu_get_cpu ? (u8 *)qemu_get_cpu((int)vcpu) : NULL;

	if (!p->regs_sought && state)
		p->regs_place = find_place(p, state);
	p->regs_sought = true;
	t->regs = state && p->regs_place ? state + p->regs_place : NULL;
}

u64 regs_get(const struct vthread *t, u32 number)
{
	return state_u64(t->regs, number * 8);
}

void regs_add(struct vthread *t, u32 number, s64 add)
{
	u64 v = regs_get(t, number) + (u64)add;

	memcpy(t->regs + number * 8, &v, sizeof(v));
}

void regs_confirm(struct vthread *t, s64 num, const u64 args[6])
{
	static const u8 places[2][7] = { { 0, 7, 6, 2, 10, 8, 9 }, { 8, 0, 1, 2, 3, 4, 5 } };
	const u8 *place = places[t->process->arm64];
	bool same;

	if (!regs_available(t->process) || !t->regs)
		return;
	same = regs_get(t, place[0]) == (u64)num;
	for (u32 i = 0; i < 6; i++)
		same = same && regs_get(t, place[i + 1]) == args[i];
	if (!same)
		t->process->regs_place = 0;
}

bool regs_available(const struct vprocess *p)
{
	return p->regs_place;
}

u64 regs_stack_pointer(const struct vthread *t)
{
	if (UNLIKELY(!t->process->regs_place || !t->regs))
		return 0;
	return state_u64(t->regs, (t->process->arm64 ? ARM64_SP : X86_SP) * 8);
}

/* PERF_REG_X86_*; segments are what Linux gives every 64-bit program. */
static u64 x86_reg(const struct vthread *t, u32 n, u64 pc)
{
	static const u8 places[8] = { 0, 3, 1, 2, 6, 7, 5, 4 };

	if (n < 8)
		return regs_get(t, places[n]);
	if (n >= 16 && n < 24)
		return regs_get(t, n - 8);
	switch (n) {
	case 8:
		return pc;
	case 9:
		return (u32)state_u64(t->regs, (X86_REGS + 1) * 8);
	case 10:
		return 0x33;
	case 11:
		return 0x2b;
	}
	return 0;
}

u32 regs_user(const struct vthread *t, u64 mask, u64 pc, u64 *out)
{
	u32 n = 0;

	for (; mask; mask &= mask - 1) {
		u32 i = (u32)__builtin_ctzll(mask);

		if (!t->regs)
			out[n++] = 0;
		else if (!t->process->arm64)
			out[n++] = x86_reg(t, i, pc);
		else
			out[n++] = i < ARM64_REGS ? regs_get(t, i) : i == ARM64_REGS ? pc : 0;
	}
	return n;
}
