/* SPDX-License-Identifier: Apache-2.0 */
/* Types of data, from debug information that is written by hand (fixture/typed.s), and for code that stands here. */
#include "state/data_types.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define START 0x1000u /* of the function */
#define BLOCK 0x1040u /* of the block in it that has variables of its own */

struct fixture {
	struct dwarf_file *f;
	struct data_types *types;
};

static struct fixture begin(void)
{
	char *path = mem_printf("%s/typed", getenv("FIXTURE_DIR"));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct fixture x;

	free(path);
	assert_true(fd >= 0);
	x.f = dwarf_file_open(fd, NULL, true, DWARF_TYPES);
	assert_non_null(x.f);
	x.types = dwarf_file_types(x.f);
	return x;
}

/* "struct node +8 pairs[].a", or "" */
static void say(bool known, const struct typed_place *at, char out[128])
{
	out[0] = 0;
	if (known)
		snprintf(out, 128, "%s +%llu %s", at->type, (unsigned long long)at->offset, at->members);
}

static void test_variables(void **state)
{
	static const struct {
		u64 addr;
		const char *text;
	} data[] = {
		{ 0x4000, "struct node +0 next" },
		{ 0x4000 + 96 + 24, "struct node +24 pairs[].a" },
		{ 0x4000 + 8 + 4, "struct node +12 pairs[]" }, /* between members */
		{ 0x4000 + 2 * 96 + 72, "struct node +72 u.number|peer" },
		{ 0x4000 + 80, "struct node +80 low|high" },
		{ 0x4000 + 95, "struct node +95 text[]" },
		{ 0x4000 + 3 * 96, "" },
		{ 0x3fff, "" },
		{ 0x4200, "alias_t +0 x" }, /* a structure without a name */
		{ 0x4300, "" },		    /* typedefs of each other */
		{ 0x4500, "" },		    /* an array of itself */
		{ 0x4600, "struct node* +0 " },
	};
	struct fixture x = begin();

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(data); i++) {
		struct typed_place at;
		char text[128];

		say(data_types_at(x.types, data[i].addr, &at), &at, text);
		assert_string_equal(text, data[i].text);
	}
	dwarf_file_close(x.f);
}

/* A structure that has itself as a member twice has an end, too. */
static void test_members_of_itself(void **state)
{
	struct fixture x = begin();
	struct typed_place at;

	(void)state;
	assert_true(data_types_at(x.types, 0x4400, &at));
	assert_string_equal(at.type, "struct self");
	assert_true(strlen(at.members) < 4096);
	dwarf_file_close(x.f);
}

/* Code that begins at START, or in the block, and what its last instruction, of so many bytes, works on. */
struct snippet {
	const char *code; /* hexadecimal */
	u32 last;
	const char *text;
	bool in_block;
};

static u32 bytes_of(const char *hex, u8 *out)
{
	u32 n = 0;

	for (; *hex; hex += *hex == ' ' ? 1 : 2) {
		unsigned one;

		if (*hex != ' ' && sscanf(hex, "%2x", &one) == 1)
			out[n++] = (u8)one;
	}
	return n;
}

static void check(const struct snippet *s, u16 machine)
{
	struct fixture x = begin();
	struct typed_place at;
	char text[128];
	u8 bytes[256];
	u32 before = s->in_block ? BLOCK - START : 0;
	struct data_code code = { .machine = machine, .start = START, .p = bytes };

	memset(bytes, 0x90, sizeof(bytes));
	code.n = before + bytes_of(s->code, bytes + before);
	say(data_types_of_code(x.types, &code, START + code.n - s->last, &at), &at, text);
	if (strcmp(text, s->text))
		fail_msg("%s: '%s', and not '%s'", s->code, text, s->text);
	dwarf_file_close(x.f);
}

