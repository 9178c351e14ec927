/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of a recording, in order: signals, the waiting command, the target, the events, the file with records for
 * what existed before, then the loop, and the end. Each stage can fail; close_all closes everything that earlier
 * stages opened.
 */
#include "record/recorder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "events/tls_user.h"
#include "record/activity.h"
#include "record/journals.h"
#include "record/recorder_impl.h"
#include "sys/probe.h"

#define SIM_GRACE_MS 2000
#define UNWINDING_NICE (-10)

static int catch_signals(struct recorder *r, sigset_t *before)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL }, hup;
	sigset_t set;

	/* Whoever started us may ignore it; then children would vanish without a status to wait for. */
	sigaction(SIGCHLD, &by_default, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* Under nohup it stays ignored: blocked, it would come through. */
	if (sigaction(SIGHUP, NULL, &hup) || hup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	/* Without --switch-output, too: whoever sends it to all that record does not end them. */
	sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, before))
		return notify_error(r->notify, ERR_IO, "cannot block signals: %s", strerror(errno));
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd >= 0 ? 0 : notify_error(r->notify, ERR_IO, "cannot wait for signals: %s", strerror(errno));
}

/* Does a hardware cycle counter exist here, though perhaps not for this user, or not now? */
static bool has_cycles(void)
{
	const struct attr a = { .type = PERF_TYPE_HARDWARE,
				.config = PERF_COUNT_HW_CPU_CYCLES,
				.flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	int failed;

	return event_probe(&a, NULL, &failed) != EVENT_ABSENT || failed == EBUSY;
}

/* Cycles where there is a counter, else the kernel's clock, with perf's attrs for both. */
static int default_event(struct recorder *r)
{
	int err;

	if (has_cycles())
		return event_specs_parse(r->specs, "cycles:P", NULL, r->notify);
	if (r->o->attr.branch_type || r->o->attr.callgraph == CALLGRAPH_LBR)
		return notify_error(r->notify, ERR_UNSUPPORTED,
				    "branch records need a hardware PMU, and this machine has none (--pmu=sim "
				    "has them)");
	notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET,
		  "no hardware PMU in this machine: sampling by cpu-clock, the kernel's timer (--pmu=sim has "
		  "cycles)");
	err = event_specs_parse(r->specs, "cpu-clock:ppp", NULL, r->notify);
	if (!err)
		r->specs->v.v[0].attr.flags &= ~ATTR_EXCLUDE_GUEST;
	return err;
}

/* Tried before anything is opened: the errno of an event that the kernel does not know says too little. */
static int check_tls_user(const struct recorder *r)
{
	const char *why = "the virtual PMU's samples have no thread data";

	if (!tls_user_wanted(r->specs) || (!r->sim && tls_user_works(&why)))
		return 0;
	return notify_error(r->notify, ERR_UNSUPPORTED, "tls-size=: %s", why);
}

/* What waits are made of (record_opts.waits): beside what else is recorded. Where stacks end is half of what they say,
 * so they have call chains. */
static int add_wait_events(struct recorder *r)
{
	enum callgraph how = r->o->attr.callgraph;
	bool copies = how == CALLGRAPH_DWARF || how == CALLGRAPH_UNWIND;
	static const char *const texts[][2] = {
		{ "sched:sched_switch/period=1,call-graph=fp/", "sched:sched_switch/period=1/" },
		{ "sched:sched_waking/period=1,call-graph=fp/", "sched:sched_waking/period=1/" },
	};
	int err = 0;

	for (u32 i = 0; i < ARRAY_LEN(texts) && !err; i++)
		err = event_specs_parse(r->specs, texts[i][copies], NULL, r->notify);
	return err;
}

