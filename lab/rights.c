/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may see which task's memory in samples: tried as two users that have nothing to do with each other.
 *
 * An event that is opened although it must not be is used, too: the figures say whether it brought the secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "tls.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

enum { VICTIM = 1000, SPY = 1001 };

static const u64 secret = 0x5ec4e7;

static int become(uid_t uid)
{
	return setgroups(0, NULL) || setgid(uid) || setuid(uid) ? -1 : 0;
}

/* Becomes that user, but keeps CAP_PERFMON. */
static int become_with_perfmon(uid_t uid)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[1].effective = data[1].permitted = 1u << (CAP_PERFMON - 32);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || become(uid))
		return -1;
	return syscall(SYS_capset, &header, data) ? -1 : 0;
}

/* A process of the victim's, on CPU 0, with the secret in its TLS; dumpable, as any program that it has started. */
static pid_t start_victim(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin(0);
	activity_fill(activity, secret);
	if (become(VICTIM) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		_exit(1);
	for (;;)
		work(100000);
}

/* -> 'n': refused with EACCES; 'o': could be opened; 'S': and has brought the secret; 'e': anything else */
static char attempt(const struct attr *a, pid_t pid, int cpu)
{
	static struct tls_samples t;
	struct event e;
	char result = 'o';

	int err = event_open(&e, a, pid, cpu);
	if (err)
		return err == -EACCES ? 'n' : 'e';
	if (a->perf.sample_type & TLS_USER) {
		event_enable(&e);
		usleep(20000);
		event_disable(&e);
		tls_read(&e, &t);
		for (size_t i = 0; i < t.n; i++)
			if (t.v[i].pid != (u32)getpid() && t.v[i].word[0] == secret)
				result = 'S';
	}
	event_close(&e);
	return result;
}

struct attempts {
	char of_task, of_cpu, own, child, stack_of_task, stack_of_cpu;
};

static struct attempts all_attempts(pid_t victim)
{
	struct attr a = attr_tls(50000, 0), stack = attr_cycles(50000);
	struct attempts got;
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	a.perf.type = PERF_TYPE_SOFTWARE;
	a.perf.config = PERF_COUNT_SW_CPU_CLOCK;
	a.tls_offset = (const char *)activity - (const char *)__builtin_thread_pointer();
	stack.perf.sample_type |= PERF_SAMPLE_STACK_USER;
	stack.perf.sample_stack_user = 64;
	got.of_task = attempt(&a, victim, -1);
	got.of_cpu = attempt(&a, -1, 0);
	got.own = attempt(&a, 0, -1);
	got.child = attempt(&a, child, -1);
	got.stack_of_task = attempt(&stack, victim, -1);
	got.stack_of_cpu = attempt(&stack, -1, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return got;
}

/* -> what somebody got; all 'e': he could not be made */
static struct attempts attempts_of(int (*who)(uid_t), uid_t uid, pid_t victim)
{
	struct attempts got = { 'e', 'e', 'e', 'e', 'e', 'e' };
	int ends[2];

	if (pipe(ends))
		return got;
	pid_t pid = fork();
	if (!pid) {
		if (!who(uid) && !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) {
			got = all_attempts(victim);
			if (write(ends[1], &got, sizeof(got)) != (ssize_t)sizeof(got))
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &got, sizeof(got)) != (ssize_t)sizeof(got))
		got.own = 'e';
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return got;
}

static bool run_users(char *figures)
{
	pid_t victim = start_victim();
	struct attempts same, other, perfmon;

	usleep(20000);
	/* CPUs are for all users; Yama lets a process be read by those only that it descends from. */
	set_sysctl("perf_event_paranoid", "0");
	bool yama = set_sysctl("yama/ptrace_scope", "1");
	same = attempts_of(become, VICTIM, victim);
	other = attempts_of(become, SPY, victim);
	perfmon = attempts_of(become_with_perfmon, SPY, victim);
	set_sysctl("perf_event_paranoid", "-1");
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	snprintf(figures, FIGURES_MAX,
		 "task, CPU, own, child (n: EACCES, o: open, S: has another's secret): same user %c%c%c%c, other "
		 "%c%c%c%c, "
		 "CAP_PERFMON %c%c%c%c; stacks %c%c %c%c",
		 same.of_task, same.of_cpu, same.own, same.child, other.of_task, other.of_cpu, other.own, other.child,
		 perfmon.of_task, perfmon.of_cpu, perfmon.own, perfmon.child, same.stack_of_task, same.stack_of_cpu,
		 other.stack_of_task, other.stack_of_cpu);
	return yama && same.of_task == 'n' && same.of_cpu == 'n' && same.own == 'o' && same.child == 'o' &&
	       other.of_task == 'n' && other.of_cpu == 'n' && other.own == 'o' && other.child == 'o' &&
	       perfmon.of_task == 'S' && perfmon.of_cpu == 'S' && same.stack_of_task == 'o' &&
	       other.stack_of_task == 'n';
}

const struct scenario rights_scenarios[] = {
	{ "tls-rights-users", run_users, PATCHED | COUNTS | ALONE },
	{ 0 },
};
