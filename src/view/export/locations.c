/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/locations.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "codec/proto.h"

#define MAX_INLINED 32

struct making {
	struct locations *l;
	const struct profile *p;
	bool inlined;
	VEC(u32) frames;	  /* in stacks, those of a DSO together */
	struct dso_linked linked; /* of the DSO at hand */
	struct bytes key;	  /* of the location at hand */
};

/* What tells mappings from one another. Several DSOs may be one: a file may be seen below several roots. */
struct mapping_key {
	u64 start, limit, offset; /* of the segment; without one all are 0 */
	u32 path, build_id;
	u32 kind; /* without a segment: does its offset follow its start? */
	u32 has_segment;
};

u32 locations_string_in(struct locations *l, struct strtab *t, const char *s, size_t n)
{
	l->text.len = 0;
	bytes_shown(&l->text, s, n);
	return l->text.len ? strtab_intern(t, (const char *)l->text.p, l->text.len) : 0;
}

u32 locations_string(struct locations *l, const char *s, size_t n)
{
	return locations_string_in(l, &l->strings, s, n);
}

static int by_place(const void *va, const void *vb, void *ctx)
{
	const struct frame *a = frames_get(ctx, *(const u32 *)va), *b = frames_get(ctx, *(const u32 *)vb);
	int c = compare_u64(a->dso, b->dso);

	c = c ? c : compare_u64(a->addr, b->addr);
	c = c ? c : compare_u64(a->sym, b->sym);
	return c ? c : (int)a->level - (int)b->level;
}

static void find_frames(struct making *m)
{
	u32 n = frames_count(m->p->frames);
	bool *used = mem_zalloc(n + 1);

	for (size_t e = 0; e < m->p->events.n; e++) {
		const struct tree *t = &m->p->events.v[e].tree;

		for (size_t i = 1; i < t->nodes.n; i++)
			if (t->nodes.v[i].parent)
				used[t->nodes.v[i].frame] = true;
	}
	for (u32 i = 0; i < n; i++)
		if (used[i])
			vec_push(&m->frames, i);
	if (m->frames.n)
		qsort_r(m->frames.v, m->frames.n, sizeof(*m->frames.v), by_place, m->p->frames);
	free(used);
}

static u32 find_function(struct locations *l, u32 name, u32 file)
{
	u32 *id = map_at(&l->function_ids, (u64)name << 32 | file, (u32)l->functions.n);

	if (*id == l->functions.n)
		vec_push(&l->functions, (struct location_function){ name, file });
	return *id;
}

static u32 build_id_string(struct locations *l, const struct dso *d)
{
	l->text.len = 0;
	bytes_hex_of(&l->text, d->build_id, d->build_id_size);
	return d->build_id_size ? strtab_intern(&l->build_ids, (const char *)l->text.p, l->text.len) : 0;
}

/* The number of the segment that holds the address, from 1 on; 0: none. */
static u32 segment_of(const struct dso_linked *l, u64 addr)
{
	for (u32 i = 0; i < l->n; i++)
		if (addr - l->v[i].offset < l->v[i].size)
			return i + 1;
	return 0;
}

static struct mapping_key key_of(struct making *m, const struct dso *d, u32 segment)
{
	struct mapping_key key = { .path = locations_string_z(m->l, d->path),
				   .build_id = build_id_string(m->l, d),
				   .has_segment = segment > 0 };

	if (segment) {
		key.start = m->linked.v[segment - 1].addr;
		key.limit = key.start + m->linked.v[segment - 1].size;
		key.offset = m->linked.v[segment - 1].offset;
	} else {
		key.kind = d->kind == DSO_FILE || d->kind == DSO_VDSO;
	}
	return key;
}

/* That of a segment is as large as it; without segments it spans what is known to be there. */
static u32 find_mapping(struct making *m, const struct frame *f, u32 segment)
{
	struct locations *l = m->l;
	struct mapping_key key = key_of(m, dsos_at(m->p->dsos, f->dso), segment);
	u32 id = strtab_intern(&l->mapping_ids, (const char *)&key, sizeof(key));
	struct location_mapping *mapping;

	if (id == l->mappings.n)
		vec_push(&l->mappings, ((struct location_mapping){ .start = segment ? key.start : f->addr,
								   .limit = key.limit,
								   .offset = key.offset,
								   .path = key.path,
								   .build_id = key.build_id }));
	mapping = &l->mappings.v[id];
	if (!segment) {
		mapping->start = MIN(mapping->start, f->addr);
		mapping->limit = MAX(mapping->limit, f->addr + (f->addr < UINT64_MAX));
		mapping->offset = key.kind ? mapping->start : 0;
	}
	return id;
}

static void add_line(struct locations *l, struct location *at, const char *function, const char *file, u32 line)
{
	u32 name = locations_string_z(l, function), path = file ? locations_string_z(l, file) : 0;

	vec_push(&l->lines, (struct location_line){ find_function(l, name, path), line });
	at->nr_lines++;
}

