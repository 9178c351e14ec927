/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens every event on every CPU and task of the target, then maps one ring per CPU (or per thread, if asked for) and
 * redirects the other events of that CPU into it. A ring per CPU is needed because the kernel does not map an
 * inherited event that may run on any CPU: its children would write into one ring from several CPUs at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/map.h"
#include "open/retry.h"
#include "open/set.h"
#include "sys/probe.h"
#include "sys/smallfile.h"

#define RING_BYTES (4u << 20)
#define COPIES_TIMES 8 /* as many where stacks are unwound as they come */
#define COPIES_WAKE_BYTES (1u << 20)
#define TASK_RING_BYTES (256u << 10)
#define AUX_MOST_BYTES (1ull << 30) /* of a snapshot */
#define AUX_BYTES (4u << 20)
#define RINGS_TOTAL (256u << 20)
#define GROUP_READ_MAX (16u << 10) /* the kernel lets no group grow beyond what this holds */
#define AUX_LEAST_PAGES 2u	   /* the driver of Arm SPE fills up to the page that is being read: of one, nothing */
#define AUX_LEAST_BYTES (8u << 10)

/* The CPUs that e is opened on: the target's, unless the PMU lives on some only, or e follows all. */
static int event_cpus(const struct open_event *e, const struct target *t, bool by_task, struct cpulist *out,
		      const struct notify *to)
{
	struct cpulist pmu = { 0 };

	out->v.n = 0;
	if (e->everywhere)
		return cpulist_online(out, to);
	if (by_task) {
		vec_push(&out->v, (u32)-1);
		return 0;
	}
	if (e->spec && e->spec->cpus && (t->system_wide || e->spec->aux))
		cpulist_parse(&pmu, e->spec->cpus);
	for (size_t i = 0; i < t->cpus.n; i++)
		if (!pmu.v.n || t->cpus.v[i] < 0 || cpulist_has(&pmu, (u32)t->cpus.v[i]))
			vec_push(&out->v, (u32)t->cpus.v[i]);
	cpulist_free(&pmu);
	return out->v.n ? 0 : notify_error(to, ERR_USAGE, "%s does not exist on the CPUs that -C names", e->name);
}

static int leader_fd(const struct event_set *set, u32 event, s32 cpu, s32 tid)
{
	const struct open_event *leader = &set->events.v[set->events.v[event].leader];

	size_t same = set->events.v[event].on.n; /* where it is when both run on the same CPUs */

	if (set->events.v[event].leader == event)
		return -1;
	if (same < leader->on.n && leader->on.v[same].cpu == cpu && leader->on.v[same].task.tid == tid)
		return leader->on.v[same].fd;
	for (size_t i = 0; i < leader->on.n; i++)
		if (leader->on.v[i].cpu == cpu && leader->on.v[i].task.tid == tid)
			return leader->on.v[i].fd;
	return -1;
}

static int open_one(const struct event_set *set, u32 event, const struct target *t, s32 cpu, s32 tid)
{
	const struct open_event *e = &set->events.v[event];
	struct attr a = e->native ? event_scheduled_attr(&e->attr, &e->schedule) : e->attr;
	int group = leader_fd(set, event, cpu, tid);

	if (e->cgroup >= 0)
		return perf_open(&a, t->cgroups.v[e->cgroup].fd, cpu, group, PERF_FLAG_PID_CGROUP);
	return perf_open(&a, tid, cpu, group, 0);
}

/* Returns 0 or the errno of the refusal. Tasks that are gone are left out. */
static int open_event(struct event_set *set, u32 event, const struct target *t, const struct cpulist *cpus)
{
	struct open_event *e = &set->events.v[event];
	const struct target_task nobody = { .pid = -1, .tid = -1 };
	size_t tasks = e->activity ? 1 : t->tasks.n;

	vec_reserve(&e->on, cpus->v.n * tasks);
	for (size_t c = 0; c < cpus->v.n; c++) {
		for (size_t k = 0; k < tasks && !(e->once && e->on.n); k++) {
			struct opened o = { .cpu = (s32)cpus->v.v[c], .task = e->activity ? nobody : t->tasks.v[k] };

			o.fd = open_one(set, event, t, o.cpu, o.task.tid);
			if (o.fd >= 0)
				vec_push(&e->on, o);
			else if (errno != ESRCH)
				return errno;
		}
	}
	return 0;
}

