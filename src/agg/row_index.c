/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/row_index.h"

#include <string.h>

#include "base/hash.h"

static size_t size_of_keys(const struct row_index *x)
{
	return x->nr_keys * sizeof(u64);
}

static u64 hash_of(const struct row_index *x, const struct row *r)
{
	return hash_bytes(r->keys, size_of_keys(x));
}

/* Rows whose hashes are equal stand under successive ones. */
static void fill(struct row_index *x)
{
	for (size_t i = 0; i < x->of->rows.n; i++) {
		u64 h = hash_of(x, &x->of->rows.v[i]);

		while (map_get(&x->by_keys, h) != ID_NONE)
			h++;
		map_set(&x->by_keys, h, (u32)i);
	}
}

u32 row_index_find(struct row_index *x, const struct row *wanted)
{
	u64 h = hash_of(x, wanted);
	u32 id;

	if (!x->by_keys.n)
		fill(x);
	while ((id = map_get(&x->by_keys, h)) != ID_NONE &&
	       memcmp(x->of->rows.v[id].keys, wanted->keys, size_of_keys(x)) != 0)
		h++;
	return id;
}

void row_index_free(struct row_index *x)
{
	map_free(&x->by_keys);
}
