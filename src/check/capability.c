/* SPDX-License-Identifier: Apache-2.0 */
/* What all probes of capabilities share. */
#include "check/capability.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sys/probe.h"
#include "sys/smallfile.h"
#include "sys/tracefs.h"

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
