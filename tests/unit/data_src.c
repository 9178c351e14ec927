/* SPDX-License-Identifier: Apache-2.0 */
/* Where data came from: the parts of the word, perf's words for them, and what Arm SPE says as such a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/data_src.h"
#include "codec/perf_abi.h"
#include "codec/spe_source.h"

#define NEOVERSE_N1 (0x41ull << 24 | 0xd0c << 4)

/* Each bit up to 45 belongs to one part at most, and these are the parts. */
static void test_parts(void **state)
{
	static const u64 parts[] = {
		[DATA_SRC_OP] = 0x1f,
		[DATA_SRC_LEVEL] = 0x3fffull << 5 | 0xfull << 33 | 1ull << 37 | 7ull << 43,
		[DATA_SRC_SNOOP] = 0x1full << 19 | 3ull << 38,
		[DATA_SRC_TLB] = 0x7full << 26,
		[DATA_SRC_LOCKED] = 3ull << 24,
		[DATA_SRC_BLOCKED] = 7ull << 40,
	};
	u64 all = 0;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(parts); i++) {
		assert_int_equal(data_src_part(i, UINT64_MAX), parts[i]);
		assert_int_equal(data_src_part(i, ~parts[i]), 0);
		assert_int_equal(all & parts[i], 0);
		all |= parts[i];
	}
	assert_int_equal(all, (1ull << 46) - 1);
}

static void test_words(void **state)
{
	static const struct {
		enum data_src_part part;
		u64 v;
		const char *text;
	} rows[] = {
		{ DATA_SRC_OP, 0, "No" },
		{ DATA_SRC_OP, PERF_MEM_S(OP, LOAD), "LOAD" },
		{ DATA_SRC_OP, PERF_MEM_S(OP, STORE), "STORE" },
		{ DATA_SRC_LEVEL, 0, "N/A" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVL, HIT), "L1 hit" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, MISS), "L3 miss" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVL, L1), "L1 or L2" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(LVL, HIT), "N/A hit" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVLNUM, L2), "L2 or L2" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(LVLNUM, RAM), "RAM" },
		{ DATA_SRC_LEVEL, PERF_MEM_S(REMOTE, REMOTE) | PERF_MEM_S(LVLNUM, RAM) | 1ull << 43,
		  "Remote core, same node RAM" },
		{ DATA_SRC_LEVEL, 4ull << 43, "board " },
		{ DATA_SRC_LEVEL, 5ull << 43, "N/A " },
		{ DATA_SRC_SNOOP, 0, "N/A" },
		{ DATA_SRC_SNOOP, PERF_MEM_S(SNOOP, HITM), "HitM" },
		{ DATA_SRC_SNOOP, PERF_MEM_S(SNOOPX, PEER), "Peer" },
		{ DATA_SRC_SNOOP, PERF_MEM_S(SNOOP, HIT) | PERF_MEM_S(SNOOPX, PEER), "Hit or Peer" },
		{ DATA_SRC_TLB, 0, "N/A" },
		{ DATA_SRC_TLB, PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, HIT), "Walker hit" },
		{ DATA_SRC_TLB, PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, MISS), "Walker miss" },
		{ DATA_SRC_LOCKED, 0, "No" },
		{ DATA_SRC_LOCKED, 1ull << 24, "N/A" },
		{ DATA_SRC_LOCKED, PERF_MEM_S(LOCK, LOCKED), "Yes" },
		{ DATA_SRC_BLOCKED, 0, " N/A" },
		{ DATA_SRC_BLOCKED, 1ull << 40, " N/A" },
		{ DATA_SRC_BLOCKED, 2ull << 40, " Data" },
		{ DATA_SRC_BLOCKED, 4ull << 40, " Addr" },
		{ DATA_SRC_BLOCKED, 6ull << 40, " Data Addr" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes out = { 0 };

		data_src_put(rows[i].part, rows[i].v, &out);
		bytes_char(&out, 0);
		assert_string_equal((char *)out.p, rows[i].text);
		bytes_free(&out);
	}
}

/* An operation with these events and that data source, as text. */
static void spe(u8 class, u8 operation, u32 events, u64 source, u64 midr, const char *want)
{
	const struct spe_record r = { .has = SPE_HAS(SPE_OPERATION) | SPE_HAS(SPE_SOURCE),
				      .operation_class = class,
				      .operation = operation,
				      .events = events,
				      .source = source };
	u64 v = spe_data_src(&r, midr);
	struct bytes out = { 0 };

	for (u32 i = DATA_SRC_OP; i <= DATA_SRC_TLB; i++) {
		data_src_put(i, v, &out);
		bytes_char(&out, i == DATA_SRC_TLB ? 0 : '|');
	}
	assert_string_equal((char *)out.p, want);
	bytes_free(&out);
}

