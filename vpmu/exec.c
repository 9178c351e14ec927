/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execve.
 *
 * Left to QEMU, an execve would end the emulation: the system starts the new program as it is. So when one can be
 * followed, we start QEMU with it instead, with the arguments that the recorder chose for the first program. What
 * would fail is left to QEMU, for the guest to see the system's own error; so is what cannot be followed, which is
 * counted.
 *
 * What the program must not notice:
 *   - scripts: the system runs their interpreter, up to five deep, and so do we;
 *   - /proc/self/exe is QEMU here, and has to be the program;
 *   - the environment arrives in the order in which it was given. QEMU turns it round, so it gets it turned round.
 *     Variables of the dynamic loader are for the program, not for QEMU, and go by -E, so they come first (-E splits
 *     values at commas: one with a comma stays in the environment). QEMU also drops what is no NAME=VALUE, and
 * doubles;
 *   - descriptors, signal mask and ignored signals pass by themselves.
 *
 * Nothing can fail behind the last word of the old program but execve itself (too many arguments, no memory): then the
 * thread's counts begin anew, and the guest sees QEMU's attempt fail likewise.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "codec/exec_head.h"
#include "vpmu/core.h"
#include "vpmu/tasks_impl.h"

#define STRING_MAX (128u << 10) /* Linux: MAX_ARG_STRLEN */
#define STRINGS_MAX (8u << 20)	/* more cannot be passed on anyway: 3/4 of the largest stack limit */

typedef VEC(char *) strings;

struct program {
	char *path;   /* of the ELF file */
	strings argv; /* what its main gets */
	char comm[16];
	bool arm64;
	bool closes; /* the system would run it by a descriptor that closes then: QEMU comes too late to open it */
};

static void strings_free(strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	vec_free(s);
}

static void strings_insert(strings *s, size_t at, char *text)
{
	vec_push(s, NULL);
	memmove(s->v + at + 1, s->v + at, (s->n - 1 - at) * sizeof(*s->v));
	s->v[at] = text;
}

static char *text_at(u64 address, size_t max)
{
	struct bytes b = { 0 };

	if (!guest_text(address, max, &b)) {
		bytes_free(&b);
		return NULL;
	}
	bytes_char(&b, 0);
	return (char *)b.p;
}

/* A list of pointers to text that ends with NULL; no list counts as an empty one. */
static bool strings_read(u64 address, strings *out)
{
	size_t total = 0;
	u64 pointer;

	for (; address; address += sizeof(pointer)) {
		char *text;

		if (!guest_read(address, &pointer, sizeof(pointer)))
			return false;
		if (!pointer)
			break;
		text = text_at(pointer, STRING_MAX);
		if (!text)
			return false;
		vec_push(out, text);
		total += strlen(text) + 1 + sizeof(pointer);
		if (total > STRINGS_MAX)
			return false;
	}
	return true;
}

/* The guest's own program, where the system knows only QEMU. */
static bool is_own_exe(const struct vprocess *p, const char *path)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/%d/exe", p->real_pid);
	return !strcmp(path, own) || !strcmp(path, "/proc/self/exe") || !strcmp(path, "/proc/thread-self/exe");
}

