/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe(PLACE) for programs that tell their own call chains: prints "PLACE CHAIN...", return addresses, innermost
 * first, from the caller of probe on, and spins in a function of the place's own, to be sampled. CHAIN_MAX: of so many
 * addresses; the including file's, as they stand on its stacks.
 */
#include <execinfo.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

/* One function for each place, so that a sample's address says where it is from. */
#define SPIN(n)                                                                                                       \
	static NOINLINE void spin_##n(void)                                                                           \
	{                                                                                                             \
		for (volatile int i = 0; i < 3000 + n; i++)                                                           \
			;                                                                                             \
	}
SPIN(0)
SPIN(1)
SPIN(2)
SPIN(3)
SPIN(4)
SPIN(5)
SPIN(6)
SPIN(7)
SPIN(8)
SPIN(9)
SPIN(10)
SPIN(11)
SPIN(12)
SPIN(13)
SPIN(14)
SPIN(15)
SPIN(16)
SPIN(17)
SPIN(18)
SPIN(19)

static void (*const spins[])(void) = { spin_0,	spin_1,	 spin_2,  spin_3,  spin_4,  spin_5,  spin_6,
				       spin_7,	spin_8,	 spin_9,  spin_10, spin_11, spin_12, spin_13,
				       spin_14, spin_15, spin_16, spin_17, spin_18, spin_19 };

static NOINLINE void probe(int place)
{
	void *chain[CHAIN_MAX];
	int n = backtrace(chain, CHAIN_MAX);

	printf("%d", place);
	for (int i = 1; i < n; i++)
		printf(" %lx", (unsigned long)chain[i]);
	printf("\n");
	fflush(stdout);
	spins[place]();
	__asm__ volatile("");
}
