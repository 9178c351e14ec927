/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the windows of a recording: turns what was asked for into the events that make them. Pure: nothing is opened
 * here.
 *
 * A group whose samples read all of it ({...}:S) has windows if its leader has a short period, too: from terms of -e
 * (alt-period=), or from --window. The way in which short periods are made (enum window_how) decides what is opened:
 *
 *   native    the leader as it is; the kernel knows the schedule
 *   twin      behind the leader a second one, with the same period, that is switched on later
 *   refresh   the leader with the short period, switched on for a burst at a time
 *   plain     the leader with the short period
 */
#ifndef WINDOWS_PLAN_H
#define WINDOWS_PLAN_H

#include "codec/event_role.h"
#include "events/spec.h"
#include "windows/opts.h"

/* Counts per second of each kind of leader, for schedules that are given by frequency. */
struct window_speed {
	u64 clock, other;
	u64 seed; /* what twins' periods are drawn from; 0: they are what the frequency means */
};

/* The rate of samples if the event's own terms do not give one. */
struct window_rate {
	u64 value; /* a period; or a frequency: of windows (with the long ones between them), or of bursts */
	bool is_freq;
	bool of_samples; /* the frequency is that of samples: it is the default, so there are as many samples as
			    without windows, and fewer with clocks */
};

/* Nanoseconds: cpu-clock and task-clock. */
bool window_is_clock(const struct attr *a);
/* Events that the kernel itself generates: page faults, tracepoints. It samples every single one if samples contain
 * periods. */
bool window_is_occurrence(const struct attr *a);

/* The events from which the default group can be made, if no event was named. */
struct window_supply {
	bool (*has)(void *ctx, const char *name); /* NULL: all are there; the leader always is */
	void *ctx;
	bool clock;	/* there are only software events */
	bool user_only; /* the kernel must not be counted */
	/* Additional events sample what the members count, at fractions of this rate; value 0: there are none. */
	struct window_rate rate;
	enum event_machine machine;
};
void window_default_group(const struct window_opts *o, const struct window_supply *from, struct bytes *out);
/* A window_supply's `has` for the virtual PMU; ctx: u32, the models that run. */
bool window_sim_has(void *ctx, const char *name);
/* Do windows made in this way include the kernel's work at each sample, unless the kernel is excluded? */
bool window_counts_handler(enum window_how how, const struct attr *leader);

/* Does any event, or --window, ask for windows? */
bool window_wanted(const struct event_specs *specs, const struct window_opts *o);
/*
 * Gives the schedule of --window to the leaders of groups that are read as a whole (their terms supply what it does
 * not give), and checks all events with windows. Notes leaders that do not read a group. ERR_USAGE if no event can
 * have windows, or if a schedule is impossible.
 */
int window_take_specs(struct event_specs *specs, const struct window_opts *o, bool sim, const struct notify *to);

/* Is anything asked for that only some ways support? That is bursts of several windows, and jitter. */
bool window_needs_bursts(const struct event_specs *specs);
bool window_needs_jitter(const struct event_specs *specs);
/* A leader that cannot have windows made in this way, because every one of its events is sampled; NULL: there is
 * none. */
const char *window_of_occurrences(const struct event_specs *specs, enum window_how how);

/* The schedule of a leader whose windows are made in that way, with a long period of about that length: with all the
 * jitter that this way has, unless something else was asked for. */
struct schedule window_schedule(const struct event_spec *s, enum window_how how, u64 period);

/*
 * Prepares groups with windows for opening in the way `how`: periods, twins, names that contain the schedule. Call it
 * after window_take_specs. ERR_USAGE if the short period is not shorter than the long one.
 */
int window_make_specs(struct event_specs *specs, enum window_how how, struct window_rate rate,
		      struct window_speed speed, const struct notify *to);

/*
 * Splits the group of `leader` so that each part has at most max events (including a twin, if with_twin). Each part
 * begins with the leader, and with instructions if the group has them, so that ratios use counts of the same part.
 * Returns the number of parts; 0: max is too small.
 */
u32 window_split(struct event_specs *specs, u32 leader, u32 max, bool with_twin);

/* Replaces the sampling terms in a name by these terms: "cycles:u" becomes "cycles/period=9/u". Caller frees. type:
 * that of its attr. */
char *window_name(const char *name, u32 type, const char *terms);

#endif
