/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record_options.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/commands.h"
#include "events/spec.h"

#define DEFAULT_STACK_DUMP 8192
#define MAX_STACK_DUMP 65528
#define MAX_RING_PAGES (1u << 20)

static void defaults(void *config)
{
	struct record_config *c = config;

	c->o.attr.freq = c->o.attr.period = RECORD_UNSET;
	c->o.attr.stack_dump = DEFAULT_STACK_DUMP;
}

/* A number with an optional unit out of `units` (a power of 1024 each). */
static bool parse_scaled(const char *text, const char *units, u64 *out)
{
	char *end;
	const char *unit;
	u64 scale;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (!*end)
		return true;
	unit = end[1] ? NULL : strchr(units, *end);
	scale = unit ? 1ull << 10 * (unit - units) : 0;
	return unit && !__builtin_mul_overflow(*out, scale, out);
}

int record_set_event(void *field, const char *text, const struct notify *to)
{
	struct event_words *w = field;

	(void)to;
	w->v = mem_realloc(w->v, w->n + 1, sizeof(*w->v));
	w->v[w->n++] = (struct event_word){ text, false };
	return 0;
}

int record_set_filter(void *field, const char *text, const struct notify *to)
{
	struct event_words *w = field;

	record_set_event(field, text, to);
	w->v[w->n - 1].is_filter = true;
	return w->n > 1 ? 0 : notify_error(to, ERR_USAGE, "--filter has to follow the event (-e) that it filters");
}

static int set_exclusion(void *field, const char *text, const struct notify *to)
{
	struct event_words *w = field;

	(void)to;
	(void)text;
	record_set_event(field, NULL, to);
	w->v[w->n - 1].is_filter = true;
	return 0;
}

int record_set_freq(void *field, const char *text, const struct notify *to)
{
	struct attr_opts *a = field;
	u64 v;

	a->freq_max = !strcmp(text, "max");
	if (a->freq_max)
		return 0;
	if (!parse_scaled(text, "BKM", &v) || !v || v == RECORD_UNSET)
		return notify_error(to, ERR_USAGE, "-F: '%s' is not a frequency in Hz (or max)", text);
	a->freq = v;
	return 0;
}

int record_set_period(void *field, const char *text, const struct notify *to)
{
	u64 *period = field;

	if (!parse_scaled(text, "B", period) || !*period || *period == RECORD_UNSET)
		return notify_error(to, ERR_USAGE, "-c: '%s' is not a number of events", text);
	return 0;
}

static int set_delay(void *field, const char *text, const struct notify *to)
{
	s64 *delay = field;
	u64 v;

	if (!strcmp(text, "-1")) {
		*delay = -1;
		return 0;
	}
	if (!parse_scaled(text, "B", &v) || v > INT32_MAX)
		return notify_error(to, ERR_USAGE, "-D: '%s' is not a time in ms (or -1)", text);
	*delay = (s64)v;
	return 0;
}

/* Modes that copy stacks; mode: its name. */
static int set_copies(struct attr_opts *a, enum callgraph how, const char *mode, const char *size,
		      const struct notify *to)
{
	u64 v = how == CALLGRAPH_UNWIND ? DEFAULT_UNWOUND : DEFAULT_STACK_DUMP;

	if (size && (!parse_scaled(size, "BK", &v) || !v || v > MAX_STACK_DUMP))
		return notify_error(to, ERR_USAGE, "--call-graph %s: the stack size is 8 to %u bytes, not '%s'", mode,
				    MAX_STACK_DUMP, size);
	a->callgraph = how;
	a->stack_dump = (u32)(v + 7) & ~7u;
	return 0;
}

static int set_fp(struct attr_opts *a, const char *depth, const struct notify *to)
{
	u64 v = 0;

	if (depth && (!parse_scaled(depth, "B", &v) || !v || v > UINT16_MAX))
		return notify_error(to, ERR_USAGE, "--call-graph fp: '%s' is not a depth", depth);
	a->callgraph = CALLGRAPH_FP;
	a->max_stack = (u32)v;
	return 0;
}

