/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts and what happens around them: tasks that come, go and take turns, full counters, throttling, ioctls in
 * mid-batch. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static const struct turn turn = { 9100, 300, 3 };
enum { WHOLE = 10000, SHORT = 300, BATCH = 3 };

static struct attr attr_turn(void)
{
	return attr_burst(WHOLE, SHORT, BATCH);
}

/* -> number of tasks; each one's samples have to be bursts of its own. */
static bool each_task(const struct event *e, size_t *tasks, size_t *windows, char *figures)
{
	u32 seen[64];
	size_t n;

	*tasks = *windows = 0;
	for (size_t i = 0; i < e->n; i++) {
		size_t k = 0;

		while (k < *tasks && seen[k] != e->samples[i].tid)
			k++;
		if (k < *tasks || k == 64)
			continue;
		seen[(*tasks)++] = e->samples[i].tid;
		if (!is_burst(e, turn, e->samples[i].tid, false, &n, figures))
			return false;
		*windows += n;
	}
	return true;
}

static bool finish_tasks(struct event *e, size_t want, char *figures)
{
	size_t tasks, windows;

	event_disable(e);
	event_drain(e);
	bool ok = each_task(e, &tasks, &windows, figures);
	event_close(e);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX, "%zu tasks, each from a long period on; %zu of %zu windows exact", tasks,
		 windows, windows);
	return tasks == want && windows > 100 * want;
}

/* An inherited event: one ring for a CPU, for this task and all its children. */
static int open_inherited(struct event *e)
{
	struct attr a = attr_turn();

	pin(0);
	a.perf.inherit = 1;
	int err = event_open(e, &a, 0, 0);
	if (!err)
		event_enable(e);
	return err;
}

static void *thread(void *cycles)
{
	for (int i = 0; i < 20; i++) {
		work(*(u64 *)cycles / 20);
		sched_yield();
	}
	return NULL;
}

static bool run_threads(char *figures)
{
	u64 cycles[3] = { 2000000, 1500000, 1000000 };
	pthread_t threads[3];
	struct event e;
	int err = open_inherited(&e);

	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, &cycles[i]);
	work(1000000);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return finish_tasks(&e, 4, figures);
}

static bool run_fork_exec(char *figures)
{
	struct event e;
	int err = open_inherited(&e);

	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (!pid) {
			work(700000);
			if (i % 2)
				execl("/init", "init", "work", "700000", NULL);
			_exit(0);
		}
		work(300000);
		waitpid(pid, NULL, 0);
	}
	return finish_tasks(&e, 5, figures);
}

/* Starts processes that spin on this CPU, giving way all the time. */
static void start_rivals(pid_t *pids, int n)
{
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		for (;;) {
			work(7000);
			sched_yield();
		}
	}
}

static bool finish_exact(struct event *e, size_t least, const char *what, char *figures)
{
	size_t n;

	event_disable(e);
	event_drain(e);
	bool ok = is_burst(e, turn, 0, false, &n, figures);
	event_close(e);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX, "%s: %zu of %zu windows exact", what, n, n);
	return n >= least;
}

