/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of call frame information, operation by operation: what each does, and where it makes no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/cfi.h"

#define FRAME 0x1000 /* what an expression finds on the stack */
#define RAX 0x5000   /* dwarf's register 0 */
#define MINUS(n) ((u64) - (n))

/* The word at an address is the address + 1; bytes of a smaller size are 7. */
static bool memory(void *ctx, u64 addr, u32 size, u64 *out)
{
	(void)ctx;
	*out = size == 8 ? addr + 1 : 7;
	return addr >= 0x1000 && addr + size <= 0x6000;
}

static const struct cfi_machine machine = { CFI_X86_SP, CFI_X86_FP, CFI_X86_PC, memory, NULL };

/* The return address is what the expression says. */
static enum cfi_step run(const u8 *code, u32 n, u64 *value)
{
	struct cfi c = { .is64 = true };
	struct cfi_rules r = { .cfa_how = CFI_OFFSET, .cfa_reg = CFI_X86_SP, .return_reg = CFI_X86_PC };
	struct cfi_frame f = { .known = 1ull << CFI_X86_SP | 1 };
	enum cfi_step step;

	f.reg[CFI_X86_SP] = FRAME;
	f.reg[0] = RAX;
	r.how[CFI_X86_PC] = CFI_EXPR;
	bytes_put(&c.code, code, n);
	vec_push(&c.exprs, (struct cfi_expr){ 0, n });
	step = cfi_step(&c, &r, &machine, &f);
	*value = f.reg[CFI_X86_PC];
	cfi_free(&c);
	return step;
}

struct row {
	u8 n, code[14];
	u64 value;
};

static void expect(const struct row *rows, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		u64 value = 0;

		assert_int_equal(run(rows[i].code, rows[i].n, &value), CFI_STEPPED);
		assert_int_equal(value, rows[i].value);
	}
}

static void test_constants(void **state)
{
	static const struct row rows[] = {
		{ 1, { 0x30 }, 0 },
		{ 1, { 0x31 }, 1 },
		{ 1, { 0x4f }, 31 },
		{ 2, { 0x08, 0xff }, 255 },
		{ 2, { 0x09, 0xff }, MINUS(1) },
		{ 3, { 0x0a, 0xfe, 0xff }, 0xfffe },
		{ 3, { 0x0b, 0xfe, 0xff }, MINUS(2) },
		{ 5, { 0x0c, 1, 0, 0, 0x80 }, 0x80000001 },
		{ 5, { 0x0d, 0xff, 0xff, 0xff, 0xff }, MINUS(1) },
		{ 9, { 0x0e, 1, 2, 0, 0, 0, 0, 0, 0x80 }, 0x8000000000000201 },
		{ 9, { 0x0f, 1, 2, 0, 0, 0, 0, 0, 0x80 }, 0x8000000000000201 },
		{ 3, { 0x10, 0x80, 0x7f }, 0x3f80 },
		{ 3, { 0x11, 0x80, 0x7f }, MINUS(128) },
		/* Registers, and memory. */
		{ 2, { 0x70, 0x08 }, RAX + 8 },
		{ 2, { 0x77, 0x78 }, FRAME - 8 },
		{ 3, { 0x92, 0x00, 0x04 }, RAX + 4 },
		{ 1, { 0x06 }, FRAME + 1 },
		{ 2, { 0x94, 4 }, 7 },
		{ 2, { 0x94, 8 }, FRAME + 1 },
		{ 1, { 0x96 }, FRAME },
	};

	(void)state;
	expect(rows, ARRAY_LEN(rows));
}

/* Literals 0 to 31 are bytes 0x30 to 0x4f; what is on top counts. */
static void test_stack(void **state)
{
	static const struct row rows[] = {
		{ 3, { 0x35, 0x12, 0x22 }, 10 },		  /* 5 5 + */
		{ 3, { 0x35, 0x37, 0x13 }, 5 },			  /* drop */
		{ 4, { 0x35, 0x37, 0x14, 0x1c }, 2 },		  /* 7 5 - over */
		{ 5, { 0x35, 0x37, 0x39, 0x15, 2 }, 5 },	  /* pick */
		{ 5, { 0x35, 0x37, 0x39, 0x15, 0 }, 9 },	  /* pick */
		{ 4, { 0x35, 0x37, 0x16, 0x1c }, 2 },		  /* swap */
		{ 4, { 0x35, 0x37, 0x39, 0x17 }, 7 },		  /* rot: the second comes up */
		{ 5, { 0x35, 0x37, 0x39, 0x17, 0x13 }, 5 },	  /* then the third */
		{ 6, { 0x35, 0x37, 0x39, 0x17, 0x13, 0x13 }, 9 }, /* then the first */
		{ 3, { 0x09, 0xfb, 0x19 }, 5 },			  /* abs */
		{ 2, { 0x35, 0x19 }, 5 },			  /* abs */
		{ 2, { 0x30, 0x19 }, 0 },			  /* abs */
		{ 2, { 0x35, 0x1f }, MINUS(5) },		  /* neg */
		{ 2, { 0x35, 0x20 }, ~5ull },			  /* not */
		{ 4, { 0x35, 0x23, 0x80, 0x01 }, 133 },		  /* plus_uconst */
	};

	(void)state;
	expect(rows, ARRAY_LEN(rows));
}

