/* SPDX-License-Identifier: Apache-2.0 */
/* The names of frames, and the numbers of stacks. */
#include "base/hash.h"
#include "view/export/sample_rows_impl.h"

static u32 build_id_text(struct row_writer *w, const struct dso *d)
{
	static const char digits[] = "0123456789abcdef";
	char s[2 * sizeof(d->build_id)];

	for (u32 i = 0; i < d->build_id_size; i++) {
		s[2 * i] = digits[d->build_id[i] >> 4];
		s[2 * i + 1] = digits[d->build_id[i] & 15];
	}
	return d->build_id_size ? row_writer_text(w, s, 2 * (size_t)d->build_id_size) : ID_NONE;
}

static void name_frame(struct sample_rows *r, struct row_writer *w, u32 id, struct frame_texts *out)
{
	const struct frame *f = frames_get(r->opts.frames, id);
	const struct dso *d = dsos_at(r->opts.dsos, f->dso);

	*out = (struct frame_texts){ true, ID_NONE, ID_NONE, ID_NONE, ID_NONE };
	if (f->sym != ID_NONE)
		out->symbol = row_text(w, dsos_symbol_name(r->opts.dsos, f->dso, f->sym));
	if (!f->dso)
		return;
	out->dso = row_text(w, d->short_name);
	out->path = row_text(w, d->path);
	out->build_id = build_id_text(w, d);
}

const struct frame_texts *row_frame(struct sample_rows *r, u32 id)
{
	while (r->frames.n <= id)
		vec_push(&r->frames, (struct frame_texts){ 0 });
	if (!r->frames.v[id].known)
		name_frame(r, r->out, id, &r->frames.v[id]);
	return &r->frames.v[id];
}

/* The frames of a stack that was not met before: depth 0 is where the sample was taken. */
static void write_stack(struct sample_rows *r, u64 stack, const u32 *frames, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		struct frame_texts *t;
		u64 v[] = { stack, i, 0, 0, 0, 0 };
		bool missing[ARRAY_LEN(v)] = { false };

		while (r->stack_frames.n <= frames[i])
			vec_push(&r->stack_frames, (struct frame_texts){ 0 });
		t = &r->stack_frames.v[frames[i]];
		if (!t->known)
			name_frame(r, r->stacks, frames[i], t);
		for (u32 k = 2; k < ARRAY_LEN(v); k++) {
			v[k] = k == 2 ? t->symbol : k == 3 ? t->dso : k == 4 ? t->path : t->build_id;
			missing[k] = v[k] == ID_NONE;
		}
		row_writer_row(r->stacks, v, missing);
	}
}

/* Of the names of its frames, so that it is the same in another recording. */
static u64 number_stack(struct sample_rows *r, const u32 *frames, u32 n)
{
	r->text.len = 0;
	for (u32 i = 0; i < n; i++) {
		const struct frame *f = frames_get(r->opts.frames, frames[i]);

		if (f->sym != ID_NONE)
			bytes_str(&r->text, dsos_symbol_name(r->opts.dsos, f->dso, f->sym));
		bytes_char(&r->text, '\n');
		bytes_str(&r->text, dsos_at(r->opts.dsos, f->dso)->path);
		bytes_char(&r->text, '\n');
	}
	return hash_stable(r->text.p, r->text.len) >> 1;
}

static u64 find_stack(struct sample_rows *r, const struct asked *a)
{
	u32 frames[MAX_STACK + 1], n = resolver_stack(r->resolver, a->t, a->h, frames);
	u64 stack = number_stack(r, frames, n);

	if (map_get(&r->seen, stack) == ID_NONE) {
		map_set(&r->seen, stack, 0);
		if (r->stacks)
			write_stack(r, stack, frames, n);
	}
	return stack;
}

bool row_stack(struct sample_rows *r, const struct asked *a, u64 *v)
{
	const struct u64s *chain = &a->h->s.chain;
	struct chain_slot *slot;
	u64 hash;

	if (!chain->n)
		return false;
	hash = hash_mix(hash_bytes(chain->p, (size_t)chain->n * 8), (uintptr_t)a->t->maps.space);
	hash = hash_mix(hash_mix(hash, (u64)a->t->maps.n << 32 | a->t->kernel.n), a->h->s.ip ^ a->h->cpumode);
	hash = hash ? hash : 1;
	slot = &r->chains[hash % CHAIN_SLOTS];
	if (slot->hash != hash)
		*slot = (struct chain_slot){ hash, find_stack(r, a) };
	*v = slot->stack;
	return true;
}
