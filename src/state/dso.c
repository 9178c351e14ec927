/* SPDX-License-Identifier: Apache-2.0 */
#include "state/dso.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/apart.h"
#include "state/cache.h"
#include "state/dso_table.h"
#include "state/perfmap.h"

#define STRIPPED_SHOWN 4 /* names in the note on stripped files */

static const char *copy_z(struct dsos *d, const char *s)
{
	return s ? arena_strndup(&d->arena, s, strlen(s)) : NULL;
}

struct dsos *dsos_new(const struct symbol_opts *opts, const struct notify *notify)
{
	struct dsos *d = mem_zalloc(sizeof(*d));

	d->notify = notify;
	d->opts = *opts;
	d->roots.made_ns = opts->made_ns;
	d->opts.kallsyms = copy_z(d, opts->kallsyms);
	d->opts.vmlinux = copy_z(d, opts->vmlinux);
	d->opts.symfs = copy_z(d, opts->symfs);
	d->opts.buildid_dir = copy_z(d, opts->buildid_dir);
	d->cache = opts->cache ? cache_new(NULL) : NULL;
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->files_lock, NULL);
	dsos_get(d, &(struct dso_key){ .kind = DSO_NONE, .path = { "[unknown]", 9 } });
	return d;
}

void dsos_free(struct dsos *d)
{
	struct kallsyms *ahead;

	if (!d)
		return;
	dsos_keep_end(d);
	vec_free(&d->to_keep);
	for (size_t i = 0; i < d->slots.n; i++) {
		struct dso_slot *s = d->slots.v[i];

		if (!s->lender)
			symtab_free(s->pub.symtab);
		if (s->damaged != s->pub.symtab)
			symtab_free(s->damaged);
		dso_lines_free(d, s);
		dso_types_free(d, s);
		dso_code_free(s->code);
		dso_bounds_free(s->bounds);
		dso_entered_free(s->entered);
		dso_cfi_free(s->cfi);
		vec_free(&s->side);
		pthread_mutex_destroy(&s->lock);
	}
	if (!d->opts.apart)
		apart_free(d->apart);
	apart_free(d->names_apart);
	map_free(&d->by_file);
	vec_free(&d->files);
	pthread_mutex_destroy(&d->files_lock);
	vec_free(&d->slots);
	vec_free(&d->build_ids);
	map_free(&d->build_id_of);
	map_free(&d->recorded_of);
	map_free(&d->by_name);
	map_free(&d->by_build);
	roots_free(&d->roots);
	ahead = dso_take_ahead(d);
	if (ahead)
		kallsyms_free(ahead);
	free(ahead);
	if (d->kallsyms)
		kallsyms_free(d->kallsyms);
	free(d->kallsyms);
	cache_free(d->cache);
	pthread_mutex_destroy(&d->lock);
	arena_free(&d->arena);
	free(d);
}

void dsos_keep_found(struct dsos *d)
{
	dsos_keep_end(d);
	dsos_drop_lines(d);
	for (size_t i = 0; i < d->slots.n; i++)
		dso_types_free(d, d->slots.v[i]);
	for (size_t i = 0; i < d->slots.n; i++)
		if (d->slots.v[i]->pub.symtab && !d->slots.v[i]->lender)
			symtab_keep_names(d->slots.v[i]->pub.symtab);
	cache_trim(d->cache);
}

/* "/lib/modules/6.1.0/kernel/fs/ext4/ext4-x.ko.xz" is shown as "[ext4_x]". */
static const char *module_name(struct dsos *d, const char *path)
{
	const char *base = strrchr(path, '/'), *ko;
	size_t n;
	char *out;

	if (path[0] == '[')
		return path;
	base = base ? base + 1 : path;
	ko = strstr(base, ".ko");
	n = ko ? (size_t)(ko - base) : strlen(base);
	out = arena_alloc(&d->arena, n + 3, 1);
	out[0] = '[';
	for (size_t i = 0; i < n; i++)
		out[i + 1] = base[i] == '-' ? '_' : base[i];
	out[n + 1] = ']';
	out[n + 2] = 0;
	return out;
}

static void set_names(struct dsos *d, struct dso *dso, struct str path)
{
	char text[64];
	const char *base;

	dso->path = arena_strndup(&d->arena, path.p, path.len);
	switch (dso->kind) {
	case DSO_PERFMAP:
		dso->short_name = dso->path;
		if (strncmp(dso->path, "/tmp/perf-", 10) != 0)
			break; /* memory that is not meant to be executed: the heap, a stack */
		snprintf(text, sizeof(text), "[JIT] tid %d", (int)dso->pid);
		dso->short_name = copy_z(d, text);
		break;
	case DSO_MODULE:
		dso->short_name = module_name(d, dso->path);
		break;
	default:
		base = strrchr(dso->path, '/');
		dso->short_name = dso->path[0] != '[' && base && base[1] ? base + 1 : dso->path;
	}
}

