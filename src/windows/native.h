/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that alternate the lengths of periods themselves, as the patches of kernel/ make them. */
#ifndef WINDOWS_NATIVE_H
#define WINDOWS_NATIVE_H

#include "base/types.h"

/*
 * Does this kernel do it? It is seen by what comes: an attr that is accepted says nothing, as other versions put other
 * things there. A clock is sampled for some 20 ms. *why (static text): what was seen.
 */
bool windows_native_works(const char **why);

#endif
