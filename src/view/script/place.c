/* SPDX-License-Identifier: Apache-2.0 */
#include "view/script/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/set.h"
#include "codec/perf_abi.h"

#define FRONT_BITS 16
#define FRONT_SIZE (1u << FRONT_BITS)
#define TEXTS_MAX (24u << 20) /* bytes of rendered text per worker */
#define SOURCE_FRAMES_MAX 32

struct text_entry {
	u64 addr;
	u32 dso, style;
	u32 start, len;
	bool stop;
};

struct front_entry {
	u64 ip;
	const struct space *space; /* with n: the version of user space; NULL for the kernel */
	u32 n;
	u32 start; /* of the text */
	u32 len;
	u8 style; /* STYLE_NONE: empty */
	bool kernel;
	bool check; /* the kernel's maps may have changed at this address */
	bool stop;
	const struct vmap *map; /* for kernel space: what it was found in */
};
#define STYLE_NONE 0xff

struct place_cache {
	const struct script *s;
	struct front_entry *front;
	struct set places; /* entries */
	VEC(struct text_entry) entries;
	struct bytes texts;
	struct bytes once; /* text that is not kept */
};

struct place_cache *place_cache_new(const struct script *s)
{
	struct place_cache *c = mem_zalloc(sizeof(*c));

	c->s = s;
	c->front = mem_alloc(sizeof(*c->front) * FRONT_SIZE);
	memset(c->front, 0xff, sizeof(*c->front) * FRONT_SIZE);
	return c;
}

void place_cache_free(struct place_cache *c)
{
	if (!c)
		return;
	free(c->front);
	set_free(&c->places);
	vec_free(&c->entries);
	bytes_free(&c->texts);
	bytes_free(&c->once);
	free(c);
}

static void drop_all(struct place_cache *c)
{
	memset(c->front, 0xff, sizeof(*c->front) * FRONT_SIZE);
	set_free(&c->places);
	c->entries.n = 0;
	c->texts.len = 0;
}

static void put_plain(struct bytes *out, const char *text)
{
	bytes_plain(out, text, strlen(text));
}

static const struct symbol *symbol_of(const struct script *s, const struct place *p)
{
	return p->map && p->sym != ID_NONE ? dsos_symbol(s->dsos, p->dso, p->sym) : NULL;
}

void place_put_symbol(const struct script *s, const struct place *p, bool offset, struct bytes *out)
{
	const struct symbol *sym = symbol_of(s, p);

	if (!sym) {
		bytes_str(out, "[unknown]");
		return;
	}
	put_plain(out, dsos_symbol_name(s->dsos, p->dso, p->sym));
	if (offset) {
		bytes_str(out, "+0x");
		bytes_hex(out, p->addr - sym->start);
	}
}

/* perf shows a module by its path once the header's build ids have named it so. */
static bool has_listed_build_id(const struct script *s, const char *path)
{
	const struct features *f = s->features;
	size_t len = strlen(path);
	u32 first = map_get(&s->listed, hash_bytes(path, len));

	for (size_t i = first; i < f->build_ids.n; i++) {
		struct str name = f->build_ids.v[i].filename;

		if (name.len == len && !memcmp(name.p, path, len))
			return true;
	}
	return false;
}

void place_put_dso(const struct script *s, const struct place *p, bool offset, struct bytes *out)
{
	const struct dso *dso = p->map ? dsos_at(s->dsos, p->dso) : NULL;
	bool kernel;

	if (!dso) {
		bytes_str(out, "[unknown]");
		return;
	}
	kernel = dso->kind == DSO_KERNEL || (dso->kind == DSO_MODULE && !has_listed_build_id(s, dso->path));
	put_plain(out, kernel && !s->opts.kernel_path ? dso->short_name : dso->path);
	if (offset && !kernel) {
		bytes_str(out, "+0x");
		bytes_hex(out, p->addr);
	}
}

/* "\n  file.c:12", or perf's "\n  short[addr]" when there are no lines. */
static void put_srcline(const struct script *s, const struct place *p, struct bytes *out)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	u32 n;

	if (!p->map)
		return;
	bytes_str(out, "\n  ");
	n = dsos_source_at(s->dsos, p->dso, p->addr, frames, SOURCE_FRAMES_MAX);
	if (n && frames[0].file) {
		const char *slash = s->opts.full_paths ? NULL : strrchr(frames[0].file, '/');

		put_plain(out, slash ? slash + 1 : frames[0].file);
		bytes_char(out, ':');
		bytes_dec(out, frames[0].line);
		return;
	}
	put_plain(out, dsos_at(s->dsos, p->dso)->short_name);
	bytes_char(out, '[');
	bytes_hex(out, p->addr);
	bytes_char(out, ']');
}