static int open_target(struct recorder *r)
{
	const struct target_opts *t = &r->o->target;
	int err = target_resolve(&r->target, t, r->has_workload ? r->workload.pid : -1, r->notify);
	struct attr_opts attr;
	bool by_default;

	if (err)
		return err;
	r->target_is_workload = r->has_workload && !r->target.system_wide && !r->target.tasks_named;
	err = check_tls_user(r);
	if (!err)
		err = recorder_plan_windows(r);
	if (!err)
		err = recorder_begin_activities(r);
	attr = r->o->attr;
	attr.id |= !strcmp(r->path, "-");
	by_default = !r->specs->v.n;
	attr.windows = r->window_how;
	attr.by_command = r->o->control != NULL;
	if (!err && by_default)
		err = default_event(r);
	if (!err && r->o->waits)
		err = add_wait_events(r);
	if (!err)
		err = event_set_configure(&r->set, r->specs, &attr, &r->target, r->has_workload, r->notify);
	if (!err)
		err = event_set_open(&r->set, &r->target, &r->o->output.rings, r->notify);
	if (!err && by_default) {
		/* Nobody named it, so its name says what it came to. */
		free(r->set.events.v[0].name);
		r->set.events.v[0].name = attr_name(&r->set.events.v[0].attr);
	}
	return err;
}

/* The events as a reader of the file will know them (recorded), or as the kernel writes them. */
static int describe_events(struct recorder *r, struct evlist *list, bool recorded)
{
	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];
		struct attr a = recorded ? event_recorded_attr(event) : event->attr;
		u32 at = evlist_add(list, &a, event->name, r->notify);

		list->events.v[at].leader = event->leader;
		if (event->leader != e)
			list->events.v[event->leader].group_members++;
		for (size_t i = 0; i < event->on.n; i++)
			evlist_add_id(list, at, event->on.v[i].id);
	}
	return evlist_seal(list, r->notify, r->path);
}

static void set_priority(const struct recorder *r)
{
	struct sched_param p = { .sched_priority = (int)r->o->output.rt_priority };

	/* It works little, but on a busy machine its share of a CPU is less than that, and rings run over for good.
	 * The command was forked before. Who may not do it goes on without, and a nice value that somebody chose
	 * stays. */
	if (r->unwinds && !getpriority(PRIO_PROCESS, 0))
		(void)setpriority(PRIO_PROCESS, 0, UNWINDING_NICE);
	if (p.sched_priority && sched_setscheduler(0, SCHED_FIFO, &p))
		notify_warn(r->notify, "cannot run with real-time priority %d: %s", p.sched_priority, strerror(errno));
}

static void read_clocks(struct recorder *r)
{
	struct timespec wall, clock;

	if (!r->o->attr.use_clockid || r->sim)
		return;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(r->o->attr.clockid, &clock);
	r->clock_wall_ns = (u64)wall.tv_sec * 1000000000 + (u64)wall.tv_nsec;
	r->clock_ns = (u64)clock.tv_sec * 1000000000 + (u64)clock.tv_nsec;
}

/* Enables what does not wait for the exec, and lets the command go. */
static int start(struct recorder *r)
{
	struct window_pairs pairs = { 0 };
	bool at_once = !r->o->attr.delay_ms || r->sim, own;
	int err;

	r->enable_at_ms = clock_ms() + (u64)MAX(r->o->attr.delay_ms, 0);
	r->delayed = !at_once && r->o->attr.delay_ms > 0;
	r->off = r->o->attr.delay_ms < 0;
	/* It has no exec to wait for. */
	if (!at_once && !r->target_is_workload)
		event_set_follow(&r->set);
	own = at_once && r->target_is_workload && r->window_how > WINDOW_SIM;
	if (at_once && !r->target_is_workload)
		recorder_enable(r);
	if (!r->has_workload)
		return 0;
	if (own && r->window_how == WINDOW_TWIN)
		window_run_pairs(&r->windows, &pairs);
	err = workload_start(&r->workload, &pairs, r->o->target.command[0], r->notify);
	if (!err && own)
		window_run_start(&r->windows, true, r->workload.pid);
	return err;
}

