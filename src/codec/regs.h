/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the registers in samples, by their number in the mask of PERF_SAMPLE_REGS_USER and _INTR. */
#ifndef CODEC_REGS_H
#define CODEC_REGS_H

#include "base/types.h"

/* "AX"; NULL for numbers that are no general register. */
const char *x86_reg_name(u32 n);

#endif
