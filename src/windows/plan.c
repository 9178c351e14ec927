/* SPDX-License-Identifier: Apache-2.0 */
#include "windows/plan.h"

#include <stdlib.h>
#include <string.h>

#include "codec/vpmu.h"

#define SHORT_COUNTS 300
#define SHORT_NS 50000
#define RARER_EVENTS 4	/* of the group, besides cycles and instructions */
#define MISSES_RARER 50 /* than instructions, more or less: for periods of their samples */
#define FAR_APART 16	/* times as long as a short period, a long one can vary by half */
#define TIMER_NS 20000	/* what the kernel's timers manage, on a good day */
/*
 * Of a clock, in a second, when nobody asked for a number. Each is an interrupt of a timer of its own, and where there
 * is no hardware PMU the machine is virtual as a rule, and such an interrupt takes 15 to 30 us: so they take one per
 * cent of the program's time.
 */
#define CLOCK_SAMPLES 400

#ifdef __aarch64__
#define MACHINE_HERE MACHINE_ARM
#else
#define MACHINE_HERE MACHINE_OTHER
#endif

bool window_is_clock(const struct attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool window_is_occurrence(const struct attr *a)
{
	return (a->type == PERF_TYPE_SOFTWARE && !window_is_clock(a)) || a->type == PERF_TYPE_TRACEPOINT ||
	       a->type == PERF_TYPE_BREAKPOINT;
}

static bool is_instructions(const struct attr *a)
{
	return a->type == PERF_TYPE_HARDWARE && (u32)a->config == PERF_COUNT_HW_INSTRUCTIONS;
}

/* --- the group when none was named --- */

/* Of the leader's event. What follows it is in the same order for all, so that a group that is counted in turns has in
 * one part what makes one ratio. */
static const char *const leaders[NR_WINDOW_LEADERS] = {
	[WINDOW_BY_CYCLES] = "cycles", [WINDOW_BY_INSTRUCTIONS] = "instructions", [WINDOW_BY_CLOCK] = "cpu-clock"
};
static const char l1d_misses[] = "L1-dcache-load-misses", llc_misses[] = "LLC-load-misses";
static const char *const hardware_group[] = { "cycles",	  "instructions",     "branch-misses", l1d_misses,
					      llc_misses, "cache-references", "cache-misses" };
static const char *const clock_group[] = { "cpu-clock", "context-switches", "page-faults" };

bool window_sim_has(void *ctx, const char *name)
{
	for (u32 i = 0; i < nr_vpmu_events; i++)
		if (!strcmp(vpmu_events[i].name, name))
			return vpmu_is_modelled(vpmu_events[i].count, *(u32 *)ctx);
	return false;
}

/*
 * An event for each member, all with exact addresses (pp). Together they take half as many samples as the windows do,
 * or as many where a frequency of windows was asked for. Three quarters are of instructions: each ratio per
 * instruction is as sure as they are, and a function that waits long for each of its instructions has few of them.
 * What is rarer is of few functions, mostly.
 */
static void put_samples(const char *name, const struct window_supply *from, struct bytes *out)
{
	bool often = !strcmp(name, "instructions") || !strcmp(name, "cycles");
	u64 value = from->rate.value, all = from->rate.of_samples ? value / 2 : value * 2;

	if (!from->rate.is_freq)
		value = often ? value * 2 / 3 : value * 2 / MISSES_RARER;
	else
		value = often ? all * 3 / 4 : all / 4 / RARER_EVENTS;
	bytes_printf(out, ",%s/%s=%llu,period-jitter=full/%s", name, from->rate.is_freq ? "freq" : "period",
		     (unsigned long long)MAX(value, (u64)1), from->user_only ? "upp" : "pp");
}

/* L1D and the outermost level that there are events for: cache-misses is one of the two. */
static bool is_member(const char *name, const char *leader, const struct window_supply *from)
{
	u32 role = event_role_of_caches(from->machine, false);
	bool of_l1d = role == ROLE_L1D_MISSES || role == ROLE_L1D_LOAD_MISSES;

	if (!strcmp(name, leader) || !strcmp(name, of_l1d ? l1d_misses : llc_misses))
		return false;
	return !from->has || from->has(from->ctx, name);
}

void window_default_group(const struct window_opts *o, const struct window_supply *from, struct bytes *out)
{
	const char *leader = from->clock ? clock_group[0] : leaders[o->leader];
	u32 n = from->clock ? ARRAY_LEN(clock_group) : ARRAY_LEN(hardware_group);
	const char *const *names = from->clock ? clock_group : hardware_group;

	bytes_printf(out, "{%s", leader);
	for (u32 i = 0; i < n; i++)
		if (is_member(names[i], leader, from))
			bytes_printf(out, ",%s", names[i]);
	bytes_printf(out, "}:%s%sS", from->user_only ? "u" : "", from->rate.value ? "pp" : "");
	for (u32 i = 0; from->rate.value && i < n; i++)
		if (is_member(names[i], leader, from))
			put_samples(names[i], from, out);
	bytes_char(out, 0);
}

/* Some thousand cycles lie between two leaders or two samples of a short period; where the kernel alternates periods
 * itself, what it does before it returns to the program. */
bool window_counts_handler(enum window_how how, const struct attr *leader)
{
	return how != WINDOW_SIM && !window_is_clock(leader) && !window_is_occurrence(leader) &&
	       !(leader->flags & ATTR_EXCLUDE_KERNEL);
}

/* --- who has windows --- */

static u32 members(const struct event_specs *specs, u32 leader)
{
	u32 n = 0;

	for (size_t i = 0; i < specs->v.n; i++)
		n += specs->v.v[i].leader == leader;
	return n;
}

static bool reads_group(const struct event_specs *specs, u32 i)
{
	return specs->v.v[i].leader == i && specs->v.v[i].sample_read && members(specs, i) > 1;
}

bool window_wanted(const struct event_specs *specs, const struct window_opts *o)
{
	if (o->wish == WINDOW_ASKED)
		return true;
	for (size_t i = 0; i < specs->v.n; i++)
		if (event_spec_scheduled(&specs->v.v[i]))
			return true;
	return false;
}

static int check_refused(const struct event_spec *s, const struct window_opts *o, const struct notify *to)
{
	if (o->wish != WINDOW_REFUSED || !s->schedule.period_short)
		return 0;
	return notify_error(to, ERR_USAGE, "%s asks for windows, and --no-window asks for none: leave out one of them",
			    s->name);
}

/* Terms of an event that cannot make windows. The virtual PMU samples so too. */
static int check_alone(const struct event_specs *specs, u32 i, bool sim, const struct notify *to)
{
	const struct event_spec *s = &specs->v.v[i];

	if (!event_spec_scheduled(s) || reads_group(specs, i))
		return 0;
	if (sim && !s->schedule.period_short) /* jitter alone */
		return 0;
	if (s->leader != i)
		return notify_error(
			to, ERR_USAGE,
			"%s is a member of a group: only the group's first event has periods (put alt-period= "
			"there)",
			s->name);
	if (!sim)
		return notify_error(to, ERR_USAGE,
				    "%s does not read a group, so nothing would be counted in its short "
				    "periods: write '{%s,...}:S', with S after the brace",
				    s->name, s->name);
	notify_warn(to,
		    "%s does not read a group, so nothing is counted in its short periods (for windows write "
		    "'{...}:S')",
		    s->name);
	return 0;
}

/* Of --window's jitter. */
static u64 short_jitter(u64 jitter, u64 period_short)
{
	return jitter == SCHEDULE_JITTER_FULL ? period_short : MIN(jitter, period_short / 2);
}

static void give_schedule(struct event_spec *s, const struct window_opts *o)
{
	struct schedule *p = &s->schedule;
	u64 usual = window_is_clock(&s->attr) ? SHORT_NS : SHORT_COUNTS;

	p->period_short = o->length ? o->length : p->period_short ? p->period_short : usual;
	p->batch_count = o->burst ? o->burst : MAX(p->batch_count, 1u);
	if (!o->jitter_given)
		return;
	p->jitter_long = o->jitter;
	p->jitter_short = short_jitter(o->jitter, p->period_short);
	s->has_jitter = true;
}

static int give_all(struct event_specs *specs, const struct window_opts *o, const struct notify *to)
{
	u32 groups = 0;

	for (u32 i = 0; i < specs->v.n; i++) {
		if (!reads_group(specs, i))
			continue;
		groups++;
		give_schedule(&specs->v.v[i], o);
	}
	if (groups)
		return 0;
	return notify_error(
		to, ERR_USAGE,
		"--window needs a group whose samples read all of it: -e '{%s,...}:S', with at least two events",
		specs->v.n ? specs->v.v[0].name : "cycles");
}

int window_take_specs(struct event_specs *specs, const struct window_opts *o, bool sim, const struct notify *to)
{
	int err = 0;

	for (u32 i = 0; i < specs->v.n && !err; i++) {
		err = check_refused(&specs->v.v[i], o, to);
		if (!err)
			err = check_alone(specs, i, sim, to);
	}
	if (!err && o->wish == WINDOW_ASKED)
		err = give_all(specs, o, to);
	for (u32 i = 0; i < specs->v.n && !err; i++)
		specs->v.v[i].windowed = reads_group(specs, i) && specs->v.v[i].schedule.period_short;
	return err;
}

bool window_needs_bursts(const struct event_specs *specs)
{
	for (size_t i = 0; i < specs->v.n; i++)
		if (specs->v.v[i].windowed && specs->v.v[i].schedule.batch_count > 1)
			return true;
	return false;
}

bool window_needs_jitter(const struct event_specs *specs)
{
	for (size_t i = 0; i < specs->v.n; i++)
		if (specs->v.v[i].schedule.jitter_long || specs->v.v[i].schedule.jitter_short)
			return true;
	return false;
}

/* Plain windows need no period in samples; those of tracepoints always have it, as perf's do. */
const char *window_of_occurrences(const struct event_specs *specs, enum window_how how)
{
	for (size_t i = 0; i < specs->v.n; i++) {
		const struct event_spec *s = &specs->v.v[i];

		if (s->windowed && window_is_occurrence(&s->attr) &&
		    (how != WINDOW_PLAIN || s->attr.type == PERF_TYPE_TRACEPOINT))
			return s->name;
	}
	return NULL;
}

/* --- names --- */

static bool is_sampling_term(const char *p, size_t n)
{
	static const char *const words[] = { "period", "freq",		"alt-period",
					     "burst",  "period-jitter", "alt-period-jitter" };
	size_t len = strcspn(p, "=,/");

	for (u32 i = 0; i < ARRAY_LEN(words); i++)
		if (len <= n && len == strlen(words[i]) && !memcmp(p, words[i], len))
			return true;
	return false;
}

/* Where a name without terms has its modifiers; a tracepoint's first colon, and those of a breakpoint, are its own. */
static const char *modifiers_of(const char *name, u32 type)
{
	const char *colon = type == PERF_TYPE_BREAKPOINT ? NULL : strchr(name, ':');

	return colon && type == PERF_TYPE_TRACEPOINT ? strchr(colon + 1, ':') : colon;
}

char *window_name(const char *name, u32 type, const char *terms)
{
	const char *open = strchr(name, '/'), *close = open ? strrchr(name, '/') : NULL, *colon;
	struct bytes b = { 0 };

	if (!open || close == open) {
		colon = open ? NULL : modifiers_of(name, type);
		bytes_put(&b, name, colon ? (size_t)(colon - name) : strlen(name));
		bytes_printf(&b, "/%s/%s", terms, colon ? colon + 1 : "");
		bytes_char(&b, 0);
		return (char *)b.p;
	}
	bytes_put(&b, name, (size_t)(open + 1 - name));
	for (const char *p = open + 1; p < close;) {
		size_t n = strcspn(p, ",/");

		if (n && !is_sampling_term(p, n)) {
			bytes_put(&b, p, n);
			bytes_char(&b, ',');
		}
		p += n + 1;
	}
	bytes_printf(&b, "%s%s", terms, close);
	bytes_char(&b, 0);
	return (char *)b.p;
}

static void rename_spec(struct event_spec *s, u64 period, bool plain)
{
	const struct schedule *p = &s->schedule;
	struct bytes terms = { 0 };
	char *name;

	if (period)
		bytes_printf(&terms, "period=%llu%s", (unsigned long long)period, plain ? "" : ",");
	if (!plain) {
		bytes_printf(&terms, "alt-period=%llu", (unsigned long long)p->period_short);
		if (p->batch_count > 1)
			bytes_printf(&terms, ",burst=%u", p->batch_count);
		if (p->jitter_long == SCHEDULE_JITTER_FULL)
			bytes_str(&terms, ",period-jitter=full");
		else if (p->jitter_long)
			bytes_printf(&terms, ",period-jitter=%llu", (unsigned long long)p->jitter_long);
		if (p->jitter_short)
			bytes_printf(&terms, ",alt-period-jitter=%llu", (unsigned long long)p->jitter_short);
	}
	bytes_char(&terms, 0);
	name = window_name(s->name, s->attr.type, (const char *)terms.p);
	free(s->name);
	s->name = name;
	bytes_free(&terms);
}

/* --- what is opened --- */

/* How far apart the windows of a leader are. */
struct pace {
	u64 period;	/* the long one; where the source adapts it to a frequency, what it comes to at full speed */
	u64 freq;	/* of turns, for a source that adapts; 0: none */
	bool from_freq; /* the period is what a frequency means */
};

/* Is it known how many there are in a second, more or less? */
static bool has_known_speed(const struct event_spec *s)
{
	const struct attr *a = &s->attr;
	u32 role = event_role_of(a, s->name, MACHINE_HERE), event = (u32)a->config;

	return role == ROLE_CYCLES || role == ROLE_INSTRUCTIONS || role == ROLE_TIME ||
	       (a->type == PERF_TYPE_HARDWARE &&
		(event == PERF_COUNT_HW_REF_CPU_CYCLES || event == PERF_COUNT_HW_BUS_CYCLES));
}

static bool adapts(enum window_how how, bool by_default, bool clock)
{
	return how == WINDOW_SIM || (how == WINDOW_NATIVE && !(by_default && clock));
}

static struct pace pace_of(const struct event_spec *s, enum window_how how, struct window_rate rate,
			   struct window_speed speed)
{
	u64 shorts = s->schedule.period_short * s->schedule.batch_count, whole;
	bool is_freq = s->has_freq || (!s->has_period && rate.is_freq), clock = window_is_clock(&s->attr);
	bool own = s->has_freq || s->has_period, by_default = !own && rate.of_samples;
	u64 value = own ? s->attr.sample_period : rate.value;

	if (!is_freq)
		return (struct pace){ .period = value };
	if (by_default)
		value = (clock && how != WINDOW_SIM ? MIN(value, (u64)CLOCK_SAMPLES) : value) /
			(s->schedule.batch_count + 1);
	value = MAX(value, (u64)1);
	whole = (clock ? speed.clock : speed.other) / value;
	return (struct pace){
		/* Too short for windows: what check_lengths refuses. */
		.period = whole > shorts ? whole - shorts : MAX(MIN(whole, s->schedule.period_short), (u64)1),
		.freq = adapts(how, by_default, clock) ? value : 0,
		.from_freq = true,
	};
}

static int check_lengths(const struct event_spec *s, const struct pace *pace, const struct notify *to)
{
	const struct schedule *p = &s->schedule;
	const char *means = pace->from_freq ? " that its frequency means" : "", *wrong;
	u64 period = pace->period;

	if (period && p->period_short >= period)
		return notify_error(
			to, ERR_USAGE,
			"%s: windows of %llu are not shorter than the period of %llu%s (short= and alt-period= "
			"say how long windows are, -c, -F and period= how far apart)",
			s->name, (unsigned long long)p->period_short, (unsigned long long)period, means);
	if (period && p->jitter_long != SCHEDULE_JITTER_FULL && p->jitter_long > period)
		return notify_error(to, ERR_USAGE, "%s: the jitter of %llu is larger than the period of %llu%s",
				    s->name, (unsigned long long)p->jitter_long, (unsigned long long)period, means);
	wrong = period ? schedule_check(&(struct schedule){ period, p->period_short, p->batch_count, p->jitter_long,
							    p->jitter_short }) :
			 NULL;
	return wrong ? notify_error(to, ERR_USAGE, "%s: %s", s->name, wrong) : 0;
}

static void set_period(struct event_spec *s, u64 period)
{
	s->attr.sample_period = period;
	s->attr.flags &= ~(u64)ATTR_FREQ;
	s->has_period = true;
	s->has_freq = false;
}

static void set_freq(struct event_spec *s, u64 freq)
{
	s->attr.sample_period = freq;
	s->attr.flags |= ATTR_FREQ;
	s->has_period = false;
	s->has_freq = true;
}

/* The kernel has one width for both periods, of which each takes as much as it is long. */
static void join_jitters(struct event_spec *s, const struct notify *to)
{
	struct schedule *p = &s->schedule;
	u64 of_long = MAX(p->jitter_long, p->jitter_short), of_short = MIN(of_long, p->period_short);
	u64 usual = short_jitter(p->jitter_long, p->period_short);

	/* That of --window is both's, and the short one's half is for the others. */
	if (of_long != p->jitter_long || (of_short != p->jitter_short && p->jitter_short != usual))
		notify_warn(to,
			    "%s: mode=native has one jitter for both periods, the wider one, of which the short "
			    "period takes as much as it is long (mode=refresh has two)",
			    s->name);
	p->jitter_long = of_long;
	p->jitter_short = of_short;
}

/*
 * A program that goes in step with the long period shows one of its phases again and again, and a loop that goes in
 * step with the short one has windows that begin and end in one place, whatever lies between. So both are drawn anew
 * each time unless somebody asked for something else, or a long one could come near the short ones: on real hardware a
 * frequency can make it shorter than it is at full speed. Twins have one period and one distance.
 */
struct schedule window_schedule(const struct event_spec *s, enum window_how how, u64 period)
{
	struct schedule p = s->schedule;

	if (how == WINDOW_PLAIN || how == WINDOW_TWIN || p.jitter_long || p.jitter_short || s->has_jitter ||
	    s->refuses_jitter)
		return p;
	if (how != WINDOW_SIM && period / FAR_APART < p.period_short)
		return p;
	p.jitter_long = SCHEDULE_JITTER_FULL;
	p.jitter_short = p.period_short;
	return p;
}

/*
 * Twins keep one period for the whole recording: a program that goes in step with it shows one of its phases again and
 * again. A frequency asks for no period to the digit, so each recording draws its own, up to a tenth longer or
 * shorter: whoever goes in step with one is not in step with the next.
 */
static u64 period_of_twins(const struct event_spec *s, u64 period, u64 seed)
{
	if (seed && !s->has_jitter && period / FAR_APART >= s->schedule.period_short)
		period = schedule_draw(period, period / 5, &seed);
	/* QEMU's counters of Arm lose overflows where twins have an odd period. */
	return period > 2 ? period & ~(u64)1 : period;
}

static int make_leader(struct event_spec *s, enum window_how how, struct window_rate rate, struct window_speed speed,
		       const struct notify *to)
{
	struct pace pace = pace_of(s, how, rate, speed);
	u64 period = pace.freq ? 0 : pace.period;
	int err;

	if (pace.from_freq && !pace.freq && how != WINDOW_PLAIN && !has_known_speed(s))
		return notify_error(
			to, ERR_USAGE,
			"%s: it is not known how many there are per second, so a frequency cannot be turned "
			"into a period: give it period= (or -c)",
			s->name);
	s->schedule = window_schedule(s, how, pace.period);
	err = check_lengths(s, &pace, to);
	if (err)
		return err;
	if (how != WINDOW_SIM && window_is_clock(&s->attr) &&
	    s->schedule.period_short - MIN(s->schedule.jitter_short, s->schedule.period_short) / 2 < TIMER_NS)
		notify_warn(
			to,
			"%s: the kernel's timers are not much finer than 20 us: windows will be longer than %llu ns",
			s->name, (unsigned long long)s->schedule.period_short);
	if (how == WINDOW_NATIVE)
		join_jitters(s, to);
	if (how == WINDOW_TWIN && pace.from_freq)
		period = period_of_twins(s, period, speed.seed);
	rename_spec(s, how == WINDOW_PLAIN ? s->schedule.period_short : period, how == WINDOW_PLAIN);
	if (how == WINDOW_PLAIN) {
		set_period(s, s->schedule.period_short);
		s->schedule = (struct schedule){ 0 };
	} else if (period) {
		set_period(s, period);
		s->schedule.period_long = period;
	} else if (!s->has_freq && rate.of_samples && pace.freq) {
		set_freq(s, pace.freq);
	}
	return 0;
}

/* A copy of its own, but for what only one may have. */
static struct event_spec copy_spec(const struct event_spec *s)
{
	struct event_spec copy = *s;

	copy.name = mem_strdup(s->name);
	copy.pmu = s->pmu ? mem_strdup(s->pmu) : NULL;
	copy.cpus = s->cpus ? mem_strdup(s->cpus) : NULL;
	copy.group_name = s->group_name ? mem_strdup(s->group_name) : NULL;
	copy.call_graph = s->call_graph ? mem_strdup(s->call_graph) : NULL;
	copy.unit = s->unit ? mem_strdup(s->unit) : NULL;
	copy.filter = s->filter ? mem_strdup(s->filter) : NULL;
	return copy;
}

/* Puts s at index `at`; who led, leads. */
static void insert_spec(struct event_specs *specs, u32 at, struct event_spec s)
{
	vec_push(&specs->v, s);
	memmove(specs->v.v + at + 1, specs->v.v + at, (specs->v.n - 1 - at) * sizeof(s));
	specs->v.v[at] = s;
	for (u32 i = 0; i < specs->v.n; i++)
		if (i != at && specs->v.v[i].leader >= at)
			specs->v.v[i].leader++;
}

/* Next to its leader: what the kernel does between the two at each context switch shifts clocks against each other. */
static void add_twin(struct event_specs *specs, u32 leader)
{
	struct event_spec twin = copy_spec(&specs->v.v[leader]);

	twin.windowed = false;
	twin.twin = true;
	insert_spec(specs, leader + 1, twin);
}

int window_make_specs(struct event_specs *specs, enum window_how how, struct window_rate rate,
		      struct window_speed speed, const struct notify *to)
{
	int err = 0;

	for (u32 i = 0; i < specs->v.n && !err; i++) {
		if (!specs->v.v[i].windowed)
			continue;
		err = make_leader(&specs->v.v[i], how, rate, speed, to);
		if (!err && how == WINDOW_TWIN)
			add_twin(specs, i);
	}
	return err;
}

/* --- groups that are too large --- */

u32 window_split(struct event_specs *specs, u32 leader, u32 max, bool with_twin)
{
	u32 n = members(specs, leader), head = 1, first = leader + 1, groups = 1, room, at;

	if (n + with_twin <= max)
		return 1;
	/* Instructions next to the leader, for all parts. */
	for (u32 i = leader + 1; i < leader + n; i++) {
		struct event_spec s = specs->v.v[i];

		if (!is_instructions(&s.attr) || is_instructions(&specs->v.v[leader].attr))
			continue;
		memmove(specs->v.v + leader + 2, specs->v.v + leader + 1, (i - leader - 1) * sizeof(s));
		specs->v.v[leader + 1] = s;
		head = 2;
		first = leader + 2;
		break;
	}
	if (max < head + with_twin + 1)
		return 0;
	room = max - head - with_twin;
	for (at = first + room; at < leader + n + (groups - 1) * head; at += room + head) {
		for (u32 h = 0; h < head; h++) {
			struct event_spec copy = copy_spec(&specs->v.v[leader + h]);

			copy.leader = at;
			insert_spec(specs, at + h, copy);
		}
		for (u32 i = at; i < leader + n + groups * head; i++)
			specs->v.v[i].leader = at;
		groups++;
	}
	return groups;
}
