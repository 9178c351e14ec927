/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One type of DWARF: without qualifiers and typedefs, which mean the same data. Input is hostile: types that refer to
 * themselves, or have more parts than compilers make, are given up.
 */
#ifndef STATE_DTYPE_H
#define STATE_DTYPE_H

#include <elfutils/libdw.h>

#include "base/bytes.h"
#include "base/types.h"

struct dtype {
	Dwarf_Die die;
	const char *alias; /* the typedef that led to it last, or NULL */
	u64 size;	   /* bytes; 0: it has none that is known */
};

/* What DW_AT_type of that leads to. False: nothing (void), or it is damaged. */
bool dtype_of(Dwarf_Die *of, struct dtype *out);
/* What a pointer or reference points to. False: t is neither, or that is void. */
bool dtype_pointee(const struct dtype *t, struct dtype *out);
/* What pointers to pointers lead to at last; of void, the last pointer. */
struct dtype dtype_behind_pointers(const struct dtype *t);
bool dtype_is_pointer(const struct dtype *t);
/* While *t is an array: its element, and *offset in that. False: elements have no size. */
bool dtype_element(struct dtype *t, u64 *offset);
/* The same type, perhaps as two units have it. */
bool dtype_equal(const struct dtype *a, const struct dtype *b);

/* Its name as C has it: "struct list", "unsigned int", "struct list*". scope: text before the name (C++), or "". */
void dtype_put_name(const struct dtype *t, const char *scope, struct bytes *out);
/* What lies at an offset: "slots[].next"; nothing where there are no members; several names with | between them where
 * members lie upon each other. */
void dtype_put_members(const struct dtype *t, u64 offset, struct bytes *out);
/* A pointer of 8 bytes lies exactly there, and is of one type whichever member of a union is meant: what it points to.
 */
bool dtype_pointer_at(const struct dtype *t, u64 offset, struct dtype *out);
/* The innermost array that holds the offset, if that is in its first element: *element, and *in it. False: there is
 * none. */
bool dtype_array_at(const struct dtype *t, u64 offset, struct dtype *element, u64 *in);
/* Does a lie in b at that offset, as a whole, or is it b? */
bool dtype_holds(const struct dtype *b, u64 offset, const struct dtype *a);

#endif
