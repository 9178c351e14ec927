/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds the recorder: BPF, symbols, tracefs, limits, the kind of machine, this build. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check/capability.h"
#include "events/names.h"
#include "sys/probe.h"
#include "sys/smallfile.h"
#include "sys/tracefs.h"

#define CPUINFO_MAX (4u << 20)
#define CHAIN_DEPTH_DEFAULT 127
#define CAP_PERFMON_BIT 38
#define EVENTS_ASSUMED 8 /* descriptors per CPU that a larger recording takes */
#define FILES_ASSUMED 64 /* and those that are open anyway */

void capability_bpf(const struct capability_env *env, struct capability_report *r)
{
	union bpf_attr attr;
	long fd;

	(void)env;
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = attr.value_size = 4;
	attr.max_entries = 1;
	fd = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd >= 0) {
		close((int)fd);
		capability_say(r, CAPABILITY_OK, NULL, "maps can be made");
	} else if (errno == ENOSYS) {
		capability_say(r, CAPABILITY_NO, "boot a kernel with CONFIG_BPF_SYSCALL=y",
			       "this kernel has no bpf()");
	} else {
		capability_say(r, CAPABILITY_NO, "run as root, or with CAP_BPF and CAP_PERFMON", "refused (%s)",
			       strerror(errno));
	}
}

void capability_btf(const struct capability_env *env, struct capability_report *r)
{
	char *path = mem_printf("%s/kernel/btf/vmlinux", env->sysfs);

	if (!access(path, R_OK))
		capability_say(r, CAPABILITY_OK, NULL, "%s", path);
	else
		capability_say(r, CAPABILITY_NO, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y", "no %s (%s)", path,
			       strerror(errno));
	free(path);
}

/* Hidden addresses read as zero. */
void capability_kallsyms(const struct capability_env *env, struct capability_report *r)
{
	char *path = mem_printf("%s/kallsyms", env->procfs), buf[256] = "";
	FILE *in = fopen(path, "re");
	bool shown = false, any = false;

	for (u32 i = 0; in && i < 64 && fgets(buf, sizeof(buf), in); i++) {
		any = true;
		shown |= strtoull(buf, NULL, 16) != 0;
	}
	if (in)
		fclose(in);
	if (shown)
		capability_say(r, CAPABILITY_OK, NULL, "%s shows addresses", path);
	else if (any)
		capability_say(r, CAPABILITY_NO,
			       "sysctl kernel.kptr_restrict=0 (and kernel.perf_event_paranoid=1), or run as root; a "
			       "vmlinux with symbols works, too",
			       "%s hides addresses from this user", path);
	else
		capability_say(r, CAPABILITY_NO, "boot a kernel with CONFIG_KALLSYMS=y", "%s cannot be read", path);
	free(path);
}

void capability_tracepoints(const struct capability_env *env, struct capability_report *r)
{
	struct event_env where = { .sysfs = env->sysfs, .tracefs = env->tracefs, .procfs = env->procfs };
	struct event_specs specs = { 0 };
	struct tracefs_names systems = { 0 };
	int err = tracefs_list(env->tracefs, NULL, &systems);

	if (err == ERR_PERM)
		capability_say(r, CAPABILITY_NO,
			       "run as root, or mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing",
			       "%s is not readable for this user", env->tracefs);
	else if (err)
		capability_say(r, CAPABILITY_NO, "mount -t tracefs nodev /sys/kernel/tracing", "no %s/events",
			       env->tracefs);
	else if (!event_specs_parse(&specs, "sched:sched_switch", &where, NULL) &&
		 event_probe(&specs.v.v[0].attr, NULL, NULL) == EVENT_USABLE)
		capability_say(r, CAPABILITY_OK, NULL, "%zu subsystems in %s", systems.v.n, env->tracefs);
	else
		capability_say(r, CAPABILITY_LIMITED, "sysctl kernel.perf_event_paranoid=-1, or run with CAP_PERFMON",
			       "%zu subsystems in %s; this user cannot open sched:sched_switch", systems.v.n,
			       env->tracefs);
	event_specs_free(&specs);
	tracefs_names_free(&systems);
}

void capability_uprobes(const struct capability_env *env, struct capability_report *r)
{
	struct str name = { "uprobe", 6 };
	struct sysfs_pmus pmus = env->pmus;
	char *path = mem_printf("%s/uprobe_events", env->tracefs);
	bool pmu = sysfs_pmu_find(&pmus, name) != NULL, file = !access(path, W_OK);

	if (file)
		capability_say(r, CAPABILITY_OK, NULL, "%s can be written%s", path, pmu ? ", and a PMU" : "");
	else if (pmu)
		capability_say(r, CAPABILITY_LIMITED, "run as root", "a PMU; new ones cannot be named in %s", path);
	else
		capability_say(r, CAPABILITY_NO, "boot a kernel with CONFIG_UPROBE_EVENTS=y", "none");
	free(path);
}

void capability_max_rate(const struct capability_env *env, struct capability_report *r)
{
	s64 rate;

	if (!capability_sysctl(env, "kernel/perf_event_max_sample_rate", &rate))
		capability_say(r, CAPABILITY_LIMITED, NULL, "unknown");
	else
		capability_say(r, rate < 1000 ? CAPABILITY_LIMITED : CAPABILITY_OK,
			       rate < 1000 ? "sysctl kernel.perf_event_max_sample_rate=100000" : NULL,
			       "%lld per second and CPU; the kernel lowers it when samples take long",
			       (long long)rate);
}

