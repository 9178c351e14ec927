/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the instructions of a function load and store: each register is followed through the function's code, from what
 * DWARF says of variables on.
 */
#ifndef STATE_DATA_FLOW_H
#define STATE_DATA_FLOW_H

#include "state/data_globals.h"
#include "state/data_kinds.h"
#include "state/data_types.h"
#include "state/dtype.h"

struct data_flow;

/* code: of the function, borrowed until it is freed. function: its DIE; g and kinds outlive it. NULL: no code that is
 * known. */
struct data_flow *data_flow_new(const struct data_code *code, Dwarf_Die *function, const struct data_globals *g,
				struct data_kinds *kinds);
void data_flow_free(struct data_flow *f);

enum data_access { ACCESS_UNKNOWN, ACCESS_TYPED, ACCESS_STACK, ACCESS_CANARY };

/* Of the instruction that begins at a linked address. With ACCESS_TYPED, *type and *offset say what. ACCESS_STACK: it
 * is the stack, and no variable there. */
enum data_access data_flow_access(struct data_flow *f, u64 vaddr, struct dtype *type, u64 *offset);

#endif