/* Where no name is known there are no lines, so that readers may look for one. */
static void add_lines(struct making *m, struct location *at, u32 frame, bool has_lines)
{
	const struct frame *f = frames_get(m->p->frames, frame);
	struct source_frame found[MAX_INLINED];
	struct location_mapping *mapping;
	u32 n = 0;

	if (has_lines && f->sym != ID_NONE && f->addr)
		n = dsos_source_at(m->p->dsos, f->dso, f->addr, found, MAX_INLINED);
	at->first_line = (u32)m->l->lines.n;
	for (u32 i = n && !m->inlined ? n - 1 : 0; i < n; i++)
		add_line(m->l, at, found[i].function, found[i].file, found[i].line);
	if (!n && (f->sym != ID_NONE || (!f->dso && !f->addr))) {
		char made_up[PROFILE_MADE_UP];

		add_line(m->l, at, profile_frame_name(m->p, frame, made_up, sizeof(made_up)), NULL, 0);
	}
	if (!at->mapping)
		return;
	mapping = &m->l->mappings.v[at->mapping];
	mapping->unnamed |= !at->nr_lines;
	mapping->files |= n;
	mapping->inlined |= n && m->inlined;
}

/* The number of an equal one, which has the same lines, or a new one. */
static u32 find_location(struct making *m, const struct location *at)
{
	struct locations *l = m->l;
	const u64 words[] = { at->addr, (u64)at->mapping << 1 | at->kernel };
	u32 id;

	m->key.len = 0;
	bytes_put(&m->key, words, sizeof(words));
	if (at->nr_lines)
		bytes_put(&m->key, l->lines.v + at->first_line, at->nr_lines * sizeof(*l->lines.v));
	id = strtab_intern(&l->location_ids, (const char *)m->key.p, m->key.len);
	if (id == l->all.n)
		vec_push(&l->all, *at);
	else
		l->lines.n = at->first_line;
	return id;
}

static void add_location(struct making *m, u32 frame, bool has_lines)
{
	const struct frame *f = frames_get(m->p->frames, frame);
	struct location at = { .addr = f->addr, .kernel = f->level == 'k' || f->level == 'g' };
	u32 segment = segment_of(&m->linked, f->addr);

	if (f->dso)
		at.mapping = find_mapping(m, f, segment);
	if (segment)
		at.addr = dso_linked_address(&m->linked, f->addr);
	add_lines(m, &at, frame, has_lines);
	m->l->of_frame[frame] = find_location(m, &at);
}

/* Many addresses cost much less than each alone. */
static void ask_ahead(struct making *m, u32 dso, size_t first, size_t end)
{
	VEC(u64) addrs = { 0 };

	for (size_t i = first; i < end; i++) {
		const struct frame *f = frames_get(m->p->frames, m->frames.v[i]);

		if (f->sym == ID_NONE || !f->addr)
			continue;
		dsos_start_parser_for(m->p->dsos, dso, f->addr);
		vec_push(&addrs, f->addr);
	}
	if (addrs.n)
		dsos_source_ahead(m->p->dsos, dso, addrs.v, (u32)addrs.n);
	vec_free(&addrs);
}

static void add_dso(struct making *m, size_t first, size_t end)
{
	u32 dso = frames_get(m->p->frames, m->frames.v[first])->dso;
	bool has_lines = dso && dsos_has_lines(m->p->dsos, dso);

	if (!dso || !dsos_linked(m->p->dsos, dso, &m->linked))
		m->linked.n = 0;
	if (has_lines)
		ask_ahead(m, dso, first, end);
	for (size_t i = first; i < end; i++)
		add_location(m, m->frames.v[i], has_lines);
}

void locations_make(struct locations *l, const struct profile *p, bool inlined)
{
	struct making m = { .l = l, .p = p, .inlined = inlined };

	*l = (struct locations){ 0 };
	strtab_intern_z(&l->strings, "");
	vec_push(&l->functions, (struct location_function){ 0 });
	vec_push(&l->lines, (struct location_line){ 0 });
	vec_push(&l->mappings, (struct location_mapping){ 0 });
	vec_push(&l->all, (struct location){ 0 });
	l->of_frame = mem_zalloc(((size_t)frames_count(p->frames) + 1) * sizeof(*l->of_frame));
	find_frames(&m);
	for (size_t first = 0, i = 1; first < m.frames.n; first = i++) {
		u32 dso = frames_get(p->frames, m.frames.v[first])->dso;

		while (i < m.frames.n && frames_get(p->frames, m.frames.v[i])->dso == dso)
			i++;
		add_dso(&m, first, i);
	}
	for (size_t i = 0; i < l->mappings.n; i++)
		l->mappings.v[i].functions = !l->mappings.v[i].unnamed;
	dsos_drop_lines(p->dsos);
	vec_free(&m.frames);
	bytes_free(&m.key);
}

enum { LINE_FUNCTION = 1, LINE_LINE = 2 };

void locations_put_lines(const struct locations *l, const struct location *at, u32 field, struct bytes *out)
{
	for (u32 i = 0; i < at->nr_lines; i++) {
		const struct location_line *line = &l->lines.v[at->first_line + i];
		size_t begun = proto_begin(out, field);

		proto_number(out, LINE_FUNCTION, line->function);
		proto_nonzero(out, LINE_LINE, line->line);
		proto_end(out, begun);
	}
}

void locations_free(struct locations *l)
{
	strtab_free(&l->strings);
	strtab_free(&l->build_ids);
	vec_free(&l->functions);
	vec_free(&l->lines);
	vec_free(&l->mappings);
	vec_free(&l->all);
	free(l->of_frame);
	map_free(&l->function_ids);
	strtab_free(&l->mapping_ids);
	strtab_free(&l->location_ids);
	bytes_free(&l->text);
}
