/* SPDX-License-Identifier: Apache-2.0 */
#include "state/dso_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "state/elf_file.h"
#include "state/text.h"

#define FIRST_LINES 4096

/* Goes up with each change of the rules by which symbols are settled (symtab.c, elf_symbols.c, kallsyms.c) or lines
 * are found (dwarf.c). */
#define RULES "2 "

/* Another version may have other rules. */
static void begin_key(struct bytes *key, const char *what)
{
	bytes_str(key, RETICLE_VERSION " " RULES);
	bytes_str(key, what);
	bytes_char(key, 0);
}

static void put_build_id(struct bytes *key, const struct elf_file *f)
{
	u8 id[20];
	u32 n = f ? elf_build_id(f, id) : 0;

	bytes_u8(key, (u8)n);
	bytes_put(key, id, n);
}

bool dso_cache_key(const struct dsos *d, const struct dso_slot *s, const struct elf_file *run,
		   const struct elf_file *separate, struct bytes *key)
{
	s64 now = time(NULL);
	bool settled;

	begin_key(key, d->opts.demangle ? "file" : "file as linked");
	bytes_u8(key, s->pub.build_id_size);
	bytes_put(key, s->pub.build_id, s->pub.build_id_size);
	put_build_id(key, run);
	put_build_id(key, separate);
	settled = cache_key_file(key, run->fd, now);
	settled = cache_key_file(key, separate ? separate->fd : -1, now) && settled;
	if (!settled)
		key->len = 0;
	return settled;
}

bool dso_cache_build_key(const struct dsos *d, const struct dso_slot *s, struct bytes *key)
{
	begin_key(key, d->opts.demangle ? "build" : "build as linked");
	bytes_u8(key, s->pub.build_id_size);
	bytes_put(key, s->pub.build_id, s->pub.build_id_size);
	if (!s->pub.build_id_size)
		key->len = 0;
	return key->len;
}

static bool put_text(struct bytes *key, const char *path)
{
	struct bytes text = { 0 };
	bool fine = text_read(path, &text) == 0 && text.len;

	bytes_u64(key, text.len);
	bytes_u64(key, hash_stable(text.p, text.len));
	bytes_free(&text);
	return fine;
}

/* Whether addresses are shown is seen in the first lines. */
static bool put_first_lines(struct bytes *key)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	char lines[FIRST_LINES];
	ssize_t n = fd >= 0 ? read(fd, lines, sizeof(lines)) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	bytes_u64(key, hash_stable(lines, (size_t)n));
	return true;
}

/* Of a line of /proc/modules "NAME SIZE USERS BY STATE 0xADDRESS": name and size, and the address. */
static void put_place(struct bytes *key, const char *p, size_t n)
{
	const char *size = memchr(p, ' ', n), *stop = size ? memchr(size + 1, ' ', (size_t)(p + n - size - 1)) : NULL;
	const char *at = memmem(p, n, " 0x", 3);

	bytes_put(key, p, stop ? (size_t)(stop - p) : n);
	if (at)
		bytes_put(key, at, (size_t)(p + n - at));
	bytes_char(key, 0);
}

/* Of "[name]": which build of it is loaded. */
static bool put_module_build(struct bytes *key, const char *module)
{
	int n = (int)strlen(module) - 2;
	char *path;
	bool fine;

	if (memchr(module, '/', strlen(module)))
		return false;
	path = mem_printf("/sys/module/%.*s/notes/.note.gnu.build-id", n, module + 1);
	fine = put_text(key, path);
	free(path);
	return fine;
}

/* "[name]", which comes and goes, and comes back elsewhere or as another build: /proc/modules has its address. What
 * kallsyms calls a module and is none (BPF programs, probes) changes while the kernel runs. */
static bool put_module(struct bytes *key, const char *module)
{
	struct bytes list = { 0 };
	size_t n = strlen(module);
	bool listed = false;

	if (n > 2 && text_read("/proc/modules", &list) == 0)
		for (const char *p = (const char *)list.p, *end = p + list.len; p && p < end && !listed;) {
			const char *stop = memchr(p, '\n', (size_t)(end - p));
			size_t len = (size_t)((stop ? stop : end) - p);

			listed = len > n - 2 && !memcmp(p, module + 1, n - 2) && p[n - 2] == ' ';
			if (listed)
				put_place(key, p, len);
			p = stop ? stop + 1 : NULL;
		}
	bytes_free(&list);
	return listed && put_module_build(key, module);
}

bool dso_cache_kernel_key(const char *module, struct bytes *key)
{
	begin_key(key, module ? "module" : "kernel");
	if (!put_text(key, "/proc/sys/kernel/random/boot_id") || !put_first_lines(key))
		return false;
	put_text(key, "/sys/kernel/notes");
	return !module || put_module(key, module);
}

struct stored *dso_cache_find(const struct dsos *d, const struct dso_slot *s, struct dso_entry *e)
{
	struct cache_entry entry;

	/* What the side-band tells is not in there; and what was damaged once is not asked again. */
	if (!d->cache || s->damaged || s->side.n || !e->key.len || cache_find(d->cache, e->kind, &e->key, &entry))
		return NULL;
	return stored_open(&entry, &e->marks);
}

struct table_to_keep {
	struct dso_entry e;
	const struct symtab *t;
};

static void keep(struct dsos *d, const struct dso_entry *e, const struct symtab *t, struct bytes *body)
{
	body->len = 0;
	if (symtab_encode(t, &e->marks, body) && cache_keep(d->cache, e->kind, &e->key, body))
		atomic_fetch_add(&d->in_cache_too, symtab_bytes(t));
}

u64 dsos_in_cache_too(const struct dsos *d)
{
	return atomic_load(&d->in_cache_too);
}

void dso_cache_keep(struct dsos *d, const struct dso_entry *e, const struct symtab *t, bool later)
{
	struct table_to_keep *k;
	struct bytes body = { 0 };

	if (!d->cache || !e->key.len)
		return;
	if (!later) {
		keep(d, e, t, &body);
		bytes_free(&body);
		return;
	}
	k = mem_alloc(sizeof(*k));
	*k = (struct table_to_keep){ *e, t };
	k->e.key = (struct bytes){ 0 };
	bytes_put(&k->e.key, e->key.p, e->key.len);
	pthread_mutex_lock(&d->files_lock);
	vec_push(&d->to_keep, k);
	pthread_mutex_unlock(&d->files_lock);
}

void dsos_keep_later(struct dsos *d)
{
	d->keeps_later = true;
}

static struct table_to_keep *next_to_keep(struct dsos *d)
{
	struct table_to_keep *k;

	pthread_mutex_lock(&d->files_lock);
	k = d->to_keep.n ? d->to_keep.v[--d->to_keep.n] : NULL;
	pthread_mutex_unlock(&d->files_lock);
	return k;
}

static void *keep_all(void *ctx)
{
	struct table_to_keep *k;
	struct bytes body = { 0 };

	while ((k = next_to_keep(ctx)) != NULL) {
		keep(ctx, &k->e, k->t, &body);
		bytes_free(&k->e.key);
		free(k);
	}
	bytes_free(&body);
	return NULL;
}

void dsos_keep_begin(struct dsos *d)
{
	if (!d->keep_runs && d->to_keep.n)
		d->keep_runs = !pthread_create(&d->keep_thread, NULL, keep_all, d);
}

void dsos_keep_end(struct dsos *d)
{
	keep_all(d);
	if (d->keep_runs)
		pthread_join(d->keep_thread, NULL);
	d->keep_runs = d->keeps_later = false;
}