static void test_two_values(void **state)
{
	static const struct row rows[] = {
		{ 3, { 0x3c, 0x3a, 0x1a }, 8 },		      /* 12 and 10 */
		{ 3, { 0x3c, 0x3a, 0x21 }, 14 },	      /* or */
		{ 3, { 0x3c, 0x3a, 0x27 }, 6 },		      /* xor */
		{ 3, { 0x3c, 0x35, 0x1b }, 2 },		      /* 12 / 5 */
		{ 4, { 0x09, 0xf4, 0x35, 0x1b }, MINUS(2) },  /* -12 / 5 */
		{ 4, { 0x3c, 0x09, 0xff, 0x1b }, MINUS(12) }, /* 12 / -1 */
		{ 3, { 0x3c, 0x30, 0x1b }, 0 },		      /* 12 / 0 */
		{ 3, { 0x3c, 0x35, 0x1c }, 7 },		      /* 12 - 5 */
		{ 3, { 0x3c, 0x35, 0x1d }, 2 },		      /* 12 mod 5 */
		{ 3, { 0x3c, 0x30, 0x1d }, 0 },		      /* 12 mod 0 */
		{ 3, { 0x3c, 0x35, 0x1e }, 60 },	      /* 12 * 5 */
		{ 3, { 0x3c, 0x35, 0x22 }, 17 },	      /* 12 + 5 */
		{ 3, { 0x3c, 0x32, 0x24 }, 48 },	      /* 12 << 2 */
		{ 4, { 0x31, 0x08, 63, 0x24 }, 1ull << 63 },
		{ 4, { 0x31, 0x08, 64, 0x24 }, 0 },
		{ 3, { 0x3c, 0x32, 0x25 }, 3 }, /* 12 >> 2 */
		{ 5, { 0x09, 0xff, 0x08, 63, 0x25 }, 1 },
		{ 5, { 0x09, 0xff, 0x08, 64, 0x25 }, 0 },
		{ 4, { 0x09, 0xf4, 0x32, 0x26 }, MINUS(3) }, /* -12 >> 2, with its sign */
		{ 5, { 0x09, 0xf4, 0x08, 64, 0x26 }, MINUS(1) },
	};

	(void)state;
	expect(rows, ARRAY_LEN(rows));
}

/* Of signed numbers: -1, 0 and 1 against 0. */
static void test_comparisons(void **state)
{
	static const struct {
		u8 op;
		bool less, equal, more;
	} rows[] = {
		{ 0x29, false, true, false }, { 0x2a, false, true, true },  { 0x2b, false, false, true },
		{ 0x2c, true, true, false },  { 0x2d, true, false, false }, { 0x2e, true, false, true },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row each[] = { { 4, { 0x09, 0xff, 0x30, rows[i].op }, rows[i].less },
					    { 3, { 0x30, 0x30, rows[i].op }, rows[i].equal },
					    { 3, { 0x31, 0x30, rows[i].op }, rows[i].more } };

		expect(each, ARRAY_LEN(each));
	}
}

static void test_jumps(void **state)
{
	static const struct row rows[] = {
		{ 6, { 0x35, 0x2f, 1, 0, 0x37, 0x96 }, 5 },	  /* skip over 7 */
		{ 7, { 0x35, 0x31, 0x28, 1, 0, 0x37, 0x96 }, 5 }, /* taken */
		{ 7, { 0x35, 0x30, 0x28, 1, 0, 0x37, 0x96 }, 7 }, /* not taken */
		{ 5, { 0x35, 0x2f, 1, 0, 0x37 }, 5 },		  /* to the end */
		{ 8,
		  { 0x33, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff, 0x96 },
		  0 }, /* 3 - 1 - 1 - 1, back while it is not 0 */
	};

	(void)state;
	expect(rows, ARRAY_LEN(rows));
}

static void test_no_sense(void **state)
{
	static const struct {
		u8 n, code[8];
		enum cfi_step end;
	} rows[] = {
		{ 2, { 0x13, 0x13 }, CFI_NO_SENSE }, /* from an empty stack */
		{ 1, { 0x22 }, CFI_NO_SENSE },	     /* two values, of which one is there */
		{ 1, { 0x14 }, CFI_NO_SENSE },
		{ 2, { 0x15, 1 }, CFI_NO_SENSE },
		{ 1, { 0xff }, CFI_NO_SENSE }, /* no operation */
		{ 3, { 0x35, 0x37, 0xff }, CFI_NO_SENSE },
		{ 2, { 0x71, 0 }, CFI_NO_SENSE },     /* a register that is not known */
		{ 3, { 0x92, 33, 0 }, CFI_NO_SENSE }, /* or that there is not */
		{ 2, { 0x94, 0 }, CFI_NO_SENSE },
		{ 2, { 0x94, 9 }, CFI_NO_SENSE },
		{ 4, { 0x2f, 2, 0, 0x96 }, CFI_NO_SENSE }, /* a jump behind the end */
		{ 3, { 0x2f, 0xfc, 0xff }, CFI_NO_SENSE }, /* before the beginning */
		{ 3, { 0x2f, 0xfd, 0xff }, CFI_NO_SENSE }, /* for ever */
		{ 2, { 0x30, 0x06 }, CFI_NO_MEMORY },
		{ 3, { 0x30, 0x94, 4 }, CFI_NO_MEMORY },
	};
	u64 value;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(run(rows[i].code, rows[i].n, &value), rows[i].end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants),   cmocka_unit_test(test_stack), cmocka_unit_test(test_two_values),
		cmocka_unit_test(test_comparisons), cmocka_unit_test(test_jumps), cmocka_unit_test(test_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