/* The file that is named, by a path that stays right in the new program; NULL: the system shall say why not. */
static char *named_file(const struct vprocess *p, s64 dirfd, const char *path, u64 flags, bool *closes)
{
	struct stat st;

	if (is_own_exe(p, path))
		return mem_strdup(p->tasks->program);
	if (flags & ~(u64)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) || (!*path && !(flags & AT_EMPTY_PATH)))
		return NULL;
	if (flags & AT_SYMLINK_NOFOLLOW && !fstatat((int)dirfd, path, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return NULL;
	if (dirfd == AT_FDCWD || *path == '/')
		return *path ? mem_strdup(path) : NULL;
	*closes = fcntl((int)dirfd, F_GETFD) & FD_CLOEXEC;
	return *path ? mem_printf("/dev/fd/%d/%s", (int)dirfd, path) : mem_printf("/dev/fd/%d", (int)dirfd);
}

/* A descriptor's file by its name, which outlives the descriptor. */
static bool find_by_name(struct program *g)
{
	char *target = realpath(g->path, NULL);
	struct stat st;

	if (!target || stat(target, &st)) {
		free(target);
		return false;
	}
	free(g->path);
	g->path = target;
	return true;
}

/* Whether the system would give the program rights that QEMU cannot have. */
static bool gains_rights(int fd, const struct stat *st)
{
	if (geteuid() == 0)
		return false;
	return st->st_mode & S_ISUID || (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ||
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static bool can_run(const struct vprocess *p, const struct exec_head *h, bool *arm64)
{
	if (!h->is64 || !h->little || (h->type != ET_EXEC && h->type != ET_DYN))
		return false;
	*arm64 = h->machine == EM_AARCH64;
#ifdef __x86_64__
	/* Natively it would not run. */
	if (*arm64 && !p->arm64)
		return false;
#else
	if (h->machine == EM_X86_64 && p->arm64)
		return false;
#endif
	return *arm64 ? *p->control->qemu_aarch64 : h->machine == EM_X86_64 && *p->control->qemu_x86_64;
}

enum verdict { FOLLOW, SCRIPT, LEAVE, ESCAPES };

/* What stands at path. text holds the head that h points into. */
static enum verdict look_at(const struct vprocess *p, const char *path, char text[EXEC_HEAD_SIZE], struct exec_head *h,
			    bool *arm64)
{
	enum verdict v = LEAVE;
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return LEAVE;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ESCAPES; /* QEMU cannot read it either */
	n = pread(fd, text, EXEC_HEAD_SIZE, 0);
	exec_head_decode(text, n > 0 ? (size_t)n : 0, h);
	if (h->kind == EXEC_SCRIPT)
		v = SCRIPT;
	else if (h->kind == EXEC_ELF)
		v = can_run(p, h, arm64) && !gains_rights(fd, &st) ? FOLLOW : ESCAPES;
	close(fd);
	return v;
}

/* From what was named to what runs: argv becomes interpreter, its argument, the script, the rest. */
static enum verdict resolve(const struct vprocess *p, struct program *g)
{
	char text[EXEC_HEAD_SIZE];
	struct exec_head h;

	for (u32 depth = 0; depth <= EXEC_SCRIPTS_MAX; depth++) {
		enum verdict v = look_at(p, g->path, text, &h, &g->arm64);

		if (v != SCRIPT)
			return v;
		if (g->argv.n) {
			free(g->argv.v[0]);
			g->argv.v[0] = g->path;
		} else {
			strings_insert(&g->argv, 0, g->path);
		}
		if (h.arg.len)
			strings_insert(&g->argv, 0, mem_strndup(h.arg.p, h.arg.len));
		g->path = mem_strndup(h.interp.p, h.interp.len);
		strings_insert(&g->argv, 0, mem_strdup(g->path));
		if (is_own_exe(p, g->path))
			return LEAVE;
	}
	return LEAVE;
}

/* The plugin's own arguments; QEMU wants commas doubled in its path. */
static char *plugin_argument(struct vthread *t, const struct program *g, int events)
{
	const struct vpmu_control *control = t->process->control;
	struct bytes b = { 0 };

	for (const char *c = control->plugin; *c; c++) {
		bytes_char(&b, *c);
		if (*c == ',')
			bytes_char(&b, ',');
	}
	bytes_printf(&b, ",control=%s,pid=%u,ppid=%u,clock=%llu", control->control_path, t->pid,
		     t->process->tasks->ppid, (unsigned long long)tasks_time(t));
	if (events >= 0)
		bytes_printf(&b, ",events=%d", events);
	bytes_str(&b, ",comm=");
	for (const char *c = g->comm; *c; c++)
		bytes_hex_pad(&b, (u8)*c, 2, '0');
	bytes_char(&b, 0);
	return (char *)b.p;
}

static bool is_loaders(const char *variable)
{
	return !strncmp(variable, "LD_", 3) && !strchr(variable, ',');
}

static void add(strings *s, const char *text)
{
	vec_push(s, mem_strdup(text));
}

static void make_command(struct vthread *t, struct program *g, int events, strings *env, strings *argv,
			 strings *qemu_env)
{
	const struct vpmu_control *control = t->process->control;

	add(argv, g->arm64 ? control->qemu_aarch64 : control->qemu_x86_64);
	add(argv, "-plugin");
	vec_push(argv, plugin_argument(t, g, events));
	add(argv, "-seed");
	vec_push(argv, mem_printf("%llu", (unsigned long long)control->options.seed));
	if (g->arm64 && *control->sysroot) {
		add(argv, "-L");
		add(argv, control->sysroot);
	}
	for (size_t i = env->n; i-- > 0;) {
		if (is_loaders(env->v[i]))
			add(argv, "-E");
		add(is_loaders(env->v[i]) ? argv : qemu_env, env->v[i]);
	}
	add(argv, "-0");
	add(argv, g->argv.n ? g->argv.v[0] : "");
	add(argv, g->path);
	for (size_t i = 1; i < g->argv.n; i++)
		add(argv, g->argv.v[i]);
	vec_push(argv, NULL);
	vec_push(qemu_env, NULL);
}

/* The old program ends as far as it is recorded. */
static void end_program(struct vthread *t)
{
	truth_tell(t);
	if (t->sampler)
		sampler_stop(t);
	tasks_before_exec(t);
	t->execs = true;
}

void exec_failed(struct vthread *t)
{
	if (!t->execs)
		return;
	t->execs = false;
	tasks_after_exec(t);
	core_forked(t);
	sampler_start(t);
	truth_start(t);
}

static void start_qemu(struct vthread *t, struct program *g, strings *env)
{
	strings argv = { 0 }, qemu_env = { 0 };
	int events = sampler_exec_prepare();

	make_command(t, g, events, env, &argv, &qemu_env);
	sampler_exec(t, events);
	end_program(t);
	execve(argv.v[0], argv.v, qemu_env.v);
	sampler_take_over(&t->carried, t->process->control->options.truth, events);
	exec_failed(t);
	strings_free(&argv);
	strings_free(&qemu_env);
}

/* Not without rights that were given up, in another root, or once the recorder is gone. */
static bool can_be_recorded(const struct vprocess *p)
{
	const struct vpmu_control *control = p->control;
	struct stat st;

	/* What another user may reach by capabilities, it may not reach behind the exec, which takes them. */
	return !faccessat(AT_FDCWD, control->control_path, R_OK | W_OK, AT_EACCESS) &&
	       !faccessat(AT_FDCWD, control->plugin, R_OK, AT_EACCESS) && !lstat(control->control_path, &st) &&
	       (!geteuid() || geteuid() == st.st_uid);
}

static void set_comm(struct program *g, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	memcpy(g->comm, name, strnlen(name, sizeof(g->comm) - 1));
}

void exec_follow(struct vthread *t, s64 dirfd, u64 path, u64 argv, u64 envp, u64 flags)
{
	struct vprocess *p = t->process;
	struct program g = { 0 };
	strings env = { 0 };
	char *given = text_at(path, PATH_MAX);
	enum verdict v = LEAVE;

	g.path = given ? named_file(p, dirfd, given, flags, &g.closes) : NULL;
	if (g.path && strings_read(argv, &g.argv) && strings_read(envp, &env)) {
		set_comm(&g, *given ? given : g.path);
		v = !g.closes || find_by_name(&g) ? resolve(p, &g) : ESCAPES;
		if (v == FOLLOW && !can_be_recorded(p))
			v = ESCAPES;
	}
	if (v == FOLLOW) {
		start_qemu(t, &g, &env);
	} else if (v == ESCAPES) {
		atomic_fetch_add(&p->control->escaped, 1);
		end_program(t);
	}
	strings_free(&g.argv);
	strings_free(&env);
	free(g.path);
	free(given);
}
