/* SPDX-License-Identifier: Apache-2.0 */
/* Where an address lies, of maps that are made up. */
#include "attrib/place.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- a thread's maps and the kernel's, instead of those of a recording --- */

#define USER 0x1000u   /* to 0x2000: dso 1, of which half has a symbol */
#define KERNEL 0x8000u /* to 0x9000: dso 2, likewise */
#define MODULE 0x9000u /* to 0xa000: dso 3 */
#define BOTH 0xb000u   /* to 0xc000, in each of them */
#define OFFSET 0x400u  /* what look-ups take is so much less than addresses */

static const struct space user, kernel;
static const struct thread_view thread = { .maps = { &user, 1 }, .kernel = { &kernel, 1 } };

const struct vmap *maps_find(const struct maps *maps, u64 addr)
{
	static const struct vmap of_user = { .start = USER, .dso = 1 }, of_kernel = { .start = KERNEL, .dso = 2 },
				 of_module = { .start = MODULE, .dso = 3 };

	if (maps->space == &user)
		return addr / 0x1000 == USER / 0x1000 || addr / 0x1000 == BOTH / 0x1000 ? &of_user : NULL;
	if (addr / 0x1000 == MODULE / 0x1000)
		return &of_module;
	return addr / 0x1000 == KERNEL / 0x1000 || addr / 0x1000 == BOTH / 0x1000 ? &of_kernel : NULL;
}

u64 vmap_addr(const struct vmap *m, const struct dsos *dsos, u64 addr)
{
	(void)dsos;
	assert_true(addr >= m->start);
	return addr - OFFSET;
}

u32 dsos_symbol_at(struct dsos *d, u32 dso, u64 addr)
{
	(void)d;
	return (addr + OFFSET) % 0x1000 < 0x800 ? 10 * dso : ID_NONE;
}

const struct symbol *dsos_symbol(const struct dsos *d, u32 dso, u32 sym)
{
	static const struct symbol symbols[] = {
		{ 0 }, { .start = USER - OFFSET }, { .start = KERNEL - OFFSET }, { .start = MODULE - OFFSET }
	};

	(void)d;
	assert_int_equal(sym, 10 * dso);
	return &symbols[dso];
}

const char *dsos_symbol_name(struct dsos *d, u32 dso, u32 sym)
{
	(void)d;
	assert_int_equal(sym, 10 * dso);
	return dso == 2 ? "schedule" : "ext4_read";
}

const struct dso *dsos_at(const struct dsos *d, u32 dso)
{
	static const struct dso dsos[] = { [1] = { .kind = DSO_FILE },
					   [2] = { .kind = DSO_KERNEL, .short_name = "[kernel.kallsyms]" },
					   [3] = { .kind = DSO_MODULE, .short_name = "[ext4]" } };

	(void)d;
	return &dsos[dso];
}

/* --- tests --- */

static void test_find(void **state)
{
	static const struct {
		u32 cpumode, dso;
		u64 ip, addr;
		u32 sym;
		char level;
	} rows[] = {
		{ PERF_RECORD_MISC_USER, 1, USER + 4, USER + 4 - OFFSET, 10, '.' },
		{ PERF_RECORD_MISC_USER, 1, USER + 0x900, USER + 0x900 - OFFSET, ID_NONE, '.' },
		{ PERF_RECORD_MISC_USER, 0, KERNEL + 4, KERNEL + 4, ID_NONE, '.' },
		{ PERF_RECORD_MISC_USER, 1, BOTH + 4, BOTH + 4 - OFFSET, 10, '.' },
		{ PERF_RECORD_MISC_KERNEL, 2, BOTH + 4, BOTH + 4 - OFFSET, 20, 'k' },
		{ PERF_RECORD_MISC_KERNEL, 3, MODULE + 4, MODULE + 4 - OFFSET, 30, 'k' },
		{ PERF_RECORD_MISC_KERNEL, 0, USER + 4, USER + 4, ID_NONE, 'k' },
		/* Guests' and the hypervisor's code is not known. */
		{ PERF_RECORD_MISC_GUEST_KERNEL, 0, KERNEL + 4, KERNEL + 4, ID_NONE, 'g' },
		{ PERF_RECORD_MISC_GUEST_USER, 0, USER + 4, USER + 4, ID_NONE, 'u' },
		{ PERF_RECORD_MISC_HYPERVISOR, 0, BOTH + 4, BOTH + 4, ID_NONE, 'H' },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct place p;

		place_find(NULL, &thread, rows[i].cpumode, rows[i].ip, &p);
		assert_int_equal(p.dso, rows[i].dso);
		assert_int_equal(!p.map, !rows[i].dso);
		assert_int_equal(p.addr, rows[i].addr);
		assert_int_equal(p.sym, rows[i].sym);
		assert_int_equal(p.level, rows[i].level);
		assert_int_equal(place_dso(&thread, rows[i].cpumode, rows[i].ip), rows[i].dso);
	}
}

/* User space goes first. */
static void test_mode(void **state)
{
	(void)state;
	assert_int_equal(place_mode(&thread, USER), PERF_RECORD_MISC_USER);
	assert_int_equal(place_mode(&thread, KERNEL), PERF_RECORD_MISC_KERNEL);
	assert_int_equal(place_mode(&thread, BOTH), PERF_RECORD_MISC_USER);
	assert_int_equal(place_mode(&thread, 0), PERF_RECORD_MISC_HYPERVISOR);
}

static void test_marks(void **state)
{
	static const struct {
		u64 mark;
		u32 cpumode;
	} rows[] = {
		{ PERF_CONTEXT_HV, PERF_RECORD_MISC_HYPERVISOR },
		{ PERF_CONTEXT_KERNEL, PERF_RECORD_MISC_KERNEL },
		{ PERF_CONTEXT_USER, PERF_RECORD_MISC_USER },
		{ PERF_CONTEXT_USER_DEFERRED, PERF_RECORD_MISC_USER },
		{ PERF_CONTEXT_GUEST_KERNEL, PERF_RECORD_MISC_GUEST_KERNEL },
		{ PERF_CONTEXT_GUEST_USER, PERF_RECORD_MISC_GUEST_USER },
		{ 0, ID_NONE },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(context_cpumode(rows[i].mark), rows[i].cpumode);
}

/* The kernel's function that holds an address, as tracepoints print it. */
static void test_kernel_function(void **state)
{
	const char *module = NULL;
	u64 start = 0;

	(void)state;
	assert_string_equal(place_kernel_function(NULL, &thread.kernel, KERNEL + 0x123, &start, &module), "schedule");
	assert_int_equal(start, KERNEL);
	assert_null(module);
	assert_null(place_kernel_function(NULL, &thread.kernel, KERNEL + 0x923, &start, &module));
	assert_null(place_kernel_function(NULL, &thread.kernel, USER, &start, &module));
	assert_int_equal(start, KERNEL);
	assert_string_equal(place_kernel_function(NULL, &thread.kernel, MODULE + 7, &start, &module), "ext4_read");
	assert_int_equal(start, MODULE);
	assert_string_equal(module, "[ext4]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_kernel_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