/* After a signal, the command is told to end as well; another signal ends the waiting. */
static void await_workload(struct recorder *r)
{
	struct signalfd_siginfo info;
	struct timespec pause = { .tv_nsec = 10000000 };
	/* A SIGINT is Ctrl-C mostly, which reached it, too, and its handler takes the time that simulating takes. */
	u64 told_at = clock_ms() + (r->sim && r->result->signal == SIGINT ? SIM_GRACE_MS : 0);
	bool told = false, refused = false;

	/* One that was never let go ends by itself. */
	if (r->workload.go_fd >= 0)
		return;
	while (!workload_ended(&r->workload, false)) {
		if (!told && (r->hurry || clock_ms() >= told_at)) {
			refused = kill(r->workload.pid, SIGTERM) && errno == EPERM;
			told = true;
		}
		if (refused)
			notify_warn(r->notify,
				    "process %d goes on: it has changed its user, so it may not be told to end",
				    r->workload.pid);
		if (r->hurry || refused)
			return;
		if (r->sim)
			recorder_sim_discard(r);
		while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
			r->hurry |= info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR2;
		nanosleep(&pause, NULL);
	}
}

static int finish(struct recorder *r)
{
	int err;

	if (!r->sim)
		event_set_enable(&r->set, false);
	/* The next file of --switch-output could not be made. */
	if (r->writer.fd < 0 && !r->writer.sink)
		return ERR_IO;
	r->snapshot_due |= r->set.aux_overwritten && r->o->output.rings.snapshot_at_end;
	err = r->writer.err ? r->writer.err : recorder_drain(r, true);
	/* A full disk is no reason to keep the last file from who waits for it. */
	if (r->o->output.switch_on != SWITCH_NEVER && (!err || r->writer.err))
		return recorder_switch_file(r, true);
	return recorder_end_file(r);
}

static int record(struct recorder *r)
{
	int err = recorder_watch(r);

	if (!err)
		err = recorder_begin_file(r);
	if (err)
		return err;
	set_priority(r);
	read_clocks(r);
	err = start(r);
	if (err) {
		writer_abandon(&r->writer);
		return err;
	}
	err = recorder_loop(r);
	if (finish(r))
		err = ERR_IO;
	if (r->window_how > WINDOW_SIM)
		window_run_summary(&r->windows, &r->result->windows);
	return err;
}

void recorder_free(struct recorder *r)
{
	evlist_free(&r->events);
	evlist_free(&r->kernel_events);
	flow_free(&r->flow);
	control_close(&r->control);
	target_free(&r->target);
	for (size_t i = 0; i < r->dated.n; i++)
		free(r->dated.v[i]);
	vec_free(&r->dated);
	vec_free(&r->told_cpus);
	map_free(&r->fd_tasks);
	vec_free(&r->aux_index);
	vec_free(&r->environment);
	free(r->variable);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
}

static void close_all(struct recorder *r, const sigset_t *before)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	bool ran = r->has_workload && r->workload.go_fd < 0;

	writer_abandon(&r->writer);
	window_run_let_go(&r->windows);
	await_workload(r);
	workload_close(&r->workload);
	if (ran && r->workload.reaped) {
		r->result->has_status = true;
		r->result->status = workload_exit_status(&r->workload);
	} else if (ran && r->result->interrupted) {
		/* It goes on, and its end is not waited for. */
		r->result->has_status = true;
		r->result->status = 128 + r->result->signal;
	}
	recorder_sim_close(r);
	activities_end(r->activities);
	journals_end(r->journals);
	event_set_free(&r->set);
	window_run_end(&r->windows);
	recorder_free(r);
	/* One that came after the last look at signals. */
	sigaction(SIGUSR2, &ignore, NULL);
	sigprocmask(SIG_SETMASK, before, NULL);
}

/*
 * What is done with copied stacks, and what they cost, is said while it can still be changed. Who knows perf expects
 * call chains in the recording, and perhaps passes it on. Once for all events; those that the recorder unwinds keep no
 * copy.
 */
