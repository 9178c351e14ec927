/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers: from where each function is called, as far as the branch records of a recording's call stacks show it. A
 * first pass over them fills the table, so that what it says does not depend on the order of samples. attrib/lbr.c
 * says what it is for.
 */
#ifndef ATTRIB_CALLERS_H
#define ATTRIB_CALLERS_H

#include "attrib/functions.h"
#include "codec/sample_stack.h"

/* A function of a process. */
struct callee {
	u32 pid;
	u64 name; /* struct function's */
};

struct callers;
/* samples: how many the table is expected for, which sets its size. depth: how many registers the CPU has for branch
 * records (0: not known). stitches: whether call stacks may be completed by what the table says. */
struct callers *callers_new(u64 samples, u32 depth, bool stitches);
void callers_free(struct callers *c);

/* Notes that f was called from the address `site`, by a call of the address `target`. Thread-safe. */
void callers_add(struct callers *c, const struct callee *f, u64 site, u64 target);

/* Is the call at `site` of the address `target` the only one of f in the recording? To be asked when all was added. */
bool callers_only(const struct callers *c, const struct callee *f, u64 site, u64 target);
/* Was the thread seen, in any sample of the program that it had mapped there, to leave a call without a return, or to
 * run on another stack or in a handler? Or to call a function from itself that code comes back to
 * (function_comes_back)? */
bool callers_jumps(const struct callers *c, u32 pid, u32 tid, const struct space *space);
/* What callers_new was told. */
bool callers_stitch(const struct callers *c);
/* Does the CPU tell registers (hw_idx)? In some sample it was other than 0. */
bool callers_indexed(const struct callers *c);

/* Adds what branch records show to the table; each worker has its own reader. */
struct caller_reader;
struct caller_reader *caller_reader_new(struct callers *c, const struct procs *procs, struct dsos *dsos);
void caller_reader_free(struct caller_reader *r);
/* Takes the branch records of a sample, which have to stay in memory as long as the reader. clock: the sample's. user:
 * the sample was taken in user space. */
void callers_read(struct caller_reader *r, const struct sample_stack *s, u64 clock, bool user);

#endif
