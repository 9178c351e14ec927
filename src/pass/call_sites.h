/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over call stacks of branch records that comes before they are stitched. */
#ifndef PASS_CALL_SITES_H
#define PASS_CALL_SITES_H

#include "attrib/callers.h"
#include "pass/session.h"

/*
 * Goes through all samples, in parallel; free it with callers_free. It asks for names of functions: where it has
 * several workers, the process that reads linkers' names is started before (dsos_start_parser).
 */
struct callers *call_sites(struct session *s);
u32 call_sites_workers(const struct session *s);

#endif
