/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EINVAL does not say which bit the kernel refused. So each newer feature in use is tried by itself, on a software
 * event that asks for nothing else. The kernel is too old for the features that fail there, and only these are given
 * up. If all of them work, the event itself is wrong and stays refused.
 */
#include "open/retry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "open/refused_branches.h"
#include "sys/probe.h"
#include "sys/smallfile.h"

#define HARMLESS_PERIOD 1000000000

struct feature_row {
	const char *name;
	u64 flags, sample_type, read_format; /* the bits */
	u64 instead;			     /* sample_type bits in their place */
	const char *missed;		     /* what the user misses; NULL: nothing that he would notice */
	bool essential;			     /* asked for by an option that cannot be dropped silently */
};

/* Newest first, with the Linux version that brought it. */
static const struct feature_row kernel_features[] = {
	{ "lost counts", .read_format = PERF_FORMAT_LOST },						    /* 6.0 */
	{ "build ids in mmap records", .flags = ATTR_BUILD_ID, .missed = "build ids are read at the end" }, /* 5.12 */
	{ "weight parts", .sample_type = PERF_SAMPLE_WEIGHT_STRUCT, .instead = PERF_SAMPLE_WEIGHT },	    /* 5.12 */
	{ "page sizes", .sample_type = PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE,
	  .essential = true }, /* 5.11 */
	{ "cgroup samples", .flags = ATTR_CGROUP, .sample_type = PERF_SAMPLE_CGROUP,
	  .missed = "samples do not name their cgroup" },				   /* 5.7 */
	{ "ksymbol records", .flags = ATTR_KSYMBOL | ATTR_BPF_EVENT },			   /* 5.1 */
	{ "physical addresses", .sample_type = PERF_SAMPLE_PHYS_ADDR, .essential = true }, /* 4.14 */
	{ "namespace records", .flags = ATTR_NAMESPACES, .missed = "no namespaces" },	   /* 4.12 */
	{ "rings that are overwritten", .flags = ATTR_WRITE_BACKWARD, .essential = true }, /* 4.7 */
	{ "context switch records", .flags = ATTR_CONTEXT_SWITCH, .essential = true },	   /* 4.3 */
	{ "clock ids", .flags = ATTR_USE_CLOCKID, .essential = true },			   /* 4.1 */
};

int perf_open(const struct attr *a, s32 pid, s32 cpu, int group, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, a, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);
}

static bool kernel_lacks(const struct feature_row *row)
{
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .size = ATTR_SIZE_VER7,
			  .config = PERF_COUNT_SW_DUMMY,
			  .sample_type = row->sample_type,
			  .read_format = row->read_format,
			  .flags = row->flags | ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_MMAP | ATTR_MMAP2 };
	int fd;

	if (row->flags & ATTR_USE_CLOCKID)
		a.clockid = CLOCK_MONOTONIC;
	fd = perf_open(&a, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == EINVAL || errno == E2BIG);
}

static bool row_in_use(const struct feature_row *row, const struct attr *a)
{
	return a->flags & row->flags || a->sample_type & row->sample_type || a->read_format & row->read_format;
}

static void take_back(const struct feature_row *row, struct attr *a)
{
	if (a->sample_type & row->sample_type)
		a->sample_type |= row->instead;
	a->flags &= ~row->flags;
	a->sample_type &= ~row->sample_type;
	a->read_format &= ~row->read_format;
}

/* True when something was taken back. Clears the features that this kernel does not know from all events. */
static bool step_back(struct event_set *set, struct retry *r, const struct notify *to)
{
	u32 before = r->too_old;

	for (u32 i = 0; i < ARRAY_LEN(kernel_features) && !r->probed; i++) {
		const struct feature_row *row = &kernel_features[i];
		bool used = false;

		for (size_t e = 0; e < set->events.n; e++)
			used |= row_in_use(row, &set->events.v[e].attr);
		if (!used || !kernel_lacks(row))
			continue;
		if (row->essential) {
			notify_error(to, ERR_UNSUPPORTED, "this kernel does not offer %s", row->name);
			return false;
		}
		if (row->missed)
			notify_warn(to, "this kernel does not offer %s: %s", row->name, row->missed);
		for (size_t e = 0; e < set->events.n; e++)
			take_back(row, &set->events.v[e].attr);
		r->too_old++;
	}
	r->probed = true;
	return r->too_old > before;
}

/* The modifier P asks for the highest precision that works; each refusal lowers it by one. */
static bool lower_precision(struct open_event *e)
{
	if (!attr_precise_ip(&e->attr) || !e->spec || !e->spec->precise_max)
		return false;
	e->attr.flags -= 1ull << ATTR_PRECISE_IP_SHIFT;
	return true;
}

/* Before Linux 6.12 an event whose samples hold read values could not be inherited. */
static bool drop_inheritance(struct event_set *set, struct open_event *e, const struct notify *to)
{
	if (!(e->attr.flags & ATTR_INHERIT) || !(e->attr.sample_type & PERF_SAMPLE_READ))
		return false;
	for (size_t i = 0; i < set->events.n; i++)
		set->events.v[i].attr.flags &= ~ATTR_INHERIT;
	notify_warn(to, "this kernel does not inherit events that are read with S: threads and children are left out");
	return true;
}

