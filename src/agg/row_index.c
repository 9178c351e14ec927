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

static void fill(struct row_index *x)
{
	for (size_t i = 0; i < x->of->rows.n; i++)
		set_add(&x->by_keys, hash_of(x, &x->of->rows.v[i]), (u32)i);
}

u32 row_index_find(struct row_index *x, const struct row *wanted)
{
	u64 h = hash_of(x, wanted);
	u32 id, at;

	if (!x->by_keys.n)
		fill(x);
	SET_FIND(id, &x->by_keys, h, at, !memcmp(x->of->rows.v[id].keys, wanted->keys, size_of_keys(x)));
	return id;
}

void row_index_free(struct row_index *x)
{
	set_free(&x->by_keys);
}
