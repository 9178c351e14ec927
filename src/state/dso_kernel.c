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

#include "state/debuginfo.h"
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
	bool same = true;
	u8 id[20];
	u32 n;

	if (!kernel || !kernel->pub.build_id_size)
		return has_release(d);
	if (text_read("/sys/kernel/notes", &notes) == 0) {
		n = elf_notes_build_id(notes.p, notes.len, false, id);
		same = !n || debuginfo_ids_agree(kernel->pub.build_id, kernel->pub.build_id_size, id, n);
	}
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
		kallsyms_parse(k, (const char *)text.p, text.len);
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

void dsos_read_ahead(struct dsos *d)
{
	if (!d->opts.no_kernel && !d->opts.kallsyms && !d->opts.vmlinux && !d->opts.offline && !d->reads_ahead)
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
					"another kernel was recorded than the one that runs here (give its kallsyms "
					"or vmlinux)" :
					"the recording does not say which kernel it is of (give its kallsyms or "
					"vmlinux)";
			if (!d->opts.offline && runs_now(d, kernel))
				d->kallsyms = read_kallsyms(d, RUNNING_KALLSYMS);
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
		s->missing = "the file given as vmlinux is another build than the recorded kernel (build ids differ)";
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

void dso_load_kernel(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	const char *name = s->pub.short_name;
	struct str module = { NULL, 0 };
	struct kallsyms *k;

	b->keep_names = true;
	if (d->opts.no_kernel) {
		s->missing = "kernel symbols are turned off";
		return;
	}
	if (s->pub.kind == DSO_MODULE && name[0] == '[' && strlen(name) > 2)
		module = (struct str){ name + 1, (u32)strlen(name) - 2 };
	else if (s->pub.kind == DSO_KERNEL && d->opts.vmlinux)
		load_vmlinux(d, s, b);
	if (b->syms.n || s->missing)
		return;
	k = get_kallsyms(d);
	pthread_mutex_lock(&d->lock);
	if (k && (s->pub.kind == DSO_KERNEL || (module.len && !d->kallsyms_delta)))
		kallsyms_add(b, k, module, d->kallsyms_delta);
	if (k && s->pub.kind == DSO_KERNEL)
		kallsyms_keep_modules(k); /* there is one kernel, and this was its turn */
	pthread_mutex_unlock(&d->lock);
	if (!b->syms.n && s->pub.kind == DSO_MODULE)
		load_module_file(d, s, b);
	if (b->syms.n)
		s->missing = NULL;
	else if (!s->missing)
		s->missing = k ? "it is not in kallsyms" : d->kallsyms_missing;
}
