/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the symbols of a DSO come from, by its kind.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/dso_table.h"
#include "state/elf_symbols.h"

static const char *explain(int err)
{
	switch (err) {
	case ERR_NOTFOUND:
		return "the file is gone";
	case ERR_PERM:
		return "the file cannot be read (try as root)";
	case ERR_FORMAT:
		return "not an ELF file";
	case ERR_TRUNCATED:
		return "the file is damaged";
	}
	return err_name(err);
}

static void load_file(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	struct elf_file f;
	int err = elf_file_open(&f, s->pub.path);
	s64 n;

	(void)d;
	if (err < 0) {
		s->missing = explain(err);
		return;
	}
	n = elf_symbols_add(b, &f, elf_has_table(&f, ELF_SYMTAB) ? ELF_SYMTAB : ELF_DYNSYM, &f);
	elf_plt_add(b, &f);
	elf_file_close(&f);
	if (n <= 0)
		s->missing = "the file has no symbols";
}

/* All of a file whose size is not known beforehand (as those in /proc). */
static int read_text(const char *path, struct bytes *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;

	if (fd < 0)
		return errno == ENOENT ? ERR_NOTFOUND : errno == EACCES || errno == EPERM ? ERR_PERM : ERR_IO;
	for (;;) {
		ssize_t n;

		bytes_grow(out, 1u << 20);
		n = read(fd, out->p + out->len, out->cap - out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = ERR_IO;
		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
	close(fd);
	return err;
}

/* Reads kallsyms once for the kernel and its modules. */
static const struct kallsyms *get_kallsyms(struct dsos *d)
{
	const char *path = d->opts.kallsyms ? d->opts.kallsyms : "/proc/kallsyms";
	struct bytes text = { 0 };
	u64 now;

	pthread_mutex_lock(&d->lock);
	if (!d->kallsyms_read && (d->opts.kallsyms || !d->opts.offline)) {
		d->kallsyms_read = true;
		if (read_text(path, &text) == 0)
			kallsyms_parse(&d->kallsyms, (const char *)text.p, text.len);
		bytes_free(&text);
		if (d->ref_symbol.len && kallsyms_address(&d->kallsyms, d->ref_symbol, &now))
			d->kallsyms_delta = d->ref_addr - now;
	}
	pthread_mutex_unlock(&d->lock);
	return &d->kallsyms;
}

static void load_kernel(struct dsos *d, struct dso_slot *s, struct symtab_build *b)
{
	const struct kallsyms *k;
	struct str module = { NULL, 0 };

	b->keep_names = true;
	if (d->opts.no_kernel) {
		s->missing = "kernel symbols are turned off";
		return;
	}
	k = get_kallsyms(d);
	if (s->pub.kind == DSO_MODULE)
		module = (struct str){ s->pub.short_name + 1, (u32)strlen(s->pub.short_name) - 2 };
	if (k->lines && k->zeros == k->lines)
		s->missing = "the kernel hides its addresses (as root: sysctl kernel.kptr_restrict=0)";
	else
		kallsyms_add(b, k, module, d->kallsyms_delta);
	if (!b->syms.n && !s->missing)
		s->missing = "not in kallsyms";
}

struct symtab *dso_load(struct dsos *d, struct dso_slot *s)
{
	struct symtab_build b;

	symtab_build_init(&b);
	b.keep_names = !d->opts.demangle;
	switch (s->pub.kind) {
	case DSO_FILE:
		load_file(d, s, &b);
		break;
	case DSO_KERNEL:
	case DSO_MODULE:
		load_kernel(d, s, &b);
		break;
	default:
		break;
	}
	for (size_t i = 0; i < s->side.n; i++) {
		const struct side_symbol *side = &s->side.v[i];

		vec_push(&b.syms, (struct raw_symbol){ .start = side->start,
						       .end = side->end,
						       .name = symtab_build_name(&b, side->name, strlen(side->name)),
						       .bind = BIND_GLOBAL,
						       .is_func = true });
	}
	if (s->side.n)
		s->missing = NULL;
	return symtab_finish(&b);
}