static bool is_stop(const struct script *s, const char *name)
{
	for (u32 i = 0; i < s->opts.stops.n; i++)
		if (!strcmp(s->opts.stops.v[i], name))
			return true;
	return false;
}

/* inlined: the function that was inlined at the place, or NULL for the place's own symbol. */
static void render_text(const struct script *s, const struct place *p, const struct place_style *st,
			const char *inlined, struct bytes *out)
{
	const struct symbol *sym = symbol_of(s, p);

	if (st->chain && st->shown & SCRIPT_IP) {
		bytes_char(out, '\t');
		bytes_hex_pad(out, p->addr, 16, ' ');
	}
	if (st->shown & SCRIPT_SYM) {
		bytes_char(out, ' ');
		if (inlined) {
			put_plain(out, inlined);
			if (st->shown & SCRIPT_SYMOFF) {
				bytes_str(out, "+0x");
				bytes_hex(out, sym ? p->addr - sym->start : 0);
			}
		} else {
			place_put_symbol(s, p, st->shown & SCRIPT_SYMOFF, out);
		}
	}
	if (st->shown & SCRIPT_DSO && !inlined) {
		bytes_str(out, " (");
		place_put_dso(s, p, st->shown & SCRIPT_DSOFF, out);
		bytes_char(out, ')');
	}
	if (st->shown & SCRIPT_SRCLINE)
		put_srcline(s, p, out);
	if (inlined)
		bytes_str(out, " (inlined)");
	if (st->chain)
		bytes_char(out, '\n');
}

/* An object of a list, or for a sample's own place its members alone: something always stands before it. */
static void render_json(const struct script *s, const struct place *p, const struct place_style *st,
			const char *inlined, struct bytes *out)
{
	const struct symbol *sym = symbol_of(s, p);
	struct json j = { .out = out, .more = true };

	if (st->chain) {
		json_object(&j);
		json_set_addr(&j, "addr", p->addr);
	}
	if (st->shown & SCRIPT_SYM && (sym || inlined)) {
		json_set_text(&j, "sym", inlined ? inlined : dsos_symbol_name(s->dsos, p->dso, p->sym));
		if (st->shown & SCRIPT_SYMOFF && sym)
			json_set_u64(&j, "off", p->addr - sym->start);
	}
	if (st->shown & SCRIPT_DSO && p->map) {
		struct bytes name = { 0 };

		place_put_dso(s, p, false, &name);
		json_set_str(&j, "dso", (char *)name.p, name.len);
		bytes_free(&name);
	}
	if (st->shown & SCRIPT_SRCLINE && p->map) {
		struct source_frame frames[SOURCE_FRAMES_MAX];

		if (dsos_source_at(s->dsos, p->dso, p->addr, frames, SOURCE_FRAMES_MAX) && frames[0].file) {
			json_set_text(&j, "file", frames[0].file);
			json_set_u64(&j, "line", frames[0].line);
		}
	}
	if (inlined)
		json_set_bool(&j, "inlined", true);
	if (st->chain)
		json_object_end(&j);
}

static void render_one(const struct script *s, const struct place *p, const struct place_style *st,
		       const char *inlined, struct bytes *out)
{
	if (st->json)
		render_json(s, p, st, inlined, out);
	else
		render_text(s, p, st, inlined, out);
}

/* All that is shown for one address. True: a symbol that ends the chain was among it (and the last). */
static bool render(const struct script *s, const struct place *p, const struct place_style *st, struct bytes *out)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	const char *name = symbol_of(s, p) ? dsos_symbol_name(s->dsos, p->dso, p->sym) : NULL;
	u32 n = 0;

	if (st->chain && s->opts.inlines && name)
		n = dsos_source_at(s->dsos, p->dso, p->addr, frames, SOURCE_FRAMES_MAX);
	/* The last one is the function itself. */
	for (u32 i = 0; i + 1 < n; i++) {
		const char *function = frames[i].function ? frames[i].function : "[unknown]";

		render_one(s, p, st, function, out);
		if (is_stop(s, function))
			return true;
	}
	render_one(s, p, st, NULL, out);
	return st->chain && name && is_stop(s, name);
}

static bool is_same(const struct text_entry *a, const struct text_entry *b)
{
	return a->addr == b->addr && a->dso == b->dso && a->style == b->style;
}

