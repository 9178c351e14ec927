/* SPDX-License-Identifier: Apache-2.0 */
/* Twins that are armed on a machine that is made up: its time passes with each call, its counters move with the time
 * of a task or by its steps, and the task stops when, and for what, it is told to. */
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

#include "codec/perf_abi.h"
#include "windows/arm.h"

#define TID 4242
#define FIRST 100000 /* descriptors: the leader, its twin, and /proc/TID/stat */
#define SECOND 100001
#define STAT 100002
#define PERIOD 5000000
#define LENGTH 50000 /* ns */
#define STEPPED 100  /* the length of what is armed by steps */
#define NEVER UINT64_MAX
#define MS 1000000
#define STOPPED_FOR(sig) ((sig) << 8 | 0x7f)
#define TRAPPED STOPPED_FOR(SIGTRAP)
#define INTERRUPTED (PTRACE_EVENT_STOP << 16 | TRAPPED)
#define HALTED (PTRACE_EVENT_STOP << 16 | STOPPED_FOR(SIGSTOP))

static struct {
	u64 now, runs_until; /* until then the task runs, and its clocks with it */
	const char *stat;    /* NULL: there is no such task */
	u32 opened, reads, words, asked_for_time;
	/* counters */
	bool on[2], whole[2],
		began_whole[2];	      /* a whole period lies before it; and did when it was switched on first */
	u64 count[2], base, distance; /* between the two switches */
	u32 armed;		      /* so often was the second one switched on */
	u32 hiccups;		      /* so many times the machine stands still before that, */
	u64 hiccup;		      /* for so long */
	const u64 *apart; /* hardware counters: how far the switches came apart, the last one again and again */
	u32 nr_apart;
	/* the task */
	u64 stop_at; /* its next stop, */
	int status;  /* and what it is for */
	bool ends, absent;
	u64 call_until; /* it is in a system call until then */
	u32 waits_cut;	/* so many times waiting is interrupted */
	const u64 *step;
	u32 nr_step, steps, event_at; /* the step at which something else happens: */
	int event;		      /* a stop for this; 0: */
	bool step_ends, step_late, step_fails, cont_fails, detach_fails, cont_ends;
	int seize_errno;
	u64 cont_ns;
	struct {
		int sig, code;
	} pending[70]; /* signals */
	u32 nr_pending;
	bool for_ever;
	u32 seized, interrupts, conts, detached, reaped, delivered;
	int last_signal;
	/* of ourselves */
	bool holds, held, told;
} m;

static void reset(void)
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

static const struct window_pair clocks = { FIRST, SECOND, PERIOD, LENGTH, true },
				counters = { FIRST, SECOND, PERIOD, STEPPED, false };

/* --- the machine --- */