static void tell_of_copies(const struct recorder *r)
{
	u32 most = 0;

	for (size_t i = 0; i < r->events.events.n; i++) {
		const struct attr *a = &r->events.events.v[i].attr;

		if (a->sample_type & PERF_SAMPLE_STACK_USER)
			most = MAX(most, a->sample_stack_user);
	}
	if (most && !r->o->attr.no_samples)
		notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET,
			  "stacks are copied into the samples (up to %u bytes each), and are unwound when report, "
			  "script, export or diff read them: the recording is large, and holds what was on the stacks "
			  "(%s)",
			  most,
			  r->sim ? "-g is smaller, and exact on the virtual PMU" :
				   "--call-graph unwind is smaller: it keeps call chains only");
}

/* The events as the file has them and, if samples are changed on the way, as the kernel has them. */
static int describe_all(struct recorder *r)
{
	int err = describe_events(r, &r->events, true);

	r->unwinds = recorder_unwinds(r);
	if (!err && r->unwinds)
		err = describe_events(r, &r->kernel_events, false);
	if (!err && r->unwinds)
		recorder_unwind_begin(r);
	if (!err)
		tell_of_copies(r);
	return err;
}

/* Never standard output without a word: in "record -- make | tee log" that belongs to the program. */
static const char *output_path(const struct output_opts *o)
{
	return o->path ? o->path : "perf.data";
}

/* The command, which waits until it is let go, and what it is told by its environment. */
static int prepare_command(struct recorder *r, const sigset_t *before)
{
	struct workload_command command = { r->o->target.command, environ, .mask = before };
	int err = r->o->sim.on ? recorder_sim_open(r) : recorder_prepare_activities(r);

	if (!err && r->sim) {
		command.argv = r->sim->argv.v;
		command.env = r->sim->env.v;
	}
	if (r->environment.n)
		command.env = r->environment.v;
	command.silent = r->tell && r->tell->sink;
	command.stdout_taken = !strcmp(r->path, "-") && !command.silent;
	return err || !r->has_workload ? err : workload_prepare(&r->workload, &command, r->notify);
}

int recorder_run(const struct record_opts *o, struct event_specs *specs, const struct recorder_events *tell,
		 bool dry_run, struct record_result *result, const struct notify *to)
{
	struct recorder r = { .o = o,
			      .notify = to,
			      .tell = tell,
			      .result = result,
			      .specs = specs,
			      .signal_fd = -1,
			      .epoll_fd = -1,
			      .has_workload = o->target.command != NULL };
	sigset_t before;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int err;

	*result = (struct record_result){ 0 };
	r.workload = (struct workload){ .pid = -1, .go_fd = -1, .result_fd = -1 };
	r.writer.fd = r.windows.timer = -1;
	/* A sink takes what standard output would. */
	r.path = tell && tell->sink ? "-" : output_path(&o->output);
	control_init(&r.control);
	sigemptyset(&before);
	/* First, while no descriptor of ours can be taken for one that was meant. The virtual PMU refuses it, whatever
	 * it is. */
	err = o->control && !o->sim.on ? control_open(&r.control, o->control, to) : 0;
	if (!err)
		err = catch_signals(&r, &before);
	if (!err)
		err = prepare_command(&r, &before);
	/* Both come back as errors of write, where they are handled. */
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	if (!err)
		err = r.sim ? recorder_sim_events(&r) : open_target(&r);
	if (!err)
		err = describe_all(&r);
	if (!err)
		flow_init(&r.flow, &r.events, o->output.build_ids == BUILDID_HITS);
	if (!err && r.activities)
		err = activities_attach(r.activities, &r.set);
	if (!err && r.window_how > WINDOW_SIM)
		err = window_run_begin(&r.windows, r.window_how, &r.set, &r.events, r.window_interval_ns, to);
	r.flow.no_files = o->output.build_ids == BUILDID_NONE;
	r.flow.want_open = tell && tell->met && strcmp(r.path, "-") != 0;
	r.flow.own_pids = r.sim && !o->sim.v.real_ids;
	if (!err && !dry_run)
		err = record(&r);
	close_all(&r, &before);
	return err;
}