static bool run_switches(char *figures)
{
	struct attr a = attr_turn();
	struct event e;
	pid_t rivals[2];

	pin(0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	start_rivals(rivals, 2);
	event_enable(&e);
	for (int i = 0; i < 2000; i++) {
		work(3456);
		sched_yield();
	}
	stop_tasks(rivals, 2);
	return finish_exact(&e, 2500, "2000 switches away, two rivals", figures);
}

static bool run_migration(char *figures)
{
	struct attr a = attr_turn();
	struct event e;

	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	event_enable(&e);
	for (int i = 0; i < 200; i++) {
		pin(i % 2);
		work(23456);
	}
	pin(0);
	event_disable(&e);
	event_drain(&e);
	size_t on[2] = { 0 };
	for (size_t i = 0; i < e.n; i++)
		on[e.samples[i].cpu & 1]++;
	char what[64];
	snprintf(what, sizeof(what), "%zu samples on CPU 0, %zu on 1", on[0], on[1]);
	return finish_exact(&e, 1500, what, figures) && on[0] > 500 && on[1] > 500;
}

static bool run_per_cpu(char *figures)
{
	struct attr a = attr_turn();
	struct event e;
	pid_t rivals[2];

	pin(1);
	start_rivals(rivals, 2);
	pin(0);
	int err = event_open(&e, &a, -1, 1);
	if (!err) {
		event_enable(&e);
		usleep(40000); /* work here would keep QEMU from running the other CPU */
		event_disable(&e);
	}
	stop_tasks(rivals, 2);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	return finish_exact(&e, 1000, "all tasks of CPU 1", figures);
}

/* More events than counters: they take turns on the PMU. */
static bool run_multiplexing(char *figures)
{
	struct attr a = attr_turn(), other = attr_cycles(0);
	int fds[12];
	struct event e;

	pin(0);
	other.perf.config = PERF_COUNT_HW_INSTRUCTIONS;
	other.perf.disabled = 0;
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (int i = 0; i < 12; i++)
		fds[i] = perf_open(&other, 0, -1, -1);
	event_enable(&e);
	work(150000000);
	event_disable(&e);
	event_drain(&e);
	u64 count = e.n ? e.samples[e.n - 1].count : 0;
	for (int i = 0; i < 12; i++)
		close(fds[i]);
	char what[64];
	snprintf(what, sizeof(what), "counted %.0f %% of the time", count / 1.5e6);
	return finish_exact(&e, 1000, what, figures) && count < 120000000;
}

/* A pinned leader with a sibling, whose count over a window is exact as well. */
static bool run_group(char *figures)
{
	struct attr a = attr_turn(), other = attr_cycles(0);
	struct event e;
	size_t n, inexact = 0;

	pin(0);
	a.perf.pinned = 1;
	a.perf.read_format = other.perf.read_format = PERF_FORMAT_GROUP;
	other.perf.config = PERF_COUNT_HW_INSTRUCTIONS;
	other.perf.disabled = 0;
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	int fd = perf_open(&other, 0, -1, e.fd);
	event_enable(&e);
	work(5000000);
	event_disable(&e);
	event_drain(&e);
	for (size_t i = 1; i < e.n; i++) {
		const struct sample *s = &e.samples[i];

		/* Two cycles to an instruction. */
		inexact += 2 * (s->sibling - s[-1].sibling) != s->count - s[-1].count;
	}
	bool ok = is_burst(&e, turn, 0, false, &n, figures);
	event_close(&e);
	if (fd >= 0)
		close(fd);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX, "%zu windows exact; the sibling's instructions inexact in %zu", n, inexact);
	return n >= 1900 && !inexact;
}

/* ---- throttling */

static bool run_throttling(char *figures)
{
	struct event e;
	size_t n;

	set_sample_rate("10000");
	struct attr a = attr_turn();
	int err = event_run(&e, &a, 60000000);
	set_sample_rate("10000000");
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	bool ok = is_burst(&e, turn, 0, true, &n, figures);
	u64 throttled = e.throttled, unthrottled = e.unthrottled;
	event_close(&e);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX, "throttled %llu times, went on %llu times; %zu samples of 24000, all in turn",
		 (unsigned long long)throttled, (unsigned long long)unthrottled, n);
	return throttled > 5 && unthrottled + 1 >= throttled && n > 200 && n < 12000;
}

/* ---- ioctls */

/* 40 turns and a half, a new period, 40 more. */
static bool run_ioc_period(char *figures)
{
	struct attr a = attr_turn();
	struct event e;
	u64 value = 20000, bad = 1000, zero = 0;
	size_t n, m;

	int err = event_run(&e, &a, WHOLE * 40 + 9100 + 400);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	bool ok = is_burst(&e, turn, 0, false, &n, figures);
	if (ok && n != 40 * 4 + 2)
		ok = failed(figures, "%zu samples before the new period", n);
	if (ok && (!ioctl(e.fd, PERF_EVENT_IOC_PERIOD, &bad) || !ioctl(e.fd, PERF_EVENT_IOC_PERIOD, &zero)))
		ok = failed(figures, "a period with no room for the batch was taken");
	if (ok && ioctl(e.fd, PERF_EVENT_IOC_PERIOD, &value))
		ok = failed(figures, "PERF_EVENT_IOC_PERIOD: %s", strerror(errno));
	if (!ok) {
		event_close(&e);
		return false;
	}
	ioctl(e.fd, PERF_EVENT_IOC_RESET, 0);
	e.n = 0;
	event_enable(&e);
	work(value * 40);
	event_disable(&e);
	event_drain(&e);
	ok = is_burst(&e, (struct turn){ value - BATCH * SHORT, SHORT, BATCH }, 0, false, &m, figures);
	event_close(&e);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX,
		 "%zu windows of 10000 in all, cut short; %zu of 20000, from a long one on, all exact", n, m);
	return m >= 160;
}

