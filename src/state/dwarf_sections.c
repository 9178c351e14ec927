/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdw unpacks all sections when it begins, with zlib. That is half of what a first report of a small recording does
 * for inlined calls: the debug information of a C library becomes 9 MB. So we do it, with libdeflate, in less than
 * half of the time; and we know zstd, which libdw learned late.
 */
#include "state/dwarf_sections.h"

#include <gelf.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/*
 * Each compressed section is unpacked whole. Compilers' debug information becomes two to ten times as large by that; a
 * thousand times is what somebody made to take memory.
 */
#define UNPACKED_FREE (32ull << 20)
#define UNPACKED_TIMES 24

/* Of a section's bytes; 0: it is not compressed. */
static u64 unpacked_size(Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *raw;
	GElf_Chdr how;
	u64 size = 0;

	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &how) ? how.ch_size : UINT64_MAX;
	/* The older way, of sections named .zdebug_*: "ZLIB" and the size, its highest byte first. */
	raw = elf_rawdata(section, NULL);
	if (!raw || !raw->d_buf || raw->d_size < 12 || memcmp(raw->d_buf, "ZLIB", 4))
		return 0;
	for (u32 i = 4; i < 12; i++)
		size = size << 8 | ((const u8 *)raw->d_buf)[i];
	return size;
}

static bool unpacked_is_fine(Elf *elf)
{
	u64 packed = 0, unpacked = 0;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		u64 size;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		size = unpacked_size(section, &header);
		packed += size ? header.sh_size : 0;
		if (__builtin_add_overflow(unpacked, size, &unpacked))
			return false;
	}
	return unpacked <= UNPACKED_FREE || (unpacked - UNPACKED_FREE) / UNPACKED_TIMES <= packed;
}

enum kind { OF_OTHERS, UNUSED, USED };

/* libdw takes all of its sections when it begins, and as many again as most questions need hold where variables are,
 * or macros. */
static enum kind kind_of(const char *name, enum dwarf_part part_of)
{
	static const char *const used[] = { "info",	   "types", "abbrev", "str",	  "line_str",
					    "str_offsets", "addr",  "ranges", "rnglists", "sup" };
	static const char *const more[][2] = { [DWARF_LINES] = { "line" }, [DWARF_TYPES] = { "loc", "loclists" } };
	const char *part = name && name[0] == '.' ? name + (name[1] == 'z' ? 2 : 1) : "";

	if (strncmp(part, "debug_", 6) != 0)
		return OF_OTHERS;
	for (u32 i = 0; i < ARRAY_LEN(used); i++)
		if (!strcmp(part + 6, used[i]))
			return USED;
	for (u32 i = 0; part_of != DWARF_FUNCTIONS && i < ARRAY_LEN(more[0]); i++)
		if (more[part_of][i] && !strcmp(part + 6, more[part_of][i]))
			return USED;
	return UNUSED;
}

static bool unpack(u32 type, const u8 *from, size_t size, void *to, size_t room)
{
	struct libdeflate_decompressor *d;
	bool good = false;

	if (type == ELFCOMPRESS_ZSTD)
		return ZSTD_decompress(to, room, from, size) == room;
	d = type == ELFCOMPRESS_ZLIB ? libdeflate_alloc_decompressor() : NULL;
	if (d)
		good = libdeflate_zlib_decompress(d, from, size, to, room, NULL) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(d);
	return good;
}

/* What the section holds from now on, in both ways in which libdw may ask for it. */
static bool replace(Elf_Scn *section, GElf_Shdr *header, void *p, size_t size)
{
	Elf_Data *raw = elf_rawdata(section, NULL), *data = elf_getdata(section, NULL);

	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	header->sh_size = size;
	if (!raw || !data || !gelf_update_shdr(section, header))
		return false;
	raw->d_buf = data->d_buf = p;
	raw->d_size = data->d_size = size;
	return true;
}

static void unpack_section(struct dwarf_sections *s, Elf *elf, Elf_Scn *section, GElf_Shdr *header)
{
	const size_t head = gelf_getclass(elf) == ELFCLASS32 ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	const Elf_Data *raw = elf_rawdata(section, NULL);
	GElf_Chdr how;
	void *to;

	if (!raw || !raw->d_buf || raw->d_size < head || !gelf_getchdr(section, &how) || !how.ch_size)
		return;
	to = malloc(how.ch_size); /* fails where it is more than is granted */
	if (!to)
		return;
	if (unpack(how.ch_type, (const u8 *)raw->d_buf + head, raw->d_size - head, to, how.ch_size) &&
	    replace(section, header, to, how.ch_size))
		vec_push(&s->unpacked, to);
	else
		free(to);
}

bool dwarf_sections_ready(struct dwarf_sections *s, Elf *elf, enum dwarf_part part)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (!unpacked_is_fine(elf))
		return false;
	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		enum kind kind = OF_OTHERS;

		if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS)
			kind = kind_of(elf_strptr(elf, names, header.sh_name), part);
		if (kind == UNUSED) { /* a section without bytes is one that libdw does not look at */
			header.sh_type = SHT_NOBITS;
			(void)gelf_update_shdr(section, &header);
		} else if (kind == USED && header.sh_flags & SHF_COMPRESSED) {
			unpack_section(s, elf, section, &header);
		}
	}
	return true;
}

void dwarf_sections_free(struct dwarf_sections *s)
{
	for (size_t i = 0; i < s->unpacked.n; i++)
		free(s->unpacked.v[i]);
	vec_free(&s->unpacked);
}
