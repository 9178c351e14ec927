/* SPDX-License-Identifier: Apache-2.0 */
/* Records of exact counts: what is written is read; anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "codec/vpmu_truth.h"

static void encode(u32 type, struct vpmu_truth *t, struct bytes *out)
{
	*t = (struct vpmu_truth){ .type = type,
				  .pid = 3,
				  .tid = 4,
				  .time = 5,
				  .pc = 0x4000001000,
				  .other_pc = 0x4000002000,
				  .node = 6,
				  .parent = 2,
				  .id = 7,
				  .calls = 8,
				  .returns = 9,
				  .functions = 10 };
	t->op = (struct vpmu_truth_operation){ VPMU_OP_STORE, VPMU_OP_WALK, 3, 11, 12, 13, 14, 15, 16 };
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		t->counts[i] = 100 + i;
	vpmu_truth_encode(t, out);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (u32 type = VPMU_RECORD_TRUTH_PC; type <= VPMU_RECORD_TRUTH_END; type++) {
		struct bytes out = { 0 }, again = { 0 };
		struct vpmu_truth in, read;

		encode(type, &in, &out);
		assert_int_equal(vpmu_truth_decode(cursor_over(out.p, out.len, false), &read), 0);
		assert_int_equal(read.tid, 4);
		assert_int_equal(read.functions, 10);
		if (type == VPMU_RECORD_TRUTH_OPERATION)
			assert_memory_equal(&read.op, &in.op, sizeof(in.op));
		else
			assert_int_equal(read.counts[VC_TIME_NS], 100 + VC_TIME_NS);
		vpmu_truth_encode(&read, &again);
		assert_int_equal(again.len, out.len);
		assert_memory_equal(again.p, out.p, out.len);
		bytes_free(&again);
		bytes_free(&out);
	}
}

static void test_refused(void **state)
{
	struct bytes out = { 0 };
	struct vpmu_truth t;

	(void)state;
	encode(VPMU_RECORD_TRUTH_PC, &t, &out);
	for (size_t n = 0; n < out.len; n++)
		assert_int_equal(vpmu_truth_decode(cursor_over(out.p, n, false), &t), ERR_FORMAT);
	out.p[0]--; /* TOTALS, which has another layout */
	assert_int_equal(vpmu_truth_decode(cursor_over(out.p, out.len, false), &t), ERR_FORMAT);
	out.p[0]++;
	out.p[6]++; /* the header's size is not the record's */
	assert_int_equal(vpmu_truth_decode(cursor_over(out.p, out.len, false), &t), ERR_FORMAT);
	bytes_free(&out);
	encode(VPMU_RECORD_TRUTH_OPERATION, &t, &out);
	for (size_t n = 0; n < out.len; n++)
		assert_int_equal(vpmu_truth_decode(cursor_over(out.p, n, false), &t), ERR_FORMAT);
	t.op.kind = VPMU_OP_BRANCH + 1; /* no such kind, nor level */
	out.len = 0;
	vpmu_truth_encode(&t, &out);
	assert_int_equal(vpmu_truth_decode(cursor_over(out.p, out.len, false), &t), ERR_FORMAT);
	t.op = (struct vpmu_truth_operation){ .level = VPMU_LEVELS };
	out.len = 0;
	vpmu_truth_encode(&t, &out);
	assert_int_equal(vpmu_truth_decode(cursor_over(out.p, out.len, false), &t), ERR_FORMAT);
	bytes_free(&out);
}

/* Each count but the dummy has a name of its own. */
static void test_names(void **state)
{
	(void)state;
	for (u32 i = 0; i < VC_NONE; i++) {
		assert_non_null(vpmu_count_names[i]);
		for (u32 k = 0; k < i; k++)
			assert_string_not_equal(vpmu_count_names[i], vpmu_count_names[k]);
	}
	assert_null(vpmu_count_names[VC_NONE]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
