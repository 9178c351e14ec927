/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of the kernel and its modules.
 *
 * The kernel that was recorded need not be the one that runs now. The running kernel's /proc/kallsyms is taken only if
 * /sys/kernel/notes has the build id that the recording tells, or, where it tells none, if release and architecture
 * are the same; a copy in perf's build-id cache does as well. The same build may have been loaded elsewhere (address
 * randomisation): the recording says where a reference symbol lay, and all symbols are moved by the difference.
 * Modules move independently, so after a reboot kallsyms says nothing of them; their files do, given where their text
 * lay.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "state/apart.h"
#include "state/debuginfo.h"
#include "state/dso_cache.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"
#include "state/text.h"

static const struct dso_slot *kernel_slot(const struct dsos *d)
{
	for (size_t i = 0; i < d->slots.n; i++)
		if (d->slots.v[i]->pub.kind == DSO_KERNEL)
			return d->slots.v[i];
	return NULL;
}

/* Where no build id is known: of the same release, and the same architecture. */
static bool has_release(const struct dsos *d)
{
	struct utsname here;

	return d->release && d->arch && !uname(&here) && !strcmp(d->release, here.release) &&
	       !strcmp(d->arch, here.machine);
}

/* Is the running kernel the recorded one? Names of another one would be wrong. */
static bool runs_now(const struct dsos *d, const struct dso_slot *kernel)
{
	struct bytes notes = { 0 };
	bool same;
	u8 id[20];
	u32 n = 0;

	if (!kernel || !kernel->pub.build_id_size)
		return has_release(d);
	if (text_read("/sys/kernel/notes", &notes) == 0)
		n = elf_notes_build_id(notes.p, notes.len, false, id);
	same = n ? debuginfo_ids_agree(kernel->pub.build_id, kernel->pub.build_id_size, id, n) : has_release(d);
	bytes_free(&notes);
	return same;
}

/* NULL when it cannot be read. */
static struct kallsyms *parse_file(const char *path)
{
	struct bytes text = { 0 };
	struct kallsyms *k = NULL;

	if (text_read(path, &text) == 0) {
		k = mem_alloc(sizeof(*k));
		kallsyms_parse(k, &text);
	}
	bytes_free(&text);
	return k;
}

#define RUNNING_KALLSYMS "/proc/kallsyms"

static void *read_ahead(void *ctx)
{
	struct dsos *d = ctx;

	d->ahead = parse_file(RUNNING_KALLSYMS);
	return NULL;
}

/* Could the cache have them? */
static bool may_be_kept(const struct dsos *d)
{
	return d->cache && !d->opts.no_kernel && !d->opts.kallsyms && !d->opts.vmlinux && !d->opts.offline;
}

static bool is_kept(const struct dsos *d)
{
	struct bytes key = { 0 };
	bool is = may_be_kept(d) && dso_cache_kernel_key(NULL, &key) && cache_has(d->cache, CACHE_KERNEL, &key);

	bytes_free(&key);
	return is;
}

void dsos_read_ahead(struct dsos *d)
{
	if (d->opts.no_kernel || d->opts.kallsyms || d->opts.vmlinux || d->opts.offline || d->reads_ahead ||
	    is_kept(d))
		return;
	dsos_start_parser(d); /* not beside the thread */
	if (d->apart && d->opts.demangle && !d->opts.apart && !d->names_apart)
		d->names_apart = apart_new();
	d->reads_ahead = !pthread_create(&d->ahead_thread, NULL, read_ahead, d);
}

struct kallsyms *dso_take_ahead(struct dsos *d)
{
	struct kallsyms *k;

	if (d->reads_ahead)
		pthread_join(d->ahead_thread, NULL);
	d->reads_ahead = false;
	k = d->ahead;
	d->ahead = NULL;
	return k;
}

static struct kallsyms *read_kallsyms(struct dsos *d, const char *path)
{
	struct kallsyms *k = NULL;

