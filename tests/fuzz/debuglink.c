/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file says of where its debug information is: .gnu_debuglink, .gnu_debugaltlink and a build id, whose
 * bytes are the input (two bytes say how long the first is, two how long the second). It is looked for below a
 * directory of ours, in which one file lies; all names must stay in there.
 */
#include <elf.h>

#include "scratch.h"
#include "state/debuginfo.h"
#include "state/dso_table.h"

static const char names[] = "\0.gnu_debuglink\0.gnu_debugaltlink\0.note.gnu.build-id\0.shstrtab";
#define SECTIONS 3

struct part {
	const u8 *p;
	size_t n;
};

static void take(struct part *from, size_t n, struct part *out)
{
	*out = (struct part){ from->p, MIN(n, from->n) };
	from->p += out->n;
	from->n -= out->n;
}

static void put_elf(struct bytes *b, const struct part parts[SECTIONS])
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = SECTIONS + 2,
			  .e_shstrndx = SECTIONS + 1 };
	Elf64_Shdr sh[SECTIONS + 2] = { 0 };
	size_t name = 1, at = sizeof(eh);

	for (u32 i = 0; i <= SECTIONS; i++) {
		size_t n = i < SECTIONS ? parts[i].n : sizeof(names);

		sh[i + 1] = (Elf64_Shdr){ .sh_name = (u32)name,
					  .sh_type = i < 2  ? SHT_PROGBITS :
						     i == 2 ? SHT_NOTE :
							      SHT_STRTAB,
					  .sh_offset = at,
					  .sh_size = n,
					  .sh_addralign = 1 };
		name += strlen(names + name) + 1;
		at += n;
	}
	eh.e_shoff = at;
	bytes_put(b, &eh, sizeof(eh));
	for (u32 i = 0; i < SECTIONS; i++)
		bytes_put(b, parts[i].p, parts[i].n);
	bytes_put(b, names, sizeof(names));
	bytes_put(b, sh, sizeof(sh));
}

static void look(struct dsos *d, const struct elf_file *f)
{
	u32 dso = dsos_get(d, &(struct dso_key){ .kind = DSO_FILE, .path = { "/app", 4 } });

	for (int want = WANT_SYMTAB; want <= WANT_DWARF; want++) {
		struct found_file found;

		if (debuginfo_separate(d, d->slots.v[dso], f, want, &found))
			continue;
		MUST(!strncmp(found.path, scratch(), strlen(scratch())));
		found_file_close(&found);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct part rest = { data, size }, lengths, parts[SECTIONS];
	struct symbol_opts opts = { .offline = true, .symfs = scratch(), .buildid_dir = scratch() };
	struct bytes elf = { 0 };
	struct elf_file f;

	take(&rest, 4, &lengths);
	if (lengths.n < 4)
		return 0;
	take(&rest, lengths.p[0] | (size_t)lengths.p[1] << 8, &parts[0]);
	take(&rest, lengths.p[2] | (size_t)lengths.p[3] << 8, &parts[1]);
	take(&rest, rest.n, &parts[2]);
	put_elf(&elf, parts);
	scratch_write("app.debug", elf.p, elf.len);
	if (!elf_file_from_memory(&f, elf.p, elf.len)) {
		struct dsos *d = dsos_new(&opts, NULL);

		look(d, &f);
		dsos_free(d);
		elf_file_close(&f);
	}
	bytes_free(&elf);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
