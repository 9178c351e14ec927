/* SPDX-License-Identifier: Apache-2.0 */
#include "record/go_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/elf_tables.h"
#include "record/tls_symbol.h"

#define INFO_SECTION ".go.buildinfo"
#define INFO_MAGIC "\xff Go buildinf:"
#define INFO_FLAGS 15
#define INFO_HAS_TEXT 2 /* the version follows; before Go 1.18 there were addresses instead */
#define INFO_HEAD 32	/* then the length of the version, in a byte if it is below 128, and the version */
#define INFO_ALIGN 16
#define INFO_BYTES 128u
#define INFO_WITHIN (64u << 10) /* of the first segment that is written to */

/* From which version on the runtime has what where: the fields runtime.g.m, runtime.m.curg and runtime.g.labels, and
 * what labels are. Programs of 1.19, 1.24, 1.26 and 1.27 were recorded; of the others, that is as OpenTelemetry's
 * profiler has it, and as the runtime's source says. */
static const struct {
	u32 minor;
	struct activity_go at;
	enum activity_form form;
} versions[] = {
	{ 18, { 48, 192, 360 }, ACTIVITY_FORM_GO_MAP },	 { 21, { 48, 192, 344 }, ACTIVITY_FORM_GO_MAP },
	{ 23, { 48, 192, 352 }, ACTIVITY_FORM_GO_MAP },	 { 24, { 48, 192, 352 }, ACTIVITY_FORM_GO_LIST },
	{ 25, { 48, 184, 344 }, ACTIVITY_FORM_GO_LIST }, { 26, { 48, 184, 352 }, ACTIVITY_FORM_GO_LIST },
};
#define NEWEST 27u

/* The section of that name; NULL: there is none. */
static const Elf64_Shdr *section_called(const struct elf_tables *f, const char *name)
{
	const Elf64_Shdr *texts =
		f->sections && f->head.e_shstrndx < f->head.e_shnum ? &f->sections[f->head.e_shstrndx] : NULL;
	char *text = texts ? elf_tables_read(f, texts->sh_offset, texts->sh_size) : NULL;
	const Elf64_Shdr *found = NULL;
	size_t len = strlen(name) + 1;

	for (u32 i = 0; text && i < f->head.e_shnum && !found; i++) {
		const Elf64_Shdr *s = &f->sections[i];

		if (s->sh_name <= texts->sh_size && texts->sh_size - s->sh_name >= len &&
		    !memcmp(text + s->sh_name, name, len))
			found = s;
	}
	free(text);
	return found;
}

/* What Go's linker says of itself: so many bytes that begin with it, to be freed. A file without a table of sections
 * has it at the beginning of the data. */
static u8 *read_info(const struct elf_tables *f, u64 *size)
{
	const Elf64_Shdr *s = section_called(f, INFO_SECTION);
	const Elf64_Phdr *data = NULL;
	u8 *bytes;

	if (s) {
		*size = MIN(s->sh_size, INFO_BYTES);
		return elf_tables_read(f, s->sh_offset, *size);
	}
	for (u32 i = 0; i < f->head.e_phnum && !f->sections && !data; i++)
		if (f->segments[i].p_type == PT_LOAD && (f->segments[i].p_flags & (PF_W | PF_X)) == PF_W)
			data = &f->segments[i];
	*size = data ? MIN(data->p_filesz, INFO_WITHIN) : 0;
	bytes = elf_tables_read(f, data ? data->p_offset : 0, *size);
	for (u64 at = 0; bytes && *size - at >= INFO_HEAD; at += INFO_ALIGN)
		if (!memcmp(bytes + at, INFO_MAGIC, strlen(INFO_MAGIC))) {
			*size = MIN(*size - at, INFO_BYTES);
			memmove(bytes, bytes + at, *size);
			return bytes;
		}
	free(bytes);
	return NULL;
}

/* "go1.19.8" is 19; likewise "go1.21.3 (Red Hat)". 0: it is none of a release, after which nothing changes. */
static u32 minor_of(const u8 *text, u32 len)
{
	u32 minor = 0, at = 4;

	if (len < 5 || memcmp(text, "go1.", 4) || memmem(text, len, "devel", 5))
		return 0;
	for (; at < len && at < 7 && text[at] >= '0' && text[at] <= '9'; at++)
		minor = minor * 10 + (u32)(text[at] - '0');
	return at == len || memchr(". -+", text[at], 4) ? minor : 0;
}

static u32 version_of(const struct elf_tables *f, bool *is_go)
{
	u64 size = 0;
	u8 *info = read_info(f, &size);
	u32 minor = 0;

	*is_go = info && size > INFO_HEAD && !memcmp(info, INFO_MAGIC, strlen(INFO_MAGIC));
	if (*is_go && info[INFO_FLAGS] & INFO_HAS_TEXT && size - INFO_HEAD - 1 >= info[INFO_HEAD])
		minor = minor_of(info + INFO_HEAD + 1, info[INFO_HEAD]);
	free(info);
	return minor;
}

/* Go's linker gives threads a block of one variable, or the C library's thread pointer leads to one. Where C code was
 * linked into the same block, the symbol says which part of it is Go's. */
static bool find_place(const struct elf_tables *f, s64 *where)
{
	static const struct tls_name name = { "runtime.tlsg", 8, NULL, 0 };
	const Elf64_Phdr *block = NULL;
	struct tls_symbol symbol;

	for (u32 i = 0; i < f->head.e_phnum; i++)
		if (f->segments[i].p_type == PT_TLS)
			block = &f->segments[i];
	*where = -8;
	if (!block || (block->p_memsz == 8 && block->p_align <= 8))
		return true;
	if (!tls_symbol_find(f->fd, &name, 1, true, f->left, &symbol) || symbol.kind != ACTIVITY_KIND_STATIC)
		return false;
	*where = (s64)symbol.where;
	return true;
}

static void set_layout(u32 minor, struct go_program *out)
{
	if (!minor)
		snprintf(out->why_not, sizeof(out->why_not), "no release of Go from 1.18 on has built it");
	else if (minor < versions[0].minor || minor > NEWEST)
		snprintf(out->why_not, sizeof(out->why_not), "Go 1.%u has built it, and 1.%u to 1.%u are known", minor,
			 versions[0].minor, NEWEST);
	for (size_t i = 0; i < ARRAY_LEN(versions) && !*out->why_not; i++)
		if (minor >= versions[i].minor) {
			out->at = versions[i].at;
			out->form = versions[i].form;
		}
}

void go_program_find(int fd, u64 *left, struct go_program *out)
{
	struct elf_tables f;
	u32 minor = 0;

	*out = (struct go_program){ 0 };
	if (elf_tables_open(&f, fd, left))
		minor = version_of(&f, &out->is_go);
	if (out->is_go)
		set_layout(minor, out);
#if defined(__x86_64__)
	if (out->is_go && !*out->why_not && !find_place(&f, &out->where))
		snprintf(out->why_not, sizeof(out->why_not), "C code is linked into it, and its symbols are missing");
#else
	/* The goroutine is in a register there, and nobody has tried it yet. */
	if (out->is_go && !*out->why_not)
		snprintf(out->why_not, sizeof(out->why_not), "it is written in Go, and these are read on x86_64 only");
	(void)find_place;
#endif
	elf_tables_free(&f);
}
