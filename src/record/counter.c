/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running the command is the same with both PMUs: it waits before its exec until counting begins, and ends by itself.
 * Only the source of the counts differs: descriptors, to which the kernel adds the counts of children, or the totals
 * that each thread under the virtual PMU writes when it ends.
 */
#include "record/counter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "record/counter_impl.h"
#include "record/counter_sum.h"
#include "record/workload.h"
#include "sim/sim.h"
#include "sys/smallfile.h"

#define DRAIN_NS 20000000
#define DRAIN_SOON_NS 2000000
#define LOOK_NS 100000000 /* how often tasks that were named are looked after */
#define NS_PER_MS 1000000ull

struct run {
	const struct counter_opts *o;
	struct counter_result *r;
	const struct event_specs *specs;
	const struct notify *notify;
	struct sim *sim;    /* NULL: this machine's PMU */
	struct map threads; /* pid and tid: index in r->threads */
	struct target target;
	struct workload workload;
	sigset_t waited, before;
	int signal;				     /* that ended it */
	u64 started_ns, interval_ends, timeout_ends; /* 0: never */
	u64 interval_began;
	u32 intervals;
	bool over; /* nobody waits for the command any more */
};

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* --- the virtual PMU --- */

static void keep_thread(void *ctx, u32 pid, u32 tid, const u64 counts[NR_VPMU_COUNTS])
{
	struct run *c = ctx;
	struct counted_thread t = { .pid = pid, .tid = tid };
	u32 *known = map_at(&c->threads, (u64)pid << 32 | tid, (u32)c->r->threads.n);

	/* It began another program (exec), and goes on with it. */
	if (*known < c->r->threads.n) {
		for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
			c->r->threads.v[*known].counts[i] += counts[i];
		return;
	}
	memcpy(t.counts, counts, sizeof(t.counts));
	vec_push(&c->r->threads, t);
}

static void drain(struct run *c, bool last)
{
	struct sim_sink sink = { .totals = keep_thread, .ctx = c };

	if (c->sim)
		sim_drain(c->sim, &sink, last);
}

static int no_such_event(const struct run *c, const struct counted *e)
{
	return notify_error(c->notify, ERR_USAGE,
			    "the virtual PMU has no event '%s'%s ('reticle list sim' shows those that it has)",
			    e->name, e->attr.flags & ATTR_EXCLUDE_USER ? ": it sees user code only" : "");
}

static int open_simulation(struct run *c)
{
	struct sim_opts opts = c->o->sim;
	int err;

	opts.v.totals_only = true;
	opts.v.cpus = 0;
	c->sim = mem_zalloc(sizeof(*c->sim));
	err = sim_open(c->sim, &opts, c->o->target.command, c->notify);
	if (err && c->sim->program.status) {
		c->r->has_status = true;
		c->r->status = c->sim->program.status;
	}
	for (size_t i = 0; i < c->r->events.n && !err; i++) {
		struct counted *e = &c->r->events.v[i];
		int count = vpmu_count_of(&e->attr);

		if (count < 0)
			err = no_such_event(c, e);
		else if (!vpmu_is_modelled((u32)count, opts.v.models))
			e->state = COUNT_UNMODELLED;
	}
	c->r->simulated = true;
	c->r->core = sim_core(c->sim);
	c->r->models = opts.v.models;
	c->r->threads.n = 0;
	map_free(&c->threads);
	c->threads = (struct map){ 0 };
	return err;
}

static void read_simulation(struct run *c)
{
	drain(c, true);
	memcpy(c->r->totals, c->sim->counts, sizeof(c->r->totals));
	c->r->unfinished = c->sim->unfinished;
	c->r->escaped = atomic_load(&c->sim->control->escaped);
	c->r->never_simulated = !atomic_load(&c->sim->control->started);
	for (size_t i = 0; i < c->r->events.n; i++) {
		struct counted *e = &c->r->events.v[i];
		u32 count = (u32)vpmu_count_of(&e->attr);

		if (e->state != COUNT_OK)
			continue;
		vec_push(&e->values, c->sim->counts[count]);
		e->cells.n = 0;
		for (size_t t = 0; t < c->r->threads.n; t++)
			vec_push(&e->cells, (struct count_cell){ .cpu = -1,
								 .pid = (s32)c->r->threads.v[t].pid,
								 .tid = (s32)c->r->threads.v[t].tid,
								 .fd = -1,
								 .now.value = c->r->threads.v[t].counts[count] });
	}
}

