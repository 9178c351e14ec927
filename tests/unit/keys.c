/* SPDX-License-Identifier: Apache-2.0 */
/* Sort keys: the value that a sample has for each, how these are ordered, and how they read, which is perf's way. */
#include "agg/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/perf_abi.h"

#define NR_FRAMES 3

struct fixture {
	struct profile p;
	struct profile_event e;
	struct strtab strings;
	struct evlist l;
	struct map cgroups;
	u32 dso, other_dso, at_start, behind_start, nowhere; /* frames: of f, and of no symbol */
};

static void begin(struct fixture *x)
{
	struct dso_key key = { .kind = DSO_BPF, .path = { "/a/code", 7 } };

	memset(x, 0, sizeof(*x));
	x->p.strings = &x->strings;
	x->p.evlist = &x->l;
	x->p.cgroups = &x->cgroups;
	x->p.frames = frames_new();
	x->p.dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	x->p.time_base = 5000000000;
	x->p.time_slice_ns = 250000000;
	x->dso = dsos_get(x->p.dsos, &key);
	dsos_add_symbol(x->p.dsos, x->dso, 0x100, 0x200, (struct str){ "f", 1 });
	key = (struct dso_key){ .kind = DSO_FILE, .path = { "/z/lib.so", 9 } };
	x->other_dso = dsos_get(x->p.dsos, &key);
	for (u32 i = 0; i < NR_FRAMES; i++) {
		u64 addr = i == 0 ? 0x100 : i == 1 ? 0x123 : 0x900;
		u32 id = frames_intern(x->p.frames, &(struct frame){ .dso = x->dso,
								     .sym = dsos_symbol_at(x->p.dsos, x->dso, addr),
								     .addr = addr,
								     .level = i == 2 ? 'k' : '.' });

		*(i == 0 ? &x->at_start : i == 1 ? &x->behind_start : &x->nowhere) = id;
	}
	vec_push(&x->l.events, (struct event){ .name = (char *)"cycles" });
	map_set(&x->cgroups, 77, strtab_intern_z(&x->strings, "/user.slice"));
}

static void end(struct fixture *x)
{
	frames_free(x->p.frames);
	dsos_free(x->p.dsos);
	strtab_free(&x->strings);
	map_free(&x->cgroups);
	vec_free(&x->l.events);
}

static void check(struct fixture *x, u32 key, u64 value, u64 samples, const char *expected)
{
	u64 keys[1] = { value };
	struct row r = { .keys = keys, .samples = samples, .comm = strtab_intern_z(&x->strings, "sh") };
	struct row_view v = { &x->p, &x->e, &r, false };
	struct bytes out = { 0 };

	profile_sort_by(&x->p, (u8[]){ (u8)key }, 1);
	column_label(column_of_key(key), &v, &out);
	bytes_u8(&out, 0);
	if (strcmp((const char *)out.p, expected) != 0)
		fail_msg("key %u: \"%s\", not \"%s\"", key, (const char *)out.p, expected);
	bytes_free(&out);
}

