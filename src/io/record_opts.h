/* SPDX-License-Identifier: Apache-2.0 */
/* What to record and how, by stage. Filled by the command line, const from then on. */
#ifndef IO_RECORD_OPTS_H
#define IO_RECORD_OPTS_H

#include "codec/regs.h"
#include "io/sim_opts.h"
#include "io/window_opts.h"

#define RECORD_UNSET UINT64_MAX

/* Whom to measure. One of: command, pids, tids, all. */
struct target_opts {
	char *const *command; /* NULL-terminated, or NULL */
	const char *pids;     /* "1,2": with all their threads */
	const char *tids;
	const char *cpus;    /* "0-3": implies system_wide unless tasks are named */
	const char *cgroups; /* "a,b": paths below the cgroup mount, one per event in order, or one for all */
	const char *uid;     /* numeric or name; its processes, as pids */
	bool system_wide;
	bool per_thread; /* a ring per thread instead of one per CPU; no inheritance */
};

enum callgraph { CALLGRAPH_NONE, CALLGRAPH_FP, CALLGRAPH_DWARF, CALLGRAPH_LBR };

/* What a sample holds. */
struct attr_opts {
	u64 freq;   /* RECORD_UNSET: 4000, unless a period was given */
	u64 period; /* RECORD_UNSET: by frequency */
	bool freq_max, strict_freq;
	bool no_inherit, no_samples;
	enum callgraph callgraph;
	u32 max_stack;	/* 0: the kernel's limit */
	u32 stack_dump; /* bytes of user stack, CALLGRAPH_DWARF */
	bool user_callchains, kernel_callchains;
	bool all_user, all_kernel;
	bool time, cpu, addr, phys_addr, raw, weight, want_period,
		stat;	     /* -T --sample-cpu -d --phys-data -R -W -P -s */
	bool id, identifier; /* samples carry ID, or IDENTIFIER, though there is one event */
	bool data_page_size, code_page_size, transaction;
	/* --user-regs, --intr-regs: names of registers ("": all); NULL: not asked for. */
	const char *user_regs, *intr_regs;
	u64 branch_type; /* PERF_SAMPLE_BRANCH_*; 0: none */
	bool use_clockid;
	s32 clockid;
	const char *clock_name; /* as the user wrote it */
	bool no_bpf_event, namespaces, cgroup_events, switch_events, buildid_mmap;
	s64 delay_ms;	 /* 0: none, -1: start disabled */
	bool overwrite;	 /* rings that the kernel overwrites */
	bool by_command; /* set by the recorder: events go on and off as --control says */
	/* Set by the recorder: how windows are made; WINDOW_AUTO: none. Their events are not inherited by the kernel. */
	enum window_how windows;
	/* Set by the recorder, for the virtual PMU: the machine's limits do not hold. */
	bool simulated;
	u64 user_mask, intr_mask; /* set by event_set_configure: user_regs and intr_regs as bits */
	enum regs_arch regs;	  /* whose the registers are */
};

enum { BUILDID_HITS, BUILDID_ALL, BUILDID_NONE };

enum switch_on { SWITCH_NEVER, SWITCH_SIGNAL, SWITCH_SIZE, SWITCH_TIME };

/* Where it goes. */
struct output_opts {
	const char *path; /* NULL: perf.data, or standard output when that is a pipe; "-": standard output */
	u64 ring_pages;	  /* 0: default; a power of two */
	u32 zstd_level;	  /* 0: plain */
	u64 max_size;	  /* 0: unlimited */
	enum switch_on switch_on;
	u64 switch_size;
	u64 switch_ms;
	u32 switch_max_files; /* 0: keep all */
	int build_ids;	      /* BUILDID_* */
	u32 rt_priority;      /* SCHED_FIFO; 0: leave */
};

struct record_opts {
	const char *control; /* "fifo:PATH[,PATH]" or "fd:N[,N]", or NULL */
	struct target_opts target;
	struct attr_opts attr;
	struct output_opts output;
	struct sim_opts sim;
	struct window_opts window;
	bool quiet;
	u32 verbose;
};

#endif
