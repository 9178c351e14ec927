/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names or numbers from the user. An empty list contains everything. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include <string.h>

#include "base/types.h"

struct name_list {
	const char *const *v;
	u32 n;
};

struct u32_list {
	const u32 *v;
	u32 n;
};

static inline bool u32_list_holds(const struct u32_list *l, u32 x)
{
	for (u32 i = 0; i < l->n; i++)
		if (l->v[i] == x)
			return true;
	return !l->n;
}

static inline bool name_list_holds(const struct name_list *l, const char *name)
{
	for (u32 i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return !l->n;
}

#endif
