/* SPDX-License-Identifier: Apache-2.0 */
/* What pprof and OTLP say of a whole recording. */
#ifndef VIEW_EXPORT_ABOUT_H
#define VIEW_EXPORT_ABOUT_H

#include "agg/profile.h"
#include "base/bytes.h"

struct export_about {
	const char *host;    /* or NULL */
	u64 start, duration; /* nanoseconds, the start since 1970; 0: not known */
	bool inlined;	     /* calls that were inlined have lines of their own */
};

/* What the weights of an event's samples are. */
struct event_value {
	const char *name, *unit;
	u64 period; /* of the event, between two samples; their mean if it varied */
};
/* Clocks count nanoseconds. The only one of a recording is named "cpu": by that name readers know it. */
void event_value_of(const struct profile *p, const struct profile_event *e, struct event_value *out);

/* The whole of it, for a file or for who is sent it; out must not empty itself into a file meanwhile. p: of all
 * events, by comm, pid, tid and activity, its frames with their addresses (pipeline_opts.addresses). */
void view_pprof(const struct profile *p, const struct export_about *about, struct bytes *out);
void view_otlp(const struct profile *p, const struct export_about *about, struct bytes *out);

#endif