int record_set_callgraph(void *field, const char *text, const struct notify *to)
{
	struct attr_opts *a = field;
	const char *comma = text ? strchr(text, ',') : NULL, *rest = comma ? comma + 1 : NULL;
	size_t n = text ? strcspn(text, ",") : 0;

	if (!text || (n == 2 && !strncmp(text, "fp", n)))
		return set_fp(a, rest, to);
	if (n == 2 && !strncmp(text, "no", n)) {
		a->callgraph = CALLGRAPH_NONE;
		return 0;
	}
	if (n == 5 && !strncmp(text, "dwarf", n))
		return set_copies(a, CALLGRAPH_DWARF, "dwarf", rest, to);
	if (n == 6 && !strncmp(text, "unwind", n))
		return set_copies(a, CALLGRAPH_UNWIND, "unwind", rest, to);
	if (n == 3 && !strncmp(text, "lbr", n)) {
		a->callgraph = CALLGRAPH_LBR;
		return 0;
	}
	return notify_error(to, ERR_USAGE, "--call-graph: '%s' is none of fp, dwarf, unwind, lbr, no", text);
}

static const struct {
	const char *name;
	s32 id;
} clocks[] = {
	{ "monotonic", CLOCK_MONOTONIC },
	{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
	{ "CLOCK_MONOTONIC", CLOCK_MONOTONIC },
	{ "CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW },
	{ "mono", CLOCK_MONOTONIC },
	{ "raw", CLOCK_MONOTONIC_RAW },
	{ "realtime", CLOCK_REALTIME },
	{ "real", CLOCK_REALTIME },
	{ "CLOCK_REALTIME", CLOCK_REALTIME },
	{ "boottime", CLOCK_BOOTTIME },
	{ "boot", CLOCK_BOOTTIME },
	{ "CLOCK_BOOTTIME", CLOCK_BOOTTIME },
	{ "tai", CLOCK_TAI },
	{ "CLOCK_TAI", CLOCK_TAI },
};

const char *record_clock(u32 i)
{
	return i < ARRAY_LEN(clocks) ? clocks[i].name : NULL;
}

int record_set_activity(void *field, const char *text, const struct notify *to)
{
	struct record_opts *o = field;
	const char *dir = text && !strncmp(text, "journal:", 8) ? text + 8 : NULL;

	o->attr.activity = true;
	if (!text)
		return 0;
	if (!strcmp(text, "bpf")) {
		o->activity.from = ACTIVITY_FROM_BPF;
	} else if (!strcmp(text, "journal") || (dir && *dir)) {
		o->activity.from = ACTIVITY_FROM_JOURNALS;
		o->activity.journals = dir;
	} else {
		return notify_error(to, ERR_USAGE, "--activity: '%s' is none of bpf, journal, journal:DIR", text);
	}
	return 0;
}

static int set_clock(void *field, const char *text, const struct notify *to)
{
	struct attr_opts *a = field;

	for (u32 i = 0; i < ARRAY_LEN(clocks); i++) {
		if (strcmp(clocks[i].name, text))
			continue;
		a->use_clockid = true;
		a->clockid = clocks[i].id;
		a->clock_name = clocks[i].name;
		return 0;
	}
	return notify_error(to, ERR_USAGE, "-k: '%s' is none of monotonic, monotonic_raw, realtime, boottime, tai",
			    text);
}

/* A count of pages, or a size with a unit; rounded up to a power of two. what: it is the size of. */
static int take_pages(u64 *pages, const char *text, const char *end, const char *what, const struct notify *to)
{
	u64 v, page = (u64)sysconf(_SC_PAGESIZE), n = 1;
	size_t digits = strspn(text, "0123456789");

	if (digits && text + digits != end) {
		char *copy = mem_strndup(text, (size_t)(end - text));
		bool ok = parse_scaled(copy, "BKMG", &v);

		free(copy);
		v = ok ? (v + page - 1) / page : 0;
	} else {
		v = digits && digits < 10 ? strtoull(text, NULL, 10) : 0;
	}
	if (!v || v > MAX_RING_PAGES)
		return notify_error(to, ERR_USAGE, "-m: '%s' is not a number of pages (or a size like 2M)", text);
	while (n < v)
		n *= 2;
	if (n != v)
		notify_warn(to, "-m: the size of %s is a power of two pages: using %llu instead of %llu", what,
			    (unsigned long long)n, (unsigned long long)v);
	*pages = n;
	return 0;
}

/* Of rings, and behind a comma of AUX areas; one of them may be left out. */
int record_set_rings(void *field, const char *text, const struct notify *to)
{
	struct ring_opts *rings = field;
	const char *comma = text + strcspn(text, ",");
	int err = comma != text || !*comma ? take_pages(&rings->pages, text, comma, "a ring", to) : 0;

	if (!err && *comma)
		err = take_pages(&rings->aux_pages, comma + 1, text + strlen(text), "an AUX area", to);
	return err;
}

/* [e][SIZE], as in perf */
static int set_snapshot(void *field, const char *text, const struct notify *to)
{
	struct ring_opts *rings = field;
	char *end;

	rings->snapshot = true;
	rings->snapshot_at_end = text && *text == 'e';
	text = text ? text + rings->snapshot_at_end : "";
	if (!*text || (parse_scaled(text, "BKMG", &rings->snapshot_bytes) && rings->snapshot_bytes))
		return 0;
	errno = 0;
	rings->snapshot_bytes = !strncmp(text, "0x", 2) ? strtoull(text, &end, 16) : 0;
	if (!rings->snapshot_bytes || errno || *end)
		return notify_error(to, ERR_USAGE,
				    "--snapshot: '%s' is not a size in bytes (or like 64K), behind an e for one "
				    "more at the end",
				    text);
	return 0;
}

static int set_compression(void *field, const char *text, const struct notify *to)
{
	u32 *level = field;
	u64 v = 1;

	if (text && !strcmp(text, "no"))
		v = 0;
	else if (text && (!parse_scaled(text, "B", &v) || v > 22))
		return notify_error(to, ERR_USAGE, "-z: '%s' is not a level from 1 to 22", text);
	*level = (u32)v;
	return 0;
}

/* 30s, 5m, 1h: its number of ms, which may be 0. */
static bool parse_time(const char *text, u64 *ms)
{
	static const struct {
		char unit;
		u64 ms;
	} times[] = { { 's', 1000 }, { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 } };
	size_t digits = strspn(text, "0123456789");

	for (u32 i = 0; digits && digits < 10 && i < ARRAY_LEN(times); i++) {
		if (text[digits] != times[i].unit || text[digits + 1])
			continue;
		*ms = strtoull(text, NULL, 10) * times[i].ms;
		return true;
	}
	return false;
}

static int set_interval(void *field, const char *text, const struct notify *to)
{
	u64 *ms = field;

	if (!parse_time(text, ms) || !*ms)
		return notify_error(to, ERR_USAGE, "--interval: '%s' is not a time (10s, 1m)", text);
	return 0;
}

static int set_switch(void *field, const char *text, const struct notify *to)
{
	struct output_opts *o = field;
	size_t digits = text ? strspn(text, "0123456789") : 0;

	o->switch_on = SWITCH_SIGNAL;
	if (!text || !strcmp(text, "signal"))
		return 0;
	if (parse_time(text, &o->switch_ms)) {
		o->switch_on = SWITCH_TIME;
		return o->switch_ms ? 0 : notify_error(to, ERR_USAGE, "--switch-output: '%s' is not a time", text);
	}
	o->switch_on = SWITCH_SIZE;
	if (digits && digits < strlen(text) && parse_scaled(text, "BKMG", &o->switch_size) && o->switch_size)
		return 0;
	return notify_error(to, ERR_USAGE,
			    "--switch-output: '%s' is neither signal, nor a size (100M), nor a time (30s, 5m, 1h)",
			    text);
}

int record_set_branch_any(void *field, const char *text, const struct notify *to)
{
	(void)text;
	(void)to;
	*(u64 *)field = PERF_SAMPLE_BRANCH_ANY;
	return 0;
}

int record_set_branches(void *field, const char *text, const struct notify *to)
{
	return event_branch_types(text, field, to);
}

int record_set_window(void *field, const char *text, const struct notify *to)
{
	struct window_opts *w = field;

	if (text && !strcmp(text, "no")) {
		*w = (struct window_opts){ .wish = WINDOW_REFUSED };
		return 0;
	}
	return window_opts_parse(w, text, to);
}

int record_set_pmu(void *field, const char *text, const struct notify *to)
{
	return sim_opts_parse(field, text, to);
}

/* NULL is what no option leaves. */
static int set_registers(void *field, const char *text, const struct notify *to)
{
	(void)to;
	*(const char **)field = text ? text : "";
	return 0;
}

#define AT(field) offsetof(struct record_config, field)

static const struct opt options[] = {
	{ 'e', "event", OPT_CALL, AT(events), "EVENT", "sample this event (see reticle list); may be repeated",
	  .set = record_set_event },
	{ 0, "filter", OPT_CALL, AT(events), "FILTER", "filter the tracepoint or PMU event before it",
	  .set = record_set_filter },
	{ 0, "exclude-perf", OPT_CALL, AT(events), NULL, "leave the recorder out of the tracepoint before it",
	  .set = set_exclusion },
	{ 0, "pmu", OPT_CALL, AT(o.sim), "PMU", "hw, or sim[,KEY=VALUE...]: run the command on a simulated core",
	  .set = record_set_pmu },
	{ 0, "window", OPT_CALL, AT(o.window), "[KEY=VALUE,...]",
	  "short windows for metrics of functions: short=, burst=, jitter=, leader=, mode=", .set = record_set_window,
	  .no = true },
	{ 0, "truth", OPT_STRING, AT(truth), "FILE", "with --pmu=sim: write exact counts into FILE, as JSON" },
	{ 'p', "pid", OPT_STRING, AT(o.target.pids), "PID[,PID]", "record running processes, with all their threads" },
	{ 't', "tid", OPT_STRING, AT(o.target.tids), "TID[,TID]", "record running threads" },
	{ 'u', "uid", OPT_STRING, AT(o.target.uid), "USER", "record the processes of a user" },
	{ 'a', "all-cpus", OPT_FLAG, AT(o.target.system_wide), NULL, "record all CPUs" },
	{ 'C', "cpu", OPT_STRING, AT(o.target.cpus), "CPUS", "record only these CPUs (0-3,8)" },
	{ 'G', "cgroup", OPT_STRING, AT(o.target.cgroups), "NAME[,NAME]", "record only these cgroups" },
	{ 0, "per-thread", OPT_FLAG, AT(o.target.per_thread), NULL, "use one ring per thread instead of one per CPU" },
	{ 'i', "no-inherit", OPT_FLAG, AT(o.attr.no_inherit), NULL,
	  "leave out threads and children that are created later" },
	{ 'F', "freq", OPT_CALL, AT(o.attr), "N", "sample N times per second, or max (default 4000)",
	  .set = record_set_freq },
	{ 0, "strict-freq", OPT_FLAG, AT(o.attr.strict_freq), NULL,
	  "fail if the kernel does not allow the frequency" },
	{ 'c', "count", OPT_CALL, AT(o.attr.period), "N", "sample every N events", .set = record_set_period },
	{ 'D', "delay", OPT_CALL, AT(o.attr.delay_ms), "MS", "start MS milliseconds after the command",
	  .set = set_delay },
	{ 0, "control", OPT_STRING, AT(o.control), "fifo:|fd:...",
	  "take commands from fifo:PATH[,PATH] or fd:N[,N]: enable, disable, stop ..." },
	{ 'g', NULL, OPT_CALL, AT(o.attr), NULL, "record call chains (--call-graph fp)", .set = record_set_callgraph },
	{ 0, "call-graph", OPT_CALL, AT(o.attr), "MODE", "fp[,depth], dwarf[,bytes], unwind[,bytes], lbr or no",
	  .set = record_set_callgraph },
	{ 0, "user-callchains", OPT_FLAG, AT(o.attr.user_callchains), NULL,
	  "record only the user part of call chains" },
	{ 0, "kernel-callchains", OPT_FLAG, AT(o.attr.kernel_callchains), NULL,
	  "record only the kernel part of call chains" },
	{ 0, "all-user", OPT_FLAG, AT(o.attr.all_user), NULL, "sample user space only" },
	{ 0, "all-kernel", OPT_FLAG, AT(o.attr.all_kernel), NULL, "sample the kernel only" },
	{ 'b', "branch-any", OPT_CALL, AT(o.attr.branch_type), NULL, "record taken branches",
	  .set = record_set_branch_any },
	{ 'j', "branch-filter", OPT_CALL, AT(o.attr.branch_type), "FILTER", "record some branches (any_call,u)",
	  .set = record_set_branches },
	{ 'n', "no-samples", OPT_FLAG, AT(o.attr.no_samples), NULL, "record everything except samples" },
	{ 'T', "timestamp", OPT_FLAG, AT(o.attr.time), NULL,
	  "samples carry the time (default, except with --per-thread)" },
	{ 0, "sample-cpu", OPT_FLAG, AT(o.attr.cpu), NULL, "samples carry the CPU" },
	{ 0, "sample-identifier", OPT_FLAG, AT(o.attr.identifier), NULL, "samples carry IDENTIFIER" },
	{ 'd', "data", OPT_FLAG, AT(o.attr.addr), NULL, "samples carry data addresses" },
	{ 0, "phys-data", OPT_FLAG, AT(o.attr.phys_addr), NULL, "samples carry physical data addresses" },
	{ 0, "code-page-size", OPT_FLAG, AT(o.attr.code_page_size), NULL, "samples carry the page size of the code" },
	{ 0, "data-page-size", OPT_FLAG, AT(o.attr.data_page_size), NULL, "samples carry the page size of the data" },
	{ 0, "user-regs", OPT_CALL, AT(o.attr.user_regs), "[REGS]",
	  "samples carry the program's registers, all or ax,ip,...; ? lists them", .set = set_registers },
	{ 'I', "intr-regs", OPT_CALL, AT(o.attr.intr_regs), "[REGS]",
	  "samples carry the registers at the interrupt, the kernel's too", .set = set_registers },
	{ 0, "transaction", OPT_FLAG, AT(o.attr.transaction), NULL, "samples carry transactional memory's flags" },
	{ 'P', "period", OPT_FLAG, AT(o.attr.want_period), NULL, "samples carry the period, even with -c" },
	{ 'W', "weight", OPT_FLAG, AT(o.attr.weight), NULL, "samples carry weights" },
	{ 'R', "raw-samples", OPT_FLAG, AT(o.attr.raw), NULL, "samples carry raw data" },
	{ 's', "stat", OPT_FLAG, AT(o.attr.stat), NULL, "also record counts per thread" },
	{ 'k', "clockid", OPT_CALL, AT(o.attr), "CLOCK", "take times from this clock (monotonic, boottime, ...)",
	  .set = set_clock },
	{ 0, "namespaces", OPT_FLAG, AT(o.attr.namespaces), NULL, "record namespaces" },
	{ 0, "all-cgroups", OPT_FLAG, AT(o.attr.cgroup_events), NULL, "record cgroups, and name them in samples" },
	{ 0, "activity", OPT_CALL, AT(o), "[HOW]",
	  "record with each sample which activity its thread works for: bpf, or without it journal[:DIR]",
	  .set = record_set_activity },
	{ 0, "waits", OPT_FLAG, AT(o.waits), NULL,
	  "with --activity, of the whole machine: also what threads wait for (sched_switch and sched_waking)" },
	{ 0, "switch-events", OPT_FLAG, AT(o.attr.switch_events), NULL, "record context switches" },
	{ 0, "no-bpf-event", OPT_FLAG, AT(o.attr.no_bpf_event), NULL, "do not record when BPF programs are loaded" },
	{ 'o', "output", OPT_STRING, AT(o.output.path), "FILE",
	  "write to FILE; - is standard output (default perf.data)" },
	{ 'm', "mmap-pages", OPT_CALL, AT(o.output.rings), "PAGES[,AUX]",
	  "ring size per CPU, in pages or like 2M, and that of AUX areas", .set = record_set_rings },
	{ 'S', "snapshot", OPT_CALL, AT(o.output.rings), "[e][SIZE]",
	  "overwrite AUX areas, and keep what they hold at SIGUSR2 (with e: and at the end)", .set = set_snapshot },
	{ 0, "overwrite", OPT_FLAG, AT(o.attr.overwrite), NULL,
	  "keep only the contents of the rings at the end (with --switch-output: of each file)" },
	{ 'z', "compression-level", OPT_CALL, AT(o.output.zstd_level), "[LEVEL]", "compress with zstd",
	  .set = set_compression, .no = true },
	{ 0, "max-size", OPT_BYTES, AT(o.output.max_size), "SIZE", "stop at this size (500M)" },
	{ 0, "switch-output", OPT_CALL, AT(o.output), "[WHEN]", "begin a new file: signal (SIGUSR2), a size or a time",
	  .set = set_switch },
	{ 0, "switch-max-files", OPT_U32, AT(o.output.switch_max_files), "N", "keep the newest N files only" },
	{ 0, "push", OPT_STRING, AT(push.to), "URL|@FILE",
	  "send what was recorded to a server, again and again (see export --push)" },
	{ 0, "interval", OPT_CALL, AT(push.interval_ms), "TIME", "with --push: so often (10s)", .set = set_interval },
	{ 0, "push-format", OPT_STRING, AT(push.format), "FORMAT", "with --push: otlp (the default) or pprof" },
	{ 0, "push-header", OPT_LIST, AT(push.headers), "HEADER", "with --push: send this, too; may be repeated" },
	{ 0, "push-keep", OPT_BYTES, AT(push.keep), "SIZE",
	  "with --push: recordings that wait take no more of the disk; the oldest are dropped (256M)" },
	{ 0, "buildid-mmap", OPT_FLAG, AT(o.attr.buildid_mmap), NULL, "record build ids in mapping records" },
	{ 0, "buildid-all", OPT_FLAG, AT(all_build_ids), NULL, "record build ids of all mapped files, hit or not" },
	{ 'B', "no-buildid", OPT_FLAG, AT(no_build_ids), NULL, "record no build ids" },
	{ 0, "no-cache", OPT_FLAG, AT(no_cache), NULL, "do not keep symbols in ~/.cache/reticle at the end" },
	{ 'N', "no-buildid-cache", OPT_FLAG, AT(no_cache), NULL,
	  "the same: nothing is kept for the report (the build id cache is never written)" },
	{ 0, "proc-map-timeout", OPT_STRING, AT(proc_map_timeout), "MS", "accepted: reading /proc has no time limit" },
	{ 0, "timestamp-boundary", OPT_FLAG, AT(boundary), NULL,
	  "accepted: the times of the first and last sample are always kept" },
	{ 0, "aio", OPT_STRING, AT(writing), "[N]", "accepted, like the five below: writing needs no tuning" },
	{ 0, "affinity", OPT_STRING, AT(writing), "NODE|CPU", "see --aio" },
	{ 0, "mmap-flush", OPT_STRING, AT(writing), "SIZE", "see --aio" },
	{ 0, "num-thread-synthesize", OPT_STRING, AT(writing), "N", "see --aio" },
	{ 0, "tail-synthesize", OPT_FLAG, AT(boundary), NULL, "see --aio" },
	{ 0, "threads", OPT_STRING, AT(writing), "[SPEC]", "see --aio" },
	{ 'r', "realtime", OPT_U32, AT(o.output.rt_priority), "PRIO", "record with SCHED_FIFO priority" },
	{ 0, "dry-run", OPT_FLAG, AT(dry_run), NULL, "open everything, record nothing" },
	{ 'q', "quiet", OPT_FLAG, AT(o.quiet), NULL, "print errors only" },
	{ 'v', "verbose", OPT_COUNT, AT(o.verbose), NULL, "print more messages" },
};

const struct command cmd_record = {
	.keeps_rights = true,
	.name = "record",
	.summary = "sample a command, processes or the whole machine into perf.data",
	.args = "[options] [--] [COMMAND [ARGS]]",
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct record_config),
	.defaults = defaults,
	.run = record_run,
};
