/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event that cannot be opened is reported, but the others are still counted. So each event is opened by itself,
 * unlike in a recording (open/open.c), where one refused event changes the settings of all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "open/retry.h"
#include "record/counter_impl.h"
#include "record/counter_sum.h"
#include "sys/smallfile.h"

struct opening {
	const struct counter_opts *o;
	const struct event_specs *specs;
	const struct target *t;
	struct counter_result *r;
	bool on_exec;
};

/* The leader's descriptor at the same place, or -1. */
static int leader_fd(const struct opening *x, size_t event, const struct count_cell *at)
{
	size_t leader = x->specs->v.v[event].leader;
	const struct counted *e = &x->r->events.v[leader];

	for (size_t i = 0; leader != event && i < e->cells.n; i++)
		if (e->cells.v[i].cpu == at->cpu && e->cells.v[i].tid == at->tid)
			return e->cells.v[i].fd;
	return -1;
}

static const struct target_cgroup *cgroup_of(const struct target *t, size_t event)
{
	if (!t->cgroups.n)
		return NULL;
	return t->cgroups.n == 1 ? &t->cgroups.v[0] : event < t->cgroups.n ? &t->cgroups.v[event] : NULL;
}

static int open_once(const struct opening *x, size_t event, struct attr *a, const struct count_cell *at, int group)
{
	const struct target_cgroup *cgroup = cgroup_of(x->t, event);

	a->flags &= ~(u64)(ATTR_DISABLED | ATTR_ENABLE_ON_EXEC);
	if (group < 0) /* others go with their leader */
		a->flags |= ATTR_DISABLED | (x->on_exec ? ATTR_ENABLE_ON_EXEC : 0);
	a->size = attr_least_size(a);
	return perf_open(a, cgroup ? cgroup->fd : at->tid, at->cpu, group, cgroup ? PERF_FLAG_PID_CGROUP : 0);
}

static int try_open(const struct opening *x, size_t event, struct attr *a, const struct count_cell *at)
{
	const struct event_spec *s = &x->specs->v.v[event];
	int group = leader_fd(x, event, at), fd = open_once(x, event, a, at, group);

	/* PMUs that cannot tell guests from the host. */
	if (fd < 0 && errno == EINVAL && a->flags & ATTR_EXCLUDE_GUEST && !s->exclude_gh) {
		a->flags &= ~(u64)ATTR_EXCLUDE_GUEST;
		fd = open_once(x, event, a, at, group);
	}
	/* There are fewer counters than a weak group has members: the others take turns with it. */
	if (fd < 0 && errno == EINVAL && group >= 0 && x->specs->v.v[s->leader].weak)
		fd = open_once(x, event, a, at, -1);
	return fd;
}

