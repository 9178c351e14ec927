/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in tables. A C++ name may have hundreds of characters; a column of such names would push all others, and its
 * own ruler, out of sight. If a table is wider than its room, the widest columns of names shrink until it fits, and
 * names are cut in the middle, because they differ mostly at their ends.
 */
#ifndef VIEW_NAMES_H
#define VIEW_NAMES_H

#include "base/bytes.h"

#define NAMES_ROOM 120	  /* columns, if there is no terminal */
#define NAMES_LEAST 24	  /* the minimum width of a column of names, however small the terminal is */
#define NAMES_SCREEN 8	  /* the same on a screen, on which lines do not go on below */
#define NAMES_TOGETHER 90 /* columns of names together, if there is no terminal and there are many others */
#define NAMES_WHOLE ~0u	  /* as room: nothing is cut */

/* Characters, not bytes. */
u32 name_width(const u8 *p, size_t n);
/* The number of bytes of the first `width` characters. */
size_t name_cut(const u8 *p, size_t n, u32 width);
/* The name in at most `width` characters, including "…". */
void name_put(const u8 *p, size_t n, u32 width, struct bytes *out);
/* Narrows the columns of names (bits of `names`) until n columns, each with two blanks before it, fit into the room,
 * or all have the least width. The last one of them, which is mostly functions, gets narrower than NAMES_LEAST last.
 */
void names_fit(u32 *widths, u32 n, u64 names, u32 room, u32 least);

#endif
