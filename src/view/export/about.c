/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/about.h"

#include "codec/event_role.h"

static bool is_clock(const struct profile *p, const struct profile_event *e)
{
	const struct event *event = &p->evlist->events.v[e->event];

	return event_role_of(&event->attr, event->name, false) == ROLE_TIME;
}

void event_value_of(const struct profile *p, const struct profile_event *e, struct event_value *out)
{
	const struct event *event = &p->evlist->events.v[e->event];
	u32 clocks = 0;

	for (size_t i = 0; i < p->events.n; i++)
		clocks += is_clock(p, &p->events.v[i]);
	*out = (struct event_value){ event->name, "count", event->attr.sample_period };
	if (is_clock(p, e)) {
		out->name = clocks == 1 ? "cpu" : event->name;
		out->unit = "nanoseconds";
	}
	if (event->attr.flags & ATTR_FREQ)
		out->period = e->samples ? (e->weight + e->samples / 2) / e->samples : 0;
}