/* Which root directory a path of this process is to be looked up in, as rootdir_of says; 0: in ours. */
static u32 mount_namespace(struct dsos *d, const struct dso_key *key)
{
	if (key->kind != DSO_FILE || !key->pid || d->opts.offline || d->opts.symfs)
		return 0;
	return root_of_process(&d->roots, key->pid);
}

static bool has_build_id(const struct dso *dso, const u8 *id, u8 size)
{
	return dso->build_id_size == size && !memcmp(dso->build_id, id, size);
}

static void set_build_id(struct dso *dso, const u8 *id, u8 size)
{
	dso->build_id_size = (u8)MIN(size, sizeof(dso->build_id));
	memcpy(dso->build_id, id, dso->build_id_size);
}

static bool is_kernel(const struct dso *dso)
{
	return dso->kind == DSO_KERNEL || dso->kind == DSO_MODULE;
}

static void take_build_id(const struct dsos *d, struct dso *dso)
{
	const struct rec_build_id *b = dso_listed_build_id(d, dso->path, strlen(dso->path), is_kernel(dso));

	if (b && !dso->build_id_size)
		set_build_id(dso, b->build_id, b->size);
}

static bool per_process(enum dso_kind kind)
{
	return kind == DSO_PERFMAP || kind == DSO_JIT;
}

static bool has_name(const struct dso_slot *s, const struct dso_key *key, u32 mount_ns)
{
	const struct dso *dso = &s->pub;

	if (s->outdated || dso->kind != key->kind || s->mount_ns != mount_ns ||
	    (per_process(key->kind) && dso->pid != key->pid))
		return false;
	return strlen(dso->path) == key->path.len && !memcmp(dso->path, key->path.p, key->path.len);
}

static u64 name_hash(const struct dso_key *key, u32 mount_ns)
{
	u64 h = hash_bytes(key->path.p, key->path.len);

	h = hash_mix(h, (u64)key->kind << 32 | (per_process(key->kind) ? key->pid : 0));
	return hash_mix(h, mount_ns);
}

/* Has the DSO that name, and the key's build id if that is asked for? */
static bool is_named(const struct dsos *d, u32 dso, const struct dso_key *key, u32 mount_ns, bool build)
{
	const struct dso_slot *s = d->slots.v[dso];

	return has_name(s, key, mount_ns) && (!build || has_build_id(&s->pub, key->build_id, key->build_id_size));
}

/* Names whose hashes are equal stand at successive keys; so do builds. */
static u64 key_hash(const struct dso_key *key, u32 mount_ns, bool build)
{
	u64 h = name_hash(key, mount_ns);

	return build ? hash_mix(h, hash_bytes(key->build_id, key->build_id_size)) : h;
}

/* The newest DSO of that name, or the one that has the key's build id as well; the place for the next one when there
 * is none. */
static u32 *place_of(struct dsos *d, const struct dso_key *key, u32 mount_ns, bool build)
{
	struct map *m = build ? &d->by_build : &d->by_name;
	u64 h = key_hash(key, mount_ns, build);
	u32 next = (u32)d->slots.n, *at;

	while (*(at = map_at(m, h, next)) != next && !is_named(d, *at, key, mount_ns, build))
		h++;
	return at;
}

static u32 *newest_of(struct dsos *d, const struct dso_key *key, u32 mount_ns)
{
	return place_of(d, key, mount_ns, false);
}

static u32 *build_of(struct dsos *d, const struct dso_key *key, u32 mount_ns)
{
	return place_of(d, key, mount_ns, true);
}

/* The same without making a place: ID_NONE when there is none. */
static u32 find_dso(const struct dsos *d, const struct dso_key *key, u32 mount_ns, bool build)
{
	const struct map *m = build ? &d->by_build : &d->by_name;
	u64 h = key_hash(key, mount_ns, build);
	u32 at;

	while ((at = map_get(m, h)) != ID_NONE && !is_named(d, at, key, mount_ns, build))
		h++;
	return at;
}

