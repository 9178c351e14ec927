/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/sample_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "codec/data_src.h"
#include "codec/perf_abi.h"

#define MAX_COLUMNS 64u
#define CHAIN_SLOTS (1u << 14)

/* A raw chain that was met, and the number of its stack. */
struct chain_slot {
	u64 hash; /* 0: empty */
	u64 stack;
};

/* The texts of a frame, as ids of the writer; ID_NONE: it has none. */
struct frame_texts {
	bool known;
	u32 symbol, dso, path, build_id;
};

/* What a column's value is taken from. */
struct asked {
	const struct hit *h;
	const struct thread_view *t;
	u32 frame; /* of its ip */
};

struct sample_rows {
	struct sample_rows_opts opts;
	struct resolver *resolver;
	const struct row_column *rows;
	u32 nr_columns;
	struct parquet_column columns[MAX_COLUMNS];
	struct row_writer *out, *stacks;
	struct map names;		/* string id -> text */
	VEC(struct frame_texts) frames; /* by id */
	VEC(struct frame_texts) stack_frames;
	VEC(u32) events; /* texts of their names */
	struct map words; /* part << 56 ^ bits of data_src -> text */
	struct chain_slot *chains;
	struct map seen; /* stack -> 0 */
	struct bytes text;
	u64 count;
};

/* Sets *v; false: there is none. */
typedef bool (*value_fn)(struct sample_rows *r, const struct asked *a, u64 *v);

struct row_column {
	const char *name;
	u8 kind;
	bool optional;
	value_fn value;
};

static bool has(const struct asked *a, u64 bit)
{
	return a->h->full->has & bit;
}

/* Signed numbers end there; what is larger cannot be true. */
static u64 limited(u64 v)
{
	return MIN(v, (u64)INT64_MAX);
}

static u32 text(struct row_writer *w, const char *s)
{
	return row_writer_text(w, s, strlen(s));
}

static bool value_time(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = limited(a->h->s.time);
	return has(a, PERF_SAMPLE_TIME);
}

static bool value_event(struct sample_rows *r, const struct asked *a, u64 *v)
{
	*v = r->events.v[a->h->event];
	return true;
}

static bool value_comm(struct sample_rows *r, const struct asked *a, u64 *v)
{
	char made_up[THREAD_NAME_SIZE];
	u32 *id;

	if (a->t->comm == ID_NONE) {
		*v = text(r->out, thread_made_up_name(a->h->s.tid, made_up));
		return true;
	}
	id = map_at(&r->names, a->t->comm, ID_NONE - 1);
	if (*id == ID_NONE - 1)
		*id = text(r->out, strtab_get(r->opts.strings, a->t->comm));
	*v = *id;
	return true;
}

static bool value_pid(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.pid;
	return has(a, PERF_SAMPLE_TID);
}

static bool value_tid(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.tid;
	return has(a, PERF_SAMPLE_TID);
}

static bool value_cpu(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.cpu;
	return has(a, PERF_SAMPLE_CPU);
}

static bool value_period(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = limited(a->h->s.period);
	return true;
}

static bool value_mode(struct sample_rows *r, const struct asked *a, u64 *v)
{
	static const struct {
		char level;
		const char *name;
	} modes[] = { { 'k', "kernel" }, { '.', "user" }, { 'g', "guest kernel" }, { 'u', "guest user" } };
	char level = cpumode_level(a->h->cpumode);
	const char *name = "hypervisor";

	for (u32 i = 0; i < ARRAY_LEN(modes); i++)
		name = modes[i].level == level ? modes[i].name : name;
	*v = text(r->out, name);
	return true;
}

static bool value_ip(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.ip;
	return has(a, PERF_SAMPLE_IP);
}

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
		out->symbol = text(w, dsos_symbol_name(r->opts.dsos, f->dso, f->sym));
	if (!f->dso)
		return;
	out->dso = text(w, d->short_name);
	out->path = text(w, d->path);
	out->build_id = build_id_text(w, d);
}

static const struct frame_texts *frame_texts(struct sample_rows *r, u32 id)
{
	while (r->frames.n <= id)
		vec_push(&r->frames, (struct frame_texts){ 0 });
	if (!r->frames.v[id].known)
		name_frame(r, r->out, id, &r->frames.v[id]);
	return &r->frames.v[id];
}

static bool is_text(u32 id, u64 *v)
{
	*v = id;
	return id != ID_NONE;
}

static bool value_symbol(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(frame_texts(r, a->frame)->symbol, v);
}

static bool value_dso(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(frame_texts(r, a->frame)->dso, v);
}

static bool value_path(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(frame_texts(r, a->frame)->path, v);
}

static bool value_build_id(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(frame_texts(r, a->frame)->build_id, v);
}

static bool value_addr(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->full->addr;
	return has(a, PERF_SAMPLE_ADDR);
}