static int open_all(struct event_set *set, const struct target *t, const struct notify *to)
{
	struct retry retry = { 0 };
	struct cpulist cpus = { 0 };
	int err = 0, failed;

	for (u32 i = 0; i < set->events.n && !err; i++) {
		err = event_cpus(&set->events.v[i], t, set->by_task, &cpus, to);
		failed = err ? 0 : open_event(set, i, t, &cpus);
		if (!failed)
			continue;
		if (event_retry(set, i, failed, &retry, to)) {
			event_set_close(set);
			i = UINT32_MAX; /* from the start: an attr that is open already may have changed */
		} else {
			err = event_refused(set, i, failed, to);
		}
	}
	cpulist_free(&cpus);
	if (!err)
		event_retry_tell(&retry, to);
	return err;
}

/* What perf maps: as much as every user may lock, 128 pages unless the administrator changed it. */
static u32 modest_pages(void)
{
	u64 kb = 516, page_kb = (u64)sysconf(_SC_PAGESIZE) / 1024, pages = 1;

	smallfile_u64("/proc/sys/kernel/perf_event_mlock_kb", &kb);
	kb = kb > page_kb ? kb - page_kb : page_kb;
	while (pages * 2 * page_kb <= kb)
		pages *= 2;
	return (u32)pages;
}

/*
 * Larger rings absorb longer waits for the disk or for a CPU: on a machine with three busy tasks per CPU, 20 kHz with
 * deep call chains overflowed 128 pages and not 512. So where locked memory is not limited, 4 MB per ring, more for
 * copies of stacks that are unwound as they come, and less where there are very many.
 */
static u32 generous_pages(const struct event_set *set, const struct target *t)
{
	bool by_task = set->by_task;
	u64 bytes = by_task ? TASK_RING_BYTES : RING_BYTES, page = (u64)sysconf(_SC_PAGESIZE);
	size_t rings = by_task ? t->tasks.n + t->cpus.n : t->per_thread ? t->tasks.n : t->cpus.n;
	u64 share = RINGS_TOTAL / MAX(rings, (size_t)1);
	bool copies = false;

	for (size_t i = 0; i < set->events.n; i++)
		copies |= set->events.v[i].unwound;
	bytes *= copies ? COPIES_TIMES : 1;
	while (bytes > share && bytes > page)
		bytes /= 2;
	return MAX((u32)(bytes / page), modest_pages());
}

static int map_ring(struct event_set *set, struct opened *o, bool backward, bool aux)
{
	struct watched_ring w = { .ring = { .cpu = o->cpu, .tid = o->task.tid, .backward = backward } };
	u32 pages = backward ? MIN(set->overwritten_pages, set->ring_pages) : set->ring_pages;
	int failed = ring_map(&w.ring, o->fd, pages);

	if (!failed && aux)
		failed = aux_area_map(&w.aux, &w.ring, set->aux_pages, set->aux_overwritten);
	if (failed) {
		ring_unmap(&w.ring);
		return failed;
	}
	o->ring = (u32)set->rings.n;
	vec_push(&set->rings, w);
	return 0;
}

static bool has_aux(const struct open_event *e)
{
	return e->spec && e->spec->aux;
}

/* A ring of its own for the first event of a place, that ring for the others; but another one for those that are
 * overwritten. Negative errno. */
