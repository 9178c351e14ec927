/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of several events at once.
 *
 * An operation of Arm SPE is a sample of several events, with the same values of all keys: a load that missed a cache
 * is one of accesses to two caches and the TLB, of misses, and of memory. Where rows are all that is wanted, it is
 * counted once for all of them, in one tree whose groups also say which events these are (collected.together). Rows
 * are made of that tree and ordered by their keys, once. Each event then takes those that it has samples of, with
 * weights of its own, and brings them into the order of these.
 */
#ifndef AGG_TOGETHER_H
#define AGG_TOGETHER_H

#include "agg/profile.h"
#include "attrib/spe.h"

/* Fills the rows of each event that shares, and adds to p->tally, as profile_make_rows and profile_count_stacks do for
 * others. p->together has its tree, which is gone afterwards; spe: whose bits its groups have. */
void profile_rows_together(struct profile *p, const struct spe *spe, const struct row_filter *filter, u32 workers);

#endif
