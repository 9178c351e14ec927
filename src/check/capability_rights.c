/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel and its settings leave to this user. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check/capability.h"
#include "sys/probe.h"

/* Newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

void capability_kernel(const struct capability_env *env, struct capability_report *r)
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

void capability_syscall(const struct capability_env *env, struct capability_report *r)
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
void capability_paranoid(const struct capability_env *env, struct capability_report *r)
{
	bool user = !open_dummy(ATTR_EXCLUDE_KERNEL, 0, -1), kernel = !open_dummy(0, 0, -1);
	bool all = !open_dummy(0, -1, 0);
	s64 level;
	char setting[64] = "not readable";

	if (capability_sysctl(env, "kernel/perf_event_paranoid", &level))
		snprintf(setting, sizeof(setting), "perf_event_paranoid is %lld", (long long)level);
	if (all)
		capability_say(r, CAPABILITY_OK, NULL,
			       "%s; this user may record the whole system, including the kernel", setting);
	else if (kernel)
		capability_say(r, CAPABILITY_LIMITED,
			       "for -a: sysctl kernel.perf_event_paranoid=0, or run with CAP_PERFMON",
			       "%s; this user may record its own processes, including the kernel, but not the whole "
			       "system",
			       setting);
	else if (user)
		capability_say(r, CAPABILITY_LIMITED,
			       "for kernel code: sysctl kernel.perf_event_paranoid=1; for -a: 0; or run with "
			       "CAP_PERFMON (on a "
			       "program that only a group may run: chgrp GROUP, chmod 750, then setcap "
			       "cap_perfmon,cap_sys_ptrace+ep)",
			       "%s; this user may record the user code of its own processes", setting);
	else
		capability_say(
			r, CAPABILITY_NO,
			"sysctl kernel.perf_event_paranoid=2 (own user code), 1 (and kernel), 0 (and whole CPUs); or "
			"run with CAP_PERFMON",
			"%s; this user may not record", setting);
}

void capability_rights(const struct capability_env *env, struct capability_report *r)
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
