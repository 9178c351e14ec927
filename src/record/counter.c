/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's run is the same with both PMUs: it waits before its exec until somebody counts, and ends as it does.
 * What differs is where counts come from: descriptors that the kernel adds the children's counts to, or the totals
 * that each thread under the virtual PMU leaves when it ends.
 */
#include "record/counter.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "open/retry.h"
#include "record/workload.h"
#include "sim/sim.h"

#define DRAIN_NS 20000000
#define DRAIN_SOON_NS 2000000

struct run {
	const struct counter_opts *o;
	struct counter_result *r;
	const struct event_specs *specs;
	const struct notify *notify;
	struct sim *sim;    /* NULL: this machine's PMU */
	VEC(int) fds;	    /* per event, or -1 */
	struct map threads; /* pid and tid: index in r->threads */
	struct workload workload;
	sigset_t waited, before;
	int signal; /* that ended it */
};

/* perf stat's, but for what the virtual PMU has in its place. */
static const char machine_events[] = "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,"
				     "branches,branch-misses,stalled-cycles-frontend,stalled-cycles-backend";
static const char virtual_events[] =
	"task-clock:u,cycles:u,instructions:u,branches:u,branch-misses:u,stalled-cycles-frontend:u,"
	"stalled-cycles-backend:u,L1-dcache-loads:u,L1-dcache-load-misses:u,L1-icache-load-misses:u,"
	"cache-references:u,cache-misses:u,dTLB-loads:u,dTLB-load-misses:u";

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static double now(void)
{
	return (double)clock_ns() * 1e-9;
}

/* --- this machine's PMU --- */

static int open_event(struct run *c, size_t i)
{
	const struct event_spec *s = &c->specs->v.v[i];
	struct counted *e = &c->r->events.v[i];
	struct attr *a = &e->attr;
	int group = s->leader == i ? -1 : c->fds.v[s->leader], fd;

	a->flags |= ATTR_DISABLED | ATTR_ENABLE_ON_EXEC;
	if (!c->o->no_inherit && !(s->has_inherit && !s->inherit))
		a->flags |= ATTR_INHERIT;
	if (group >= 0) /* goes with its leader */
		a->flags &= ~(ATTR_DISABLED | ATTR_ENABLE_ON_EXEC);
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->size = attr_least_size(a);
	fd = perf_open(a, c->workload.pid, -1, group, 0);
	/* PMUs that cannot tell guests from the host. */
	if (fd < 0 && errno == EINVAL && a->flags & ATTR_EXCLUDE_GUEST && !s->exclude_gh) {
		a->flags &= ~(u64)ATTR_EXCLUDE_GUEST;
		fd = perf_open(a, c->workload.pid, -1, group, 0);
	}
	if (fd < 0 && (errno == EACCES || errno == EPERM) && !(a->flags & ATTR_EXCLUDE_KERNEL)) {
		a->flags |= ATTR_EXCLUDE_KERNEL;
		fd = perf_open(a, c->workload.pid, -1, group, 0);
		if (fd >= 0) {
			char *name = mem_printf("%s:u", e->name);

			free(e->name);
			e->name = name;
		}
	}
	return fd;
}

static void open_events(struct run *c)
{
	for (size_t i = 0; i < c->r->events.n; i++) {
		int fd = open_event(c, i);

		vec_push(&c->fds, fd);
		c->r->events.v[i].state = fd < 0 ? COUNT_UNSUPPORTED : COUNT_OK;
	}
}

static void read_events(struct run *c)
{
	for (size_t i = 0; i < c->fds.n; i++) {
		struct counted *e = &c->r->events.v[i];
		u64 words[3] = { 0 };

		if (c->fds.v[i] < 0)
			continue;
		if (read(c->fds.v[i], words, sizeof(words)) != sizeof(words))
			words[2] = 0;
		close(c->fds.v[i]);
		e->enabled_ns = words[1];
		e->running_ns = words[2];
		if (!words[2])
			e->state = COUNT_NONE;
		else if (words[2] < words[1])
			words[0] = (u64)((double)words[0] * ((double)words[1] / (double)words[2]) + 0.5);
		vec_push(&e->values, words[0]);
	}
	c->fds.n = 0;
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
			    "the virtual PMU has no event '%s'%s (reticle list sim names those it has)", e->name,
			    e->attr.flags & ATTR_EXCLUDE_USER ? ": it sees user code only" : "");
}