/* --- one run --- */

/* The terminal's signals reach the command as well; others are passed on. A second one ends the waiting, and so does
 * the first where no command runs that could end by it. */
static void on_signal(struct run *c, const siginfo_t *info)
{
	c->over = c->signal != 0 || c->workload.pid <= 0;
	c->signal = info->si_signo;
	if (info->si_code != SI_KERNEL && c->workload.pid > 0)
		kill(c->workload.pid, info->si_signo);
}

/* A command that is not waited for any more is ended. */
static void end_command(struct run *c)
{
	c->over = true;
	if (c->workload.pid > 0 && !c->workload.reaped)
		kill(c->workload.pid, SIGTERM);
}

static void end_on_time(struct run *c)
{
	c->r->timed_out = true;
	end_command(c);
}

/* Also one that has ended and only waits for its parent has. */
static bool has_ended(s32 tid)
{
	const char *behind_name = NULL;
	struct bytes stat = { 0 };
	char path[64];
	bool ended;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (!smallfile_read(AT_FDCWD, path, 4096, &stat))
		behind_name = strrchr((const char *)stat.p, ')');
	ended = !behind_name || !strncmp(behind_name, ") Z", 3) || !strncmp(behind_name, ") X", 3);
	bytes_free(&stat);
	return ended;
}

static bool tasks_live(const struct run *c)
{
	for (size_t i = 0; i < c->target.tasks.n; i++)
		if (c->target.tasks.v[i].tid < 0 || !has_ended(c->target.tasks.v[i].tid))
			return true;
	return false;
}

static void tell_interval(struct run *c, u64 now)
{
	c->r->since_start = (double)(now - c->started_ns) * 1e-9;
	c->r->interval = (double)(now - c->interval_began) * 1e-9;
	c->interval_began = now;
	c->o->on_interval(c->o->ctx, c->r);
}

/* Whole intervals from the start, however late this one is seen. */
static void end_interval(struct run *c, u64 now)
{
	u64 length = c->o->interval_ms * NS_PER_MS;

	counter_read(c->r);
	tell_interval(c, now);
	counter_rebase(c->r);
	while (c->interval_ends <= now)
		c->interval_ends += length;
	if (++c->intervals < c->o->interval_count || !c->o->interval_count)
		return;
	/* A command that ended by itself meanwhile has a status of its own. */
	if (c->workload.pid > 0 && workload_ended(&c->workload, false))
		end_command(c);
	else
		end_on_time(c);
}

static void look_at_clock(struct run *c)
{
	u64 now = clock_ns();

	if (c->interval_ends && now >= c->interval_ends)
		end_interval(c, now);
	if (c->timeout_ends && now >= c->timeout_ends)
		end_on_time(c);
}

/* How long nothing has to be looked at unless a signal comes. */
static struct timespec pause_of(const struct run *c)
{
	u64 now = clock_ns(), until = now + 3600 * 1000 * NS_PER_MS;

	if (c->sim)
		until = now + (c->sim->short_of_room ? DRAIN_SOON_NS : DRAIN_NS);
	else if (c->workload.pid <= 0)
		until = now + LOOK_NS;
	if (c->interval_ends)
		until = MIN(until, c->interval_ends);
	if (c->timeout_ends)
		until = MIN(until, c->timeout_ends);
	until -= MIN(until, now);
	return (struct timespec){ .tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000) };
}

static void wait_for_end(struct run *c)
{
	bool command = c->workload.pid > 0;
	siginfo_t info;

	while (!c->over && !(command ? workload_ended(&c->workload, false) : !tasks_live(c))) {
		struct timespec pause = pause_of(c);
		int sig = sigtimedwait(&c->waited, &info, &pause);

		drain(c, false);
		if (sig > 0 && sig != SIGCHLD)
			on_signal(c, &info);
		look_at_clock(c);
	}
}