static const struct snippet x86[] = {
	/* The parameter itself; beyond its type, which is where container_of leads to. */
	{ "8b4708", 3, "struct node +8 pairs[].a" },
	{ "488b07", 3, "struct node +0 next" },
	{ "8b4760", 3, "" },
	{ "8b47f0", 3, "" },
	/* What was loaded, moved, and added to; and after it was changed. */
	{ "488b07 488b4810", 4, "struct node +16 pairs[].b" },
	{ "488b0f 4889c8 4883c008 8b10", 2, "struct node +8 pairs[].a" },
	{ "488b07 31c0 8b4808", 3, "" },
	{ "488b07 480fb600 8b4808", 3, "" },
	{ "488b4748 8b4808", 3, "" }, /* one of several members */
	{ "488b4708 8b4808", 3, "" }, /* no pointer */
	{ "8b07 8b4808", 3, "" },     /* half of one */
	/* Elements. */
	{ "8b4cf708", 4, "" }, /* of 16 bytes, by 8 */
	{ "48c1e604 8b4c3708", 4, "struct node +8 pairs[].a" },
	{ "486bf660 8b4c3718", 4, "struct node +24 pairs[].a" },
	{ "486bf630 8b4c3718", 4, "" }, /* neither whole elements nor in the first one of an array */
	{ "0fb64c3758", 5, "struct node +88 text[]" },
	{ "0fb64c3759", 5, "" }, /* text[n + 1], or what lies before it */
	/* Calls return a pointer where DWARF says so, and change registers. */
	{ "e8fb000000 8b4808", 3, "struct node +8 pairs[].a" },
	{ "488b0f e8fb000000 8b4108", 3, "" },
	{ "488b1f e8fb000000 8b4308", 3, "struct node +8 pairs[].a" },
	/* The frame: by the stack pointer, by a frame pointer, and what is no variable. */
	{ "4883ec28 8b0424", 3, "struct pair +0 a" },
	{ "4883ec28 488b442418", 5, "struct pair +8 b" },
	{ "55 4889e5 8b45e8", 3, "struct pair +8 b" },
	{ "4883ec38 8b0424", 3, "(stack operation) +0 " },
	{ "55", 1, "(stack operation) +0 " },
	{ "c3", 1, "(stack operation) +0 " },
	{ "64488b042528000000", 9, "(stack canary) +0 " },
	/* Two ways that agree, two that do not, and code that only fills up between them. */
	{ "488b0f 85f6 7403 488b0f 8b4108", 3, "struct node +8 pairs[].a" },
	{ "488b0f 85f6 7402 31c9 8b4108", 3, "" },
	{ "488b0f 85f6 7404 c3 0f1f00 8b4108", 3, "struct node +8 pairs[].a" },
	/* Addresses, by the distance from the code or as such. */
	{ "8b05 1a300000", 6, "struct node +32 pairs[].b" },
	{ "488d05 f92f0000 8b4808", 3, "struct node +8 pairs[].a" },
	{ "b800400000 8b4808", 3, "struct node +8 pairs[].a" },
	{ "486bf660 8b8e08400000", 6, "struct node +8 pairs[].a" },
	{ "486bf660 8b8e60400000", 6, "" }, /* not in the first element */
	/* What does not load or store, does so twice, or is not known. */
	{ "4889f8", 3, "" },
	{ "488d4708", 4, "" },
	{ "ff37", 2, "" },
	{ "a4", 1, "" },
	{ "658b07", 3, "" },
	{ "06", 1, "" },
	/* Variables in the same register: of two structures neither; bytes are less than a structure. */
	{ "418b02", 3, "", true },
	{ "418b4308", 4, "", true },
	{ "418b43e8", 4, "struct pair +8 b", true },
	{ "418b442408", 5, "struct pair +8 b", true },
};

static const struct snippet arm[] = {
	{ "a10840b9", 4, "struct node +8 pairs[].a" },		 /* ldr w1, [x5, #8] */
	{ "a10040f9 220840f9", 4, "struct node +16 pairs[].b" }, /* ldr x1, [x5]; ldr x2, [x1, #16] */
	{ "a10040f9 e20301aa 420840b9", 4, "struct node +8 pairs[].a" },
	{ "a10040f9 e10302aa 220840b9", 4, "" },
	{ "a18ac1a8 220840b9", 4, "" },				/* ldp x1, x2, [x21], #24 */
	{ "ff0301d1 e11340b9", 4, "struct pair +0 a" },		/* sub sp, sp, #64; ldr w1, [sp, #16] */
	{ "fd7bbda9 fd030091 a10740b9", 4, "struct pair +4 " }, /* stp x29, x30, [sp, #-48]!; mov x29, sp */
	{ "01000094 010840b9", 4, "" },
	{ "1f2003d5", 4, "" },
	{ "00000000", 4, "" },
};

