/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF file: its headers, checked, and its bytes on demand. Source: the System V ABI, chapters 4 and 5.
 *
 * The file is read with pread, never mapped: one that is cut short meanwhile gives an error, not a SIGBUS. Only
 * regular files are opened. Every offset and size is checked against the file's before anything is allocated, and what
 * its sections have together against what is really there: a few bytes on disk cannot ask for gigabytes of memory by
 * holes, or by sections that share their bytes.
 */
#ifndef STATE_ELF_FILE_H
#define STATE_ELF_FILE_H

#include <elf.h>

#include "base/cursor.h"
#include "base/err.h"

struct elf_section {
	u32 name; /* offset in the section names */
	u32 type, link, info;
	u64 flags, addr, offset, size, entsize;
};

struct elf_segment {
	u32 type, flags;
	u64 offset, vaddr, filesz, memsz;
};

struct elf_file {
	int fd;	       /* or -1: bytes are in mem */
	const u8 *mem; /* not owned */
	u64 size;
	u64 entry; /* address */
	bool swap, is64;
	u16 type, machine;
	struct elf_section *sections;
	u32 nr_sections;
	struct elf_segment *segments;
	u32 nr_segments;
	char *names; /* of sections, NUL-terminated at names_len */
	u64 names_len;
};

/* 0; ERR_NOTFOUND (no such file), ERR_PERM, ERR_IO, or ERR_FORMAT for what is not a regular ELF file, or has larger
 * sections than it has bytes. */
int elf_file_open(struct elf_file *f, const char *path);
/* The same of a path that is looked up inside a directory (regular_open_in); NULL or "": none. */
int elf_file_open_in(struct elf_file *f, const char *root, const char *path);
/* The same of an open file, which stays open. */
int elf_file_of_fd(struct elf_file *f, int fd);
/* mem must outlive f. */
int elf_file_from_memory(struct elf_file *f, const u8 *mem, size_t size);
void elf_file_close(struct elf_file *f);

const char *elf_section_name(const struct elf_file *f, const struct elf_section *s);
const struct elf_section *elf_section_named(const struct elf_file *f, const char *name); /* or NULL */
/* Bytes of a section, malloc'ed, with a NUL after them. 0, ERR_TRUNCATED when the file does not hold them, or
 * ERR_FORMAT when the section has none in the file or is compressed. */
int elf_section_read(const struct elf_file *f, const struct elf_section *s, u8 **out);
/* Bytes [offset, offset + size) of the file, likewise. */
int elf_file_read(const struct elf_file *f, u64 offset, u64 size, u8 **out);

/* The same to memory of the caller's, without that NUL. */
int elf_file_read_to(const struct elf_file *f, u64 offset, u64 size, u8 *to);

/* The GNU build id; 0 when there is none. */
u32 elf_build_id(const struct elf_file *f, u8 id[20]);
/* Likewise from the bytes of notes. */
u32 elf_notes_build_id(const u8 *notes, size_t size, bool swap, u8 id[20]);

#endif
