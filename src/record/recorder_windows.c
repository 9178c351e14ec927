/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which windows are made, and how: from --window, from alternating periods in -e, and by default. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/recorder_impl.h"
#include "sys/machine.h"
#include "sys/probe.h"
#include "sys/smallfile.h"
#include "windows/fit.h"
#include "windows/native.h"

#define DEFAULT_FREQ 4000
#define MIN_INTERVAL_NS 100000 /* bursts come no faster, on average */

static struct window_rate window_rate(const struct attr_opts *o, bool sim)
{
	u64 max = 0, usual = DEFAULT_FREQ;

	if (o->period != RECORD_UNSET)
		return (struct window_rate){ .value = o->period };
	if (o->freq_max && smallfile_u64("/proc/sys/kernel/perf_event_max_sample_rate", &max))
		return (struct window_rate){ .value = max, .is_freq = true };
	if (o->freq != RECORD_UNSET)
		return (struct window_rate){ .value = o->freq, .is_freq = true };
	if (!sim && smallfile_u64("/proc/sys/kernel/perf_event_max_sample_rate", &max) && max)
		usual = MIN(usual, max);
	return (struct window_rate){ .value = usual, .is_freq = true, .of_samples = true };
}

/* Twins and bursts of hardware counters that count the kernel, too. */
static void warn_of_kernel(const struct recorder *r, enum window_how how)
{
	for (size_t i = 0; i < r->specs->v.n; i++) {
		const struct event_spec *s = &r->specs->v.v[i];

		if (s->windowed && !r->o->attr.all_user && window_counts_handler(how, &s->attr) &&
		    event_probe(&s->attr, s->cpus, NULL) == EVENT_USABLE)
			notify_warn(r->notify,
				    "%s counts the kernel, too, so windows include the kernel's work on a "
				    "sample, some thousand cycles (write :uS for user space only)",
				    s->name);
	}
}

static void say(const struct recorder *r, enum window_how how, const char *why)
{
	for (size_t i = 0; i < r->specs->v.n; i++) {
		const struct event_spec *s = &r->specs->v.v[i];

		if (!s->windowed)
			continue;
		notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET, "windows: %s (%s): %s", window_how_names[how], why,
			  s->name);
	}
}

/* Branch records are wanted: of more samples than are asked for there would be more of them. */
static bool wants_branches(const struct attr_opts *o)
{
	return o->branch_type || o->callgraph == CALLGRAPH_LBR;
}

static int plan_sim(struct recorder *r)
{
	struct window_rate rate = window_rate(&r->o->attr, true);
	struct window_opts o = r->o->window;
	struct bytes group = { 0 };
	int err = 0;

	if (o.how != WINDOW_AUTO && o.how != WINDOW_SIM)
		return notify_error(
			r->notify, ERR_USAGE,
			"mode=%s is for PMUs that cannot alternate periods, and the virtual PMU can: leave it "
			"out",
			window_how_names[o.how]);
	if (!r->specs->v.n && o.wish == WINDOW_BY_DEFAULT && wants_branches(&r->o->attr))
		o.wish = WINDOW_REFUSED;
	if (!r->specs->v.n && o.wish != WINDOW_REFUSED && !r->o->attr.no_samples) {
		o.wish = WINDOW_ASKED;
		u32 models = r->o->sim.v.models;

		window_default_group(
			&o, &(struct window_supply){ window_sim_has, &models, false, true, rate, MACHINE_SIM },
			&group);
		/* Half of the samples are of other events then. */
		if (rate.of_samples)
			rate.value /= 2;
		err = event_specs_parse(r->specs, (const char *)group.p, &(struct event_env){ .simulated = true },
					r->notify);
		bytes_free(&group);
	}
	if (err || !r->specs->v.n)
		return err;
	err = window_take_specs(r->specs, &o, true, r->notify);
	if (!err)
		err = window_make_specs(r->specs, WINDOW_SIM, rate,
					(struct window_speed){ 1000000000, sim_cycles_per_second(r->sim) }, r->notify);
	if (!err)
		say(r, WINDOW_SIM, "the virtual PMU alternates periods");
	return err;
}