/* The kept text of a place; renders it (and looks up the symbol, which p still lacks) when it is new. */
static const struct text_entry *text_of(struct place_cache *c, struct place *p, const struct place_style *st,
					u32 style_id)
{
	u32 dso = p->map ? p->dso : ID_NONE;
	u64 hash = hash_finish(hash_mix(hash_mix(dso, p->addr), style_id));
	struct text_entry e = { .addr = p->addr, .dso = dso, .style = style_id };
	u32 id, at;

	SET_FIND(id, &c->places, hash, at, is_same(&c->entries.v[id], &e));
	if (id != ID_NONE)
		return &c->entries.v[id];
	if (p->map)
		p->sym = dsos_symbol_at(c->s->dsos, p->dso, p->addr);
	e.start = (u32)c->texts.len;
	e.stop = render(c->s, p, st, &c->texts);
	e.len = (u32)(c->texts.len - e.start);
	set_add(&c->places, hash, (u32)c->entries.n);
	vec_push(&c->entries, e);
	return &c->entries.v[c->entries.n - 1];
}

/* Does a cached kernel address still lie where it did? */
static bool still_there(const struct front_entry *e, const struct thread_view *thread)
{
	return !e->check || maps_find(&thread->kernel, e->ip) == e->map;
}

/* Where it lies, without the symbol yet. */
static void locate(struct dsos *dsos, const struct thread_view *thread, bool kernel, u64 ip, struct place *out)
{
	const struct vmap *m = maps_find(kernel ? &thread->kernel : &thread->maps, ip);

	*out = (struct place){ .map = m, .addr = ip, .sym = ID_NONE };
	if (!m)
		return;
	out->dso = m->dso;
	out->addr = vmap_addr(m, dsos, ip);
}

static bool in_kernel_image(const struct place_cache *c, const struct place *p)
{
	return p->map && dsos_at(c->s->dsos, p->dso)->kind == DSO_KERNEL;
}

static struct front_entry *front_of(const struct place_cache *c, const struct maps *maps, bool kernel, u64 ip,
				    u32 style_id)
{
	u64 space = kernel ? 1u << 7 : (u64)(uintptr_t)maps->space + ((u64)maps->n << 8);

	return &c->front[hash_mix(ip, space + style_id) >> (64 - FRONT_BITS)];
}

void place_prefetch(const struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip, u32 style_id)
{
	__builtin_prefetch(front_of(c, &thread->maps, cpumode == PERF_RECORD_MISC_KERNEL, ip, style_id));
}

/* Guests and hypervisors: nothing is known about their addresses. */
static struct str text_elsewhere(struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip,
				 const struct place_style *style, bool *stop)
{
	struct place place;

	place_find(c->s->dsos, thread, cpumode, ip, &place);
	c->once.len = 0;
	*stop = render(c->s, &place, style, &c->once);
	return (struct str){ (const char *)c->once.p, (u32)c->once.len };
}

/* Does it hold the text of that address? */
static bool fits(const struct front_entry *e, const struct thread_view *thread, const struct maps *maps, bool kernel,
		 u64 ip, u32 style_id)
{
	return e->ip == ip && e->space == maps->space && e->n == maps->n && e->style == style_id &&
	       e->kernel == kernel && still_there(e, thread);
}

void place_ahead(const struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip, u32 style_id)
{
	struct place place;

	/* Names of the kernel are shown as they are. */
	if (cpumode != PERF_RECORD_MISC_USER ||
	    fits(front_of(c, &thread->maps, false, ip, style_id), thread, &thread->maps, false, ip, style_id))
		return;
	locate(c->s->dsos, thread, false, ip, &place);
	if (place.map)
		(void)dsos_symbol_at(c->s->dsos, place.dso, place.addr);
}

struct str place_text(struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip,
		      const struct place_style *style, u32 style_id, bool *stop)
{
	bool kernel = cpumode == PERF_RECORD_MISC_KERNEL;
	struct maps maps = kernel ? (struct maps){ NULL, 0 } : thread->maps;
	struct front_entry *e = front_of(c, &maps, kernel, ip, style_id);
	const struct text_entry *text;
	struct place place;

	if (UNLIKELY(!kernel && cpumode != PERF_RECORD_MISC_USER))
		return text_elsewhere(c, thread, cpumode, ip, style, stop);
	if (UNLIKELY(!fits(e, thread, &maps, kernel, ip, style_id))) {
		if (c->texts.len > TEXTS_MAX)
			drop_all(c);
		locate(c->s->dsos, thread, kernel, ip, &place);
		text = text_of(c, &place, style, style_id);
		*e = (struct front_entry){ .ip = ip,
					   .space = maps.space,
					   .n = maps.n,
					   .map = place.map,
					   .start = text->start,
					   .len = text->len,
					   .stop = text->stop,
					   .style = (u8)style_id,
					   .kernel = kernel,
					   .check = kernel && !in_kernel_image(c, &place) };
	}
	*stop = e->stop;
	return (struct str){ (const char *)bytes_from(&c->texts, e->start), e->len };
}
