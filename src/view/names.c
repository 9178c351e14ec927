/* SPDX-License-Identifier: Apache-2.0 */
#include "view/names.h"

#include <string.h>

u32 name_width(const u8 *p, size_t n)
{
	u32 width = (u32)n;
	size_t i = 0;

	/* Eight at a time: the bits of those that continue a character are added up by the product's highest byte. */
	for (u64 w; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		width -= (u32)(((w >> 7 & ~(w >> 6) & 0x0101010101010101u) * 0x0101010101010101u) >> 56);
	}
	for (; i < n; i++)
		width -= (p[i] & 0xc0) == 0x80;
	return width;
}

size_t name_cut(const u8 *p, size_t n, u32 width)
{
	size_t i = 0;

	for (; i < n; i++)
		if ((p[i] & 0xc0) != 0x80 && !width--)
			break;
	return i;
}

void name_put(const u8 *p, size_t n, u32 width, struct bytes *out)
{
	u32 has = name_width(p, n), tail = width ? (width - 1) / 2 : 0;
	size_t end;

	if (has <= width || !width) {
		bytes_put(out, p, has <= width ? n : 0);
		return;
	}
	end = name_cut(p, n, has - tail);
	bytes_put(out, p, name_cut(p, n, width - 1 - tail));
	bytes_str(out, "…");
	bytes_put(out, p + end, n - end);
}

static u32 widest(const u32 *widths, u32 n, u64 names)
{
	u32 found = ID_NONE;

	for (u32 k = 0; k < n && k < 64; k++)
		if (names >> k & 1 && (found == ID_NONE || widths[k] > widths[found]))
			found = k;
	return found;
}

/* Narrows the widest of these columns, down to the least width, as long as n columns together have more than room. */
static void narrow(u32 *widths, u32 n, u64 names, u32 room, u32 least)
{
	u32 at = widest(widths, n, names);
	u64 all = 0;

	for (u32 k = 0; k < n; k++)
		all += 2 + (u64)widths[k];
	while (at != ID_NONE && all > room && widths[at] > least) {
		widths[at]--;
		all--;
		at = widest(widths, n, names);
	}
}

void names_fit(u32 *widths, u32 n, u64 names, u32 room, u32 least)
{
	u64 last = names ? 1ull << (63 - __builtin_clzll(names)) : 0;

	if (room == NAMES_WHOLE)
		return;
	narrow(widths, n, names, room, NAMES_LEAST);
	narrow(widths, n, names & ~last, room, least);
	narrow(widths, n, names, room, least);
}