static int attach(struct event_set *set, struct map *by_place, const struct open_event *e, struct opened *o)
{
	bool backward = e->attr.flags & ATTR_WRITE_BACKWARD;
	u64 place = (o->cpu < 0 ? 1ull << 32 | (u32)o->task.tid : (u64)o->cpu) | (u64)backward << 33;
	u32 known = map_get(by_place, place);
	int failed = 0;

	if (known == ID_NONE) {
		failed = map_ring(set, o, backward, has_aux(e));
		if (!failed)
			map_set(by_place, place, o->ring);
	} else {
		o->ring = known;
		if (ioctl(o->fd, PERF_EVENT_IOC_SET_OUTPUT, set->rings.v[known].ring.fd))
			failed = -errno;
	}
	if (!failed)
		vec_push(&set->rings.v[o->ring].fds, o->fd);
	return failed;
}

static void unmap_all(struct event_set *set)
{
	for (size_t i = 0; i < set->rings.n; i++) {
		aux_area_unmap(&set->rings.v[i].aux);
		ring_unmap(&set->rings.v[i].ring);
		vec_free(&set->rings.v[i].fds);
	}
	vec_free(&set->rings);
}

/* An AUX area is mapped for an event that has one, whose ring it has to be: these go first. */
static int map_all(struct event_set *set, u32 pages, u32 overwritten)
{
	struct map by_place = { 0 };
	int failed = 0;

	set->ring_pages = pages;
	set->overwritten_pages = overwritten;
	for (u32 aux = 2; aux--;)
		for (size_t e = 0; e < set->events.n && !failed; e++)
			for (size_t i = 0; i < set->events.v[e].on.n && has_aux(&set->events.v[e]) == aux && !failed;
			     i++)
				failed = attach(set, &by_place, &set->events.v[e], &set->events.v[e].on.v[i]);
	map_free(&by_place);
	return failed;
}

static u32 least_aux_pages(void)
{
	return MAX(AUX_LEAST_BYTES / (u32)sysconf(_SC_PAGESIZE), AUX_LEAST_PAGES);
}

/* asked: by the user, 0 for the default. Returns the size to begin with; *least: and down to which it may go. */
static u32 aux_pages(const struct event_set *set, u64 asked, u32 *least, const struct notify *to)
{
	*least = set->aux ? MAX((u32)asked, least_aux_pages()) : 0;
	if (set->aux && asked && asked < *least)
		notify_warn(to, "-m: an AUX area has at least %u pages: using that instead of %llu", *least,
			    (unsigned long long)asked);
	return !set->aux || asked ? *least : MAX(AUX_BYTES / (u32)sysconf(_SC_PAGESIZE), *least);
}

/* What snapshots ask of AUX areas: *pages is as many as there are to be, or 0. */
static int check_snapshots(const struct event_set *set, const struct ring_opts *o, u64 *pages, const struct notify *to)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE), least = 1;

	*pages = o->aux_pages;
	if (!o->snapshot)
		return 0;
	if (!set->aux)
		return notify_error(to, ERR_USAGE,
				    "--snapshot: none of these events writes into an AUX area (arm_spe_0 does, where "
				    "a machine has it)");
	if (o->snapshot_bytes > AUX_MOST_BYTES)
		return notify_error(to, ERR_USAGE, "--snapshot: %llu bytes are too many: at most 1G can be kept",
				    (unsigned long long)o->snapshot_bytes);
	while (least * page < o->snapshot_bytes)
		least *= 2;
	if (*pages && *pages * page < o->snapshot_bytes)
		return notify_error(to, ERR_USAGE,
				    "--snapshot: %llu bytes are more than AUX areas hold (-m ,%llu makes them large "
				    "enough)",
				    (unsigned long long)o->snapshot_bytes, (unsigned long long)least);
	if (!*pages && o->snapshot_bytes)
		*pages = MAX(least, (u64)least_aux_pages());
	return 0;
}

