/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols and source lines of real programs, made by this build's compiler (fixture/markers.c). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "own_dir.h"
#include "state/debuginfo.h"
#include "state/dwarf.h"
#include "state/elf_bounds.h"
#include "state/elf_symbols.h"
#include "state/text.h"

static const char *fixture(const char *name)
{
	const char *dir = getenv("FIXTURE_DIR");
	static _Thread_local char path[4096];

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct bytes contents(const char *path)
{
	struct bytes b = { 0 };

	assert_int_equal(text_read(path, &b), 0);
	return b;
}

/* Where in the code that text stands. */
static u64 find(const char *path, const char *marker)
{
	struct bytes b = contents(path);
	const u8 *at = memmem(b.p, b.len, marker, strlen(marker));
	u64 offset = at ? (u64)(at - b.p) : 0;

	assert_non_null(at);
	bytes_free(&b);
	return offset;
}

struct open_dso {
	struct dsos *d;
	u32 id;
};

static struct open_dso open_dso(const char *path)
{
	struct symbol_opts opts = { .demangle = true, .buildid_dir = "/nonexistent" };
	struct open_dso o = { .d = dsos_new(&opts, NULL) };

	o.id = dsos_get(o.d, &(struct dso_key){ .kind = DSO_FILE, .path = { path, (u32)strlen(path) } });
	return o;
}

/* "name+offset" of what holds the address; "" when nothing does. */
static const char *name_at(const struct open_dso *o, u64 addr, char *out, size_t size)
{
	u32 sym = dsos_symbol_at(o->d, o->id, addr);

	out[0] = 0;
	if (sym != ID_NONE)
		snprintf(out, size, "%s+%llu", dsos_symbol_name(o->d, o->id, sym),
			 (unsigned long long)(addr - dsos_symbol(o->d, o->id, sym)->start));
	return out;
}

static void check_marker(const char *path, const char *marker, const char *expected)
{
	struct open_dso o = open_dso(path);
	char name[256];

	assert_string_equal(name_at(&o, find(path, marker), name, sizeof(name)), expected);
	dsos_free(o.d);
}

static void check_full_table(const char *path)
{
	check_marker(path, "<global>", "marker_global+0");
	check_marker(path, "<local>", "marker_local+0");
	check_marker(path, "<strong>", "marker_strong+0");
	check_marker(path, "<plain>", "marker_plain+0");
	check_marker(path, "<unsized>", "marker_unsized+0");
	check_marker(path, "<last>", "marker_last+0");
}

static void test_programs(void **state)
{
	(void)state;
	check_full_table(fixture("markers_pie"));
	check_full_table(fixture("markers_fixed"));
	check_full_table(fixture("markers_static"));
}

/* A label counts in sections of text and data only; the code there belongs to no symbol. */
static void test_label_elsewhere(void **state)
{
	struct open_dso o = open_dso(fixture("markers_pie"));
	u64 at = find(fixture("markers_pie"), "<elsewhere>");
	char name[256];

	(void)state;
	assert_null(strstr(name_at(&o, at, name, sizeof(name)), "marker_elsewhere"));
	dsos_free(o.d);
}

static void test_debug_link(void **state)
{
	(void)state;
	check_full_table(fixture("stripped/linked"));
}

/* The file that the link names has another checksum: better no symbols than wrong ones. */
static void test_debug_link_of_other_build(void **state)
{
	(void)state;
	check_marker(fixture("stripped/wrong"), "<local>", "");
}

static void test_embedded_table(void **state)
{
	(void)state;
	check_marker(fixture("stripped/mini"), "<local>", "marker_local+0");
	check_marker(fixture("stripped/mini"), "<last>", "marker_last+0");
	check_marker(fixture("stripped/bare"), "<local>", "");
}

/* What a file without symbols says of its functions is where the file with them says that they are. */
static void test_unnamed_functions(void **state)
{
	struct open_dso named = open_dso(fixture("markers_pie")), bare = open_dso(fixture("stripped/bare"));
	u64 at = find(fixture("markers_pie"), "<inlined>"), start = 0;
	u32 sym = dsos_symbol_at(named.d, named.id, at);

	(void)state;
	assert_int_not_equal(sym, ID_NONE);
	assert_int_equal(dsos_symbol_at(bare.d, bare.id, at), ID_NONE);
	assert_true(dsos_unnamed_function(bare.d, bare.id, at, &start));
	assert_int_equal(start, dsos_symbol(named.d, named.id, sym)->start);
	assert_true(dsos_unnamed_function(bare.d, bare.id, start, &start));
	/* Of what assembly does not describe nothing is known, nor of what is no code. */
	assert_false(dsos_unnamed_function(bare.d, bare.id, find(fixture("markers_pie"), "<global>"), &start));
	assert_false(dsos_unnamed_function(bare.d, bare.id, 0, &start));
	assert_false(dsos_unnamed_function(bare.d, 0, at, &start));
	dsos_free(named.d);
	dsos_free(bare.d);
}

static void collect(void *ctx, const struct note *n)
{
	char *out = ctx;

	snprintf(out + strlen(out), 256 - strlen(out), "%s\n", n->text);
}

/* A stripped file is named once it had an address without a symbol; one with all its symbols never is. */
static void test_stripped_is_said(void **state)
{
	static const struct {
		const char *file;
		bool asked;
		const char *note;
	} rows[] = {
		{ "stripped/bare", true,
		  "stripped, with functions that have no name: bare (install debug symbols)\n" },
		{ "stripped/bare", false, "" },
		{ "stripped/linked", true, "" },
		{ "stripped/mini", true, "" },
		{ "markers_pie", true, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct open_dso o = open_dso(fixture(rows[i].file));
		char notes[256] = "";

		if (rows[i].asked)
			assert_int_equal(dsos_symbol_at(o.d, o.id, 1), ID_NONE);
		dsos_note_missing(o.d, &(struct notify){ collect, notes });
		assert_string_equal(notes, rows[i].note);
		dsos_free(o.d);
	}
}

/* Every function that the program calls through the PLT has an entry with its name. */
static void test_plt(void **state)
{
	struct open_dso o = open_dso(fixture("stripped/linked"));
	bool found = false;
	u32 sym = 0;

	(void)state;
	dsos_symbol_at(o.d, o.id, 0);
	for (; !found && sym < symtab_count(dsos_at(o.d, o.id)->symtab); sym++)
		found = !strcmp(dsos_symbol_name(o.d, o.id, sym), "puts@plt");
	assert_true(found);
	dsos_free(o.d);
}

static void test_what_is_no_program(void **state)
{
	static const char *const paths[] = { "/dev/null", "/dev/zero", "/", "/nonexistent", "/proc/self/maps" };
	char dir[OWN_DIR_PATH], fifo[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct open_dso o = open_dso(paths[i]);

		assert_int_equal(dsos_symbol_at(o.d, o.id, 0x1000), ID_NONE);
		assert_false(dsos_has_lines(o.d, o.id));
		dsos_free(o.d);
	}
	own_dir_make(dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	struct open_dso o = open_dso(fifo); /* opening a pipe without a writer would wait for ever */

	assert_int_equal(dsos_symbol_at(o.d, o.id, 0x1000), ID_NONE);
	dsos_free(o.d);
	unlink(fifo);
	rmdir(dir);
}

/* A file that is not the recorded build is not used. */
static void test_build_id_contradicts(void **state)
{
	struct symbol_opts opts = { .demangle = true, .buildid_dir = "/nonexistent" };
	struct dsos *d = dsos_new(&opts, NULL);
	const char *path = fixture("markers_pie");
	u8 id[20] = { 1, 2, 3 };
	u32 dso = dsos_get(d, &(struct dso_key){ .kind = DSO_FILE,
						 .path = { path, (u32)strlen(path) },
						 .build_id = id,
						 .build_id_size = 20 });

	(void)state;
	assert_int_equal(dsos_symbol_at(d, dso, find(path, "<global>")), ID_NONE);
	dsos_free(d);
}

/* The number of the line of the source that holds this text. */
static u32 line_of(const char *text)
{
	const char *path = getenv("FIXTURE_SOURCE");
	char line[512];
	u32 n = 0;
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		n++;
		if (strstr(line, text))
			break;
	}
	fclose(f);
	return n;
}

static void check_lines(const char *path)
{
	static const char *const functions[] = { "innermost", "middle", "outer" };
	struct open_dso o = open_dso(path);
	struct source_frame frames[8];
	u64 at = find(path, "<inlined>");

	assert_true(dsos_has_lines(o.d, o.id));
	assert_int_equal(dsos_source_at(o.d, o.id, at, frames, 8), 3);
	for (u32 i = 0; i < 3; i++) {
		char tag[64];

		snprintf(tag, sizeof(tag), "here: %s", functions[i]);
		assert_string_equal(frames[i].function, functions[i]);
		assert_non_null(frames[i].file);
		assert_non_null(strstr(frames[i].file, "markers.c"));
		assert_int_equal(frames[i].line, line_of(tag));
	}
	assert_int_equal(dsos_source_at(o.d, o.id, at, frames, 2), 2);
	assert_int_equal(dsos_source_at(o.d, o.id, 3, frames, 8), 0);
	dsos_functions_only(o.d, true);
	assert_int_equal(dsos_source_at(o.d, o.id, at, frames, 8), 3);
	for (u32 i = 0; i < 3; i++) {
		assert_string_equal(frames[i].function, functions[i]);
		assert_null(frames[i].file);
		assert_int_equal(frames[i].line, 0);
	}
	dsos_functions_only(o.d, false);
	assert_int_equal(dsos_source_at(o.d, o.id, at, frames, 8), 3);
	assert_non_null(frames[0].file);
	dsos_free(o.d);
}

static void test_lines(void **state)
{
	(void)state;
	check_lines(fixture("markers_pie"));
	check_lines(fixture("markers_fixed"));
	check_lines(fixture("markers_static"));
	check_lines(fixture("stripped/linked"));
}

static void test_no_lines(void **state)
{
	struct open_dso o = open_dso(fixture("stripped/mini"));

	(void)state;
	assert_false(dsos_has_lines(o.d, o.id));
	dsos_free(o.d);
}

static int open_with_segments(u16 n)
{
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			 .e_type = ET_DYN,
			 .e_phoff = sizeof(h),
			 .e_phnum = n };
	size_t size = sizeof(h) + n * sizeof(Elf64_Phdr);
	u8 *file = mem_zalloc(size);
	struct elf_file f;
	int err;

	memcpy(file, &h, sizeof(h));
	err = elf_file_from_memory(&f, file, size);
	if (!err)
		elf_file_close(&f);
	free(file);
	return err;
}

/* Each symbol is looked up in all segments, so there must not be more of them than a real program has. */
static void test_too_many_segments(void **state)
{
	(void)state;
	assert_int_equal(open_with_segments(1000), 0);
	assert_int_equal(open_with_segments(2000), ERR_FORMAT);
	assert_int_equal(open_with_segments(PN_XNUM), ERR_FORMAT);
}

/* Sections of notes may all be the same bytes; a file of a few MB must not make us search terabytes. */
static void test_many_note_sections(void **state)
{
	static const u32 note[] = { 4, 4, NT_GNU_BUILD_ID, 0x00554e47, 0x04030201 };
	const size_t zeros = 400u << 10, at = zeros;
	u8 *file = mem_zalloc(zeros + sizeof(note)), id[20];
	struct elf_section sections[4] = { { 0 } };
	struct elf_file f = { .fd = -1, .mem = file, .size = zeros + sizeof(note), .sections = sections };

	(void)state;
	memcpy(file + at, note, sizeof(note));
	for (u32 i = 0; i < 3; i++)
		sections[i] = (struct elf_section){ .type = SHT_NOTE, .size = zeros };
	sections[3] = (struct elf_section){ .type = SHT_NOTE, .offset = at, .size = sizeof(note) };
	f.nr_sections = 4;
	assert_int_equal(elf_build_id(&f, id), 4); /* the third section is over the limit, and passed over */
	sections[2].size = 224u << 10;		   /* exactly 1 MB: nothing is left for the last section */
	assert_int_equal(elf_build_id(&f, id), 0);
	free(file);
}

/* Everything that reads an ELF file, over bytes that may be anything. */
static void read_hostile(const u8 *bytes, size_t size)
{
	struct elf_bounds bounds = { 0 };
	struct symtab_build b;
	struct elf_file f;
	struct symtab *t;
	u8 id[20];

	if (elf_file_from_memory(&f, bytes, size) < 0)
		return;
	symtab_build_init(&b);
	elf_symbols_add(&b, &f, ELF_SYMTAB, &f);
	elf_symbols_add(&b, &f, ELF_DYNSYM, &f);
	elf_plt_add(&b, &f);
	elf_build_id(&f, id);
	elf_bounds_read(&bounds, &f);
	for (size_t i = 0; i < bounds.v.n; i++)
		assert_true(bounds.v.v[i].start < bounds.v.v[i].end);
	(void)elf_bounds_find(&bounds, 0x1000);
	elf_bounds_free(&bounds);
	elf_file_close(&f);
	t = symtab_finish(&b);
	for (u32 i = 0; i < symtab_count(t); i++) {
		assert_true(symtab_at(t, i)->start < symtab_at(t, i)->end);
		(void)strlen(symtab_raw_name(t, i));
	}
	symtab_find(t, 0x1000);
	symtab_free(t);
}

static void test_truncated(void **state)
{
	struct bytes b = contents(fixture("stripped/mini"));

	(void)state;
	for (size_t n = 0; n < b.len; n += n < 256 ? 1 : 64) {
		u8 *exact = malloc(n ? n : 1); /* so that a read beyond the end is seen */

		memcpy(exact, b.p, n);
		read_hostile(exact, n);
		free(exact);
	}
	bytes_free(&b);
}

static void flip_all(struct bytes *b, size_t from, size_t to, size_t step, u8 mask)
{
	for (size_t i = from; i < MIN(to, b->len); i += step) {
		b->p[i] ^= mask;
		read_hostile(b->p, b->len);
		b->p[i] ^= mask;
	}
}

/* Headers byte by byte, the section headers at the end, and some of the rest. */
static void test_flipped(void **state)
{
	struct bytes b = contents(fixture("stripped/mini"));
	struct elf_section frames;
	struct elf_file f;

	(void)state;
	flip_all(&b, 0, 128, 1, 0x80);
	flip_all(&b, 0, 1024, 1, 0xff);
	flip_all(&b, b.len > 2048 ? b.len - 2048 : 0, b.len, 1, 0xff);
	flip_all(&b, 1024, b.len, 61, 0xff);
	assert_int_equal(elf_file_from_memory(&f, b.p, b.len), 0);
	frames = *elf_section_named(&f, ".eh_frame");
	elf_file_close(&f);
	flip_all(&b, frames.offset, frames.offset + frames.size, 1, 0xff);
	bytes_free(&b);
}

static void test_damaged_dwarf(void **state)
{
	struct bytes b = contents(fixture("stripped/linked.debug"));

	(void)state;
	for (size_t n = 64; n < b.len; n += b.len / 48 + 1) {
		struct source_frame frames[8];
		int fd = memfd_create("dwarf", MFD_CLOEXEC);
		struct dwarf_file *f;

		assert_true(fd >= 0);
		b.p[n] ^= 0x55;
		assert_int_equal(write(fd, b.p, b.len), (ssize_t)b.len);
		b.p[n] ^= 0x55;
		f = dwarf_file_open(fd, NULL, false, true);
		for (u64 at = 0x1000; f && at < 0x1400; at += 16) {
			struct bytes function = { 0 };

			dwarf_file_at(f, at, frames, 8);
			dwarf_file_function(f, at, &function);
			bytes_free(&function);
		}
		dwarf_file_close(f);
	}
	bytes_free(&b);
}

/* Each answer says how far it goes, in gaps as well: no address there has another one. */
static void test_functions_ahead(void **state)
{
	int fd = open(fixture("stripped/linked.debug"), O_RDONLY | O_CLOEXEC);
	struct dwarf_file *f;
	u32 functions = 0, gaps = 0;
	u64 to = 0;

	(void)state;
	assert_true(fd >= 0);
	f = dwarf_file_open(fd, NULL, true, true);
	assert_non_null(f);
	for (u64 at = 0; at != UINT64_MAX; at = to) {
		struct bytes first = { 0 }, last = { 0 };
		u64 from;
		u32 ranges;

		to = dwarf_file_function(f, at, &first);
		assert_true(to > at);
		memcpy(&from, first.p, sizeof(from));
		memcpy(&ranges, first.p + 24, sizeof(ranges));
		assert_int_equal(from, at);
		assert_int_equal(dwarf_file_function(f, to - 1, &last), to);
		assert_int_equal(first.len, last.len);
		assert_memory_equal(first.p, last.p, first.len);
		functions += ranges > 0;
		gaps += !ranges;
		bytes_free(&first);
		bytes_free(&last);
	}
	assert_true(functions >= 2 && gaps >= 2);
	dwarf_file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_ahead),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_label_elsewhere),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_debug_link_of_other_build),
		cmocka_unit_test(test_embedded_table),
		cmocka_unit_test(test_unnamed_functions),
		cmocka_unit_test(test_stripped_is_said),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_what_is_no_program),
		cmocka_unit_test(test_build_id_contradicts),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_too_many_segments),
		cmocka_unit_test(test_many_note_sections),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_damaged_dwarf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
