/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the variables and parameters of a function are, those of inlined calls too: what registers point to, and what
 * lies in the frame. Only places that are told exactly count; values that are computed at the entry or stand in no
 * register are left out.
 */
#ifndef STATE_DATA_VARS_H
#define STATE_DATA_VARS_H

#include "base/vec.h"
#include "state/dtype.h"

#define VAR_CFA 32u /* instead of a register: the frame's address, as call frame information has it */
#define VAR_PLACES (VAR_CFA + 1)

struct var_place {
	u64 from, to; /* linked addresses of code */
	s64 offset;
	struct dtype type;
};

typedef VEC(struct var_place) var_places;

struct data_vars {
	/* register + offset is a pointer to `type`. */
	var_places pointers[VAR_CFA];
	/* A variable of `type` lies at register + offset. */
	var_places slots[VAR_PLACES];
	/* Return addresses of calls, and what they return: pointers to `type`. offset: 0. */
	var_places calls;
	u32 n; /* of all */
};

/* function: the DIE of one that is not inlined. machine: EM_*. */
void data_vars_find(struct data_vars *v, Dwarf_Die *function);
void data_vars_free(struct data_vars *v);

#endif
