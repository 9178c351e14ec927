/* SPDX-License-Identifier: Apache-2.0 */
#include "state/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/regular.h"
#include "codec/elf_notes.h"

/* A build-id note is a few dozen bytes. Of sections and segments of notes, which may all be the same bytes, this much
 * is searched in all. */
#define LARGEST_NOTES (1u << 20)
/* The kernel runs no file whose program headers take more: so many are looked through for each symbol. */
#define LARGEST_SEGMENTS (64u << 10)
/* What sections may have together, whatever the file has. */
#define SECTIONS_FREE (32u << 20)
#define MOST_EXTENTS 4096u

static bool read_all(int fd, u8 *to, u64 size, u64 offset)
{
	while (size) {
		ssize_t n = pread(fd, to, MIN(size, (u64)1 << 30), (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		size -= (u64)n;
		offset += (u64)n;
	}
	return true;
}

int elf_file_read_to(const struct elf_file *f, u64 offset, u64 size, u8 *to)
{
	if (offset > f->size || size > f->size - offset)
		return ERR_TRUNCATED;
	if (f->mem)
		memcpy(to, f->mem + offset, size);
	else if (!read_all(f->fd, to, size, offset))
		return ERR_TRUNCATED;
	return 0;
}

int elf_file_read(const struct elf_file *f, u64 offset, u64 size, u8 **out)
{
	u8 *p;

	if (offset > f->size || size > f->size - offset)
		return ERR_TRUNCATED;
	p = mem_alloc(size + 1);
	if (elf_file_read_to(f, offset, size, p)) {
		free(p);
		return ERR_TRUNCATED;
	}
	p[size] = 0;
	*out = p;
	return 0;
}

int elf_section_read(const struct elf_file *f, const struct elf_section *s, u8 **out)
{
	if (s->type == SHT_NOBITS || (s->flags & SHF_COMPRESSED))
		return ERR_FORMAT;
	return elf_file_read(f, s->offset, s->size, out);
}

const char *elf_section_name(const struct elf_file *f, const struct elf_section *s)
{
	return s->name < f->names_len ? f->names + s->name : "";
}

const struct elf_section *elf_section_named(const struct elf_file *f, const char *name)
{
	for (u32 i = 1; i < f->nr_sections; i++)
		if (!strcmp(elf_section_name(f, &f->sections[i]), name))
			return &f->sections[i];
	return NULL;
}

/* A field that is as wide as an address. */
static u64 read_word(const struct elf_file *f, struct cursor *c)
{
	return f->is64 ? cursor_u64(c) : cursor_u32(c);
}

static void read_section(const struct elf_file *f, struct cursor *c, struct elf_section *s)
{
	s->name = cursor_u32(c);
	s->type = cursor_u32(c);
	s->flags = read_word(f, c);
	s->addr = read_word(f, c);
	s->offset = read_word(f, c);
	s->size = read_word(f, c);
	s->link = cursor_u32(c);
	s->info = cursor_u32(c);
	read_word(f, c); /* alignment */
	s->entsize = read_word(f, c);
}

static void read_segment(const struct elf_file *f, struct cursor *c, struct elf_segment *s)
{
	s->type = cursor_u32(c);
	if (f->is64)
		s->flags = cursor_u32(c);
	s->offset = read_word(f, c);
	s->vaddr = read_word(f, c);
	read_word(f, c); /* physical address */
	s->filesz = read_word(f, c);
	s->memsz = read_word(f, c);
	if (!f->is64)
		s->flags = cursor_u32(c);
	read_word(f, c); /* alignment */
}

struct tables {
	u64 phoff, shoff;
	u32 phnum, shnum, shstrndx;
};

static int read_sections(struct elf_file *f, const struct tables *t)
{
	u32 entsize = f->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), shnum = t->shnum, shstrndx = t->shstrndx;
	struct elf_section first;
	struct cursor c;
	u8 *raw;

	if (!t->shoff || elf_file_read(f, t->shoff, entsize, &raw) < 0)
		return 0; /* a file without section headers may still be mapped and run */
	c = cursor_over(raw, entsize, f->swap);
	read_section(f, &c, &first);
	free(raw);
	/* Numbers that do not fit into the file header stand in section 0. */
	if (!shnum)
		shnum = (u32)MIN(first.size, (u64)UINT32_MAX);
	if (shstrndx == SHN_XINDEX)
		shstrndx = first.link;
	if (shnum > f->size / entsize || elf_file_read(f, t->shoff, (u64)shnum * entsize, &raw) < 0)
		return ERR_TRUNCATED;
	f->sections = mem_realloc(NULL, shnum, sizeof(*f->sections));
	f->nr_sections = shnum;
	c = cursor_over(raw, (size_t)shnum * entsize, f->swap);
	for (u32 i = 0; i < shnum; i++)
		read_section(f, &c, &f->sections[i]);
	free(raw);
	if (shstrndx < shnum && elf_section_read(f, &f->sections[shstrndx], (u8 **)&f->names) == 0)
		f->names_len = f->sections[shstrndx].size;
	return 0;
}

static int read_segments(struct elf_file *f, const struct tables *t)
{
	u32 entsize = f->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), phnum = t->phnum;
	struct cursor c;
	u8 *raw;

	if (phnum == PN_XNUM && f->nr_sections)
		phnum = f->sections[0].info;
	if (!phnum)
		return 0;
	if (phnum > LARGEST_SEGMENTS / entsize)
		return ERR_FORMAT;
	if (elf_file_read(f, t->phoff, (u64)phnum * entsize, &raw) < 0)
		return ERR_TRUNCATED;
	f->segments = mem_realloc(NULL, phnum, sizeof(*f->segments));
	f->nr_segments = phnum;
	c = cursor_over(raw, (size_t)phnum * entsize, f->swap);
	for (u32 i = 0; i < phnum; i++)
		read_segment(f, &c, &f->segments[i]);
	free(raw);
	return 0;
}

