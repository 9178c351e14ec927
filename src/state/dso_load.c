/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the symbols of a DSO come from, by its kind.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "state/debuginfo.h"
#include "state/dso_cache.h"
#include "state/dso_names.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"
#include "state/perfmap.h"
#include "state/text.h"

/* False: that it has none is not certain, so that nothing of it is to be kept. */
static bool load_embedded(struct dsos *d, struct dso_slot *s, struct symtab_build *b, const struct elf_file *run)
{
	struct bytes plain = { 0 };
	struct elf_file small;
	const char *why;
	int err = debuginfo_embedded(d, run, &plain, &why);

	if (!err && elf_file_from_memory(&small, plain.p, plain.len) == 0) {
		elf_symbols_add(b, &small, ELF_SYMTAB, run);
		elf_file_close(&small);
	} else {
		s->stripped = true;
	}
	if (why)
		(void)notify_at(d->notify, NOTE_WARNING, err, s->pub.path, NO_OFFSET,
				"symbols that are packed in it are missing: %s", why);
	bytes_free(&plain);
	return err != ERR_LIMIT; /* nor when it is not asked for again */
}

/* False: as above. */
static bool load_elf(struct dsos *d, struct dso_slot *s, struct symtab_build *b, const struct elf_file *run,
		     const struct elf_file *separate)
{
	bool whole = true;

	if (elf_has_table(run, ELF_SYMTAB)) {
		elf_symbols_add(b, run, ELF_SYMTAB, run);
	} else if (separate) {
		elf_symbols_add(b, separate, ELF_SYMTAB, run);
	} else {
		elf_symbols_add(b, run, ELF_DYNSYM, run);
		whole = load_embedded(d, s, b, run);
	}
	elf_plt_add(b, run);
	return whole;
}

/*
 * Who has loaded that very file by another name, or is about to: a recording may spell one file in thousands of ways.
 * NULL: nobody. Who asks is the next one's lender.
 */
static struct dso_slot *lender_of(struct dsos *d, struct dso_slot *s, const struct elf_file *f)
{
	struct dso_slot *lender = NULL;
	struct stat st;
	u32 *at;

	if (s->side.n || s->recorded || f->fd < 0 || fstat(f->fd, &st))
		return NULL;
	pthread_mutex_lock(&d->files_lock);
	at = map_at(&d->by_file, hash_pair((u64)st.st_dev, hash_pair((u64)st.st_ino, (u64)st.st_size)),
		    (u32)d->files.n);
	if (*at < d->files.n)
		lender = d->files.v[*at] != s ? d->files.v[*at] : NULL; /* s: what was kept of it was damaged */
	else
		vec_push(&d->files, s);
	pthread_mutex_unlock(&d->files_lock);
	return lender;
}

/* Waits until it is loaded. No circle: a lender was there first, and borrows from nobody. */
static void borrow(struct dso_slot *s, struct dso_slot *lender)
{
	pthread_mutex_lock(&lender->lock);
	if (lender->pub.symtab && !lender->side.n) {
		s->lender = lender;
		s->missing = lender->missing;
		s->stripped = lender->stripped;
	}
	pthread_mutex_unlock(&lender->lock);
}

/* The files are found first, cache or not: which they are, and that they are as they were, is the cache's key. */
static struct stored *load_found(struct dsos *d, struct dso_slot *s, struct symtab_build *b,
				 const struct elf_file *run, struct dso_entry *e)
{
	struct found_file separate = { .elf.fd = -1 };
	bool has_separate =
		!elf_has_table(run, ELF_SYMTAB) && debuginfo_separate(d, s, run, WANT_SYMTAB, &separate) == 0;
	struct stored *kept = NULL;

	if (!s->recorded && dso_cache_key(d, s, run, has_separate ? &separate.elf : NULL, &e->key))
		kept = dso_cache_find(d, s, e);
	if (kept)
		s->stripped = e->marks.stripped;
	else if (!load_elf(d, s, b, run, has_separate ? &separate.elf : NULL))
		e->key.len = 0;
	e->marks.stripped = s->stripped;
	if (has_separate)
		found_file_close(&separate);
	return kept;
}

