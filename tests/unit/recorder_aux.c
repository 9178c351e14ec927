/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder says of AUX areas, and what it learns of them from the records that flow past. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "record/recorder_impl.h"

/* Each ring's records tell of its own area: that of a CPU, or of a thread. */
static void test_ends(void **state)
{
	static const struct {
		u64 offset, size;
		u32 cpu, tid;
		u64 flags;
	} records[] = { { 0, 64, 0, 70, 0 },
			{ 64, 64, 0, 71, 0 },
			{ 0, 4096, 1, 70, 0 },
			{ 128, 0, 0, 72, PERF_AUX_FLAG_TRUNCATED },
			/* Of areas that are overwritten, bytes add up. */
			{ 80, 80, 3, 73, PERF_AUX_FLAG_OVERWRITE },
			{ 20, 68, 3, 74, PERF_AUX_FLAG_OVERWRITE },
			{ 40, 20, 3, 74, PERF_AUX_FLAG_OVERWRITE } };
	static const struct {
		s32 cpu, tid;
		u64 end;
	} rows[] = { { 0, -1, 128 },  { 1, -1, 4096 }, { 2, -1, 0 },  { -1, 70, 4096 },
		     { -1, 71, 128 }, { -1, 72, 128 }, { -1, 75, 0 }, { 70, -1, 0 },
		     { 3, -1, 168 },  { -1, 73, 80 },  { -1, 74, 88 } };
	const struct attr a = { .type = 9,
				.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
				.flags = ATTR_SAMPLE_ID_ALL };
	struct evlist l = { 0 };
	struct bytes data = { 0 };
	struct flow f;

	(void)state;
	evlist_add(&l, &a, "arm_spe_0//", NULL);
	assert_int_equal(evlist_seal(&l, NULL, "test"), 0);
	for (u32 i = 0; i < ARRAY_LEN(records); i++) {
		struct record r = { .h.type = PERF_RECORD_AUX };

		r.aux = (struct rec_aux){ records[i].offset, records[i].size, records[i].flags };
		r.sid.cpu = records[i].cpu;
		r.sid.tid = records[i].tid;
		assert_int_equal(record_encode(&r, &l.trailer, &data), 0);
	}
	flow_init(&f, &l, false);
	flow_look(&f, &(struct iovec){ data.p, data.len }, 1);
	for (u32 round = 0; round < 2; round++) { /* the next file is of the same areas */
		for (u32 i = 0; i < ARRAY_LEN(rows); i++)
			assert_int_equal(flow_aux_end(&f, rows[i].cpu, rows[i].tid), rows[i].end);
		assert_int_equal(f.aux_truncated, round ? 0 : 1);
		flow_restart(&f);
	}
	flow_free(&f);
	bytes_free(&data);
	evlist_free(&l);
}

/* Each CPU has its own core's number and its own PMU's where there are several of either. */
static void test_words(void **state)
{
	struct aux_core alike[] = { { 0, 0xd40 }, { 1, 0xd40 }, { 2, 0xd40 } };
	struct aux_core mixed[] = { { 0, 0xd40 }, { 1, 0xd41 }, { 4, 0xd41 } };
	struct aux_core second[] = { { 0, 0xd40 }, { 1, 0xd41 }, { 2, 0xd40 } };
	struct aux_core third[] = { { 0, 0xd40 }, { 1, 0xd40 }, { 2, 0xd41 } };
	struct aux_pmu pmus[] = { { 9, 1024, "0,2-3" }, { 12, 256, "1" } };
	const struct {
		struct aux_cores cores;
		struct aux_pmus pmus;
		u64 words[22];
		u32 n;
	} rows[] = {
		{ { { alike, 3, 3 } }, { { pmus, 1, 1 } }, { 9, 1 }, 2 },
		{ { { NULL, 0, 0 } }, { { pmus, 1, 1 } }, { 9, 1 }, 2 },
		{ { { third, 2, 3 } }, { { pmus, 1, 1 } }, { 9, 1 }, 2 }, /* what lies behind them is no core */
		/* The one that differs may be any. */
		{ { { second, 3, 3 } },
		  { { pmus, 1, 1 } },
		  { 2, 4,     9,	  3, SPE_CPU_MAGIC, 0, 3, 0xd40, 9, 1024, SPE_CPU_MAGIC, 1,
		    3, 0xd41, UINT64_MAX, 0, SPE_CPU_MAGIC, 2, 3, 0xd40, 9, 1024 },
		  22 },
		{ { { third, 3, 3 } },
		  { { pmus, 1, 1 } },
		  { 2, 4,     9,	  3, SPE_CPU_MAGIC, 0, 3, 0xd40, 9, 1024, SPE_CPU_MAGIC, 1,
		    3, 0xd40, UINT64_MAX, 0, SPE_CPU_MAGIC, 2, 3, 0xd41, 9, 1024 },
		  22 },
		{ { { mixed, 3, 3 } },
		  { { pmus, 1, 1 } },
		  { 2, 4,     9,	  3, SPE_CPU_MAGIC, 0, 3, 0xd40, 9,	     1024, SPE_CPU_MAGIC, 1,
		    3, 0xd41, UINT64_MAX, 0, SPE_CPU_MAGIC, 4, 3, 0xd41, UINT64_MAX, 0 },
		  22 },
		{ { { alike, 3, 3 } },
		  { { pmus, 2, 2 } },
		  { 2, 4,     9,  3,   SPE_CPU_MAGIC, 0, 3, 0xd40, 9, 1024, SPE_CPU_MAGIC, 1,
		    3, 0xd40, 12, 256, SPE_CPU_MAGIC, 2, 3, 0xd40, 9, 1024 },
		  22 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes words = { 0 };

		recorder_aux_words(&words, &rows[i].cores, &rows[i].pmus);
		assert_int_equal(words.len, rows[i].n * sizeof(u64));
		assert_memory_equal(words.p, rows[i].words, words.len);
		bytes_free(&words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
