/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers as a kernel runs them, whatever QEMU does: handlers. Each keeps doubles on its stack, where
 * compilers use instructions that fault when it is not aligned; and what is interrupted finds all as it was, or as the
 * handler wants it.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static struct several {
	double v[8];
} kept;
static volatile double factor = 1.5;
static sigjmp_buf out;
static int depth, frames;
static char *volatile page;

static NOINLINE void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static NOINLINE void fill(int n)
{
	struct several s = { { 0 } };
	char text[64];

	use(&s);
	for (int i = 0; i < 8; i++)
		s.v[i] = factor * n + i;
	kept = s;
	snprintf(text, sizeof(text), "%.3f", s.v[7]);
	use(text);
}

static void check(const char *what, int ok)
{
	printf("%s: %s\n", what, ok ? "ok" : "WRONG");
}

static void simple(int sig)
{
	double here[2] = { factor, sig };

	use(here);
	fill(sig);
}

static void nested(int sig)
{
	simple(sig);
	if (depth++ < 3)
		raise(sig);
}

static void leaves(int sig)
{
	simple(sig);
	siglongjmp(out, sig);
}

/* Makes the page that was not there writable, and looks where it came from. */
static void repairs(int sig, siginfo_t *info, void *context)
{
	void *stack[64];
	ucontext_t *u = context;

	simple(sig);
	use(u);
	frames = backtrace(stack, 64);
	if (info->si_addr == page)
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* Sets a register of what it interrupts. */
static void answers(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	simple(sig);
	(void)info;
#ifdef __x86_64__
	u->uc_mcontext.gregs[REG_RAX] = 42;
	u->uc_mcontext.gregs[REG_RIP] += 2;
#else
	u->uc_mcontext.regs[0] = 42;
	u->uc_mcontext.pc += 4;
#endif
}

static void set(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigaction(sig, &a, NULL);
}

static NOINLINE long asked(void)
{
#ifdef __x86_64__
	long n = 1;

	__asm__ volatile("ud2" : "+a"(n));
#else
	register long n __asm__("x0") = 1;

	__asm__ volatile("udf #0" : "+r"(n));
#endif
	return n;
}

static NOINLINE double sum(int turns)
{
	double a = 0, b = 1;

	for (int i = 0; i < turns; i++) {
		if (i == turns / 2)
			raise(SIGUSR1);
		a += b * i;
		b += 0.25;
	}
	return a;
}

static void *sleeps(void *arg)
{
	for (;;)
		usleep(1000);
	return arg;
}

int main(void)
{
	stack_t alt = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	double quiet;
	pthread_t t;
	void *end;

	signal(SIGUSR1, SIG_IGN);
	quiet = sum(1000);
	signal(SIGUSR1, simple);
	check("a handler's doubles", sum(1000) == quiet && kept.v[7] == 1.5 * SIGUSR1 + 7);
	signal(SIGUSR2, nested);
	struct sigaction a = { .sa_handler = nested, .sa_flags = SA_NODEFER };
	sigaction(SIGUSR2, &a, NULL);
	raise(SIGUSR2);
	check("nested", depth == 4 && kept.v[0] == 1.5 * SIGUSR2);
	sigaltstack(&alt, NULL);
	set(SIGSEGV, repairs, SA_ONSTACK);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*page = 7;
	check("a fault that is repaired, on another stack", *page == 7 && frames > 2);
	set(SIGILL, answers, 0);
	check("a register that the handler sets", asked() == 42);
	signal(SIGUSR1, leaves);
	if (!sigsetjmp(out, 1))
		sum(1000);
	check("left by siglongjmp", kept.v[0] == 1.5 * SIGUSR1);
	pthread_create(&t, NULL, sleeps, NULL);
	usleep(20000);
	pthread_cancel(t);
	pthread_join(t, &end);
	check("a thread that is cancelled", end == PTHREAD_CANCELED);
	return 0;
}