/* -D: a command that has ended before is not counted. */
static void wait_for_begin(struct run *c)
{
	u64 begin = c->started_ns + c->o->delay_ms * NS_PER_MS, now;
	siginfo_t info;

	while (!c->over && (now = clock_ns()) < begin &&
	       !(c->workload.pid > 0 && workload_ended(&c->workload, false))) {
		struct timespec pause = { (time_t)((begin - now) / 1000000000), (long)((begin - now) % 1000000000) };
		int sig = sigtimedwait(&c->waited, &info, &pause);

		if (sig > 0 && sig != SIGCHLD)
			on_signal(c, &info);
	}
	counter_enable(c->r);
}

static void take_times(struct run *c, const struct rusage *before)
{
	struct rusage after;
	struct counter_result *r = c->r;

	c->r->since_start = (double)(clock_ns() - c->started_ns) * 1e-9;
	vec_push(&r->seconds, r->since_start);
	getrusage(RUSAGE_CHILDREN, &after);
	r->runs++;
	r->user += (seconds_of(&after.ru_utime) - seconds_of(&before->ru_utime) - r->user) / r->runs;
	r->system += (seconds_of(&after.ru_stime) - seconds_of(&before->ru_stime) - r->system) / r->runs;
}

/* What is to be counted is ready; nothing has begun yet. */
static int prepare(struct run *c)
{
	struct workload_command command = { c->o->target.command, environ, .mask = &c->before };
	int err = c->o->sim.on ? open_simulation(c) : 0;

	if (err)
		return err;
	if (c->sim) {
		command.argv = c->sim->argv.v;
		command.env = c->sim->env.v;
	}
	if (command.argv)
		err = workload_prepare(&c->workload, &command, c->notify);
	if (err || c->sim)
		return err;
	err = target_resolve(&c->target, &c->o->target, c->workload.pid, c->notify);
	return err;
}

static bool nothing_opened(const struct counter_result *r)
{
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].cells.n)
			return false;
	return true;
}

static int start(struct run *c)
{
	bool own, command = c->o->target.command;
	int err = prepare(c);

	if (err)
		return err;
	own = command && !c->target.system_wide && !c->target.tasks_named;
	if (!c->sim)
		counter_open(c->o, c->specs, &c->target, own && !c->o->delay_ms, c->r);
	if (c->r->crowded)
		return notify_error(c->notify, ERR_LIMIT,
				    "there are more counters than files may be open (ulimit -n, -H): name fewer "
				    "events, CPUs or threads");
	if (c->r->refused && nothing_opened(c->r))
		return notify_error(
			c->notify, ERR_PERM,
			"this user may not count any of these events%s (reticle check says what would allow them)",
			c->target.system_wide ? " on whole CPUs" : "");
	c->started_ns = clock_ns();
	if (!c->sim && !own && !c->o->delay_ms)
		counter_enable(c->r);
	if (command)
		err = workload_start(&c->workload, NULL, c->o->target.command[0], c->notify);
	if (!err && c->o->delay_ms) {
		wait_for_begin(c);
		c->started_ns = clock_ns();
	}
	c->interval_began = c->started_ns;
	c->interval_ends = c->o->interval_ms ? c->started_ns + c->o->interval_ms * NS_PER_MS : 0;
	c->timeout_ends = c->o->timeout_ms ? c->started_ns + c->o->timeout_ms * NS_PER_MS : 0;
	return err;
}

/* The end of a command that was told to end; two seconds are enough for that. */
static void reap(struct run *c)
{
	struct timespec pause = { .tv_nsec = DRAIN_NS };

	for (u32 i = 0; i < 100 && c->workload.pid > 0 && !workload_ended(&c->workload, false); i++)
		nanosleep(&pause, NULL);
}

static void finish(struct run *c, const struct rusage *before)
{
	if (c->over)
		reap(c);
	take_times(c, before);
	if (c->sim) {
		read_simulation(c);
		return;
	}
	counter_read(c->r);
	if (c->o->interval_ms && !(c->o->interval_count && c->intervals >= c->o->interval_count))
		tell_interval(c, clock_ns());
	counter_finish(c->r);
}

static int run_once(struct run *c)
{
	struct rusage before;
	int err;

	c->workload = (struct workload){ .pid = -1, .go_fd = -1, .result_fd = -1 };
	c->target = (struct target){ 0 };
	c->intervals = 0;
	getrusage(RUSAGE_CHILDREN, &before);
	err = start(c);
	if (!err) {
		wait_for_end(c);
		finish(c, &before);
	}
	if (c->workload.reaped || (c->signal && c->workload.pid <= 0)) {
		c->r->has_status = true;
		c->r->status = c->workload.reaped ? workload_exit_status(&c->workload) : 128 + c->signal;
	}
	workload_close(&c->workload);
	if (c->sim)
		sim_close(c->sim);
	free(c->sim);
	c->sim = NULL;
	counter_close(c->r);
	target_free(&c->target);
	return err || !c->signal ? err : ERR_INTERRUPTED;
}