static int tell_unmapped(const struct event_set *set, u32 pages, int failed, const struct notify *to)
{
	char areas[64] = "";

	if (set->aux_pages)
		snprintf(areas, sizeof(areas), " and AUX areas of %u", set->aux_pages);
	if (failed != -EPERM)
		return notify_error(to, ERR_IO, "cannot map rings of %u pages%s: %s", pages, areas, strerror(-failed));
	return notify_error(to, ERR_LIMIT,
			    "cannot map rings of %u pages%s: over the limit for locked memory (smaller -m %s, "
			    "ulimit -l, or sysctl kernel.perf_event_mlock_kb)",
			    pages, areas, set->aux_pages ? "PAGES,AUX" : "PAGES");
}

/*
 * The size that the user named, or the largest that the limits allow. Who asks for small rings that are overwritten
 * does not mean those of mappings and tasks, which lose what has no room: they have the usual size then, if they may.
 */
static int map_rings(struct event_set *set, const struct target *t, const struct ring_opts *o, const struct notify *to)
{
	u64 asked = o->pages;
	u32 least = asked ? (u32)asked : 1, modest = modest_pages();
	u32 pages = asked && !set->overwrites ? least : MAX(least, generous_pages(set, t));
	u32 least_aux;
	u64 asked_aux;
	int failed = check_snapshots(set, o, &asked_aux, to);

	if (failed)
		return failed;
	set->aux_overwritten = o->snapshot;
	set->aux_pages = aux_pages(set, asked_aux, &least_aux, to);
	failed = map_all(set, pages, asked ? least : pages);
	while ((failed == -EPERM || failed == -ENOMEM) && (pages > least || set->aux_pages > least_aux)) {
		unmap_all(set);
		pages = MAX(pages > modest ? modest : pages / 2, least);
		set->aux_pages = MAX(set->aux_pages / 2, least_aux);
		failed = map_all(set, pages, asked ? least : pages);
	}
	if (failed)
		return tell_unmapped(set, pages, failed, to);
	if (!set->rings.n)
		return notify_error(to, ERR_NOTFOUND, "the task that was to be recorded has ended");
	return 0;
}

static int read_id(const struct open_event *e, struct opened *o, const struct notify *to)
{
	if (ioctl(o->fd, PERF_EVENT_IOC_ID, &o->id))
		return notify_error(to, ERR_IO, "cannot read the id of %s: %s", e->name, strerror(errno));
	if (e->spec && e->spec->filter && ioctl(o->fd, PERF_EVENT_IOC_SET_FILTER, e->spec->filter))
		return notify_error(to, ERR_USAGE, "the kernel refuses the filter '%s' of %s: %s", e->spec->filter,
				    e->name, strerror(errno));
	return 0;
}

/* The kernel has one period or one frequency for an event. */
static int refuse_jitter(const struct event_set *set, const struct notify *to)
{
	for (size_t i = 0; i < set->events.n; i++) {
		const struct open_event *e = &set->events.v[i];

		if (e->spec && e->spec->schedule.jitter_long && !e->spec->windowed)
			return notify_error(to, ERR_UNSUPPORTED,
					    "%s: the kernel does not support jitter for it; the virtual PMU does "
					    "(--pmu=sim), and so do groups with windows (--window=jitter=N)",
					    e->name);
	}
	return 0;
}

/*
 * Rings of copies are to be emptied sooner than when they are half full. Unwinding what half a ring holds takes so
 * long that a busy machine lets others run meanwhile, again and again, and the ring runs over; who works a little at a
 * time is let run at once.
 *
 * The kernel takes the number of the event that a ring is mapped for, which may be one without copies, and no ring has
 * its size yet. Without -m the smallest size that it can come to counts (512 kB, mostly), because a number beyond the
 * ring's size would call when it is full.
 */
static void set_wakeups(struct event_set *set, u64 pages)
{
	u64 ring = (pages ? pages : modest_pages()) * (u64)sysconf(_SC_PAGESIZE);
	bool copies = false;

	if (set->by_task)
		ring = MIN(ring, (u64)TASK_RING_BYTES);
	for (size_t i = 0; i < set->events.n; i++)
		copies |= set->events.v[i].unwound;
	for (size_t i = 0; i < set->events.n && copies; i++) {
		struct attr *a = &set->events.v[i].attr;

		if (a->flags & (ATTR_WATERMARK | ATTR_WRITE_BACKWARD))
			continue;
		a->flags |= ATTR_WATERMARK;
		a->wakeup_events = (u32)MIN(ring / 2, (u64)COPIES_WAKE_BYTES);
	}
}

