/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter: counts events of a command, of running tasks, or of CPUs, without sampling: the work of `reticle stat`,
 * without its output. The count of each descriptor is kept separately (struct count_cell); record/counter_sum.h sums
 * them.
 */
#ifndef RECORD_COUNTER_H
#define RECORD_COUNTER_H

#include "base/vec.h"
#include "events/spec.h"
#include "open/target.h"
#include "sim/opts.h"

enum count_state {
	COUNT_OK,
	COUNT_NONE,	   /* it never ran: other events had the counters, or its task no CPU */
	COUNT_UNSUPPORTED, /* this machine, or this user, does not have it */
	COUNT_UNMODELLED,  /* the virtual PMU runs without the model that it needs (models=) */
};

struct count_reading {
	u64 value, enabled_ns, running_ns;
};

struct count_cell {			/* an event on one CPU and one task */
	s32 cpu;			/* -1: any */
	s32 pid, tid;			/* -1: any */
	int fd;				/* -1: closed, or it could not be opened */
	struct count_reading now, base; /* as last read, and at the beginning of the interval */
};

struct counted { /* one event, over all runs */
	char *name;
	struct attr attr;
	enum count_state state;
	const char *unit; /* the PMU's, or NULL; of the spec */
	double scale;	  /* to that unit; 0: 1 */
	char *cgroup;	  /* the cgroup that was counted, or NULL */
	VEC(struct count_cell) cells;
	VEC(u64) values;	    /* one per run: the sum of all cells, scaled up by enabled / running */
	u64 enabled_ns, running_ns; /* of all runs; 0 with the virtual PMU */
};

struct counted_comm {
	char name[16];
};

struct counted_thread { /* virtual PMU: threads of the last run, in the order in which they ended */
	u32 pid, tid;
	u64 counts[NR_VPMU_COUNTS];
};

struct counter_result;

struct counter_opts {
	struct target_opts target;
	struct sim_opts sim;
	bool no_inherit, all_user, all_kernel, nothing;
	bool forever;	    /* one run after the other, until a signal comes */
	u32 runs;	    /* 0: one */
	u32 delay_ms;	    /* counting begins this long after the command starts */
	u32 timeout_ms;	    /* then the command is ended; 0: never */
	u32 interval_ms;    /* the time between two calls of on_interval; 0: never */
	u32 interval_count; /* the number of intervals, after which it ends; 0: no limit */
	void (*on_interval)(void *ctx, const struct counter_result *r);
	void (*on_run)(void *ctx, const struct counter_result *r); /* with forever: after each */
	void *ctx;
};

struct counter_result {
	VEC(struct counted) events;
	VEC(struct count_cell)
	places; /* the CPUs and tasks of the target, whether or not events could be opened there */
	VEC(struct counted_comm) comms; /* the name of each place's task when counting began */
	VEC(struct counted_thread) threads;
	bool simulated;
	const char *core;	    /* of the virtual PMU */
	u64 totals[NR_VPMU_COUNTS]; /* of the last run, whatever was asked for */
	u32 models;		    /* VPMU_MODEL_* */
	VEC(double) seconds;	    /* wall time, per run */
	double since_start;	    /* seconds, when an interval ended */
	double interval;	    /* its length; 0: none has ended */
	double user, system;	    /* CPU seconds per run, on average: of QEMU with the virtual PMU */
	u32 runs;		    /* that were finished */
	u32 unfinished;		    /* threads that were killed: their last counts may be missing */
	u32 escaped;		    /* as in record_result */
	bool never_simulated, has_status;
	bool timed_out; /* --timeout or --interval-count ended it */
	bool refused;	/* this user may not count some of the events */
	bool crowded;	/* there are fewer descriptors than counters */
	int status; /* of the last run: its exit status, or 128 + its signal; without a command, from the signal that
		       ended it */
};

/*
 * Runs and counts. specs may be empty: then only the time is measured. It is not an error if events cannot be counted.
 * ERR_*, noted; ERR_INTERRUPTED if a signal ended it (the counts so far are available then).
 */
int counter_run(const struct counter_opts *o, struct event_specs *specs, struct counter_result *r,
		const struct notify *to);
/* The last run's value of an event; the virtual PMU counts all events, whether or not they were asked for. False: not
 * known. */
bool counter_value(const struct counter_result *r, u32 type, u64 config, double *out);
void counter_free(struct counter_result *r);

#endif
