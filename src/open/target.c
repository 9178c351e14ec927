/* SPDX-License-Identifier: Apache-2.0 */
#include "open/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/smallfile.h"

static bool all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

static void add_task(struct target *t, s32 pid, s32 tid)
{
	for (size_t i = 0; i < t->tasks.n; i++)
		if (t->tasks.v[i].tid == tid)
			return;
	vec_push(&t->tasks, (struct target_task){ pid, tid });
}

/* All threads of a process. false when it does not exist. */
static bool add_process(struct target *t, s32 pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while ((e = readdir(dir)))
		if (all_digits(e->d_name))
			add_task(t, pid, atoi(e->d_name));
	closedir(dir);
	return true;
}

/* The process that a thread belongs to, or -1. */
static s32 process_of(s32 tid)
{
	struct bytes b = { 0 };
	char path[64];
	const char *at;
	s32 pid = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (!smallfile_read(AT_FDCWD, path, 65536, &b)) {
		at = strstr((const char *)b.p, "\nTgid:");
		pid = at ? atoi(at + 6) : -1;
	}
	bytes_free(&b);
	return pid;
}

static int add_named(struct target *t, const char *list, bool threads, const struct notify *to)
{
	const char *what = threads ? "thread" : "process";
	char *copy = mem_strdup(list), *save = NULL;
	int err = 0;

	for (char *word = strtok_r(copy, ",", &save); word && !err; word = strtok_r(NULL, ",", &save)) {
		s32 id = all_digits(word) && strlen(word) < 10 ? atoi(word) : 0, pid;

		if (id <= 0) {
			err = notify_error(to, ERR_USAGE, "'%s' is not the number of a %s", word, what);
		} else if (threads) {
			pid = process_of(id);
			add_task(t, pid, id);
			if (pid < 0)
				err = notify_error(to, ERR_NOTFOUND, "there is no thread %d", id);
		} else if (!add_process(t, id)) {
			err = notify_error(to, ERR_NOTFOUND, "there is no process %d", id);
		}
	}
	free(copy);
	if (!err && !t->tasks.n)
		err = notify_error(to, ERR_USAGE, "'%s' names no %s", list, what);
	return err;
}

static int add_user(struct target *t, const char *user, const struct notify *to)
{
	struct passwd *pw = all_digits(user) ? NULL : getpwnam(user);
	u64 uid = pw ? pw->pw_uid : strtoull(user, NULL, 10);
	struct dirent *e;
	struct stat st;
	DIR *dir;

	if (!pw && !all_digits(user))
		return notify_error(to, ERR_NOTFOUND, "there is no user '%s'", user);
	dir = opendir("/proc");
	if (!dir)
		return notify_error(to, ERR_IO, "cannot read /proc: %s", strerror(errno));
	while ((e = readdir(dir)))
		if (all_digits(e->d_name) && !fstatat(dirfd(dir), e->d_name, &st, 0) && st.st_uid == uid)
			add_process(t, atoi(e->d_name));
	closedir(dir);
	return t->tasks.n ? 0 : notify_error(to, ERR_NOTFOUND, "user '%s' has no running process", user);
}

char *target_cgroup_root(void)
{
	struct bytes b = { 0 };
	char *save = NULL, *root = NULL;
	bool v1 = false;

	if (smallfile_read(AT_FDCWD, "/proc/self/mounts", 1u << 20, &b)) {
		bytes_free(&b);
		return NULL;
	}
	for (char *line = strtok_r((char *)b.p, "\n", &save); line && !v1; line = strtok_r(NULL, "\n", &save)) {
		char dir[4096], type[64], mount_opts[4096];

		if (sscanf(line, "%*s %4095s %63s %4095s", dir, type, mount_opts) != 3)
			continue;
		v1 = !strcmp(type, "cgroup") && strstr(mount_opts, "perf_event");
		if (v1 || (!root && !strcmp(type, "cgroup2"))) {
			free(root);
			root = mem_strdup(dir);
		}
	}
	bytes_free(&b);
	return root;
}