static u32 add_slot(struct dsos *d, const struct dso_key *key, u32 mount_ns)
{
	struct dso_slot *s = arena_new(&d->arena, struct dso_slot);

	*s = (struct dso_slot){ .pub = { .kind = key->kind, .pid = key->pid },
				.mount_ns = mount_ns,
				.base = key->base };
	pthread_mutex_init(&s->lock, NULL);
	set_names(d, &s->pub, key->path);
	if (key->build_id_size)
		set_build_id(&s->pub, key->build_id, key->build_id_size);
	else
		take_build_id(d, &s->pub);
	vec_push(&d->slots, s);
	return (u32)d->slots.n - 1;
}

/* The newest DSO of a name, which is about to get a newer one, stays to be had by its build id. */
static void keep_build(struct dsos *d, u32 dso, const struct dso_key *key, u32 mount_ns)
{
	struct dso_key old = *key;
	u32 *build;

	old.build_id = d->slots.v[dso]->pub.build_id;
	old.build_id_size = d->slots.v[dso]->pub.build_id_size;
	build = build_of(d, &old, mount_ns);
	if (*build == d->slots.n)
		*build = dso;
}

void dsos_outdate(struct dsos *d, struct str path)
{
	for (size_t i = 0; i < d->slots.n; i++) {
		const char *p = d->slots.v[i]->pub.path;

		if (strlen(p) == path.len && !memcmp(p, path.p, path.len))
			d->slots.v[i]->outdated = true;
	}
	/* The number of a file that is gone may be given to another one. */
	map_free(&d->by_file);
	d->files.n = 0;
}

bool dsos_maps_grew(const struct dsos *d)
{
	for (size_t i = 0; i < d->slots.n; i++) {
		const struct dso_slot *s = d->slots.v[i];

		if (s->pub.kind == DSO_PERFMAP && s->pub.symtab && *s->pub.path == '/' &&
		    perfmap_size(s->pub.pid, d->opts.symfs) > s->map_bytes)
			return true;
	}
	return false;
}

bool dsos_is_new(struct dsos *d, const struct dso_key *key)
{
	u32 ns = mount_namespace(d, key), newest = find_dso(d, key, ns, false);

	if (newest == ID_NONE)
		return true;
	/* The first one of a name may lack a build id, and take the key's. */
	return key->build_id_size && d->slots.v[newest]->pub.build_id_size &&
	       !has_build_id(&d->slots.v[newest]->pub, key->build_id, key->build_id_size) &&
	       find_dso(d, key, ns, true) == ID_NONE;
}

/* Only one DSO of a name can lack a build id: the first one, until it takes that of the first key that has one. */
u32 dsos_get(struct dsos *d, const struct dso_key *key)
{
	u32 ns = mount_namespace(d, key), next = (u32)d->slots.n, newest = *newest_of(d, key, ns);
	struct dso *dso = newest < next ? &d->slots.v[newest]->pub : NULL;

	if (dso && !key->build_id_size)
		return newest;
	if (key->build_id_size) {
		u32 *build = build_of(d, key, ns);

		if (*build < next)
			return *build;
		if (dso && !dso->build_id_size)
			set_build_id(dso, key->build_id, key->build_id_size);
		if (dso && has_build_id(dso, key->build_id, key->build_id_size))
			return *build = newest;
		if (dso)
			keep_build(d, newest, key, ns);
	}
	*newest_of(d, key, ns) = next;
	return add_slot(d, key, ns);
}

#define KERNEL_PATH "[kernel.kallsyms]"

/* perf lists the kernel itself under the path of the vmlinux that it has found. */
static bool is_module_path(struct str path)
{
	static const char *const ends[] = { ".ko", ".ko.gz", ".ko.xz", ".ko.zst" };

	for (u32 i = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = strlen(ends[i]);

		if (path.len > n && !memcmp(path.p + path.len - n, ends[i], n))
			return true;
	}
	return path.len > 8 && path.p[0] == '[' && memcmp(path.p, "[kernel.", 8) != 0;
}

void dsos_set_build_id(struct dsos *d, const struct rec_build_id *id, bool kernel)
{
	struct str path = kernel && !is_module_path(id->filename) ? (struct str){ KERNEL_PATH, strlen(KERNEL_PATH) } :
								    id->filename;

	if (!dso_list_build_id(d, id, path, kernel))
		return;
	for (size_t k = 0; k < d->slots.n; k++)
		take_build_id(d, &d->slots.v[k]->pub);
}

void dsos_set_release(struct dsos *d, const char *release, const char *arch)
{
	d->release = release;
	d->arch = arch;
}

void dsos_set_kernel_map(struct dsos *d, struct str ref_symbol, u64 start, u64 ref_addr)
{
	d->ref_symbol = (struct str){ arena_strndup(&d->arena, ref_symbol.p, ref_symbol.len), ref_symbol.len };
	d->ref_addr = ref_addr ? ref_addr : start;
	d->kernel_start = start;
}

