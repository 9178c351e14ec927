/* SPDX-License-Identifier: Apache-2.0 */
/* Which branch records the virtual PMU's cores keep. They have what real ones of their kind have, and no more. */
#include "sim/sim.h"

#define TYPES                                                                                                         \
	(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN |                       \
	 PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_COND |                        \
	 PERF_SAMPLE_BRANCH_CALL)

struct refusal {
	u64 filter;
	const char *text;
};

static const struct refusal never[] = {
	{ PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV,
	  "the virtual PMU has no branch records of k, hv: it sees user code only (u)" },
	{ PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_ABORT_TX,
	  "the virtual PMU has no branch records of in_tx, abort_tx: it has no transactions" },
};

/* What Linux's driver of BRBE refuses as well; but it takes hw_index, and writes a number that says nothing. */
static const struct refusal not_brbe[] = {
	{ PERF_SAMPLE_BRANCH_CALL_STACK,
	  "Arm's BRBE, which this program's core has, keeps no call stacks (--call-graph lbr, -j stack): --call-graph "
	  "fp is exact on the virtual PMU, dwarf and unwind are the ways on Arm's processors, and "
	  "--pmu=sim,records=lbr has Intel's records" },
	{ PERF_SAMPLE_BRANCH_HW_INDEX,
	  "Arm's BRBE, which this program's core has, does not tell which of its registers is the newest: leave out "
	  "hw_index, or choose Intel's records (--pmu=sim,records=lbr)" },
	{ BRANCH_COUNTERS,
	  "Arm's BRBE, which this program's core has, does not count events between branches: leave out counter, or "
	  "choose Intel's records (--pmu=sim,records=lbr)" },
	{ PERF_SAMPLE_BRANCH_NO_TX,
	  "Arm's BRBE, which this program's core has, knows of no transactions: leave out no_tx" },
};

static const char *refused(const struct refusal *rows, u32 n, u64 filter)
{
	for (u32 i = 0; i < n; i++)
		if (filter & rows[i].filter)
			return rows[i].text;
	return NULL;
}

/* How many events of the group are counted between branches. */
static u32 nr_counted(const struct event_set *set, u32 leader)
{
	u32 n = 0;

	for (size_t i = 0; i < set->events.n; i++)
		n += set->events.v[i].leader == leader && set->events.v[i].attr.branch_sample_type & BRANCH_COUNTERS;
	return n;
}

/* An event that only counts for the records of others of its group. */
static bool is_for_others(const struct event_set *set, const struct open_event *e)
{
	if (!(e->attr.branch_sample_type & BRANCH_COUNTERS))
		return false;
	for (size_t i = 0; i < set->events.n; i++) {
		const struct open_event *other = &set->events.v[i];

		if (other->leader == e->leader && other->attr.branch_sample_type & BRANCH_COUNTERS &&
		    other->attr.branch_sample_type & TYPES)
			return true;
	}
	return false;
}

static int check_counters(const struct sim *s, const struct event_set *set, const struct open_event *e)
{
	u64 filter = e->attr.branch_sample_type;
	u32 n = nr_counted(set, e->leader);

	if (filter & PERF_SAMPLE_BRANCH_CALL_STACK)
		return notify_error(s->notify, ERR_USAGE,
				    "counter counts between branches, not between the calls of a stack (-j stack): "
				    "-j any,counter");
	if (n > VPMU_BRANCH_COUNTERS)
		return notify_error(s->notify, ERR_USAGE,
				    "a core counts %u events between branches, and this group has %u of them: name "
				    "fewer events, or give the others branch_type=any",
				    VPMU_BRANCH_COUNTERS, n);
	return 0;
}

static int check_event(const struct sim *s, const struct event_set *set, const struct open_event *e)
{
	u64 filter = e->attr.branch_sample_type;
	const char *text = refused(never, ARRAY_LEN(never), filter);

	if (!text && s->opts.v.branch_kind == VPMU_BRBE)
		text = refused(not_brbe, ARRAY_LEN(not_brbe), filter);
	if (text)
		return notify_error(s->notify, ERR_USAGE, "%s", text);
	if (filter & PERF_SAMPLE_BRANCH_CALL_STACK && filter & TYPES)
		return notify_error(s->notify, ERR_USAGE,
				    "branch records are a call stack (--call-graph lbr, -j stack) or branches (-b, -j "
				    "any), not both");
	if (!(filter & (TYPES | PERF_SAMPLE_BRANCH_CALL_STACK)) && !is_for_others(set, e))
		return notify_error(s->notify, ERR_USAGE,
				    "this says how branches are recorded, but not which: name some as well (any, "
				    "any_call, any_ret, ind_call, ind_jmp, call, cond)");
	if (!vpmu_branch_depth_fits(s->opts.v.branch_kind, s->opts.v.branch_depth))
		return notify_error(s->notify, ERR_USAGE,
				    "Arm's BRBE, which this program's core has, keeps 8, 16, 32 or 64 branch records, "
				    "not %u",
				    s->opts.v.branch_depth);
	return filter & BRANCH_COUNTERS ? check_counters(s, set, e) : 0;
}

int sim_check_branches(const struct sim *s, const struct event_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->events.n && !err; i++)
		if (set->events.v[i].attr.branch_sample_type)
			err = check_event(s, set, &set->events.v[i]);
	return err;
}
