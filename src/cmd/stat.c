/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle stat`: counts of a command, of tasks that run, or of CPUs. */
#include "cmd/stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/pmu_help.h"
#include "sys/probe.h"

#define EXIT_USAGE 2
#define EXIT_NO_EXEC 126
#define EXIT_NO_COMMAND 127
#define RUNS_MAX 10000

#define TIMEOUT_LEAST_MS 10

struct config {
	struct opt_list events;
	struct counter_opts o;
	const char *output, *separator, *metrics, *delay;
	u32 detail;
	bool repeats, json, lines, append, summary, commas, topdown;
	u32 verbose; /* taken from perf's command lines */
	bool by_cpu, by_core, by_die, by_socket, by_node, by_thread;
};

static int set_pmu(void *field, const char *text, const struct notify *to)
{
	return sim_opts_parse(field, text, to);
}

static enum count_by count_by(const struct config *c)
{
	return c->by_cpu    ? COUNT_BY_CPU :
	       c->by_core   ? COUNT_BY_CORE :
	       c->by_die    ? COUNT_BY_DIE :
	       c->by_socket ? COUNT_BY_SOCKET :
	       c->by_node   ? COUNT_BY_NODE :
	       c->by_thread ? COUNT_BY_THREAD :
			      COUNT_BY_ALL;
}

static bool names_tasks(const struct config *c)
{
	return c->o.target.pids || c->o.target.tids;
}

static bool whole_cpus(const struct config *c)
{
	return c->o.target.system_wide || (c->o.target.cpus && !names_tasks(c));
}

/* What the virtual PMU cannot do: it runs the command, and tells what its threads counted once they end. */
static const char *not_simulated(const struct config *c)
{
	return whole_cpus(c)						     ? "-a and -C" :
	       names_tasks(c)						     ? "-p and -t" :
	       c->o.target.cgroups					     ? "-G" :
	       c->o.interval_ms						     ? "-I" :
	       c->o.delay_ms						     ? "-D" :
	       c->o.nothing						     ? "-n" :
	       c->o.all_kernel						     ? "--all-kernel" :
	       c->o.no_inherit						     ? "-i" :
	       count_by(c) != COUNT_BY_ALL && count_by(c) != COUNT_BY_THREAD ? "-A and --per-core to --per-node" :
									       NULL;
}

/* One row for each pair that excludes itself, and for each option that needs another. */
static int check_pairs(const struct config *c, bool command, const struct notify *to)
{
	enum count_by by = count_by(c);
	const struct {
		bool wrong;
		const char *why;
	} rules[] = {
		{ !command && !whole_cpus(c) && !names_tasks(c) && !c->o.timeout_ms,
		  "a command is missing: reticle stat [options] -- COMMAND (or -a, -C, -p, -t)" },
		{ !command && !whole_cpus(c) && !names_tasks(c), "--timeout: name a command, -a, -C, -p or -t" },
		{ !command && c->repeats, "-r repeats a command: none is named" },
		{ c->separator && (c->json || c->lines), "-x excludes -j and --json" },
		{ c->json && c->lines, "-j and --json exclude each other" },
		{ c->separator && !*c->separator, "-x: the separator is empty" },
		{ c->o.target.pids && c->o.target.tids, "-p and -t exclude each other" },
		{ names_tasks(c) && c->o.target.system_wide, "-a counts whole CPUs: it excludes -p and -t" },
		{ c->o.target.cgroups && !whole_cpus(c), "-G counts on whole CPUs: it needs -a or -C" },
		{ by != COUNT_BY_ALL && by != COUNT_BY_THREAD && !whole_cpus(c),
		  "-A and --per-core to --per-node show CPUs separately: they need -a or -C" },
		{ by == COUNT_BY_THREAD && !c->o.sim.on && !names_tasks(c),
		  "--per-thread shows threads that are already running (-p, -t), or those of --pmu=sim" },
		{ c->by_cpu + c->by_core + c->by_die + c->by_socket + c->by_node + c->by_thread > 1,
		  "-A, --per-core, --per-die, --per-socket, --per-node and --per-thread exclude each other" },
		{ by != COUNT_BY_ALL && (c->o.runs > 1 || c->o.forever),
		  "-r shows the means of whole commands: it excludes -A and --per-..." },
		{ c->json && (c->o.interval_ms || c->o.forever || (by != COUNT_BY_ALL && by != COUNT_BY_THREAD)),
		  "--json prints one object for one run: -j prints a line for each count" },
		{ c->o.interval_ms && c->o.timeout_ms,
		  "-I and --timeout exclude each other (--interval-count ends -I)" },
		{ c->o.interval_count && !c->o.interval_ms, "--interval-count needs -I" },
		{ c->o.timeout_ms && c->o.timeout_ms < TIMEOUT_LEAST_MS, "--timeout: at least 10 ms" },
		{ c->append && !c->output, "--append needs -o FILE" },
		{ c->o.nothing && (c->events.n || c->detail || c->metrics || c->topdown),
		  "-n counts nothing: it excludes -e, -d, -M and --topdown" },
		{ c->o.all_user && c->o.all_kernel, "--all-user and --all-kernel exclude each other" },
		{ c->o.runs > RUNS_MAX, "-r: at most 10000 runs" },
	};

	for (u32 i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].wrong)
			return notify_error(to, ERR_USAGE, "%s", rules[i].why);
	return 0;
}

static int check(const struct config *c, bool command, const struct notify *to)
{
	const char *not_there = c->o.sim.on ? not_simulated(c) : NULL;

	if (not_there)
		return notify_error(to, ERR_USAGE,
				    "%s cannot be used with --pmu=sim, which runs the command and counts it as "
				    "a whole",
				    not_there);
	return check_pairs(c, command, to);
}

/* perf stat's, but for what the virtual PMU has in its place. */
static const char virtual_events[] =
	"task-clock:u,cycles:u,instructions:u,branches:u,branch-misses:u,stalled-cycles-frontend:u,"
	"stalled-cycles-backend:u,L1-dcache-loads:u,L1-dcache-load-misses:u,L1-icache-load-misses:u,"
	"cache-references:u,cache-misses:u,dTLB-loads:u,dTLB-load-misses:u";
static const char *const machine_events[] = { "task-clock", "context-switches,cpu-migrations,page-faults,cycles" };
/* Where the PMU says that it has them. */
static const char *const stalls[] = { "stalled-cycles-frontend", "stalled-cycles-backend" };
static const char *const detailed[] = {
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	"L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};
/* Of these the virtual PMU has no more. */
static const char *const virtual_detailed[] = { "LLC-loads:u,LLC-load-misses:u" };

static int default_events(const struct config *c, struct event_specs *specs, const struct event_env *env,
			  const struct notify *to)
{
	char path[128];
	int err;

	if (env->simulated)
		return event_specs_parse(specs, virtual_events, env, to);
	err = event_specs_parse(specs, whole_cpus(c) ? "cpu-clock" : machine_events[0], env, to);
	if (!err)
		err = event_specs_parse(specs, machine_events[1], env, to);
	for (u32 i = 0; i < ARRAY_LEN(stalls) && !err; i++) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/cpu/events/%s", stalls[i]);
		if (!access(path, F_OK))
			err = event_specs_parse(specs, stalls[i], env, to);
	}
	return err ? err : event_specs_parse(specs, "instructions,branches,branch-misses", env, to);
}

static int details(const struct config *c, struct event_specs *specs, const struct event_env *env,
		   const struct notify *to)
{
	u32 n = env->simulated ? ARRAY_LEN(virtual_detailed) : ARRAY_LEN(detailed);
	int err = 0;

	for (u32 i = 0; i < MIN(c->detail, n) && !err; i++)
		err = event_specs_parse(specs, env->simulated ? virtual_detailed[i] : detailed[i], env, to);
	return err;
}

/* Those of metrics come first: stat_formula.c counts on that. */
static int parse_events(const struct config *c, struct event_specs *specs, struct stat_formulas *formulas,
			const struct notify *to)
{
	const struct event_env env = { .simulated = c->o.sim.on };
	int err = 0;

	if (c->topdown)
		err = stat_formulas_topdown(formulas, &env, specs, to);
	if (!err && c->metrics)
		err = stat_formulas_choose(formulas, c->metrics, &env, specs, to);
	for (u32 i = 0; i < c->events.n && !err; i++)
		err = event_specs_parse(specs, c->events.v[i], &env, to);
	if (!err && !specs->v.n && !c->o.nothing)
		err = default_events(c, specs, &env, to);
	if (!err)
		err = details(c, specs, &env, to);
	return err == ERR_NOTFOUND ? ERR_USAGE : err;
}

struct printer {
	const struct config *c;
	const struct notify *notify;
	struct cpu_place *places;
	struct stat_formulas formulas;
	bool begun; /* something stands in the file already */
	u32 intervals;
	int err;
};

/* perf's line about when it began, in files. */
static void put_started(struct bytes *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[64];

	if (localtime_r(&now, &tm) && strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &tm))
		bytes_printf(out, "# started on %s\n\n", text);
}

/*
 * To standard error, where what the command prints does not mix with it as long as that is not sent there too. A file
 * is written to as it goes where there is more to come, else at once.
 */
static int open_output(struct printer *p, struct output *out)
{
	const struct config *c = p->c;

	*out = (struct output){ .fd = -1 };
	if (!c->output) {
		bytes_to_fd(&out->bytes, STDERR_FILENO);
		return 0;
	}
	if (!strcmp(c->output, "-") || (!c->append && !c->o.interval_ms && !c->o.forever))
		return output_open(out, c->output, p->notify);
	return output_append(out, c->output, c->append || p->begun, p->notify);
}

static void print(struct printer *p, const struct counter_result *r, bool interval)
{
	const struct config *c = p->c;
	const struct stat_view v = {
		.r = r,
		.target = &c->o.target,
		.separator = c->separator,
		.by = count_by(c),
		.places = p->places,
		.formulas = p->formulas.v.n ? &p->formulas : NULL,
		.interval = interval ? r->interval : 0,
		.intervals = c->summary,
		.nr = p->intervals,
		.plain = !c->commas,
		.repeated = c->o.runs > 1,
	};
	struct output out;

	if (!p->err)
		p->err = open_output(p, &out);
	if (p->err)
		return;
	if (c->output && !p->begun && !c->json)
		put_started(&out.bytes);
	if (c->json)
		stat_json(&v, &out.bytes);
	else if (c->lines)
		stat_lines(&v, &out.bytes);
	else if (c->separator)
		stat_fields(&v, &out.bytes);
	else
		stat_text(&v, &out.bytes);
	p->begun = true;
	p->intervals += interval;
	if (c->output) {
		p->err = output_close(&out, p->notify);
		return;
	}
	p->err = bytes_flush(&out.bytes);
	bytes_free(&out.bytes);
}

static void on_interval(void *ctx, const struct counter_result *r)
{
	print(ctx, r, true);
}

static void on_run(void *ctx, const struct counter_result *r)
{
	print(ctx, r, false);
}

/* By the CPU's number. */
static struct cpu_place *find_places(const struct notify *to)
{
	struct cpulist cpus = { 0 };
	struct cpu_place *places = NULL;

	if (!cpulist_online(&cpus, to) && cpus.v.n) {
		places = mem_zalloc((cpus.v.v[cpus.v.n - 1] + 1) * sizeof(*places));
		for (size_t i = 0; i < cpus.v.n; i++)
			topology_of("/sys", (s32)cpus.v.v[i], &places[cpus.v.v[i]]);
	}
	cpulist_free(&cpus);
	return places;
}

/* Counters of the core are the first thing that one misses where there are none, as in many virtual machines. */
static bool lacks_hardware(const struct counter_result *r)
{
	const struct attr cycles = { .type = PERF_TYPE_HARDWARE,
				     .config = PERF_COUNT_HW_CPU_CYCLES,
				     .size = PERF_ATTR_SIZE_VER0,
				     .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	int failed = 0;

	for (size_t i = 0; i < r->events.n; i++) {
		const struct counted *e = &r->events.v[i];

		if (e->state == COUNT_UNSUPPORTED &&
		    (e->attr.type == PERF_TYPE_HARDWARE || e->attr.type == PERF_TYPE_HW_CACHE))
			return event_probe(&cycles, NULL, &failed) == EVENT_ABSENT;
	}
	return false;
}

/* Whether what is said to users would stand among lines that a program reads. */
static bool programs_read(const struct config *c)
{
	return !c->output && (c->separator || c->lines || c->json);
}

static void print_advice(const struct config *c, const struct counter_result *r, const struct notify *to)
{
	if (!programs_read(c) && lacks_hardware(r))
		notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET,
			  "this machine has no hardware PMU: --pmu=sim counts cycles, instructions and misses on a "
			  "simulated core");
	if (r->refused && r->runs && !programs_read(c))
		notify_warn(to, "this user may not count all of these events: the kernel refused those shown as "
				"<not supported> (reticle check says what would allow them)");
	if (r->unfinished)
		notify_warn(to,
			    "%u thread%s killed or still running: the last 65,536 instructions of each may be missing",
			    r->unfinished, r->unfinished == 1 ? " was" : "s were");
	if (r->escaped)
		notify_warn(to,
			    "%u program%s ran without the virtual PMU, and %s not counted (possible reasons: "
			    "another architecture, set-uid, no permission to read the program, no permission "
			    "to reach the recorder)",
			    r->escaped, plural(r->escaped), r->escaped == 1 ? "is" : "are");
}

static int exit_status(int err, const struct counter_result *r)
{
	if (err == ERR_USAGE)
		return EXIT_USAGE;
	if (!err && r->timed_out)
		return EXIT_SUCCESS; /* it was ended as it was asked for */
	if (r->has_status &&
	    (!err || err == ERR_INTERRUPTED || r->status == EXIT_NO_EXEC || r->status == EXIT_NO_COMMAND))
		return r->status;
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int count(struct printer *p, const struct counter_opts *o, struct event_specs *specs, struct counter_result *r)
{
	const struct config *c = p->c;
	int err = counter_run(o, specs, r, p->notify);

	if (!err && r->never_simulated)
		return notify_error(p->notify, ERR_UNSUPPORTED,
				    "QEMU ended before the program began, so nothing was counted (reticle "
				    "check says whether this QEMU can be used)");
	if (r->runs && !o->forever && (!o->interval_ms || c->summary))
		print(p, r, false);
	return err;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config;
	struct printer p = { .c = &c, .notify = ctx->notify };
	struct counter_result r = { 0 };
	struct event_specs specs = { 0 };
	int err, status;

	if (c.o.sim.help)
		return print_pmu_help(ctx->notify);
	c.o.target.command = argc ? argv : NULL;
	/* Without CPUs a counter of each task follows it wherever it runs. */
	c.o.target.per_thread = names_tasks(&c) ? !c.o.target.cpus : !whole_cpus(&c);
	c.o.forever = c.repeats && !c.o.runs;
	c.o.on_interval = on_interval;
	c.o.on_run = on_run;
	c.o.ctx = &p;
	err = check(&c, argc, ctx->notify);
	if (!err)
		err = parse_events(&c, &specs, &p.formulas, ctx->notify);
	if (!err) {
		p.places = find_places(ctx->notify);
		err = count(&p, &c.o, &specs, &r);
	}
	print_advice(&c, &r, ctx->notify);
	status = exit_status(err && err != ERR_INTERRUPTED ? err : p.err ? p.err : err, &r);
	counter_free(&r);
	stat_formulas_free(&p.formulas);
	event_specs_free(&specs);
	free(p.places);
	return status;
}

static int set_runs(void *config, const char *text, const struct notify *to)
{
	struct config *c = config;
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > UINT32_MAX)
		return notify_error(to, ERR_USAGE, "-r: '%s' is not a number of runs", text);
	c->repeats = true;
	c->o.runs = (u32)n;
	return 0;
}

static void set_defaults(void *config)
{
	((struct config *)config)->commas = true;
}

#define AT(field) offsetof(struct config, field)

static const struct opt opts[] = {
	{ 'e', "event", OPT_LIST, AT(events), "EVENT", "count this event (see reticle list); may be repeated" },
	{ 0, "pmu", OPT_CALL, AT(o.sim), "PMU", "hw, or sim[,KEY=VALUE...]: count on a simulated core",
	  .set = set_pmu },
	{ 'a', "all-cpus", OPT_FLAG, AT(o.target.system_wide), NULL, "count on all CPUs" },
	{ 'C', "cpu", OPT_STRING, AT(o.target.cpus), "CPUS", "count on these CPUs only (0-3,8)" },
	{ 'p', "pid", OPT_STRING, AT(o.target.pids), "PID[,PID]", "count running processes, with all their threads" },
	{ 't', "tid", OPT_STRING, AT(o.target.tids), "TID[,TID]", "count running threads" },
	{ 'G', "cgroup", OPT_STRING, AT(o.target.cgroups), "NAME[,NAME]",
	  "with -a: only what runs in these cgroups: one for all events, or one for each" },
	{ 'i', "no-inherit", OPT_FLAG, AT(o.no_inherit), NULL,
	  "leave out threads and children that are created later" },
	{ 0, "all-user", OPT_FLAG, AT(o.all_user), NULL, "count in user space only" },
	{ 0, "all-kernel", OPT_FLAG, AT(o.all_kernel), NULL, "count in the kernel only" },
	{ 'd', "detailed", OPT_COUNT, AT(detail), NULL, "also count events of caches; -dd, -ddd: more of them" },
	{ 'M', "metrics", OPT_STRING, AT(metrics), "NAME[,NAME]",
	  "show these metrics or sets of metrics, and count their events" },
	{ 0, "topdown", OPT_FLAG, AT(topdown), NULL, "show what the pipeline's slots were used for" },
	{ 'n', "null", OPT_FLAG, AT(o.nothing), NULL, "count no events, and measure only the time" },
	{ 'r', "repeat", OPT_CALL, 0, "N", "run N times, and show means and how much the runs differ; 0: until Ctrl-C",
	  .set = set_runs },
	{ 'D', "delay", OPT_U32, AT(o.delay_ms), "MS", "begin to count MS milliseconds after the command" },
	{ 0, "timeout", OPT_U32, AT(o.timeout_ms), "MS", "end the command, or the counting, after MS milliseconds" },
	{ 'I', "interval-print", OPT_U32, AT(o.interval_ms), "MS", "print the counts every MS milliseconds" },
	{ 0, "interval-count", OPT_U32, AT(o.interval_count), "N", "end after N intervals" },
	{ 0, "summary", OPT_FLAG, AT(summary), NULL, "with -I: print the sums of all intervals at the end" },
	{ 'A', "no-aggr", OPT_FLAG, AT(by_cpu), NULL, "show the counts of each CPU (with -a or -C)" },
	{ 0, "per-core", OPT_FLAG, AT(by_core), NULL, "show the counts of each core" },
	{ 0, "per-die", OPT_FLAG, AT(by_die), NULL, "show the counts of each die" },
	{ 0, "per-socket", OPT_FLAG, AT(by_socket), NULL, "show the counts of each socket" },
	{ 0, "per-node", OPT_FLAG, AT(by_node), NULL, "show the counts of each NUMA node" },
	{ 0, "per-thread", OPT_FLAG, AT(by_thread), NULL,
	  "show the counts of each thread (with -p, -t or --pmu=sim)" },
	{ 'x', "field-separator", OPT_STRING, AT(separator), "SEP",
	  "print fields with SEP between them, for scripts" },
	{ 'j', "json-output", OPT_FLAG, AT(lines), NULL, "print one object per count, each on its own line" },
	{ 0, "json", OPT_FLAG, AT(json), NULL, "print one JSON object for everything; counts are whole numbers" },
	{ 'B', "big-num", OPT_FLAG, AT(commas), NULL, "print commas in large numbers (default)" },
	{ 'o', "output", OPT_STRING, AT(output), "FILE", "print to FILE instead of standard error" },
	{ 0, "append", OPT_FLAG, AT(append), NULL, "with -o: append to FILE" },
	{ 'v', "verbose", OPT_COUNT, AT(verbose), NULL, "accepted: what could not be counted is always said" },
};

const struct command cmd_stat = {
	.keeps_rights = true,
	.name = "stat",
	.summary = "count events of a command, of tasks, or of CPUs",
	.args = "[options] [--] [COMMAND [ARGS]]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.defaults = set_defaults,
	.run = run,
};
