/* SPDX-License-Identifier: Apache-2.0 */
/* ELF notes: System V ABI, chapter 5. Each has a name and a description, both padded to 4 bytes. */
#ifndef CODEC_ELF_NOTES_H
#define CODEC_ELF_NOTES_H

#include "base/cursor.h"

/* The GNU build id among notes, of any length: its bytes in the input. len 0 when there is none. */
struct str elf_notes_gnu_id(struct cursor notes);
/* The same of a 64-bit little-endian ELF file's first bytes; what lies beyond them is not looked for. */
struct str elf_head_gnu_id(struct cursor head);

#endif
