/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "codec/exec_head.h"
#include "sys/search_path.h"

#define SHELL "/bin/sh"
#define NOT_THERE 127
#define NOT_EXECUTABLE 126

static int refuse(struct sim_program *p, const char *command, int failed, const struct notify *to)
{
	p->status = failed == ENOENT ? NOT_THERE : NOT_EXECUTABLE;
	return notify_error(to,
			    failed == ENOENT ? ERR_NOTFOUND :
			    failed == EACCES ? ERR_PERM :
					       ERR_IO,
			    "cannot run '%s': %s", command, strerror(failed));
}

/* The first bytes of the file at path; 0 or an errno. */
static int read_head(const char *path, u8 head[EXEC_HEAD_SIZE], size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), failed;
	ssize_t got = fd >= 0 ? read(fd, head, EXEC_HEAD_SIZE) : -1;

	failed = got < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	*n = got > 0 ? (size_t)got : 0;
	return failed;
}

/* argv[0] becomes the script's path; before it come the interpreter and its argument. */
static void interpret(struct sim_program *p, struct str interp, struct str arg)
{
	char *first = mem_strndup(interp.p, interp.len);
	size_t more = arg.len ? 2 : 1;

	free(p->argv.v[0]);
	p->argv.v[0] = p->path;
	for (size_t i = 0; i < more; i++)
		vec_push(&p->argv, NULL);
	memmove(p->argv.v + more, p->argv.v, (p->argv.n - more) * sizeof(char *));
	p->argv.v[0] = first;
	if (arg.len)
		p->argv.v[1] = mem_strndup(arg.p, arg.len);
	p->path = mem_strdup(first);
}

/* Rights that QEMU, which runs with ours, does not get. */
static bool changes_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) || !geteuid())
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

static int check_elf(struct sim_program *p, const struct exec_head *head, const struct notify *to)
{
	u32 g;

	for (g = 0; g < NR_SIM_GUESTS; g++)
		if (head->is64 && head->little && sim_guests[g].machine == head->machine)
			break;
	if (g == NR_SIM_GUESTS)
		return notify_error(
			to, ERR_UNSUPPORTED,
			"%s is a %s-bit program for another machine (ELF machine %u): the virtual PMU runs "
			"x86_64 and aarch64 programs",
			p->path, head->is64 ? "64" : "32", head->machine);
	if (head->type != ET_EXEC && head->type != ET_DYN)
		return refuse(p, p->argv.v[0], ENOEXEC, to);
	p->guest = (enum sim_guest)g;
	if (changes_rights(p->path))
		return notify_error(
			to, ERR_UNSUPPORTED,
			"%s runs with different rights than its caller (set-uid, set-gid or capabilities), "
			"which the virtual PMU cannot give it",
			p->path);
	return 0;
}

int sim_program_find(struct sim_program *p, char *const command[], const struct notify *to)
{
	struct exec_head head;
	u8 bytes[EXEC_HEAD_SIZE];
	size_t n = 0;
	int failed;

	*p = (struct sim_program){ 0 };
	failed = search_path(command[0], &p->path);
	if (failed)
		return refuse(p, command[0], failed, to);
	p->name = mem_strdup(strrchr(p->path, '/') + 1);
	for (; *command; command++)
		vec_push(&p->argv, mem_strdup(*command));
	for (u32 depth = 0; depth <= EXEC_SCRIPTS_MAX; depth++) {
		failed = access(p->path, X_OK) ? errno : read_head(p->path, bytes, &n);
		if (failed)
			return refuse(p, p->path, failed, to);
		exec_head_decode(bytes, n, &head);
		if (head.kind == EXEC_ELF)
			return check_elf(p, &head, to);
		if (head.kind == EXEC_NONE && depth)
			return refuse(p, p->path, ENOEXEC, to);
		if (head.kind == EXEC_NONE)
			interpret(p, (struct str){ SHELL, strlen(SHELL) }, (struct str){ 0 });
		else
			interpret(p, head.interp, head.arg);
	}
	return refuse(p, p->path, ELOOP, to);
}

void sim_program_free(struct sim_program *p)
{
	free(p->path);
	free(p->name);
	for (size_t i = 0; i < p->argv.n; i++)
		free(p->argv.v[i]);
	vec_free(&p->argv);
	*p = (struct sim_program){ 0 };
}
