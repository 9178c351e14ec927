/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding: makes call chains of the copies of stacks that samples have, record by record, while a recording is made.
 * What is written is what a recording of call chains has, and nothing of what was on the stacks.
 */
#ifndef PASS_UNWINDING_H
#define PASS_UNWINDING_H

#include "attrib/unwind.h"
#include "codec/features.h"

struct unwinding;

struct unwinding *unwinding_new(const struct notify *notify);
void unwinding_free(struct unwinding *u);
/* The events as the kernel writes them, and the same as the recording describes them: samples of those that lose their
 * stacks between these two are unwound. Both outlive u. */
void unwinding_begin(struct unwinding *u, const struct evlist *kernel, const struct evlist *recorded);
/* Takes the records of this machine, in order of time as good as (record/unwind.h); appends what the recording gets in
 * a record's place. */
void unwinding_take(struct unwinding *u, const u8 *record, u16 size, struct bytes *out);
/* What became of the stacks so far; all 0 before unwinding_begin. */
const struct stack_counts *unwinding_counts(const struct unwinding *u);
/* The same since the last call, for the readers of a recording (of several, if files are switched), and where stacks
 * were cut: FEAT_UNWOUND, if anything was unwound. */
void unwinding_describe(struct unwinding *u, struct features *f, struct arena *arena);
/* The same by reason, without files (record/unwind.h); nothing is new to it. The caller frees unwound_cuts. */
void unwinding_sum_up(const struct unwinding *u, struct features *f);
/* Samples that are not in the recording: of an event that nobody knows, damaged, or too large. */
u64 unwinding_dropped(const struct unwinding *u);

#endif
