/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of a recording, from what was asked for to the events that make them. Pure: nothing is opened here.
 *
 * A group whose samples read all of it ({...}:S) has windows when its leader has a short period too: from terms of -e
 * (alt-period=), or from --window. How the short periods come about (enum window_how) decides what is opened:
 *
 *   native    the leader as it is; the kernel knows the schedule
 *   twin      behind the leader a second one, with the same period, that is switched on later
 *   refresh   the leader with the short period, switched on for a burst at a time
 *   plain     the leader with the short period
 */
#ifndef WINDOWS_PLAN_H
#define WINDOWS_PLAN_H

#include "events/spec.h"
#include "windows/opts.h"

/* Counts that a leader of each kind makes in a second, for schedules that are asked for by frequency. */
struct window_speed {
	u64 clock, other;
};

/* What samples come by when the event's own terms say nothing. */
struct window_rate {
	u64 value; /* a period; or a frequency: of windows, with the long ones between or the bursts that they are in
		    */
	bool is_freq;
	bool of_samples; /* the frequency is that of samples: nobody asked for it, so windows take no more than others
			    do, clocks fewer */
};

/* Nanoseconds: cpu-clock and task-clock. */
bool window_is_clock(const struct attr *a);
/* What the kernel itself sees happen: page faults, tracepoints. It samples each single one when samples tell periods.
 */
bool window_is_occurrence(const struct attr *a);

/* What there is to make the group of that is recorded when no event was named. */
struct window_supply {
	bool (*has)(void *ctx, const char *name); /* NULL: all; the leader is taken for granted */
	void *ctx;
	bool clock;	/* nothing but software events */
	bool user_only; /* the kernel is not to be counted */
	/* What the members count is sampled, too, by events of their own, at parts of this; value 0: it is not. */
	struct window_rate rate;
};
void window_default_group(const struct window_opts *o, const struct window_supply *from, struct bytes *out);
/* A window_supply's `has` for the virtual PMU; ctx: u32, the models that run. */
bool window_sim_has(void *ctx, const char *name);
/* Do windows made like this hold what the kernel does at each sample, too, unless it is excluded? */
bool window_counts_handler(enum window_how how, const struct attr *leader);

/* Does any event want windows, or --window for them? */
bool window_wanted(const struct event_specs *specs, const struct window_opts *o);
/*
 * Gives --window's schedule to the leaders of groups that are read as one (what it does not say, their terms say), and
 * checks all that want windows. Notes leaders that read no group. ERR_USAGE when nothing can have windows, or a
 * schedule cannot be.
 */
int window_take_specs(struct event_specs *specs, const struct window_opts *o, bool sim, const struct notify *to);

/* Is there anything that only some ways can do? Bursts of several, jitter. */
bool window_needs_bursts(const struct event_specs *specs);
bool window_needs_jitter(const struct event_specs *specs);
/* A leader that has no windows made like this, because each of its occurrences is sampled; NULL: there is none. */
const char *window_of_occurrences(const struct event_specs *specs, enum window_how how);

/*
 * Turns windowed groups into what `how` opens: periods, twins, names that say the schedule. After window_take_specs.
 * ERR_USAGE when the short period is not shorter than the long one.
 */
int window_make_specs(struct event_specs *specs, enum window_how how, struct window_rate rate,
		      struct window_speed speed, const struct notify *to);

/*
 * Splits the group of `leader` so that no more than max events (a twin included, where with_twin) are in one; the
 * leader, and instructions where the group has them, lead each part, so that ratios are of one part's counts. Returns
 * how many groups there are then; 0: max is too small for it.
 */
u32 window_split(struct event_specs *specs, u32 leader, u32 max, bool with_twin);

/* A name with these terms in the place of those that shape the sampling: "cycles:u" to "cycles/period=9/u". Caller
 * frees. type: of its attr. */
char *window_name(const char *name, u32 type, const char *terms);

#endif
