/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reticle top`, those of perf's: half of them are record's, the others report's. */
#include "cmd/commands.h"
#include "cmd/top.h"

#define TOP(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct top_config, field), arg, help                                     \
	}
#define TOP_CALL(letter, name, field, arg, help, call)                                                                \
	{                                                                                                             \
		letter, name, OPT_CALL, offsetof(struct top_config, field), arg, help, .set = call                    \
	}

static const struct opt options[] = {
	TOP_CALL('e', "event", record.events, "EVENT", "sample this event (see reticle list); may be repeated",
		 record_set_event),
	TOP_CALL(0, "filter", record.events, "FILTER", "filter the tracepoint or PMU event before it",
		 record_set_filter),
	TOP_CALL(0, "pmu", record.o.sim, "PMU", "hw, or sim[,KEY=VALUE...]: run the command on a simulated core",
		 record_set_pmu),
	{ 0, "window", OPT_CALL, offsetof(struct top_config, record.o.window), "[KEY=VALUE,...]",
	  "short windows for metrics of functions: short=, burst=, jitter=, leader=, mode=", .set = record_set_window,
	  .no = true },
	TOP('p', "pid", OPT_STRING, record.o.target.pids, "PID[,PID]", "watch these processes only"),
	TOP('t', "tid", OPT_STRING, record.o.target.tids, "TID[,TID]", "watch these threads only"),
	TOP('u', "uid", OPT_STRING, record.o.target.uid, "USER", "watch the processes of a user only"),
	TOP('a', "all-cpus", OPT_FLAG, record.o.target.system_wide, NULL, "watch all CPUs (the default)"),
	TOP('C', "cpu", OPT_STRING, record.o.target.cpus, "CPUS", "watch only these CPUs (0-3,8)"),
	TOP('G', "cgroup", OPT_STRING, record.o.target.cgroups, "NAME[,NAME]", "watch only these cgroups"),
	TOP('i', "no-inherit", OPT_FLAG, record.o.attr.no_inherit, NULL,
	    "leave out threads and children that are created later"),
	TOP_CALL('F', "freq", record.o.attr, "N", "sample N times per second, or max (default 4000)", record_set_freq),
	TOP_CALL('c', "count", record.o.attr.period, "N", "sample every N events", record_set_period),
	TOP_CALL('m', "mmap-pages", record.o.output.rings, "PAGES", "ring size per CPU, in pages or like 2M",
		 record_set_rings),
	TOP_CALL('g', NULL, record.o.attr, NULL, "record call chains, and count callees with their callers",
		 record_set_callgraph),
	TOP_CALL(0, "call-graph", record.o.attr, "MODE",
		 "how call chains are recorded: fp[,depth], unwind[,bytes] or lbr", record_set_callgraph),
	TOP_CALL('b', "branch-any", record.o.attr.branch_type, NULL, "record taken branches, and show those",
		 record_set_branch_any),
	TOP_CALL('j', "branch-filter", record.o.attr.branch_type, "FILTER",
		 "record some branches (any_call,u), and show those", record_set_branches),
	TOP(0, "no-stitch-lbr", OPT_FLAG, report.select.no_stitch, NULL,
	    "do not complete LBR call stacks from earlier samples"),
	TOP(0, "stitch-lbr", OPT_FLAG, report.select.stitch, NULL, "accepted; this is the default"),
	TOP(0, "all-cgroups", OPT_FLAG, record.o.attr.cgroup_events, NULL,
	    "samples know their cgroups (--sort cgroup)"),
	TOP_CALL(0, "activity", record.o, "[HOW]",
		 "samples know which activity their thread works for (--sort http.route): bpf, journal[:DIR]",
		 record_set_activity),
	TOP(0, "namespaces", OPT_FLAG, record.o.attr.namespaces, NULL, "record namespaces"),
	TOP(0, "no-bpf-event", OPT_FLAG, record.o.attr.no_bpf_event, NULL,
	    "do not record when BPF programs are loaded"),
	TOP('r', "realtime", OPT_U32, record.o.output.rt_priority, "PRIO", "record with this SCHED_FIFO priority"),
	TOP('K', "hide_kernel_symbols", OPT_FLAG, hide_kernel, NULL, "sample user space only"),
	TOP('U', "hide_user_symbols", OPT_FLAG, hide_user, NULL, "sample the kernel only"),
	TOP('d', "delay", OPT_STRING, delay, "SECONDS", "time between two refreshes (default 2)"),
	TOP(0, "history", OPT_U64, history_s, "SECONDS", "how long a time each table covers (default 5)"),
	TOP('z', "zero", OPT_FLAG, zero, NULL, "each table covers the time since the one before"),
	TOP('E', "entries", OPT_U32, entries, "N", "show at most N rows"),
	TOP(0, "refreshes", OPT_U32, refreshes, "N", "end after N tables"),
	TOP('s', "sort", OPT_STRING, report.sort, "KEYS",
	    "one row per: comm, pid, cpu, dso, symbol, ... (see "
	    "reticle report)"),
	TOP(0, "fields", OPT_STRING, report.fields, "COLUMNS", "show these columns, or with + additional ones"),
	TOP('n', "show-nr-samples", OPT_FLAG, report.samples, NULL, "show the number of samples"),
	TOP(0, "show-total-period", OPT_FLAG, report.period, NULL, "show the sum of periods"),
	{ 0, "children", OPT_CALL, offsetof(struct top_config, report.children), NULL,
	  "count callees with their callers", .set = report_set_switch, .no = true },
	TOP(0, "show-cpu-utilization", OPT_FLAG, report.cpu_modes, NULL,
	    "show how much of each row is of the kernel, and of user space"),
	TOP_CALL(0, "percentage", report.percentage, "relative|absolute",
		 "shares of what the filters leave, or of everything (default)", report_set_percentage),
	TOP(0, "hierarchy", OPT_FLAG, report.hierarchy, NULL, "show rows as a tree of the sort keys"),
	TOP(0, "group", OPT_FLAG, report.group, NULL, "show the events of a group side by side in one table"),
	TOP(0, "max-stack", OPT_U32, report.max_stack, "N", "show call graphs of at most N frames"),
	TOP_CALL(0, "percent-limit", report, "PERCENT", "leave out rows and branches below this share",
		 report_set_percent_limit),
	TOP('w', "column-widths", OPT_STRING, report.widths, "WIDTHS", "widths of the columns, in order"),
	TOP(0, "comms", OPT_STRING, report.select.comms, "NAMES", "only threads with these names"),
	/* Letters that mean this in report have other meanings here. */
	SELECT_PLACE_OPTS(struct top_config, report.select, 0, 0, 0, "rows of"),
	TOP('k', "vmlinux", OPT_STRING, report.select.vmlinux, "FILE", "take kernel symbols from this vmlinux"),
	TOP(0, "kallsyms", OPT_STRING, report.select.kallsyms, "FILE", "take kernel symbols from this file"),
	TOP(0, "no-cache", OPT_FLAG, report.select.no_cache, NULL, "do not use or keep symbols in ~/.cache/reticle"),
	TOP(0, "no-demangle", OPT_FLAG, report.select.no_demangle, NULL, "do not demangle C++ and Rust names"),
	TOP(0, "inline", OPT_FLAG, report.inlines, NULL, "expand inlined calls, which takes time at each new place"),
	TOP(0, "threads", OPT_U32, report.select.threads, "N", "make tables on N threads (default 1)"),
	TOP(0, "stdio", OPT_FLAG, stdio, NULL, "print tables one after the other, without a screen"),
	TOP(0, "tui", OPT_FLAG, tui, NULL, "use the screen (the default at a terminal)"),
	TOP('v', "verbose", OPT_COUNT, report.verbose, NULL, "show whole paths of shared objects"),
	TOP(0, "proc-map-timeout", OPT_STRING, unused, "MS", "accepted: reading /proc has no time limit"),
	TOP(0, "num-thread-synthesize", OPT_STRING, unused, "N", "accepted: one thread reads /proc"),
	TOP(0, "overwrite", OPT_FLAG, unused_flag, NULL,
	    "accepted: what comes faster than tables are made is left out, and counted"),
	TOP(0, "force", OPT_FLAG, unused_flag, NULL, "accepted"),
};

static void defaults(void *config)
{
	struct top_config *c = config;

	cmd_record.defaults(&c->record);
	cmd_report.defaults(&c->report);
	c->delay_s = 2;
	c->history_s = 5;
}

const struct command cmd_top = {
	.keeps_rights = true,
	.name = "top",
	.summary = "show which functions the machine, or a command, spends its time in now",
	.args = "[options] [--] [command [args]]",
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct top_config),
	.defaults = defaults,
	.run = top_run,
};
