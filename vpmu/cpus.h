/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual CPUs (option cpus=N): each has its own events, and runs one thread at a time. Without them all do nothing.
 */
#ifndef VPMU_CPUS_H
#define VPMU_CPUS_H

#include "vpmu/vthread.h"

/* Waits until a CPU is free for t, whose counts are settled; in_block: QEMU is in the middle of a block. */
void cpus_take(struct vthread *t, bool in_block);
/* t gives its CPU up, if it has one. */
void cpus_give(struct vthread *t);
/* At a block's entry: t gives its CPU to one that waits, if there is one, and waits for its turn. */
void cpus_pass(struct vthread *t);
/* A program starts: the CPU that its only thread had before an exec is free, as are those of the dead. */
void cpus_adopt(struct vpmu_control *control, s32 real_pid);

#endif