	if (path && !strcmp(path, RUNNING_KALLSYMS))
		k = dso_take_ahead(d);
	if (path && !k)
		k = parse_file(path);
	if (!k || (k->lines && k->zeros != k->lines))
		return k;
	d->kallsyms_missing = k->lines ? "the kernel hides its addresses; as root, or after "
					 "\"sysctl kernel.kptr_restrict=0\", they can be seen" :
					 "kallsyms is empty";
	kallsyms_free(k);
	free(k);
	return NULL;
}

/* A recording tells where one of these was. */
static const char *const mark_names[STORED_MARKS] = { "_text", "_stext" };

static void take_marks(struct dsos *d)
{
	for (u32 i = 0; d->kallsyms && i < STORED_MARKS; i++)
		kallsyms_address(d->kallsyms, (struct str){ mark_names[i], (u32)strlen(mark_names[i]) },
				 &d->marks.address[i]);
}

/* How far the recorded kernel lay from where an entry of the cache says. False: that does not say. */
static bool marks_delta(const struct dsos *d, const struct stored_marks *marks, u64 *delta)
{
	*delta = 0;
	if (!d->ref_symbol.len)
		return true;
	for (u32 i = 0; i < STORED_MARKS; i++)
		if (strlen(mark_names[i]) == d->ref_symbol.len && marks->address[i] &&
		    !memcmp(mark_names[i], d->ref_symbol.p, d->ref_symbol.len)) {
			*delta = d->ref_addr - marks->address[i];
			return true;
		}
	return false;
}

/* module: its name, or NULL for the kernel itself. What is kept is of this boot; a recording of another one finds the
 * kernel's symbols moved, and a module's not at all. */
static struct stored *find_kept(const struct dsos *d, const struct dso_slot *s, const char *module,
				struct dso_entry *e)
{
	struct stored *kept;
	u64 delta = 0;

	e->kind = CACHE_KERNEL;
	if (!may_be_kept(d) || !runs_now(d, kernel_slot(d)) || !dso_cache_kernel_key(module, &e->key)) {
		e->key.len = 0;
		return NULL;
	}
	kept = dso_cache_find(d, s, e);
	if (kept && (!marks_delta(d, &e->marks, &delta) || (module && delta))) {
		stored_free(kept);
		kept = NULL;
	}
	if (kept)
		stored_move(kept, delta);
	return kept;
}

static char *cached_kallsyms(const struct dsos *d, const struct dso_slot *kernel)
{
	char *dir = kernel ? debuginfo_cache_dir(d, kernel) : NULL, *path;

	if (!dir)
		return NULL;
	path = mem_printf("%skallsyms", dir);
	free(dir);
	return path;
}

/* Reads kallsyms once for the kernel and its modules. */
static struct kallsyms *get_kallsyms(struct dsos *d)
{
	const struct dso_slot *kernel = kernel_slot(d);
	u64 now;

	pthread_mutex_lock(&d->lock);
	if (!d->kallsyms_asked) {
		d->kallsyms_asked = true;
		if (d->opts.kallsyms) {
			d->kallsyms_missing = "the file given as kallsyms cannot be read";
			d->kallsyms = read_kallsyms(d, d->opts.kallsyms);
		} else {
			d->kallsyms_missing =
				(kernel && kernel->pub.build_id_size) || (d->release && d->arch) ?
					"the recorded kernel is not the one that runs here (give its kallsyms "
					"or vmlinux)" :
					"the recording does not say which kernel it comes from (give its "
					"kallsyms or vmlinux)";
			if (!d->opts.offline && runs_now(d, kernel))
				d->kallsyms = read_kallsyms(d, RUNNING_KALLSYMS);
			d->kallsyms_running = d->kallsyms != NULL;
			take_marks(d);
			if (!d->kallsyms) {
				char *path = cached_kallsyms(d, kernel);

				d->kallsyms = read_kallsyms(d, path);
				free(path);
			}
		}
		if (d->kallsyms && d->ref_symbol.len && kallsyms_address(d->kallsyms, d->ref_symbol, &now))
			d->kallsyms_delta = d->ref_addr - now;
	}
	pthread_mutex_unlock(&d->lock);
	return d->kallsyms;
}

