/* SPDX-License-Identifier: Apache-2.0 */
/* A function that copies what activity_set is given, and nothing else. It is linked as the library is, statically or
 * from a shared library: the way to a function is a large part of what a call costs. */
#ifndef ACTIVITY_BENCH_PLAIN_H
#define ACTIVITY_BENCH_PLAIN_H

#include "reticle/activity.h"

__attribute__((visibility("default"))) void plain_copy(const struct activity_ids *from);

#endif
