/* SPDX-License-Identifier: Apache-2.0 */
/* Branches before the callers of a chain (attrib/branch_history.h): loops, callers that are there already, both modes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attrib/branch_history.h"
#include "attrib/place.h"
#include "base/types.h"

#define K(x) (0xffffffff80000000u + (x))

static struct u64s list(const u64 *v, size_t n)
{
	return (struct u64s){ .p = (const u8 *)v, .n = (u32)n };
}

/* Of a sample in user space at 0x100, with these branches (from, to), the newest first, and this chain. */
static u32 make_in(u32 cpumode, u64 ip, const u64 (*ends)[2], u32 n, struct u64s chain, u64 *words, u32 *exact)
{
	u64 *branches = calloc(n + 1, 3 * sizeof(*branches));
	struct sample full = { .nr_branches = n, .branches = list(branches, n * 3) };
	struct branch_history past;
	struct hit h = { .cpumode = cpumode, .full = &full, .s = { .ip = ip, .chain = chain } };
	u32 made;

	for (u32 i = 0; i < n; i++)
		memcpy(branches + (size_t)i * 3, ends[i], sizeof(ends[i]));
	branch_history_read(&full, &past);
	made = branch_history_chain(&h, &past, words, exact);
	free(branches);
	return made;
}

#define MAKE(ends, chain)                                                                                             \
	make_in(PERF_RECORD_MISC_USER, 0x100, ends, ARRAY_LEN(ends), list(chain, ARRAY_LEN(chain)), words, &exact)
#define IS(n_exact, ...)                                                                                              \
	do {                                                                                                          \
		const u64 want[] = { __VA_ARGS__ };                                                                   \
		assert_int_equal(n, ARRAY_LEN(want));                                                                 \
		assert_memory_equal(words, want, sizeof(want));                                                       \
		assert_int_equal(exact, n_exact);                                                                     \
	} while (0)

static void test_order(void **state)
{
	const u64 ends[][2] = { { 0x210, 0x0f0 }, { 0x310, 0x200 } },
		  chain[] = { PERF_CONTEXT_USER, 0x100, 0x400, 0x500 };
	u64 words[CHAIN_WORDS];
	u32 exact, n = MAKE(ends, chain);

	(void)state;
	IS(6, PERF_CONTEXT_USER, 0x100, 0x0f0, 0x210, 0x200, 0x310, 0x400, 0x500);
}

/* A call among the branches is not shown once more as the caller that it made. */
static void test_callers(void **state)
{
	const u64 called[][2] = { { 0x1fb, 0x0f0 }, { 0x2f8, 0x1e0 }, { 0x300, 0x2e0 } };
	const u64 chain[] = { PERF_CONTEXT_USER, 0x100, 0x200, 0x300, 0x400 };
	const u64 far[][2] = { { 0x1f7, 0x0f0 }, { 0x200, 0x1f0 } };
	u64 words[CHAIN_WORDS];
	u32 exact, n = MAKE(called, chain);

	(void)state;
	IS(8, PERF_CONTEXT_USER, 0x100, 0x0f0, 0x1fb, 0x1e0, 0x2f8, 0x2e0, 0x300, 0x400);
	n = MAKE(far, chain); /* 9 bytes before, and not before */
	IS(6, PERF_CONTEXT_USER, 0x100, 0x0f0, 0x1f7, 0x1f0, 0x200, 0x200, 0x300, 0x400);
}

static void test_loops(void **state)
{
	const u64 chain[] = { PERF_CONTEXT_USER, 0x100 };
	const u64 one[][2] = { { 0x20, 0x10 }, { 0x20, 0x10 }, { 0x20, 0x10 }, { 0x30, 0x20 } };
	const u64 two[][2] = { { 0x20, 0x10 }, { 0x40, 0x30 }, { 0x20, 0x10 },
			       { 0x40, 0x30 }, { 0x20, 0x10 }, { 0x50, 0x0 } };
	const u64 inner[][2] = { { 0x20, 0x10 }, { 0x20, 0x10 }, { 0x40, 0x10 },
				 { 0x20, 0x10 }, { 0x20, 0x10 }, { 0x40, 0x10 } };
	u64 words[CHAIN_WORDS];
	u32 exact, n = MAKE(one, chain);

	(void)state;
	IS(6, PERF_CONTEXT_USER, 0x100, 0x10, 0x20, 0x20, 0x30);
	n = MAKE(two, chain);
	IS(10, PERF_CONTEXT_USER, 0x100, 0x10, 0x20, 0x30, 0x40, 0x10, 0x20, 0x0, 0x50);
	n = MAKE(inner, chain);
	IS(6, PERF_CONTEXT_USER, 0x100, 0x10, 0x20, 0x10, 0x40);
}

