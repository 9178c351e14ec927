/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From options to perf_event_attr. The rules are perf's (perf record of Linux 6.1), so that a recording made with the
 * same options holds the same fields:
 *
 * - every sample has IP and TID, and TIME unless rings are per thread; PERIOD only if the kernel chooses it;
 * - samples of several events have ID if all have the same fields, and IDENTIFIER, which is at a fixed place, if the
 *   fields differ;
 * - the side-band is carried by the first event, or by an additional event that counts nothing (dummy), if the others
 *   start late (--delay), are switched on and off (--control) or overwritten, or if whole CPUs are measured: the
 *   additional event is enabled before /proc is read;
 * - what writes into an AUX area takes no samples, and records say when threads were switched, because the area is
 * that of a CPU;
 * - with the S modifier only the leader samples, and its samples read the whole group.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/activity.h"
#include "codec/vpmu.h"
#include "open/set.h"
#include "sys/smallfile.h"

#define DEFAULT_FREQ 4000
#define SIDE_BAND (ATTR_MMAP | ATTR_MMAP2 | ATTR_COMM | ATTR_COMM_EXEC | ATTR_TASK | ATTR_KSYMBOL | ATTR_BPF_EVENT)
#define CALLCHAIN_FLAGS (ATTR_EXCLUDE_CALLCHAIN_KERNEL | ATTR_EXCLUDE_CALLCHAIN_USER)

struct config {
	const struct attr_opts *o;
	const struct target *t;
	bool has_cpu, command_is_target;
	bool follow_switches; /* whose AUX data those of a CPU are */
	const struct notify *to;
};

/* Does it sample one of so many operations? No frequency holds for it. */
static bool takes_interval(const struct event_spec *s, const struct attr_opts *o)
{
	return s->aux || (o->simulated && vpmu_is_spe(&s->attr));
}

static void set_period(struct attr *a, const struct event_spec *s, const struct attr_opts *o)
{
	bool user_rate =
		o->period != RECORD_UNSET || (!takes_interval(s, o) && (o->freq != RECORD_UNSET || o->freq_max));

	if (s->has_freq) {
		a->flags |= ATTR_FREQ;
	} else if (!s->has_period) {
		/* Tracepoints and breakpoints: every occurrence, unless a rate was asked for. */
		if ((a->type == PERF_TYPE_TRACEPOINT || a->type == PERF_TYPE_BREAKPOINT) && !a->sample_period)
			a->sample_period = 1;
		if (!a->sample_period || user_rate) {
			bool by_period = o->period != RECORD_UNSET;

			a->flags = by_period ? a->flags & ~ATTR_FREQ : a->flags | ATTR_FREQ;
			a->sample_period = by_period ? o->period : o->freq != RECORD_UNSET ? o->freq : DEFAULT_FREQ;
		}
	}
	if (o->no_samples)
		a->sample_period = 0;
	if (a->flags & ATTR_FREQ || o->want_period)
		a->sample_type |= PERF_SAMPLE_PERIOD;
}

static void set_callgraph(struct attr *a, const struct attr_opts *o, enum callgraph how)
{
	if (how == CALLGRAPH_NONE)
		return;
	a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	a->sample_max_stack = (u16)MIN(o->max_stack, UINT16_MAX);
	if (o->user_callchains)
		a->flags |= ATTR_EXCLUDE_CALLCHAIN_KERNEL;
	if (o->kernel_callchains)
		a->flags |= ATTR_EXCLUDE_CALLCHAIN_USER;
	if (how == CALLGRAPH_LBR) {
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
					PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_NO_FLAGS |
					PERF_SAMPLE_BRANCH_HW_INDEX;
	}
	if (how == CALLGRAPH_DWARF)
		a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
	if (how == CALLGRAPH_DWARF || how == CALLGRAPH_UNWIND) {
		a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a->sample_regs_user = o->user_mask ? regs_stack(o->regs) : regs_general(o->regs);
		a->sample_stack_user = o->stack_dump;
		a->flags |= ATTR_EXCLUDE_CALLCHAIN_USER;
	}
}

