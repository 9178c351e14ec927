/* SPDX-License-Identifier: Apache-2.0 */
/* What programs in Go say of themselves, whole and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first. */
#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "record/go_program.h"
#include "spoil.h"

#define ROUNDS 2000
#define ROOM (64u << 20)

#define INFO_AT 0x1000
#define NAMES "\0.go.buildinfo"

/* A program of one segment and, with sections, two of these. */
static void make_program(struct bytes *out, const char *version, bool sections, u8 flags)
{
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1,
			    .e_shentsize = sizeof(Elf64_Shdr) };
	u64 size = 33 + strlen(version);
	Elf64_Phdr data = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = INFO_AT, .p_vaddr = INFO_AT, .p_filesz = size
	};
	Elf64_Shdr table[2] = { { .sh_offset = 0x800, .sh_size = sizeof(NAMES) },
				{ .sh_name = 1, .sh_offset = INFO_AT, .sh_size = size } };

#if defined(__x86_64__)
	head.e_machine = EM_X86_64;
#else
	head.e_machine = EM_AARCH64;
#endif
	if (sections) {
		head.e_shoff = 0x400;
		head.e_shnum = 2;
	}
	out->len = 0;
	bytes_put(out, &head, sizeof(head));
	bytes_put(out, &data, sizeof(data));
	bytes_zero(out, 0x400 - out->len);
	bytes_put(out, table, sizeof(table));
	bytes_zero(out, 0x800 - out->len);
	bytes_put(out, NAMES, sizeof(NAMES));
	bytes_zero(out, INFO_AT - out->len);
	bytes_put(out, "\xff Go buildinf:\x08", 15);
	bytes_u8(out, flags);
	bytes_zero(out, 16);
	bytes_u8(out, (u8)strlen(version));
	bytes_put(out, version, strlen(version));
}

static void find_go(const u8 *bytes, size_t len, struct go_program *out)
{
	int fd = memfd_create("go", MFD_CLOEXEC);
	u64 left = ROOM;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	go_program_find(fd, &left, out);
	assert_true(left <= ROOM);
	close(fd);
}

static void test_versions(void **state)
{
	static const struct {
		const char *version;
		enum activity_form form;
		u16 curg, labels;
		const char *why_not;
	} rows[] = {
		{ "go1.18", ACTIVITY_FORM_GO_MAP, 192, 360, "" },
		{ "go1.19.8", ACTIVITY_FORM_GO_MAP, 192, 360, "" },
		{ "go1.20.14", ACTIVITY_FORM_GO_MAP, 192, 360, "" },
		{ "go1.21.3 (Red Hat 1.21.3-2.el9)", ACTIVITY_FORM_GO_MAP, 192, 344, "" },
		{ "go1.23.4", ACTIVITY_FORM_GO_MAP, 192, 352, "" },
		{ "go1.24.1 X:nocoverageredesign", ACTIVITY_FORM_GO_LIST, 192, 352, "" },
		{ "go1.25.0", ACTIVITY_FORM_GO_LIST, 184, 344, "" },
		{ "go1.26-custom", ACTIVITY_FORM_GO_LIST, 184, 352, "" },
		{ "go1.27.3", ACTIVITY_FORM_GO_LIST, 184, 352, "" },
		{ "go1.17.13", ACTIVITY_FORM_POINTER, 0, 0, "Go 1.17 has built it" },
		{ "go1.28.0", ACTIVITY_FORM_POINTER, 0, 0, "Go 1.28 has built it" },
		{ "go1.9999", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
		{ "go1.24rc1", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
		{ "go1.25-devel_0123", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
		{ "devel go1.20-0123", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
		{ "go1.", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
		{ "go2.1", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
		{ "", ACTIVITY_FORM_POINTER, 0, 0, "no release" },
	};
	struct bytes file = { 0 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct go_program found;

		make_program(&file, rows[i / 2].version, i % 2, 2);
		find_go(file.p, file.len, &found);
		assert_true(found.is_go);
#if defined(__x86_64__)
		assert_int_equal(strncmp(found.why_not, rows[i / 2].why_not, strlen(rows[i / 2].why_not)), 0);
		assert_int_equal(!*found.why_not, !*rows[i / 2].why_not);
		assert_int_equal(found.form, rows[i / 2].form);
		assert_int_equal(found.at.curg, rows[i / 2].curg);
		assert_int_equal(found.at.labels, rows[i / 2].labels);
		assert_int_equal(found.where, *found.why_not ? 0 : -8);
#endif
	}
	bytes_free(&file);
}

static void test_broken_programs(void **state)
{
	struct bytes file = { 0 };
	struct go_program found;
	u64 seed = 1;

	(void)state;
	make_program(&file, "go1.19.8", true, 0); /* before Go 1.18 there was no text */
	find_go(file.p, file.len, &found);
	assert_true(found.is_go && *found.why_not);
	make_program(&file, "go1.19.8", true, 2);
	find_go(file.p, file.len - 1, &found);
	assert_false(found.is_go && !*found.why_not);
	for (u32 i = 0; i < ROUNDS; i++) {
		size_t len;
		u8 *spoiled = spoil(file.p, file.len, &seed, &len);

		find_go(spoiled, len, &found);
		free(spoiled);
	}
	bytes_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_versions), cmocka_unit_test(test_broken_programs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
