/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers are told of passages: which function they are in, when files lie, and how often anybody is asked. */
#include "agg/sample_profile.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "state/source_function.h"

/* --- a file, instead of a real one --- */

struct fake {
	u64 start, end, start2, end2; /* of its ranges */
	const char *name;
};

static const struct fake *fakes;
static u32 nr_fakes, questions, addresses;
static u16 fake_machine = EM_X86_64;

u64 dso_linked_address(const struct dso_linked *l, u64 offset)
{
	(void)l;
	return offset;
}

u32 dsos_code_at(struct dsos *d, u32 dso, u64 addr, u8 *out, u32 max, u16 *machine)
{
	(void)d;
	(void)dso;
	(void)addr;
	(void)max;
	memcpy(out, fake_machine == EM_386 ? "\xe8\0\0\0\0" : "\xeb\0\x90\x90\x90", 5);
	*machine = fake_machine;
	return 5;
}

static bool holds(const struct fake *f, u64 addr)
{
	return (addr >= f->start && addr < f->end) || (addr >= f->start2 && addr < f->end2);
}

static bool give(const struct fake *f, bool (*take)(void *ctx, const struct source_function *f), void *ctx)
{
	struct source_code ranges[] = { { f->start, f->end }, { f->start2, f->end2 } };
	struct source_span spans[] = { { f->start, 0, 1 } };
	struct source_row rows[] = { { f->name, 7, 5, 0 } };
	struct source_function s = { .entry = f->start,
				     .ranges = { ranges, f->end2 ? 2 : 1, 2 },
				     .spans = { spans, 1, 1 },
				     .rows = { rows, 1, 1 } };

	return take(ctx, &s);
}

/* The last one that holds an address has it, for each address anew. */
void dsos_source_functions(struct dsos *d, u32 dso, const u64 *linked, size_t n,
			   bool (*take)(void *ctx, const struct source_function *f), void *ctx)
{
	(void)d;
	assert_int_equal(dso, 1);
	questions++;
	addresses += (u32)n;
	for (size_t i = 0; i < n; i++) {
		const struct fake *found = NULL;

		assert_true(!i || linked[i] > linked[i - 1]);
		for (u32 k = 0; k < nr_fakes; k++)
			if (holds(&fakes[k], linked[i]))
				found = &fakes[k];
		if (found && !give(found, take, ctx))
			return;
	}
}

static void make(struct sample_profile *p, const struct fake *of, u32 n, struct branch_trace *traces, size_t nr)
{
	const struct branch_traces t = { .v = { traces, nr, nr } };
	const struct dso_linked at = { 0 };

	fakes = of;
	nr_fakes = n;
	questions = addresses = 0;
	*p = (struct sample_profile){ 0 };
	sample_profile_make(p, &t, 1, &at);
}

static const struct profile_function *function(const struct sample_profile *p, const char *name)
{
	for (size_t i = 0; i < p->functions.n; i++)
		if (!strcmp(strtab_get(&p->names, p->functions.v[i].name), name))
			return &p->functions.v[i];
	return NULL;
}

#define THROUGH(from, to, count)                                                                                      \
	{                                                                                                             \
		1, TRACE_THROUGH, from, to, count, 0                                                                  \
	}

/* --- tests --- */

/* Two functions in one byte: it belongs to the first one, and all the rest of the second one stays. */
static void test_overlap(void **state)
{
	static const struct fake of[] = { { 0x1000, 0x1010, 0, 0, "a" }, { 0x100f, 0x2000, 0, 0, "b" } };
	struct branch_trace traces[] = { THROUGH(0x1000, 0x1004, 3), THROUGH(0x100f, 0x1010, 5),
					 THROUGH(0x1010, 0x1018, 10), THROUGH(0x1800, 0x1806, 10) };
	struct sample_profile p;

	(void)state;
	make(&p, of, 2, traces, ARRAY_LEN(traces));
	assert_int_equal(p.passages, 28);
	assert_int_equal(p.unknown, 0);
	assert_int_equal(p.functions.n, 2);
	assert_int_equal(function(&p, "a")->total, 3 * 6 + 5 * 1);
	assert_int_equal(function(&p, "b")->total, 5 * 2 + 10 * 10 + 10 * 8);
	sample_profile_free(&p);
}

