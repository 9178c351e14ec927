/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids in the notes of an ELF file's first bytes. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/elf_notes.h"

#define NOTES_AT 512

struct file {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	u8 between[NOTES_AT - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	struct {
		Elf64_Nhdr other;
		char name[8];
		u32 value;
		Elf64_Nhdr id;
		char gnu[4];
		u8 bytes[20];
	} notes;
};

static struct file make(void)
{
	struct file f = { 0 };

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_phoff = sizeof(f.head);
	f.head.e_phentsize = sizeof(f.segments[0]);
	f.head.e_phnum = 2;
	f.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = NOTES_AT, .p_filesz = sizeof(f.notes) };
	f.segments[1] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = sizeof(f.notes) };
	f.notes.other = (Elf64_Nhdr){ 5, 4, 1 };
	memcpy(f.notes.name, "Linux", 5);
	f.notes.id = (Elf64_Nhdr){ 4, 20, NT_GNU_BUILD_ID };
	memcpy(f.notes.gnu, "GNU", 4);
	memset(f.notes.bytes, 0xab, sizeof(f.notes.bytes));
	return f;
}

static u32 length_of(const struct file *f, size_t size)
{
	struct str id = elf_head_gnu_id(cursor_over(f, size, false));

	if (id.len)
		assert_ptr_equal(id.p, f->notes.bytes);
	return id.len;
}

static void test_found(void **state)
{
	struct file f = make();

	(void)state;
	assert_int_equal(length_of(&f, sizeof(f)), 20);
	/* In the first segment of notes that has one. */
	f.segments[0].p_type = PT_NOTE;
	f.segments[0].p_filesz = 24; /* Linux's alone */
	assert_int_equal(length_of(&f, sizeof(f)), 20);
	f.notes.id.n_descsz = 8; /* of any length */
	assert_int_equal(length_of(&f, sizeof(f)), 8);
}

static void test_not_found(void **state)
{
	const struct file good = make();
	struct file f = good;

	(void)state;
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.head.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.head.e_ident[1] = 'e';
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.head.e_phentsize++;
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.head.e_phnum = 1;
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.head.e_phoff = sizeof(f);
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.segments[1].p_offset = sizeof(f) - 4;
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.segments[1].p_filesz = sizeof(f.notes) - 1; /* it does not hold all of it */
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.notes.id.n_type = 1;
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	f = good;
	f.notes.gnu[2] = 'V';
	assert_int_equal(length_of(&f, sizeof(f)), 0);
	assert_int_equal(length_of(&good, NOTES_AT + sizeof(good.notes) - 1), 0);
	assert_int_equal(length_of(&good, 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