/* The term call-graph=: "fp", "no", "lbr", "dwarf", "unwind"; stack-size= is the number of bytes for these two. */
static enum callgraph spec_callgraph(const struct event_spec *s, struct attr_opts *o)
{
	if (s->max_stack)
		o->max_stack = s->max_stack;
	if (s->stack_size)
		o->stack_dump = s->stack_size;
	if (!s->has_call_graph)
		return o->callgraph;
	if (!strncmp(s->call_graph, "dwarf", 5))
		return CALLGRAPH_DWARF;
	if (event_spec_unwinds(s)) {
		if (!s->stack_size && o->callgraph != CALLGRAPH_UNWIND)
			o->stack_dump = DEFAULT_UNWOUND;
		return CALLGRAPH_UNWIND;
	}
	if (!strcmp(s->call_graph, "lbr"))
		return CALLGRAPH_LBR;
	return strcmp(s->call_graph, "no") ? CALLGRAPH_FP : CALLGRAPH_NONE;
}

static void set_fields(struct attr *a, const struct config *c)
{
	const struct {
		bool on;
		u64 fields;
	} rows[] = {
		{ true, PERF_SAMPLE_IP | PERF_SAMPLE_TID },
		{ !c->t->per_thread || c->o->time, PERF_SAMPLE_TIME },
		{ c->has_cpu || c->o->cpu, PERF_SAMPLE_CPU },
		{ c->o->addr, PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC },
		{ c->o->phys_addr, PERF_SAMPLE_PHYS_ADDR },
		{ c->o->weight, PERF_SAMPLE_WEIGHT_STRUCT },
		{ c->o->raw, PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_CPU },
		{ c->o->transaction, PERF_SAMPLE_TRANSACTION },
		{ c->o->data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE },
		{ c->o->code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE },
		{ c->o->cgroup_events, PERF_SAMPLE_CGROUP },
		{ c->o->branch_type, PERF_SAMPLE_BRANCH_STACK },
		{ a->type == PERF_TYPE_TRACEPOINT,
		  PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD },
	};

	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].on)
			a->sample_type |= rows[i].fields;
	a->branch_sample_type |= c->o->branch_type;
}