/* Some PMUs, as msr, cannot tell guests from the host, and refuse to leave out guests, as is usual. */
static bool admit_guests(struct open_event *e)
{
	struct attr with = e->attr;

	if (!(e->attr.flags & ATTR_EXCLUDE_GUEST) || !e->spec || e->spec->exclude_gh)
		return false;
	with.flags &= ~(u64)ATTR_EXCLUDE_GUEST;
	if (event_probe(&e->attr, e->spec->cpus, NULL) != EVENT_ABSENT ||
	    event_probe(&with, e->spec->cpus, NULL) == EVENT_ABSENT)
		return false;
	e->attr.flags = with.flags;
	return true;
}

/* The modifier W: what cannot be counted together is counted apart. */
static bool break_weak_group(struct event_set *set, const struct open_event *e)
{
	const struct open_event *leader = &set->events.v[e->leader];
	u32 at = e->leader;

	if (e == leader || !leader->spec || !leader->spec->weak || leader->spec->sample_read)
		return false;
	for (u32 i = 0; i < set->events.n; i++) {
		if (set->events.v[i].leader != at)
			continue;
		set->events.v[i].leader = i;
		set->events.v[i].attr.flags |= leader->attr.flags & (ATTR_DISABLED | ATTR_ENABLE_ON_EXEC);
	}
	return true;
}

static bool raise_file_limit(struct retry *r)
{
	struct rlimit l;

	if (r->files_raised || getrlimit(RLIMIT_NOFILE, &l))
		return false;
	r->files_raised = true;
	/* Who may raise the hard limit too gets what the kernel allows at most. */
	l.rlim_cur = l.rlim_max = MAX(l.rlim_max, (rlim_t)1 << 20);
	if (!setrlimit(RLIMIT_NOFILE, &l))
		return true;
	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max)
		return false;
	l.rlim_cur = l.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &l);
}

static u64 paranoid_level(void)
{
	u64 level = 0;
	char *line = smallfile_line("/proc/sys/kernel/perf_event_paranoid");

	if (line && *line != '-')
		level = strtoull(line, NULL, 10);
	free(line);
	return level;
}

/* Does the name end with modifiers, or with the slash that they follow at once? */
static bool has_modifiers(const struct open_event *e)
{
	const char *colon = strrchr(e->name, ':');

	if (e->name[0] && e->name[strlen(e->name) - 1] == '/')
		return true;
	return colon && e->attr.type != PERF_TYPE_TRACEPOINT && e->attr.type != PERF_TYPE_BREAKPOINT;
}

static bool give_up_kernel(struct event_set *set, struct retry *r)
{
	bool changed = false;

	if (r->user_only)
		return false;
	for (size_t i = 0; i < set->events.n; i++) {
		struct open_event *e = &set->events.v[i];
		char *name = e->name;

		if (e->attr.flags & (ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_USER))
			continue;
		e->attr.flags |= ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV;
		changed = true;
		if (!e->spec)
			continue;
		e->name = mem_printf("%s%su", name, has_modifiers(e) ? "" : ":");
		free(name);
	}
	r->user_only = changed;
	return changed;
}

void event_retry_tell(const struct retry *r, const struct notify *to)
{
	if (r->user_only)
		notify_at(
			to, NOTE_INFO, 0, NULL, NO_OFFSET,
			"recording user space only: kernel.perf_event_paranoid is %llu (1 or CAP_PERFMON allows more)",
			(unsigned long long)paranoid_level());
}

bool event_retry(struct event_set *set, size_t event, int failed, struct retry *r, const struct notify *to)
{
	switch (failed) {
	case EINVAL:
	case E2BIG:
		return break_weak_group(set, &set->events.v[event]) || lower_precision(&set->events.v[event]) ||
		       step_back(set, r, to) || admit_guests(&set->events.v[event]) ||
		       drop_inheritance(set, &set->events.v[event], to);
	case EOPNOTSUPP:
		return lower_precision(&set->events.v[event]);
	case EACCES:
	case EPERM:
		return give_up_kernel(set, r);
	case EMFILE:
		return raise_file_limit(r);
	default:
		return false;
	}
}

static int refused_for_rights(const struct event_set *set, const struct open_event *e, const struct notify *to)
{
	bool tracepoint = e->attr.type == PERF_TYPE_TRACEPOINT;

	if (!tracepoint && !set->system_wide && set->others)
		return notify_error(to, ERR_PERM,
				    "cannot open %s: the process belongs to another user (run as root or with "
				    "CAP_PERFMON)",
				    e->name);
	return notify_error(to, ERR_PERM,
			    "cannot open %s%s: not allowed with kernel.perf_event_paranoid at %llu (run as root, with "
			    "CAP_PERFMON, or lower it: sysctl kernel.perf_event_paranoid=%s)",
			    e->name, set->system_wide ? " on whole CPUs" : "", (unsigned long long)paranoid_level(),
			    tracepoint	     ? "-1" :
			    set->system_wide ? "0" :
					       "1");
}

