/* SPDX-License-Identifier: Apache-2.0 */
/* Caches, branch prediction, and the tables of the simulated cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "vpmu/cache.h"
#include "vpmu/predictor.h"
#include "vpmu/rate.h"

static const struct model small = {
	.l1i = { 4, 2 },
	.l1d = { 4, 2 },
	.l2 = { 4, 4 },
	.llc = { 4, 8 },
	.dtlb = { 1, 2 },
	.history_bits = 10,
	.target_bits = 6,
	.indirect_bits = 6,
	.return_depth = 4,
};

/* Lines that share a set of all caches. */
#define LINE(n) (4 * (u64)(n) + 1)

static enum cache_level data_level(struct caches *c, u64 line)
{
	bool walk;

	return caches_data(c, line, VPMU_MODEL_ALL, c->now += CACHE_TICK, &walk);
}

static void test_cache_is_lru(void **state)
{
	struct caches c;

	(void)state;
	caches_new(&c, &small);
	assert_false(data_level(&c, LINE(0)) == IN_L1);
	assert_false(data_level(&c, LINE(1)) == IN_L1);
	assert_true(data_hits(&c, LINE(1), LINE(1), c.now += CACHE_TICK));
	assert_true(data_level(&c, LINE(0)) == IN_L1);
	assert_true(data_hits(&c, LINE(0), LINE(0), c.now += CACHE_TICK));
	assert_false(data_level(&c, LINE(2)) == IN_L1); /* 1 was used longest ago */
	assert_true(data_level(&c, LINE(0)) == IN_L1);
	assert_false(data_level(&c, LINE(1)) == IN_L1);
	assert_false(data_level(&c, LINE(2)) == IN_L1);
	/* Another set is another matter. */
	assert_false(data_level(&c, LINE(0) + 1) == IN_L1);
	assert_true(data_level(&c, LINE(2)) == IN_L1);
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

static u64 random_next(u64 *random)
{
	*random = *random * 6364136223846793005 + 1442695040888963407;
	return *random >> 40;
}

static void test_cache_against_stamps(void **state)
{
	struct stamped ways[64][8] = { 0 }, places[16][4] = { 0 };
	u64 random = 1, hits = 0, walks = 0;
	struct caches c;

	(void)state;
	caches_new(&c, &core_models[VPMU_GENERIC_X86]);
	for (u64 now = 1; now < 200000; now++) {
		/* Some sets of both have more lines, or pages, than ways. */
		u64 line = random_next(&random) % 100 + random_next(&random) % 5 * 64 * 16, page = line / 64;
		bool hit = stamped_touch(ways[line & 63], 8, line, now), walk = false;
		bool there = stamped_touch(places[page & 15], 4, page, now);

		assert_false(data_hits(&c, line, line + 1, now * CACHE_TICK));
		if (data_hits(&c, line, line, now * CACHE_TICK))
			assert_true(hit && there);
		else {
			assert_int_equal(caches_data(&c, line, VPMU_MODEL_ALL, now * CACHE_TICK, &walk) == IN_L1, hit);
			assert_int_equal(!walk, there);
		}
		hits += hit;
		walks += walk;
	}
	assert_in_range(hits, 100000, 199000);
	assert_in_range(walks, 1000, 100000);
	caches_free(&c);
}

static void test_code_against_stamps(void **state)
{
	struct stamped ways[64][8] = { 0 };
	u64 random = 1, hits = 0;
	struct caches c;

	(void)state;
	caches_new(&c, &core_models[VPMU_GENERIC_X86]);
	for (u64 now = 1; now < 200000; now++) {
		u64 line = random_next(&random) % 600;
		bool hit = !code_is_recent(&c, line) || code_hits(&c, line) || caches_code(&c, line) == IN_L1;

		assert_int_equal(hit, stamped_touch(ways[line & 63], 8, line, now));
		hits += hit;
	}
	assert_in_range(hits, 100000, 199000);
	caches_free(&c);
}

static void test_deep_against_stamps(void **state)
{
	struct stamped ways[16] = { 0 };
	u64 random = 1, hits = 0;
	struct caches c;

	(void)state;
	caches_new(&c, &core_models[VPMU_GENERIC_X86]);
	for (u64 now = 1; now < 100000; now++) {
		u64 line = 7 + 1024 * (random_next(&random) % 20);
		bool hit = deep_touch(&c.l2, line);

		assert_int_equal(hit, stamped_touch(ways, 16, line, now));
		hits += hit;
	}
	assert_in_range(hits, 50000, 99000);
	caches_free(&c);
}

static void test_levels(void **state)
{
	struct caches c;

	(void)state;
	caches_new(&c, &small);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(data_level(&c, LINE(i)), IN_MEMORY);
	assert_int_equal(data_level(&c, LINE(2)), IN_L1);
	assert_int_equal(data_level(&c, LINE(0)), IN_L2);
	/* What was fetched as data is in L2 for instructions too. */
	assert_int_equal(caches_code(&c, LINE(1)), IN_L2);
	for (u32 i = 3; i < 8; i++)
		assert_int_equal(data_level(&c, LINE(i)), IN_MEMORY);
	assert_int_equal(data_level(&c, LINE(0)), IN_LLC);
	caches_free(&c);
}

static bool cond_is_wrong(struct predictor *p, u64 key, bool taken)
{
	u32 how = predict_cond(p, (u32)key | 1u << 31, taken);

	assert_int_equal(how & END_TAKEN, taken ? END_TAKEN : 0);
	return end_is_wrong(how);
}

static void test_cond_learns(void **state)
{
	struct predictor p;
	u32 wrong = 0;

	(void)state;
	predictor_new(&p, &small);
	for (u32 i = 0; i < 1000; i++)
		wrong += cond_is_wrong(&p, 0x1000, true);
	assert_in_range(wrong, 1, 20); /* one for each bit of history, and a little */
	/* A pattern that history tells apart: every third is not taken. */
	for (u32 i = 0; i < 1000; i++)
		cond_is_wrong(&p, 0x1000, i % 3 != 0);
	wrong = 0;
	for (u32 i = 1000; i < 2000; i++)
		wrong += cond_is_wrong(&p, 0x1000, i % 3 != 0);
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
		wrong += cond_is_wrong(&p, 0x1000, random >> 63);
	}
	assert_in_range(wrong, 4700, 5300);
	predictor_free(&p);
}

