/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle export --to bolt`: the branches of one binary, as perf2bolt takes them with -pa. */
#ifndef CMD_EXPORT_BOLT_H
#define CMD_EXPORT_BOLT_H

#include "pass/pipeline.h"

/* binary is a path, a file name or the beginning of a build id; NULL takes the binary with the most branches. output
 * is a path; NULL and "-" mean standard output. Errors are noted. */
int export_bolt(const struct pipeline_opts *o, const char *binary, const char *output, const struct notify *to);

#endif
