/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/deferred.h"

void deferred_add(struct deferred_chains *d, u64 cookie, const struct u64s *ips)
{
	map_set(&d->by_cookie, cookie, (u32)d->chains.n);
	vec_push(&d->chains, *ips);
}

const struct u64s *deferred_find(const struct deferred_chains *d, u64 cookie)
{
	u32 i = d ? map_get(&d->by_cookie, cookie) : ID_NONE;

	return i == ID_NONE ? NULL : &d->chains.v[i];
}

void deferred_free(struct deferred_chains *d)
{
	map_free(&d->by_cookie);
	vec_free(&d->chains);
}