void capability_cpu_share(const struct capability_env *env, struct capability_report *r)
{
	s64 percent;

	if (!capability_sysctl(env, "kernel/perf_cpu_time_max_percent", &percent))
		capability_say(r, CAPABILITY_LIMITED, NULL, "unknown");
	else if (!percent || percent >= 100)
		capability_say(r, CAPABILITY_OK, NULL, "none: sampling is never slowed down");
	else
		capability_say(r, CAPABILITY_OK, NULL, "%lld %% of a CPU for samples, then the rate is lowered",
			       (long long)percent);
}

void capability_ring_memory(const struct capability_env *env, struct capability_report *r)
{
	struct rlimit lock = { 0 };
	s64 kb = 0;
	bool known = capability_sysctl(env, "kernel/perf_event_mlock_kb", &kb);
	bool free_of_limits = capability_has(env, CAP_IPC_LOCK) || capability_has(env, CAP_PERFMON_BIT);

	getrlimit(RLIMIT_MEMLOCK, &lock);
	if (free_of_limits) {
		capability_say(r, CAPABILITY_OK, NULL, "no limit for this user");
		return;
	}
	if (!known) {
		capability_say(r, CAPABILITY_LIMITED, NULL, "unknown");
		return;
	}
	capability_say(r, kb < 516 ? CAPABILITY_LIMITED : CAPABILITY_OK,
		       kb < 516 ? "sysctl kernel.perf_event_mlock_kb=516" : NULL, "%lld KiB per CPU and user, plus ",
		       (long long)kb);
	if (lock.rlim_cur == RLIM_INFINITY)
		bytes_str(&r->detail, "any (ulimit -l is unlimited)");
	else
		bytes_printf(&r->detail, "%llu KiB per process (ulimit -l)", (unsigned long long)lock.rlim_cur >> 10);
}

void capability_stack_depth(const struct capability_env *env, struct capability_report *r)
{
	s64 depth;

	if (!capability_sysctl(env, "kernel/perf_event_max_stack", &depth))
		capability_say(r, CAPABILITY_LIMITED, NULL, "unknown");
	else
		capability_say(r, depth < CHAIN_DEPTH_DEFAULT ? CAPABILITY_LIMITED : CAPABILITY_OK,
			       depth < CHAIN_DEPTH_DEFAULT ? "sysctl kernel.perf_event_max_stack=127" : NULL,
			       "%lld frames (kernel.perf_event_max_stack)", (long long)depth);
}

void capability_open_files(const struct capability_env *env, struct capability_report *r)
{
	struct rlimit files = { 0 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	u64 wanted = (u64)MAX(cpus, 1L) * EVENTS_ASSUMED + FILES_ASSUMED;

	(void)env;
	getrlimit(RLIMIT_NOFILE, &files);
	capability_say(r, files.rlim_cur < wanted ? CAPABILITY_LIMITED : CAPABILITY_OK,
		       files.rlim_cur < wanted ? "ulimit -n 65536" : NULL,
		       "%llu (ulimit -n; at most %llu); each event takes one per CPU, here %ld",
		       (unsigned long long)files.rlim_cur, (unsigned long long)files.rlim_max, cpus);
}

void capability_debuginfod(const struct capability_env *env, struct capability_report *r)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	(void)env;
#ifndef HAVE_DEBUGINFOD
	capability_say(r, CAPABILITY_NO, "build with libdebuginfod", "not in this build");
	if (urls && *urls)
		bytes_str(&r->detail, ", though DEBUGINFOD_URLS is set");
#else
	if (urls && *urls)
		capability_say(r, CAPABILITY_OK, NULL, "DEBUGINFOD_URLS=%.200s", urls);
	else
		capability_say(r, CAPABILITY_LIMITED,
			       "for symbols of stripped programs, e.g. DEBUGINFOD_URLS=https://debuginfod.debian.net",
			       "DEBUGINFOD_URLS is not set");
#endif
}

static bool in_virtual_machine(const struct capability_env *env)
{
	char *path = mem_printf("%s/cpuinfo", env->procfs), *hypervisor = mem_printf("%s/hypervisor/type", env->sysfs);
	struct bytes text = { 0 };
	bool yes = !access(hypervisor, F_OK);

	if (!smallfile_read(AT_FDCWD, path, CPUINFO_MAX, &text))
		yes |= strstr((const char *)text.p, " hypervisor") != NULL;
	bytes_free(&text);
	free(hypervisor);
	free(path);
	return yes;
}

void capability_virtual(const struct capability_env *env, struct capability_report *r)
{
	bool vm = in_virtual_machine(env), box = !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK);

	box |= getenv("container") != NULL;
	capability_say(r, CAPABILITY_OK, NULL, "%s%s",
		       vm ? "a virtual machine: features that its host does not pass on are missing" :
			    "no sign of a hypervisor",
		       box ? "; container: paths and pids are its own" : "");
}

void capability_features(const struct capability_env *env, struct capability_report *r)
{
	static const char *const optional[] = {
#ifndef HAVE_DEBUGINFOD
		"libdebuginfod",
#endif
#ifndef HAVE_IBERTY
		"libiberty",
#endif
#ifndef HAVE_PFM
		"libpfm4",
#endif
		NULL,
	};

	(void)env;
	capability_say(r, CAPABILITY_OK, NULL, "reticle " RETICLE_VERSION " with zstd, libdw");
#ifdef HAVE_DEBUGINFOD
	bytes_str(&r->detail, ", debuginfod");
#endif
#ifdef HAVE_IBERTY
	bytes_str(&r->detail, ", demangling");
#endif
#ifdef HAVE_PFM
	bytes_str(&r->detail, ", libpfm4");
#endif
	for (u32 i = 0; optional[i]; i++) {
		r->state = CAPABILITY_LIMITED;
		bytes_printf(&r->remedy, "%s%s", i ? ", " : "build with ", optional[i]);
	}
}
