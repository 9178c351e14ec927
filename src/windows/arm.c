/* SPDX-License-Identifier: Apache-2.0 */
#include "windows/arm.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_WORDS 512	 /* a group's values */
#define HERE_NS 10000000 /* of its own time: arming a command */
#define ASLEEP_NS 60000	 /* a counter that does not move for so long is not running */
#define MOVES_NS 20000
#define STOP_NS 2000000 /* a task stops within that, unless it sleeps in the kernel */
#define STEP_NS 5000000 /* and takes a step */
#define TRAPS_MAX 16
#define SIGNALS 32 /* that are looked at at once */
#define SPIN_NS 5000
#define STEPS_MAX 20000
#define STILL_MAX 256 /* steps in which nothing is counted: the counters are not on the hardware */
#define TRIES 3
#define FITTINGS 64    /* of the spin between two switches */
#define EXACT_TRIES 32 /* of them to the count */
#define SINGLES_MAX 15
#define ROUNDS_MAX (1 << 24) /* of that loop: some milliseconds */
#define SLOPE_ONE 256	     /* one count per round */
#define CLOCK_SLACK_NS 5000
#define SPIN_MARGIN_NS 4000 /* reading a counter that runs on another CPU disturbs it: only near the end */

/* What this thread has run: others may want its CPU. */
static u64 own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

u64 window_count(int leader)
{
	u64 words[READ_WORDS];

	return read(leader, words, sizeof(words)) >= (ssize_t)(4 * sizeof(u64)) ? words[3] : 0;
}

