/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reticle report` that name functions in stacks: --ignore-callees, --parent, --exclude-other. */
#ifndef CMD_REPORT_STACKS_H
#define CMD_REPORT_STACKS_H

#include "cmd/report_options.h"
#include "view/report.h"

/* What the pipeline's options point to. */
struct report_stacks {
	regex_t ignore_callees, parent;
};

/* Call it after the other options are settled. If a parent is asked for, it becomes a key. Returns 0, or ERR_USAGE,
 * which is noted. In either case call report_stacks_free after the pipeline's last use. */
int report_stacks_resolve(const struct report_config *c, struct selected *s, struct report_opts *o,
			  struct report_stacks *out, const struct notify *to);
void report_stacks_free(struct report_stacks *r, const struct selected *s);

/* Is there in the recording at `path` what is to be shown? Noted: ERR_USAGE, if parents are asked for, which are
 * looked for in call chains, and there are none; ERR_NOTFOUND, if no sample is of a load or store, in the view of
 * these. */
int report_stacks_check(const struct profile *p, const char *path, const struct notify *to);

#endif