static int read_headers(struct elf_file *f)
{
	u8 *raw, data;
	struct tables t;
	struct cursor c;
	int err = elf_file_read(f, 0, MIN(f->size, sizeof(Elf64_Ehdr)), &raw);

	if (err < 0)
		return err;
	c = cursor_over(raw, MIN(f->size, sizeof(Elf64_Ehdr)), false);
	if (f->size < EI_NIDENT || memcmp(raw, ELFMAG, SELFMAG) != 0 || raw[EI_CLASS] < ELFCLASS32 ||
	    raw[EI_CLASS] > ELFCLASS64 || raw[EI_DATA] < ELFDATA2LSB || raw[EI_DATA] > ELFDATA2MSB) {
		free(raw);
		return ERR_FORMAT;
	}
	f->is64 = raw[EI_CLASS] == ELFCLASS64;
	data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	f->swap = c.swap = raw[EI_DATA] != data;
	cursor_skip(&c, EI_NIDENT);
	f->type = cursor_u16(&c);
	f->machine = cursor_u16(&c);
	cursor_skip(&c, 4); /* version */
	f->entry = read_word(f, &c);
	t.phoff = read_word(f, &c);
	t.shoff = read_word(f, &c);
	cursor_skip(&c, 4 + 2 + 2); /* flags, sizes of this header and of a program header */
	t.phnum = cursor_u16(&c);
	cursor_skip(&c, 2); /* size of a section header */
	t.shnum = cursor_u16(&c);
	t.shstrndx = cursor_u16(&c);
	free(raw);
	if (c.bad)
		return ERR_TRUNCATED;
	err = read_sections(f, &t);
	return err < 0 ? err : read_segments(f, &t);
}

