/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that alternate periods themselves: perf_event_attr of 160 bytes, with the length of the short period at 144, the width of
 * the jitter at 152 and the number of short periods in a batch at 156. sample_period is that of a whole turn.
 */
#ifndef IO_WINDOW_NATIVE_H
#define IO_WINDOW_NATIVE_H

#include "codec/attr.h"
#include "codec/schedule.h"

/* As perf_open, with the schedule. -1 and errno; E2BIG: this kernel has no such thing. */
int window_native_open(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu, int group);

/*
 * Does this kernel do it? It is seen by what comes: an attr that is accepted says nothing, as other versions put other things
 * there. A clock is sampled for some 20 ms. *why (static text): what was seen.
 */
bool windows_native_works(const char **why);

#endif
