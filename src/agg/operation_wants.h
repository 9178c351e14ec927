/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collector looks at of Arm SPE's operations. Those that agree in it are equal to the collector, and can be
 * counted before they become hits (pass/equal_operations.h).
 */
#ifndef AGG_OPERATION_WANTS_H
#define AGG_OPERATION_WANTS_H

#include "agg/collector.h"
#include "attrib/spe.h"
#include "codec/spe_shapes.h"

struct operation_wants {
	u64 bits[SPE_NR_FIELDS]; /* of the fields' payloads. Not of time and context: those say whose operation it is
				  */
	bool cpu, thread;	 /* the number of the CPU; that of the thread, not only what holds for it */
};

/* False: something depends on when each operation was, so none are equal. */
bool operation_wants(const struct collector_opts *o, const struct spe *spe, struct operation_wants *out);

#endif
