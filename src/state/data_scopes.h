/* SPDX-License-Identifier: Apache-2.0 */
/* In which namespaces and classes types stand, as it is written before their names: "net::queue::". */
#ifndef STATE_DATA_SCOPES_H
#define STATE_DATA_SCOPES_H

#include <elfutils/libdw.h>

#include "base/types.h"

struct data_scopes;

struct data_scopes *data_scopes_new(void);
void data_scopes_free(struct data_scopes *s);
/* "" where it stands in none; lives as long as s. */
const char *data_scope_of(struct data_scopes *s, Dwarf_Die *type);

#endif