static void test_counter_saturates(void **state)
{
	struct predictor p;

	(void)state;
	memset(&p, 0x55, sizeof(p)); /* whatever was there */
	predictor_new(&p, &small);
	assert_true(!p.history && !p.top);
	p.mask = 0; /* one counter */
	for (u32 i = 0; i < 10; i++)
		cond_is_wrong(&p, 0, true);
	assert_int_equal(p.counters[1], 3);
	assert_true(cond_is_wrong(&p, 0, false));
	assert_false(cond_is_wrong(&p, 0, true));
	for (u32 i = 0; i < 10; i++)
		cond_is_wrong(&p, 0, false);
	assert_int_equal(p.counters[1], 0);
	predictor_free(&p);
}

/* Two bits: each outcome moves a counter by one, up to its end; it says "taken" from 2 on. Where nobody is asked
 * nothing is learnt. */
static void test_counter_moves(void **state)
{
	struct predictor p;

	(void)state;
	predictor_new(&p, &small);
	p.mask = 0; /* one counter */
	for (u32 before = 0; before < 4; before++)
		for (u32 taken = 0; taken < 2; taken++) {
			u32 behind = taken ? MIN(before + 1, 3u) : MAX(before, 1u) - 1;

			p.counters[1] = (u8)before;
			assert_int_equal(cond_is_wrong(&p, 0, taken), taken != before / 2);
			assert_int_equal(p.counters[1], behind);
		}
	for (u32 taken = 0; taken < 2; taken++) {
		assert_false(end_is_wrong(predict_cond(&p, 0, taken)));
		assert_int_equal(p.counters[0], STATE_NOBODY);
	}
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

/* A PLT's jump always goes to the same place: it is foreseen whatever came before it. A table's jump is foreseen by
 * what came before it. */
static void test_indirect_history(void **state)
{
	struct predictor p;

	(void)state;
	predictor_new(&p, &small);
	for (u32 i = 0; i < 200; i++) {
		p.history = i * 5;
		assert_int_equal(predict_indirect(&p, 0x1000, 0x2000), i == 0);
	}
	for (u32 i = 0; i < 200; i++) {
		p.history = i & 1;
		assert_int_equal(predict_indirect(&p, 0x1010, i & 1 ? 0x4000 : 0x3000), i < 2);
	}
	predictor_free(&p);
}

static bool is_power(u32 n)
{
	return n && !(n & (n - 1));
}

static void check_cache(struct cache_shape s)
{
	assert_true(is_power(s.sets));
	assert_in_range(s.ways, 2, CACHE_TICK);
}

static void test_tables(void **state)
{
	(void)state;
	for (u32 i = 0; i < NR_VPMU_CORES; i++) {
		const struct model *m = &core_models[i];
		struct predictor p;

		predictor_new(&p, m);
		assert_int_equal(p.mask + 1, 1u << m->history_bits);
		assert_int_equal(p.indirect_mask + 1, 1u << m->indirect_bits);
		assert_int_equal(p.target_mask + 1, 1u << m->target_bits);
		assert_int_equal(p.depth, m->return_depth);
		predictor_free(&p);
		assert_string_equal(m->name, vpmu_core_names[i]);
		assert_in_range(m->width, 1, 16);
		assert_in_range(m->mhz, 500, 6000);
		assert_int_equal(m->mhz, vpmu_core_mhz[i]);
		check_cache(m->l1i);
		check_cache(m->l1d);
		check_cache(m->l2);
		check_cache(m->llc);
		/* Their tags have 32 bits, and hold addresses of 48. */
		assert_true(m->l2.sets >= 1024 && m->llc.sets >= 1024);
		assert_true(m->l2.ways % 4 == 0 && m->llc.ways % 4 == 0);
		check_cache(m->dtlb);
		assert_true(is_power(m->return_depth));
		assert_in_range(m->history_bits, 4, 15);
		assert_true(1u << m->history_bits <= PREDICTOR_COUNTERS);
		assert_in_range(m->indirect_bits, 4, 20);
		assert_in_range(m->target_bits, 4, 20);
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

/* The first two guesses are believed; nothing is learned where nothing was counted, or no frequency is asked for. */
static void test_rate(void **state)
{
	struct rate r;

	(void)state;
	rate_start(&r, 0, 1000, 50);
	assert_int_equal(r.period, 1);
	rate_train(&r, 1000, 2000, 50); /* no count */
	rate_train(&r, 0, 2000, 60);	/* no frequency */
	assert_int_equal(r.period, 1);
	assert_int_equal(r.time_ns, 1000);
	rate_train(&r, 1000, 1000 + 1000000, 50 + 800); /* 800 in a millisecond, 1000 times a second */
	assert_int_equal(r.period, 800);
	rate_train(&r, 1000, 1000 + 2000000, 50 + 1000);
	assert_int_equal(r.period, 200);
	rate_train(&r, 1000, 1000 + 3000000, 50 + 1600);
	assert_int_equal(r.period, 400);
	rate_start(&r, 800, 0, 0); /* one that is inherited is changed by an eighth */
	rate_train(&r, 1000, 1000000, 1600);
	assert_int_equal(r.period, 900);
	rate_start(&r, 0, 0, 0);
	rate_train(&r, 1000, 0, 5); /* faster than the clock */
	assert_int_equal(r.period, 5000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_is_lru),
		cmocka_unit_test(test_cache_against_stamps),
		cmocka_unit_test(test_code_against_stamps),
		cmocka_unit_test(test_deep_against_stamps),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_cond_learns),
		cmocka_unit_test(test_cond_random),
		cmocka_unit_test(test_counter_saturates),
		cmocka_unit_test(test_counter_moves),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_indirect_history),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
