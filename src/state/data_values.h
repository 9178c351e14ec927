/* SPDX-License-Identifier: Apache-2.0 */
/* What registers hold at an instruction, for data_flow.c, whose essay says what values are; nobody else includes this.
 */
#ifndef STATE_DATA_VALUES_H
#define STATE_DATA_VALUES_H

#include "base/map.h"
#include "codec/step.h"
#include "state/data_flow.h"
#include "state/data_vars.h"

enum value_kind { UNREACHED, ANY, FRAME, ADDRESS, NUMBER, POINTER, ELEMENT, INDEXED, MULTIPLE };

struct value {
	u32 kind; /* enum value_kind */
	u32 type; /* in data_kinds */
	s64 n;
	u64 factor; /* of INDEXED */
};

struct state {
	struct value r[STEP_REGS];
};

/* What they are found from. */
struct data_world {
	const struct data_globals *globals;
	struct data_kinds *kinds;
	struct data_vars vars;
	u32 sp;	  /* the register */
	u64 work; /* places that were looked at, since somebody set it */
};

struct place {
	enum data_access access;
	struct dtype type;
	u64 offset;
};

/* What is known of a register to which a and b lead, at pc, where from is the state of one of them. */
struct value value_meet(struct data_world *w, u32 reg, const struct state *from, u64 pc, struct value a,
			struct value b);
/* What variables say of these registers, a bit for each, is worth keeping behind where they end, until the register
 * changes. */
void state_take_claims(struct data_world *w, struct state *s, u64 pc, u32 regs);
/* From before the instruction at pc to behind it. */
void state_step(struct data_world *w, struct state *s, u64 pc, const struct step *i);
void state_forget(struct state *s);
/* What an operand of the instruction at pc is. */
void state_find_place(struct data_world *w, const struct state *s, u64 pc, const struct step_operand *at,
		      struct place *out);

#endif