/* As perf report shows them. */
static const struct {
	u32 key;
	u64 value;
	const char *text;
} labels[] = {
	{ SORT_PID, 12, "     12:sh" },
	{ SORT_TID, (u32)-1, "     -1:sh" }, /* of a thread that exits */
	{ SORT_CPU, 3, "003" },
	{ SORT_CPU, KEY_NONE, "-001" },
	{ SORT_SOCKET, 1, "   001" },
	{ SORT_SOCKET, KEY_NONE, "   -001" },
	{ SORT_TIME, 0, "5.000000" },
	{ SORT_TIME, 3, "5.750000" },
	{ SORT_EVENT, 0, "cycles" },
	{ SORT_EVENT, 1, "" }, /* of which the file has none */
	{ SORT_CGROUP, 0, "N/A" },
	{ SORT_CGROUP, 77, "/user.slice" },
	{ SORT_CGROUP, 78, "unknown" },
	{ SORT_CGROUP_ID, ID_NONE, "0/0x0" },
	{ SORT_ADDR, 0xffffffff81000000, "0xffffffff81000000" },
	{ SORT_DSO_SIZE, 0, "unknown" },
	{ SORT_DSO_SIZE, 8192, "8192" },
	{ SORT_LOCAL_WEIGHT, 9, "9" },
	{ SORT_WEIGHT, 9, "45" }, /* of all five samples */
	{ SORT_INS_LAT, 3, "15" },
	{ SORT_LOCAL_INS_LAT, 3, "3" },
	{ SORT_TRANSACTION, 0, "" },
	{ SORT_TRANSACTION, 1 | 4, "EL SYNC " },
	{ SORT_TRANSACTION, 2 | 8 | 16, "TX ASYNC RETRY " },
	{ SORT_TRANSACTION, 32, "CON NEITHER " },
	{ SORT_TRANSACTION, 64 | 128 | 4, "SYNC CAP-WRITE CAP-READ " },
	{ SORT_TRANSACTION, 2 | 4 | 0xabull << 32, "TX SYNC :ab" },
	{ SORT_CODE_PAGE_SIZE, 0, "N/A" },
	{ SORT_CODE_PAGE_SIZE, 4096, "4K" },
	{ SORT_DATA_PAGE_SIZE, 1024, "1K" },
	{ SORT_DATA_PAGE_SIZE, 512, "512" },
	{ SORT_DATA_PAGE_SIZE, 2 << 20, "2M" },
	{ SORT_DATA_PAGE_SIZE, 1 << 30, "1G" },
	{ SORT_DADDR, 0x7f00, "0x0000000000007f00" },
	{ SORT_DADDR, 0, "0000000000000000" },
	{ SORT_PHYS_DADDR, 0x1000, "0x0000000000001000" },
	{ SORT_MISPREDICT, 0, "N/A" },
	{ SORT_MISPREDICT, 1, "Y" },
	{ SORT_MISPREDICT, 2, "N" },
	{ SORT_IN_TX, 0, "." },
	{ SORT_IN_TX, 1, "T" },
	{ SORT_ABORT, 0, "." },
	{ SORT_ABORT, 1, "A" },
	{ SORT_BRANCH_TYPE, 0, "N/A" },
	{ SORT_BRANCH_TYPE, 1, "COND" },
	{ SORT_BRANCH_TYPE, 11, "ERET" },
	{ SORT_BRANCH_TYPE, 18, "ARCH_1" },
	{ SORT_BRANCH_TYPE, 23, "23" },
	{ SORT_CYCLES, 0, "-" },
	{ SORT_CYCLES, 1, "1" },
	{ SORT_PARENT, 0, "[other]" },
};

static void test_labels(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	for (u32 i = 0; i < ARRAY_LEN(labels); i++)
		check(&x, labels[i].key, labels[i].value, 5, labels[i].text);
	check(&x, SORT_CGROUP_ID, strtab_intern_z(&x.strings, "4/0xeffffffb"), 1, "4/0xeffffffb");
	check(&x, SORT_PARENT, strtab_intern_z(&x.strings, "main"), 1, "main");
	/* A datum has an offset in any case, a branch only behind the first byte. */
	check(&x, SORT_SYMBOL_DADDR, x.at_start, 1, "[.] f+0x0");
	check(&x, SORT_DCACHELINE, x.behind_start, 1, "[.] f+0x23");
	check(&x, SORT_SYMBOL_IADDR, x.nowhere, 1, "[k] 0x0000000000000900");
	check(&x, SORT_ADDR_FROM, x.at_start, 1, "[.] f");
	check(&x, SORT_ADDR_TO, x.behind_start, 1, "[.] f+0x23");
	check(&x, SORT_ADDR_TO, x.nowhere, 1, "[k] 0x0000000000000900");
	check(&x, SORT_SYMBOL_TO, x.behind_start, 1, "[.] f");
	check(&x, SORT_DSO, x.other_dso, 1, "lib.so");
	end(&x);
}

static u64 value_of(const struct hit_keys *with, u32 key, const struct hit *h, const struct thread_view *t)
{
	struct hit_keys k = *with;

	k.key = key;
	return sort_keys[key].of_hit(&k, h, t);
}