/* Both begin a whole period when they are switched on next. */
static void start_anew(const struct window_pair *p)
{
	u64 period = p->period;

	ioctl(p->second, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(p->first, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(p->second, PERF_EVENT_IOC_PERIOD, &period);
	ioctl(p->first, PERF_EVENT_IOC_PERIOD, &period);
}

bool window_is_wide(const struct window_pair *p, u64 length)
{
	u64 slack = p->clock ? p->length / 2 + CLOCK_SLACK_NS : p->length;

	return length + slack < p->length || length > p->length + slack;
}

/* We may have been kept waiting between the two switches. */
static bool near_enough(const struct window_pair *p, u64 base)
{
	return !window_is_wide(p, window_count(p->first) - base);
}

/* The first is watched until it shows the length. */
static enum window_armed watch_here(const struct window_pair *p)
{
	u64 until = own_ns() + HERE_NS;

	for (u32 i = 0; i < TRIES; i++) {
		u64 base;

		start_anew(p);
		base = window_count(p->first);
		ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
		while (window_count(p->first) - base < p->length)
			if (own_ns() > until)
				return WINDOW_CUT_SHORT;
		ioctl(p->second, PERF_EVENT_IOC_ENABLE, 0);
		if (near_enough(p, base))
			break;
	}
	return WINDOW_ARMED;
}

/* How far the second's count is behind the first's; its value stands next to it. */
static u64 lead_of(const struct window_pair *p)
{
	u64 words[READ_WORDS];
	ssize_t n = read(p->first, words, sizeof(words)) / (ssize_t)sizeof(u64);
	u64 stride = n > 3 && words[0] ? ((u64)n - 3) / words[0] : 0;

	return stride && words[0] > 1 ? words[3] - words[3 + stride] : 0;
}

/* What is done between the two switches: rounds of a loop, and single instructions for what is less than a round. */
struct spin {
	u64 rounds;
	u32 singles;
};

#define SINGLE(n)                                                                                                     \
	case n:                                                                                                       \
		__asm__ volatile("nop");                                                                              \
		__attribute__((fallthrough))

/* One jump leads to any number of them, so that one more costs just itself; none would have a jump of its own. */
static void do_singles(u32 n)
{
	switch (n + 1) {
		SINGLE(16);
		SINGLE(15);
		SINGLE(14);
		SINGLE(13);
		SINGLE(12);
		SINGLE(11);
		SINGLE(10);
		SINGLE(9);
		SINGLE(8);
		SINGLE(7);
		SINGLE(6);
		SINGLE(5);
		SINGLE(4);
		SINGLE(3);
		SINGLE(2);
		SINGLE(1);
	default:
		break;
	}
}

/*
 * Switches both on with that in between, and the group off again, which keeps their distance: a try that missed
 * samples nobody who gets this CPU meanwhile. Returns how far apart they are.
 */
static u64 try_switches(const struct window_pair *p, struct spin spin)
{
	u64 before;

	start_anew(p);
	before = lead_of(p);
	ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
	for (u64 i = 0; i < spin.rounds; i++)
		__asm__ volatile("" : "+r"(i));
	do_singles(spin.singles);
	ioctl(p->second, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(p->first, PERF_EVENT_IOC_DISABLE, 0);
	return lead_of(p) - before;
}

struct fitting {
	const struct window_pair *p;
	struct spin spin;
	u64 least, apart; /* what came of no spin, and of this one */
	u64 slope;	  /* counts per round */
	u64 until;	  /* own_ns */
	u32 tries;
};

static void try_spin(struct fitting *f, u64 rounds, u32 singles)
{
	f->spin = (struct spin){ rounds, singles };
	f->apart = try_switches(f->p, f->spin);
	f->tries++;
}

static bool is_close(u64 a, u64 b)
{
	return (a > b ? a - b : b - a) <= b / 64;
}

/* Where nothing disturbs it a count is hit; elsewhere what is close is good enough after some tries. */
static bool is_fitted(const struct fitting *f)
{
	return f->apart == f->p->length || f->tries >= FITTINGS || own_ns() > f->until ||
	       (f->tries >= EXACT_TRIES && is_close(f->apart, f->p->length));
}

/* As many rounds as do not lead beyond the length. False: too many. */
static bool fit_rounds(struct fitting *f)
{
	while (!is_fitted(f)) {
		u64 rounds = (f->p->length - f->least) * SLOPE_ONE / f->slope;

		/* The loop does not move this counter, or not so far. */
		if (rounds > ROUNDS_MAX)
			return false;
		if (rounds == f->spin.rounds && !f->spin.singles)
			break;
		try_spin(f, rounds, 0);
		if (rounds && f->apart > f->least)
			f->slope = MAX((f->apart - f->least) * SLOPE_ONE / rounds, (u64)1);
	}
	return true;
}

static void fit_singles(struct fitting *f)
{
	while (!is_fitted(f) && f->apart < f->p->length && f->spin.singles < SINGLES_MAX)
		try_spin(f, f->spin.rounds, f->spin.singles + 1);
}

/*
 * Reading a counter takes longer than a window. So both are switched on with a spin in between that reads nothing;
 * what came of it says how long that has to be, and it is done again. How many instructions a round of its loop has is
 * the compiler's choice. The group is off, or as watch_here leaves it.
 */
static enum window_armed fit(const struct window_pair *p)
{
	struct fitting f = { .p = p, .slope = SLOPE_ONE, .until = own_ns() + HERE_NS };

	if (p->clock)
		return watch_here(p);
	/* An interrupt between the switches looks like too long a window. */
	for (u32 i = 0; i < TRIES && (!i || f.least > p->length); i++) {
		try_spin(&f, 0, 0);
		f.least = i ? MIN(f.least, f.apart) : f.apart;
	}
	if (!f.apart)
		return watch_here(p);
	for (u32 before = 0; f.least < p->length && before != f.tries;) {
		before = f.tries;
		/* Reading is no trouble then. */
		if (!fit_rounds(&f))
			return watch_here(p);
		fit_singles(&f);
	}
	return WINDOW_ARMED;
}

enum window_armed window_arm_here(const struct window_pair *p)
{
	enum window_armed armed = fit(p);

	/* A leader takes its group along. */
	ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
	return armed;
}

void window_arm_all_here(const struct window_pair *p, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		fit(&p[i]);
		/* One that was watched is still on. Alone it stays so: clocks lose some of their distance each time.
		 */
		if (n > 1)
			ioctl(p[i].first, PERF_EVENT_IOC_DISABLE, 0);
	}
	for (u32 i = 0; i < n; i++)
		ioctl(p[i].first, PERF_EVENT_IOC_ENABLE, 0);
}

/* Some system calls (epoll_wait) fail with EINTR when their task is stopped, so who sleeps is left alone. */
static bool is_running(pid_t tid)
{
	char path[32], text[128];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')'); /* behind the name, which may hold anything */
	return at && at[1] == ' ' && at[2] == 'R';
}

static void wait_until(u64 ns)
{
	while (clock_ns() < ns)
		;
}

/* Until the first has counted the window's length. False: it does not move. */
static bool watch(const struct window_pair *p, u64 base)
{
	u64 moved = clock_ns(), last = 0;

	for (;;) {
		u64 count = window_count(p->first) - base, now = clock_ns();

		if (count >= p->length)
			return true;
		if (count != last)
			moved = now;
		else if (now - moved > ASLEEP_NS)
			return false;
		last = count;
		if (count && p->length - count > 2 * SPIN_MARGIN_NS)
			wait_until(now + p->length - count - SPIN_MARGIN_NS);
	}
}

/* Runnable is not running: it may wait for our CPU. */
static bool moves(const struct window_pair *p)
{
	u64 base = window_count(p->first), until = clock_ns() + MOVES_NS;

	do
		if (window_count(p->first) != base)
			return true;
	while (clock_ns() < until);
	return false;
}

enum window_armed window_arm_watched(pid_t tid, const struct window_pair *p)
{
	/* Until it is armed it samples without windows. */
	ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
	for (u32 i = 0; i < TRIES; i++) {
		bool runs = is_running(tid), moving = runs && moves(p);
		u64 base;

		if (!moving && !i)
			return runs ? WINDOW_WAITS : WINDOW_ASLEEP;
		if (!moving)
			break;
		start_anew(p);
		base = window_count(p->first);
		ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
		if (!watch(p, base))
			break;
		ioctl(p->second, PERF_EVENT_IOC_ENABLE, 0);
		if (near_enough(p, base))
			return WINDOW_ARMED;
	}
	ioctl(p->second, PERF_EVENT_IOC_DISABLE, 0);
	return WINDOW_CUT_SHORT;
}

enum stopped { STOPPED, STILL_RUNNING, ENDED };

/* The end of our own child is for others to take; that of another's thread is, while we trace it, for us. */
static enum stopped take_stop(pid_t tid, bool child, int *status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL))
		return errno == EINTR ? STILL_RUNNING : ENDED;
	if (!info.si_pid)
		return STILL_RUNNING;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED && child)
		return ENDED;
	return waitpid(tid, status, __WALL | WNOHANG) == tid && WIFSTOPPED(*status) ? STOPPED : ENDED;
}