void dsos_again(struct dsos *d)
{
	d->again = true;
}

/* A DSO has few such symbols: code of a program of one name, or one piece of compiled code. */
static bool has_side_symbol(const struct dso_slot *s, u64 start, struct str name)
{
	for (size_t i = 0; i < s->side.n; i++)
		if (s->side.v[i].start == start && strlen(s->side.v[i].name) == name.len &&
		    !memcmp(s->side.v[i].name, name.p, name.len))
			return true;
	return false;
}

void dsos_add_symbol(struct dsos *d, u32 dso, u64 start, u64 end, struct str name)
{
	struct dso_slot *s = d->slots.v[dso];

	const char *path = s->pub.path, *copy = path;

	if (d->again && has_side_symbol(s, start, name))
		return;
	/* One program is one symbol, of its own name. */
	if (strlen(path) != name.len || memcmp(path, name.p, name.len) != 0)
		copy = arena_strndup(&d->arena, name.p, name.len);
	pthread_mutex_lock(&s->lock);
	if (!s->side.cap) {
		s->side.v = mem_alloc(sizeof(*s->side.v));
		s->side.cap = 1;
	}
	vec_push(&s->side, (struct side_symbol){ start, MAX(start, end), copy });
	pthread_mutex_unlock(&s->lock);
}

u32 dsos_count(const struct dsos *d)
{
	return (u32)d->slots.n;
}

void dsos_note_mapped(struct dsos *d, u32 dso, u64 bytes, u64 pgoff)
{
	struct dso_slot *s = d->slots.v[dso];

	if (!dso)
		return;
	s->pub.mapped = MAX(s->pub.mapped, bytes);
	if (s->code_mapped && s->code_pgoff != pgoff)
		pgoff = UINT64_MAX;
	s->code_mapped = true;
	s->code_pgoff = pgoff;
}

const struct dso *dsos_at(const struct dsos *d, u32 dso)
{
	return &d->slots.v[dso]->pub;
}

u32 dsos_listed(const struct dsos *d, u32 dsos[DSOS_LISTED])
{
	u32 n = 0;

	for (u32 i = 0; d->reads_ahead && i < d->slots.n; i++) {
		const struct dso *dso = &d->slots.v[i]->pub;

		if (dso->kind != DSO_FILE || !dso_listed_build_id(d, dso->path, strlen(dso->path), false))
			continue;
		if (n == DSOS_LISTED)
			return 0;
		dsos[n++] = i;
	}
	return n;
}

void dsos_find_ahead(struct dsos *d, u32 dso)
{
	if (!d->opts.no_lines)
		dso_find_lines(d, dso);
}

void dsos_load_ahead(struct dsos *d, u32 dso)
{
	(void)dso_get_table(d, dso);
}

/* One note for all of them: in a recording of a whole machine they are many. */
static void note_stripped(const struct dsos *d, const struct notify *to)
{
	struct bytes names = { 0 };
	u32 n = 0;

	for (size_t i = 0; i < d->slots.n; i++) {
		const struct dso_slot *s = d->slots.v[i];

		if (s->missing || !s->stripped || !s->has_unnamed)
			continue;
		if (n++ < STRIPPED_SHOWN)
			bytes_printf(&names, "%s%s", n > 1 ? ", " : "", s->pub.short_name);
	}
	if (n > STRIPPED_SHOWN)
		bytes_printf(&names, " and %u more", n - STRIPPED_SHOWN);
	if (n)
		notify_warn(to, "stripped, with functions that have no name: %.*s (install debug symbols)",
			    (int)names.len, (const char *)names.p);
	bytes_free(&names);
}

const char *dsos_kernel_missing(const struct dsos *d)
{
	for (size_t i = 0; i < d->slots.n; i++)
		if (d->slots.v[i]->pub.kind == DSO_KERNEL && d->slots.v[i]->missing)
			return d->slots.v[i]->missing;
	return NULL;
}

void dsos_note_missing(const struct dsos *d, const struct notify *to)
{
	note_stripped(d, to);
	if (d->recorded_refused)
		notify_warn(to,
			    "the recording spreads the symbols that it holds over too many files: %" PRIu64
			    " have none of them",
			    d->recorded_refused);
	for (size_t i = 0; i < d->slots.n; i++)
		/* Of others nobody has asked for an address. */
		if (d->slots.v[i]->missing && d->slots.v[i]->has_unnamed)
			notify_at(to, NOTE_WARNING, 0, d->slots.v[i]->pub.path, NO_OFFSET, "no symbols: %s",
				  d->slots.v[i]->missing);
}
