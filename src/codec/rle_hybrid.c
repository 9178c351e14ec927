/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/rle_hybrid.h"

#include <endian.h>
#include <string.h>

#include "codec/thrift.h"

#define GROUP 8u

u32 rle_hybrid_width(u32 largest)
{
	return largest ? 32u - (u32)__builtin_clz(largest) : 1;
}

/* The number of values from v on that are equal to the first one. */
static u32 run_length(const u32 *v, u32 n)
{
	u32 i = 1;

	while (i < n && v[i] == v[0])
		i++;
	return i;
}

static void put_run(u32 value, u32 n, u32 width, struct bytes *out)
{
	bytes_varint(out, (u64)n << 1);
	for (u32 bits = 0; bits < width; bits += 8)
		bytes_u8(out, (u8)(value >> bits));
}

void rle_hybrid_put_same(u32 value, u32 n, u32 width, struct bytes *out)
{
	if (n)
		put_run(value, n, width, out);
}

/* Bits of up to eight values, the first one in the lowest, in as many bytes as a value has bits. */
static void put_group(const u32 *v, u32 n, u32 width, struct bytes *out)
{
	u64 bits = 0;
	u32 held = 0;
	u8 *to;

	if (out->cap - out->len < MAX(width, (u32)sizeof(bits)))
		bytes_grow(out, MAX(width, (u32)sizeof(bits)));
	to = out->p + out->len;
	out->len += width;
	if (n == GROUP && width <= 8) {
		for (u32 i = 0; i < GROUP; i++)
			bits |= (u64)v[i] << (i * width);
		bits = htole64(bits);
		memcpy(to, &bits, sizeof(bits)); /* the last bytes will be those of the next group */
		return;
	}
	for (u32 i = 0; i < GROUP; i++) {
		bits |= (u64)(i < n ? v[i] : 0) << held;
		for (held += width; held >= 8; held -= 8, bits >>= 8)
			*to++ = (u8)bits;
	}
}

/* Of a whole group, without a branch for each value. */
static bool is_run(const u32 *v)
{
	u32 other = 0;

	for (u32 i = 1; i < GROUP; i++)
		other |= v[i] ^ v[0];
	return !other;
}

/* Packed values end where a run begins, and only at the end of a group. */
static u32 packed_groups(const u32 *v, u32 n)
{
	u32 groups = 0;

	for (u32 i = 0; i < n; i += GROUP, groups++)
		if (n - i >= GROUP && is_run(v + i))
			break;
	return groups;
}

void rle_hybrid_put(const u32 *v, u32 n, u32 width, struct bytes *out)
{
	for (u32 i = 0; i < n;) {
		u32 run = run_length(v + i, n - i), groups;

		if (run >= GROUP || run == n - i) {
			put_run(v[i], run, width, out);
			i += run;
			continue;
		}
		groups = packed_groups(v + i, n - i);
		bytes_varint(out, (u64)groups << 1 | 1);
		for (; groups; groups--, i += MIN(n - i, GROUP))
			put_group(v + i, MIN(n - i, GROUP), width, out);
	}
}
