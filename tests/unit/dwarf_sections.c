/* SPDX-License-Identifier: Apache-2.0 */
/* Debug information answers alike whether it is packed or not, and whatever is said of its size. */
#include "state/dwarf_sections.h"

#include <elf.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "state/dwarf.h"

enum { PLAIN, ZLIB, ZSTD };
static const u32 kinds[] = { [ZLIB] = 1, [ZSTD] = 2 }; /* as ELF numbers them */

static struct bytes fixture(void)
{
	char path[4096];
	struct bytes b = { 0 };
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/markers_pie", getenv("FIXTURE_DIR"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	bytes_grow(&b, 1u << 20);
	n = read(fd, b.p, 1u << 20);
	assert_true(n > 0 && n < 1 << 20);
	b.len = (size_t)n;
	close(fd);
	return b;
}

static struct bytes packed(const u8 *p, size_t size, u32 how)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	struct bytes out = { 0 };
	size_t most = 2 * size + 100;

	bytes_grow(&out, most);
	out.len = how == ZLIB ? libdeflate_zlib_compress(c, p, size, out.p, most) :
				ZSTD_compress(out.p, most, p, size, 3);
	libdeflate_free_compressor(c);
	assert_true(out.len > 0 && out.len < most);
	return out;
}

/* Puts each section of debug information to the end of the file, packed. off: by how much its size is misstated. */
static void pack_all(struct bytes *b, u32 how, s64 off)
{
	Elf64_Ehdr eh;
	Elf64_Shdr names;
	u32 n = 0;

	memcpy(&eh, b->p, sizeof(eh));
	memcpy(&names, b->p + eh.e_shoff + eh.e_shstrndx * sizeof(names), sizeof(names));
	for (u32 i = 0; i < eh.e_shnum; i++) {
		size_t at = eh.e_shoff + i * sizeof(Elf64_Shdr);
		Elf64_Chdr ch = { .ch_type = kinds[how], .ch_addralign = 1 };
		struct bytes small;
		Elf64_Shdr sh;

		memcpy(&sh, b->p + at, sizeof(sh));
		if (strncmp((const char *)b->p + names.sh_offset + sh.sh_name, ".debug_", 7) != 0)
			continue;
		ch.ch_size = sh.sh_size + (u64)off;
		small = packed(b->p + sh.sh_offset, sh.sh_size, how);
		sh.sh_offset = b->len;
		sh.sh_size = sizeof(ch) + small.len;
		sh.sh_flags |= SHF_COMPRESSED;
		memcpy(b->p + at, &sh, sizeof(sh));
		bytes_put(b, &ch, sizeof(ch));
		bytes_put(b, small.p, small.len);
		bytes_zero(b, -b->len & 7);
		bytes_free(&small);
		n++;
	}
	assert_true(n >= 4);
}

/* The address of the marked code: where the text stands in the file, in the segment that holds it. */
static u64 marked(const struct bytes *b)
{
	const u8 *at = memmem(b->p, b->len, "<inlined>", 9);
	Elf64_Ehdr eh;

	assert_non_null(at);
	memcpy(&eh, b->p, sizeof(eh));
	for (u32 i = 0; i < eh.e_phnum; i++) {
		u64 offset = (u64)(at - b->p);
		Elf64_Phdr ph;

		memcpy(&ph, b->p + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD && offset >= ph.p_offset && offset - ph.p_offset < ph.p_filesz)
			return offset - ph.p_offset + ph.p_vaddr;
	}
	fail();
	return 0;
}

static struct dwarf_file *opened(const struct bytes *b, bool lines)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->p, b->len), b->len);
	return dwarf_file_open(fd, NULL, true, lines);
}

static void answers_alike(void **state)
{
	static const char *const names[] = { "innermost", "middle", "outer" };

	(void)state;
	for (u32 how = PLAIN; how <= ZSTD; how++)
		for (u32 lines = 0; lines < 2; lines++) {
			struct bytes b = fixture();
			struct source_frame at[4];
			struct dwarf_file *f;
			u64 addr = marked(&b);

			if (how != PLAIN)
				pack_all(&b, how, 0);
			f = opened(&b, lines);
			assert_non_null(f);
			assert_int_equal(dwarf_file_at(f, addr, at, 4), 3);
			for (u32 i = 0; i < 3; i++) {
				assert_string_equal(at[i].function, names[i]);
				assert_int_equal(at[i].line != 0, lines);
				assert_int_equal(at[i].file && strstr(at[i].file, "markers.c"), lines);
			}
			dwarf_file_close(f);
			bytes_free(&b);
		}
}

/* They are ours to unpack, whatever libdw can do; those of others, and those that nobody asks for, do not count. */
static void unpacks_what_is_used(void **state)
{
	(void)state;
	for (u32 how = ZLIB; how <= ZSTD; how++)
		for (u32 lines = 0; lines < 2; lines++) {
			struct dwarf_sections s = { 0 };
			struct bytes b = fixture();
			int fd = memfd_create("packed", MFD_CLOEXEC);
			Elf_Scn *section = NULL;
			size_t names, left = 0;
			Elf *elf;

			pack_all(&b, how, 0);
			assert_int_equal(write(fd, b.p, b.len), b.len);
			elf_version(EV_CURRENT);
			elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
			assert_non_null(elf);
			assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
			assert_true(dwarf_sections_ready(&s, elf, lines));
			while ((section = elf_nextscn(elf, section))) {
				const Elf64_Shdr *h = elf64_getshdr(section);
				const char *name = elf_strptr(elf, names, h->sh_name);

				if (!strcmp(name, ".debug_info") || !strcmp(name, ".debug_abbrev") ||
				    (lines && !strcmp(name, ".debug_line")))
					assert_false(h->sh_flags & SHF_COMPRESSED);
				left += h->sh_flags & SHF_COMPRESSED && h->sh_type != SHT_NOBITS;
			}
			assert_int_equal(left, 0);
			assert_true(s.unpacked.n >= 3 + lines);
			elf_end(elf);
			close(fd);
			dwarf_sections_free(&s);
			bytes_free(&b);
		}
}

/* Neither more nor less than what is there. */
static void a_wrong_size_is_no_answer(void **state)
{
	static const s64 off[] = { -1, 1, -20, 100, 1ll << 40, INT64_MIN };

	(void)state;
	for (u32 how = ZLIB; how <= ZSTD; how++)
		for (u32 i = 0; i < ARRAY_LEN(off); i++) {
			struct bytes b = fixture();
			struct source_frame at[4];
			struct dwarf_file *f;
			u64 addr = marked(&b);

			pack_all(&b, how, off[i]);
			f = opened(&b, true);
			assert_int_equal(f ? dwarf_file_at(f, addr, at, 4) : 0, 0);
			dwarf_file_close(f);
			bytes_free(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_alike),
		cmocka_unit_test(unpacks_what_is_used),
		cmocka_unit_test(a_wrong_size_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
