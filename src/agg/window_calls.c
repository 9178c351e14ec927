/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often was a function called? Windows cannot tell: the first and the last window of a call reach into other code,
 * and are discarded. Another event of the recording can tell, if each of its samples stands for a call of the function
 * that contains it: a probe at a function's entry, or a counter of returns with exact addresses. (The samples of a
 * counter of calls are in the caller.)
 */
#include <string.h>

#include "agg/row_index.h"
#include "agg/window_rows.h"

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* perf probe puts them into groups of such names; those at returns lie in the caller. */
static bool is_entry_probe(const struct event *e)
{
	const char *name = e->name, *colon = strchr(name, ':');

	if (!strncmp(name, "uprobe/", 7) || !strncmp(name, "kprobe/", 7))
		return !(e->attr.config & 1); /* at returns */
	if (e->attr.type != PERF_TYPE_TRACEPOINT || !colon)
		return false;
	return (!strncmp(name, "probe", 5) || !strncmp(name, "uprobes:", 8) || !strncmp(name, "kprobes:", 8)) &&
	       !ends_with(name, "__return");
}

static bool tells_calls(const struct profile *p, const struct profile_event *e)
{
	const struct event *event = &p->evlist->events.v[e->event];
	bool exact = p->simulated.len || attr_precise_ip(&event->attr) >= 2;

	if (event_windows(e))
		return false;
	return is_entry_probe(event) ||
	       (exact && event_role_of(&event->attr, event->name, p->simulated.len ? MACHINE_SIM : MACHINE_OTHER) ==
				 ROLE_BRANCH_RETURNS);
}

/* Each call is a sample of its own. */
static bool counts_all(const struct attr *a)
{
	return !(a->flags & ATTR_FREQ) && a->sample_period == 1;
}

static void add_calls(const struct profile *p, struct row_index *rows, struct profile_event *e,
		      const struct profile_event *calls)
{
	struct profile_windows *w = event_windows(e);
	u32 stride = window_stride(w->group.nr);

	for (size_t i = 0; i < calls->rows.n; i++) {
		const struct row *r = &calls->rows.v[i];
		u32 at = row_index_find(rows, r);
		double *block = at == ID_NONE ? NULL : w->rows + at * (size_t)stride;

		/* Two probes in one function are not twice as many calls. */
		if (!r->self || !block || block[WINDOWS_CALLS] > 0)
			continue;
		block[WINDOWS_CALLS] = (double)r->self;
		block[WINDOWS_CALL_SAMPLES] =
			counts_all(&p->evlist->events.v[calls->event].attr) ? 0 : (double)r->samples;
		block[WINDOWS_WEIGHT] = (double)e->rows.v[at].self;
		w->calls = true;
	}
}

void profile_window_calls(const struct profile *p, struct profile_event *e)
{
	struct row_index rows = { .of = e, .nr_keys = p->nr_sort };

	for (size_t i = 0; i < p->events.n; i++) {
		if (tells_calls(p, &p->events.v[i]))
			add_calls(p, &rows, e, &p->events.v[i]);
	}
	row_index_free(&rows);
}
