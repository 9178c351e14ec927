/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts of Arm SPE's operations a collector looks at. Operations that agree in these parts are equal to the
 * collector, so they can be counted before they become hits (pass/equal_operations.h).
 */
#ifndef AGG_OPERATION_WANTS_H
#define AGG_OPERATION_WANTS_H

#include "agg/collector.h"
#include "attrib/spe.h"
#include "codec/spe_shapes.h"

struct operation_wants {
	/* For each field, the bits of its payload that matter. None of the time and the context, because these say
	 * whose operation it is. */
	u64 bits[SPE_NR_FIELDS];
	bool cpu;    /* the number of the CPU matters */
	bool thread; /* the number of the thread matters, not only what is known of it */
};

/* False: something that is asked for depends on when each operation was, so no two operations are equal. */
bool operation_wants(const struct collector_opts *o, const struct spe *spe, struct operation_wants *out);

#endif
