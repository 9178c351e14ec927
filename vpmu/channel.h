/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of the shared memory (codec/vpmu.h). What threads call is in vthread.h. */
#ifndef VPMU_CHANNEL_H
#define VPMU_CHANNEL_H

#include "vpmu/vthread.h"

/*
 * A program starts: chunks that an earlier one with this process id left open (it became this one by exec, or it is
 * dead and its number was given again) are closed, for nobody else would know that they are done.
 */
void channel_adopt(struct vpmu_control *control, s32 real_pid);

/*
 * More than half of the chunks are taken. Whoever takes another one (t->scarce tells) gives it up before it may be idle
 * for long: else that many idle threads would make the others wait for ever.
 */
bool channel_scarce(const struct vpmu_control *control);
void channel_idle(struct vthread *t);
/* Puts a record that is changed in place later: where it stands until t's chunk is closed. NULL: there was no room. */
u8 *channel_put_kept(struct vthread *t, const struct bytes *record);

#endif
