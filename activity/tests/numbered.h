/* SPDX-License-Identifier: Apache-2.0 */
/* Activities that are told by one number, of which all of their bytes are made. */
#ifndef NUMBERED_H
#define NUMBERED_H

#include <string.h>

#include "reticle/activity.h"

static inline struct activity_ids ids_of(uint8_t n)
{
	struct activity_ids ids;

	memset(&ids, n, sizeof(ids));
	return ids;
}

static inline void push(uint8_t n)
{
	struct activity_ids ids = ids_of(n);

	activity_push(&ids);
}

static inline void set(uint8_t n)
{
	struct activity_ids ids = ids_of(n);

	activity_set(&ids);
}
#endif
