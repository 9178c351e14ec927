/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that is made up, on which twins are armed: its time passes with each call, its counters move with the time
 * of a task or by its steps, and the task stops when, and for what, it is told to. */
#ifndef TESTS_ARM_MACHINE_H
#define TESTS_ARM_MACHINE_H

#include "codec/perf_abi.h"
#include "windows/arm.h"

#define TID 4242
#define FIRST 100000 /* descriptors: the leader, its twin, and /proc/TID/stat */
#define SECOND 100001
#define STAT 100002
#define PERIOD 5000000
#define LENGTH 50000 /* ns */
#define STEPPED 100  /* the length of what is armed by steps */
#define NEVER UINT64_MAX
#define MS 1000000
#define STOPPED_FOR(sig) ((sig) << 8 | 0x7f)
#define TRAPPED STOPPED_FOR(SIGTRAP)
#define INTERRUPTED (PTRACE_EVENT_STOP << 16 | TRAPPED)
#define HALTED (PTRACE_EVENT_STOP << 16 | STOPPED_FOR(SIGSTOP))

struct arm_machine {
	u64 now, runs_until; /* until then the task runs, and its clocks with it, */
	u64 pause, resume;   /* but not between these */
	const char *stat;    /* NULL: there is no such task */
	u32 opened, reads, words, asked_for_time;
	/* counters */
	bool on[2], whole[2],
		began_whole[2];	      /* a whole period lies before it; and did when it was switched on first */
	u64 count[2], base, distance; /* between the two switches */
	u32 armed;		      /* so often was the second one switched on */
	u32 hiccups;		      /* so many times the machine stands still before that, */
	u64 hiccup;		      /* for so long */
	const u64 *apart; /* hardware counters: how far the switches came apart, the last one again and again */
	u32 nr_apart;
	bool real; /* they come as far apart as they are, in nanoseconds */
	u64 real_ns;
	/* the task */
	u64 stop_at; /* its next stop, */
	int status;  /* and what it is for */
	bool ends, absent;
	u64 call_until; /* it is in a system call until then */
	u32 waits_cut;	/* so many times waiting is interrupted */
	const u64 *step;
	u32 nr_step, steps, event_at; /* the step at which something else happens: */
	int event;		      /* a stop for this; 0: */
	bool step_ends, step_late, step_fails, cont_fails, detach_fails, cont_ends;
	int seize_errno;
	u64 cont_ns;
	struct {
		int sig, code;
	} pending[70]; /* signals */
	u32 nr_pending;
	bool for_ever;
	u32 seized, interrupts, conts, detached, reaped, delivered;
	int last_signal;
	/* of ourselves */
	bool holds, held, told;
};
extern struct arm_machine m;

static const struct window_pair clocks = { FIRST, SECOND, PERIOD, LENGTH, true },
				counters = { FIRST, SECOND, PERIOD, STEPPED, false };

void machine_reset(void);
/* Both are on, at this distance, and began a whole period with it. */
void are_armed(u64 least, u64 most);

#endif
