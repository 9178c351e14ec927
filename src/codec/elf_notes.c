/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/elf_notes.h"

#include <elf.h>

#define NOTE_HEADER 12u

static u64 padding(u32 size)
{
	return -size & 3;
}

struct str elf_notes_gnu_id(struct cursor notes)
{
	while (cursor_left(&notes) >= NOTE_HEADER) {
		u32 name_size = cursor_u32(&notes), size = cursor_u32(&notes), type = cursor_u32(&notes);
		const u8 *name = cursor_bytes(&notes, name_size + padding(name_size));
		const u8 *id = cursor_bytes(&notes, size);

		if (!id)
			break;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) && size)
			return (struct str){ (const char *)id, size };
		cursor_skip(&notes, MIN(padding(size), cursor_left(&notes)));
	}
	return (struct str){ NULL, 0 };
}

struct str elf_head_gnu_id(struct cursor head)
{
	struct cursor c = head, segments = head, notes;
	struct str id = { NULL, 0 };
	const u8 *ident = cursor_bytes(&c, EI_NIDENT);
	u32 nr;

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return id;
	cursor_skip(&c, offsetof(Elf64_Ehdr, e_phoff) - EI_NIDENT);
	cursor_skip(&segments, cursor_u64(&c));
	cursor_skip(&c, offsetof(Elf64_Ehdr, e_phentsize) - offsetof(Elf64_Ehdr, e_shoff));
	if (cursor_u16(&c) != sizeof(Elf64_Phdr))
		return id;
	nr = cursor_u16(&c);
	for (u32 i = 0; i < nr && !segments.bad && !id.len; i++) {
		struct cursor s = cursor_sub(&segments, sizeof(Elf64_Phdr));
		u32 type = cursor_u32(&s);

		cursor_skip(&s, offsetof(Elf64_Phdr, p_offset) - 4);
		notes = head;
		cursor_skip(&notes, cursor_u64(&s));
		cursor_skip(&s, offsetof(Elf64_Phdr, p_filesz) - offsetof(Elf64_Phdr, p_vaddr));
		notes = cursor_sub(&notes, cursor_u64(&s));
		if (type == PT_NOTE && !s.bad && !notes.bad)
			id = elf_notes_gnu_id(notes);
	}
	return id;
}
