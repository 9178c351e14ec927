/* SPDX-License-Identifier: Apache-2.0 */
/* The table of capabilities, and those about rights. */
#include "io/capability.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "io/event_probe.h"
#include "io/smallfile.h"
#include "io/tracefs.h"

#define STATUS_MAX (64u << 10)
/* Newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

static bool read_effective(const char *procfs, u64 *out)
{
	char *path = mem_printf("%s/self/status", procfs), *line;
	struct bytes text = { 0 };
	bool ok = false;

	if (!smallfile_read(AT_FDCWD, path, STATUS_MAX, &text)) {
		line = strstr((const char *)text.p, "CapEff:");
		ok = line != NULL;
		if (line)
			*out = strtoull(line + 7, NULL, 16);
	}
	bytes_free(&text);
	free(path);
	return ok;
}

void capability_env_init(struct capability_env *env, const struct event_env *from)
{
	*env = (struct capability_env){
		.sysfs = from && from->sysfs ? from->sysfs : "/sys",
		.procfs = from && from->procfs ? from->procfs : "/proc",
		.tracefs = tracefs_root(from ? from->tracefs : NULL),
	};
	sysfs_pmus_load(&env->pmus, env->sysfs);
	read_effective(env->procfs, &env->effective);
}

void capability_env_free(struct capability_env *env)
{
	sysfs_pmus_free(&env->pmus);
}

void capability_probe(const struct capability *c, const struct capability_env *env, struct capability_report *r)
{
	*r = (struct capability_report){ .state = CAPABILITY_NO };
	c->probe(env, r);
}

void capability_report_free(struct capability_report *r)
{
	bytes_free(&r->detail);
	bytes_free(&r->remedy);
}

const char *capability_state_name(enum capability_state s)
{
	return s == CAPABILITY_OK ? "ok" : s == CAPABILITY_LIMITED ? "limited" : "no";
}

bool capability_has(const struct capability_env *env, u32 cap)
{
	return env->effective >> cap & 1;
}

bool capability_sysctl(const struct capability_env *env, const char *name, s64 *out)
{
	char *path = mem_printf("%s/sys/%s", env->procfs, name), *text = smallfile_line(path), *end = text;

	if (text) {
		*out = strtoll(text, &end, 10);
		if (end == text || *end)
			end = NULL;
	}
	free(text);
	free(path);
	return end != NULL;
}

void capability_say(struct capability_report *r, enum capability_state state, const char *remedy, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->state = state;
	r->detail.len = r->remedy.len = 0;
	bytes_str(&r->detail, text);
	if (remedy)
		bytes_str(&r->remedy, remedy);
}

static void probe_kernel(const struct capability_env *env, struct capability_report *r)
{
	struct utsname u;

	(void)env;
	if (uname(&u))
		capability_say(r, CAPABILITY_LIMITED, NULL, "uname failed: %s", strerror(errno));
	else
		capability_say(r, CAPABILITY_OK, NULL, "%s %s on %s", u.sysname, u.release, u.machine);
}

static struct attr dummy(u64 flags)
{
	return (struct attr){ .type = PERF_TYPE_SOFTWARE,
			      .config = PERF_COUNT_SW_DUMMY,
			      .flags = ATTR_DISABLED | ATTR_EXCLUDE_HV | flags };
}

/* 0 or the errno of opening an event that never counts. */
static int open_dummy(u64 flags, int pid, int cpu)
{
	struct attr attr = dummy(flags);
	int fd = event_probe_open(&attr, pid, cpu);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void probe_syscall(const struct capability_env *env, struct capability_report *r)
{
	int err = open_dummy(ATTR_EXCLUDE_KERNEL, 0, -1);

	(void)env;
	if (!err)
		capability_say(r, CAPABILITY_OK, NULL, "works");
	else if (err == ENOSYS)
		capability_say(r, CAPABILITY_NO, "boot a kernel with CONFIG_PERF_EVENTS=y",
			       "this kernel has no perf_event_open");
	else if (err == EPERM || err == EACCES)
		capability_say(r, CAPABILITY_NO,
			       "lower kernel.perf_event_paranoid to 2 or less; in a container also let its seccomp "
			       "profile pass perf_event_open, or add CAP_PERFMON",
			       "refused: %s", strerror(err));
	else
		capability_say(r, CAPABILITY_NO, NULL, "refused: %s", strerror(err));
}

/* What the setting leaves to this user is found by trying, for capabilities, LSMs and seccomp have their say too. */
static void probe_paranoid(const struct capability_env *env, struct capability_report *r)
{
	bool user = !open_dummy(ATTR_EXCLUDE_KERNEL, 0, -1), kernel = !open_dummy(0, 0, -1);
	bool all = !open_dummy(0, -1, 0);
	s64 level;
	char setting[64] = "not readable";

	if (capability_sysctl(env, "kernel/perf_event_paranoid", &level))
		snprintf(setting, sizeof(setting), "perf_event_paranoid is %lld", (long long)level);
	if (all)
		capability_say(r, CAPABILITY_OK, NULL, "%s; this user may record the whole system, kernel included",
			       setting);
	else if (kernel)
		capability_say(
			r, CAPABILITY_LIMITED, "for -a: sysctl kernel.perf_event_paranoid=-1, or run with CAP_PERFMON",
			"%s; this user may record own processes, kernel included, not the whole system", setting);
	else if (user)
		capability_say(
			r, CAPABILITY_LIMITED,
			"for kernel code: sysctl kernel.perf_event_paranoid=1; for -a: -1; or run with CAP_PERFMON "
			"(setcap cap_perfmon,cap_sys_ptrace+ep on the program)",
			"%s; this user may record the user code of own processes", setting);
	else
		capability_say(
			r, CAPABILITY_NO,
			"sysctl kernel.perf_event_paranoid=2 (own user code), 1 (and kernel), -1 (everything); or "
			"run with CAP_PERFMON",
			"%s; this user may not record", setting);
}

static void probe_rights(const struct capability_env *env, struct capability_report *r)
{
	static const struct {
		u32 cap;
		const char *name, *why;
	} rows[] = {
		{ CAP_PERFMON, "CAP_PERFMON", "to record other users and the kernel" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", NULL },
		{ CAP_BPF, "CAP_BPF", "to load BPF programs" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "to attach to processes of others" },
		{ CAP_SYSLOG, "CAP_SYSLOG", "for kernel addresses" },
		{ CAP_IPC_LOCK, "CAP_IPC_LOCK", "for rings of any size" },
	};
	bool admin = capability_has(env, CAP_SYS_ADMIN);
	u32 n = 0;

	capability_say(r, CAPABILITY_OK, NULL, "effective: ");
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		bool has = capability_has(env, rows[i].cap);

		if (has)
			bytes_printf(&r->detail, "%s%s", n++ ? ", " : "", rows[i].name);
		else if (!(admin && rows[i].cap >= CAP_PERFMON) && rows[i].why)
			bytes_printf(&r->remedy, "%s%s %s", r->remedy.len ? ", " : "", rows[i].name, rows[i].why);
	}
	if (!n)
		bytes_str(&r->detail, "none of those that matter");
	if (r->remedy.len && !admin)
		r->state = CAPABILITY_LIMITED;
}

const struct capability capabilities[] = {
	{ "kernel", false, probe_kernel },
	{ "perf_event_open", false, probe_syscall },
	{ "rights to record", false, probe_paranoid },
	{ "capabilities", false, probe_rights },
	{ "hardware PMU", true, capability_hardware },
	{ "precise samples", false, capability_precise },
	{ "branch records", false, capability_branches },
	{ "Arm SPE", true, capability_spe },
	{ "Intel PT", false, capability_intel_pt },
	{ "AMD IBS", true, capability_amd_ibs },
	{ "other PMUs", false, capability_other_pmus },
	{ "virtual PMU", true, capability_simulation },
	{ "software clock", true, capability_software },
	{ "windows: sim", false, capability_simulation },
	{ "windows: native", false, capability_windows_native },
	{ "windows: twin", false, capability_windows_twin },
	{ "windows: refresh", false, capability_windows_refresh },
	{ "windows: plain", false, capability_windows_plain },
	{ "thread data", false, capability_thread_data },
	{ "clocks for -k", false, capability_clocks },
	{ "tracepoints", false, capability_tracepoints },
	{ "uprobes", false, capability_uprobes },
	{ "BPF", false, capability_bpf },
	{ "BTF", false, capability_btf },
	{ "kernel symbols", false, capability_kallsyms },
	{ "max sample rate", false, capability_max_rate },
	{ "CPU time limit", false, capability_cpu_share },
	{ "ring memory", false, capability_ring_memory },
	{ "call chain depth", false, capability_stack_depth },
	{ "open files", false, capability_open_files },
	{ "debuginfod", false, capability_debuginfod },
	{ "environment", false, capability_virtual },
	{ "this build", false, capability_features },
};
const u32 nr_capabilities = ARRAY_LEN(capabilities);
