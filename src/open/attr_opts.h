/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of an event's samples and how often they are taken, as the user asked. Filled from the command line,
 * and const from then on. */
#ifndef OPEN_ATTR_OPTS_H
#define OPEN_ATTR_OPTS_H

#include "codec/regs.h"
#include "codec/schedule.h"

#define RECORD_UNSET UINT64_MAX

/* UNWIND: as DWARF, but the recorder makes a call chain of each copy, and the recording has only that. */
enum callgraph { CALLGRAPH_NONE, CALLGRAPH_FP, CALLGRAPH_DWARF, CALLGRAPH_LBR, CALLGRAPH_UNWIND };

#define DEFAULT_UNWOUND 16384 /* bytes; a copy is not kept, so more of it costs little */

/* The contents of a sample. */
struct attr_opts {
	u64 freq;   /* RECORD_UNSET: 4000, unless a period was given */
	u64 period; /* RECORD_UNSET: by frequency */
	bool freq_max, strict_freq;
	bool no_inherit, no_samples;
	enum callgraph callgraph;
	u32 max_stack;	/* 0: the kernel's limit */
	u32 stack_dump; /* bytes of user stack, CALLGRAPH_DWARF and _UNWIND */
	bool user_callchains, kernel_callchains;
	bool all_user, all_kernel;
	bool time, cpu, addr, phys_addr, raw, weight, want_period,
		stat;	     /* -T --sample-cpu -d --phys-data -R -W -P -s */
	bool id, identifier; /* samples carry ID, or IDENTIFIER, even if there is only one event */
	bool data_page_size, code_page_size, transaction;
	/* --user-regs, --intr-regs: names of registers ("": all); NULL: not asked for. */
	const char *user_regs, *intr_regs;
	u64 branch_type; /* PERF_SAMPLE_BRANCH_*; 0: none */
	bool use_clockid;
	s32 clockid;
	const char *clock_name; /* as the user wrote it */
	bool no_bpf_event, namespaces, cgroup_events, switch_events, buildid_mmap;
	s64 delay_ms;	/* 0: none, -1: start disabled */
	bool overwrite; /* rings that the kernel overwrites */
	bool activity;	/* an event for what a BPF program says of each thread (codec/activity.h) */
	bool journal;	/* set by the recorder: with activity, journals say it; nothing writes into the event's ring */
	bool by_command; /* set by the recorder: --control switches events on and off */
	/* Set by the recorder: how windows are made; WINDOW_AUTO: there are none. The kernel does not let their events
	 * be inherited. */
	enum window_how windows;
	/* Set by the recorder, for the virtual PMU: the machine's limits do not hold. */
	bool simulated;
	u64 user_mask, intr_mask; /* set by event_set_configure: user_regs and intr_regs as bits */
	enum regs_arch regs;	  /* the architecture of the registers */
};

#endif