static bool is_hardware(const struct attr *a)
{
	return a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE || a->type == PERF_TYPE_RAW;
}

/* Is it the samples that are refused, even the plainest? */
static bool only_counts(const struct open_event *e)
{
	struct attr plain = e->attr;
	int fd;

	if (!e->attr.sample_period || !e->spec || event_probe(&e->attr, e->spec->cpus, NULL) != EVENT_USABLE)
		return false;
	plain.sample_type = PERF_SAMPLE_IP;
	plain.sample_period = HARMLESS_PERIOD;
	plain.flags = (plain.flags & ~(u64)(ATTR_FREQ | ATTR_PINNED | ATTR_EXCLUSIVE)) | ATTR_DISABLED;
	fd = perf_open(&plain, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EINVAL;
}

/* Could it be opened if it were not for its cgroup? */
static bool cgroup_is_in_the_way(const struct open_event *e)
{
	enum event_usable usable;

	if (e->cgroup < 0 || !e->spec)
		return false;
	usable = event_probe(&e->attr, e->spec->cpus, NULL);
	return usable == EVENT_USABLE || usable == EVENT_USER_ONLY;
}

static int refused_to_copy(const char *name, const struct notify *to)
{
	return notify_error(
		to, ERR_UNSUPPORTED,
		"cannot open %s: the kernel copies an AUX area into samples only where the PMU that leads the "
		"group can be read meanwhile, which Arm SPE cannot (without aux-sample-size, record "
		"--snapshot keeps the last operations)",
		name);
}

/* The kernel says no more than EINVAL. */
static int refused_as_invalid(const struct open_event *e, const struct notify *to)
{
	const char *name = e->name;

	if (e->attr.aux_sample_size)
		return refused_to_copy(name, to);
	if (e->attr.branch_sample_type)
		return refused_branches(e, EINVAL, "/sys", "/proc", to);
	if (only_counts(e))
		return notify_error(to, ERR_USAGE,
				    "cannot open %s: its PMU can count it, but not sample it (it can be read in a "
				    "group: '{cpu-clock,%s}:S')",
				    name, name);
	return notify_error(to, ERR_USAGE, "cannot open %s: the kernel refuses it (wrong config, modifiers or period)",
			    name);
}

/* It has a field that this kernel does not know, or the values of its group do not fit into a sample. */
static int refused_as_too_large(const struct open_event *e, const struct notify *to)
{
	int failed = E2BIG;

	if (e->spec)
		event_probe(&e->attr, e->spec->cpus, &failed);
	if (failed != E2BIG)
		return notify_error(to, ERR_LIMIT,
				    "cannot open %s: with it, the values of its group do not fit into a sample "
				    "(record fewer events in one group)",
				    e->name);
	return notify_error(to, ERR_UNSUPPORTED, "cannot open %s: this kernel is too old for %s", e->name,
			    e->attr.config4 ? "config4" :
			    e->attr.config3 ? "config3" :
					      "one of its settings");
}

int event_refused(const struct event_set *set, size_t event, int failed, const struct notify *to)
{
	const struct open_event *e = &set->events.v[event];
	const char *name = e->name;

	switch (failed) {
	case EACCES:
	case EPERM:
		return refused_for_rights(set, e, to);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		if (e->attr.branch_sample_type)
			return refused_branches(e, failed, "/sys", "/proc", to);
		if (is_hardware(&e->attr) && access("/sys/bus/event_source/devices/cpu", F_OK) &&
		    access("/sys/bus/event_source/devices/armv8_pmuv3", F_OK))
			return notify_error(
				to, ERR_UNSUPPORTED,
				"cannot open %s: no hardware PMU in this machine (try --pmu=sim, or -e cpu-clock)",
				name);
		if (failed == EOPNOTSUPP)
			return notify_error(to, ERR_UNSUPPORTED,
					    "cannot open %s: the PMU cannot sample it (try without its modifiers)",
					    name);
		if (cgroup_is_in_the_way(e))
			return notify_error(
				to, ERR_UNSUPPORTED,
				"cannot open %s: its cgroup has no perf_event controller (/proc/cgroups says which "
				"hierarchy has it; if that is 0, mount it as version 1 once, and unmount it)",
				name);
		return notify_error(to, ERR_NOTFOUND,
				    "cannot open %s: this machine has no such event (see reticle list)", name);
	case EMFILE:
		return notify_error(to, ERR_LIMIT,
				    "cannot open %s: too many open files; raise the limit (ulimit -n) or name fewer "
				    "threads or events",
				    name);
	case EBUSY:
		return notify_error(to, ERR_IO, "cannot open %s: another event has exclusive use of the PMU", name);
	case ENOSPC:
		return notify_error(to, ERR_LIMIT, "cannot open %s: all hardware counters or breakpoints are taken",
				    name);
	case EINVAL:
		return refused_as_invalid(e, to);
	case E2BIG:
		return refused_as_too_large(e, to);
	default:
		return notify_error(to, ERR_IO, "cannot open %s: %s", name, strerror(failed));
	}
}
