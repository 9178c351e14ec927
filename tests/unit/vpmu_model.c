/* SPDX-License-Identifier: Apache-2.0 */
/* Caches, branch prediction, and the tables of the simulated cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "vpmu/cache.h"
#include "vpmu/predictor.h"

static const struct model small = {
	.l1i = { 4, 2 },
	.l1d = { 4, 2 },
	.l2 = { 4, 4 },
	.llc = { 4, 8 },
	.dtlb = { 1, 2 },
	.history_bits = 10,
	.indirect_bits = 6,
	.return_depth = 4,
};

/* Lines that share a set of all caches. */
#define LINE(n) (4 * (u64)(n) + 1)

static void test_cache_is_lru(void **state)
{
	struct caches c;

	(void)state;
	caches_new(&c, &small);
	assert_false(cache_touch(&c.l1d, LINE(0)));
	assert_false(cache_touch(&c.l1d, LINE(1)));
	assert_true(cache_hits(&c.l1d, LINE(1)));
	assert_true(cache_touch(&c.l1d, LINE(0)));
	assert_true(cache_hits(&c.l1d, LINE(0)));
	assert_false(cache_touch(&c.l1d, LINE(2))); /* 1 was used longest ago */
	assert_true(cache_touch(&c.l1d, LINE(0)));
	assert_false(cache_touch(&c.l1d, LINE(1)));
	assert_false(cache_touch(&c.l1d, LINE(2)));
	/* Another set is another matter. */
	assert_false(cache_touch(&c.l1d, LINE(0) + 1));
	assert_true(cache_touch(&c.l1d, LINE(2)));
	caches_free(&c);
}

/* A reference that is too simple to be wrong: time stamps. */
struct stamped {
	u64 tag, when;
};

static bool stamped_touch(struct stamped *ways, u32 n, u64 tag, u64 now)
{
	u32 oldest = 0;

	for (u32 i = 0; i < n; i++) {
		if (ways[i].when && ways[i].tag == tag) {
			ways[i].when = now;
			return true;
		}
		if (ways[i].when < ways[oldest].when)
			oldest = i;
	}
	ways[oldest] = (struct stamped){ tag, now };
	return false;
}

static void test_cache_against_stamps(void **state)
{
	struct stamped ways[64][8] = { 0 };
	u64 random = 1, hits = 0;
	struct caches c;

	(void)state;
	caches_new(&c, &core_models[VPMU_GENERIC_X86]);
	for (u64 now = 1; now < 200000; now++) {
		u64 line;
		bool hit;

		random = random * 6364136223846793005 + 1442695040888963407;
		line = (random >> 40) % 600;
		hit = cache_hits(&c.l1d, line) || cache_touch(&c.l1d, line);
		assert_int_equal(hit, stamped_touch(ways[line & 63], 8, line, now));
		hits += hit;
	}
	assert_in_range(hits, 100000, 199000);
	caches_free(&c);
}

static void test_levels(void **state)
{
	struct caches c;

	(void)state;
	caches_new(&c, &small);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(caches_find(&c, &c.l1d, LINE(i)), IN_MEMORY);
	assert_int_equal(caches_find(&c, &c.l1d, LINE(2)), IN_L1);
	assert_int_equal(caches_find(&c, &c.l1d, LINE(0)), IN_L2);
	/* What was fetched as data is in L2 for instructions too. */
	assert_int_equal(caches_find(&c, &c.l1i, LINE(1)), IN_L2);
	for (u32 i = 3; i < 8; i++)
		assert_int_equal(caches_find(&c, &c.l1d, LINE(i)), IN_MEMORY);
	assert_int_equal(caches_find(&c, &c.l1d, LINE(0)), IN_LLC);
	caches_free(&c);
}

static void test_cond_learns(void **state)
{
	struct predictor p;
	u32 wrong = 0;

	(void)state;
	predictor_new(&p, &small);
	for (u32 i = 0; i < 1000; i++)
		wrong += predict_cond(&p, 0x1000, 1, true);
	assert_in_range(wrong, 1, 20); /* one for each bit of history, and a little */
	/* A pattern that history tells apart: every third is not taken. */
	for (u32 i = 0; i < 1000; i++)
		predict_cond(&p, 0x1000, 1, i % 3 != 0);
	wrong = 0;
	for (u32 i = 1000; i < 2000; i++)
		wrong += predict_cond(&p, 0x1000, 1, i % 3 != 0);
	assert_int_equal(wrong, 0);
	predictor_free(&p);
}