/* A table out of the cache, or NULL: then it is in b, or the lender's. */
static struct stored *load_file(struct dsos *d, struct dso_slot *s, struct symtab_build *b, struct dso_entry *e)
{
	struct found_file run, separate;
	struct stored *kept = NULL;

	if (debuginfo_runtime(d, s, &run, &s->missing) == 0) {
		struct dso_slot *lender = lender_of(d, s, &run.elf);

		if (lender)
			borrow(s, lender);
		if (!s->lender)
			kept = load_found(d, s, b, &run.elf, e);
		found_file_close(&run);
		if (!s->lender && !kept && !b->syms.n) {
			s->missing = "the file has no symbols";
			e->key.len = 0;
		}
	} else if (s->pub.build_id_size && debuginfo_separate(d, s, NULL, WANT_SYMTAB, &separate) == 0) {
		elf_symbols_add(b, &separate.elf, ELF_SYMTAB, &separate.elf);
		found_file_close(&separate);
		s->missing = NULL;
	} else if (dso_cache_build_key(d, s, &e->key)) {
		kept = dso_cache_find(d, s, e);
		if (kept)
			s->missing = NULL;
		else
			e->key.len = 0;
	}
	return kept;
}

static void load_perfmap(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	int err;

	if (strncmp(s->pub.path, "/tmp/perf-", 10) != 0) {
		s->missing = NULL; /* no code: data addresses fall here */
		return;
	}
	err = ERR_NOTFOUND;
	if (!d->opts.offline || d->opts.symfs) {
		s->map_bytes = perfmap_size(s->pub.pid, d->opts.symfs);
		err = perfmap_load(b, s->pub.pid, d->opts.symfs);
	}
	if (err == ERR_PERM)
		s->missing = "this perf map cannot be read, or does not belong to the user of the process";
	else if (err < 0 && err != ERR_NOTFOUND)
		s->missing = "this perf map cannot be read";
	else if (err < 0)
		s->missing = "generated code without a perf map (let the run-time compiler write one)";
	else if (!b->syms.n)
		s->missing = "this perf map has no lines of START SIZE NAME";
}

/* Where the vdso ends in our own address space. */
static u64 vdso_end(u64 start)
{
	struct bytes maps = { 0 };
	const char *p, *end;
	u64 from, to = start;

	if (text_read("/proc/self/maps", &maps) == 0)
		for (p = (const char *)maps.p, end = p + maps.len; p && p < end;) {
			const char *dash = text_hex(p, end, &from);

			if (from == start && dash < end && *dash == '-') {
				text_hex(dash + 1, end, &to);
				break;
			}
			p = memchr(p, '\n', (size_t)(end - p));
			p = p ? p + 1 : NULL;
		}
	bytes_free(&maps);
	return to;
}

/* The kernel maps one image into every process, ours included. */
int dso_own_vdso(const struct dsos *d, const struct dso_slot *s, struct elf_file *out)
{
	u64 start = d->opts.offline ? 0 : getauxval(AT_SYSINFO_EHDR), end = start ? vdso_end(start) : 0;
	int err = end > start ? elf_file_from_memory(out, (const u8 *)start, end - start) : ERR_NOTFOUND;

	if (err || debuginfo_is_build(s, out))
		return err;
	elf_file_close(out);
	return ERR_NOTFOUND;
}

static void load_vdso(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	struct elf_file own;
	struct found_file cached;

	s->missing = "the image is neither this kernel's nor in the build-id cache";
	if (dso_own_vdso(d, s, &own) == 0) {
		elf_symbols_add(b, &own, ELF_DYNSYM, &own);
		elf_file_close(&own);
	}
	if (!b->syms.n && debuginfo_cached(d, s, "vdso", &cached) == 0) {
		elf_symbols_add(b, &cached.elf, ELF_DYNSYM, &cached.elf);
		found_file_close(&cached);
	}
	if (b->syms.n)
		s->missing = NULL;
}

