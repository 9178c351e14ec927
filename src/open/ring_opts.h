/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of the kernel is mapped. Filled from the command line, and const from then on. */
#ifndef OPEN_RING_OPTS_H
#define OPEN_RING_OPTS_H

#include "base/types.h"

/* Pages per ring; a power of two, or 0 for the default. */
struct ring_opts {
	u64 pages;
	u64 aux_pages; /* of the AUX area behind it, if an event has one */
	/* Such areas are overwritten, and what they hold is kept only when somebody asks for it: */
	bool snapshot;
	bool snapshot_at_end; /* and at the end */
	u64 snapshot_bytes;   /* so many at a time; 0: all */
};

#endif
