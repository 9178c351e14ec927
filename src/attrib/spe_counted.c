/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/spe_counted.h"

#include <string.h>

#include "attrib/window.h"
#include "codec/perf_abi.h"

/* Of arm_spe_0's config: what is said beside it (arm_spe_pmu's format/). From FILTERS on, all bits leave out some. */
#define JITTER (1ull << 16)
#define FILTERS (~0ull << 32)
/* Hardware's intervals are multiples of 256, to which jitter adds less than that, as often each; the virtual PMU's
 * jitter goes both ways. */
#define UNIT 256u
#define MEAN_JITTER 128

#define LEVELS (ATTR_EXCLUDE_USER | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV)
#define LOADS SPE_KIND_LOAD
#define ACCESSES (SPE_KIND_LOAD | SPE_KIND_STORE)

/* In the role's words; Linux maps the generic cache events of L1D to those of loads and stores on Arm's own cores. */
static const struct row {
	u8 role, kinds, kinds_of_arm; /* 0: operations do not tell it */
	u64 events;
} rows[] = {
	{ ROLE_INSTRUCTIONS, SPE_KIND_ANY, SPE_KIND_ANY, SPE_EV_RETIRED },
	{ ROLE_BRANCHES, SPE_KIND_BRANCH, SPE_KIND_BRANCH, SPE_EV_RETIRED },
	{ ROLE_BRANCH_MISSES, SPE_KIND_BRANCH, SPE_KIND_BRANCH, SPE_EV_MISPREDICTED },
	{ ROLE_L1D_REFERENCES, ACCESSES, ACCESSES, SPE_EV_L1D_ACCESS },
	{ ROLE_L1D_MISSES, ACCESSES, ACCESSES, SPE_EV_L1D_REFILL },
	{ ROLE_L1D_LOADS, LOADS, ACCESSES, SPE_EV_L1D_ACCESS },
	{ ROLE_L1D_LOAD_MISSES, LOADS, ACCESSES, SPE_EV_L1D_REFILL },
	{ ROLE_LLC_REFERENCES, ACCESSES, ACCESSES, SPE_EV_LLC_ACCESS },
	{ ROLE_LLC_MISSES, ACCESSES, ACCESSES, SPE_EV_LLC_REFILL },
	{ ROLE_LLC_LOADS, LOADS, LOADS, SPE_EV_LLC_ACCESS },
	{ ROLE_LLC_LOAD_MISSES, LOADS, LOADS, SPE_EV_LLC_REFILL },
	{ ROLE_DTLB_LOADS, LOADS, 0, SPE_EV_TLB_ACCESS },
	{ ROLE_DTLB_LOAD_MISSES, LOADS, 0, SPE_EV_TLB_WALK },
};

static const struct row *row_of(u32 role)
{
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].role == role)
			return &rows[i];
	return NULL;
}

static bool is_filtered(const struct attr *a)
{
	return a->config & FILTERS || a->config1 || a->config2 || a->config3 || a->config4;
}

/* The one way in which all operations were sampled, into *how; else why there is none. */
static const char *find_sampling(const struct evlist *l, struct attr *how)
{
	bool any = false;

	for (size_t i = 0; i < l->events.n; i++) {
		const struct attr *a = &l->events.v[i].attr;

		if (!l->events.v[i].silent || !a->sample_period || a->type < PERF_TYPE_MAX)
			continue;
		if (is_filtered(a))
			return "they were filtered when they were recorded (load_filter, store_filter, branch_filter, "
			       "event_filter, inv_event_filter, min_latency)";
		if (any && (a->sample_period != how->sample_period || (a->config ^ how->config) & JITTER ||
			    (a->flags ^ how->flags) & LEVELS))
			return "several events sampled them, each in another way";
		*how = *a;
		any = true;
	}
	return any ? NULL : "it is not known how often they were sampled";
}

/* Does it have one for that counter? */
static bool is_made(const struct spe *s, const struct evlist *l, const struct attr *a)
{
	for (u32 i = 0; i < s->nr_made; i++) {
		const struct event *e = &l->events.v[s->made[i].event];

		if (e->counted && attr_same_event(&e->attr, a) && !((e->attr.flags ^ a->flags) & LEVELS))
			return true;
	}
	return false;
}

/* Of the modes in which the counter counts, which have to have been sampled, too. */
static void add_for(struct spe *s, const struct row *row, enum event_machine machine, const struct attr *how,
		    u32 counter, struct evlist *l)
{
	const struct event *e = &l->events.v[counter];
	u8 kinds = machine == MACHINE_ARM ? row->kinds_of_arm : row->kinds;
	struct attr a = { .type = e->attr.type,
			  .config = e->attr.config,
			  .config1 = e->attr.config1,
			  .config2 = e->attr.config2,
			  .config3 = e->attr.config3,
			  .config4 = e->attr.config4,
			  .flags = e->attr.flags & LEVELS,
			  .sample_period = how->sample_period,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU };
	struct spe_made made = { .what = SPE_NR_EVENTS, .kinds = kinds, .events = row->events };

	if (!kinds || is_made(s, l, &e->attr) || s->nr_made == ARRAY_LEN(s->made))
		return;
	if (machine != MACHINE_SIM)
		a.sample_period = MAX(how->sample_period / UNIT * UNIT + (how->config & JITTER ? MEAN_JITTER : 0), 1u);
	made.user = e->attr.flags & ATTR_EXCLUDE_KERNEL && !(how->flags & ATTR_EXCLUDE_KERNEL);
	made.event = evlist_add(l, &a, event_role_names[row->role], NULL);
	l->events.v[made.event].counted = true;
	s->made[s->nr_made++] = made;
}

const char *spe_add_counted(struct spe *s, enum event_machine machine, struct evlist *l)
{
	size_t n = l->events.n;
	struct attr how = { 0 };
	const char *why = NULL;
	bool known = false;

	for (u32 i = 0; i < n; i++) {
		const struct event *e = &l->events.v[i];
		const struct row *row = window_event(e) ? row_of(event_role_of(&e->attr, e->name, machine)) : NULL;

		if (!row)
			continue;
		if (!known)
			why = find_sampling(l, &how);
		known = true;
		if (why)
			return why;
		/* What ran in modes that were not sampled would be missing. */
		if (how.flags & ~e->attr.flags & (ATTR_EXCLUDE_USER | ATTR_EXCLUDE_KERNEL))
			why = "they were sampled in fewer modes of the CPU (:u, :k) than counters counted";
		else
			add_for(s, row, machine, &how, i, l);
		if (why)
			return why;
	}
	return NULL;
}
