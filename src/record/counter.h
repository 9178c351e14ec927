/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter: counts events of a command, of tasks that run, or of CPUs, without sampling: what `reticle stat` does,
 * without its words. What each descriptor counted is kept apart (struct count_cell); record/counter_sum.h adds up.
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
	char *cgroup;	  /* whose counts these are, or NULL */
	VEC(struct count_cell) cells;
	VEC(u64) values;	    /* one per run: all cells; what was counted, scaled up by enabled / running */
	u64 enabled_ns, running_ns; /* of all runs; 0 with the virtual PMU */
};

struct counted_comm {
	char name[16];
};

struct counted_thread { /* virtual PMU: of the last run, as they ended */
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
	u32 delay_ms;	    /* counting begins so much after the command */
	u32 timeout_ms;	    /* then the command is ended; 0: never */
	u32 interval_ms;    /* on_interval is called so often; 0: never */
	u32 interval_count; /* so many times, then it ends; 0: any */
	void (*on_interval)(void *ctx, const struct counter_result *r);
	void (*on_run)(void *ctx, const struct counter_result *r); /* with forever: after each */
	void *ctx;
};

struct counter_result {
	VEC(struct counted) events;
	VEC(struct count_cell)
	places; /* CPUs and tasks that were meant, whether events could be opened there or not */
	VEC(struct counted_comm) comms; /* of each place, as its task was called when counting began */
	VEC(struct counted_thread) threads;
	bool simulated;
	const char *core;	    /* of the virtual PMU */
	u64 totals[NR_VPMU_COUNTS]; /* of the last run, whatever was asked for */
	u32 models;		    /* VPMU_MODEL_* */
	VEC(double) seconds;	    /* wall time, per run */
	double since_start;	    /* seconds, when an interval ended */
	double interval;	    /* how long it was; 0: none ended */
	double user, system;	    /* CPU seconds per run, on average: of QEMU with the virtual PMU */
	u32 runs;		    /* that were finished */
	u32 unfinished;		    /* threads that were killed: the last of what they did may be missing */
	u32 escaped;		    /* as in record_result */
	bool never_simulated, has_status, timed_out;
	bool refused; /* this user may not count some of it */
	bool crowded; /* there are fewer descriptors than counters */
	int status;   /* of the last run: its exit status, or 128 + its signal; without a command of the signal */
};

/*
 * Runs and counts. specs may be empty: then nothing is counted but time. Events that cannot be counted are no error.
 * ERR_*, noted; ERR_INTERRUPTED when a signal ended it (then what was counted is there).
 */
int counter_run(const struct counter_opts *o, struct event_specs *specs, struct counter_result *r,
		const struct notify *to);
/* The last run's value of an event, whether it was asked for or not where the virtual PMU counted it; false: not
 * known. */
bool counter_value(const struct counter_result *r, u32 type, u64 config, double *out);
void counter_free(struct counter_result *r);

#endif