/* What nobody could know is wrong half of the time. */
static void test_cond_random(void **state)
{
	struct predictor p;
	u64 random = 7;
	u32 wrong = 0;

	(void)state;
	predictor_new(&p, &small);
	for (u32 i = 0; i < 10000; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		wrong += predict_cond(&p, 0x1000, 1, random >> 63);
	}
	assert_in_range(wrong, 4700, 5300);
	predictor_free(&p);
}

static void test_counter_saturates(void **state)
{
	struct predictor p;

	(void)state;
	predictor_new(&p, &small);
	p.mask = 0; /* one counter */
	for (u32 i = 0; i < 10; i++)
		predict_cond(&p, 0, 1, true);
	assert_int_equal(p.counters[1], 3);
	assert_true(predict_cond(&p, 0, 1, false));
	assert_false(predict_cond(&p, 0, 1, true));
	for (u32 i = 0; i < 10; i++)
		predict_cond(&p, 0, 1, false);
	assert_int_equal(p.counters[1], 0);
	predictor_free(&p);
}

static void test_returns(void **state)
{
	struct predictor p;

	(void)state;
	predictor_new(&p, &small);
	for (u64 i = 1; i <= 4; i++)
		predictor_call(&p, i);
	for (u64 i = 4; i >= 1; i--)
		assert_false(predict_return(&p, i));
	/* One deeper than it is: the outermost is lost. */
	for (u64 i = 1; i <= 5; i++)
		predictor_call(&p, i);
	for (u64 i = 5; i >= 2; i--)
		assert_false(predict_return(&p, i));
	assert_true(predict_return(&p, 1));
	predictor_free(&p);
}

static void test_indirect(void **state)
{
	struct predictor p;

	(void)state;
	predictor_new(&p, &small);
	assert_true(predict_indirect(&p, 0x1000, 0x2000));
	assert_false(predict_indirect(&p, 0x1000, 0x2000));
	assert_true(predict_indirect(&p, 0x1000, 0x3000));
	assert_false(predict_indirect(&p, 0x1000, 0x3000));
	predictor_free(&p);
}

static bool is_power(u32 n)
{
	return n && !(n & (n - 1));
}

static void check_cache(struct cache_shape s)
{
	assert_true(is_power(s.sets));
	assert_in_range(s.ways, 2, 16);
}

static void test_tables(void **state)
{
	(void)state;
	for (u32 i = 0; i < NR_VPMU_CORES; i++) {
		const struct model *m = &core_models[i];

		assert_string_equal(m->name, vpmu_core_names[i]);
		assert_in_range(m->width, 1, 16);
		assert_in_range(m->mhz, 500, 6000);
		check_cache(m->l1i);
		check_cache(m->l1d);
		check_cache(m->l2);
		check_cache(m->llc);
		check_cache(m->dtlb);
		assert_true(is_power(m->return_depth));
		assert_in_range(m->history_bits, 4, 20);
		assert_in_range(m->indirect_bits, 4, 20);
		/* core.c's horizon: an event that is no slot costs slots, two of them for two at once. */
		assert_true(m->store[1] * m->width >= 2 && m->load[1] * m->width >= 2 && m->fetch[1] && m->tlb_load &&
			    m->tlb_store);
		assert_true(!m->load[0] && !m->store[0] && !m->fetch[0]);
		for (u32 level = 1; level < 4; level++) {
			assert_true(m->load[level] > m->load[level - 1]);
			assert_true(m->store[level] > m->store[level - 1]);
			assert_true(m->fetch[level] > m->fetch[level - 1]);
			assert_true(m->store[level] <= m->load[level]);
		}
		assert_int_equal(m->op[COST_NONE], 0);
		for (u32 cost = 1; cost < NR_OP_COSTS; cost++)
			assert_in_range(m->op[cost], 1, UINT16_MAX / m->width); /* struct op has 16 bits for it */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_is_lru), cmocka_unit_test(test_cache_against_stamps),
		cmocka_unit_test(test_levels),	     cmocka_unit_test(test_cond_learns),
		cmocka_unit_test(test_cond_random),  cmocka_unit_test(test_counter_saturates),
		cmocka_unit_test(test_returns),	     cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