/* All of a function lies in another one: nothing is left of it. */
static void test_inside(void **state)
{
	static const struct fake of[] = { { 0x1000, 0x2000, 0, 0, "a" }, { 0x1100, 0x1200, 0, 0, "b" } };
	struct branch_trace traces[] = { THROUGH(0x1000, 0x1004, 1), THROUGH(0x1100, 0x1104, 2) };
	struct sample_profile p;

	(void)state;
	make(&p, of, 2, traces, ARRAY_LEN(traces));
	assert_int_equal(p.unknown, 0);
	assert_int_equal(function(&p, "a")->total, 18);
	assert_null(function(&p, "b"));
	sample_profile_free(&p);
}

/* One in two parts comes for each of them, and counts once. */
static void test_parts(void **state)
{
	static const struct fake of[] = { { 0x1000, 0x1010, 0x3000, 0x3010, "a" } };
	struct branch_trace traces[] = { THROUGH(0x1000, 0x1004, 1), THROUGH(0x3000, 0x3004, 2) };
	struct sample_profile p;

	(void)state;
	make(&p, of, 1, traces, ARRAY_LEN(traces));
	assert_int_equal(p.functions.n, 1);
	assert_int_equal(function(&p, "a")->total, 18);
	sample_profile_free(&p);
}

/* Between the parts of one there may be another one. */
static void test_between(void **state)
{
	static const struct fake of[] = { { 0x1000, 0x1010, 0x3000, 0x3010, "a" }, { 0x2000, 0x2010, 0, 0, "b" } };
	struct branch_trace traces[] = { THROUGH(0x1000, 0x1004, 1), THROUGH(0x2000, 0x2004, 3),
					 THROUGH(0x3000, 0x3004, 2) };
	struct sample_profile p;

	(void)state;
	make(&p, of, 2, traces, ARRAY_LEN(traces));
	assert_int_equal(p.unknown, 0);
	assert_int_equal(p.functions.n, 2);
	assert_int_equal(function(&p, "a")->total, 18);
	assert_int_equal(function(&p, "b")->total, 18);
	sample_profile_free(&p);
}