static void set_flags(struct attr *a, const struct config *c)
{
	a->flags |= ATTR_SAMPLE_ID_ALL;
	if (!c->o->no_inherit && !c->t->threads_named && !c->t->per_thread)
		a->flags |= ATTR_INHERIT;
	if (c->o->stat) {
		a->flags |= ATTR_INHERIT_STAT;
		a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
	a->read_format |= PERF_FORMAT_ID | PERF_FORMAT_LOST;
	if (c->o->all_user)
		a->flags = (a->flags & ~ATTR_EXCLUDE_USER) | ATTR_EXCLUDE_KERNEL;
	if (c->o->all_kernel)
		a->flags = (a->flags & ~ATTR_EXCLUDE_KERNEL) | ATTR_EXCLUDE_USER;
	if (c->o->use_clockid) {
		a->flags |= ATTR_USE_CLOCKID;
		a->clockid = c->o->clockid;
	}
}

static void set_tracking(struct open_event *e, const struct config *c)
{
	e->tracking = true;
	e->attr.flags |= SIDE_BAND;
	if (c->o->no_bpf_event)
		e->attr.flags &= ~ATTR_BPF_EVENT;
	if (e->attr.sample_type & PERF_SAMPLE_ADDR)
		e->attr.flags |= ATTR_MMAP_DATA;
	if (c->o->namespaces)
		e->attr.flags |= ATTR_NAMESPACES;
	if (c->o->cgroup_events)
		e->attr.flags |= ATTR_CGROUP;
	if (c->o->switch_events || c->follow_switches)
		e->attr.flags |= ATTR_CONTEXT_SWITCH;
	if (c->o->buildid_mmap)
		e->attr.flags |= ATTR_BUILD_ID;
}

static void set_registers(struct attr *a, const struct attr_opts *o)
{
	if (o->user_mask)
		a->sample_type |= PERF_SAMPLE_REGS_USER;
	a->sample_regs_user |= o->user_mask;
	if (o->intr_mask)
		a->sample_type |= PERF_SAMPLE_REGS_INTR;
	a->sample_regs_intr = o->intr_mask;
}

/*
 * An event that writes into an AUX area takes no samples: of it come only records about that area, whose fields say
 * which event they are of, and when. It counts by period, which its PMU does not let be shorter than it can take.
 */
static int configure_aux(struct open_event *e, const struct config *c)
{
	const struct event_spec *s = e->spec;
	struct attr *a = &e->attr;

	if (s->has_freq)
		return notify_error(c->to, ERR_USAGE, "%s takes an interval (period= or -c), and no frequency",
				    e->name);
	a->sample_type &= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	a->branch_sample_type = 0;
	a->sample_regs_user = a->sample_regs_intr = 0;
	a->sample_stack_user = 0;
	a->flags &= ~(u64)(ATTR_FREQ | ATTR_WRITE_BACKWARD | CALLCHAIN_FLAGS);
	if (!s->has_period)
		a->sample_period = c->o->period != RECORD_UNSET ? c->o->period : s->attr.sample_period;
	if (a->sample_period >= s->least_period)
		return 0;
	notify_warn(c->to, "%s: its PMU takes one of %llu operations at most: using that instead of %llu", e->name,
		    (unsigned long long)s->least_period, (unsigned long long)a->sample_period);
	a->sample_period = s->least_period;
	return 0;
}

static bool rate_is_given(const struct attr_opts *o)
{
	return o->freq != RECORD_UNSET || o->freq_max;
}

/* Of all these events at once. asked: before the kernel's limit has become the frequency. */
static void warn_of_rate(const struct event_specs *specs, const struct attr_opts *asked, const struct notify *to)
{
	for (size_t i = 0; i < specs->v.n && rate_is_given(asked) && asked->period == RECORD_UNSET; i++) {
		const struct event_spec *s = &specs->v.v[i];

		if (!takes_interval(s, asked) || s->has_period || s->has_freq)
			continue;
		notify_warn(to,
			    "%s: -F does not hold for it, because it samples one of so many operations: of %llu here "
			    "(period= or -c set that)",
			    s->name, (unsigned long long)s->attr.sample_period);
		return;
	}
}

/* What does not go together with AUX data. */
static int check_aux(const struct event_specs *specs, const struct config *c)
{
	const struct event_spec *first = NULL;

	for (size_t i = 0; i < specs->v.n; i++) {
		const struct event_spec *s = &specs->v.v[i];

		if (!s->aux)
			continue;
		if (first && c->t->per_thread && first->attr.type != s->attr.type)
			return notify_error(c->to, ERR_USAGE,
					    "%s and %s: the ring of a thread has one AUX area, which one PMU fills "
					    "(record them one after the other, or without --per-thread)",
					    first->name, s->name);
		first = s;
	}
	if (first && c->o->use_clockid)
		return notify_error(c->to, ERR_USAGE,
				    "-k: the times in the AUX data of %s follow the kernel's own clock, and those of "
				    "all other records have to be of the same one",
				    first->name);
	return 0;
}

/* Windows are watched as they come. */
static bool is_overwritten(const struct event_spec *s, const struct attr_opts *o)
{
	return (s->has_overwrite ? s->overwrite : o->overwrite) && !s->windowed && !o->simulated;
}

static void configure_event(struct open_event *e, const struct config *c)
{
	struct attr_opts o = *c->o; /* what terms of this event override */
	const struct event_spec *s = e->spec;
	enum callgraph how;

	set_fields(&e->attr, c);
	set_flags(&e->attr, c);
	if (s->has_inherit)
		e->attr.flags = s->inherit ? e->attr.flags | ATTR_INHERIT : e->attr.flags & ~ATTR_INHERIT;
	if (s->has_time)
		e->attr.sample_type =
			s->time ? e->attr.sample_type | PERF_SAMPLE_TIME : e->attr.sample_type & ~PERF_SAMPLE_TIME;
	set_period(&e->attr, s, c->o);
	/* Else the processor may collect many samples (PEBS), of which the kernel writes all but one without calling a
	 * BPF program. It does so only for samples of certain fields, and raw data, empty here, are none of these. */
	if (c->o->activity && attr_precise_ip(&e->attr) && !(e->attr.flags & ATTR_FREQ))
		e->attr.sample_type |= PERF_SAMPLE_RAW;
	how = spec_callgraph(s, &o);
	e->unwound = how == CALLGRAPH_UNWIND;
	set_callgraph(&e->attr, &o, how);
	set_registers(&e->attr, &o);
	if (s->has_branches) {
		e->attr.sample_type &= ~(u64)PERF_SAMPLE_BRANCH_STACK;
		e->attr.branch_sample_type = s->attr.branch_sample_type;
		if (e->attr.branch_sample_type)
			e->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	}
	if (e->attr.sample_tls_user)
		e->attr.sample_type |= PERF_SAMPLE_TLS_USER;
	if (is_overwritten(s, &o))
		e->attr.flags |= ATTR_WRITE_BACKWARD;
	if (s->pinned)
		e->attr.flags |= ATTR_PINNED;
	if (s->exclusive)
		e->attr.flags |= ATTR_EXCLUSIVE;
}

/* Twins and bursts are let loose by the recorder. */
static bool starts_by_hand(const struct open_event *e, const struct config *c)
{
	return e->spec->windowed && (c->o->windows == WINDOW_TWIN || c->o->windows == WINDOW_REFRESH);
}

/* Leaders start disabled; their members follow them. */
static void set_start(struct event_set *set, const struct config *c)
{
	for (u32 i = 0; i < set->events.n; i++) {
		struct open_event *e = &set->events.v[i];

		if (e->leader != i || !e->spec)
			continue;
		e->attr.flags |= ATTR_DISABLED;
		if (starts_by_hand(e, c))
			continue;
		if (c->command_is_target && !c->o->delay_ms)
			e->attr.flags |= ATTR_ENABLE_ON_EXEC;
	}
}

static void take_fields(struct attr *a, const struct attr *from)
{
	a->sample_type = from->sample_type;
	a->sample_tls_user = from->sample_tls_user;
	a->sample_tls_offset = from->sample_tls_offset;
	a->sample_tls_flags = from->sample_tls_flags;
}

static void configure_group_reads(struct event_set *set, const struct config *c)
{
	/*
	 * Kernels before 6.12 do not open inherited events that read their group. Those that alternate periods do, and
	 * the virtual PMU counts each thread.
	 */
	const u64 no_inherit = c->o->simulated || c->o->windows == WINDOW_NATIVE ? 0 : ATTR_INHERIT;

	for (u32 i = 0; i < set->events.n; i++) {
		struct open_event *e = &set->events.v[i], *leader = &set->events.v[e->leader];

		if (!e->spec || !leader->spec->sample_read)
			continue;
		leader->attr.sample_type |= PERF_SAMPLE_READ;
		/* Whether the counters were on the hardware all the time. */
		if (leader->spec->windowed && c->o->windows > WINDOW_SIM)
			e->attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (e == leader)
			continue;
		leader->attr.read_format |= PERF_FORMAT_GROUP;
		leader->attr.flags &= ~no_inherit;
		e->attr.read_format |= PERF_FORMAT_GROUP;
		e->attr.flags &= ~(ATTR_FREQ | no_inherit);
		if (e->spec->twin)
			e->attr.flags |= ATTR_DISABLED;
		else
			e->attr.sample_period = 0;
	}
	/* Members deliver no samples of their own; equal fields let ID tell all of them apart. */
	for (u32 i = 0; i < set->events.n; i++) {
		struct open_event *e = &set->events.v[i], *leader = &set->events.v[e->leader];

		if (e->spec && e != leader && leader->spec->sample_read)
			take_fields(&e->attr, &leader->attr);
	}
}

static void add_tracking_event(struct event_set *set, const struct config *c)
{
	struct open_event e = { .leader = (u32)set->events.n, .cgroup = -1 };
	const struct event_spec none = { 0 };

	e.name = mem_strdup(c->o->all_user ? "dummy:uh" : c->o->all_kernel ? "dummy:kh" : "dummy:HG");
	e.attr = (struct attr){ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .sample_period = 1 };
	set_fields(&e.attr, c);
	/* It never counts, so no hardware would give it branches. */
	e.attr.sample_type &= ~(u64)PERF_SAMPLE_BRANCH_STACK;
	e.attr.branch_sample_type = 0;
	set_flags(&e.attr, c);
	set_period(&e.attr, &none, c->o);
	set_callgraph(&e.attr, c->o, c->o->callgraph == CALLGRAPH_LBR ? CALLGRAPH_FP : c->o->callgraph);
	e.unwound = c->o->callgraph == CALLGRAPH_UNWIND;
	if (!c->has_cpu && (c->o->delay_ms || c->o->by_command || set->overwrites))
		e.attr.flags |= ATTR_DISABLED | ATTR_ENABLE_ON_EXEC;
	e.everywhere = c->t->system_wide || set->by_task;
	if (set->by_task) {
		/* It follows the tasks that come, each of which needs counters at once. */
		e.attr.flags |= ATTR_INHERIT | ATTR_WATERMARK;
		e.attr.wakeup_events = 1;
	}
	vec_push(&set->events, e);
}

/* What the BPF program writes, on every CPU on which something is sampled. */
static void add_activity_event(struct event_set *set, const struct config *c)
{
	struct open_event e = {
		.leader = (u32)set->events.n, .cgroup = -1, .activity = !c->o->journal, .once = c->o->journal
	};

	e.name = mem_strdup(ACTIVITY_EVENT);
	e.attr = (struct attr){ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT, .sample_period = 1 };
	e.attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	set_flags(&e.attr, c);
	e.attr.flags &= ~(ATTR_INHERIT | ATTR_INHERIT_STAT);
	vec_push(&set->events, e);
}

static void set_ids(struct event_set *set, const struct attr_opts *o)
{
	bool same = true, wanted = set->events.n > 1 || o->identifier;
	u64 how;

	for (size_t i = 1; i < set->events.n; i++)
		same &= set->events.v[i].attr.sample_type == set->events.v[0].attr.sample_type;
	wanted |= o->id || set->events.v[0].attr.sample_type & PERF_SAMPLE_READ;
	if (!wanted)
		return;
	how = same && !o->identifier ? PERF_SAMPLE_ID : PERF_SAMPLE_IDENTIFIER;
	for (size_t i = 0; i < set->events.n; i++)
		set->events.v[i].attr.sample_type |= how;
}

/* The schedule is in the attr by now, as far as one period can say it: that of a whole turn. */
static void set_windows(struct open_event *e, enum window_how how)
{
	e->native = how == WINDOW_NATIVE;
	if (how == WINDOW_REFRESH)
		e->attr.sample_period = e->schedule.period_short;
}

static void add_spec(struct event_set *set, const struct event_spec *s, s32 cgroup, u32 leader)
{
	struct open_event e = {
		.attr = s->attr, .name = mem_strdup(s->name), .spec = s, .leader = leader, .cgroup = cgroup
	};

	vec_push(&set->events, e);
}

/* Is any of them in a group of several? */
static bool any_grouped(const struct event_specs *specs)
{
	for (u32 i = 0; i < specs->v.n; i++)
		if (specs->v.v[i].leader != i)
			return true;
	return false;
}

/*
 * One cgroup is everybody's; as many as there are events go with them in order; else each event goes into each. A
 * group is of one cgroup, so where there are groups, each of them goes into each, whatever the numbers.
 */
static void add_specs(struct event_set *set, const struct event_specs *specs, const struct target *t)
{
	u32 n = (u32)specs->v.n, cgroups = (u32)t->cgroups.n;
	bool in_order = cgroups == n && !any_grouped(specs);
	u32 rounds = cgroups > 1 && !in_order ? cgroups : 1;

	for (u32 round = 0; round < rounds; round++) {
		for (u32 i = 0; i < n; i++) {
			s32 cgroup = !cgroups ? -1 : rounds > 1 ? (s32)round : cgroups > 1 ? (s32)i : 0;

			add_spec(set, &specs->v.v[i], cgroup, round * n + specs->v.v[i].leader);
		}
	}
}

static int settle_rate(struct attr_opts *o, const struct notify *to)
{
	u64 max = 0;

	if (o->period != RECORD_UNSET || o->simulated)
		return 0;
	if (!smallfile_u64("/proc/sys/kernel/perf_event_max_sample_rate", &max))
		return o->freq_max ? notify_error(to, ERR_IO, "cannot read kernel.perf_event_max_sample_rate") : 0;
	if (o->freq_max) {
		o->freq = max;
		notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET, "-F max: %llu samples per second",
			  (unsigned long long)max);
	} else if (o->freq != RECORD_UNSET && o->freq > max) {
		if (o->strict_freq)
			return notify_error(to, ERR_LIMIT,
					    "%llu Hz is over the kernel's limit of %llu "
					    "(sysctl kernel.perf_event_max_sample_rate)",
					    (unsigned long long)o->freq, (unsigned long long)max);
		notify_warn(
			to,
			"%llu Hz is over the kernel's limit: taking %llu (sysctl kernel.perf_event_max_sample_rate)",
			(unsigned long long)o->freq, (unsigned long long)max);
		o->freq = max;
	} else if (o->freq == RECORD_UNSET && max && max < DEFAULT_FREQ) {
		o->freq = max;
	}
	return 0;
}