/* Each from its own field of the sample. */
static void test_values(void **state)
{
	const struct feat_cpu cpus[] = { { .socket = 4 }, { .socket = 5 } };
	const struct features features = { .cpus = cpus, .nr_cpus = 2 };
	const struct hit_keys k = { .features = &features };
	struct event e = { .attr.sample_type = PERF_SAMPLE_CPU };
	const struct sample s = { .addr = 0x1234,
				  .weight = 11,
				  .var2_w = 12,
				  .var3_w = 13,
				  .transaction = 14,
				  .phys_addr = 15,
				  .cgroup = 16,
				  .data_page_size = 17,
				  .code_page_size = 18 };
	struct thread_view t = { .comm = 40, .cgroup_ns = 41 };
	struct hit h = {
		.e = &e, .event = 3, .activity = 50, .full = &s, .s = { .ip = 30, .pid = 31, .tid = 32, .cpu = 1 }
	};

	(void)state;
	assert_int_equal(value_of(&k, SORT_COMM, &h, &t), 40);
	t.comm = ID_NONE;
	assert_int_equal(value_of(&k, SORT_COMM, &h, &t), COMM_UNNAMED | 32);
	assert_int_equal(value_of(&k, SORT_PID, &h, &t), 31);
	assert_int_equal(value_of(&k, SORT_TID, &h, &t), 32);
	assert_int_equal(value_of(&k, SORT_CGROUP_ID, &h, &t), 41);
	assert_int_equal(value_of(&k, SORT_EVENT, &h, &t), 3);
	assert_int_equal(value_of(&k, SORT_ADDR, &h, &t), 30);
	assert_int_equal(value_of(&k, SORT_ACTIVITY, &h, &t), 50);
	assert_int_equal(value_of(&k, SORT_DADDR, &h, &t), 0x1234);
	assert_int_equal(value_of(&k, SORT_WEIGHT, &h, &t), 11);
	assert_int_equal(value_of(&k, SORT_LOCAL_WEIGHT, &h, &t), 11);
	assert_int_equal(value_of(&k, SORT_INS_LAT, &h, &t), 12);
	assert_int_equal(value_of(&k, SORT_LOCAL_INS_LAT, &h, &t), 12);
	assert_int_equal(value_of(&k, SORT_P_STAGE_CYC, &h, &t), 13);
	assert_int_equal(value_of(&k, SORT_TRANSACTION, &h, &t), 14);
	assert_int_equal(value_of(&k, SORT_PHYS_DADDR, &h, &t), 15);
	assert_int_equal(value_of(&k, SORT_CGROUP, &h, &t), 16);
	assert_int_equal(value_of(&k, SORT_DATA_PAGE_SIZE, &h, &t), 17);
	assert_int_equal(value_of(&k, SORT_CODE_PAGE_SIZE, &h, &t), 18);
	assert_int_equal(value_of(&k, SORT_CPU, &h, &t), 1);
	assert_int_equal(value_of(&k, SORT_SOCKET, &h, &t), 5);
	h.s.cpu = 2; /* of which the header says nothing */
	assert_true(value_of(&k, SORT_SOCKET, &h, &t) == KEY_NONE);
	e.attr.sample_type = 0;
	assert_true(value_of(&k, SORT_CPU, &h, &t) == KEY_NONE);
	assert_true(value_of(&k, SORT_SOCKET, &h, &t) == KEY_NONE);
}

/* Slices begin at the first time; without a width there is one. */
static void test_slices(void **state)
{
	static const struct {
		u64 time, width, slice;
	} rows[] = { { 1250, 100, 2 }, { 1299, 100, 2 }, { 1300, 100, 3 }, { 1000, 100, 0 },
		     { 999, 100, 0 },  { 5000, 0, 0 },	 { 5000, 1, 4000 } };
	const struct thread_view t = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct hit_keys k = { .time_slice_ns = rows[i].width, .first_time = 1000 };
		struct hit h = { .s.time = rows[i].time };

		assert_int_equal(value_of(&k, SORT_TIME, &h, &t), rows[i].slice);
	}
}

/* The kernel's bits of a branch: mispredicted, predicted, in a transaction, abort, cycles. */
static void test_branches(void **state)
{
	static const struct {
		u64 flags, predicted, in_tx, abort, cycles;
	} rows[] = { { 1 | 1 << 2 | 0x123 << 4, 1, 1, 0, 0x123 },
		     { 2 | 1 << 3, 2, 0, 1, 0 },
		     { 0xffff << 4, 0, 0, 0, 0xffff },
		     { 1ull << 20, 0, 0, 0, 0 } }; /* the kind of branch */
	const struct thread_view t = { 0 };
	const struct hit_keys k = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct branch_entry b = { 1, 2, rows[i].flags };
		struct hit h = { .branch = &b };

		assert_int_equal(value_of(&k, SORT_MISPREDICT, &h, &t), rows[i].predicted);
		assert_int_equal(value_of(&k, SORT_IN_TX, &h, &t), rows[i].in_tx);
		assert_int_equal(value_of(&k, SORT_ABORT, &h, &t), rows[i].abort);
		assert_int_equal(value_of(&k, SORT_CYCLES, &h, &t), rows[i].cycles);
		assert_int_equal(value_of(&k, SORT_BRANCH_TYPE, &h, &t), i == 3);
	}
}