static void test_code(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(x86); i++)
		check(&x86[i], EM_X86_64);
	for (u32 i = 0; i < ARRAY_LEN(arm); i++)
		check(&arm[i], EM_AARCH64);
	check(&(struct snippet){ "8b4708", 3, "" }, EM_RISCV);
}

/* An instruction in the middle of code, whose state comes from behind it as well. */
static void test_loops(void **state)
{
	static const struct {
		const char *code;
		u32 at;
		const char *text;
	} loops[] = {
		/* mov %rdi,%rax; l: mov 8(%rax),%ecx; add $96,%rax; jmp l */
		{ "4889f8 8b4808 4883c060 ebf7", 3, "struct node +8 pairs[].a" },
		{ "4889f8 8b4808 4883c010 ebf7", 3, "struct pair +0 a" }, /* from pairs[-1].b on */
		{ "4889f8 8b4808 4883c018 ebf7", 3, "" },
		/* lea 8(%rdi),%rax; l: mov 8(%rax),%rcx; add $16,%rax; jmp l */
		{ "488d4708 488b4808 4883c010 ebf6", 4, "struct pair +8 b" },
		/* l: mov (%rbx),%rbx; jmp l, where rbx was loaded before */
		{ "488b1f 488b1b ebfb", 3, "struct node +0 next" },
		/* mov (%rdi),%rcx; jmp l; k: nop; l: mov 8(%rcx),%eax; ret; xor %ecx,%ecx; jmp k, to which nothing
		   leads */
		{ "488b0f eb01 90 8b4108 c3 31c9 ebf7", 6, "" },
		/* lea -0x30(%rsp),%rax of which the frame is 8 bytes away; the same through the variable there */
		{ "488d4424d8 8b08 4883c010 ebf8", 5, "struct pair +0 a" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(loops); i++) {
		struct fixture x = begin();
		struct typed_place at;
		char text[128];
		u8 bytes[256];
		struct data_code code = { .machine = EM_X86_64, .start = START, .p = bytes };

		code.n = bytes_of(loops[i].code, bytes);
		say(data_types_of_code(x.types, &code, START + loops[i].at, &at), &at, text);
		if (strcmp(text, loops[i].text))
			fail_msg("%s: '%s', and not '%s'", loops[i].code, text, loops[i].text);
		dwarf_file_close(x.f);
	}
}

/* More functions than are kept, asked for in turn; and a part of one, whose beginning is not the function's. */
static void test_many(void **state)
{
	struct fixture x = begin();

	(void)state;
	for (u32 round = 0; round < 2; round++)
		for (u32 i = 0; i < 200; i++) {
			u8 bytes[] = { 0x48, 0x05, (u8)i, 0, 0, 0, 0x8b, 0x47, 0x08, 0x50 };
			struct data_code code = { EM_X86_64, START, bytes, sizeof(bytes) };
			struct typed_place at;

			assert_true(data_types_of_code(x.types, &code, START + 6, &at));
			assert_int_equal(at.offset, 8);
			code.start += 0x10;
			assert_true(data_types_of_code(x.types, &code, START + 0x16, &at));
			assert_false(data_types_of_code(x.types, &code, START + 0x17, &at));
			assert_false(data_types_of_code(x.types, &code, START + 0x1a, &at));
			assert_false(data_types_of_code(x.types, &code, START + 0x4000, &at));
		}
	dwarf_file_close(x.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables), cmocka_unit_test(test_members_of_itself),
		cmocka_unit_test(test_code),	  cmocka_unit_test(test_loops),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
