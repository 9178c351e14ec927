/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/peer.h"

#include <string.h>

#include "base/types.h"

static const struct {
	const char *name, *hint;
} peer_commands[] = {
	{ "annotate",
	  "'reticle report --sort symbol,srcline' shows hot lines; perf annotate reads reticle's recordings" },
	{ "archive", "copy the binaries along, and read with --symfs DIR or --buildid-dir DIR" },
	{ "bench", "perf bench does not need reticle" },
	{ "buildid-cache", "not needed: files are found by build id (--buildid-dir, --symfs, --debuginfod)" },
	{ "config", "there is no configuration file: all options are given on the command line" },
	{ "daemon", "'reticle record -a --switch-output=1m --switch-max-files 10'" },
	{ "data", "'reticle dump --json' or 'reticle export --to json'" },
	{ "ftrace", "'reticle record -e GROUP:TRACEPOINT', then 'reticle script'" },
	{ "inject", "not needed: jitdumps are read directly, and files are found even without build ids" },
	{ "iostat", "perf iostat counts the I/O stacks of Intel servers; 'reticle stat -e' takes the same "
		    "events by name" },
	{ "kallsyms", "grep NAME /proc/kallsyms" },
	{ "kmem", "'reticle record -a -g -e kmem:kmalloc,kmem:kfree', then 'reticle report'" },
	{ "kvm", "'reticle record -a -e kvm:kvm_exit', then 'reticle report --sort trace' or '--sort exit_reason'" },
	{ "kwork", "'reticle record -a -g -e irq:irq_handler_entry,irq:softirq_entry', then 'reticle report'" },
	{ "lock", "'reticle record -a -g -e lock:contention_begin', then 'reticle report'" },
	{ "probe", "existing probes are recorded by name (-e uprobes:NAME); new ones are made in "
		   "/sys/kernel/tracing/uprobe_events" },
	{ "sched", "'reticle record -a -g -e sched:sched_switch', then 'reticle report' or 'reticle script'" },
	{ "test", "'reticle check' says what this machine can do" },
	{ "timechart", "'reticle report --sort time,comm', or 'reticle export --to svg'" },
	{ "trace", "'reticle record -e \"syscalls:sys_enter_*\" -- COMMAND', then 'reticle script'" },
};

static const char later[] = "reticle cannot do this; perf record can, and reticle reads its file";
static const char no_traces[] = "traces of instructions (Intel PT, Arm ETM) are kept in the file, but not decoded";
static const char no_annotation[] =
	"that is for annotation, which reticle does not have; --sort srcline shows hot lines";
static const char text_only[] = "reports are text: pipe them into less -R, or 'reticle export --to svg' for a browser";
static const char no_scripts[] = "pipe 'reticle script --json' into a program of any language";
static const char no_switches[] = "choose by time: --time START,STOP";
static const char no_guests[] = "samples of guests have no symbols here";