/* Bytes of a file that are no holes: of the first extents, of which files that are not made for it have few. */
static u64 bytes_there(const struct elf_file *f)
{
	u64 n = 0;
	off_t at = 0;

	for (u32 i = 0; i < MOST_EXTENTS && (u64)at < f->size; i++) {
		off_t data = lseek(f->fd, at, SEEK_DATA), hole;

		if (data < 0)
			return errno == ENXIO ? n : f->size; /* nothing but a hole is left; or nobody can say */
		hole = lseek(f->fd, data, SEEK_HOLE);
		if (hole <= data)
			return f->size;
		n += (u64)(hole - data);
		at = hole;
	}
	return n;
}

/* Files that were copied with holes where they have zeros are fine, and so are sections that overlap a little. */
static bool sections_fit(const struct elf_file *f)
{
	u64 all = 0;

	for (u32 i = 0; i < f->nr_sections; i++)
		if (f->sections[i].type != SHT_NOBITS && __builtin_add_overflow(all, f->sections[i].size, &all))
			return false;
	return all <= SECTIONS_FREE || (all - SECTIONS_FREE <= f->size && (all - SECTIONS_FREE) / 8 <= bytes_there(f));
}

static int read_opened(struct elf_file *f)
{
	struct stat st;
	int err;

	if (fstat(f->fd, &st) < 0) {
		close(f->fd);
		f->fd = -1;
		return ERR_FORMAT;
	}
	f->size = (u64)st.st_size;
	err = read_headers(f);
	if (!err && !sections_fit(f))
		err = ERR_FORMAT;
	if (err < 0)
		elf_file_close(f);
	return err;
}

int elf_file_open(struct elf_file *f, const char *path)
{
	return elf_file_open_in(f, NULL, path);
}

int elf_file_open_in(struct elf_file *f, const char *root, const char *path)
{
	*f = (struct elf_file){ .fd = -1 };
	f->fd = regular_open_in(root, path);
	if (f->fd < 0)
		return f->fd == -ENOENT || f->fd == -ENOTDIR ? ERR_NOTFOUND :
		       f->fd == -EACCES || f->fd == -EPERM   ? ERR_PERM :
		       f->fd == -EINVAL			     ? ERR_FORMAT :
							       ERR_IO;
	return read_opened(f);
}

int elf_file_of_fd(struct elf_file *f, int fd)
{
	*f = (struct elf_file){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	return f->fd < 0 ? ERR_IO : read_opened(f);
}

int elf_file_from_memory(struct elf_file *f, const u8 *mem, size_t size)
{
	int err;

	*f = (struct elf_file){ .fd = -1, .mem = mem, .size = size };
	err = read_headers(f);
	if (err < 0)
		elf_file_close(f);
	return err;
}

void elf_file_close(struct elf_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->sections);
	free(f->segments);
	free(f->names);
	*f = (struct elf_file){ .fd = -1 };
}

u32 elf_notes_build_id(const u8 *notes, size_t size, bool swap, u8 id[20])
{
	struct str found = elf_notes_gnu_id(cursor_over(notes, size, swap));
	u32 n = MIN(found.len, 20u);

	if (n)
		memcpy(id, found.p, n);
	return n;
}

static u32 find_build_id(const struct elf_file *f, u64 offset, u64 size, u64 *left, u8 id[20])
{
	u32 n;
	u8 *raw;

	if (size > *left || elf_file_read(f, offset, size, &raw) < 0)
		return 0;
	*left -= size;
	n = elf_notes_build_id(raw, size, f->swap, id);
	free(raw);
	return n;
}

u32 elf_build_id(const struct elf_file *f, u8 id[20])
{
	u64 left = LARGEST_NOTES;
	u32 n = 0;

	for (u32 i = 0; i < f->nr_sections && !n; i++)
		if (f->sections[i].type == SHT_NOTE)
			n = find_build_id(f, f->sections[i].offset, f->sections[i].size, &left, id);
	for (u32 i = 0; i < f->nr_segments && !n; i++)
		if (f->segments[i].type == PT_NOTE)
			n = find_build_id(f, f->segments[i].offset, f->segments[i].filesz, &left, id);
	return n;
}
