/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample profile as LLVM's compilers read it (-fprofile-sample-use), in text:
 *
 *	FUNCTION:TOTAL:HEAD
 *	 LINE[.DISCRIMINATOR]: COUNT [CALLED:COUNT ...]
 *	 LINE[.DISCRIMINATOR]: INLINED:TOTAL
 *	  LINE[.DISCRIMINATOR]: COUNT
 */
#ifndef VIEW_EXPORT_AUTOFDO_H
#define VIEW_EXPORT_AUTOFDO_H

#include "agg/sample_profile.h"
#include "base/bytes.h"

void view_autofdo(const struct sample_profile *p, struct bytes *out);

#endif