/* How far the recorded kernel lay from where vmlinux was linked to. */
static u64 vmlinux_delta(const struct dsos *d, const struct symtab_build *b)
{
	const char *names = (const char *)b->names.p;

	for (size_t i = 0; i < b->syms.n && d->ref_symbol.len; i++) {
		const char *name = names + b->syms.v[i].name;

		if (!strncmp(name, d->ref_symbol.p, d->ref_symbol.len) && !name[d->ref_symbol.len])
			return d->ref_addr - b->syms.v[i].start;
	}
	return 0;
}

static void load_vmlinux(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	struct elf_file f;
	u64 delta;

	if (elf_file_open(&f, d->opts.vmlinux) < 0) {
		s->missing = "the file given as vmlinux cannot be read, or is no ELF file";
		return;
	}
	if (!debuginfo_is_build(s, &f))
		s->missing = "the file given as vmlinux is a different build than the recorded kernel (build "
			     "ids differ)";
	else if (elf_symbols_add(b, &f, ELF_SYMTAB, NULL) <= 0)
		s->missing = "the file given as vmlinux has no symbols";
	elf_file_close(&f);
	delta = s->moved = vmlinux_delta(d, b);
	for (size_t i = 0; i < b->syms.n; i++) {
		b->syms.v[i].start += delta;
		b->syms.v[i].end += delta;
	}
}

/* A module's file is not linked: symbols count from their section. The text comes first in memory. */
static void load_module_file(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	const struct elf_section *text;
	struct found_file f;
	size_t kept = 0;

	if (!s->base || s->pub.path[0] != '/' || debuginfo_runtime(d, s, &f, &s->missing) < 0)
		return;
	text = elf_section_named(&f.elf, ".text");
	if (text && f.elf.type == ET_REL)
		elf_symbols_add(b, &f.elf, ELF_SYMTAB, &f.elf);
	for (size_t i = 0; text && i < b->syms.n; i++) {
		struct raw_symbol sym = b->syms.v[i];

		if (sym.start < text->offset || sym.start - text->offset >= text->size)
			continue;
		sym.start += s->base - text->offset;
		sym.end += s->base - text->offset;
		b->syms.v[kept++] = sym;
	}
	b->syms.n = kept;
	found_file_close(&f);
}

/* Of the kernel's or a module's symbols in kallsyms; there are none when b is still empty. */
static void add_kallsyms(struct dsos *d, struct dso_slot *s, struct str module, struct symtab_build *b,
			 struct dso_entry *e)
{
	struct kallsyms *k = get_kallsyms(d);

	pthread_mutex_lock(&d->lock);
	if (k && s->pub.kind == DSO_KERNEL)
		kallsyms_take_kernel(b, k, d->kallsyms_delta); /* there is one kernel, and this is its turn */
	else if (k && module.len && !d->kallsyms_delta)
		kallsyms_add_module(b, k, module, d->kallsyms_delta);
	e->marks = d->marks;
	if (!b->syms.n || !d->kallsyms_running || d->kallsyms_delta)
		e->key.len = 0;
	pthread_mutex_unlock(&d->lock);
}

struct stored *dso_load_kernel(struct dsos *d, struct dso_slot *s, struct symtab_build *b, struct dso_entry *e)
{
	const char *name = s->pub.short_name;
	struct str module = { NULL, 0 };
	struct stored *kept;

	b->keep_names = true;
	if (d->opts.no_kernel) {
		s->missing = "kernel symbols are turned off";
		return NULL;
	}
	if (s->pub.kind == DSO_MODULE && name[0] == '[' && strlen(name) > 2)
		module = (struct str){ name + 1, (u32)strlen(name) - 2 };
	else if (s->pub.kind == DSO_KERNEL && d->opts.vmlinux)
		load_vmlinux(d, s, b);
	if (b->syms.n || s->missing)
		return NULL;
	kept = find_kept(d, s, s->pub.kind == DSO_MODULE ? name : NULL, e);
	if (kept)
		return kept;
	add_kallsyms(d, s, module, b, e);
	if (!b->syms.n && s->pub.kind == DSO_MODULE)
		load_module_file(d, s, b);
	if (b->syms.n)
		s->missing = NULL;
	else if (!s->missing)
		s->missing = d->kallsyms ? "it is not in kallsyms" : d->kallsyms_missing;
	return NULL;
}
