/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle record`: the recorder, and what is said at the end. Its options: cmd/record_options.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/evlist.h"
#include "cmd/output.h"
#include "cmd/pmu_help.h"
#include "cmd/record_options.h"
#include "cmd/record_prime.h"
#include "cmd/record_unwind.h"
#include "pass/truth.h"
#include "record/recorder.h"

#define EXIT_USAGE 2
#define EXIT_NO_EXEC 126
#define EXIT_NO_COMMAND 127
#define MEGABYTE (1024.0 * 1024)

static int parse_events(const struct record_config *c, struct event_specs *specs, const struct notify *to)
{
	const struct event_env env = { .simulated = c->o.sim.on };
	int err = 0;

	for (u32 i = 0; i < c->events.n && !err; i++) {
		const struct event_word *w = &c->events.v[i];

		if (w->is_filter)
			err = w->text ? event_specs_filter(specs, w->text, to) :
					event_specs_exclude(specs, getpid(), to);
		else
			err = event_specs_parse(specs, w->text, &env, to);
	}
	/* A name that nothing here has is as wrong a use of -e as a misplaced comma. */
	return err == ERR_NOTFOUND ? ERR_USAGE : err;
}

/* What the recorder tells while it runs, and to whom. */
struct listeners {
	struct truth *truth;	  /* or NULL */
	struct record_push *push; /* or NULL */
	bool quiet;
};

static int take_switched(void *ctx, const char *path, u64 bytes)
{
	struct listeners *l = ctx;

	if (l->push)
		return record_push_take(l->push, path);
	if (!l->quiet)
		fprintf(stderr, "[ reticle record: wrote %.3f MB to %s ]\n", (double)bytes / MEGABYTE, path);
	return 0;
}

static void reload(void *ctx)
{
	struct listeners *l = ctx;

	record_push_reload(l->push);
}

/* --control was told "evlist [-v|-g|-F]". */
static void print_events(void *ctx, const struct evlist *events, const char *how)
{
	struct evlist_how as = { .verbose = strstr(how, "-v"), .group = strstr(how, "-g"), .freq = strstr(how, "-F") };
	struct bytes out = { 0 };

	(void)ctx;
	evlist_put(events, as, &out);
	fwrite(out.p, 1, out.len, stderr);
	bytes_free(&out);
}

/* One write for each line: the command's last words, or those of a program that it is piped into, may come meanwhile.
 */
static void print_line(struct bytes *line)
{
	fwrite(line->p, 1, line->len, stderr);
	bytes_free(line);
}

static void print_end(const struct record_result *r, const struct record_config *c)
{
	struct bytes out = { 0 };

	bytes_str(&out, "[ reticle record: ");
	if (!c->o.sim.on)
		bytes_printf(&out, "woken %llu times, ", (unsigned long long)r->woken);
	if (c->push.to)
		bytes_printf(&out, "%u recording%s", r->files, plural(r->files));
	else
		bytes_printf(&out, "wrote %.3f MB to %s", (double)r->bytes / MEGABYTE,
			     r->path ? r->path : "standard output");
	if (r->packed && !c->push.to)
		bytes_printf(&out, " (compressed from %.3f MB, %.1f to 1)", (double)r->unpacked / MEGABYTE,
			     (double)r->unpacked / (double)r->packed);
	if (r->aux_bytes)
		bytes_printf(&out, ", %.3f MB of it of sampled operations", (double)r->aux_bytes / MEGABYTE);
	if (r->snapshots)
		bytes_printf(&out, " in %u snapshot%s", r->snapshots, plural(r->snapshots));
	bytes_printf(&out, ", %llu samples, %llu lost, %llu throttled ]\n", (unsigned long long)r->samples,
		     (unsigned long long)r->lost, (unsigned long long)r->throttled);
	print_line(&out);
}

/* What came of the windows that were asked for: for the user to judge. */
static void print_windows(const struct window_summary *w)
{
	const char *unit = w->clock ? " ns" : "";
	struct bytes out = { 0 };

	if (w->how == WINDOW_AUTO)
		return;
	bytes_printf(&out, "[ reticle record: %s windows of %llu%s: %llu on %u %s%s", window_how_names[w->how],
		     (unsigned long long)w->asked, unit, (unsigned long long)w->windows, w->places,
		     w->cpus ? "CPU" : "thread", plural(w->places));
	if (w->windows)
		bytes_printf(&out, ", half of them up to %llu%s long (5%%: %llu, 95%%: %llu)",
			     (unsigned long long)w->median, unit, (unsigned long long)w->low,
			     (unsigned long long)w->high);
	if (w->rearmed)
		bytes_printf(&out, ", armed again %u time%s", w->rearmed, plural(w->rearmed));
	bytes_str(&out, " ]\n");
	print_line(&out);
}

static void advise_windows(const struct window_summary *w, const struct notify *to)
{
	if (w->how == WINDOW_AUTO)
		return;
	if (!w->windows && !w->unarmed)
		notify_warn(to, "there were no windows: the program did not run long enough%s",
			    w->clock ? "" : ", or its counters never got onto the hardware");
	if (w->unarmed)
		notify_warn(to, "%u of %u threads never had windows: they did not run long enough at a time",
			    w->unarmed, w->places);
	if (w->missed)
		notify_warn(to,
			    "%u thread%s had ended before %s counters, and %s not in the recording (with "
			    "--no-window the kernel records all threads)",
			    w->missed, plural(w->missed), w->missed == 1 ? "it had" : "they had",
			    w->missed == 1 ? "is" : "are");
}

static void print_simulated(const struct record_result *r, const struct notify *to)
{
	if (r->never_simulated)
		notify_warn(to, "QEMU ended before the program began, so the recording is empty (reticle check "
				"says whether this QEMU can be used)");
	if (r->escaped)
		notify_warn(to,
			    "%u program%s ran without the virtual PMU (possible reasons: another architecture, "
			    "set-uid, no permission to read the program, no permission to reach the recorder)",
			    r->escaped, plural(r->escaped));
	if (r->lost)
		notify_warn(to,
			    "%llu records were lost, because lose= asks for it or because the recorder stopped first",
			    (unsigned long long)r->lost);
}

static void print_advice(const struct record_result *r, const struct record_config *c, const struct notify *to)
{
	if (r->size_reached)
		notify_warn(to, "stopped at the size that --max-size allows");
	if (c->o.sim.on) {
		print_simulated(r, to);
		return;
	}
	advise_windows(&r->windows, to);
	if (r->lost > r->lost_in_looking)
		notify_warn(to, "%llu records were lost: %s", (unsigned long long)(r->lost - r->lost_in_looking),
			    c->o.attr.overwrite ? "the rings of mappings and tasks were full (larger -m)" :
						  "the rings were full (larger -m, or lower -F)");
	if (r->lost_in_looking)
		notify_warn(to, "%llu records were lost: they came while the rings were being read",
			    (unsigned long long)r->lost_in_looking);
	if (c->o.output.rings.snapshot && !r->snapshots)
		notify_warn(to, "no snapshot was taken, so there are no operations: SIGUSR2 takes one, and so does "
				"'snapshot' to --control (with --snapshot=e there is one at the end)");
	if (r->aux_truncated)
		notify_warn(to,
			    "operations were lost: the AUX area was full %llu times (larger -m ,N, or a longer "
			    "interval with -c)",
			    (unsigned long long)r->aux_truncated);
	if (r->aux_collisions)
		notify_warn(to,
			    "operations were left out: in %llu stretches of AUX data, some were to be sampled before "
			    "the last ones were done with (a longer interval with -c)",
			    (unsigned long long)r->aux_collisions);
	if (r->throttled)
		notify_warn(to, "the kernel throttled sampling %llu times: it took too long (lower -F)",
			    (unsigned long long)r->throttled);
}

static int exit_status(int err, const struct record_result *r)
{
	if (err == ERR_USAGE)
		return EXIT_USAGE;
	if (err && r->has_status && (r->status == EXIT_NO_EXEC || r->status == EXIT_NO_COMMAND))
		return r->status;
	if (err)
		return EXIT_FAILURE;
	/* At the size limit the command is ended by us. */
	return r->has_status && !r->size_reached ? r->status : EXIT_SUCCESS;
}

/* -q: only errors get through. */
static void pass_errors(void *ctx, const struct note *note)
{
	const struct notify *to = ctx;

	if (note->level == NOTE_ERROR)
		to->fn(to->ctx, note);
}

static bool asks_for_names(const char *regs)
{
	return regs && !strcmp(regs, "?");
}

/* Those of this machine: a program of another architecture is not known yet. */
static int print_registers(const struct notify *to)
{
	struct output out;

	(void)output_open(&out, NULL, to);
	bytes_str(&out.bytes, "available registers: ");
	regs_list(REGS_HERE, &out.bytes);
	bytes_char(&out.bytes, '\n');
	return output_close(&out, to) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void take_truth(void *ctx, const u8 *record, u16 size)
{
	struct listeners *l = ctx;

	truth_take(l->truth, record, size);
}

static int write_truth(struct truth *truth, const struct record_config *c, const struct record_result *r,
		       const struct notify *to)
{
	struct truth_about about = { .recording = r->path,
				     .options = &c->o.sim.v,
				     .command = (const char *const *)c->o.target.command,
				     .lost = r->lost,
				     .escaped = r->escaped };
	struct output out;
	int err;

	err = truth_finish(truth, &about, to);
	if (!err)
		err = output_open(&out, c->truth, to);
	out.owner_only = true; /* as the recording */
	if (err)
		return err;
	truth_write(truth, &about, &out.bytes);
	return output_close(&out, to);
}

/* Names in the truth come from the recording, which has to be there, and be one. */
static int check_truth(struct record_config *c, const struct notify *to)
{
	struct output_opts *out = &c->o.output;

	if (!c->truth)
		return 0;
	if (!c->o.sim.on)
		return notify_error(to, ERR_USAGE, "--truth needs --pmu=sim: only the virtual PMU knows exact counts");
	if (out->switch_on != SWITCH_NEVER || c->push.to)
		return notify_error(to, ERR_USAGE, "--truth and --%s exclude each other",
				    c->push.to ? "push" : "switch-output");
	if (out->path && (!strcmp(out->path, "-") || !strcmp(out->path, c->truth)))
		return notify_error(to, ERR_USAGE, "--truth needs a recording in a file of its own");
	if (!out->path)
		out->path = "perf.data";
	c->o.sim.v.truth = true;
	return 0;
}

/* Threads are woken, and begin to run, while others run, so that all of them have to be recorded. */
static int check_waits(struct record_opts *o, const struct notify *to)
{
	struct target_opts *t = &o->target;

	if (!o->waits)
		return 0;
	if (!o->attr.activity)
		return notify_error(to, ERR_USAGE, "--waits needs --activity: they are the waits of activities");
	if (t->pids || t->tids || t->uid || t->cpus || t->cgroups || t->per_thread)
		return notify_error(to, ERR_USAGE,
				    "--waits records the whole machine, and cannot be combined with -p, -t, -u, -C, "
				    "--cgroup and --per-thread (reticle activity shows some threads only: --pid, -c)");
	/* The virtual PMU, which refuses --activity, does not see the machine. */
	t->system_wide |= !o->sim.on;
	return 0;
}

/* What single options cannot check. 0 or ERR_USAGE. */
static int check_options(struct record_config *c, const struct notify *to)
{
	struct record_opts *o = &c->o;
	const struct target_opts *t = &o->target;
	int err;

	o->output.build_ids = c->no_build_ids ? BUILDID_NONE : c->all_build_ids ? BUILDID_ALL : BUILDID_HITS;
	if (o->attr.all_user && o->attr.all_kernel)
		return notify_error(to, ERR_USAGE, "--all-user and --all-kernel exclude each other");
	if (o->attr.user_callchains && o->attr.kernel_callchains)
		return notify_error(to, ERR_USAGE, "--user-callchains and --kernel-callchains exclude each other");
	if (o->attr.period != RECORD_UNSET && (o->attr.freq != RECORD_UNSET || o->attr.freq_max))
		return notify_error(to, ERR_USAGE, "-F and -c exclude each other");
	if (o->attr.branch_type && o->attr.callgraph == CALLGRAPH_LBR)
		return notify_error(to, ERR_USAGE,
				    "-b, -j and --call-graph lbr exclude each other: they need the same branch "
				    "registers (-b -g records call chains by frame pointers)");
	if ((t->pids || t->tids || t->uid) && (t->system_wide || t->cgroups))
		return notify_error(to, ERR_USAGE, "-p, -t and -u cannot be combined with -a or --cgroup");
	if (o->output.rings.snapshot && o->sim.on)
		return notify_error(to, ERR_USAGE,
				    "--snapshot is for the machine's own PMU: the virtual one writes operations as "
				    "they come");
	if (o->output.switch_on != SWITCH_NEVER && o->output.path && !strcmp(o->output.path, "-"))
		return notify_error(to, ERR_USAGE, "--switch-output needs a file");
	err = check_waits(o, to);
	if (!err)
		err = check_truth(c, to);
	return err ? err : record_push_check(&c->push, o, to);
}

int record_prepare(struct record_config *c, struct event_specs *specs, const struct notify *to)
{
	int err = check_options(c, to);

	return err ? err : parse_events(c, specs, to);
}

/* What the recorder is given, and what comes of it. */
struct recording {
	struct record_config c;
	struct event_specs specs;
	struct record_result result;
	struct listeners listeners;
	struct unwinding *unwinding;
	struct priming *priming; /* or NULL */
	const struct notify *to;
};

static int begin_listeners(struct recording *r)
{
	const struct record_config *c = &r->c;
	int err = 0;

	r->listeners.quiet = c->o.quiet;
	if (c->truth)
		err = output_check(c->truth, r->to);
	if (!err && c->truth && !c->dry_run)
		err = truth_new(&r->listeners.truth, r->to);
	if (!err && c->push.to && !c->dry_run) {
		r->listeners.push = record_push_begin(&c->push, &c->o, c->no_cache, r->to);
		err = r->listeners.push ? 0 : ERR_IO;
	}
	return err;
}

static int run_recorder(struct recording *r)
{
	struct record_unwind unwind = record_unwind_by(r->unwinding);
	struct record_met met = priming_met(r->priming);
	const struct recorder_events tell = {
		.switched = take_switched,
		.reload = r->listeners.push ? reload : NULL,
		.truth = r->listeners.truth ? take_truth : NULL,
		.list = print_events,
		.ctx = &r->listeners,
		.unwind = &unwind,
		.met = r->priming ? &met : NULL,
	};

	return recorder_run(&r->c.o, &r->specs, &tell, r->c.dry_run, &r->result, r->to);
}

static void print_all(const struct recording *r)
{
	print_end(&r->result, &r->c);
	print_windows(&r->result.windows);
	record_print_unwound("record", r->unwinding, r->c.o.attr.stack_dump);
	print_advice(&r->result, &r->c, r->to);
}

/* When all is recorded, and that has been said. */
static int finish(struct recording *r, int err)
{
	if (r->listeners.truth && !err)
		err = write_truth(r->listeners.truth, &r->c, &r->result, r->to);
	if (r->listeners.push && record_push_end(r->listeners.push) && !err)
		err = ERR_IO;
	unwinding_free(r->unwinding);
	if (r->priming && !err && r->result.path)
		priming_run(r->priming, r->result.path, r->result.packed > 0);
	priming_free(r->priming);
	truth_free(r->listeners.truth);
	event_specs_free(&r->specs);
	free(r->result.path);
	free(r->c.events.v);
	return err;
}

int record_run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct notify errors = { pass_errors, (void *)ctx->notify };
	struct recording r = { .c = *(const struct record_config *)config };
	int err;

	r.to = r.c.o.quiet ? &errors : ctx->notify;
	if (r.c.o.sim.help)
		return print_pmu_help(r.to);
	if (asks_for_names(r.c.o.attr.user_regs) || asks_for_names(r.c.o.attr.intr_regs))
		return print_registers(r.to);
	r.unwinding = unwinding_new(r.to);
	/* What is sent is looked up when it is sent. */
	r.priming = r.c.no_cache || r.c.push.to ? NULL : priming_new();
	if (argc)
		r.c.o.target.command = argv;
	err = record_prepare(&r.c, &r.specs, r.to);
	if (!err)
		err = begin_listeners(&r);
	if (!err)
		err = run_recorder(&r);
	if (!r.c.o.quiet && (r.result.path || (!err && !r.c.dry_run)))
		print_all(&r);
	err = finish(&r, err);
	return exit_status(err, &r.result);
}
