/* SPDX-License-Identifier: Apache-2.0 */
/* ELF notes: System V ABI, chapter 5. Each has a name and a description, both padded to 4 bytes. */
#ifndef CODEC_ELF_NOTES_H
#define CODEC_ELF_NOTES_H

#include "base/cursor.h"

/* Finds the GNU build id, of any length, among notes: its bytes in the input. len is 0 if there is none. */
struct str elf_notes_gnu_id(struct cursor notes);
/* The same for the first bytes of a 64-bit little-endian ELF file; notes beyond these bytes are not found. */
struct str elf_head_gnu_id(struct cursor head);

#endif
