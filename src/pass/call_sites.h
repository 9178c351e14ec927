/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over call stacks of branch records that comes before they are stitched. */
#ifndef PASS_CALL_SITES_H
#define PASS_CALL_SITES_H

#include "attrib/callers.h"
#include "pass/session.h"

/* Goes through all samples, in parallel; free it with callers_free. */
struct callers *call_sites(struct session *s);

#endif
