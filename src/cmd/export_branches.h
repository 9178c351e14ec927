/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle export` of the branches of one binary: --to bolt, as perf2bolt takes them with -pa; --to fdata, as
 * llvm-bolt does; --to autofdo, as compilers do; --to branches, for people and spreadsheets. */
#ifndef CMD_EXPORT_BRANCHES_H
#define CMD_EXPORT_BRANCHES_H

#include "cmd/select.h"

enum branch_form { BRANCHES_NONE, BRANCHES_BOLT, BRANCHES_FDATA, BRANCHES_AUTOFDO, BRANCHES_CSV };

/* binary: its path, its name, or how its build id begins; NULL: the one with the most branches. output: NULL or "-":
 * standard output. select: where the pipeline's options come from. Errors are noted. */
int export_branches(const struct pipeline_opts *o, enum branch_form form, const char *binary, const char *output,
		    const struct select *select, const struct notify *to);

#endif