static void test_spe(void **state)
{
	(void)state;
	/* The core says by numbers where the data were. */
	spe(SPE_LOAD_STORE, 0, 0, 0x0, NEOVERSE_N1, "LOAD|L1 or L1 hit|None|N/A");
	spe(SPE_LOAD_STORE, 0, 0, 0x9, NEOVERSE_N1, "LOAD|L2 or L2 hit|Peer|N/A");
	spe(SPE_LOAD_STORE, 0, 0, 0xe, NEOVERSE_N1, "LOAD|Local RAM or RAM hit|None|N/A");
	spe(SPE_LOAD_STORE, 0, SPE_EV_L1D_ACCESS, 0x77, NEOVERSE_N1, "LOAD|N/A|N/A|N/A");
	spe(SPE_LOAD_STORE, 1, 0, 0xe, NEOVERSE_N1, "STORE|N/A or N/A|N/A|N/A");
	/* Or only what happened. */
	spe(SPE_LOAD_STORE, 0, SPE_EV_L1D_ACCESS, 0xe, 0, "LOAD|L1 hit|N/A|N/A");
	spe(SPE_LOAD_STORE, 1, SPE_EV_L1D_ACCESS | SPE_EV_L1D_REFILL, 0, 0, "STORE|L1 miss|N/A|N/A");
	spe(SPE_LOAD_STORE, 0, SPE_EV_L1D_REFILL | SPE_EV_LLC_ACCESS, 0, 0, "LOAD|L3 hit|N/A|N/A");
	spe(SPE_LOAD_STORE, 0, SPE_EV_LLC_REFILL, 0, 0, "LOAD|L3 miss|N/A|N/A");
	spe(SPE_LOAD_STORE, 0, SPE_EV_REMOTE_ACCESS, 0, 0, "LOAD|Remote |N/A|N/A");
	spe(SPE_LOAD_STORE, 0, SPE_EV_TLB_ACCESS, 0, 0, "LOAD|N/A|N/A|Walker hit");
	spe(SPE_LOAD_STORE, 0, SPE_EV_TLB_ACCESS | SPE_EV_TLB_WALK, 0, 0, "LOAD|N/A|N/A|Walker miss");
	/* Branches and other operations have no data. */
	spe(SPE_BRANCH, 0, SPE_EV_L1D_ACCESS | SPE_EV_TLB_WALK, 0xe, NEOVERSE_N1, "No|N/A|N/A|N/A");
}

/* Where a load's data were: by the core's number, if the core and the number are known and said; else by events. */
static void test_places(void **state)
{
	static const struct {
		u64 has, source, events, midr;
		enum spe_place place;
	} rows[] = {
		{ SPE_HAS(SPE_SOURCE), 0x0, 0, NEOVERSE_N1, SPE_FROM_L1 },
		{ SPE_HAS(SPE_SOURCE), 0x8, 0, NEOVERSE_N1, SPE_FROM_L2 },
		{ SPE_HAS(SPE_SOURCE), 0xe, SPE_EV_L1D_ACCESS, NEOVERSE_N1, SPE_FROM_DRAM },
		{ SPE_HAS(SPE_SOURCE), 0x77, SPE_EV_L1D_ACCESS, NEOVERSE_N1, SPE_FROM_L1 },
		{ SPE_HAS(SPE_SOURCE), 0x77, 0, NEOVERSE_N1, SPE_FROM_UNKNOWN },
		{ SPE_HAS(SPE_SOURCE), 0xe, SPE_EV_L1D_ACCESS, 0, SPE_FROM_L1 },
		{ SPE_HAS(SPE_EVENTS), 0xe, SPE_EV_LLC_ACCESS, NEOVERSE_N1, SPE_FROM_LLC },
		{ SPE_HAS(SPE_EVENTS), 0x0, SPE_EV_LLC_ACCESS | SPE_EV_LLC_REFILL, 0, SPE_FROM_BEYOND_LLC },
		{ 0, 0x0, SPE_EV_L1D_ACCESS | SPE_EV_L1D_REFILL, 0, SPE_FROM_BEYOND_L1 },
		{ 0, 0x0, 0, NEOVERSE_N1, SPE_FROM_UNKNOWN },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct spe_record r = { .has = rows[i].has,
					      .operation_class = SPE_LOAD_STORE,
					      .source = rows[i].source,
					      .events = rows[i].events };

		assert_int_equal(spe_load_place(&r, rows[i].midr), rows[i].place);
	}
}

static void test_cores(void **state)
{
	(void)state;
	assert_string_equal(spe_core_name(NEOVERSE_N1), "Neoverse-N1");
	assert_string_equal(spe_core_name(NEOVERSE_N1 | 0xfull << 20 | 0xf), "Neoverse-N1"); /* of any revision */
	assert_string_equal(spe_core_name(0x41ull << 24 | 0xd85 << 4), "Cortex-X925");
	assert_null(spe_core_name(0x42ull << 24 | 0xd0c << 4)); /* another one's core */
	assert_null(spe_core_name(0x41ull << 24 | 0xd0d << 4));
	assert_null(spe_core_name(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),  cmocka_unit_test(test_words), cmocka_unit_test(test_spe),
		cmocka_unit_test(test_places), cmocka_unit_test(test_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