/* What a compiler has put behind a function's own name is not part of it. */
static void test_suffixes(void **state)
{
	static const struct {
		const char *linked, *own;
	} rows[] = {
		{ "f", "f" },
		{ "f.llvm.123", "f" },
		{ "f.part.0", "f" },
		{ "f.part.0.llvm.9", "f" },
		{ "f.llvm.1.llvm.2", "f.llvm.1" }, /* the last one alone */
		{ "f.llvm.1.cold", "f.llvm.1.cold" },
		{ "f.llvm", "f.llvm" },
		{ ".llvm.5", ".llvm.5" }, /* nothing would be left */
		{ "f.constprop.0", "f.constprop.0" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fake of = { 0x1000, 0x1010, 0, 0, rows[i].linked };
		struct branch_trace traces[] = { THROUGH(0x1000, 0x1004, 1) };
		struct sample_profile p;

		make(&p, &of, 1, traces, 1);
		assert_int_equal(p.functions.n, 1);
		if (!function(&p, rows[i].own))
			fail_msg("%s is %s", rows[i].linked, strtab_get(&p.names, p.functions.v[0].name));
		sample_profile_free(&p);
	}
}

/* Code that DWARF does not know is asked for once, with all the rest, wherever in it passages begin. */
static void test_unknown(void **state)
{
	static const struct fake of[] = { { 0x100, 0x200, 0, 0, "a" } };
	enum { MANY = 200000 };
	struct branch_trace *traces = mem_zalloc(MANY * sizeof(*traces));
	struct sample_profile p;

	(void)state;
	for (u32 i = 0; i < MANY; i++)
		traces[i] = (struct branch_trace)THROUGH(0x100 + i / 2 * 16, 0x104 + i / 2 * 16, 1);
	make(&p, of, 1, traces, MANY);
	assert_int_equal(p.passages, MANY);
	assert_int_equal(p.unknown, MANY - 32);
	assert_int_equal(questions, 1);
	assert_int_equal(addresses, MANY / 2);
	free(traces);
	sample_profile_free(&p);
}

/* Where a branch leads to that nothing ran behind is no code that ran. */
static void test_calls(void **state)
{
	static const struct fake of[] = { { 0x1000, 0x1010, 0, 0, "a" }, { 0x2000, 0x2010, 0, 0, "b" } };
	struct branch_trace traces[] = { { 1, TRACE_BRANCH, 0x1004, 0x2000, 4, 0 }, THROUGH(0x1000, 0x1004, 3) };
	struct sample_profile p;

	(void)state;
	make(&p, of, 2, traces, ARRAY_LEN(traces));
	assert_int_equal(function(&p, "b")->head, 4);
	assert_int_equal(function(&p, "b")->total, 0);
	assert_int_equal(p.bodies.n, 1);
	assert_int_equal(p.bodies.v[0].at.line, 2);
	assert_int_equal(p.bodies.v[0].count, 4);
	assert_int_equal(p.targets.n, 1);
	assert_int_equal(p.targets.v[0].count, 4);
	sample_profile_free(&p);
}

/* How long the last instruction is depends on the machine. */
static void test_machines(void **state)
{
	static const struct {
		u16 machine;
		u32 size;
	} rows[] = { { EM_X86_64, 2 }, { EM_386, 5 }, { EM_AARCH64, 4 } };
	static const struct fake of[] = { { 0x1000, 0x1010, 0, 0, "a" } };
	struct branch_trace traces[] = { THROUGH(0x1000, 0x1004, 1) };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct sample_profile p;

		fake_machine = rows[i].machine;
		make(&p, of, 1, traces, 1);
		assert_int_equal(function(&p, "a")->total, 4 + rows[i].size);
		sample_profile_free(&p);
	}
	fake_machine = EM_X86_64;
}

/* What would end a line, or look like a part of one, is not written, and is counted. */
static void test_names(void **state)
{
	static const char *const names[] = { "a\nb:1:1",  " a",
					     "a:1 b",	  "1",
					     "!a",	  "[a",
					     "a\177",	  " a",
					     "", /* all left out */
					     "-[A b:c:]", "std::f<int, 1>",
					     "fine",	  "\303\274" };
	enum { ODD = 7, FINE = 4 };
	struct fake of[ARRAY_LEN(names)];
	struct branch_trace traces[2 * ARRAY_LEN(of)];
	struct sample_profile p;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(of); i++) {
		of[i] = (struct fake){ 0x1000 * (i + 1), 0x1000 * (i + 1) + 16, 0, 0, names[i] };
		traces[2 * i] = (struct branch_trace)THROUGH(of[i].start, of[i].start + 4, 1);
		traces[2 * i + 1] = (struct branch_trace){ 1, TRACE_BRANCH, 0xa004, of[i].start, 1, 0 };
	}
	make(&p, of, ARRAY_LEN(of), traces, ARRAY_LEN(traces));
	assert_int_equal(p.odd, ODD);
	assert_int_equal(p.functions.n, FINE);
	for (u32 i = 0; i < FINE; i++)
		assert_non_null(function(&p, names[ARRAY_LEN(names) - 1 - i]));
	assert_int_equal(p.targets.n, FINE);
	assert_int_equal(p.unknown, 0);
	sample_profile_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap), cmocka_unit_test(test_inside),	cmocka_unit_test(test_parts),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_calls),	cmocka_unit_test(test_machines),
		cmocka_unit_test(test_names),	cmocka_unit_test(test_between), cmocka_unit_test(test_suffixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
