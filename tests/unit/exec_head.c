/* SPDX-License-Identifier: Apache-2.0 */
/* codec/exec_head: what execve sees in the first bytes of a program. */
#include "codec/exec_head.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct exec_head of(const char *text)
{
	struct exec_head h;

	exec_head_decode(text, strlen(text), &h);
	return h;
}

static void is(struct str s, const char *want)
{
	assert_int_equal(s.len, strlen(want));
	assert_memory_equal(s.p, want, s.len);
}

static void test_scripts(void **state)
{
	static const struct {
		const char *text, *interp, *arg;
	} rows[] = {
		{ "#!/bin/sh\necho", "/bin/sh", "" },
		{ "#! /bin/sh -e \necho", "/bin/sh", "-e" },
		{ "#!\t/usr/bin/env python3 -u x\n", "/usr/bin/env", "python3 -u x" },
		{ "#!/bin/sh", "/bin/sh", "" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct exec_head h = of(rows[i].text);

		assert_int_equal(h.kind, EXEC_SCRIPT);
		is(h.interp, rows[i].interp);
		is(h.arg, rows[i].arg);
	}
	assert_int_equal(of("#!").kind, EXEC_NONE);
	assert_int_equal(of("#! \n/bin/sh").kind, EXEC_NONE);
	assert_int_equal(of("echo #!/bin/sh\n").kind, EXEC_NONE);
	assert_int_equal(of("").kind, EXEC_NONE);
}

/* A line longer than the head: arguments may be cut off, the interpreter not. */
static void test_long_line(void **state)
{
	char head[EXEC_HEAD_SIZE];
	struct exec_head h;

	(void)state;
	memset(head, 'x', sizeof(head));
	memcpy(head, "#!/", 3);
	exec_head_decode(head, sizeof(head), &h);
	assert_int_equal(h.kind, EXEC_NONE);
	head[8] = ' ';
	exec_head_decode(head, sizeof(head), &h);
	assert_int_equal(h.kind, EXEC_SCRIPT);
	is(h.interp, "/xxxxx");
	assert_int_equal(h.arg.len, EXEC_HEAD_SIZE - 9);
}

static void test_elf(void **state)
{
	Elf64_Ehdr e = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			 .e_type = ET_DYN,
			 .e_machine = EM_AARCH64 };
	struct exec_head h;

	(void)state;
	exec_head_decode(&e, sizeof(e), &h);
	assert_int_equal(h.kind, EXEC_ELF);
	assert_true(h.is64 && h.little);
	assert_int_equal(h.type, ET_DYN);
	assert_int_equal(h.machine, EM_AARCH64);
	for (size_t n = 0; n < 20; n++) {
		exec_head_decode(&e, n, &h);
		assert_int_equal(h.kind, EXEC_NONE);
	}
	/* an s390 */
	e.e_ident[EI_DATA] = ELFDATA2MSB;
	e.e_machine = __builtin_bswap16(EM_S390);
	exec_head_decode(&e, sizeof(e), &h);
	assert_false(h.little);
	assert_int_equal(h.machine, EM_S390);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
