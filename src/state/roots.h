/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a recording that live now: their paths may have to be looked up in another root directory than
 * ours. Numbers of processes are used again, so one that began after the recording was made is another one. (If the
 * clock was set forward since, processes seem to have begun later than they did, and are taken for others.)
 */
#ifndef STATE_ROOTS_H
#define STATE_ROOTS_H

#include "base/map.h"

struct roots {
	u64 made_ns; /* when the recording was last written to, in ns since 1970; 0: unknown, or it goes on */
	bool asked;
	struct map by_pid; /* pid -> its root directory, or that it was not asked for */
};

/* Which root directory paths of this process are to be looked up in, as rootdir_of says (base/rootdir.h); 0: in ours,
 * or it lives no longer. */
u32 root_of_process(struct roots *r, u32 pid);
void roots_free(struct roots *r);

#endif
