/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose calls do not nest: it tells its own call chain at each place where something leaves a stack in an
 * unusual way, then spins there in a function of its own, to be sampled. Prints "main ADDRESS" and "PLACE CHAIN...":
 * return addresses, innermost first, from the caller of probe on.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define CHAIN_MAX 2000
#include "probe.h"

static jmp_buf env;
static volatile int sink;

static NOINLINE void jump_from(int depth)
{
	if (!depth)
		longjmp(env, 1);
	jump_from(depth - 1);
	sink++;
}

static NOINLINE void after_longjmp(int place, int depth)
{
	if (!setjmp(env))
		jump_from(depth);
	probe(place);
	sink++;
}

static NOINLINE void recurse(int place, int depth)
{
	if (depth)
		recurse(place, depth - 1);
	else
		probe(place);
	sink++;
}

/* In handlers: libgcc's unwinder does not get over a signal's frame in QEMU on x86_64, so the chain is put together
 * from what the system tells; "*" stands for any few frames of the C library. */
static void *base[100];
static int nr_base;

static inline __attribute__((always_inline)) void handler_probe(int place, void *pc)
{
#ifdef __x86_64__
	void *here = __builtin_return_address(0);

	printf("%d * %lx", place, (unsigned long)here);
	if (pc)
		printf(" %lx", (unsigned long)pc);
	printf(" *");
	for (int i = 1; i < nr_base; i++)
		printf(" %lx", (unsigned long)base[i]);
	printf("\n");
	fflush(stdout);
	spins[place]();
#else
	probe(place);
#endif
	(void)pc;
}

static void *interrupted(void *context)
{
#ifdef __x86_64__
	return (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
	return (void *)((ucontext_t *)context)->uc_mcontext.pc;
#endif
}

static int handler_place;
static sigjmp_buf signal_env;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)info;
	handler_probe(handler_place, interrupted(context));
	if (sig == SIGUSR2)
		siglongjmp(signal_env, 1);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	handler_probe(handler_place, interrupted(context));
	siglongjmp(signal_env, 1);
}

static volatile int alarmed;

static void on_plain(int sig)
{
	(void)sig;
	alarmed = 1;
	handler_probe(handler_place, NULL);
}

static NOINLINE void jump_by_signal(int depth)
{
	if (depth)
		jump_by_signal(depth - 1);
	else
		raise(SIGUSR2);
	sink++;
}

static NOINLINE void signals(void)
{
	struct sigaction a = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	stack_t alt = { .ss_sp = malloc(1 << 18), .ss_size = 1 << 18 };

	nr_base = backtrace(base, 100);
	sigaction(SIGUSR1, &a, NULL);
	handler_place = 3;
	raise(SIGUSR1);
	probe(4);
	/* On a stack of its own. */
	sigaltstack(&alt, NULL);
	a.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	handler_place = 5;
	kill(getpid(), SIGUSR1);
	probe(6);
	/* Out of it by longjmp. */
	handler_place = 7;
	if (!sigsetjmp(signal_env, 1))
		jump_by_signal(3);
	probe(8);
	/* In the middle of a block: a fault, handled on the program's own stack. */
	sigaction(SIGSEGV, &(struct sigaction){ .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, NULL);
	handler_place = 9;
	if (!sigsetjmp(signal_env, 1))
		*(volatile int *)(long)handler_place = 1;
	probe(10);
	/* A handler that knows nothing of siginfo, upon a spinning program. */
	signal(SIGALRM, on_plain);
	handler_place = 11;
	ualarm(1000, 0);
	while (!alarmed)
		;
}

static ucontext_t main_context, a_context, b_context;

static NOINLINE void in_a(int depth)
{
	if (depth) {
		in_a(depth - 1);
		sink++;
		return;
	}
	probe(12);
	swapcontext(&a_context, &b_context);
	probe(13);
}

static void a_main(void)
{
	in_a(3);
	swapcontext(&a_context, &main_context);
}

static NOINLINE void in_b(void)
{
	probe(14);
	swapcontext(&b_context, &a_context);
	sink++;
}

static void b_main(void)
{
	in_b();
}

static NOINLINE void coroutines(void)
{
	const size_t size = 1 << 18;

	getcontext(&a_context);
	a_context.uc_stack.ss_sp = malloc(size);
	a_context.uc_stack.ss_size = size;
	makecontext(&a_context, a_main, 0);
	getcontext(&b_context);
	b_context.uc_stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	b_context.uc_stack.ss_size = size;
	makecontext(&b_context, b_main, 0);
	swapcontext(&main_context, &a_context);
	probe(15);
	sink++;
}

static void *thread_main(void *arg)
{
	(void)arg;
	recurse(16, 5);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	static int once;

	if (!once++)
		probe(17);
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int numbers[] = { 3, 1, 2 };
	pthread_t thread;

	printf("main %lx\n", (unsigned long)main);
	probe(0);
	after_longjmp(1, 20);
	after_longjmp(2, 0);
	signals();
	coroutines();
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
	qsort(numbers, 3, sizeof(int), by_size);
	recurse(18, 3);
	recurse(19, 100);
	return 0;
}