/* SIGCHLD, which is blocked, tells of stops as of all else (hold_signal). */
static void sleep_until_told(u64 ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	sigset_t told;

	sigemptyset(&told);
	sigaddset(&told, SIGCHLD);
	sigtimedwait(&told, NULL, &t);
}

/*
 * Where the task runs on another CPU it stops in no time. On ours it needs that we sleep: yielding puts us behind all
 * who are runnable, by one more slice each time, and makes a few hundred steps last for half a second.
 */
static enum stopped wait_for_stop(pid_t tid, bool child, u64 patience_ns, int *status)
{
	u64 begin = clock_ns();

	for (;;) {
		enum stopped how = take_stop(tid, child, status);
		u64 waited = clock_ns() - begin;

		if (how != STILL_RUNNING)
			return how;
		if (waited >= patience_ns)
			return STILL_RUNNING;
		if (waited > SPIN_NS)
			sleep_until_told(patience_ns - waited);
	}
}

/* The signal to go on with: what it stopped for may be its own. *halted: it is stopped by job control. */
static int signal_of(int status, bool *halted)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	*halted = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
	return event || sig == SIGTRAP ? 0 : sig;
}

/*
 * A step that has been taken is told by a SIGTRAP. Where the task stops for another reason first (we interrupted it,
 * or job control did), that signal is still to come, and would end a program that nobody traces.
 */
static bool trap_is_pending(pid_t tid)
{
	struct __ptrace_peeksiginfo_args from = { .nr = SIGNALS };
	siginfo_t infos[SIGNALS];
	long n;

	for (; (n = ptrace(PTRACE_PEEKSIGINFO, tid, &from, infos)) > 0; from.off += (u64)n)
		for (long i = 0; i < n; i++)
			if (infos[i].si_signo == SIGTRAP && infos[i].si_code > 0)
				return true;
	return false;
}

/* Lets a task that is stopped go on untraced. Returns `then`; or WINDOW_SEIZED: the trap of its last step has not come
 * in time. */
static enum window_armed release(pid_t tid, bool child, int status, enum window_armed then)
{
	bool halted;

	for (u32 rounds = 0; trap_is_pending(tid); rounds++) {
		enum stopped how;

		/* The program may send such signals itself. */
		if (rounds == TRAPS_MAX)
			return WINDOW_SEIZED;

		if (ptrace(PTRACE_CONT, tid, 0, signal_of(status, &halted)))
			return WINDOW_GONE;
		how = wait_for_stop(tid, child, STOP_NS, &status);
		if (how != STOPPED)
			return how == ENDED ? WINDOW_GONE : WINDOW_SEIZED;
	}
	return ptrace(PTRACE_DETACH, tid, 0, signal_of(status, &halted)) ? WINDOW_GONE : then;
}