/* From which code a branch came, and where it went. */
static void test_ends(void **state)
{
	static const u32 from[] = { SORT_DSO_FROM, SORT_SYMBOL_FROM, SORT_ADDR_FROM, SORT_SRCLINE_FROM };
	static const u32 to[] = { SORT_DSO_TO, SORT_SYMBOL_TO, SORT_ADDR_TO, SORT_SRCLINE_TO };
	const struct branch_entry there = { 0x123, 0x10040, 0 }, back = { 0x10040, 0x123, 0 };
	struct hit h = { .branch = &there }, other_way = { .branch = &back };
	struct thread_view t = { .comm = ID_NONE };
	struct hit_keys k = { 0 };
	u64 plenty = UINT64_MAX;
	struct space *space;
	struct fixture x;

	(void)state;
	begin(&x);
	space = space_new((struct maps){ 0 }, &plenty);
	space_add(space, &(struct vmap){ .start = 0x100, .end = 0x1000, .dso = x.dso }, 1);
	space_add(space, &(struct vmap){ .start = 0x10000, .end = 0x11000, .dso = x.other_dso }, 2);
	space_seal(space);
	t.maps = (struct maps){ space, 2 };
	k.resolver = resolver_new(NULL, x.p.dsos, x.p.frames, &(struct resolver_opts){ 0 });
	for (u32 i = 0; i < ARRAY_LEN(from); i++) {
		u64 a = value_of(&k, from[i], &h, &t), b = value_of(&k, to[i], &h, &t);

		assert_int_equal(value_of(&k, to[i], &other_way, &t), a);
		assert_int_equal(value_of(&k, from[i], &other_way, &t), b);
		assert_int_equal(i ? frames_get(x.p.frames, (u32)a)->dso : a, x.dso);
		assert_int_equal(i ? frames_get(x.p.frames, (u32)b)->dso : b, x.other_dso);
		if (i)
			assert_int_equal(frames_get(x.p.frames, (u32)a)->addr, i == 1 ? 0 : 0x123);
	}
	resolver_free(k.resolver);
	space_free(space);
	end(&x);
}

static bool before(const struct fixture *x, u32 key, u64 a, u64 b)
{
	int there = sort_keys[key].compare(&x->p, a, b), back = sort_keys[key].compare(&x->p, b, a);

	assert_true((there < 0) != (back < 0));
	return there < 0;
}

static void test_order(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	assert_true(before(&x, SORT_TID, (u32)-1, 5)); /* an exiting thread's */
	assert_true(before(&x, SORT_PID, 5, 6));
	assert_true(before(&x, SORT_ADDR, 0xffffffff81000000, 0x400000)); /* the kernel's */
	assert_true(before(&x, SORT_ADDR, 0x400000, 0x400001));
	assert_true(before(&x, SORT_MEM, 2, 1));
	assert_true(before(&x, SORT_COMM, strtab_intern_z(&x.strings, "a"), strtab_intern_z(&x.strings, "b")));
	assert_true(before(&x, SORT_CGROUP_ID, ID_NONE, strtab_intern_z(&x.strings, "0/0x0")));
	assert_true(before(&x, SORT_CGROUP_ID, strtab_intern_z(&x.strings, "4/0x1"),
			   strtab_intern_z(&x.strings, "5/0x0")));
	assert_true(before(&x, SORT_DSO, x.dso, x.other_dso)); /* code, lib.so */
	assert_true(before(&x, SORT_SYMBOL, x.at_start, x.nowhere));
	end(&x);
}

/* Which keys are in use, and where their values are: in the words of groups, where word 0 is the thread's name. */
static void test_sorted_by(void **state)
{
	struct profile p = { 0 };

	(void)state;
	profile_sort_by(&p, (u8[]){ SORT_DSO, SORT_CPU, SORT_COMM, SORT_FIELD + 1, SORT_SYMBOL }, 5);
	assert_int_equal(p.nr_sort, 5);
	assert_true(p.sort_keys == (1ull << SORT_DSO | 1ull << SORT_CPU | 1ull << SORT_COMM | 1ull << SORT_FIELD |
				    1ull << SORT_SYMBOL));
	assert_int_equal(p.key_at[SORT_COMM], 2);
	assert_int_equal(p.key_at[SORT_SYMBOL], 4);
	assert_int_equal(p.word_of[SORT_COMM], 0);
	assert_int_equal(p.word_of[SORT_CPU], 1);
	assert_int_equal(p.word_of[SORT_FIELD + 1], 2);
	assert_int_equal(p.group_words, 3);
	assert_true(profile_wants_full(&p)); /* of the field */
	assert_false(profile_joins_values(&p));
	profile_sort_by(&p, (u8[]){ SORT_COMM, SORT_TID, SORT_DSO_FROM }, 3);
	assert_false(profile_wants_full(&p));
	assert_true(profile_joins_values(&p)); /* files of one name are one */
	assert_int_equal(p.group_words, 3);
	profile_sort_by(&p, (u8[]){ SORT_SYMBOL }, 1);
	assert_int_equal(p.group_words, 1);
	assert_false(profile_wants_full(&p) || profile_joins_values(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),	  cmocka_unit_test(test_values), cmocka_unit_test(test_slices),
		cmocka_unit_test(test_branches),  cmocka_unit_test(test_ends),	 cmocka_unit_test(test_order),
		cmocka_unit_test(test_sorted_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
