/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file: headers, symbols, PLT, build id, the embedded symbol table. */
#include "fuzz.h"
#include "state/elf_symbols.h"
#include "state/unxz.h"

static void check_table(struct symtab_build *b)
{
	struct symtab *t = symtab_finish(b);

	for (u32 i = 0; i < symtab_count(t); i++) {
		const struct symbol *s = symtab_at(t, i);
		u32 found = symtab_find(t, s->start);

		MUST(s->start < s->end);
		MUST(found != ID_NONE && symtab_at(t, found)->start <= s->start &&
		     s->start < symtab_at(t, found)->end);
		MUST(strlen(symtab_raw_name(t, i)) < UINT32_MAX);
	}
	symtab_free(t);
}

static void read_file(const struct elf_file *f, bool embedded)
{
	struct symtab_build b;
	struct elf_file inner;
	struct bytes plain = { 0 };
	const struct elf_section *packed;
	u8 id[20], *raw;

	MUST(elf_build_id(f, id) <= sizeof(id));
	symtab_build_init(&b);
	elf_symbols_add(&b, f, ELF_SYMTAB, f);
	elf_symbols_add(&b, f, ELF_DYNSYM, f);
	elf_symbols_add(&b, f, ELF_SYMTAB, NULL);
	elf_plt_add(&b, f);
	check_table(&b);
	packed = embedded ? elf_section_named(f, ".gnu_debugdata") : NULL;
	if (!packed || elf_section_read(f, packed, &raw))
		return;
	if (unxz(raw, packed->size, &plain) && elf_file_from_memory(&inner, plain.p, plain.len) == 0) {
		read_file(&inner, false);
		elf_file_close(&inner);
	}
	MUST(plain.len <= packed->size * UNXZ_TIMES + UNXZ_FREE + (64u << 10));
	bytes_free(&plain);
	free(raw);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct elf_file f;

	if (elf_file_from_memory(&f, data, size) == 0) {
		read_file(&f, true);
		elf_file_close(&f);
	}
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
