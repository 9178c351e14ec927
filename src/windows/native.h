/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that alternate the lengths of periods themselves, as the patches of kernel/ make them. */
#ifndef WINDOWS_NATIVE_H
#define WINDOWS_NATIVE_H

#include "base/types.h"

/*
 * Does this kernel support it? This is found out by sampling a clock for about 20 ms: that the attr is accepted says
 * nothing, because other kernel versions have other fields there. *why (static text): what was found.
 */
bool windows_native_works(const char **why);

#endif