static const struct {
	const char *commands; /* separated by blanks */
	char letter;
	const char *name, *hint;
} peer_options[] = {
	{ "report top", 'M', "disassembler-style", no_annotation },
	{ "report top", 0, "objdump", no_annotation },
	{ "report top", 0, "asm-raw", no_annotation },
	{ "report top", 0, "source", no_annotation },
	{ "report top", 0, "prefix", no_annotation },
	{ "report top", 0, "prefix-strip", no_annotation },
	{ "report", 0, "percent-type", no_annotation },
	{ "report", 0, "tui", text_only },
	{ "report", 0, "gtk", text_only },
	{ "report", 0, "samples", "'reticle script' prints the samples" },
	{ "report", 'T', NULL,
	  "--threads N sets the number of threads that read; 'reticle dump --type READ' has counts per thread" },
	{ "report top", 0, "raw-trace", "'reticle script' prints the fields of tracepoints" },
	{ "report", 0, "show-ref-call-graph", "-g draws the call graph of each event that has one" },
	{ "report", 0, "socket-filter", "name the socket's CPUs: --cpu 0-15" },
	{ "report", 0, "time-quantum", "--time-slice MS" },
	{ "report top", 0, "group-sort-idx", "--group sorts rows by the first event, then by the next" },
	{ "report diff", 'm', "modules", "symbols of modules always come from their files and /proc/kallsyms" },
	{ "report top", 0, "ignore-vmlinux", "a vmlinux is read instead of /proc/kallsyms only with --vmlinux" },
	{ "report", 0, "demangle", "names are demangled by default" },
	{ "report", 0, "stdio-color", "colours are on at a terminal, and off with NO_COLOR=1" },
	{ "report", 0, "full-source-path", "'reticle script -F +srcline --full-source-path'" },
	{ "report script", 0, "switch-on", no_switches },
	{ "report script", 0, "switch-off", no_switches },
	{ "script", 'a', "all-cpus", "what was recorded is printed; -C chooses CPUs" },
	{ "script diff", 'D', "dump-raw-trace", "'reticle dump' prints each record" },
	{ "script", 0, "dump-unsorted-raw-trace", "'reticle dump' prints each record, in the order of the file" },
	{ "script", 's', "script", no_scripts },
	{ "script", 'g', "gen-script", no_scripts },
	{ "script", 'l', "list", no_scripts },
	{ "script", 0, "dlfilter", no_scripts },
	{ "script", 0, "dlarg", no_scripts },
	{ "script", 0, "list-dlfilters", no_scripts },
	{ "script", 0, "insn-trace", no_traces },
	{ "script", 0, "call-trace", no_traces },
	{ "script", 0, "call-ret-trace", no_traces },
	{ "script", 0, "graph-function", no_traces },
	{ "script", 0, "guestmount", no_guests },
	{ "script", 0, "guest-code", no_guests },
	{ "script", 0, "per-event-dump", "print one kind of event at a time, -F hw:... or -F trace:..." },
	{ "script", 'd', "debug-mode", "the head of 'reticle report' says how many records were lost" },
	{ "top", 'f', "count-filter", "--percent-limit PERCENT leaves out small rows" },
	{ "top", 'D', "dump-symtab", "'nm -C FILE', or 'reticle report -v' for what was read" },
	{ "top", 0, "sym-annotate", no_annotation },
	{ "top", 0, "ignore-callees", "record, and use 'reticle report --ignore-callees'" },
	{ "top", 0, "demangle-kernel", "names are demangled by default, those of the kernel as well" },
	{ "top", 0, "switch-on", "'reticle record --control', or 'reticle record' and --time START,STOP" },
	{ "top", 0, "switch-off", "'reticle record --control', or 'reticle record' and --time START,STOP" },
	{ "stat", 'S', "sync", "'sync; reticle stat ...' writes to disks before it counts" },
	{ "stat", 'T', "transaction", "-e cpu/tx-start/,cpu/cycles-t/,cpu/cycles-ct/ counts transactions" },
	{ "stat", 'g', "group", "put braces around the events: -e '{cycles,instructions}'" },
	{ "stat", 'q', "quiet", "-o /dev/null prints no counts" },
	{ "stat", 0, "pre", "'reticle stat -- sh -c COMMANDS' counts several commands" },
	{ "stat", 0, "post", "'reticle stat -- sh -c COMMANDS' counts several commands" },
	{ "stat", 0, "log-fd", "--append -o /dev/fd/N prints to an open file" },
	{ "stat", 0, "table", "-r N prints the mean, and how much runs differ; --json has the value of each run" },
	{ "stat", 0, "scale", "counts are scaled where counters took turns, and the share of the time is shown" },
	{ "stat", 0, "metric-only", "--json has each metric with its name" },
	{ "stat", 0, "interval-clear", "'reticle top' shows a screen that is renewed" },
	{ "stat", 0, "control",
	  "'reticle record --control' has it; for stat, -D MS and --timeout MS choose the time" },
	{ "stat", 0, "filter", "'reticle record --filter' counts what is recorded" },
	{ "stat", 0, "for-each-cgroup", "-G NAME,NAME beside -e EVENT,EVENT: one cgroup for each event" },
	{ "stat", 0, "no-merge", "events of several PMUs are counted one by one: -e PMU/EVENT/" },
	{ "stat", 0, "metric-no-group", "a metric's events are one group only where it needs that" },
	{ "stat", 0, "metric-no-merge", "a metric's events are shared by all metrics" },
	{ "stat", 0, "td-level", "--topdown shows the first level" },
	{ "stat", 0, "smi-cost", "-e msr/smi/,msr/aperf/,cycles has what it is made of" },
	{ "stat", 0, "iostat", "perf iostat counts the I/O stacks of Intel servers; -e takes the same events" },
	{ "stat", 0, "cputype", "name the PMU: -e cpu_core/cycles/" },
	{ "stat", 0, "hybrid-merge", "name the PMU: -e cpu_core/cycles/" },
	{ "diff", 0, "stream", "'reticle report --sort symbol_from,symbol_to' of each recording has the branches" },
	{ "diff", 0, "cycles-hist", "'reticle report --total-cycles' of each recording has the cycles of blocks" },
	{ "buildid-list", 'v', "verbose", "'reticle report -v' says which files were looked for" },
	{ "buildid-list", 'm', "kernel-maps", "'reticle dump --type MMAP' has the kernel's mappings" },
	{ "list", 'd', "desc", "events are listed with their descriptions" },
	{ "list", 'v', "long-desc", "events are listed with their descriptions" },
	{ "list", 0, "details", "'reticle record -e EVENT -- true', then 'reticle evlist -v', shows the attr" },
	{ "list", 0, "cputype", "name the PMU: 'reticle list cpu_core'" },
	{ "record", 0, "aux-sample",
	  "the kernel's driver of Arm SPE cannot copy the area into samples; --snapshot keeps the last operations" },
	{ "record", 0, "switch-output-event", "--switch-output=TIME or =SIZE, or SIGUSR2" },
	{ "record", 0, "timestamp-filename", "-o \"perf.data.$(date +%Y%m%d%H%M%S)\"" },
	{ "record", 0, "group", "put braces around the events: -e '{cycles,instructions}'" },
	{ "record", 0, "kcore", later },
	{ "record", 0, "off-cpu", "-e sched:sched_switch -g samples where threads go to sleep" },
	{ "record", 0, "running-time", "groups that are read (:S) always have their times" },
	{ "record", 0, "vmlinux", "--vmlinux belongs to report and script" },
	{ "record", 0, "debuginfod", "--debuginfod belongs to report and script" },
	{ "record", 0, "clang-path", "BPF programs are not compiled here" },
	{ "record", 0, "clang-opt", "BPF programs are not compiled here" },
};

const char *peer_command_hint(const char *name)
{
	for (u32 i = 0; i < ARRAY_LEN(peer_commands); i++)
		if (!strcmp(peer_commands[i].name, name))
			return peer_commands[i].hint;
	return NULL;
}

static bool is_one_of(const char *word, const char *words)
{
	size_t len = strlen(word);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		if (!strncmp(at, word, len) && (!at[len] || at[len] == ' '))
			return true;
		at += strcspn(at, " ");
	}
	return false;
}

const char *peer_option_hint(const char *command, char letter, const char *name, size_t len)
{
	for (u32 i = 0; i < ARRAY_LEN(peer_options); i++) {
		const char *own = peer_options[i].name;

		if (!is_one_of(command, peer_options[i].commands))
			continue;
		if (letter ? peer_options[i].letter == letter : own && strlen(own) == len && !strncmp(own, name, len))
			return peer_options[i].hint;
	}
	return NULL;
}