static bool any_windowed(const struct event_specs *specs)
{
	for (size_t i = 0; i < specs->v.n; i++)
		if (specs->v.v[i].windowed)
			return true;
	return false;
}

/* --- this machine's PMU --- */

/* Are there cycles to count here? */
static bool has_cycles(void)
{
	const struct attr a = { .type = PERF_TYPE_HARDWARE,
				.config = PERF_COUNT_HW_CPU_CYCLES,
				.flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	enum event_usable usable = event_probe(&a, NULL, NULL);

	return usable == EVENT_USABLE || usable == EVENT_USER_ONLY;
}

/* Counts of the leader in a second: for a frequency's period. */
static u64 cycles_per_second(void)
{
	u64 khz = 0;

	if (!smallfile_u64("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", &khz) || !khz)
		khz = 2500000;
	return khz * 1000;
}

static bool unwinds(const struct recorder *r)
{
	bool any = r->o->attr.callgraph == CALLGRAPH_UNWIND;

	for (size_t i = 0; i < r->specs->v.n; i++)
		any |= event_spec_unwinds(&r->specs->v.v[i]);
	return any;
}

/* What does not go together with windows, however they are made; NULL: nothing. */
static const char *hindrance(const struct recorder *r)
{
	const struct record_opts *o = r->o;

	if (o->attr.no_samples)
		return "-n takes no samples";
	if (o->attr.overwrite)
		return "--overwrite looks at samples at the end only";
	return NULL;
}

static bool any_aux(const struct event_specs *specs)
{
	for (size_t i = 0; i < specs->v.n; i++)
		if (specs->v.v[i].aux)
			return true;
	return false;
}

/* What does not go together with those that the recorder makes by switching counters; NULL: nothing. */
static const char *hindrance_of_switching(const struct recorder *r)
{
	const struct record_opts *o = r->o;
	bool late_tasks = !r->target.system_wide && !o->attr.no_inherit && !o->target.tids && !o->target.per_thread;

	if (r->target.cgroups.n)
		return "-G counts cgroups, whose counters stop and go on with their tasks, so only the kernel can "
		       "keep "
		       "their distance";
	if (o->control)
		return "--control does not switch their counters";
	if (o->attr.activity && !r->journals)
		return "the BPF program of --activity is for counters that are open at the start, and windows open "
		       "others later (--activity=journal needs no such program)";
	if (o->attr.delay_ms < 0)
		return "with -D -1 nothing switches them on";
	if (late_tasks && !strcmp(r->path, "-"))
		return "each thread has its own counters, which can be listed at the end of a file, but not in "
		       "a pipe: write to a file, or record whole CPUs (-a), or leave out new threads (-i)";
	if (late_tasks && unwinds(r))
		return "each thread has its own ring, and many of them are too small for copies of stacks "
		       "(--call-graph unwind): record whole CPUs (-a), or leave out new threads (-i)";
	if (wants_branches(&o->attr))
		return "branch records (-b, -j, --call-graph lbr) need the counters' interrupts for themselves";
	if (any_aux(r->specs))
		return "AUX areas belong to CPUs, and not to the single threads that have windows then";
	return NULL;
}

/* Whether the kernel alternates periods; asked once. */
struct native {
	bool asked, works;
	const char *why, *leader; /* leader: the one that it does not do it for */
};

static bool native_works(struct native *n)
{
	if (!n->asked)
		n->works = windows_native_works(&n->why);
	n->asked = true;
	return n->works;
}

/* A jitter that nobody asked for is left out where it would make periods that the PMU refuses. */
static const char *ask_leader(const struct recorder *r, struct event_spec *s)
{
	const struct schedule schedule = window_schedule(s, WINDOW_NATIVE, UINT64_MAX);
	bool by_default = schedule.jitter_long != s->schedule.jitter_long;
	const char *why = windows_native_refused(&s->attr, &schedule, s->cpus);

	if (!why || !by_default || windows_native_refused(&s->attr, &s->schedule, s->cpus))
		return why;
	notify_warn(r->notify, "%s: its PMU refuses periods of half that length, so periods do not vary", s->name);
	s->refuses_jitter = true;
	return NULL;
}

/* It does, but not for one of the leaders: whatever makes the windows, makes them for all. */
static void ask_leaders(struct recorder *r, struct native *n)
{
	for (size_t i = 0; i < r->specs->v.n && n->works; i++) {
		struct event_spec *s = &r->specs->v.v[i];
		const char *why = s->windowed ? ask_leader(r, s) : NULL;

		if (why) {
			n->works = false;
			n->why = why;
			n->leader = s->name;
		}
	}
}

/* The group in place of the one event that is recorded by default. */
static int take_default_group(struct recorder *r, struct window_opts *o, struct native *native)
{
	bool cycles = has_cycles(), clock = o->leader == WINDOW_BY_CLOCK && o->leader_given;
	struct window_supply from = { .has = window_has_event, .clock = !cycles, .machine = machine_events() };
	struct bytes group = { 0 };
	int err;

	if (o->wish == WINDOW_BY_DEFAULT && (!cycles || hindrance(r) || wants_branches(&r->o->attr) ||
					     (hindrance_of_switching(r) && !native_works(native))))
		return 0;
	if (!cycles && o->leader_given && !clock)
		return notify_error(r->notify, ERR_UNSUPPORTED,
				    "leader=%s: no hardware PMU in this machine (try --pmu=sim, or leader=cpu-clock)",
				    o->leader == WINDOW_BY_INSTRUCTIONS ? "instructions" : "cycles");
	if (!cycles && !clock)
		notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET,
			  "no hardware PMU in this machine: using windows of cpu-clock, which say how long "
			  "something takes, but not why (--pmu=sim has cycles)");
	o->wish = WINDOW_ASKED;
	from.user_only = cycles && !clock && !r->o->attr.all_kernel;
	if (from.user_only)
		notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET,
			  "user space only, because windows of cycles would include the kernel's work on each "
			  "sample (--no-window samples the kernel, too)");
	window_default_group(o, &from, &group);
	err = event_specs_parse(r->specs, (const char *)group.p, NULL, r->notify);
	bytes_free(&group);
	return err;
}

