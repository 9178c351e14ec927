/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols out of the recording itself. simpleperf writes those that samples have hit, by the addresses that files were
 * linked to. The table has them by file offsets, or by addresses where nothing else is known of the code (dso.h).
 */
#include <string.h>

#include "base/hash.h"
#include "codec/features.h"
#include "state/debuginfo.h"
#include "state/dso_table.h"

/* What is given out beyond twice what the recording holds. */
#define GIVEN_SMALL (16u << 20)

static u32 recorded_at(const struct dsos *d, const char *path, size_t len)
{
	u32 i = map_get(&d->recorded_of, hash_bytes(path, len));
	const struct str *found = i == ID_NONE ? NULL : &d->recorded[i].path;

	return found && found->len == len && !memcmp(found->p, path, len) ? i : ID_NONE;
}

void dsos_set_recorded(struct dsos *d, const struct feat_file *files, size_t n)
{
	d->recorded = files;
	d->recorded_left = GIVEN_SMALL;
	for (size_t i = 0; i < n; i++) {
		if (!files[i].nr_symbols)
			continue;
		d->recorded_left += 2 * cursor_left(&files[i].symbols);
		(void)map_at(&d->recorded_of, hash_bytes(files[i].path.p, files[i].path.len), (u32)i);
	}
}

bool dsos_is_recorded_code(const struct dsos *d, struct str path)
{
	u32 i = recorded_at(d, path.p, path.len);

	return i != ID_NONE && d->recorded[i].type == FILE_SYMBOL_MAP;
}

/* What is added to a linked address. False: that cannot be told. */
static bool distance(const struct dsos *d, const struct dso_slot *s, const struct feat_file *f, u64 *out)
{
	*out = 0;
	switch (f->type) {
	case FILE_KERNEL:
		if (f->start && d->kernel_start)
			*out = d->kernel_start - f->start;
		return true;
	case FILE_MODULE:
		if (s->pub.kind == DSO_MODULE && s->base)
			*out = s->base + f->start_offset - f->start;
		return true;
	case FILE_ELF:
		/* The oldest recordings rely on the file's code being one mapping, which begins with its segment. */
		*out = (f->has_offset ? f->start_offset : s->code_pgoff) - f->start;
		return f->has_offset || (s->code_mapped && s->code_pgoff != UINT64_MAX);
	default:
		return true;
	}
}

/*
 * Each DSO has a table of its own, and a hostile recording maps one path as ten thousand DSOs: what all of them are
 * given is bounded. An honest recording maps a file as one DSO, or as a few.
 */
static bool may_give(struct dsos *d, const struct feat_file *f)
{
	u64 bytes = cursor_left(&f->symbols);
	bool may;

	pthread_mutex_lock(&d->files_lock);
	may = bytes <= d->recorded_left;
	d->recorded_left -= may ? bytes : 0;
	d->recorded_refused += !may;
	pthread_mutex_unlock(&d->files_lock);
	return may;
}

const struct feat_file *dso_recorded(struct dsos *d, const struct dso_slot *s)
{
	bool kernel = s->pub.kind == DSO_KERNEL || s->pub.kind == DSO_MODULE;
	size_t len = strlen(s->pub.path);
	const struct rec_build_id *listed;
	u32 i = recorded_at(d, s->pub.path, len);
	u64 add;

	/* A kernel that the user has given is asked before. */
	if (i == ID_NONE || (kernel && (d->opts.no_kernel || d->opts.kallsyms || d->opts.vmlinux)))
		return NULL;
	if ((d->recorded[i].type == FILE_KERNEL) != (s->pub.kind == DSO_KERNEL) ||
	    (d->recorded[i].type == FILE_SYMBOL_MAP) != (s->pub.kind == DSO_JIT))
		return NULL;
	listed = dso_listed_build_id(d, s->pub.path, len, kernel);
	if (listed && s->pub.build_id_size &&
	    !debuginfo_ids_agree(listed->build_id, listed->size, s->pub.build_id, s->pub.build_id_size))
		return NULL;
	return distance(d, s, &d->recorded[i], &add) && may_give(d, &d->recorded[i]) ? &d->recorded[i] : NULL;
}

void dso_recorded_add(const struct dsos *d, const struct dso_slot *s, struct symtab_build *b)
{
	struct cursor at = s->recorded->symbols;
	struct feat_file_symbol symbol;
	u64 add;

	if (!distance(d, s, s->recorded, &add))
		return;
	while (feat_file_symbol(s->recorded, &at, &symbol)) {
		u64 start = symbol.start + add, end;

		if (!symbol.name.len || __builtin_add_overflow(start, symbol.len, &end))
			continue;
		vec_push(&b->syms, (struct raw_symbol){ .start = start,
							.end = end,
							.name = symtab_build_name(b, symbol.name.p, symbol.name.len),
							.bind = BIND_GLOBAL,
							.is_func = true });
	}
}
