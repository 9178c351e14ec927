/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function with two phases that repeat in a fixed number of instructions. Sampled with a period that this number
 * divides, each window falls into the same phase, and the function's metrics are that phase's; jitter finds both.
 *
 *   resonance [ROUNDS]
 *
 * On x86_64 and aarch64 the loop is written in assembler: one round is exactly 20,000 instructions.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends after exactly 20,000 instructions per round, the loop's own included. */
static __attribute__((noinline)) uint64_t phases(uint64_t rounds)
{
	uint64_t n = 7, i = 0;

#if defined(__x86_64__)
	uint64_t low = (uint64_t)1 << 60, high = 0;

	/* Slow: 1 + 4 * 2499 + 3 instructions. Quick: 1 + 2 * 4998 + 3. */
	__asm__ volatile("1:	mov	$2499, %2\n"
			 "2:	xor	%%edx, %%edx\n"
			 "	div	%4\n"
			 "	dec	%2\n"
			 "	jnz	2b\n"
			 "	nop\n	nop\n	nop\n"
			 "	mov	$4998, %2\n"
			 "3:	dec	%2\n"
			 "	jnz	3b\n"
			 "	nop\n"
			 "	dec	%3\n"
			 "	jnz	1b\n"
			 : "+a"(low), "+d"(high), "+r"(i), "+r"(rounds)
			 : "r"((uint64_t)3)
			 : "cc");
	n += low + high;
#elif defined(__aarch64__)
	__asm__ volatile("1:	mov	%1, #3332\n"
			 "2:	udiv	%0, %0, %3\n"
			 "	subs	%1, %1, #1\n"
			 "	b.ne	2b\n"
			 "	nop\n	nop\n	nop\n"
			 "	mov	%1, #4998\n"
			 "3:	subs	%1, %1, #1\n"
			 "	b.ne	3b\n"
			 "	nop\n"
			 "	subs	%2, %2, #1\n"
			 "	b.ne	1b\n"
			 : "+r"(n), "+r"(i), "+r"(rounds)
			 : "r"((uint64_t)1)
			 : "cc");
#else
	for (; rounds; rounds--) {
		for (i = 0; i < 2500; i++)
			n = (n | 1) / 3 + i;
		for (i = 0; i < 5000; i++)
			__asm__ volatile("");
	}
#endif
	return n + i;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000;

	printf("%lu rounds: %llu\n", rounds, (unsigned long long)phases(rounds ? rounds : 1));
	return 0;
}