/* Which way, and why that one. */
static int choose(struct recorder *r, const struct window_opts *o, struct native *native, enum window_how *how,
		  const char **why)
{
	bool bursts = window_needs_bursts(r->specs), jitter = window_needs_jitter(r->specs);

	*how = o->how;
	*why = "as asked for";
	if (*how == WINDOW_SIM)
		return notify_error(r->notify, ERR_USAGE, "mode=sim needs --pmu=sim");
	if ((*how == WINDOW_TWIN || *how == WINDOW_PLAIN) && (bursts || jitter))
		return notify_error(r->notify, ERR_USAGE,
				    "mode=%s has windows of one length: %s needs mode=refresh, or leave it out",
				    window_how_names[*how], bursts ? "burst=" : "jitter");
	if (*how != WINDOW_AUTO && *how != WINDOW_NATIVE)
		return 0;
	native_works(native);
	ask_leaders(r, native);
	*why = native->why;
	if (!native->works && *how == WINDOW_NATIVE)
		return notify_error(r->notify, ERR_UNSUPPORTED, "mode=native: %s%s%s (mode=auto takes what works)",
				    native->leader ? native->leader : "", native->leader ? ": " : "", *why);
	*how = native->works ? WINDOW_NATIVE : bursts || jitter ? WINDOW_REFRESH : WINDOW_TWIN;
	if (*how == WINDOW_REFRESH && !native->leader)
		*why = "this kernel has no alternating periods, and twins have no bursts and no jitter";
	return 0;
}

