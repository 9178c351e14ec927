/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "arm_machine.h"

struct arm_machine m;

void machine_reset(void)
{
	static const u64 one = 1;

	memset(&m, 0, sizeof(m));
	m.now = 1000000000ull * 7;
	m.runs_until = m.stop_at = NEVER;
	m.stat = "4242 (a) S (b) R 1 2 3";
	m.words = 5;
	m.status = TRAPPED;
	m.step = &one;
	m.nr_step = 1;
}

static u64 ran_until(u64 ns)
{
	u64 until = MIN(ns, m.runs_until);

	return until <= m.pause ? until : MAX(m.pause, until - MIN(until - m.pause, m.resume - m.pause));
}

static void pass(u64 ns)
{
	u64 ran = ran_until(m.now + ns) - ran_until(m.now);

	if (m.on[0] && !m.apart && !m.real)
		for (u32 i = 0; i < 2; i++)
			m.count[i] += m.on[i] ? ran : 0;
	m.now += ns;
}

static u64 real_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	pass(100);
	m.asked_for_time++;
	*t = (struct timespec){ (time_t)(m.now / 1000000000), (long)(m.now % 1000000000) };
	return 0;
}

static void switch_on(u32 i)
{
	if (i && m.hiccups) {
		m.hiccups--;
		pass(m.hiccup);
	}
	if (i && m.apart && !m.on[1])
		m.count[0] += m.apart[MIN(m.armed, m.nr_apart - 1)];
	if (i && m.real && !m.on[1])
		m.count[0] += real_ns() - m.real_ns;
	if (!i && !m.on[0])
		m.base = m.count[0];
	m.began_whole[i] |= m.whole[i];
	m.distance = i ? m.count[0] - m.base : m.distance;
	m.armed += i;
	m.on[i] = true;
	m.whole[i] = false;
	if (!i && m.real)
		m.real_ns = real_ns();
}

int ioctl(int fd, unsigned long what, ...)
{
	u32 i = (u32)(fd - FIRST);
	va_list args;

	assert_true(i < 2);
	pass(200);
	va_start(args, what);
	if (what != PERF_EVENT_IOC_PERIOD)
		assert_int_equal(va_arg(args, int), 0); /* else it would be of the whole group */
	if (what == PERF_EVENT_IOC_ENABLE)
		switch_on(i);
	else if (what == PERF_EVENT_IOC_DISABLE)
		m.on[i] = false;
	if (what == PERF_EVENT_IOC_PERIOD) {
		m.whole[i] = !m.on[i] && *va_arg(args, u64 *) == PERIOD;
		m.began_whole[i] = false;
	}
	va_end(args);
	return 0;
}

ssize_t read(int fd, void *to, size_t size)
{
	const u64 words[] = { 2, 1, 1, m.count[0], m.count[1] }, wide[] = { 2, 1, 1, m.count[0], 1, m.count[1], 2 };
	size_t n = m.words * sizeof(u64);

	if (fd == STAT) {
		strncpy(to, m.stat, size);
		return (ssize_t)MIN(strlen(m.stat), size);
	}
	if (fd != FIRST)
		return syscall(SYS_read, fd, to, size);
	m.reads++;
	pass(300);
	if (!n)
		return -1;
	memcpy(to, m.words > 5 ? wide : words, n);
	return (ssize_t)n;
}

int open(const char *path, int flags, ...)
{
	if (strcmp(path, "/proc/4242/stat"))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0644);
	if (!m.stat)
		return -1;
	m.opened++;
	return STAT;
}

int close(int fd)
{
	if (fd != STAT)
		return (int)syscall(SYS_close, fd);
	m.opened--;
	return 0;
}

static void deliver(u64 sig)
{
	m.delivered += sig != 0;
	m.last_signal = sig ? (int)sig : m.last_signal;
}

static long peek(const struct __ptrace_peeksiginfo_args *from, siginfo_t *infos)
{
	u32 n = 0;

	for (u64 i = from->off; i < m.nr_pending && n < (u32)from->nr; i++)
		infos[n++] = (siginfo_t){ .si_signo = m.pending[i].sig, .si_code = m.pending[i].code };
	return n;
}