int event_set_open(struct event_set *set, const struct target *t, const struct ring_opts *sizes,
		   const struct notify *to)
{
	int err = refuse_jitter(set, to);

	set_wakeups(set, sizes->pages);
	if (!err)
		err = open_all(set, t, to);
	if (!err)
		err = map_rings(set, t, sizes, to);
	for (size_t e = 0; e < set->events.n && !err; e++)
		for (size_t i = 0; i < set->events.v[e].on.n && !err; i++)
			err = read_id(&set->events.v[e], &set->events.v[e].on.v[i], to);
	return err;
}

/* A task that is opened late: its events in the order of the set, so that leaders come before members. */
static bool open_on_task(struct event_set *set, struct target_task task)
{
	for (u32 e = 0; e < set->events.n; e++) {
		struct open_event *event = &set->events.v[e];
		struct opened o = { .cpu = -1, .task = task };

		if (!event->spec)
			continue;
		o.fd = open_one(set, e, NULL, -1, task.tid);
		if (o.fd < 0 || ioctl(o.fd, PERF_EVENT_IOC_ID, &o.id)) {
			if (o.fd >= 0)
				close(o.fd);
			return false;
		}
		vec_push(&event->on, o);
	}
	return true;
}

/* All its events into one ring, which is that of an event with an AUX area if there is one, as in map_all. */
static bool map_task(struct event_set *set, size_t on, u32 pages)
{
	struct map by_place = { 0 };
	int failed = 0;
	u32 before = set->ring_pages;

	set->ring_pages = pages;
	for (u32 aux = 2; aux--;)
		for (size_t e = 0; e < set->events.n && !failed; e++)
			if (set->events.v[e].spec && has_aux(&set->events.v[e]) == aux)
				failed = attach(set, &by_place, &set->events.v[e], &set->events.v[e].on.v[on]);
	set->ring_pages = before;
	map_free(&by_place);
	errno = -failed;
	return !failed;
}

size_t event_set_add_task(struct event_set *set, struct target_task task, u32 pages)
{
	size_t on = set->events.v[0].on.n, rings = set->rings.n;
	bool ok = open_on_task(set, task);
	int failed;

	while (ok && !map_task(set, on, pages)) {
		ok = (errno == EPERM || errno == ENOMEM) && pages > 1;
		pages /= 2;
	}
	if (ok)
		return on;
	failed = errno;
	for (size_t e = 0; e < set->events.n; e++) {
		struct open_event *event = &set->events.v[e];

		if (event->spec && event->on.n > on)
			close(event->on.v[--event->on.n].fd);
	}
	while (set->rings.n > rings) {
		aux_area_unmap(&set->rings.v[--set->rings.n].aux);
		ring_unmap(&set->rings.v[set->rings.n].ring);
		vec_free(&set->rings.v[set->rings.n].fds);
	}
	errno = failed;
	return EVENT_SET_NOWHERE;
}