static bool value_weight(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = limited(a->h->full->weight);
	return has(a, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
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
		missing[2] = !is_text(t->symbol, &v[2]);
		missing[3] = !is_text(t->dso, &v[3]);
		missing[4] = !is_text(t->path, &v[4]);
		missing[5] = !is_text(t->build_id, &v[5]);
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

static bool value_stack(struct sample_rows *r, const struct asked *a, u64 *v)
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

static const struct row_column sample_columns[] = {
	{ "time", PARQUET_S64, true, value_time },
	{ "event", PARQUET_TEXT, false, value_event },
	{ "comm", PARQUET_TEXT, false, value_comm },
	{ "pid", PARQUET_S32, true, value_pid },
	{ "tid", PARQUET_S32, true, value_tid },
	{ "cpu", PARQUET_S32, true, value_cpu },
	{ "period", PARQUET_S64, false, value_period },
	{ "mode", PARQUET_TEXT, false, value_mode },
	{ "ip", PARQUET_U64, true, value_ip },
	{ "symbol", PARQUET_TEXT, true, value_symbol },
	{ "dso", PARQUET_TEXT, true, value_dso },
	{ "dso_path", PARQUET_TEXT, true, value_path },
	{ "build_id", PARQUET_TEXT, true, value_build_id },
	{ "addr", PARQUET_U64, true, value_addr },
	{ "weight", PARQUET_S64, true, value_weight },
	{ "stack_id", PARQUET_S64, true, value_stack },
};

static const struct parquet_column stack_columns[] = {
	{ "stack_id", PARQUET_S64, false }, { "depth", PARQUET_S32, false },	{ "symbol", PARQUET_TEXT, true },
	{ "dso", PARQUET_TEXT, true },	    { "dso_path", PARQUET_TEXT, true }, { "build_id", PARQUET_TEXT, true },
};

struct sample_rows *sample_rows_new(const struct sample_rows_opts *opts)
{
	struct sample_rows *r = mem_zalloc(sizeof(*r));
	struct resolver_opts ropts = { .samples = opts->samples, .deferred = opts->deferred };

	r->opts = *opts;
	r->resolver = resolver_new(opts->procs, opts->dsos, opts->frames, &ropts);
	r->rows = sample_columns;
	r->nr_columns = ARRAY_LEN(sample_columns);
	for (u32 i = 0; i < r->nr_columns; i++)
		r->columns[i] =
			(struct parquet_column){ r->rows[i].name, r->rows[i].kind, r->rows[i].optional };
	r->out = row_writer_new(opts->form, r->columns, r->nr_columns, opts->out);
	if (opts->stacks)
		r->stacks = row_writer_new(opts->form, stack_columns, ARRAY_LEN(stack_columns), opts->stacks);
	for (size_t i = 0; i < opts->events->events.n; i++)
		vec_push(&r->events, text(r->out, opts->events->events.v[i].name));
	r->chains = mem_zalloc(CHAIN_SLOTS * sizeof(*r->chains));
	return r;
}

void sample_rows_free(struct sample_rows *r)
{
	if (!r)
		return;
	row_writer_free(r->out);
	row_writer_free(r->stacks);
	resolver_free(r->resolver);
	map_free(&r->names);
	map_free(&r->words);
	map_free(&r->seen);
	vec_free(&r->frames);
	vec_free(&r->stack_frames);
	vec_free(&r->events);
	bytes_free(&r->text);
	free(r->chains);
	free(r);
}

static bool is_kept(const struct sample_rows *r, const struct hit *h, const struct thread_view *t)
{
	const struct sample_filter *f = r->opts.filter;

	return sample_filter_inside(f, &h->s) &&
	       sample_filter_thread(f, h->s.pid, h->s.tid, t, r->opts.strings);
}

void sample_rows_add(struct sample_rows *r, const struct hit *h)
{
	struct asked a = { .h = h, .t = resolver_thread(r->resolver, h->s.pid, h->s.tid, h->clock) };
	u64 values[MAX_COLUMNS];
	bool missing[MAX_COLUMNS];

	if (!is_kept(r, h, a.t))
		return;
	a.frame = resolver_frame(r->resolver, a.t, h->cpumode, h->s.ip, false);
	for (u32 i = 0; i < r->nr_columns; i++)
		missing[i] = !r->rows[i].value(r, &a, &values[i]);
	row_writer_row(r->out, values, missing);
	r->count++;
}

u64 sample_rows_count(const struct sample_rows *r)
{
	return r->count;
}

u64 sample_rows_stacks(const struct sample_rows *r)
{
	return r->seen.n;
}

bool sample_rows_end(struct sample_rows *r)
{
	bool whole = row_writer_end(r->out);

	return (!r->stacks || row_writer_end(r->stacks)) && whole;
}
