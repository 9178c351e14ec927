/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shadow stack: the return addresses that a thread's calls have left, exact where a program returns from them in any
 * other way than the last call first. Knows nothing of QEMU.
 */
#ifndef VPMU_SHADOW_H
#define VPMU_SHADOW_H

#include "base/types.h"

struct callstack;

/* call_size: bytes that a call pushes (8: x86_64; 0: aarch64). */
struct callstack *shadow_new(u32 call_size);
void shadow_free(struct callstack *s);

/*
 * sp is the stack pointer at the first instruction that runs after the transfer, 0 when it is not known.
 * For a jump, to_link tells that the link register held its target (aarch64: a return by other means).
 */
void shadow_call(struct callstack *s, u64 sp, u64 ret);
/*
 * Before the next call, return or jump the stack pointer, sp by now, is set to what is not computed from it: the
 * thread may be on another stack then, however near.
 */
void shadow_leap(struct callstack *s, u64 sp);
/* These two return true when the thread is on a stack now that was not seen before: its chain is empty. */
bool shadow_return(struct callstack *s, u64 sp, u64 to);
bool shadow_jump(struct callstack *s, u64 sp, u64 from, u64 to, bool to_link);
/* A signal's handler begins, with this stack pointer and return address. The old ones are where the thread was. */
void shadow_signal(struct callstack *s, u64 sp, u64 restorer, u64 old_sp, u64 old_pc);
/* The handler that began last and still runs ends by sigreturn. */
void shadow_sigreturn(struct callstack *s);

/* A number of the caller's that stays with the innermost frame: 0 in a new one; ID_NONE: there is no frame. */
u32 shadow_mark(const struct callstack *s);
void shadow_set_mark(struct callstack *s, u32 mark);
/* Return addresses, innermost first; at most max. A handler is followed by where its thread was interrupted. */
u32 shadow_chain(const struct callstack *s, u64 *chain, u32 max);

#define SHADOW_FRAMES_MAX (1u << 20)  /* of one stack; calls beyond it are counted only */
#define SHADOW_PARKED_MAX 1024u	      /* stacks that wait for their thread to come back, */
#define SHADOW_WAITING_MAX (4u << 20) /* and frames of all of them; those left longest ago are forgotten */

#endif
