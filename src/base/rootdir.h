/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process sees its files. */
#ifndef BASE_ROOTDIR_H
#define BASE_ROOTDIR_H

#include "base/types.h"

/*
 * Which root directory and mount namespace a living process has: 0 if they are ours, or cannot be asked for, else a
 * number below 2^31 that tells them from others. What it calls /bin/sh is /bin/sh below /proc/PID/root then.
 */
u32 rootdir_of(u32 pid);

#endif
