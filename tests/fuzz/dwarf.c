/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug information: an ELF file whose functions, inlined calls and lines are asked for at addresses of its own, and
 * the types of its data and of what its code loads and stores. The seeds have their sections plain and compressed.
 */
#include "state/dwarf.h"
#include "base/cursor.h"
#include "base/map.h"
#include "fuzz.h"
#include "state/data_types.h"
#include "state/elf_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES 32

static void ask(struct dwarf_file *d, u64 addr)
{
	struct source_frame out[FRAMES];
	u32 n = dwarf_file_at(d, addr, out, FRAMES);

	MUST(n <= FRAMES);
	for (u32 i = 0; i < n; i++) {
		MUST(!out[i].function || strlen(out[i].function) < UINT32_MAX);
		MUST(!out[i].file || strlen(out[i].file) < UINT32_MAX);
	}
}

/* As apart_functions has it, to the last byte. */
static void ask_for_function(struct dwarf_file *d, u64 addr)
{
	struct bytes out = { 0 };
	struct map names = { 0 };
	struct cursor c;
	u32 ranges, spans;
	u64 last = 0, known = dwarf_file_function(d, addr, &out);

	c = cursor_over(out.p, out.len, false);
	MUST(cursor_u64(&c) <= addr);
	MUST(cursor_u64(&c) == known &&
	     (known > addr || addr == UINT64_MAX)); /* nothing ends behind the last address */
	cursor_u64(&c);
	ranges = cursor_u32(&c);
	spans = cursor_u32(&c);
	while (ranges--) {
		u64 start = cursor_u64(&c);

		MUST(start < cursor_u64(&c));
	}
	while (spans--) {
		u64 start = cursor_u64(&c);
		u32 n = cursor_u32(&c);

		MUST(start >= last && n <= FRAMES);
		for (last = start; n--;) {
			const u8 *end;
			u32 name;

			cursor_skip(&c, 12);
			name = cursor_u32(&c);
			if (name != c.p - out.p) {
				MUST(map_get(&names, name) != ID_NONE);
				continue;
			}
			end = memchr(c.p, 0, cursor_left(&c));
			MUST(end);
			cursor_skip(&c, (u64)(end - c.p) + 1);
			map_set(&names, name, 0);
		}
	}
	MUST(!c.bad && !cursor_left(&c));
	map_free(&names);
	bytes_free(&out);
}

static void check_place(const struct typed_place *at)
{
	MUST(strlen(at->type) && strlen(at->type) < 1 << 20);
	MUST(strlen(at->members) < 1 << 20);
}

/* Of variables, and of the code that is there, for both machines that are known. */
static void ask_for_types(struct dwarf_file *d, const struct elf_file *f, const struct elf_section *s)
{
	static const u16 machines[] = { EM_X86_64, EM_AARCH64 };
	struct typed_place at;
	u8 *code;

	for (u64 k = 0; k < MIN(s->size, (u64)512); k += 4)
		if (data_types_at(dwarf_file_types(d), s->addr + k, &at))
			check_place(&at);
	if (!(s->flags & SHF_EXECINSTR) || elf_section_read(f, s, &code))
		return;
	for (u32 m = 0; m < ARRAY_LEN(machines); m++) {
		struct data_code c = { machines[m], s->addr, code, (u32)MIN(s->size, (u64)512) };

		for (u64 k = 0; k < c.n; k++)
			if (data_types_of_code(dwarf_file_types(d), &c, s->addr + k, &at))
				check_place(&at);
	}
	free(code);
}

static void ask_all_types(const u8 *data, size_t size, const struct elf_file *f)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct dwarf_file *d = NULL;

	MUST(fd >= 0);
	if (write(fd, data, size) == (ssize_t)size)
		d = dwarf_file_open(fd, NULL, true, DWARF_TYPES);
	else
		close(fd);
	for (u32 i = 0; d && i < f->nr_sections && i < 64; i++)
		if (f->sections[i].flags & SHF_ALLOC)
			ask_for_types(d, f, &f->sections[i]);
	dwarf_file_close(d);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct dwarf_file *d;
	struct elf_file f;

	MUST(fd >= 0);
	if (write(fd, data, size) != (ssize_t)size || elf_file_from_memory(&f, data, size)) {
		close(fd);
		return 0;
	}
	ask_all_types(data, size, &f);
	d = dwarf_file_open(fd, NULL, true, DWARF_LINES);
	if (d) {
		for (u32 i = 0; i < f.nr_sections && i < 64; i++) {
			const struct elf_section *s = &f.sections[i];

			if (s->flags & 4) /* code */
				for (u64 at = 0; at < MIN(s->size, (u64)1024); at += 16)
					ask(d, s->addr + at);
		}
		ask(d, 0);
		for (u32 i = 0; i < f.nr_sections && i < 64; i++)
			if (f.sections[i].flags & 4)
				ask_for_function(d, f.sections[i].addr);
		dwarf_file_close(d);
	}
	elf_file_close(&f);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
