/* SPDX-License-Identifier: Apache-2.0 */
/* Registers by name and number, and the virtual PMU's events by theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/perf_abi.h"
#include "codec/regs.h"
#include "codec/vpmu.h"
#include "notes.h"

static void test_names(void **state)
{
	static const struct {
		enum regs_arch arch;
		u32 n;
		const char *name;
		u32 dwarf;
	} rows[] = {
		{ REGS_X86, 0, "AX", 0 },	   { REGS_X86, 1, "BX", 3 },
		{ REGS_X86, 2, "CX", 2 },	   { REGS_X86, 3, "DX", 1 },
		{ REGS_X86, 6, "BP", 6 },	   { REGS_X86, 7, "SP", 7 },
		{ REGS_X86, 8, "IP", 16 },	   { REGS_X86, 9, "FLAGS", ID_NONE },
		{ REGS_X86, 16, "R8", 8 },	   { REGS_X86, 23, "R15", 15 },
		{ REGS_X86, 24, NULL, ID_NONE },   { REGS_X86, 31, NULL, ID_NONE },
		{ REGS_X86, 32, "XMM0", ID_NONE }, { REGS_X86, 63, "XMM15", ID_NONE },
		{ REGS_X86, 64, NULL, ID_NONE },   { REGS_ARM64, 0, "x0", 0 },
		{ REGS_ARM64, 29, "x29", 29 },	   { REGS_ARM64, 30, "lr", 30 },
		{ REGS_ARM64, 31, "sp", 31 },	   { REGS_ARM64, 32, "pc", 32 },
		{ REGS_ARM64, 33, NULL, ID_NONE }, { REGS_ARM64, 46, "vg", ID_NONE },
		{ REGS_OTHER, 0, NULL, ID_NONE },
	};
	char room[REG_NAME_ROOM];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const char *name = reg_name(rows[i].arch, rows[i].n, room);

		assert_int_equal(!name, !rows[i].name);
		if (name)
			assert_string_equal(name, rows[i].name);
		assert_int_equal(reg_dwarf(rows[i].arch, rows[i].n), rows[i].dwarf);
	}
	/* A register of 128 bits takes two places. */
	assert_true(reg_is_upper(REGS_X86, 33) && reg_is_upper(REGS_X86, 63));
	assert_false(reg_is_upper(REGS_X86, 31) || reg_is_upper(REGS_X86, 32) || reg_is_upper(REGS_X86, 65));
	assert_false(reg_is_upper(REGS_ARM64, 33));
}

static void test_arches(void **state)
{
	(void)state;
	assert_int_equal(regs_arch_of("x86_64"), REGS_X86);
	assert_int_equal(regs_arch_of("x86"), REGS_X86);
	assert_int_equal(regs_arch_of("aarch64"), REGS_ARM64);
	assert_int_equal(regs_arch_of("aarch64_be"), REGS_OTHER);
	assert_int_equal(regs_arch_of(NULL), REGS_OTHER);
	assert_int_equal(regs_stack(REGS_X86), 1u << 7 | 1u << 8);
	assert_int_equal(regs_stack(REGS_ARM64), 3ull << 31);
	assert_int_equal(regs_stack(REGS_OTHER), 0);
	assert_int_equal(regs_general(REGS_X86), 0xff0fff);
}

static void test_parse(void **state)
{
	static const struct {
		enum regs_arch arch;
		const char *text;
		u64 mask;
		int err;
	} rows[] = {
		{ REGS_X86, "", 0xff0fff, 0 },
		{ REGS_X86, "ax", 1, 0 },
		{ REGS_X86, "AX,bx,R15", 3 | 1u << 23, 0 },
		{ REGS_X86, "sp,", 1u << 7, 0 },
		{ REGS_X86, "a", 0, ERR_USAGE },
		{ REGS_X86, "axx", 0, ERR_USAGE },
		{ REGS_X86, "ds", 0, ERR_USAGE },
		{ REGS_X86, "ax,,bx", 0, ERR_USAGE },
		{ REGS_ARM64, "x3,pc", 1ull << 3 | 1ull << 32, 0 },
		{ REGS_OTHER, "", 0, ERR_UNSUPPORTED },
		{ REGS_OTHER, "ax", 0, ERR_USAGE },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char text[NOTE_ROOM] = "";
		u64 mask;

		assert_int_equal(
			regs_parse(rows[i].arch, rows[i].text, "--regs", &mask, &(struct notify){ keep_note, text }),
			rows[i].err);
		if (!rows[i].err)
			assert_int_equal(mask, rows[i].mask);
		assert_int_equal(!text[0], !rows[i].err);
	}
	{
		char text[NOTE_ROOM];
		u64 mask;

		regs_parse(REGS_X86, "bx,nonsense,ax", "--regs", &mask, &(struct notify){ keep_note, text });
		assert_string_equal(text,
				    "--regs: no register 'nonsense'; there are: AX BX CX DX SI DI BP SP IP FLAGS "
				    "CS SS R8 R9 R10 R11 R12 R13 R14 R15");
	}
}