/* It is in a system call that takes its time: lets it go. */
static enum window_armed let_go(pid_t tid, bool child, u64 patience_ns)
{
	enum stopped how;
	int status;

	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	how = wait_for_stop(tid, child, patience_ns, &status);
	if (how != STOPPED)
		return how == ENDED ? WINDOW_GONE : WINDOW_SEIZED;
	return release(tid, child, status, WINDOW_CUT_SHORT);
}

/* From the stopped task's next instruction on. Returns the count then. */
static u64 begin_stepping(const struct window_pair *p)
{
	start_anew(p);
	ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
	return window_count(p->first);
}

static enum window_armed step(pid_t tid, bool child, const struct window_pair *p, int status)
{
	u64 base = begin_stepping(p), count = 0, step = 0;
	u32 tries = TRIES;
	bool halted;
	int sig = signal_of(status, &halted);

	/* As near as whole steps come. */
	for (u32 i = 0; i < (count ? STEPS_MAX : STILL_MAX) && !halted && count + step / 2 < p->length; i++) {
		enum stopped how;
		u64 now;

		if (ptrace(PTRACE_SINGLESTEP, tid, 0, sig))
			return WINDOW_GONE;
		how = wait_for_stop(tid, child, STEP_NS, &status);
		if (how == ENDED)
			return WINDOW_GONE;
		if (how == STILL_RUNNING)
			return let_go(tid, child, STOP_NS);
		sig = signal_of(status, &halted);
		now = window_count(p->first) - base;
		step = now - count;
		count = now;
		/* To a clock a machine that stood still for a moment is a long step. */
		if (count > p->length && window_is_wide(p, count) && --tries) {
			base = begin_stepping(p);
			count = step = i = 0;
		}
	}
	if (count + step / 2 < p->length)
		return release(tid, child, status, WINDOW_CUT_SHORT);
	ioctl(p->second, PERF_EVENT_IOC_ENABLE, 0);
	return release(tid, child, status, WINDOW_ARMED);
}

static enum window_armed arm_stepped(pid_t tid, bool child, const struct window_pair *p, bool seized)
{
	int status;
	enum stopped how;

	/* Until it is armed it samples without windows. */
	if (!seized) {
		ioctl(p->first, PERF_EVENT_IOC_ENABLE, 0);
		if (!is_running(tid))
			return WINDOW_ASLEEP;
		if (ptrace(PTRACE_SEIZE, tid, 0, 0))
			return errno == ESRCH ? WINDOW_GONE : WINDOW_FORBIDDEN;
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	}
	how = wait_for_stop(tid, child, seized ? 0 : STOP_NS, &status);
	if (how != STOPPED)
		return how == ENDED ? WINDOW_GONE : WINDOW_SEIZED;
	return step(tid, child, p, status);
}

/* SIGCHLD is blocked, so that sleep_until_told() sees it. Returns whether it was. */
static bool hold_signal(sigset_t *before)
{
	sigset_t told;

	sigemptyset(&told);
	sigaddset(&told, SIGCHLD);
	sigprocmask(SIG_BLOCK, &told, before);
	return sigismember(before, SIGCHLD);
}

static void restore_signal(const sigset_t *before, bool was_held)
{
	/* One that we took may have been about another's end. */
	if (was_held)
		kill(getpid(), SIGCHLD);
	sigprocmask(SIG_SETMASK, before, NULL);
}

enum window_armed window_arm_stepped(pid_t tid, bool child, const struct window_pair *p, bool seized)
{
	enum window_armed armed;
	sigset_t before;
	bool held = hold_signal(&before);

	armed = arm_stepped(tid, child, p, seized);
	restore_signal(&before, held);
	return armed;
}

bool window_let_go(pid_t tid, bool child, u64 until_ns)
{
	enum window_armed how;
	u64 now;
	sigset_t before;
	bool held = hold_signal(&before);

	do {
		now = clock_ns();
		how = let_go(tid, child, until_ns > now ? until_ns - now : 0);
	} while (how == WINDOW_SEIZED && now < until_ns);
	restore_signal(&before, held);
	return how != WINDOW_SEIZED;
}