static void prepare(const struct opening *x, size_t event)
{
	const struct event_spec *s = &x->specs->v.v[event];
	struct attr *a = &x->r->events.v[event].attr;

	if (!x->o->no_inherit && !(s->has_inherit && !s->inherit))
		a->flags |= ATTR_INHERIT;
	if (x->o->all_user)
		a->flags |= ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV;
	if (x->o->all_kernel)
		a->flags |= ATTR_EXCLUDE_USER;
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

static void rename_user(struct counted *e)
{
	char *name = mem_printf("%s:u", e->name);

	free(e->name);
	e->name = name;
}

static bool for_rights(int failed)
{
	return failed == EACCES || failed == EPERM;
}

/* 0, or errno: refused. Tasks that ended meanwhile are left out. */
static int open_at(const struct opening *x, size_t event, struct count_cell at)
{
	struct counted *e = &x->r->events.v[event];

	at.fd = try_open(x, event, &e->attr, &at);
	if (at.fd < 0)
		return errno == ESRCH ? 0 : errno;
	vec_push(&e->cells, at);
	return 0;
}

static int open_everywhere(const struct opening *x, size_t event, const struct cpulist *only)
{
	int failed = 0;

	for (size_t i = 0; i < x->r->places.n && !failed; i++)
		if (!only->v.n || cpulist_has(only, (u32)x->r->places.v[i].cpu))
			failed = open_at(x, event, x->r->places.v[i]);
	return failed;
}

static void close_cells(struct counted *e)
{
	for (size_t i = 0; i < e->cells.n; i++)
		if (e->cells.v[i].fd >= 0)
			close(e->cells.v[i].fd);
	e->cells.n = 0;
}

/* An event is one thing: where the kernel is refused at one place, it is left out at all of them. */
static int open_without_kernel(const struct opening *x, size_t event, const struct cpulist *only)
{
	struct counted *e = &x->r->events.v[event];
	int failed;

	close_cells(e);
	e->attr.flags |= ATTR_EXCLUDE_KERNEL;
	failed = open_everywhere(x, event, only);
	if (!failed && e->cells.n)
		rename_user(e);
	return failed;
}

static void open_event(const struct opening *x, size_t event)
{
	const struct event_spec *s = &x->specs->v.v[event];
	struct counted *e = &x->r->events.v[event];
	struct cpulist only = { 0 };
	int failed;

	prepare(x, event);
	if (s->cpus && x->t->system_wide)
		cpulist_parse(&only, s->cpus);
	failed = open_everywhere(x, event, &only);
	if (for_rights(failed) && !(e->attr.flags & (ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_USER)))
		failed = open_without_kernel(x, event, &only);
	x->r->refused |= for_rights(failed);
	x->r->crowded |= failed == EMFILE || failed == ENFILE;
	cpulist_free(&only);
	if (failed) /* refused at one place: no others are counted, lead a group, or hold up the command */
		close_cells(e);
	e->state = failed ? COUNT_UNSUPPORTED : COUNT_OK;
	if (cgroup_of(x->t, event) && !e->cgroup)
		e->cgroup = mem_strdup(cgroup_of(x->t, event)->path);
}

static void add_place(struct counter_result *r, s32 cpu, const struct target_task *t)
{
	struct counted_comm comm = { "" };
	char path[64], *name = NULL;

	snprintf(path, sizeof(path), "/proc/%d/comm", t->tid);
	if (t->tid > 0)
		name = smallfile_line(path);
	if (name)
		snprintf(comm.name, sizeof(comm.name), "%s", name);
	free(name);
	vec_push(&r->comms, comm);
	vec_push(&r->places, (struct count_cell){ .cpu = cpu, .pid = t->pid, .tid = t->tid, .fd = -1 });
}

void counter_open(const struct counter_opts *o, const struct event_specs *specs, const struct target *t, bool on_exec,
		  struct counter_result *r)
{
	struct opening x = { o, specs, t, r, on_exec };

	event_set_raise_files();
	r->places.n = r->comms.n = 0;
	for (size_t c = 0; c < t->cpus.n; c++)
		for (size_t k = 0; k < t->tasks.n; k++)
			add_place(r, t->cpus.v[c], &t->tasks.v[k]);
	for (size_t i = 0; i < r->events.n; i++) {
		r->events.v[i].cells.n = 0;
		open_event(&x, i);
	}
}

void counter_enable(const struct counter_result *r)
{
	for (size_t e = 0; e < r->events.n; e++)
		for (size_t i = 0; i < r->events.v[e].cells.n; i++)
			if (r->events.v[e].cells.v[i].fd >= 0)
				ioctl(r->events.v[e].cells.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void counter_rebase(struct counter_result *r)
{
	for (size_t e = 0; e < r->events.n; e++)
		for (size_t i = 0; i < r->events.v[e].cells.n; i++)
			r->events.v[e].cells.v[i].base = r->events.v[e].cells.v[i].now;
}

void counter_read(struct counter_result *r)
{
	for (size_t e = 0; e < r->events.n; e++) {
		for (size_t i = 0; i < r->events.v[e].cells.n; i++) {
			struct count_cell *c = &r->events.v[e].cells.v[i];
			u64 words[3];

			if (c->fd >= 0 && read(c->fd, words, sizeof(words)) == sizeof(words))
				c->now = (struct count_reading){ words[0], words[1], words[2] };
		}
	}
}

void counter_finish(struct counter_result *r)
{
	for (size_t i = 0; i < r->events.n; i++) {
		struct counted *e = &r->events.v[i];
		struct count_sum sum;

		if (e->state == COUNT_UNSUPPORTED || e->state == COUNT_UNMODELLED)
			continue;
		count_add_all(&sum, e, false);
		e->state = sum.counted ? COUNT_OK : COUNT_NONE;
		e->enabled_ns += sum.all.enabled_ns;
		e->running_ns += sum.all.running_ns;
		vec_push(&e->values, sum.value);
	}
	counter_close(r);
}

void counter_close(struct counter_result *r)
{
	for (size_t e = 0; e < r->events.n; e++) {
		for (size_t i = 0; i < r->events.v[e].cells.n; i++) {
			struct count_cell *c = &r->events.v[e].cells.v[i];

			if (c->fd >= 0)
				close(c->fd);
			c->fd = -1;
		}
	}
}