static void pass(u64 ns)
{
	u64 until = MIN(m.now + ns, m.runs_until);

	if (m.on[0] && until > m.now && !m.apart)
		for (u32 i = 0; i < 2; i++)
			m.count[i] += m.on[i] ? until - m.now : 0;
	m.now += ns;
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
	if (!i && !m.on[0])
		m.base = m.count[0];
	m.began_whole[i] |= m.whole[i];
	m.distance = i ? m.count[0] - m.base : m.distance;
	m.armed += i;
	m.on[i] = true;
	m.whole[i] = false;
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

/* --- tests --- */

/* Both are on, at this distance, and began a whole period with it. */
static void are_armed(u64 least, u64 most)
{
	assert_true(m.on[0] && m.on[1]);
	assert_true(m.began_whole[0] && m.began_whole[1]);
	assert_in_range(m.distance, least, most);
}

/* The fourth word is what a group's leader has counted. */
static void test_count(void **state)
{
	(void)state;
	for (u32 words = 0; words <= 5; words++) {
		reset();
		m.count[0] = 77;
		m.words = words;
		assert_int_equal(window_count(FIRST), words >= 4 ? 77 : 0);
	}
}

/* A machine that stands still between the two switches makes a window too long; it is tried again, not for ever. */
static void test_clock_here(void **state)
{
	(void)state;
	for (u32 hiccups = 0; hiccups < 5; hiccups++) {
		reset();
		m.hiccups = hiccups;
		m.hiccup = LENGTH;
		assert_int_equal(window_arm_here(&clocks), WINDOW_ARMED);
		are_armed(LENGTH, LENGTH + (hiccups < 3 ? 2000 : LENGTH + 2000));
		assert_int_equal(m.armed, MIN(hiccups + 1, 3u));
	}
	/* One that does not count is given up after 10 ms, and is on. */
	reset();
	m.runs_until = 0;
	assert_int_equal(window_arm_here(&clocks), WINDOW_CUT_SHORT);
	assert_in_range(m.now, 7000 * (u64)MS + 10 * MS, 7000 * (u64)MS + 11 * MS);
	assert_true(m.on[0] && !m.on[1]);
}

/* What the switches of hardware counters come to, try by try: until it is the length, or near enough. */
static void test_counters_here(void **state)
{
	static const struct {
		u64 apart[5];
		u32 n, tries; /* 0: any number below 100 */
		u64 least, most;
	} rows[] = {
		{ { STEPPED }, 1, 1, STEPPED, STEPPED },
		/* Interrupts came between: the least of three is what no spin comes to. */
		{ { STEPPED + 1, STEPPED + 9, 10, STEPPED }, 4, 4, STEPPED, STEPPED },
		{ { STEPPED + 1, 10, STEPPED }, 3, 3, STEPPED, STEPPED },
		{ { STEPPED + 1, STEPPED + 1, STEPPED + 1, 10 }, 4, 3, STEPPED + 1, STEPPED + 1 },
		{ { 10, 30, 50, STEPPED }, 4, 4, STEPPED, STEPPED },
		{ { 10, STEPPED - 1 }, 2, 0, STEPPED - 1, STEPPED - 1 },
		{ { 10, STEPPED / 2 }, 2, 0, STEPPED / 2, STEPPED / 2 },
	};
	u32 tries[ARRAY_LEN(rows)];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		for (u32 words = 5; words <= 7;
		     words += 2) { /* the second's value stands behind the first's, or its id */
			reset();
			m.words = words;
			m.apart = rows[i].apart;
			m.nr_apart = rows[i].n;
			assert_int_equal(window_arm_here(&counters), WINDOW_ARMED);
			are_armed(rows[i].least, rows[i].most);
			assert_true(rows[i].tries ? m.armed == rows[i].tries : m.armed < 100);
			tries[i] = m.armed;
		}
	assert_true(tries[6] > tries[5] && tries[5] > 8); /* what is near is good enough after some tries */
}

/* Where a spin does not move the counter it is watched like a clock. */
static void test_counters_watched(void **state)
{
	static const u64 none[] = { 0 }, little[] = { 10 };
	struct window_pair far = counters;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		reset();
		far.length = i ? 1ull << 40 : STEPPED;
		m.apart = i ? little : none;
		m.nr_apart = 1;
		assert_int_equal(window_arm_here(&far), WINDOW_CUT_SHORT); /* it does not come to that, either */
		assert_in_range(m.now, 7000 * (u64)MS + 10 * MS, 7000 * (u64)MS + 11 * MS);
		assert_true(m.on[0] && !m.on[1]);
	}
}

/* Each is off while another is armed, if there is another. */
static void test_all_here(void **state)
{
	const struct window_pair both[] = { clocks, clocks };

	(void)state;
	for (u32 n = 1; n <= 2; n++) {
		reset();
		window_arm_all_here(both, n);
		are_armed(LENGTH, LENGTH + 2000);
		assert_int_equal(m.armed, n);
		assert_int_equal(m.base > LENGTH, n == 2); /* it was off in between */
	}
}

