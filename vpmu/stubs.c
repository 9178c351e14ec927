/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin does where a part of it is absent: no chains, no registers, no truth. */
#include "vpmu/vthread.h"

void callstack_call(struct vthread *t, const struct frame_event *e)
{
	(void)t;
	(void)e;
}

void callstack_return(struct vthread *t, const struct frame_event *e)
{
	(void)t;
	(void)e;
}

void callstack_jump(struct vthread *t, const struct frame_event *e)
{
	(void)t;
	(void)e;
}

u32 callstack_chain(const struct vthread *t, u64 *chain, u32 max)
{
	(void)t;
	(void)chain;
	(void)max;
	return 0;
}

bool regs_available(const struct vprocess *p)
{
	(void)p;
	return false;
}

u64 regs_stack_pointer(const struct vthread *t)
{
	(void)t;
	return 0;
}

void truth_start(struct vthread *t)
{
	(void)t;
}

void truth_window(struct vthread *t, const struct vpmu_event *e, u64 id, u64 pc)
{
	(void)t;
	(void)e;
	(void)id;
	(void)pc;
}

void truth_end(struct vthread *t)
{
	(void)t;
}
