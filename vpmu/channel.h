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
 * Most chunks are written by threads that live. Whoever takes another one (t->scarce tells) gives it up behind each
 * record: else threads that wait for each other might wait for a chunk for ever.
 */
bool channel_scarce(const struct vpmu_control *control);
/* Puts a record that is changed in place later: where it stands until t's chunk is closed. NULL: it does not stay
 * there, or there was no room. */
u8 *channel_put_kept(struct vthread *t, const struct bytes *record);

#endif