/* The table: what was kept of it, or what is in b. later: it may go into the cache later. */
static struct symtab *finish(struct dsos *d, const struct dso_slot *s, struct stored *kept, struct symtab_build *b,
			     struct dso_entry *e, bool later)
{
	struct dso_names *names = dso_names_of(b->readable);
	struct symtab *t;

	if (kept ? stored_keeps_names(kept) : b->keep_names) {
		dso_names_free(names);
		b->readable = NULL;
		names = NULL;
	}
	if (kept) {
		symtab_build_free(b);
		t = symtab_over(kept, dso_names_maker(names));
	} else {
		t = symtab_finish(b);
		/* Of an address's names others may have been better, if they had been readable. */
		if (names && dso_names_failed(names))
			e->key.len = 0;
		if (!s->side.n)
			dso_cache_keep(d, e, t, later);
	}
	if (names && !s->side.n)
		dso_names_key(names, &e->key);
	return t;
}

void dsos_keep_build(struct dsos *d, u32 dso, int fd)
{
	struct dso_slot *s = d->slots.v[dso];
	struct dso_entry e = { .kind = CACHE_SYMBOLS };
	struct found_file separate;
	struct symtab_build b;
	struct elf_file f;

	if (d->cache && dso_cache_build_key(d, s, &e.key) && !cache_has(d->cache, e.kind, &e.key) &&
	    elf_file_of_fd(&f, fd) == 0) {
		bool has_separate =
			!elf_has_table(&f, ELF_SYMTAB) && debuginfo_separate(d, s, &f, WANT_SYMTAB, &separate) == 0;

		symtab_build_init(&b);
		b.keep_names = !d->opts.demangle;
		b.readable = b.keep_names ? NULL : dso_names_maker(dso_names_new(d, s));
		if (!debuginfo_is_build(s, &f) || !load_elf(d, s, &b, &f, has_separate ? &separate.elf : NULL) ||
		    !b.syms.n)
			e.key.len = 0;
		e.marks.stripped = s->stripped;
		symtab_free(finish(d, s, NULL, &b, &e, false));
		if (has_separate)
			found_file_close(&separate);
		elf_file_close(&f);
	}
	bytes_free(&e.key);
}

struct symtab *dso_load(struct dsos *d, struct dso_slot *s)
{
	struct symtab_build b;
	struct dso_entry e = { .kind = CACHE_SYMBOLS };
	struct stored *kept = NULL;
	struct symtab *t;

	symtab_build_init(&b);
	b.keep_names = !d->opts.demangle;
	b.readable = b.keep_names ? NULL : dso_names_maker(dso_names_new(d, s));
	s->recorded = dso_recorded(d, s);
	switch (s->pub.kind) {
	case DSO_FILE:
		if (!s->recorded || s->pub.build_id_size)
			kept = load_file(d, s, &b, &e);
		break;
	case DSO_PERFMAP:
		load_perfmap(d, s, &b);
		break;
	case DSO_VDSO:
		load_vdso(d, s, &b);
		break;
	case DSO_KERNEL:
	case DSO_MODULE:
		if (!s->recorded)
			kept = dso_load_kernel(d, s, &b, &e);
		break;
	default:
		break;
	}
	if (s->lender) {
		symtab_build_free(&b);
		dso_names_free(dso_names_of(b.readable));
		return s->lender->pub.symtab;
	}
	for (size_t i = 0; i < s->side.n; i++) {
		const struct side_symbol *side = &s->side.v[i];

		vec_push(&b.syms, (struct raw_symbol){ .start = side->start,
						       .end = side->end,
						       .name = symtab_build_name(&b, side->name, strlen(side->name)),
						       .bind = BIND_GLOBAL,
						       .is_func = true });
	}
	if (s->recorded)
		dso_recorded_add(d, s, &b);
	if (s->side.n || (s->recorded && b.syms.n))
		s->missing = NULL;
	else if (s->recorded && !s->missing)
		s->missing = "the symbols that the recording holds have no names, or cannot be placed";
	/* What takes the place of something damaged may be freed at once. */
	t = finish(d, s, kept, &b, &e, d->keeps_later && !s->damaged);
	s->made_from = hash_stable(e.key.p, e.key.len);
	bytes_free(&e.key);
	return t;
}
