/* SPDX-License-Identifier: Apache-2.0 */
/* What to record and how, by stage. Filled from the command line, and const from then on. */
#ifndef RECORD_OPTS_H
#define RECORD_OPTS_H

#include "open/attr_opts.h"
#include "open/ring_opts.h"
#include "open/target.h"
#include "sim/opts.h"
#include "windows/opts.h"

enum { BUILDID_HITS, BUILDID_ALL, BUILDID_NONE };

enum switch_on { SWITCH_NEVER, SWITCH_SIGNAL, SWITCH_SIZE, SWITCH_TIME };

/* Where it goes. */
struct output_opts {
	const char *path; /* NULL: perf.data; "-": standard output */
	struct ring_opts rings;
	u32 zstd_level; /* 0: plain */
	u64 max_size;	/* 0: unlimited */
	enum switch_on switch_on;
	u64 switch_size; /* SWITCH_SIZE; with SWITCH_TIME, if it is not 0, at this size as well */
	u64 switch_ms;
	const char *switch_name; /* finished files are PATH.switch_name.DATE; NULL: PATH.DATE */
	u32 switch_max_files;	 /* 0: keep all */
	int build_ids;		 /* BUILDID_* */
	u32 rt_priority;	 /* SCHED_FIFO; 0: leave */
};

/* With attr.activity: ANY is BPF, or journals if the kernel refuses it and a directory of journals is known. */
enum activity_from { ACTIVITY_FROM_ANY, ACTIVITY_FROM_BPF, ACTIVITY_FROM_JOURNALS };

struct activity_opts {
	enum activity_from from;
	const char
		*journals; /* their directory; NULL: that of RETICLE_ACTIVITY_JOURNAL, or one of the recorder's own */
};

struct record_opts {
	const char *control; /* "fifo:PATH[,PATH]" or "fd:N[,N]", or NULL */
	struct target_opts target;
	struct attr_opts attr;
	struct activity_opts activity;
	struct output_opts output;
	struct sim_opts sim;
	struct window_opts window;
	bool waits; /* also sched_switch and sched_waking, from which reticle activity knows what threads wait for */
	bool quiet;
	u32 verbose;
};

#endif
