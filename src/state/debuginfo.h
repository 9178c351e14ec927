/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the files of a DSO are: the ELF file that was mapped, and the one that holds its symbols and DWARF when they
 * were stripped off.
 */
#ifndef STATE_DEBUGINFO_H
#define STATE_DEBUGINFO_H

#include "state/dso_table.h"
#include "state/elf_file.h"

struct found_file {
	struct elf_file elf;
	char *path; /* where it was found; malloc'ed */
};

void found_file_close(struct found_file *f);

/*
 * The file that was mapped: in the process's mount namespace, under opts.symfs, by its path, or by its build id in
 * perf's cache and from debuginfod. A file whose build id is not the recorded one is passed over. 0, or why not; *why
 * says it in words (static, or as old as d).
 */
int debuginfo_runtime(struct dsos *d, struct dso_slot *s, struct found_file *out, const char **why);

/* Has f DWARF of its own? */
bool debuginfo_has_dwarf(const struct elf_file *f);

/* May f be what was recorded: no build id was recorded, or it is that one. */
bool debuginfo_is_build(const struct dso_slot *s, const struct elf_file *f);
/* A file of perf's build-id cache by the recorded build id: "elf", "debug", "vdso"; 0 or an error. */
int debuginfo_cached(const struct dsos *d, const struct dso_slot *s, const char *file, struct found_file *out);

bool debuginfo_ids_agree(const u8 *a, u32 a_size, const u8 *b, u32 b_size);
/* The directory of a build id in perf's cache; malloc'ed, or NULL when there is no cache or no id. */
char *debuginfo_cache_dir(const struct dsos *d, const struct dso_slot *s);

/* What a separate debug file must have. */
enum debug_want { WANT_SYMTAB, WANT_DWARF };

/*
 * A separate debug file of the DSO that has what is wanted. `runtime` may be NULL when it was not found; the recorded
 * build id must do then. 0 or ERR_NOTFOUND.
 */
int debuginfo_separate(struct dsos *d, struct dso_slot *s, const struct elf_file *runtime, enum debug_want want,
		       struct found_file *out);

/* The small symbol table that some distributions embed, compressed, as .gnu_debugdata: its bytes. It is unpacked by
 * the process apart; ERR_LIMIT: that has died of it, or was not there, and *why says it. */
int debuginfo_embedded(struct dsos *d, const struct elf_file *f, struct bytes *out, const char **why);

#endif
