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
#define NAMES_LEAST 24	  /* the width of a column of names to which it shrinks first */
#define NAMES_FEWEST 8	  /* the minimum width: the last column, which is mostly functions, shrinks to it last */
#define NAMES_TOGETHER 90 /* columns of names together, if there is no terminal and there are many others */
#define NAMES_WHOLE ~0u	  /* as room: nothing is cut */

/* Characters, not bytes. */
u32 name_width(const u8 *p, size_t n);
/* The number of bytes of the first `width` characters. */
size_t name_cut(const u8 *p, size_t n, u32 width);
/* The name in at most `width` characters, including "…". */
void name_put(const u8 *p, size_t n, u32 width, struct bytes *out);
/* Narrows the columns of names (bits of `names`) until n columns, each with two blanks before it, fit into the room.
 */
void names_fit(u32 *widths, u32 n, u64 names, u32 room);

#endif
