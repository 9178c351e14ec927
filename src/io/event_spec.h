/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf's event grammar: the text after -e, parsed into what perf_event_open wants.
 *
 * One call takes everything that -e options gave, in order. Names come from the kernel's generic tables, sysfs
 * (/sys/bus/event_source/devices, tracefs) and, where those have none, libpfm4.
 */
#ifndef IO_EVENT_SPEC_H
#define IO_EVENT_SPEC_H

#include "base/err.h"
#include "base/vec.h"
#include "codec/attr.h"

struct event_spec {
	struct attr attr; /* type, config.., bp_*, modifiers as flags; sample_period or freq when the terms said so */
	char *name;	  /* as perf names it in recordings: "cycles:u", "sched:sched_switch", or name= */
	char *pmu;	  /* sysfs PMU, or NULL */
	char *cpus;	  /* the PMU's cpumask ("0,18"): open only there; NULL: anywhere */
	char *group_name; /* "name{...}", or NULL */
	u32 leader;	  /* index of the group's leader; its own when alone */
	bool sample_read; /* modifier S: the leader samples and reads the group */
	bool weak, pinned, exclusive;
	bool has_period, has_freq; /* term period= or freq=: stronger than -c and -F */
	bool has_time, time;	   /* term time=0/1 */
	bool has_inherit, inherit; /* terms inherit, no-inherit */
	bool has_call_graph;	   /* term call-graph=: */
	char *call_graph;	   /* its value: "fp", "no", "dwarf,8192" */
	u32 max_stack;		   /* term max-stack=; 0: not given */
	u32 stack_size;		   /* term stack-size=; 0: not given */
	char *filter;		   /* set by event_specs_filter, for tracepoints */
};

struct event_specs {
	VEC(struct event_spec) v;
};

/* Where names are looked up; NULL members mean the real places. For tests. */
struct event_env {
	const char *sysfs;   /* "/sys" */
	const char *tracefs; /* "/sys/kernel/tracing", else "/sys/kernel/debug/tracing" */
	const char *procfs;  /* "/proc" */
};

/*
 * Parses one -e text and appends to out. On ERR_USAGE or ERR_NOTFOUND the note shows the text, points at the part that
 * is wrong and names what is near to it; out is as before.
 */
int event_specs_parse(struct event_specs *out, const char *text, const struct event_env *env, const struct notify *to);
/* --filter: applies to the tracepoint (or PMU) that was named last. */
int event_specs_filter(struct event_specs *specs, const char *filter, const struct notify *to);
void event_specs_free(struct event_specs *specs);

#endif
