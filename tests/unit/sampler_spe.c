/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of Arm SPE that the virtual PMU writes of sampled operations, as a Neoverse-N1 does. */
#include "sampler_rig.h"

#include "codec/spe_reader.h"
#include "vpmu/decode.h"

static struct rig *spe_new(u64 config)
{
	struct attr a = { .type = VPMU_SPE_TYPE, .config = config, .sample_period = 1000, .sample_type = RIG_FIELDS };
	struct rig *r = rig_new(&a, VC_INSTRUCTIONS);

	sampler_start(&r->t);
	return r;
}

/* What the packets of the only operation say. False: there are none. */
static bool spe_of(struct rig *r, const struct core_at *at, struct spe_record *out)
{
	struct spe_reader reader = { 0 };
	bool any;

	r->packets.len = 0;
	r->t.sampler->state.packets = 0;
	sampler_put_operation(&r->t, 0, at);
	sampler_flush_operations(&r->t);
	reader.data = r->packets.p;
	reader.len = r->packets.len;
	any = spe_next(&reader, out);
	assert_int_equal(reader.bad_bytes + reader.broken + reader.unknown, 0);
	return any;
}

/* Who answers a load, and how long that takes, stands in events, source and latencies, as a Neoverse-N1 has them. */
static void test_spe_loads(void **state)
{
	static const u64 always = SPE_EV_RETIRED | SPE_EV_L1D_ACCESS | SPE_EV_TLB_ACCESS;
	static const struct {
		u8 level;
		bool walk, peer;
		u64 events;
		u32 source;
	} rows[] = {
		{ IN_L1, false, false, 0, 0 },
		{ IN_L1, true, false, SPE_EV_TLB_WALK, 0 },
		{ IN_L2, false, false, SPE_EV_L1D_REFILL, 8 },
		{ IN_LLC, false, false, SPE_EV_L1D_REFILL | SPE_EV_LLC_ACCESS, 11 },
		{ IN_LLC, false, true, SPE_EV_L1D_REFILL | SPE_EV_LLC_ACCESS, 9 },
		{ IN_MEMORY, true, false, SPE_EV_L1D_REFILL | SPE_EV_LLC_ACCESS | SPE_EV_LLC_REFILL | SPE_EV_TLB_WALK,
		  14 },
	};
	struct rig *r = spe_new(0);
	const struct model *m = r->process.model;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct core_at at = { .pc = PC, .waits = 7, .stalls = 3, .kind = OP_PLAIN, .to = UINT64_MAX };
		struct spe_record s;

		at.load = met_at(40, rows[i].level, rows[i].walk, rows[i].peer);
		at.locked = i == 2;
		assert_true(spe_of(r, &at, &s));
		assert_true(spe_is_load(&s));
		assert_int_equal(s.operation & 6, i == 2 ? 6 : 0); /* atomic */
		assert_int_equal(s.pc, PC);
		assert_int_equal(s.level, 0);
		assert_int_equal(s.context, 4);
		assert_int_equal(s.virtual, DATA);
		assert_int_equal(s.events, always | rows[i].events);
		assert_int_equal(s.source, rows[i].source);
		assert_int_equal(s.latency[SPE_ISSUE], 8);
		assert_int_equal(s.latency[SPE_TOTAL], 8 + 3 + 40);
		assert_int_equal(s.latency[SPE_TRANSLATION], 1 + (rows[i].walk ? m->tlb_load : 0));
		assert_false(s.has &
			     (SPE_HAS_ADDRESS(SPE_PHYSICAL) | SPE_HAS_ADDRESS(SPE_TARGET) | SPE_HAS(SPE_TIMESTAMP)));
		assert_int_equal(r->told.kind, VPMU_OP_LOAD);
		assert_int_equal(r->told.flags, (rows[i].walk ? VPMU_OP_WALK : 0) | (rows[i].peer ? VPMU_OP_PEER : 0) |
							(i == 2 ? VPMU_OP_ATOMIC : 0));
		assert_int_equal(r->told.level, rows[i].level);
		assert_int_equal(r->told.addr, DATA);
		assert_int_equal(r->told.physical, 0);
		assert_int_equal(r->told.issue, 8);
		assert_int_equal(r->told.total, 8 + 3 + 40);
		assert_true(r->told_pc == PC && r->told_id == 10);
	}
	rig_free(r);
}