/* While the event counts. */
static bool run_ioc_period_live(char *figures)
{
	struct attr a = attr_turn();
	struct event e;
	u64 values[2] = { 20000, WHOLE };
	size_t bad = 0, changes = 0;

	pin(0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	event_enable(&e);
	for (int i = 0; i < 200; i++) {
		work(54321);
		ioctl(e.fd, PERF_EVENT_IOC_PERIOD, &values[i % 2]);
	}
	event_disable(&e);
	event_drain(&e);
	for (size_t i = 1, shorts = 0; i < e.n; i++) {
		const struct sample *s = &e.samples[i];
		bool is_long = s->period == 9100 || s->period == 19100;

		/* A change may cut a batch off, and what it began with is longer by the period that was cut. */
		shorts = is_long ? 0 : shorts + 1;
		bool cut = s->count - s[-1].count != s->period;
		changes += cut;
		bad += (!is_long && (s->period != SHORT || shorts > BATCH || cut)) ||
		       (cut && s->count - s[-1].count < s->period);
	}
	size_t n = e.n;
	event_close(&e);
	snprintf(figures, FIGURES_MAX, "200 changes: %zu samples, %zu long periods after one cut off, %zu out of turn",
		 n, changes, bad);
	return !bad && changes > 150 && changes <= 200 && n > 2000;
}

static bool run_ioc_refresh(char *figures)
{
	struct attr a = attr_turn();
	struct event e;
	size_t at[4] = { 0 }, n;

	pin(0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (int i = 1; i < 4; i++) {
		ioctl(e.fd, PERF_EVENT_IOC_REFRESH, i + 1);
		work(10 * WHOLE);
		event_drain(&e);
		at[i] = e.n;
	}
	bool ok = is_burst(&e, turn, 0, true, &n, figures);
	event_close(&e);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX, "2, 3 and 4 samples: stopped after %zu, %zu, %zu; all in turn", at[1], at[2],
		 at[3]);
	return at[1] == 2 && at[2] == 5 && at[3] == 9;
}

static bool run_ioc_disable(char *figures)
{
	struct attr a = attr_turn();
	struct event e;

	pin(0);
	int err = event_open(&e, &a, 0, -1);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (int i = 0; i < 3000; i++) {
		event_enable(&e);
		work(1234);
		event_disable(&e);
	}
	return finish_exact(&e, 1400, "off and on 3000 times", figures);
}

static bool run_close(char *figures)
{
	struct attr a = attr_turn();
	int n = 0;

	pin(0);
	a.jitter = 50;
	for (; n < 5000; n++) {
		int fd = perf_open(&a, 0, -1, -1);

		if (fd < 0)
			return failed(figures, "open %d: %s", n, strerror(-fd));
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work(9000 + n % 2000);
		close(fd);
	}
	return passed(figures, "%d events opened, and closed somewhere in a batch", n);
}

/* popen, without a shell: there is none. */
static FILE *popen_program(const char *path)
{
	int ends[2];

	if (pipe(ends))
		return NULL;
	pid_t pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		execl(path, path, NULL);
		_exit(127);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* One of the series' own tests, where the lab has put it beside this program: all of it runs on this machine. */
static bool selftest(const char *path, int tests, char *figures)
{
	char line[256], first[64] = "", *at;
	int passes = -1, failures = -1, skips = -1;
	FILE *out = popen_program(path);

	if (!out)
		return failed(figures, "no selftest");
	while (fgets(line, sizeof(line), out)) {
		if ((at = strstr(line, "# Totals:")))
			sscanf(at, "# Totals: pass:%d fail:%d xfail:%*d xpass:%*d skip:%d", &passes, &failures,
			       &skips);
		if (!first[0] &&
		    (!strncmp(line, "not ok ", 7) || (!strncmp(line, "ok ", 3) && strstr(line, "# SKIP"))))
			sscanf(strstr(line, "ok "), "ok %*d %63[^\n]", first);
	}
	fclose(out);
	snprintf(figures, FIGURES_MAX, "%s: %d of %d passed, %d failed, %d skipped%s%s", path, passes, tests, failures,
		 skips, first[0] ? ": " : "", first);
	return passes == tests && !failures && !skips;
}

static bool run_selftest(char *figures)
{
	return selftest("/selftest-burst_sampling", 20, figures);
}

static bool run_selftest_tls(char *figures)
{
	return selftest("/selftest-tls_user", 7, figures);
}

const struct scenario task_scenarios[] = {
	{ "threads", run_threads, PATCHED },
	{ "fork-exec", run_fork_exec, PATCHED },
	{ "switches", run_switches, PATCHED },
	{ "migration", run_migration, PATCHED },
	{ "per-cpu", run_per_cpu, PATCHED | COUNTS },
	{ "multiplexing", run_multiplexing, PATCHED },
	{ "group", run_group, PATCHED },
	{ "throttling", run_throttling, PATCHED },
	{ "ioc-period", run_ioc_period, PATCHED | COUNTS },
	{ "ioc-period-live", run_ioc_period_live, PATCHED },
	{ "ioc-refresh", run_ioc_refresh, PATCHED },
	{ "ioc-disable", run_ioc_disable, PATCHED },
	{ "close", run_close, PATCHED },
	{ "selftest", run_selftest, PATCHED },
	{ "selftest-tls", run_selftest_tls, PATCHED },
	{ 0 },
};
