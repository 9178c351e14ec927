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
