/* SPDX-License-Identifier: Apache-2.0 */
/* Counter: runs a command and counts its events, without sampling: what `reticle stat` does, without its words. */
#ifndef RECORD_COUNTER_H
#define RECORD_COUNTER_H

#include "base/vec.h"
#include "events/spec.h"
#include "sim/opts.h"

enum count_state {
	COUNT_OK,
	COUNT_NONE,	   /* it never ran: other events had the counters */
	COUNT_UNSUPPORTED, /* this machine, or this user, does not have it */
	COUNT_UNMODELLED,  /* the virtual PMU runs without the model that it needs (models=) */
};

struct counted { /* one event, over all runs */
	char *name;
	struct attr attr;
	enum count_state state;
	const char *unit;	    /* the PMU's, or NULL; of the spec */
	double scale;		    /* to that unit; 0: 1 */
	VEC(u64) values;	    /* one per run; what was counted, scaled up by enabled / running */
	u64 enabled_ns, running_ns; /* of the last run; 0 with the virtual PMU */
};

struct counted_thread { /* virtual PMU: of the last run, as they ended */
	u32 pid, tid;
	u64 counts[NR_VPMU_COUNTS];
};

struct counter_opts {
	char *const *command;
	struct sim_opts sim;
	bool no_inherit;
	u32 runs; /* 0: one */
};

struct counter_result {
	VEC(struct counted) events;
	VEC(struct counted_thread) threads;
	bool simulated;
	const char *core;	    /* of the virtual PMU */
	u64 totals[NR_VPMU_COUNTS]; /* of the last run, whatever was asked for */
	u32 models;		    /* VPMU_MODEL_* */
	VEC(double) seconds;	    /* wall time, per run */
	double user, system;	    /* CPU seconds per run, on average: of QEMU with the virtual PMU */
	u32 runs;		    /* that were finished */
	u32 unfinished;		    /* threads that were killed: the last of what they did may be missing */
	u32 escaped;		    /* as in record_result */
	bool never_simulated, has_status;
	int status; /* of the last run: its exit status, or 128 + its signal */
};

/*
 * Runs and counts. specs may be empty: then those that tell most of this machine (or of the virtual one) are taken.
 * Events that cannot be counted are no error. ERR_*, noted; ERR_INTERRUPTED when a signal ended it (then what was
 * counted is there).
 */
int counter_run(const struct counter_opts *o, struct event_specs *specs, struct counter_result *r,
		const struct notify *to);
/* The last run's value of an event, whether it was asked for or not where the virtual PMU counted it; false: not
 * known. */
bool counter_value(const struct counter_result *r, u32 type, u64 config, double *out);
void counter_free(struct counter_result *r);

#endif