static int settle_registers(struct attr_opts *o, const struct notify *to)
{
	int err = 0;

	if (o->user_regs)
		err = regs_parse(o->regs, o->user_regs, "--user-regs", &o->user_mask, to);
	if (!err && o->intr_regs)
		err = regs_parse(o->regs, o->intr_regs, "--intr-regs", &o->intr_mask, to);
	if (!err && o->user_mask && o->user_mask != regs_general(o->regs) && o->callgraph == CALLGRAPH_DWARF)
		notify_warn(to, "--call-graph dwarf with some registers only (--user-regs, and those of stack and "
				"program): most stacks cannot be unwound");
	return err;
}

struct attr event_recorded_attr(const struct open_event *e)
{
	struct attr a = e->attr;

	if (!e->unwound)
		return a;
	a.sample_type &= ~(u64)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	a.sample_regs_user = a.sample_stack_user = 0;
	a.flags &= ~(u64)ATTR_EXCLUDE_CALLCHAIN_USER;
	return a;
}

/* What is unwound while it comes has to come in order, and what is not kept cannot be asked for. */
static int check_unwound(const struct event_set *set, const struct attr_opts *o, const struct notify *to)
{
	const char *why = NULL;
	bool any = false;

	for (size_t i = 0; i < set->events.n; i++)
		any |= set->events.v[i].unwound;
	if (o->simulated)
		why = "the virtual PMU has whole call chains without it (-g)";
	else if (!regs_general(o->regs))
		why = "it is not known on this architecture";
	else if (set->overwrites)
		why = "rings that are overwritten (--overwrite) are read too late for it";
	else if (o->user_mask)
		why = "the program's registers (--user-regs) are not kept then; --call-graph dwarf keeps them";
	else if (o->kernel_callchains)
		why = "--kernel-callchains leaves nothing to unwind";
	return any && why ? notify_error(to, ERR_UNSUPPORTED, "--call-graph unwind: %s", why) : 0;
}

