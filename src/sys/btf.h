/* SPDX-License-Identifier: Apache-2.0 */
/* Where the running kernel has the members of its structs, by the type information that it offers (BTF). */
#ifndef SYS_BTF_H
#define SYS_BTF_H

#include "base/bytes.h"
#include "base/vec.h"

struct btf {
	struct bytes file;
	const u8 *types;
	const char *strings;
	u32 types_size, strings_size;
	VEC(u32) at; /* of each type, in types; the first is of type 1 */
};

/* The running kernel's. 0 or a negative errno; -EINVAL: it makes no sense. Not noted. */
int btf_read(struct btf *b);
/* The same of bytes that are already there, which b takes over. */
int btf_take(struct btf *b, struct bytes *file);
void btf_free(struct btf *b);

/* The offset of a member in bytes: "thread.fsbase" of "task_struct". Structs without a name belong to the one around
 * them. False: there is none, or it is a bit field. */
bool btf_offset(const struct btf *b, const char *type, const char *path, u32 *offset);

#endif
