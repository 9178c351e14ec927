/* SPDX-License-Identifier: Apache-2.0 */
/* Types by number, and what was found out about them: the same members are loaded again and again. */
#ifndef STATE_DATA_KINDS_H
#define STATE_DATA_KINDS_H

#include "state/dtype.h"

struct data_kinds;

struct data_kinds *data_kinds_new(void);
void data_kinds_free(struct data_kinds *k);
u32 data_kind_of(struct data_kinds *k, const struct dtype *t);
/* Valid until another one is added. */
const struct dtype *data_kind(const struct data_kinds *k, u32 kind);
/* As dtype_pointer_at; NULL: none. Valid until the next call. */
const struct dtype *data_kind_pointer(struct data_kinds *k, u32 kind, u64 offset);

#endif
