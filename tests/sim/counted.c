/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three functions that execute known numbers of instructions: counted [TURNS [ROUNDS]]. In a round, four_each runs
 * TURNS turns of 4 instructions, three_each twice as many of 3, six_each TURNS of 6: a quarter and twice three eighths
 * of what the program does.
 */
#include <stdlib.h>

#if __has_attribute(noclone) /* clang has no clones to keep from */
#define COUNTED __attribute__((noinline, noclone))
#else
#define COUNTED __attribute__((noinline))
#endif

#if defined(__x86_64__)
static COUNTED void four_each(long n)
{
	__asm__ volatile("1: add $1, %%rax\n add $1, %%rcx\n dec %0\n jnz 1b" : "+r"(n) : : "rax", "rcx", "cc");
}

static COUNTED void three_each(long n)
{
	__asm__ volatile("1: imul %%rax, %%rax\n dec %0\n jnz 1b" : "+r"(n) : : "rax", "cc");
}

/* One of its instructions loads from the next cache line. */
static COUNTED void six_each(long n, char *p)
{
	__asm__ volatile("1: mov (%1), %%rax\n add $64, %1\n add $1, %%rcx\n add $1, %%rdx\n dec %0\n jnz 1b"
			 : "+r"(n), "+r"(p)
			 :
			 : "rax", "rcx", "rdx", "cc", "memory");
}
#elif defined(__aarch64__)
static COUNTED void four_each(long n)
{
	__asm__ volatile("1: add x9, x9, #1\n add x10, x10, #1\n subs %0, %0, #1\n b.ne 1b"
			 : "+r"(n)
			 :
			 : "x9", "x10", "cc");
}

static COUNTED void three_each(long n)
{
	__asm__ volatile("1: mul x9, x9, x9\n subs %0, %0, #1\n b.ne 1b" : "+r"(n) : : "x9", "cc");
}

static COUNTED void six_each(long n, char *p)
{
	__asm__ volatile("1: ldr x9, [%1]\n add %1, %1, #64\n add x10, x10, #1\n add x11, x11, #1\n"
			 "subs %0, %0, #1\n b.ne 1b"
			 : "+r"(n), "+r"(p)
			 :
			 : "x9", "x10", "x11", "cc", "memory");
}
#else
static COUNTED void four_each(long n)
{
	(void)n;
}

static COUNTED void three_each(long n)
{
	(void)n;
}

static COUNTED void six_each(long n, char *p)
{
	(void)n, (void)p;
}
#endif

int main(int argc, char **argv)
{
	long turns = argc > 1 ? atol(argv[1]) : 1000, rounds = argc > 2 ? atol(argv[2]) : 1000;
	char *lines = calloc((size_t)turns, 64);

	for (long i = 0; i < rounds && lines; i++) {
		four_each(turns);
		three_each(2 * turns);
		six_each(turns, lines);
	}
	free(lines);
	return 0;
}
