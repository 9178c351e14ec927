/* SPDX-License-Identifier: Apache-2.0 */
/* Waits: what the scheduler's tracepoints in a recording say of activities (agg/waits.h). */
#ifndef PASS_WAITS_H
#define PASS_WAITS_H

#include "agg/wait_names.h"
#include "attrib/filter.h"
#include "pass/session.h"

struct session_waits {
	u32 on_switch, on_waking; /* the events in the evlist: sched_switch, sched_waking */
	struct waits waits;
	struct wait_losses losses;
	struct wait_names names;
	u64 gaps;	       /* number of times in which records are missing */
	u64 late, undecodable; /* samples that were left out */
};

/* Has the recording each sched_switch and each sched_waking of all CPUs, with its time, CPU and fields? */
bool session_has_waits(const struct session *s);
/*
 * Reads them. key tells activities apart (agg/activity_keys.h). Of the filter, those on threads and activities hold.
 * Call it before the session's processes are dropped. Caller frees, before the session is closed.
 */
struct session_waits *session_waits(struct session *s, const struct sample_filter *filter, const char *key);
void session_waits_free(struct session_waits *w);

#endif