/* Clocks of a task that runs elsewhere. Who does not run is left alone, but samples. */
static void test_watched(void **state)
{
	static const struct {
		const char *stat;
		u64 runs; /* for so long */
		u32 hiccups;
		enum window_armed armed;
		u32 tries;
	} rows[] = {
		{ "4242 (a) S (b) R 1", NEVER, 0, WINDOW_ARMED, 1 },
		{ "4242 (a) R (b) S 1", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "4242 (a)R 1", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "4242 R 1", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ NULL, NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "4242 (a) R 1", 0, 0, WINDOW_WAITS, 0 },
		{ "4242 (a) R 1", LENGTH / 2, 0, WINDOW_CUT_SHORT, 0 },
		{ "4242 (a) R 1", NEVER, 1, WINDOW_ARMED, 2 },
		{ "4242 (a) R 1", NEVER, 2, WINDOW_ARMED, 3 },
		{ "4242 (a) R 1", NEVER, 3, WINDOW_CUT_SHORT, 3 },
		{ "4242 (a) R 1", 2 * LENGTH, 1, WINDOW_CUT_SHORT, 1 }, /* it stops before it is tried again */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		enum window_armed armed;
		u64 begin;

		reset();
		begin = m.now;
		m.stat = rows[i].stat;
		m.runs_until = rows[i].runs == NEVER ? NEVER : m.now + rows[i].runs;
		m.hiccups = rows[i].hiccups;
		m.hiccup = LENGTH;
		armed = window_arm_watched(TID, &clocks);
		if (armed != rows[i].armed || m.armed != rows[i].tries)
			fail_msg("row %u: %d", i, armed);
		assert_true(m.on[0] && !m.opened);
		if (rows[i].armed == WINDOW_ARMED)
			are_armed(LENGTH, LENGTH + 2000);
		else
			assert_false(m.on[1]);
		/* Three windows, and some time to see that nothing moves. */
		assert_true(m.now - begin < 3 * 2 * LENGTH + 200000);
		if (rows[i].armed == WINDOW_WAITS)
			assert_in_range(m.now - begin, 20000, 25000);
	}
}

/* A counter that runs elsewhere is disturbed by reading it: that is done near the end alone. */
static void test_read_rarely(void **state)
{
	struct window_pair longer = clocks;

	(void)state;
	for (longer.length = 20000; longer.length <= 2000000; longer.length *= 10) {
		reset();
		assert_int_equal(window_arm_watched(TID, &longer), WINDOW_ARMED);
		are_armed(longer.length, longer.length + 2000);
		assert_true(m.reads < 40);
	}
}

