/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches: a view of a recording in which each branch that a sample's branch stack holds is counted, once, at its
 * target, in place of the samples. It is perf's `report --branch-stack`, and what both show unasked of recordings that
 * were made for it (record -b).
 */
#ifndef PASS_BRANCHES_H
#define PASS_BRANCHES_H

#include "pass/pipeline.h"

/*
 * Settles whether it is that view, and leaves in o what goes with it: its usual keys in place of the others, and
 * neither stacks, costs nor windows. ERR_USAGE, noted, when branches are wanted, or keys of them, and cannot be had.
 */
int branches_settle(struct pipeline_opts *o, const struct source *src, bool *on, const struct notify *notify);

#endif
