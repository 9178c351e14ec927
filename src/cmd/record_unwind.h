/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding while recording (--call-graph unwind), for commands that record: what the recorder asks for
 * (record/unwind.h) done by what knows how (pass/unwinding.h). */
#ifndef CMD_RECORD_UNWIND_H
#define CMD_RECORD_UNWIND_H

#include "pass/unwinding.h"
#include "record/unwind.h"

/* u outlives it. */
struct record_unwind record_unwind_by(struct unwinding *u);
/* What became of stacks that were unwound, of which so many bytes were copied; nothing if there were none. command:
 * "record" or "top". */
void record_print_unwound(const char *command, const struct unwinding *u, u32 copied);

#endif
