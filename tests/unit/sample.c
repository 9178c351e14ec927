/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/sample_stack.h"
#include "recipe/swap.h"

#define HW_INDEX (1ull << 17)
#define COUNTERS (1ull << 19)
#define NR_TYPES 26

/* The arrays of one sample, with a different value in each word. */
struct store {
	u64 chain[3], branches[6], counters[2], regs_user[64], regs_intr[64], read[16];
	u8 raw[12], stack[16], aux[24], tls[24];
};

static struct u64s over(const u64 *p, u32 n)
{
	return (struct u64s){ (const u8 *)p, n, false };
}

static void fill_read(const struct sample_layout *l, struct store *st, struct read_values *r)
{
	const bool group = l->read_format & PERF_FORMAT_GROUP;

	r->nr = group ? 3 : 1;
	r->stride = l->read_stride;
	r->raw = over(st->read, r->nr * r->stride);
	if (l->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		r->time_enabled = group ? 0xe1 : st->read[1];
	if (l->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		r->time_running = group ? 0xe2 : st->read[l->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 2 : 1];
}

/* A sample with every field of the layout set. empty: arrays and stacks have no elements, registers no ABI. */
static struct sample filled(const struct sample_layout *l, struct store *st, bool empty)
{
	const u64 t = l->sample_type, all = empty ? 0 : UINT64_MAX;
	struct sample s = { .has = t, .misc = PERF_RECORD_MISC_USER };
	/* v where the sample has the field, else 0. */
#define IF(bit, v) (t & PERF_SAMPLE_##bit ? (v) : 0)

	for (u32 i = 0; i < sizeof(*st) / 8; i++)
		((u64 *)st)[i] = 0x1010101010101010ull + i * 0x0102030405060709ull;
	st->branches[2] = 0x0000000145678ffd; /* within the fields of the flags */
	st->branches[5] = 0x00000000fedcba92;
	s.ip = IF(IP, 0x401122334455);
	s.pid = IF(TID, 0xaabb);
	s.tid = IF(TID, 0xccdd);
	s.time = IF(TIME, 0x0102030405060708);
	s.addr = IF(ADDR, 0x7f0011223344);
	s.id = t & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 0x77 : 0;
	s.stream_id = IF(STREAM_ID, 0x88);
	s.cpu = IF(CPU, 0x99);
	s.period = IF(PERIOD, 0xf4240);
	if (t & PERF_SAMPLE_READ)
		fill_read(l, st, &s.read);
	s.chain = over(st->chain, IF(CALLCHAIN, 3 & all));
	s.raw = st->raw;
	s.raw_size = IF(RAW, empty ? 4 : 12);
	s.nr_branches = IF(BRANCH_STACK, 2 & all);
	s.branches = over(st->branches, 3 * s.nr_branches);
	s.has_hw_idx = IF(BRANCH_STACK, !!(l->branch_sample_type & HW_INDEX));
	s.hw_idx = s.has_hw_idx ? 0x1f : 0;
	s.branch_counters = over(st->counters, l->branch_sample_type & COUNTERS ? s.nr_branches : 0);
	s.regs_user_abi = IF(REGS_USER, 2 & all);
	s.regs_user = over(st->regs_user, s.regs_user_abi ? l->nr_regs_user : 0);
	s.stack_user = st->stack;
	s.stack_user_size = IF(STACK_USER, 16 & all);
	s.stack_user_dyn_size = IF(STACK_USER, 8 & all);
	s.weight = IF(WEIGHT_TYPE, 0x12345678);
	s.var2_w = IF(WEIGHT_STRUCT, 0x9abc);
	s.var3_w = IF(WEIGHT_STRUCT, 0xdef0);
	s.data_src = IF(DATA_SRC, 0x68100142);
	s.transaction = IF(TRANSACTION, 0x500000001);
	s.regs_intr_abi = IF(REGS_INTR, 1 & all);
	s.regs_intr = over(st->regs_intr, s.regs_intr_abi ? l->nr_regs_intr : 0);
	s.phys_addr = IF(PHYS_ADDR, 0x123456789);
	s.cgroup = IF(CGROUP, 0x4e);
	s.data_page_size = IF(DATA_PAGE_SIZE, 0x200000);
	s.code_page_size = IF(CODE_PAGE_SIZE, 0x1000);
	s.tls_user = st->tls;
	s.tls_user_size = IF(TLS_USER, 24 & all);
	s.tls_user_dyn_size = IF(TLS_USER, 17 & all);
	s.aux = st->aux;
	s.aux_size = IF(AUX, 24 & all);
	return s;
#undef IF
}

static void expect_u64s(const struct u64s *got, const struct u64s *want)
{
	assert_int_equal(got->n, want->n);
	for (u32 i = 0; i < want->n; i++)
		assert_int_equal(u64s_at(got, i), u64s_at(want, i));
}

static void expect_arrays(const struct sample *got, const struct sample *want)
{
	expect_u64s(&got->chain, &want->chain);
	expect_u64s(&got->regs_user, &want->regs_user);
	expect_u64s(&got->regs_intr, &want->regs_intr);
	expect_u64s(&got->branch_counters, &want->branch_counters);
	assert_int_equal(got->raw_size, want->raw_size);
	assert_memory_equal(want->raw_size ? got->raw : want->raw, want->raw, want->raw_size);
	assert_int_equal(got->stack_user_size, want->stack_user_size);
	assert_memory_equal(want->stack_user_size ? got->stack_user : want->stack_user, want->stack_user,
			    want->stack_user_size);
	assert_int_equal(got->tls_user_size, want->tls_user_size);
	assert_memory_equal(want->tls_user_size ? got->tls_user : want->tls_user, want->tls_user, want->tls_user_size);
	assert_int_equal(got->aux_size, want->aux_size);
	assert_memory_equal(want->aux_size ? got->aux : want->aux, want->aux, want->aux_size);
	assert_int_equal(got->nr_branches, want->nr_branches);
	for (u32 i = 0; i < want->nr_branches; i++) {
		const struct branch_entry g = sample_branch(got, i), w = sample_branch(want, i);

		assert_memory_equal(&g, &w, sizeof(g));
	}
}

static void expect_scalars(const struct sample *got, const struct sample *want)
{
#define SAME(field) assert_int_equal(got->field, want->field)
	SAME(has);
	SAME(misc);
	SAME(pid);
	SAME(tid);
	SAME(cpu);
	SAME(ip);
	SAME(time);
	SAME(addr);
	SAME(id);
	SAME(stream_id);
	SAME(period);
	SAME(read.time_enabled);
	SAME(read.time_running);
	SAME(read.nr);
	SAME(read.stride);
	SAME(has_hw_idx);
	SAME(hw_idx);
	SAME(regs_user_abi);
	SAME(stack_user_dyn_size);
	SAME(tls_user_dyn_size);
	SAME(weight);
	SAME(var2_w);
	SAME(var3_w);
	SAME(data_src);
	SAME(transaction);
	SAME(regs_intr_abi);
	SAME(phys_addr);
	SAME(cgroup);
	SAME(data_page_size);
	SAME(code_page_size);
#undef SAME
}

/* Every member of the read values is where the format says. */
static void expect_read(const struct sample_layout *l, const struct store *st, const struct read_values *got)
{
	const bool group = l->read_format & PERF_FORMAT_GROUP, id = l->read_format & PERF_FORMAT_ID;
	const u32 times = !!(l->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			  !!(l->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	for (u32 i = 0; i < got->nr; i++) {
		const u64 *member = &st->read[i * got->stride], *after = member + 1 + (group ? 0 : times);

		assert_int_equal(read_value(got, i), member[0]);
		assert_int_equal(read_id(got, i), id ? after[0] : 0);
		assert_int_equal(read_lost(got, i), l->read_format & 16 ? after[id] : 0);
	}
}

static void expect_core(const struct sample_layout *l, const struct bytes *b, const struct sample *want, bool swap)
{
	struct sample_core core;

	assert_int_equal(sample_core_decode(l, cursor_over(b->p, b->len, swap), &core), 0);
	assert_int_equal(core.ip, want->ip);
	assert_int_equal(core.time, want->time);
	assert_int_equal(core.period, want->period);
	assert_int_equal(core.pid, want->pid);
	assert_int_equal(core.tid, want->tid);
	assert_int_equal(core.cpu, want->cpu);
	expect_u64s(&core.chain, &want->chain);
}

static void expect_stack(const struct sample_layout *l, const struct bytes *b, const struct sample *want, bool swap)
{
	struct sample_stack stack;

	assert_int_equal(sample_stack_decode(l, b->p, b->len, swap, &stack), 0);
	assert_int_equal(stack.ip, want->ip);
	assert_int_equal(stack.time, want->time);
	assert_int_equal(stack.pid, want->pid);
	assert_int_equal(stack.tid, want->tid);
	assert_int_equal(stack.has_hw_idx, want->has_hw_idx);
	assert_int_equal(stack.hw_idx, want->hw_idx);
	assert_int_equal(stack.nr_branches, want->nr_branches);
	for (u32 i = 0; i < want->nr_branches; i++) {
		assert_int_equal(u64s_at(&stack.branches, 3 * i), sample_branch(want, i).from);
		assert_int_equal(u64s_at(&stack.branches, 3 * i + 1), sample_branch(want, i).to);
	}
}

/* Decodes from blocks of exactly n bytes: a sanitizer sees a read behind them. */
static void expect_truncations(const struct sample_layout *l, const struct bytes *b)
{
	for (size_t n = 0; n < b->len; n++) {
		u8 *copy = malloc(n ? n : 1);
		struct sample_stack stack;
		struct sample_core core;
		struct sample s;

		memcpy(copy, b->p, n);
		assert_int_equal(sample_decode(l, cursor_over(copy, n, false), &s), ERR_TRUNCATED);
		if (!sample_core_decode(l, cursor_over(copy, n, false), &core)) /* what it points at is all there */
			assert_true(!core.chain.n || core.chain.p + (size_t)core.chain.n * 8 <= copy + n);
		sample_core_decode(l, cursor_over(copy, n, true), &core);
		assert_int_equal(sample_stack_decode(l, copy, n, false, &stack), ERR_TRUNCATED);
		free(copy);
	}
}

static struct sample_layout layout_for(u64 type, u64 read_format, u64 branch_type)
{
	const struct attr a = { .sample_type = type,
				.read_format = read_format,
				.branch_sample_type = branch_type,
				.sample_regs_user = 0xff0fff,
				.sample_regs_intr = 0x5 };
	struct sample_layout l;

	assert_int_equal(sample_layout_init(&l, &a, NULL, NULL), 0);
	return l;
}

static void round_trip(u64 type, u64 read_format, u64 branch_type, bool empty)
{
	const struct sample_layout l = layout_for(type, read_format, branch_type);
	struct store st;
	const struct sample want = filled(&l, &st, empty);
	struct bytes b = { 0 };
	struct sample got;

	assert_int_equal(sample_encode(&l, &want, &b), 0);
	for (int swap = 0; swap < 2; swap++) {
		u16 size = (u16)b.len;

		if (swap)
			swap_record(b.p, NULL, &l);
		assert_int_equal(sample_decode(&l, cursor_over(b.p, b.len, swap), &got), 0);
		expect_scalars(&got, &want);
		expect_arrays(&got, &want);
		expect_read(&l, &st, &got.read);
		expect_core(&l, &b, &want, swap);
		expect_stack(&l, &b, &want, swap);
		if (l.id_offset >= 0) {
			struct cursor c = cursor_over(b.p, size, swap);

			cursor_skip(&c, (u64)l.id_offset);
			assert_int_equal(cursor_u64(&c), want.id);
		}
		if (!swap)
			expect_truncations(&l, &b);
	}
	bytes_free(&b);
}

/* WEIGHT and WEIGHT_STRUCT share their place; the kernel refuses both at once. */
static bool is_valid(u64 type)
{
	return (type & PERF_SAMPLE_WEIGHT_TYPE) != PERF_SAMPLE_WEIGHT_TYPE;
}

static void each_field_and_each_pair(void **state)
{
	(void)state;
	for (u32 i = 0; i < NR_TYPES; i++)
		for (u32 k = 0; k <= i; k++)
			if (is_valid(1ull << i | 1ull << k))
				round_trip(1ull << i | 1ull << k, 0, 0, (i + k) & 1);
}

static void all_fields(void **state)
{
	const u64 all = (1ull << NR_TYPES) - 1;

	(void)state;
	for (int empty = 0; empty < 2; empty++) {
		round_trip(all & ~PERF_SAMPLE_WEIGHT, 31, HW_INDEX | COUNTERS, empty);
		round_trip(all & ~PERF_SAMPLE_WEIGHT_STRUCT, 15, HW_INDEX, empty);
		for (u32 i = 0; i < NR_TYPES; i++)
			round_trip(all & ~PERF_SAMPLE_WEIGHT & ~(1ull << i), 31 - i, 0, empty);
	}
	round_trip(0, 0, 0, false);
}

static void read_formats(void **state)
{
	(void)state;
	for (u64 f = 0; f < 32; f++)
		round_trip(PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN, f, 0, false);
}

static void branch_types(void **state)
{
	(void)state;
	for (u32 i = 0; i < 8; i++)
		round_trip(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_PERIOD, 0,
			   (i & 1 ? HW_INDEX : 0) | (i & 2 ? COUNTERS : 0) | 1, i & 4);
}

/* The kernel's own bytes, laid out by hand in both orders. */
static void by_hand(void **state)
{
	static const u64 words[] = {
		0x0030000200000009, /* type 9, misc 2, size 48 */
		0x401000,	    /* ip */
		0x0000000200000001, /* pid 1, tid 2 */
		0x1234,		    /* time */
		1,		    /* chain of one */
		0x401000,
	};
	static const u8 big[] = {
		0, 0, 0, 9, 0, 2, 0,	48,   0, 0, 0, 0, 0, 0x40, 0x10, 0, 0, 0, 0, 1, 0, 0,	 0,    2,
		0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0,	   0,	 1, 0, 0, 0, 0, 0, 0x40, 0x10, 0,
	};
	const struct sample_layout l =
		layout_for(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN, 0, 0);

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		const struct cursor c = cursor_over(swap ? (const void *)big : words, 48, swap);
		struct sample_core core;
		struct sample s;

		assert_int_equal(sample_decode(&l, c, &s), 0);
		assert_int_equal(s.misc, 2);
		assert_int_equal(s.ip, 0x401000);
		assert_int_equal(s.pid, 1);
		assert_int_equal(s.tid, 2);
		assert_int_equal(s.time, 0x1234);
		assert_int_equal(s.chain.n, 1);
		assert_int_equal(u64s_at(&s.chain, 0), 0x401000);
		assert_int_equal(sample_core_decode(&l, c, &core), 0);
		assert_int_equal(core.tid, 2);
		assert_int_equal(core.chain.n, 1);
	}
}

static void id_places(void **state)
{
	static const struct {
		u64 type;
		s32 offset, trailer;
	} rows[] = {
		{ PERF_SAMPLE_IP, -1, 0 },
		{ PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_ID, 8, -8 },
		{ PERF_SAMPLE_ID, 8, -8 },
		{ PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID, 40, -8 },
		{ PERF_SAMPLE_IP | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD, 16,
		  -24 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		for (int all = 0; all < 2; all++) {
			const struct attr a = { .sample_type = rows[i].type, .flags = all ? ATTR_SAMPLE_ID_ALL : 0 };
			struct sample_layout l;

			assert_int_equal(sample_layout_init(&l, &a, NULL, NULL), 0);
			assert_int_equal(l.id_offset, rows[i].offset);
			assert_int_equal(l.id_trailer, all ? rows[i].trailer : 0);
		}
}

static void unknown_bits(void **state)
{
	static const struct {
		struct attr a;
		const char *word;
	} rows[] = {
		{ { .sample_type = 1ull << 26 }, "sample_type" },
		{ { .sample_type = PERF_SAMPLE_READ, .read_format = 1ull << 5 }, "read_format" },
		{ { .sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = 1ull << 20 },
		  "branch_sample_type" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct sample_layout l;
		const char *word;
		u64 bits;

		assert_int_equal(sample_layout_init(&l, &rows[i].a, &word, &bits), ERR_UNSUPPORTED);
		assert_string_equal(word, rows[i].word);
		assert_true(bits == 1ull << 26 || bits == 1ull << 5 || bits == 1ull << 20);
	}
}

static void hostile_counts(void **state)
{
	static const u64 values[] = { UINT64_MAX, 1ull << 63,	      1ull << 61,	  (1ull << 61) + 1, UINT32_MAX,
				      1ull << 32, 0x5555555555555556, 0x1555555555555556, 0x10000 };
	const u64 all = ((1ull << NR_TYPES) - 1) & ~PERF_SAMPLE_WEIGHT;
	const u64 of_stack = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		const struct sample_layout l =
			i < 2 ? layout_for(all, i * 31, HW_INDEX | COUNTERS) : layout_for(of_stack, 0, HW_INDEX);
		struct store st;
		const struct sample whole = filled(&l, &st, false);
		struct bytes b = { 0 };

		assert_int_equal(sample_encode(&l, &whole, &b), 0);
		for (size_t at = 8; at + 8 <= b.len; at += 4)
			for (u32 v = 0; v < ARRAY_LEN(values); v++) {
				u8 *copy = malloc(b.len);
				struct sample_stack stack;
				struct sample_core core;
				struct sample s;
				int err;

				memcpy(copy, b.p, b.len);
				memcpy(copy + at, &values[v], 8);
				sample_core_decode(&l, cursor_over(copy, b.len, false), &core);
				err = sample_decode(&l, cursor_over(copy, b.len, false), &s);
				if (!err)
					assert_true(s.chain.n <= b.len / 8 && s.nr_branches <= b.len / 24);
				assert_int_equal(sample_stack_decode(&l, copy, b.len, false, &stack), err);
				if (!err)
					assert_true(stack.branches.n == s.branches.n &&
						    stack.branches.p == s.branches.p);
				free(copy);
			}
		bytes_free(&b);
	}
}

static void too_large(void **state)
{
	const struct sample_layout l = layout_for(PERF_SAMPLE_CALLCHAIN, 0, 0);
	u64 *words = calloc(9000, 8);
	struct sample s = { .chain = over(words, 9000) };
	struct bytes b = { 0 };

	(void)state;
	assert_int_equal(sample_encode(&l, &s, &b), ERR_LIMIT);
	assert_int_equal(b.len, 0);
	s.chain.n = 8189; /* 65528 bytes with header and count */
	assert_int_equal(sample_encode(&l, &s, &b), 0);
	assert_int_equal(b.len, 65528);
	bytes_free(&b);
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_and_each_pair),
		cmocka_unit_test(all_fields),
		cmocka_unit_test(read_formats),
		cmocka_unit_test(branch_types),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(id_places),
		cmocka_unit_test(unknown_bits),
		cmocka_unit_test(hostile_counts),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
