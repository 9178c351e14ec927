/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's registers (what else calls is in vthread.h). */
#ifndef VPMU_REGS_H
#define VPMU_REGS_H

#include "vpmu/vthread.h"

/* t runs its first block: its registers are looked for. */
void regs_thread_start(struct vthread *t, unsigned vcpu);
/* At a syscall: whether what was found holds the arguments. Not so: registers are not available from then on. */
void regs_confirm(struct vthread *t, s64 num, const u64 args[6]);
/* All registers of a sample's mask (PERF_REG_X86_* or PERF_REG_ARM64_*), lowest bit first, at most 64; returns how
 * many. pc is the first instruction of the block that is entered. Those that QEMU does not have are 0. */
u32 regs_user(const struct vthread *t, u64 mask, u64 pc, u64 *out);
/* One of the machine's own numbers: x86_64 as in instruction encodings, aarch64 x0..x30 and sp. */
u64 regs_get(const struct vthread *t, u32 number);
/* At the entry of a block, which goes on with it. */
void regs_add(struct vthread *t, u32 number, s64 add);

#endif
