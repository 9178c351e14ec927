/* SPDX-License-Identifier: Apache-2.0 */
/* Where a DSO's functions keep their callers' registers: out of the file that was mapped, and of its debug file where
 * that alone tells. */
#include <stdlib.h>

#include "codec/cfi.h"
#include "state/debuginfo.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"

#define INDEXED_MOST (64u << 20) /* bytes of a section */

/* Segments that are looked at for all functions of a file. Files that linkers make have a dozen of them, but millions
 * of functions and a thousand segments keep who reads them busy for long. */
#define MOST_LOOKS (1ull << 28)

struct places {
	const struct elf_file *run; /* the file whose offsets places are */
	u64 looks;
};

static bool place(void *ctx, u64 addr, u64 *out)
{
	struct places *p = ctx;

	p->looks += p->run->nr_segments;
	return p->looks <= MOST_LOOKS && elf_file_offset(p->run, addr, out);
}

/* What is filled: all rows at once, or an index. */
struct target {
	struct cfi *rows;
	struct cfi_index *index; /* or NULL */
};

/* name: of a section in f. */
static void add_section(const struct target *t, const struct elf_file *f, const char *name, bool debug,
			struct places *run)
{
	const struct elf_section *sec = elf_section_named(f, name);
	struct cfi_section s;
	u8 *bytes;

	/* Who records is often root, and reads the files of everybody. */
	if (!sec || (t->index && sec->size > INDEXED_MOST) || elf_section_read(f, sec, &bytes) < 0)
		return;
	s = (struct cfi_section){
		.bytes = bytes, .size = sec->size, .addr = sec->addr, .swap = f->swap, .is64 = f->is64, .debug = debug
	};
	if (t->index) {
		cfi_index_add(t->index, &s, place, run);
		return;
	}
	cfi_add(t->rows, &s, place, run);
	free(bytes);
}

static void read_file(struct dsos *d, struct dso_slot *s, const struct target *t)
{
	struct found_file run, separate;
	struct places places = { &run.elf, 0 };

	if (!dso_open_code(d, s, &run))
		return;
	/* .debug_frame first: where both tell of a function, .eh_frame is what runs. */
	add_section(t, &run.elf, ".debug_frame", true, &places);
	if (!elf_section_named(&run.elf, ".eh_frame") && s->pub.kind == DSO_FILE &&
	    debuginfo_separate(d, s, &run.elf, WANT_SYMTAB, &separate) == 0) {
		add_section(t, &separate.elf, ".debug_frame", true, &places);
		found_file_close(&separate);
	}
	add_section(t, &run.elf, ".eh_frame", false, &places);
	(void)elf_file_offset(&run.elf, run.elf.entry, &t->rows->entry);
	found_file_close(&run);
}

static struct cfi *read_cfi(struct dsos *d, struct dso_slot *s)
{
	struct cfi *c = mem_zalloc(sizeof(*c));
	const struct target t = { c, NULL };

	read_file(d, s, &t);
	cfi_finish(c);
	return c;
}

struct cfi_index *dsos_cfi_index(struct dsos *d, u32 dso)
{
	struct cfi_index *x = mem_zalloc(sizeof(*x));
	const struct target t = { &x->cfi, x };

	read_file(d, d->slots.v[dso], &t);
	cfi_index_finish(x);
	return x;
}

/* One file by several names is known to be one once its symbols are loaded. */
const struct cfi *dsos_cfi(struct dsos *d, u32 dso)
{
	struct dso_slot *s;
	const struct cfi *c;

	(void)dso_get_table(d, dso);
	s = dso_slot_of_file(d, dso);
	DSO_MADE_ONCE(c, s, cfi, read_cfi(d, s));
	return c;
}

void dso_cfi_free(struct cfi *c)
{
	if (c)
		cfi_free(c);
	free(c);
}
