/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking of .xz, which is liblzma's, so that only the process apart may (state/apart.h). */
#ifndef STATE_UNXZ_H
#define STATE_UNXZ_H

#include "base/bytes.h"

/* Symbol tables compress to about a fifth; what grows more than 32-fold is an attempt to fill the memory. */
#define UNXZ_TIMES 32
#define UNXZ_FREE (1u << 20)
#define UNXZ_MOST ((64u << 20) - 1) /* in any case */
#define UNXZ_MEMORY (128u << 20)    /* for a dictionary */

/* What n bytes may stand for. */
static inline u64 unxz_most(u64 n)
{
	return MIN(n * UNXZ_TIMES + UNXZ_FREE, UNXZ_MOST);
}

/* Appends what n bytes stand for. False: they are no .xz, or stand for more than that. */
bool unxz(const u8 *packed, size_t n, struct bytes *out);

#endif
