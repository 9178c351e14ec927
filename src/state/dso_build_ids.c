/* SPDX-License-Identifier: Apache-2.0 */
/* The build ids that a recording's header lists. */
#include <string.h>

#include "base/hash.h"
#include "state/dso_table.h"

static u64 build_id_key(const char *path, size_t len, bool kernel)
{
	return hash_mix(hash_bytes(path, len), kernel);
}

const struct rec_build_id *dso_listed_build_id(const struct dsos *d, const char *path, size_t len, bool kernel)
{
	u32 i = map_get(&d->build_id_of, build_id_key(path, len, kernel));

	for (; i != ID_NONE; i = d->build_ids.v[i].same_key) {
		const struct listed_id *l = &d->build_ids.v[i];

		if (l->kernel == kernel && l->path.len == len && !memcmp(l->path.p, path, len))
			return l->b;
	}
	return NULL;
}

bool dso_list_build_id(struct dsos *d, const struct rec_build_id *id, struct str path, bool kernel)
{
	struct listed_id b = { .b = id, .path = path, .kernel = kernel, .same_key = ID_NONE };
	u32 i = (u32)d->build_ids.n, *head;

	if (!id->size || dso_listed_build_id(d, path.p, path.len, kernel))
		return false;
	head = map_at(&d->build_id_of, build_id_key(path.p, path.len, kernel), i);
	if (*head != i)
		b.same_key = *head;
	*head = i;
	vec_push(&d->build_ids, b);
	return true;
}