static int configure_events(struct event_set *set, const struct config *c)
{
	int err = 0;

	for (size_t i = 0; i < set->events.n && !err; i++) {
		struct open_event *e = &set->events.v[i];

		configure_event(e, c);
		set->overwrites |= (e->attr.flags & ATTR_WRITE_BACKWARD) != 0;
		if (e->spec->aux)
			err = configure_aux(e, c);
	}
	if (!err && set->aux && set->overwrites)
		err = notify_error(
			c->to, ERR_USAGE,
			"--overwrite keeps only the last samples, but AUX data are written to the recording "
			"as they come: these do not go together");
	return err ? err : check_unwound(set, c->o, c->to);
}

int event_set_configure(struct event_set *set, const struct event_specs *specs, const struct attr_opts *asked,
			const struct target *t, bool has_workload, const struct notify *to)
{
	struct attr_opts o = *asked;
	struct config c = { .o = &o, .t = t, .has_cpu = t->system_wide, .to = to };
	int err = settle_rate(&o, to);
	bool own; /* has the side-band an event of its own? */

	set->system_wide = t->system_wide;
	set->others = t->tasks_named;
	/* A kernel that alternates periods begins anew in each task that inherits them. */
	set->by_task = o.windows > WINDOW_SIM && o.windows != WINDOW_NATIVE && !t->system_wide;
	set->follows = set->by_task && !o.no_inherit && !t->threads_named && !t->per_thread;
	if (set->by_task)
		o.no_inherit = true;
	c.command_is_target = has_workload && !t->system_wide && !t->tasks_named;
	o.time |= o.callgraph == CALLGRAPH_UNWIND;
	for (size_t i = 0; i < specs->v.n; i++) {
		o.time |= event_spec_unwinds(&specs->v.v[i]);
		set->aux |= specs->v.v[i].aux;
	}
	/* AUX data have a time, and are of a CPU: so must be what says who ran there. */
	o.time |= set->aux;
	o.cpu |= set->aux;
	c.follow_switches = set->aux && !t->per_thread;
	o.addr |= o.callgraph == CALLGRAPH_DWARF; /* as perf: what unwinds from memory also follows data maps */
	if (o.callgraph == CALLGRAPH_DWARF && !regs_general(o.regs))
		return notify_error(to, ERR_UNSUPPORTED, "--call-graph dwarf is not known on this architecture");
	warn_of_rate(specs, asked, to);
	if (!err)
		err = settle_registers(&o, to);
	if (!err)
		err = check_aux(specs, &c);
	if (err)
		return err;
	add_specs(set, specs, t);
	err = configure_events(set, &c);
	if (err)
		return err;
	set_start(set, &c);
	configure_group_reads(set, &c);
	own = c.has_cpu || o.delay_ms || o.by_command || set->follows || set->overwrites || set->aux;
	if (own)
		add_tracking_event(set, &c);
	set_tracking(&set->events.v[own ? set->events.n - 1 : 0], &c);
	if (o.activity)
		add_activity_event(set, &c);
	for (size_t i = 0; i < set->events.n && !err; i++) {
		struct open_event *e = &set->events.v[i];

		if (e->spec)
			err = event_spec_schedule(e->spec, &e->attr, &e->schedule, to);
		if (!err && e->spec && e->schedule.period_short)
			set_windows(e, o.windows);
	}
	set_ids(set, &o);
	for (size_t i = 0; i < set->events.n; i++)
		set->events.v[i].attr.size = attr_open_size(&set->events.v[i].attr);
	return err;
}