static long step(void)
{
	u64 by = m.step[MIN(m.steps, m.nr_step - 1)];

	m.steps++;
	m.status = TRAPPED;
	m.stop_at = m.now + 1000;
	if (m.steps != m.event_at || (m.event && m.event != HALTED))
		m.count[0] += m.on[0] ? by : 0;
	if (m.steps != m.event_at)
		return 0;
	m.status = m.event ? m.event : TRAPPED;
	m.ends = m.step_ends;
	m.stop_at = m.step_late ? NEVER : m.stop_at;
	return m.step_fails ? -1 : 0;
}

static long go_on(void)
{
	m.conts++;
	m.nr_pending -= !m.for_ever;
	m.status = TRAPPED;
	m.ends = m.cont_ends;
	m.stop_at = m.now + m.cont_ns;
	return m.cont_fails ? -1 : 0;
}

long ptrace(enum __ptrace_request request, ...)
{
	u64 addr, data;
	va_list args;

	va_start(args, request);
	assert_int_equal(va_arg(args, pid_t), TID);
	addr = va_arg(args, u64);
	data = va_arg(args, u64);
	va_end(args);
	assert_true(request == PTRACE_PEEKSIGINFO || !addr);
	assert_true(!data || (request != PTRACE_SEIZE && request != PTRACE_INTERRUPT));
	switch ((int)request) {
	case PTRACE_SEIZE:
		m.seized++;
		errno = m.seize_errno;
		return m.seize_errno ? -1 : 0;
	case PTRACE_INTERRUPT:
		m.interrupts++;
		m.stop_at = MAX(m.now + 1000, m.call_until);
		m.status = INTERRUPTED;
		return 0;
	case PTRACE_SINGLESTEP:
		deliver(data);
		return step();
	case PTRACE_CONT:
		deliver(data);
		return go_on();
	case PTRACE_PEEKSIGINFO:
		return peek((void *)addr, (void *)data);
	case PTRACE_DETACH:
		deliver(data);
		m.detached++;
		return m.detach_fails ? -1 : 0;
	default:
		fail();
		return -1;
	}
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	assert_true(type == P_PID && id == TID && options & WNOHANG && options & WNOWAIT);
	assert_true(m.holds);
	pass(500);
	if (m.waits_cut || m.absent) {
		errno = m.waits_cut ? EINTR : ECHILD;
		m.waits_cut -= m.waits_cut > 0;
		return -1;
	}
	if (m.now < m.stop_at)
		return 0;
	info->si_pid = TID;
	info->si_code = m.ends ? CLD_EXITED : m.status == TRAPPED ? CLD_TRAPPED : CLD_STOPPED;
	return 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	assert_true(pid == TID && options & WNOHANG);
	assert_true(m.now >= m.stop_at);
	m.reaped += m.ends;
	*status = m.ends ? 0 : m.status;
	m.stop_at = NEVER;
	return pid;
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *t)
{
	u64 ns = (u64)t->tv_sec * 1000000000 + (u64)t->tv_nsec;

	(void)info;
	assert_true(sigismember(set, SIGCHLD) && t->tv_nsec >= 0 && t->tv_nsec < 1000000000);
	pass(MIN(ns, m.stop_at > m.now ? m.stop_at - m.now : 0));
	return -1;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	m.holds = how == SIG_BLOCK || m.held;
	assert_true(how != SIG_BLOCK || sigismember(set, SIGCHLD));
	if (how == SIG_SETMASK)
		assert_int_equal(sigismember(set, SIGCHLD), m.held);
	if (!before)
		return 0;
	sigemptyset(before);
	if (m.held)
		sigaddset(before, SIGCHLD);
	return 0;
}

int kill(pid_t pid, int sig)
{
	assert_true(pid == getpid() && sig == SIGCHLD);
	m.told = true;
	return 0;
}

void are_armed(u64 least, u64 most)
{
	assert_true(m.on[0] && m.on[1]);
	assert_true(m.began_whole[0] && m.began_whole[1]);
	assert_in_range(m.distance, least, most);
}
