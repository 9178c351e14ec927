/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU 7.2 begins an x86_64 signal handler with a stack pointer that is a multiple of 16. At any function's entry it
 * is 8 beside one, on the return address, and compilers rely on it: a handler that keeps a vector register on its
 * stack, as printf does, faults. So the frame is moved down by 8 before the handler's first instruction, with the
 * registers that point into it. The state of the floating point unit, which has to be aligned, stays; the frame points
 * to it. When the handler returns, QEMU finds the frame by the stack pointer.
 *
 * Sources: System V ABI for x86-64, 3.2.2; Linux, arch/x86/include/uapi/asm/sigcontext.h.
 */
#include "vpmu/regs.h"
#include "vpmu/tasks_impl.h"

enum { X86_RDX = 2, X86_RSP = 4, X86_RSI = 6, X86_RDI = 7 };
enum {
	CONTEXT = 8,
	FPSTATE = CONTEXT + 224,
	FRAME_MAX = 4096
}; /* bytes from the frame's beginning, the return address */

void sigframe_align(struct vthread *t)
{
	u64 sp = regs_stack_pointer(t), fpstate, n;
	u8 frame[FRAME_MAX];

	if (t->process->arm64 || !sp || sp % 16 || regs_get(t, X86_RDX) != sp + CONTEXT ||
	    regs_get(t, X86_RDI) - 1 >= 64 || !guest_read(sp + FPSTATE, &fpstate, sizeof(fpstate)))
		return;
	n = fpstate - sp;
	if (n <= FPSTATE || n > sizeof(frame) || regs_get(t, X86_RSI) - sp >= n || !guest_read(sp, frame, n) ||
	    !guest_write(sp - 8, frame, n))
		return;
	regs_add(t, X86_RSP, -8);
	regs_add(t, X86_RDX, -8);
	regs_add(t, X86_RSI, -8);
}