/* A signal that came when the run was over already: there is no other one. */
static bool was_told_to_end(struct run *c)
{
	const struct timespec none = { 0 };
	int sig;

	while ((sig = sigtimedwait(&c->waited, NULL, &none)) == SIGCHLD)
		;
	if (sig <= 0)
		return false;
	c->signal = sig;
	c->r->has_status = true;
	c->r->status = 128 + sig;
	return true;
}

static void take_specs(struct run *c)
{
	for (size_t i = 0; i < c->specs->v.n; i++) {
		const struct event_spec *s = &c->specs->v.v[i];
		struct counted e = {
			.name = mem_strdup(s->name), .attr = s->attr, .unit = s->unit, .scale = s->scale
		};

		e.attr.sample_period = 0;
		e.attr.flags &= ~(u64)ATTR_FREQ;
		vec_push(&c->r->events, e);
	}
}

static void block_signals(struct run *c)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL }, hup;

	sigaction(SIGCHLD, &by_default, NULL);
	sigemptyset(&c->waited);
	sigaddset(&c->waited, SIGINT);
	sigaddset(&c->waited, SIGTERM);
	/* Under nohup it stays ignored. */
	if (sigaction(SIGHUP, NULL, &hup) || hup.sa_handler != SIG_IGN)
		sigaddset(&c->waited, SIGHUP);
	sigaddset(&c->waited, SIGCHLD);
	sigprocmask(SIG_BLOCK, &c->waited, &c->before);
}

/* With forever each run is told of by itself. */
static void forget_run(struct counter_result *r)
{
	for (size_t i = 0; i < r->events.n; i++) {
		r->events.v[i].values.n = 0;
		r->events.v[i].enabled_ns = r->events.v[i].running_ns = 0;
	}
	r->seconds.n = 0;
	r->runs = 0;
	r->user = r->system = 0;
}

int counter_run(const struct counter_opts *o, struct event_specs *specs, struct counter_result *r,
		const struct notify *to)
{
	struct run c = { .o = o, .r = r, .specs = specs, .notify = to };
	int err = 0;

	*r = (struct counter_result){ 0 };
	take_specs(&c);
	block_signals(&c);
	for (u32 i = 0; (o->forever || i < MAX(o->runs, 1u)) && !err && !r->timed_out; i++) {
		if (o->forever)
			forget_run(r);
		err = run_once(&c);
		if (!err && (o->forever || i + 1 < o->runs) && was_told_to_end(&c))
			err = ERR_INTERRUPTED;
		if ((!err || err == ERR_INTERRUPTED) && o->forever && r->runs)
			o->on_run(o->ctx, r);
	}
	sigprocmask(SIG_SETMASK, &c.before, NULL);
	map_free(&c.threads);
	return err;
}

bool counter_value(const struct counter_result *r, u32 type, u64 config, double *out)
{
	struct attr a = { .type = type, .config = config };
	int count = r->simulated ? vpmu_count_of(&a) : -1;

	if (count >= 0 && vpmu_is_modelled((u32)count, r->models)) {
		*out = (double)r->totals[count];
		return true;
	}
	for (size_t i = 0; i < r->events.n; i++) {
		const struct counted *e = &r->events.v[i];

		if (e->attr.type == type && e->attr.config == config && e->state == COUNT_OK && e->values.n) {
			*out = (double)e->values.v[e->values.n - 1];
			return true;
		}
	}
	return false;
}

void counter_free(struct counter_result *r)
{
	for (size_t i = 0; i < r->events.n; i++) {
		free(r->events.v[i].name);
		free(r->events.v[i].cgroup);
		vec_free(&r->events.v[i].cells);
		vec_free(&r->events.v[i].values);
	}
	vec_free(&r->places);
	vec_free(&r->comms);
	vec_free(&r->events);
	vec_free(&r->threads);
	vec_free(&r->seconds);
}