/* Hardware groups that are too large for the counters are counted in turns. */
static int fit_groups(struct recorder *r, enum window_how how)
{
	for (u32 i = 0; i < r->specs->v.n; i++) {
		const struct event_spec *s = &r->specs->v.v[i];
		u32 fit, groups;

		if (!s->windowed || s->attr.type == PERF_TYPE_SOFTWARE)
			continue;
		fit = window_fit(r->specs, i, how == WINDOW_TWIN);
		groups = fit ? window_split(r->specs, i, fit, how == WINDOW_TWIN) : 1;
		if (!groups)
			return notify_error(r->notify, ERR_USAGE,
					    "%s: only %u events of its group fit the counters at a time, too few for "
					    "windows%s",
					    r->specs->v.v[i].name, fit,
					    how == WINDOW_TWIN ? " of twins (mode=refresh needs one counter less)" :
								 "");
		if (groups > 1)
			notify_warn(
				r->notify,
				"the group of %s does not fit the counters: %u groups, each with that leader, take "
				"turns",
				r->specs->v.v[i].name, groups);
	}
	return 0;
}

static u64 interval_of(const struct event_specs *specs, struct window_speed speed)
{
	for (size_t i = 0; i < specs->v.n; i++) {
		const struct event_spec *s = &specs->v.v[i];
		u64 per_second = window_is_clock(&s->attr) ? speed.clock : speed.other;

		if (s->windowed && s->schedule.period_long)
			return MAX((u64)((double)schedule_whole(&s->schedule) * 1e9 / (double)per_second),
				   (u64)MIN_INTERVAL_NS);
	}
	return MIN_INTERVAL_NS;
}

static int plan_real(struct recorder *r)
{
	const struct window_speed speed = { 1000000000, cycles_per_second(), .seed = clock_ns() };
	struct window_opts o = r->o->window;
	const char *why = NULL;
	enum window_how how = WINDOW_AUTO;
	struct native native = { 0 };
	int err = 0;

	if (!r->specs->v.n && o.wish != WINDOW_REFUSED)
		err = take_default_group(r, &o, &native);
	if (err || !r->specs->v.n || !window_wanted(r->specs, &o))
		return err;
	err = window_take_specs(r->specs, &o, false, r->notify);
	if (!err && !any_windowed(r->specs))
		return 0;
	if (!err && hindrance(r))
		err = notify_error(r->notify, ERR_USAGE,
				   "there can be no windows: %s. Use --no-window to record without", hindrance(r));
	if (!err)
		err = choose(r, &o, &native, &how, &why);
	if (!err && how != WINDOW_NATIVE && hindrance_of_switching(r))
		err = notify_error(r->notify, ERR_USAGE,
				   "there can be no windows: %s. Use --no-window to record without",
				   hindrance_of_switching(r));
	if (!err && window_of_occurrences(r->specs, how))
		err = notify_error(
			r->notify, ERR_USAGE,
			"%s cannot lead windows: the kernel samples every single one if samples contain "
			"periods (let cpu-clock or cycles lead its group; mode=plain has windows of software events)",
			window_of_occurrences(r->specs, how));
	if (!err)
		err = fit_groups(r, how);
	if (!err)
		err = window_make_specs(r->specs, how, window_rate(&r->o->attr, false), speed, r->notify);
	if (err)
		return err;
	r->window_how = how;
	r->window_interval_ns = interval_of(r->specs, speed);
	say(r, how, why);
	warn_of_kernel(r, how);
	return 0;
}

int recorder_plan_windows(struct recorder *r)
{
	if (r->specs->v.n && r->o->window.leader_given)
		return notify_error(r->notify, ERR_USAGE,
				    "leader= is for windows without -e: the first event of a group leads it (here %s)",
				    r->specs->v.v[0].name);
	return r->sim ? plan_sim(r) : plan_real(r);
}