/* A store is done when a buffer has it; one that also loads is a store; neither has a source. */
static void test_spe_stores(void **state)
{
	struct rig *r = spe_new(1ull << VPMU_SPE_PHYSICAL);
	const struct model *m = r->process.model;
	struct core_at at = { .pc = PC, .kind = OP_PLAIN, .to = UINT64_MAX };
	struct spe_record s;

	(void)state;
	at.store = met_at(VPMU_L1_CYCLES, IN_L1, false, false);
	assert_true(spe_of(r, &at, &s));
	assert_true(spe_is_store(&s));
	assert_int_equal(s.latency[SPE_TOTAL], 2);
	assert_int_equal(s.latency[SPE_TRANSLATION], 1);
	assert_true(s.has & SPE_HAS_ADDRESS(SPE_PHYSICAL));
	assert_int_equal(s.physical, vpmu_physical(3, DATA));
	assert_int_equal(r->told.physical, vpmu_physical(3, DATA));
	assert_int_equal(r->told.kind, VPMU_OP_STORE);
	at.store = met_at(VPMU_L1_CYCLES + 6, IN_MEMORY, true, false);
	at.load = met_at(99, IN_L1, false, false);
	at.load.addr = 0x1234;
	assert_true(spe_of(r, &at, &s));
	assert_true(spe_is_store(&s));
	assert_int_equal(s.virtual, DATA);
	assert_int_equal(s.latency[SPE_TOTAL], 1 + 1 + 6);
	assert_int_equal(s.latency[SPE_TRANSLATION], 1 + m->tlb_store);
	assert_true(s.events & SPE_EV_LLC_REFILL && s.events & SPE_EV_TLB_WALK);
	assert_false(s.has & SPE_HAS(SPE_SOURCE));
	at = (struct core_at){ .pc = PC, .stalls = 5000, .kind = OP_PLAIN, .to = UINT64_MAX };
	assert_true(spe_of(r, &at, &s));
	assert_int_equal(s.operation_class, SPE_OTHER);
	assert_int_equal(s.events, SPE_EV_RETIRED);
	assert_int_equal(s.latency[SPE_ISSUE], 1);
	assert_int_equal(s.latency[SPE_TOTAL], 4095); /* as far as its counter goes */
	assert_false(s.has & (SPE_HAS_ADDRESS(SPE_VIRTUAL) | SPE_HAS_LATENCY(SPE_TRANSLATION)));
	assert_int_equal(r->told.kind, VPMU_OP_OTHER);
	rig_free(r);
}

static void test_spe_branches(void **state)
{
	static const struct {
		u8 kind, operation;
		bool wrong, taken;
		u64 events;
		u32 flags;
	} rows[] = {
		{ OP_COND, 1, false, true, 0, VPMU_OP_CONDITIONAL },
		{ OP_COND, 1, true, false, SPE_EV_MISPREDICTED | SPE_EV_NOT_TAKEN,
		  VPMU_OP_CONDITIONAL | VPMU_OP_MISPREDICTED | VPMU_OP_NOT_TAKEN },
		{ OP_JUMP, 0, false, true, 0, 0 },
		{ OP_CALL, 0, false, true, 0, 0 },
		{ OP_JUMP_INDIRECT, 2, true, true, SPE_EV_MISPREDICTED, VPMU_OP_INDIRECT | VPMU_OP_MISPREDICTED },
		{ OP_CALL_INDIRECT, 2, false, true, 0, VPMU_OP_INDIRECT },
		{ OP_RETURN, 2, false, true, 0, VPMU_OP_INDIRECT },
	};
	struct rig *r = spe_new(0);
	struct core_at at;
	struct spe_record s;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		at = (struct core_at){ .pc = PC, .kind = rows[i].kind, .wrong = rows[i].wrong, .behind = PC + 4 };
		at.to = rows[i].taken ? PC + 64 : PC + 4;
		assert_true(spe_of(r, &at, &s));
		assert_int_equal(s.operation_class, SPE_BRANCH);
		assert_int_equal(s.operation, rows[i].operation);
		assert_int_equal(s.events, SPE_EV_RETIRED | rows[i].events);
		assert_int_equal(s.target, at.to);
		assert_int_equal(s.latency[SPE_TOTAL], 2);
		assert_int_equal(r->told.kind, VPMU_OP_BRANCH);
		assert_int_equal(r->told.flags, rows[i].flags);
		assert_int_equal(r->told.to, at.to);
	}
	at.to = UINT64_MAX; /* nobody knows where it led */
	assert_true(spe_of(r, &at, &s));
	assert_false(s.has & SPE_HAS_ADDRESS(SPE_TARGET));
	rig_free(r);
}

