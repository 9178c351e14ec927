/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over call stacks of branch records that comes before they are cut and stitched. */
#ifndef PASS_CALL_SITES_H
#define PASS_CALL_SITES_H

#include "attrib/callers.h"
#include "pass/session.h"

#define LBR_FEWEST 8u /* CPUs with call stacks have 16 and more */

/*
 * Goes through all samples, in parallel; free it with callers_free. stitches: stacks are to be completed. They are not
 * where the CPU has so few registers (fewer than LBR_FEWEST) that what shows that a call is another one is mostly
 * overwritten. It asks for names of functions: where it has several workers, the process that reads linkers' names is
 * started before (dsos_start_parser).
 */
struct callers *call_sites(struct session *s, bool stitches);
u32 call_sites_workers(const struct session *s);

#endif
