/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record_prime.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/commands.h"
#include "cmd/report_resolve.h"
#include "cmd/rights.h"
#include "state/cache.h"
#include "state/dso.h"

/* Of the processor: a thirtieth of it usually. On a busy machine that takes several times as long by the clock. */
#define MOST_CPU_S 3
#define MOST_MS 20000
#define MOST_FILES 512u
/* Of a recording whose inlined calls are asked for: about 80,000 samples with call graphs. */
#define LARGEST_ANSWERED (16 << 20)
#define LOWER_PRIORITY 2

struct primed_file {
	char *path;
	struct build_id id;
	u32 pid; /* 0: none */
	int fd;	 /* or -1 */
	bool kernel;
};

struct priming {
	VEC(struct primed_file) files;
};

struct priming *priming_new(void)
{
	return mem_zalloc(sizeof(struct priming));
}

void priming_free(struct priming *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->files.n; i++) {
		free(p->files.v[i].path);
		if (p->files.v[i].fd >= 0)
			close(p->files.v[i].fd);
	}
	vec_free(&p->files);
	free(p);
}

/* Each file of --switch-output tells them all. */
static bool is_known(const struct priming *p, const struct met_file *f)
{
	for (size_t i = 0; i < p->files.n; i++) {
		const struct primed_file *known = &p->files.v[i];

		if (known->id.size == f->id.size && !memcmp(known->id.id, f->id.id, f->id.size) &&
		    !strcmp(known->path, f->path))
			return true;
	}
	return false;
}

static void take_file(void *ctx, const struct met_file *f)
{
	struct priming *p = ctx;

	if (!f->id.size || p->files.n >= MOST_FILES || is_known(p, f))
		return;
	vec_push(&p->files, ((struct primed_file){ .path = mem_strdup(f->path),
						   .id = f->id,
						   .pid = f->pid == MET_NO_PID ? 0 : f->pid,
						   .fd = f->fd < 0 ? -1 : fcntl(f->fd, F_DUPFD_CLOEXEC, 0),
						   .kernel = f->kernel }));
}

struct record_met priming_met(struct priming *p)
{
	return (struct record_met){ take_file, p };
}

static void prime_file(struct dsos *d, const struct primed_file *f)
{
	bool map = !strcmp(f->path, "[kernel.kallsyms]");
	struct dso_key key = { .kind = !f->kernel ? DSO_FILE :
				       map	  ? DSO_KERNEL :
						    DSO_MODULE,
			       .path = { f->path, (u32)strlen(f->path) },
			       .pid = f->pid,
			       .build_id = f->id.id,
			       .build_id_size = f->id.size };
	u32 dso;

	dso = dsos_get(d, &key);
	if (f->fd >= 0)
		dsos_keep_build(d, dso, f->fd);
	else
		(void)dsos_symbol_at(d, dso, 0);
}

/* As a report would be asked for that nobody has given any option. The kernel comes first: whether its modules are
 * those that run is known by it. */
static void prime_all(const struct priming *p)
{
	const struct symbol_opts opts = { .demangle = true, .cache = true };
	struct dsos *d = dsos_new(&opts, NULL);

	for (int kernel = 1; kernel >= 0; kernel--)
		for (size_t i = 0; i < p->files.n; i++)
			if (p->files.v[i].kernel == (bool)kernel)
				prime_file(d, &p->files.v[i]);
	dsos_free(d);
}

/* The DWARF of what was met answers as it will answer the first report that nobody has given any option: such a report
 * is made, but for its rows. What is wrong is for the report itself to say. */
static void answer_first_report(const char *path)
{
	const struct notify nobody = { 0 };
	struct report_config c = { 0 };
	struct report_opts o = { 0 };
	struct window_use windows;
	struct selected s;
	struct session *session;
	struct profile *profile;

	cmd_report.defaults(&c);
	c.select.input = path;
	if (!report_resolve(&c, &s, &o, &windows, &nobody)) {
		s.pipeline.no_rows = true;
		if (!pipeline_profile(&s.pipeline, &session, &profile, &nobody)) {
			profile_free(profile);
			session_close(session);
		}
	}
	selected_free(&s);
}

static bool is_small(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= LARGEST_ANSWERED;
}

/* The recorder may have a real-time priority, or one above the usual. */
static void lower_priority(void)
{
	const struct sched_param usual = { 0 };

	sched_setscheduler(0, SCHED_OTHER, &usual);
	setpriority(PRIO_PROCESS, 0, MAX(getpriority(PRIO_PROCESS, 0), 0) + LOWER_PRIORITY);
}

static _Noreturn void prime(const struct priming *p, const char *answered, pid_t parent)
{
	const struct rlimit cpu = { MOST_CPU_S, MOST_CPU_S }, no_core = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	lower_priority();
	rights_drop();
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &no_core);
	prime_all(p);
	if (answered && is_small(answered))
		answer_first_report(answered);
	_exit(0);
}

/* An impatient Ctrl-C ends the child; the recording is finished, and so is the command, with its status. False: the
 * child did not come to its end. */
static bool await(pid_t child, int ended)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct pollfd p = { .fd = ended, .events = POLLIN };
	int status = 0;

	sigaction(SIGINT, &ignore, &before);
	if (poll(&p, 1, MOST_MS) <= 0)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	sigaction(SIGINT, &before, NULL);
	return WIFEXITED(status);
}

static void prime_apart(const struct priming *p, const char *answered, struct cache *cache)
{
	pid_t parent = getpid(), child;
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		close(pipe_fds[0]);
		prime(p, answered, parent);
	}
	close(pipe_fds[1]);
	if (child > 0 && !await(child, pipe_fds[0]))
		cache_drop_unfinished(cache, child);
	close(pipe_fds[0]);
}

void priming_run(const struct priming *p, const char *path, bool compressed)
{
	struct cache *cache = p->files.n ? cache_new(NULL) : NULL;

	if (cache)
		prime_apart(p, compressed ? NULL : path, cache);
	cache_free(cache);
}
