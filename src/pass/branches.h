/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches: a view of a recording in which each branch in a sample's branch stack is counted once, at its target,
 * instead of the samples. It is perf's `report --branch-stack`, and the default view of recordings that were made for
 * it (record -b).
 */
#ifndef PASS_BRANCHES_H
#define PASS_BRANCHES_H

#include "pass/pipeline.h"

/*
 * Decides whether to use this view, and changes o accordingly: its default keys instead of the others, and no stacks,
 * costs or windows. Noted: ERR_NOTFOUND, if the recording has no branches to be shown, and ERR_USAGE, if keys of
 * branches are asked for where samples are shown.
 */
int branches_settle(struct pipeline_opts *o, const struct source *src, bool *on, const struct notify *notify);

#endif
