/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process sees its files. */
#ifndef BASE_ROOTDIR_H
#define BASE_ROOTDIR_H

#include "base/types.h"

/*
 * Identifies the root directory and mount namespace of a running process: 0 if they are ours, or cannot be found out,
 * else a number below 2^31 that differs from those of others. In the latter case its /bin/sh is /bin/sh below
 * /proc/PID/root.
 */
u32 rootdir_of(u32 pid);

#endif