/* What is left out counts where its loop began the round that stayed, with the cycles of all its branches. */
static void test_rounds(void **state)
{
	/* from, to, flags: two rounds of two branches, the older one with a round of one more inside; then another. */
	const u64 v[] = { 0x20, 0x10, 1 << 4, 0x40, 0x30, 2 << 4,  0x20, 0x10, 4 << 4,
			  0x20, 0x10, 8 << 4, 0x40, 0x30, 16 << 4, 0x50, 0x40, 32 << 4 };
	const struct sample s = { .nr_branches = 6, .branches = list(v, ARRAY_LEN(v)) };
	struct branch_history past;

	(void)state;
	branch_history_read(&s, &past);
	assert_int_equal(past.n, 3);
	assert_int_equal(past.v[0].rounds, 0);
	assert_int_equal(past.v[1].b.from, 0x40);
	assert_int_equal(past.v[1].rounds, 1);
	assert_int_equal(past.v[1].round_cycles, 4 + 8 + 16);
	assert_int_equal(past.v[2].b.from, 0x50);
	assert_int_equal(past.v[2].rounds + past.v[2].round_cycles, 0);
}

/* From user space into the kernel, where the sample was taken; and the callers in user space behind it. */
static void test_modes(void **state)
{
	const u64 ends[][2] = { { 0x210, K(0x50) }, { 0x310, 0x200 } };
	const u64 chain[] = { PERF_CONTEXT_KERNEL, K(0x100), K(0x90), PERF_CONTEXT_USER, 0x212, 0x400 };
	const u64 deferred[] = { PERF_CONTEXT_KERNEL, K(0x100), PERF_CONTEXT_USER_DEFERRED, 0x215 };
	u64 words[CHAIN_WORDS];
	u32 exact, n;

	(void)state;
	n = make_in(PERF_RECORD_MISC_KERNEL, K(0x100), ends, 2, list(chain, ARRAY_LEN(chain)), words, &exact);
	IS(7, PERF_CONTEXT_KERNEL, K(0x100), K(0x50), PERF_CONTEXT_USER, 0x210, 0x200, 0x310, PERF_CONTEXT_KERNEL,
	   K(0x90), PERF_CONTEXT_USER, 0x212, 0x400);
	n = make_in(PERF_RECORD_MISC_KERNEL, K(0x100), ends, 1, list(chain, ARRAY_LEN(chain)), words, &exact);
	IS(5, PERF_CONTEXT_KERNEL, K(0x100), K(0x50), PERF_CONTEXT_USER, 0x210, PERF_CONTEXT_KERNEL, K(0x90),
	   PERF_CONTEXT_USER, 0x212, 0x400);
	/* A cookie is no address, and stays behind its mark. */
	n = make_in(PERF_RECORD_MISC_KERNEL, K(0x100), ends, 1, list(deferred, ARRAY_LEN(deferred)), words, &exact);
	IS(5, PERF_CONTEXT_KERNEL, K(0x100), K(0x50), PERF_CONTEXT_USER, 0x210, PERF_CONTEXT_USER_DEFERRED, 0x215);
	n = make_in(PERF_RECORD_MISC_GUEST_USER, 0x100, ends, 1, list(chain, 0), words, &exact);
	IS(6, PERF_CONTEXT_GUEST_USER, 0x100, PERF_CONTEXT_GUEST_KERNEL, K(0x50), PERF_CONTEXT_GUEST_USER, 0x210);
	n = make_in(PERF_RECORD_MISC_USER, 0x100, ends, 0, list(chain, 0), words, &exact);
	IS(2, PERF_CONTEXT_USER, 0x100);
}

/* More of everything than there is room for. */
static void test_many(void **state)
{
	static u64 ends[1000][2], chain[1000];
	u64 words[CHAIN_WORDS];
	u32 exact, n;

	(void)state;
	for (u32 i = 0; i < 1000; i++) {
		ends[i][0] = i % 2 ? K(i * 16) : i * 16;
		ends[i][1] = i % 2 ? i * 16 : K(i * 16);
		chain[i] = i % 3 ? 0x100 + i : i % 2 ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL;
	}
	n = make_in(PERF_RECORD_MISC_USER, 0x100, (const u64(*)[2])ends, 1000, list(chain, 1000), words, &exact);
	assert_true(n <= CHAIN_WORDS && exact <= n && exact > 200);
	n = make_in(PERF_RECORD_MISC_USER, 0x100, (const u64(*)[2])ends, 3, list(chain, 1000), words, &exact);
	assert_true(n == CHAIN_WORDS && exact < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_callers),
					    cmocka_unit_test(test_loops), cmocka_unit_test(test_rounds),
					    cmocka_unit_test(test_modes), cmocka_unit_test(test_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
