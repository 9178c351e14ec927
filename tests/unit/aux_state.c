/* SPDX-License-Identifier: Apache-2.0 */
/* What the side-band says of AUX data. */
#include "state/aux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "codec/perf_abi.h"

#define BOTH (PERF_SAMPLE_CPU | PERF_SAMPLE_TID)
#define ANY UINT32_MAX

/* Data without times have that of the last AUX record of their CPU, or thread, and not of another one's. */
static void test_clocks(void **state)
{
	static const struct {
		u32 type;
		u64 has, time; /* of an AUX record; time: of AUXTRACE what is to be found */
		u32 cpu, tid;
	} rows[] = {
		{ PERF_RECORD_AUXTRACE, 0, 0, 0, ANY },	  { PERF_RECORD_AUX, BOTH, 10, 0, 70 },
		{ PERF_RECORD_AUX, BOTH, 20, 1, 71 },	  { PERF_RECORD_AUXTRACE, 0, 10, 0, ANY },
		{ PERF_RECORD_AUXTRACE, 0, 20, 1, ANY },  { PERF_RECORD_AUX, BOTH, 30, 0, 72 },
		{ PERF_RECORD_AUXTRACE, 0, 20, 1, ANY },  { PERF_RECORD_AUXTRACE, 0, 30, 0, ANY },
		{ PERF_RECORD_AUXTRACE, 0, 20, ANY, 71 }, { PERF_RECORD_AUXTRACE, 0, 10, ANY, 70 },
		{ PERF_RECORD_AUXTRACE, 0, 30, 5, ANY }, /* nothing was said of it */
		{ PERF_RECORD_AUX, 0, 40, 0, 0 },	  { PERF_RECORD_AUXTRACE, 0, 30, 0, ANY },
		{ PERF_RECORD_AUXTRACE, 0, 40, 6, ANY },  { PERF_RECORD_AUX, PERF_SAMPLE_TID, 50, 0, 70 },
		{ PERF_RECORD_AUXTRACE, 0, 50, ANY, 70 }, { PERF_RECORD_AUXTRACE, 0, 30, 0, ANY },
	};
	struct aux a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct record r = { .h.type = rows[i].type };

		if (rows[i].type == PERF_RECORD_AUX)
			r.sid = (struct sample_id){
				.has = rows[i].has, .time = rows[i].time, .cpu = rows[i].cpu, .tid = rows[i].tid
			};
		else
			r.auxtrace = (struct rec_auxtrace){ .cpu = rows[i].cpu, .tid = rows[i].tid };
		aux_note(&a, &r, 100 * i, 8);
		if (rows[i].type == PERF_RECORD_AUXTRACE && a.buffers.v[a.buffers.n - 1].clock != rows[i].time)
			fail_msg("row %u: %llu", i, (unsigned long long)a.buffers.v[a.buffers.n - 1].clock);
	}
	assert_true(aux_memory(&a) > a.buffers.n * sizeof(struct aux_buffer));
	aux_free(&a);
}

/* A buffer is found wherever it was looked for first, and empty ones are none. */
static void test_next_buffer(void **state)
{
	static const struct aux_buffer buffers[] = { { .at = 8, .size = 8 }, { .at = 24, .size = 16 }, { .at = 40 } };
	struct aux a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(buffers); i++)
		vec_push(&a.buffers, buffers[i]);
	for (u32 first = 0; first < 5; first++)
		for (u64 offset = 0; offset < 48; offset++) {
			const struct aux_buffer *b = aux_buffer_at(&a, offset);
			u32 next = first;

			assert_ptr_equal(aux_buffer_next(&a, offset, &next), b);
			assert_int_equal(next, b ? b - a.buffers.v + 1 : 0);
		}
	aux_free(&a);
}

static void note_words(struct aux *a, const struct bytes *words)
{
	struct record r = { .h.type = PERF_RECORD_AUXTRACE_INFO };

	r.auxtrace_info.type = AUXTRACE_ARM_SPE;
	r.auxtrace_info.priv = (struct u64s){ words->p, (u32)(words->len / sizeof(u64)), false };
	aux_note(a, &r, 0, 0);
}

/* CPUs of two PMUs, and one that has none. */
static void test_info(void **state)
{
	static const u64 cpus[][3] = { { 0, 0xd40, 9 }, { 1, 0xd41, 12 }, { 2, 0xd42, UINT64_MAX }, { 3, 0xd43, 9 } };
	struct bytes words = { 0 };
	struct aux a = { 0 };

	(void)state;
	bytes_u64(&words, SPE_INFO_V2);
	bytes_u64(&words, SPE_INFO_WORDS);
	bytes_u64(&words, 9);
	bytes_u64(&words, ARRAY_LEN(cpus));
	for (u32 i = 0; i < ARRAY_LEN(cpus); i++) {
		bytes_u64(&words, SPE_CPU_MAGIC);
		bytes_u64(&words, cpus[i][0]);
		bytes_u64(&words, SPE_CPU_WORDS - SPE_CPU_MIDR);
		bytes_u64(&words, cpus[i][1]);
		bytes_u64(&words, cpus[i][2]);
		bytes_u64(&words, 1024);
	}
	note_words(&a, &words);
	assert_int_equal(a.pmu_type, 9);
	assert_int_equal(a.pmu_types.n, 2);
	assert_int_equal(a.pmu_types.v[0], 9);
	assert_int_equal(a.pmu_types.v[1], 12);
	for (u32 i = 0; i < ARRAY_LEN(cpus); i++)
		assert_int_equal(aux_midr(&a, i), cpus[i][1]);
	aux_free(&a);
	/* Cut off anywhere, it is read as far as it goes. */
	for (; words.len; words.len -= sizeof(u64)) {
		struct bytes exact = { 0 };
		struct aux cut = { 0 };

		bytes_put(&exact, words.p, words.len);
		note_words(&cut, &exact);
		assert_true(cut.pmu_types.n <= 2 && cut.midr.n <= ARRAY_LEN(cpus));
		aux_free(&cut);
		bytes_free(&exact);
	}
	bytes_free(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_next_buffer),
		cmocka_unit_test(test_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