void event_set_raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void enable(const struct open_event *event, bool on)
{
	for (size_t i = 0; i < event->on.n; i++)
		ioctl(event->on.v[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* A member counts only while its leader does. */
static bool is_off(const struct event_set *set, const struct open_event *event)
{
	return event->off || set->events.v[event->leader].off;
}

void event_set_pause_aux(const struct event_set *set)
{
	for (size_t e = 0; e < set->events.n; e++)
		if (has_aux(&set->events.v[e]))
			enable(&set->events.v[e], false);
}

void event_set_resume(const struct event_set *set, u32 ring)
{
	for (size_t e = 0; e < set->events.n; e++) {
		const struct open_event *event = &set->events.v[e];

		for (size_t i = 0; has_aux(event) && !is_off(set, event) && i < event->on.n; i++)
			if (event->on.v[i].ring == ring)
				ioctl(event->on.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
}

void event_set_enable(const struct event_set *set, bool on)
{
	for (size_t e = 0; e < set->events.n; e++)
		if (set->events.v[e].leader == e && !(on && set->events.v[e].off))
			enable(&set->events.v[e], on);
}

bool event_set_switch(struct event_set *set, const char *name, bool on)
{
	bool found = false;

	for (size_t e = 0; e < set->events.n; e++) {
		struct open_event *event = &set->events.v[e];

		if (!event->spec || (name ? strcmp(event->name, name) != 0 : event->leader != e))
			continue;
		enable(event, on);
		event->off = !on;
		found = true;
	}
	return found;
}

void event_set_follow(const struct event_set *set)
{
	for (size_t e = 0; e < set->events.n; e++)
		if (!set->events.v[e].spec)
			enable(&set->events.v[e], true);
}

/* Where LOST stands in what read() gives: value [enabled] [running] [id] [lost]; for a group: nr first, then per
 * member. */
static u64 read_lost_count(const struct open_event *e, int fd)
{
	u64 words[GROUP_READ_MAX / sizeof(u64)];
	u32 at = 1 + !!(e->attr.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		 !!(e->attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	ssize_t n = read(fd, words, sizeof(words));

	at += !!(e->attr.read_format & PERF_FORMAT_ID) + !!(e->attr.read_format & PERF_FORMAT_GROUP);
	return n >= (ssize_t)((at + 1) * sizeof(u64)) ? words[at] : 0;
}

static bool tells_lost(const struct event_set *set, size_t e)
{
	const struct open_event *event = &set->events.v[e];

	/* Members of a group that is read as one take no samples of their own. */
	return event->attr.read_format & PERF_FORMAT_LOST &&
	       !(event->attr.read_format & PERF_FORMAT_GROUP && event->leader != e);
}

static void tell_lost(const struct open_event *event, struct opened *o,
		      void (*fn)(void *ctx, const struct opened *o, u64 lost), void *ctx)
{
	u64 lost = read_lost_count(event, o->fd);

	if (lost > o->lost)
		fn(ctx, o, lost - o->lost);
	o->lost = MAX(lost, o->lost);
}

void event_set_lost(struct event_set *set, void (*fn)(void *ctx, const struct opened *o, u64 lost), void *ctx)
{
	for (size_t e = 0; e < set->events.n; e++) {
		struct open_event *event = &set->events.v[e];

		if (!tells_lost(set, e))
			continue;
		for (size_t i = 0; i < event->on.n; i++)
			tell_lost(event, &event->on.v[i], fn, ctx);
	}
}

void event_set_drop_task(struct event_set *set, size_t on, void (*fn)(void *ctx, const struct opened *o, u64 lost),
			 void *ctx)
{
	ring_unmap(&set->rings.v[set->events.v[0].on.v[on].ring].ring);
	for (size_t e = 0; e < set->events.n; e++) {
		struct open_event *event = &set->events.v[e];

		if (!event->spec || on >= event->on.n || event->on.v[on].fd < 0)
			continue;
		if (tells_lost(set, e))
			tell_lost(event, &event->on.v[on], fn, ctx);
		close(event->on.v[on].fd);
		event->on.v[on].fd = -1;
	}
}

void event_set_close(struct event_set *set)
{
	unmap_all(set);
	for (size_t e = 0; e < set->events.n; e++) {
		for (size_t i = 0; i < set->events.v[e].on.n; i++)
			if (set->events.v[e].on.v[i].fd >= 0)
				close(set->events.v[e].on.v[i].fd);
		vec_free(&set->events.v[e].on);
	}
}

void event_set_free(struct event_set *set)
{
	event_set_close(set);
	for (size_t e = 0; e < set->events.n; e++)
		free(set->events.v[e].name);
	vec_free(&set->events);
}