/* One of the kinds is enough, all events have to be there, none of the others may, and latency is at least so much. */
static void test_spe_filters(void **state)
{
	static const u64 load = 1ull << VPMU_SPE_LOAD, store = 1ull << VPMU_SPE_STORE,
			 branch = 1ull << VPMU_SPE_BRANCH;
	static const struct {
		u64 config, events, least, without;
		bool passes;
	} rows[] = {
		{ 0, 0, 0, 0, true },
		{ load, 0, 0, 0, true },
		{ store, 0, 0, 0, false },
		{ branch, 0, 0, 0, false },
		{ store | branch | load, 0, 0, 0, true },
		{ 0, SPE_EV_TLB_WALK, 0, 0, true },
		{ 0, SPE_EV_TLB_WALK | SPE_EV_L1D_REFILL, 0, 0, false },
		{ load, SPE_EV_L1D_REFILL, 0, 0, false },
		{ 0, 0, 41, 0, true },
		{ 0, 0, 42, 0, false },
		{ 0, 0, 0, SPE_EV_TLB_WALK, false },
		{ 0, 0, 0, SPE_EV_L1D_REFILL, true },
	};
	struct core_at at = { .pc = PC, .kind = OP_PLAIN, .to = UINT64_MAX };
	struct spe_record s;

	(void)state;
	at.load = met_at(40, IN_L1, true, false); /* 41 cycles in all */
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct rig *r = spe_new(rows[i].config);
		struct attr *a = &r->control.events[0].attr;

		a->config1 = rows[i].events;
		a->config2 = rows[i].least;
		a->config3 = rows[i].without;
		assert_int_equal(spe_of(r, &at, &s), rows[i].passes);
		assert_int_equal(r->nr_told, rows[i].passes);
		rig_free(r);
	}
}

/* Packets come in pieces, none is lost, records begin at multiples of 4, and with times they have the thread's. */
static void test_spe_pieces(void **state)
{
	struct core_at at = { .pc = PC, .kind = OP_PLAIN, .to = UINT64_MAX };

	(void)state;
	for (u32 timed = 0; timed < 2; timed++) {
		struct rig *r = spe_new(timed << VPMU_SPE_TIME);
		struct spe_reader reader = { 0 };
		struct spe_record s;
		u32 n = 0;

		for (u32 i = 0; i < 301; i++) {
			r->t.counts[VC_TIME_NS] = 1000 + i;
			at.pc = PC + 4 * i;
			at.load = i % 3 ? (struct core_met){ 0 } : met_at(9, IN_L2, false, false);
			sampler_put_operation(&r->t, 0, &at);
			assert_true(r->t.sampler->packets.len < 2048);
		}
		assert_true(r->pieces > 1);
		sampler_flush_operations(&r->t);
		assert_int_equal(r->t.sampler->packets.len, 0);
		reader.data = r->packets.p;
		reader.len = r->packets.len;
		for (; spe_next(&reader, &s); n++) {
			assert_int_equal(s.pc, PC + 4 * n);
			assert_int_equal(spe_is_load(&s), n % 3 == 0);
			assert_int_equal(s.end % 4, 0);
			assert_int_equal(s.has >> SPE_TIMESTAMP & 1, timed);
			assert_int_equal(s.time, timed ? 1000 + n : 0);
		}
		assert_int_equal(n, 301);
		n = r->pieces;
		sampler_flush_operations(&r->t); /* of nothing */
		assert_int_equal(r->pieces, n);
		rig_free(r);
	}
}

/* A period's end is an operation, at once, whatever skid samples have; it is no sample. */
static void test_spe_periods(void **state)
{
	struct rig *r = spe_new(0);
	struct core_at at = { .pc = PC, .kind = OP_PLAIN, .to = UINT64_MAX };

	(void)state;
	r->control.options.skid_min = r->control.options.skid_max = 5;
	sampler_start(&r->t);
	assert_int_equal(r->nr_armed, 2); /* it, and the clock's tick */
	assert_int_equal(r->armed[0].at, 1000);
	r->t.counts[VC_INSTRUCTIONS] = 1000;
	sampler_overflow(&r->t, &r->armed[0], &at);
	assert_int_equal(r->armed[0].at, 2000);
	assert_int_equal(r->nr_told, 1);
	assert_int_equal(r->samples, 0);
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spe_loads),    cmocka_unit_test(test_spe_stores),
		cmocka_unit_test(test_spe_branches), cmocka_unit_test(test_spe_filters),
		cmocka_unit_test(test_spe_pieces),   cmocka_unit_test(test_spe_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