static int open_simulation(struct run *c)
{
	struct sim_opts opts = c->o->sim;
	int err;

	opts.v.totals_only = true;
	opts.v.cpus = 0;
	c->sim = mem_zalloc(sizeof(*c->sim));
	err = sim_open(c->sim, &opts, c->o->command, c->notify);
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

		if (e->state == COUNT_OK)
			vec_push(&e->values, c->sim->counts[vpmu_count_of(&e->attr)]);
	}
}

/* --- one run --- */

/* The terminal's signals reach the command as well; others are passed on. A second one ends the waiting. */
static void on_signal(struct run *c, const siginfo_t *info, bool *stop)
{
	*stop = c->signal != 0;
	c->signal = info->si_signo;
	if (info->si_code != SI_KERNEL)
		kill(c->workload.pid, info->si_signo);
}

static void wait_for_end(struct run *c)
{
	bool stop = false;
	siginfo_t info;
	int sig;

	while (!stop && !workload_ended(&c->workload, false)) {
		struct timespec pause = { .tv_nsec = c->sim && c->sim->short_of_room ? DRAIN_SOON_NS : DRAIN_NS };

		sig = c->sim ? sigtimedwait(&c->waited, &info, &pause) : sigwaitinfo(&c->waited, &info);
		drain(c, false);
		if (sig > 0 && sig != SIGCHLD)
			on_signal(c, &info, &stop);
	}
}

static void take_times(struct run *c, double started, const struct rusage *before)
{
	struct rusage after;
	struct counter_result *r = c->r;

	vec_push(&r->seconds, now() - started);
	getrusage(RUSAGE_CHILDREN, &after);
	r->runs++;
	r->user += (seconds_of(&after.ru_utime) - seconds_of(&before->ru_utime) - r->user) / r->runs;
	r->system += (seconds_of(&after.ru_stime) - seconds_of(&before->ru_stime) - r->system) / r->runs;
}

static int start(struct run *c)
{
	struct workload_command command = { c->o->command, environ, .mask = &c->before };
	int err = c->o->sim.on ? open_simulation(c) : 0;

	if (err)
		return err;
	if (c->sim) {
		command.argv = c->sim->argv.v;
		command.env = c->sim->env.v;
	}
	err = workload_prepare(&c->workload, &command, c->notify);
	if (!err && !c->sim)
		open_events(c);
	return err ? err : workload_start(&c->workload, NULL, c->o->command[0], c->notify);
}

static int run_once(struct run *c)
{
	struct rusage before;
	double started;
	int err;

	c->workload = (struct workload){ .pid = -1, .go_fd = -1, .result_fd = -1 };
	getrusage(RUSAGE_CHILDREN, &before);
	started = now();
	err = start(c);
	if (!err) {
		wait_for_end(c);
		take_times(c, started, &before);
		if (c->sim)
			read_simulation(c);
		else
			read_events(c);
	}
	if (c->workload.reaped) {
		c->r->has_status = true;
		c->r->status = workload_exit_status(&c->workload);
	}
	workload_close(&c->workload);
	if (c->sim)
		sim_close(c->sim);
	free(c->sim);
	c->sim = NULL;
	for (size_t i = 0; i < c->fds.n; i++)
		if (c->fds.v[i] >= 0)
			close(c->fds.v[i]);
	c->fds.n = 0;
	return err || !c->signal ? err : ERR_INTERRUPTED;
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

int counter_run(const struct counter_opts *o, struct event_specs *specs, struct counter_result *r,
		const struct notify *to)
{
	struct run c = { .o = o, .r = r, .specs = specs, .notify = to };
	int err = 0;

	*r = (struct counter_result){ 0 };
	if (!specs->v.n)
		err = event_specs_parse(specs, o->sim.on ? virtual_events : machine_events,
					&(struct event_env){ .simulated = o->sim.on }, to);
	if (err)
		return err;
	take_specs(&c);
	block_signals(&c);
	for (u32 i = 0; i < MAX(o->runs, 1u) && !err; i++)
		err = run_once(&c);
	sigprocmask(SIG_SETMASK, &c.before, NULL);
	vec_free(&c.fds);
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
		vec_free(&r->events.v[i].values);
	}
	vec_free(&r->events);
	vec_free(&r->threads);
	vec_free(&r->seconds);
}
