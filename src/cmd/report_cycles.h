/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle report --total-cycles`: which blocks of code took the cycles that branch records tell. */
#ifndef CMD_REPORT_CYCLES_H
#define CMD_REPORT_CYCLES_H

#include "cmd/report_options.h"

/* Returns the command's exit status; errors are noted. */
int report_cycles(const struct command_ctx *ctx, const struct report_config *c, struct selected *s);

#endif
