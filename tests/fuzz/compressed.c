/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed sections. An input is the kind of compression (1: zlib, 2: zstd), the size that the section claims (u32),
 * and the compressed bytes; an ELF file is made of it that has them as each section of debug information. A file that
 * claims much must not get it.
 */
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "state/dwarf.h"
#include "state/elf_file.h"

static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_str\0.shstrtab";
#define SECTIONS 4 /* that are compressed */

static u32 name_at(u32 nth)
{
	const char *p = names + 1;

	while (nth--)
		p += strlen(p) + 1;
	return (u32)(p - names);
}

static void put_elf(struct bytes *b, u32 kind, u64 claimed, const u8 *data, size_t size)
{
	const Elf64_Chdr chdr = { .ch_type = kind, .ch_size = claimed, .ch_addralign = 1 };
	const size_t body = sizeof(Elf64_Ehdr), strings = body + sizeof(chdr) + size;
	const size_t headers = (strings + sizeof(names) + 7) / 8 * 8;
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = SECTIONS + 2,
			  .e_shstrndx = SECTIONS + 1,
			  .e_shoff = headers };
	Elf64_Shdr sh = { 0 };

	bytes_put(b, &eh, sizeof(eh));
	bytes_put(b, &chdr, sizeof(chdr));
	bytes_put(b, data, size);
	bytes_put(b, names, sizeof(names));
	while (b->len < headers)
		bytes_u8(b, 0);
	bytes_put(b, &sh, sizeof(sh));
	for (u32 i = 0; i <= SECTIONS; i++) {
		bool last = i == SECTIONS;

		sh = (Elf64_Shdr){ .sh_name = name_at(i),
				   .sh_type = last ? SHT_STRTAB : SHT_PROGBITS,
				   .sh_flags = last ? 0 : SHF_COMPRESSED,
				   .sh_offset = last ? strings : body,
				   .sh_size = last ? sizeof(names) : sizeof(chdr) + size,
				   .sh_addralign = 1 };
		bytes_put(b, &sh, sizeof(sh));
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct bytes elf = { 0 };
	struct dwarf_file *d;
	u32 claimed;
	int fd;

	if (size < 5)
		return 0;
	memcpy(&claimed, data + 1, sizeof(claimed));
	put_elf(&elf, data[0], claimed, data + 5, size - 5);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(fd >= 0 && write(fd, elf.p, elf.len) == (ssize_t)elf.len);
	d = dwarf_file_open(fd, NULL, true, true);
	if (d) {
		struct source_frame out[8];

		MUST(dwarf_file_at(d, 0x1000, out, 8) <= 8);
		dwarf_file_close(d);
	}
	bytes_free(&elf);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
