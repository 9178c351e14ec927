/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's shadow stack (shadow.h) kept with what QEMU knows. What core.c and sampler.c call is in vthread.h. */
#ifndef VPMU_CALLSTACK_H
#define VPMU_CALLSTACK_H

#include "vpmu/vthread.h"

void callstack_start(struct vthread *t);
void callstack_stop(struct vthread *t);
/* rt_sigaction has set a handler for a signal (0: none). */
void callstack_handler(struct vprocess *p, u64 pc);
void callstack_sigreturn(struct vthread *t);
/* A block begins that leaps (block.h). */
void callstack_leap(struct vthread *t);

#endif
