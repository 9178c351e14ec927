/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf's event grammar: parses the text after -e into the arguments of perf_event_open.
 *
 * One call takes the texts of all -e options, in order. Names come from the kernel's generic tables, from sysfs
 * (/sys/bus/event_source/devices, tracefs) and, if these do not have a name, from libpfm4.
 */
#ifndef EVENTS_SPEC_H
#define EVENTS_SPEC_H

#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "codec/attr.h"
#include "codec/schedule.h"

struct event_spec {
	/*
	 * type, config.., bp_*, modifiers as flags, what the terms set. sample_period (or freq) is the terms' when
	 * has_period or has_freq, else the event's own default (tracepoints: 1), which -c and -F override; 0: none.
	 */
	struct attr attr;
	char *name;	  /* as perf names it in recordings: "cycles:u", "sched:sched_switch", or name= */
	char *pmu;	  /* sysfs PMU, or NULL */
	char *cpus;	  /* the PMU's cpumask ("0,18"): the event is opened only there; NULL: anywhere */
	bool aux;	  /* the PMU takes no samples, but writes into an AUX area */
	u64 least_period; /* of such a PMU; 0: any */
	char *group_name; /* "name{...}", or NULL */
	u32 option;	  /* which -e it came from, from 0 */
	u32 leader;	  /* index of the group's leader; its own when alone */
	bool sample_read; /* modifier S: the leader samples and reads the group */
	bool weak, pinned, exclusive;
	bool precise_max;	   /* modifier P: the highest attr_precise_ip that opens; attr says 3 */
	bool bpf_counter;	   /* modifier b */
	bool exclude_gh;	   /* modifier G or H was given */
	bool has_period, has_freq; /* term period= or freq=: stronger than -c and -F */
	bool has_time, time;	   /* term time=0/1 */
	bool has_inherit, inherit; /* terms inherit, no-inherit */
	bool has_call_graph;	   /* term call-graph=: */
	char *call_graph;	   /* its value: "fp", "no", "dwarf" */
	u32 max_stack;		   /* term max-stack=; 0: not given */
	u32 stack_size;		   /* term stack-size=; 0: not given */
	bool has_branches;	   /* term branch_type=: attr.branch_sample_type holds it; 0: "no" */
	bool has_overwrite, overwrite;
	bool percore;
	struct schedule schedule; /* terms alt-period=, burst=, period-jitter=, alt-period-jitter=; no long period */
	bool has_jitter;	  /* one of the schedule's jitters was given; 0 is none */
	bool refuses_jitter;	  /* its PMU takes the periods, and not what the default jitter makes of them */
	bool windowed; /* it is the group's leader, and windows are made from its samples (windows/plan.h) */
	bool twin;     /* a second leader: like the first, but switched on one window later */
	u32 nr;	       /* term nr=: stop after this many samples; 0: not given */
	char *unit;    /* the PMU's unit for counts, or NULL */
	double scale;  /* and the factor to get there; 0: not given */
	char *filter;  /* set by event_specs_filter, for tracepoints */
};

struct event_specs {
	VEC(struct event_spec) v;
};

/* Where names are looked up; NULL stands for the real place. For tests. */
struct event_env {
	const char *sysfs;   /* "/sys" */
	const char *tracefs; /* "/sys/kernel/tracing", else "/sys/kernel/debug/tracing" */
	const char *procfs;  /* "/proc" */
	bool simulated;	     /* --pmu=sim: the virtual PMU has its own events, and none of these places is used */
};

/*
 * Parses one -e text and appends to out. On ERR_USAGE or ERR_NOTFOUND the note shows the text, points at the wrong
 * part and names what is similar to it; out is unchanged.
 */
int event_specs_parse(struct event_specs *out, const char *text, const struct event_env *env, const struct notify *to);
/* --pfm-events: a comma list (and groups) of libpfm4 names. ERR_UNSUPPORTED in a build without libpfm4. */
int event_specs_parse_pfm(struct event_specs *out, const char *text, const struct event_env *env,
			  const struct notify *to);
/* perf's words for branch filters ("any,u", "any_call") as PERF_SAMPLE_BRANCH_*; levels alone mean any branch. */
int event_branch_types(const char *text, u64 *mask, const struct notify *to);
const char *event_branch_type(u32 i); /* the i-th of these words; NULL past the last one */
/* --filter: applies to the events of the last -e, which must all be tracepoints or PMU events. Several filters are
 * combined by "and". */
int event_specs_filter(struct event_specs *specs, const char *filter, const struct notify *to);
/* --exclude-perf: the events of the last -e, which must be tracepoints, leave out this process. */
int event_specs_exclude(struct event_specs *specs, s32 pid, const struct notify *to);
void event_specs_free(struct event_specs *specs);

/* Does it ask for more than one period or frequency? */
static inline bool event_spec_scheduled(const struct event_spec *s)
{
	return s->schedule.period_short || s->schedule.jitter_long;
}
/* Has it the term call-graph=unwind? */
static inline bool event_spec_unwinds(const struct event_spec *s)
{
	return s->has_call_graph && !strncmp(s->call_graph, "unwind", 6);
}
/*
 * Its schedule, after a has got its period or frequency; all 0 if it asks for none, or if a does not sample. With a
 * frequency, period_long is 0. a->sample_period becomes the period of a whole turn. ERR_USAGE, noted, if they do not
 * fit together.
 */
int event_spec_schedule(const struct event_spec *s, struct attr *a, struct schedule *out, const struct notify *to);

#endif