/* As many steps as come nearest to the length, and the same for all lengths of steps. */
static void test_steps(void **state)
{
	static const struct {
		u64 step[4];
		u32 n;
		u64 distance;
	} rows[] = {
		{ { 1 }, 1, 100 },
		{ { 7 }, 1, 98 },
		{ { 9 }, 1, 99 },
		{ { 60 }, 1, 120 },
		{ { 80 }, 1, 80 },
		{ { 0, 0, 0, 50 }, 4, 100 },
		{ { 200 }, 1, 200 },
		{ { 201, 50, 50 }, 3, 100 },
		{ { 201, 300, 100 }, 3, 100 },
		{ { 201, 202, 203 }, 3, 203 },
		{ { 99, 201, 100 }, 2, 99 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		reset();
		m.runs_until = 0; /* time says nothing */
		m.step = rows[i].step;
		m.nr_step = rows[i].n;
		assert_int_equal(window_arm_stepped(TID, true, &counters, false), WINDOW_ARMED);
		are_armed(rows[i].distance, rows[i].distance);
		assert_true(m.seized == 1 && m.interrupts == 1 && m.detached == 1 && !m.delivered && !m.conts);
		assert_int_equal(m.armed, 1);
	}
}

/* Counters that are not on the hardware do not move, and no task is stepped for ever. */
static void test_steps_in_vain(void **state)
{
	static const u64 none = 0;
	struct window_pair far = counters;

	(void)state;
	far.length = 100000;
	for (u32 moves = 0; moves < 2; moves++) {
		reset();
		m.runs_until = 0;
		m.step = moves ? m.step : &none;
		assert_int_equal(window_arm_stepped(TID, true, &far, false), WINDOW_CUT_SHORT);
		assert_true(m.on[0] && !m.on[1] && m.detached == 1);
		assert_in_range(m.steps, moves ? 10000 : 100, moves ? 50000 : 1000);
	}
	/* A thousand are none too many. */
	reset();
	m.runs_until = 0;
	far.length = 1000;
	assert_int_equal(window_arm_stepped(TID, true, &far, false), WINDOW_ARMED);
}

/* What may be the matter with a task that is stopped or stepped. */
static void test_troubles(void **state)
{
	static const struct {
		const char *what;
		enum window_armed armed;
		const char *stat;
		int seize_errno;
		bool absent;
		u64 call_ns; /* it does not stop for so long */
		u32 event_at;
		int event;
		bool ends, late, fails, detach_fails;
		int delivered;
	} rows[] = {
		{ .what = "asleep", .armed = WINDOW_ASLEEP, .stat = "4242 (a) S 1" },
		{ .what = "ended", .armed = WINDOW_GONE, .seize_errno = ESRCH },
		{ .what = "forbidden", .armed = WINDOW_FORBIDDEN, .seize_errno = EPERM },
		{ .what = "ended when waited for", .armed = WINDOW_GONE, .absent = true },
		{ .what = "stops soon", .armed = WINDOW_ARMED, .call_ns = 1900000 },
		{ .what = "stops late", .armed = WINDOW_SEIZED, .call_ns = 2100000 },
		{ .what = "ends by a step", .armed = WINDOW_GONE, .event_at = 5, .ends = true },
		{ .what = "cannot step", .armed = WINDOW_GONE, .event_at = 5, .fails = true },
		{ .what = "cannot be let go", .armed = WINDOW_GONE, .detach_fails = true },
		{ .what = "a signal between",
		  .armed = WINDOW_ARMED,
		  .event_at = 5,
		  .event = STOPPED_FOR(SIGUSR1),
		  .delivered = SIGUSR1 },
		{ .what = "a signal at the last step",
		  .armed = WINDOW_ARMED,
		  .event_at = STEPPED,
		  .event = STOPPED_FOR(SIGUSR2),
		  .delivered = SIGUSR2 },
		{ .what = "halted", .armed = WINDOW_CUT_SHORT, .event_at = 5, .event = HALTED },
		{ .what = "a step into a call", .armed = WINDOW_CUT_SHORT, .event_at = 5, .late = true },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		enum window_armed armed;

		reset();
		m.runs_until = 0;
		m.stat = rows[i].stat ? rows[i].stat : m.stat;
		m.seize_errno = rows[i].seize_errno;
		m.absent = rows[i].absent;
		m.call_until = m.now + rows[i].call_ns;
		m.event_at = rows[i].event_at;
		m.event = rows[i].event;
		m.step_ends = rows[i].ends;
		m.step_late = rows[i].late;
		m.step_fails = rows[i].fails;
		m.detach_fails = rows[i].detach_fails;
		m.held = i % 2;
		m.waits_cut = 3; /* which says nothing */
		armed = window_arm_stepped(TID, true, &counters, false);
		if (armed != rows[i].armed)
			fail_msg("%s: %d", rows[i].what, armed);
		assert_int_equal(m.last_signal, rows[i].delivered);
		assert_int_equal(m.delivered, rows[i].delivered != 0);
		assert_true(m.on[0]);
		assert_int_equal(m.on[1], armed == WINDOW_ARMED || rows[i].detach_fails);
		assert_int_equal(m.detached,
				 armed == WINDOW_ARMED || armed == WINDOW_CUT_SHORT || rows[i].detach_fails);
		assert_int_equal(m.seized, !rows[i].stat);
		/* A SIGCHLD that was blocked may have been taken, and is sent again. */
		assert_int_equal(m.told, m.held);
		assert_int_equal(m.holds, m.held);
	}
}

/* The end of our own child is for others to see; that of another's task is ours. */
static void test_ends(void **state)
{
	(void)state;
	for (u32 child = 0; child < 2; child++) {
		reset();
		m.event_at = 3;
		m.step_ends = true;
		assert_int_equal(window_arm_stepped(TID, child, &counters, false), WINDOW_GONE);
		assert_int_equal(m.reaped, !child);
	}
}

/* One that has been told to stop is asked again without waiting, and told once. */
static void test_seized(void **state)
{
	u64 begin;

	(void)state;
	reset();
	m.runs_until = 0;
	begin = m.now;
	assert_int_equal(window_arm_stepped(TID, true, &counters, true), WINDOW_SEIZED);
	assert_true(m.now - begin < 5000 && !m.seized && !m.interrupts);
	m.stop_at = m.now;
	m.status = INTERRUPTED;
	assert_int_equal(window_arm_stepped(TID, true, &counters, true), WINDOW_ARMED);
	are_armed(STEPPED, STEPPED);
	assert_true(!m.seized && !m.interrupts && m.detached == 1);
}

/* The trap of a step that was late is still to come, wherever it stands among the signals; those that others sent are
 * none. */
static void test_traps(void **state)
{
	static const struct {
		u32 at; /* behind so many others */
		int sig, code;
		bool for_ever, cont_fails, cont_ends;
		u64 cont_ns;
		enum window_armed armed;
		u32 conts;
	} rows[] = {
		{ 0, SIGTRAP, TRAP_TRACE, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 31, SIGTRAP, 1, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 32, SIGTRAP, TRAP_TRACE, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 68, SIGTRAP, TRAP_TRACE, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 4, SIGTRAP, SI_USER, .armed = WINDOW_CUT_SHORT },
		{ 4, SIGTRAP, SI_TKILL, .armed = WINDOW_CUT_SHORT },
		{ 4, SIGUSR1, 1, .armed = WINDOW_CUT_SHORT },
		{ 0, SIGTRAP, TRAP_TRACE, .for_ever = true, .armed = WINDOW_SEIZED, .conts = 16 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_fails = true, .armed = WINDOW_GONE, .conts = 1 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_ends = true, .armed = WINDOW_GONE, .conts = 1 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_ns = 1900000, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_ns = 2100000, .armed = WINDOW_SEIZED, .conts = 1 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		reset();
		m.runs_until = 0;
		m.event_at = 5;
		m.step_late = true;
		for (u32 k = 0; k < rows[i].at; k++)
			m.pending[k].sig = SIGUSR2;
		m.pending[rows[i].at].sig = rows[i].sig;
		m.pending[rows[i].at].code = rows[i].code;
		m.nr_pending = rows[i].at + 1;
		m.for_ever = rows[i].for_ever;
		m.cont_fails = rows[i].cont_fails;
		m.cont_ends = rows[i].cont_ends;
		m.cont_ns = rows[i].cont_ns;
		assert_int_equal(window_arm_stepped(TID, true, &counters, false), rows[i].armed);
		assert_int_equal(m.conts, rows[i].conts);
		assert_int_equal(m.detached, rows[i].armed == WINDOW_CUT_SHORT);
		assert_int_equal(m.delivered, 0);
	}
}

/* At the end it is waited for until it stops, or the time is over. */
static void test_let_go(void **state)
{
	static const struct {
		u64 call_ns, until;
		bool goes;
	} rows[] = { { 0, 2 * MS, true },
		     { 1 * MS, 2 * MS, true },
		     { 3 * MS, 2 * MS, false },
		     { 1500 * (u64)MS, 2000 * (u64)MS, true } };
	u64 begin;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		reset();
		m.held = i % 2;
		begin = m.now;
		m.call_until = rows[i].call_ns ? m.now + rows[i].call_ns : 0;
		assert_int_equal(window_let_go(TID, true, m.now + rows[i].until), rows[i].goes);
		assert_int_equal(m.detached, rows[i].goes);
		assert_true(m.interrupts > 0);
		assert_in_range(m.now - begin, MIN(rows[i].call_ns, rows[i].until),
				MIN(rows[i].call_ns, rows[i].until) + 50000);
		assert_int_equal(m.told, m.held);
	}
	reset();
	begin = m.now;
	assert_false(window_let_go(TID, true, 0)); /* it is only told */
	assert_true(m.interrupts == 1 && m.now - begin < 2000);
	reset();
	m.absent = true;
	assert_true(window_let_go(TID, true, m.now + MS));
	/* Its trap may take more than one look. */
	reset();
	m.pending[0].sig = SIGTRAP;
	m.pending[0].code = TRAP_TRACE;
	m.nr_pending = 1;
	m.cont_ns = 5 * MS;
	assert_true(window_let_go(TID, true, m.now + 20 * MS));
	assert_int_equal(m.detached, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),	      cmocka_unit_test(test_clock_here),
		cmocka_unit_test(test_counters_here), cmocka_unit_test(test_counters_watched),
		cmocka_unit_test(test_all_here),      cmocka_unit_test(test_watched),
		cmocka_unit_test(test_read_rarely),   cmocka_unit_test(test_steps),
		cmocka_unit_test(test_steps_in_vain), cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_ends),	      cmocka_unit_test(test_seized),
		cmocka_unit_test(test_traps),	      cmocka_unit_test(test_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