static int add_cgroup(struct target *t, const char *root, const char *name, const struct notify *to)
{
	bool absolute = !strncmp(name, root, strlen(root)) && strlen(name) > strlen(root);
	char *path = absolute ? mem_strdup(name) : mem_printf("%s/%s", root, name);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = errno;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		free(path);
		return notify_error(to, failed == ENOENT ? ERR_NOTFOUND : ERR_IO,
				    "cannot open cgroup '%s' below %s: %s", name, root, strerror(failed));
	}
	free(path);
	vec_push(&t->cgroups, (struct target_cgroup){ mem_strdup(name), fd, st.st_ino });
	return 0;
}

static int add_cgroups(struct target *t, const char *list, const struct notify *to)
{
	char *root = target_cgroup_root(), *copy, *save = NULL;
	int err = 0;

	if (!root)
		return notify_error(to, ERR_NOTFOUND, "no cgroup hierarchy is mounted that perf events can use");
	copy = mem_strdup(list);
	for (char *word = strtok_r(copy, ",", &save); word && !err; word = strtok_r(NULL, ",", &save))
		err = add_cgroup(t, root, word, to);
	free(copy);
	free(root);
	if (!err && !t->cgroups.n)
		err = notify_error(to, ERR_USAGE, "'%s' does not name a cgroup", list);
	return err;
}

static int set_cpus(struct target *t, const char *list, const struct notify *to)
{
	struct cpulist online = { 0 }, wanted = { 0 };
	int err = cpulist_online(&online, to);

	if (!err && list && cpulist_parse(&wanted, list))
		err = notify_error(to, ERR_USAGE, "'%s' is not a list of CPUs (like 0-3,8)", list);
	for (size_t i = 0; !err && i < wanted.v.n; i++)
		if (!cpulist_has(&online, wanted.v.v[i]))
			err = notify_error(to, ERR_NOTFOUND, "CPU %u does not exist or is offline", wanted.v.v[i]);
	for (size_t i = 0; !err && i < online.v.n; i++)
		if (!list || cpulist_has(&wanted, online.v.v[i]))
			vec_push(&t->cpus, (s32)online.v.v[i]);
	cpulist_free(&online);
	cpulist_free(&wanted);
	return err;
}

static int set_tasks(struct target *t, const struct target_opts *o, pid_t child, const struct notify *to)
{
	int err = 0;

	if (o->pids)
		err = add_named(t, o->pids, false, to);
	if (!err && o->tids)
		err = add_named(t, o->tids, true, to);
	if (!err && o->uid)
		err = add_user(t, o->uid, to);
	t->tasks_named = t->tasks.n > 0;
	if (err || t->tasks.n)
		return err;
	t->system_wide = o->system_wide || o->cpus || o->cgroups;
	if (t->system_wide)
		vec_push(&t->tasks, (struct target_task){ -1, -1 });
	else if (child > 0)
		vec_push(&t->tasks, (struct target_task){ child, child });
	else
		return notify_error(to, ERR_USAGE, "nothing to record: name a command, -p PID, -t TID or -a");
	return 0;
}

int target_resolve(struct target *t, const struct target_opts *o, pid_t child, const struct notify *to)
{
	int err;

	t->threads_named = o->tids != NULL;
	err = set_tasks(t, o, child, to);
	if (err)
		return err;
	t->per_thread = o->per_thread && !t->system_wide;
	if (o->cgroups && t->tasks_named)
		return notify_error(to, ERR_USAGE,
				    "--cgroup counts whole CPUs: it cannot be combined with -p, -t or -u");
	if (t->per_thread && o->cpus)
		return notify_error(to, ERR_USAGE, "--per-thread and -C exclude each other");
	if (o->cgroups)
		err = add_cgroups(t, o->cgroups, to);
	if (err)
		return err;
	if (!t->per_thread)
		return set_cpus(t, o->cpus, to);
	vec_push(&t->cpus, -1);
	return 0;
}

void target_free(struct target *t)
{
	for (size_t i = 0; i < t->cgroups.n; i++) {
		close(t->cgroups.v[i].fd);
		free(t->cgroups.v[i].path);
	}
	vec_free(&t->cgroups);
	vec_free(&t->tasks);
	vec_free(&t->cpus);
}
