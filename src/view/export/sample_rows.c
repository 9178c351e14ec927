/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "codec/data_src.h"
#include "view/export/sample_rows_impl.h"

static const struct parquet_column stack_columns[] = {
	{ "stack_id", PARQUET_S64, false }, { "depth", PARQUET_S32, false },	{ "symbol", PARQUET_TEXT, true },
	{ "dso", PARQUET_TEXT, true },	    { "dso_path", PARQUET_TEXT, true }, { "build_id", PARQUET_TEXT, true },
};

/* window_cycles: by what the event counts, if that is known, because the rest of its name says how it was recorded. */
static void name_window_column(struct sample_rows *r, const struct window_group *g, u32 member)
{
	const char *name = g->roles[member] < NR_ROLES ? event_role_names[g->roles[member]] :
							 r->opts.events->events.v[g->events[member]].name;

	r->text.len = 0;
	bytes_str(&r->text, "window_");
	bytes_shown(&r->text, name, strlen(name));
	bytes_char(&r->text, 0);
}

/* The column of the name in r->text, which is added if it is new; 0: there is no room. Columns are in the order of
 * r->names. */
static u32 window_column(struct sample_rows *r)
{
	const char *name = (const char *)r->text.p;
	u32 i = 0, column;

	while (i < r->names.n && strcmp(r->names.v[i], name))
		i++;
	column = r->nr_fixed + 1 + i; /* behind short_window */
	if (i == r->names.n) {
		vec_push(&r->names, mem_printf("%s", name));
		if (column < MAX_COLUMNS)
			r->columns[r->nr_columns++] = (struct parquet_column){ r->names.v[i], PARQUET_S64, true };
	}
	return column < MAX_COLUMNS ? column : 0;
}

/* Whether the window is a short one, and a column for each counter. */
static void add_window_columns(struct sample_rows *r)
{
	const struct windows *w = r->opts.windows;

	r->columns[r->nr_columns++] = (struct parquet_column){ "short_window", PARQUET_BOOL, true };
	for (size_t g = 0; g < w->groups.n; g++)
		for (u32 i = 0; i < w->groups.v[g].nr; i++) {
			name_window_column(r, &w->groups.v[g], i);
			r->window_column[w->groups.v[g].events[i]] = (u8)window_column(r);
		}
}

static void add_columns(struct sample_rows *r)
{
	bool memory = r->opts.table == TABLE_MEMORY;

	r->fixed = memory ? memory_columns : sample_columns;
	r->nr_fixed = r->nr_columns = memory ? nr_memory_columns : nr_sample_columns;
	for (u32 i = 0; i < r->nr_fixed; i++)
		r->columns[i] = (struct parquet_column){ r->fixed[i].name, r->fixed[i].kind, r->fixed[i].optional };
	r->window_column = mem_zalloc(r->opts.events->events.n + 1);
	if (r->opts.windows && !memory)
		add_window_columns(r);
	row_parts_new(r);
}

struct sample_rows *sample_rows_new(const struct sample_rows_opts *opts)
{
	struct sample_rows *r = mem_zalloc(sizeof(*r));
	struct resolver_opts ropts = { .samples = opts->samples, .deferred = opts->deferred };

	r->opts = *opts;
	r->resolver = resolver_new(opts->procs, opts->dsos, opts->frames, &ropts);
	add_columns(r);
	r->out = row_writer_new(opts->form, r->columns, r->nr_columns, opts->out);
	if (opts->stacks)
		r->stacks = row_writer_new(opts->form, stack_columns, ARRAY_LEN(stack_columns), opts->stacks);
	for (size_t i = 0; i < opts->events->events.n; i++)
		vec_push(&r->events, row_text(r->out, opts->events->events.v[i].name));
	r->chains = mem_zalloc(CHAIN_SLOTS * sizeof(*r->chains));
	return r;
}

void sample_rows_free(struct sample_rows *r)
{
	if (!r)
		return;
	row_writer_free(r->out);
	row_writer_free(r->stacks);
	row_parts_free(r);
	resolver_free(r->resolver);
	map_free(&r->comms);
	map_free(&r->words);
	map_free(&r->data);
	map_free(&r->flags);
	map_free(&r->seen);
	vec_free(&r->frames);
	vec_free(&r->stack_frames);
	vec_free(&r->events);
	for (size_t i = 0; i < r->names.n; i++)
		free(r->names.v[i]);
	vec_free(&r->names);
	bytes_free(&r->text);
	free(r->window_column);
	free(r->chains);
	free(r);
}

/* Looks for the code only if that is asked for: rows share what follows from it. */
static bool place_kept(struct sample_rows *r, const struct asked *a)
{
	const struct place_filter *f = r->opts.places;
	const struct frame *of;

	if (!place_filter_used(f))
		return true;
	of = frames_get(r->opts.frames, resolver_frame(r->resolver, a->t, a->h->cpumode, a->h->s.ip, false));
	return place_filter_keeps_code(f, r->opts.dsos, of->dso, of->sym, of->addr);
}

static bool is_kept(const struct sample_rows *r, const struct hit *h, const struct thread_view *t)
{
	const struct sample_filter *f = r->opts.filter;

	return sample_filter_inside(f, &h->s) && sample_filter_thread(f, h->s.pid, h->s.tid, t, r->opts.strings) &&
	       sample_filter_activity(f, h->activity);
}

/* Is it an access to memory? Of an operation, only the hit that counts it as one. */
static bool is_access(const struct hit *h)
{
	return h->full->has & PERF_SAMPLE_DATA_SRC && data_src_known(DATA_SRC_OP, h->full->data_src);
}

void row_window(const struct sample_rows *r, const struct hit *h, u64 *values, bool *missing)
{
	const struct window *w = h->window;
	const struct window_group *g;

	for (u32 i = 0; i < r->nr_columns - r->nr_fixed; i++) {
		values[i] = 0;
		missing[i] = true;
	}
	if (!w || w->fault != WINDOW_SOUND)
		return;
	g = &r->opts.windows->groups.v[w->group];
	values[0] = w->is_short;
	missing[0] = false;
	for (u32 i = 0; i < MIN(w->nr, g->nr); i++) {
		u32 column = r->window_column[g->events[i]];

		if (!column)
			continue;
		values[column - r->nr_fixed] = row_limited(w->counts[i]);
		missing[column - r->nr_fixed] = false;
	}
}

void sample_rows_add(struct sample_rows *r, const struct hit *h)
{
	struct asked a = { .h = h, .t = resolver_thread(r->resolver, h->s.pid, h->s.tid, h->clock) };

	if (r->opts.table == TABLE_MEMORY && !is_access(h))
		return;
	if (!is_kept(r, h, a.t) || !place_kept(r, &a)) {
		/* Of an operation's hits one at most is an access, which need not be the first. */
		r->filtered += r->opts.table == TABLE_MEMORY ? 1 : hit_samples(h);
		return;
	}
	row_parts_write(r, &a);
	r->count++;
}

u64 sample_rows_filtered(const struct sample_rows *r)
{
	return r->filtered;
}

u64 sample_rows_count(const struct sample_rows *r)
{
	return r->count;
}

u32 sample_rows_left_out(const struct sample_rows *r)
{
	return (u32)r->names.n - (r->names.n ? r->nr_columns - r->nr_fixed - 1 : 0);
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