/* --- events of the virtual PMU --- */

static void test_events(void **state)
{
	(void)state;
	assert_true(nr_vpmu_events > 20);
	for (u32 i = 0; i < nr_vpmu_events; i++) {
		struct attr a = { .type = vpmu_events[i].type, .config = vpmu_events[i].config };

		assert_int_equal(vpmu_count_of(&a), vpmu_events[i].count);
		/* Guest or user code alone is all that there is. */
		a.flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV;
		assert_int_equal(vpmu_count_of(&a), vpmu_events[i].count);
		a.flags = ATTR_EXCLUDE_USER;
		assert_int_equal(vpmu_count_of(&a), -1);
		a.flags = ATTR_EXCLUDE_HOST;
		assert_int_equal(vpmu_count_of(&a), -1);
		a.flags = 0;
		a.config += 1ull << 40;
		assert_int_equal(vpmu_count_of(&a), -1);
		assert_int_equal(
			vpmu_is_memory(&(struct attr){ .type = vpmu_events[i].type, .config = vpmu_events[i].config }),
			!strncmp(vpmu_events[i].name, "mem-", 4));
	}
}

static void test_simulated(void **state)
{
	static const struct {
		const char *cpuid, *core;
	} rows[] = {
		{ VPMU_CPUID_PREFIX ":generic-x86", "generic-x86" },
		{ VPMU_CPUID_PREFIX ":neoverse-n1,1", "neoverse-n1" },
		{ VPMU_CPUID_PREFIX ",neoverse-n1", "neoverse-n1" },
		{ VPMU_CPUID_PREFIX "x:core", NULL },
		{ "GenuineIntel-6-85-7", NULL },
		{ NULL, NULL },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct str core = vpmu_simulated(rows[i].cpuid);

		assert_int_equal(!core.p, !rows[i].core);
		if (core.p) {
			assert_int_equal(core.len, strlen(rows[i].core));
			assert_memory_equal(core.p, rows[i].core, core.len);
		}
	}
}

/* Which models a count needs: any of them. */
static void test_modelled(void **state)
{
	static const u32 branch = VPMU_MODEL_BRANCH, cache = VPMU_MODEL_CACHE, tlb = VPMU_MODEL_TLB;
	const struct {
		u32 count, models;
	} rows[] = {
		{ VC_BRANCH_MISSES, branch },
		{ VC_SLOTS_BAD_SPECULATION, branch },
		{ VC_SLOTS_FRONTEND, branch | cache },
		{ VC_STALL_FRONTEND, branch | cache },
		{ VC_SLOTS_BACKEND, branch | cache | tlb },
		{ VC_STALL_BACKEND, branch | cache | tlb },
		{ VC_L1I_MISSES, cache },
		{ VC_SLOW_LOADS, cache },
		{ VC_LLC_REFERENCES, cache },
		{ VC_LLC_MISSES, cache },
		{ VC_L1D_LOADS, cache },
		{ VC_LLC_STORE_MISSES, cache },
		{ VC_DTLB_LOADS, tlb },
		{ VC_DTLB_STORE_MISSES, tlb },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		for (u32 models = 0; models <= (branch | cache | tlb); models++)
			if (!(models & ~(branch | cache | tlb)))
				assert_int_equal(vpmu_is_modelled(rows[i].count, models), !!(models & rows[i].models));
	assert_true(vpmu_is_modelled(VC_INSTRUCTIONS, 0) && vpmu_is_modelled(VC_CALLS, 0) &&
		    vpmu_is_modelled(VC_SLOTS, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_arches),	 cmocka_unit_test(test_parse),
		cmocka_unit_test(test_events), cmocka_unit_test(test_simulated), cmocka_unit_test(test_modelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
