/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/deferred.h"

#include "base/hash.h"

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

static u64 tls_key(u32 event, u64 cookie)
{
	return hash_mix(hash_u64(cookie), event + 1ull);
}

void deferred_tls_add(struct deferred_tls *d, const struct deferred_bytes *b)
{
	map_set(&d->by_cookie, tls_key(b->event, b->cookie), (u32)d->bytes.n);
	vec_push(&d->bytes, *b);
}

const struct deferred_bytes *deferred_tls_find(const struct deferred_tls *d, u32 event, u64 cookie)
{
	u32 i = d && cookie ? map_get(&d->by_cookie, tls_key(event, cookie)) : ID_NONE;
	const struct deferred_bytes *b = i == ID_NONE ? NULL : &d->bytes.v[i];

	/* Two may have one hash. */
	return b && b->event == event && b->cookie == cookie ? b : NULL;
}

void deferred_tls_free(struct deferred_tls *d)
{
	map_free(&d->by_cookie);
	vec_free(&d->bytes);
}
