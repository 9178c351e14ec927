/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin does where a part of it is absent: no truth. */
#include "vpmu/vthread.h"

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
