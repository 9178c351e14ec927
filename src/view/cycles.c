/* SPDX-License-Identifier: Apache-2.0 */
#include "view/cycles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agg/columns.h"
#include "base/mem.h"
#include "view/table.h"

struct form {
	const struct cycles_of *of;
	const struct code_blocks *blocks;
	struct dsos *dsos;
	double limit;
	bool long_names;
	char keys[EVENT_SUMS_MAX][2][16]; /* of the columns of counters */
	struct table table;
};

/* A column's `what`. */
enum { CYCLES, AVERAGE, AVERAGE_PERCENT, SYMBOL, RANGE, DSO, EVENTS, FULL };
/* Which end of the block a column of data is of: its `nth`. */
enum { FROM, TO };
enum { WITH_OFFSET = 1 }; /* a symbol's `nth` */

static const struct code_block *block_at(const struct table *t, size_t row)
{
	const struct form *f = t->form;

	return &f->blocks->v.v[row];
}

static double average_of(const struct code_block *b)
{
	return (double)b->cycles / (double)b->times;
}

static void get_number(const struct table *t, const struct table_column *c, const struct table_row *r,
		       struct cell *out)
{
	const struct form *f = t->form;
	const struct code_block *b = block_at(t, r->at);

	out->kind = c->kind;
	if (c->kind == CELL_SHARE) {
		out->share.part = b->cycles;
		out->share.percent = share_of(b->cycles, f->blocks->cycles);
	} else if (c->kind == CELL_COUNT) {
		out->count = b->cycles;
	} else {
		out->real = c->what == AVERAGE ? average_of(b) : 100 * average_of(b) / f->blocks->averages;
	}
}

static void put_symbol(const struct form *f, const struct code_block *b, u64 addr, bool offset, struct bytes *out)
{
	u32 sym = dsos_symbol_at(f->dsos, b->dso, addr);

	if (sym == ID_NONE) {
		bytes_printf(out, "0x%llx", (unsigned long long)addr);
		return;
	}
	bytes_str(out, dsos_symbol_name(f->dsos, b->dso, sym));
	if (offset)
		bytes_printf(out, "+0x%llx", (unsigned long long)(addr - dsos_symbol(f->dsos, b->dso, sym)->start));
}

/* "qs.c:12", with the whole path in data; false: not known. */
static bool put_line(const struct form *f, const struct code_block *b, u64 addr, bool path, struct bytes *out)
{
	struct source_frame frame;
	const char *name;

	if (!dsos_source_at(f->dsos, b->dso, addr, &frame, 1) || !frame.file)
		return false;
	name = strrchr(frame.file, '/');
	bytes_str(out, name && !path ? name + 1 : frame.file);
	bytes_printf(out, ":%u", frame.line);
	return true;
}

/* As perf: lines where both are known, otherwise places in the function. */
static void put_range(const struct form *f, const struct code_block *b, struct bytes *out)
{
	struct bytes lines = { 0 };
	bool known = put_line(f, b, b->from, false, &lines);

	bytes_str(&lines, " -> ");
	known = known && put_line(f, b, b->to, false, &lines);
	bytes_char(out, '[');
	if (known) {
		bytes_put(out, lines.p, lines.len);
	} else {
		put_symbol(f, b, b->from, true, out);
		bytes_str(out, " -> ");
		put_symbol(f, b, b->to, true, out);
	}
	bytes_char(out, ']');
	bytes_free(&lines);
}

static void get_text(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct code_block *b = block_at(t, r->at);

	out->kind = CELL_TEXT;
	if (c->what == SYMBOL)
		put_symbol(f, b, b->from, c->nth, out->text);
	else if (c->what == RANGE)
		put_range(f, b, out->text);
	else
		bytes_str(out->text,
			  f->long_names ? dsos_at(f->dsos, b->dso)->path : dsos_at(f->dsos, b->dso)->short_name);
}

/* One end, for programs. */
static void get_place(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct code_block *b = block_at(t, r->at);

	out->kind = CELL_TEXT;
	put_symbol(t->form, b, c->nth == TO ? b->to : b->from, true, out->text);
}

static void get_line(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct code_block *b = block_at(t, r->at);

	if (put_line(t->form, b, c->nth == TO ? b->to : b->from, true, out->text))
		out->kind = CELL_TEXT;
}

#define LETTERS 3 /* of one event, at most */

/* "|AA  |-   |B+  |": the mean of a passage, rounded up, as perf has it. Blank: no passage had this counter. */
static void get_counters(const struct table *t, const struct table_column *c, const struct table_row *r,
			 struct cell *out)
{
	const struct form *f = t->form;
	const struct event_sum *sums = code_block_events(f->blocks, block_at(t, r->at));

	(void)c;
	if (!sums)
		return;
	out->kind = CELL_TEXT;
	for (u32 i = 0; i < f->blocks->nr_counted; i++) {
		const struct event_sum *s = &sums[i];
		u64 mean = s->passages ? (s->happened + s->passages - 1) / s->passages : 0;
		size_t start;

		bytes_char(out->text, '|');
		start = out->text->len;
		if (s->passages && !mean)
			bytes_char(out->text, '-');
		for (u64 n = 0; n < MIN(mean, (u64)LETTERS); n++)
			branch_counter_name(i, out->text);
		if (s->full || mean > LETTERS)
			bytes_char(out->text, '+');
		bytes_repeat(out->text, ' ', LETTERS + 1 - (int)MIN(out->text->len - start, (size_t)LETTERS + 1));
	}
	bytes_char(out->text, '|');
}

/* The same for programs: of one counter, the column's nth. */
static void get_counter(const struct table *t, const struct table_column *c, const struct table_row *r,
			struct cell *out)
{
	const struct form *f = t->form;
	const struct event_sum *sums = code_block_events(f->blocks, block_at(t, r->at));

	if (!sums || !sums[c->nth].passages)
		return;
	out->kind = c->kind;
	if (c->what == FULL)
		out->count = sums[c->nth].full;
	else
		out->real = (double)sums[c->nth].happened / (double)sums[c->nth].passages;
}

static bool wants(const struct table *t, size_t row)
{
	const struct form *f = t->form;

	return share_of(f->blocks->v.v[row].cycles, f->blocks->cycles) >= f->limit;
}

struct by_dso {
	u32 dso;
	size_t row;
};

static int compare_dsos(const void *a, const void *b)
{
	const struct by_dso *x = a, *y = b;

	return x->dso < y->dso ? -1 : x->dso > y->dso;
}

/* One row's lines cost as much as those of many: they are asked for together, by DSO. */
static void ask_lines(const struct form *f)
{
	const struct code_blocks *b = f->blocks;
	struct by_dso *rows = mem_alloc((b->v.n + 1) * sizeof(*rows));
	u64 *addrs = mem_alloc((2 * b->v.n + 1) * sizeof(*addrs));
	size_t n = 0;

	for (size_t i = 0; i < b->v.n; i++)
		if (wants(&f->table, i))
			rows[n++] = (struct by_dso){ b->v.v[i].dso, i };
	qsort(rows, n, sizeof(*rows), compare_dsos);
	for (size_t first = 0, i = 0; first < n; first = i) {
		u32 asked = 0;

		for (; i < n && rows[i].dso == rows[first].dso; i++) {
			addrs[asked++] = b->v.v[rows[i].row].from;
			addrs[asked++] = b->v.v[rows[i].row].to;
		}
		dsos_source_ahead(f->dsos, rows[first].dso, addrs, asked);
	}
	free(addrs);
	free(rows);
}

static struct table_column *add(struct form *f, enum cell_kind kind, const char *key, const char *header, u32 what,
				table_get get)
{
	struct table_column *c = table_column_add(&f->table, kind, key, header, get);

	c->what = what;
	c->decimals = what == AVERAGE_PERCENT ? 2 : 1;
	return c;
}

static void begin(struct form *f, const struct cycles_of *of, struct dsos *dsos, const struct cycles_opts *o)
{
	*f = (struct form){
		.of = of, .blocks = of->blocks, .dsos = dsos, .limit = o->percent_limit, .long_names = o->long_names
	};
	f->table.form = f;
	f->table.nr_rows = of->blocks->v.n;
	f->table.wants = wants;
	ask_lines(f);
}

static void get_core(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;

	(void)c;
	(void)r;
	out->kind = CELL_TEXT;
	bytes_put(out->text, f->of->simulated.p, f->of->simulated.len);
}

static const char *counter_key(struct form *f, u32 counter, u32 which, const char *prefix)
{
	struct bytes name = { 0 };

	branch_counter_name(counter, &name);
	bytes_char(&name, 0);
	snprintf(f->keys[counter][which], sizeof(f->keys[counter][which]), "%s%s", prefix, (const char *)name.p);
	bytes_free(&name);
	return f->keys[counter][which];
}

static void add_counters(struct form *f)
{
	for (u32 i = 0; i < f->blocks->nr_counted; i++) {
		struct table_column *c = add(f, CELL_REAL, counter_key(f, i, 0, "events_"), NULL, EVENTS, get_counter);

		c->nth = i;
		c->decimals = 2;
		add(f, CELL_COUNT, counter_key(f, i, 1, "full_"), NULL, FULL, get_counter)->nth = i;
	}
}

static void add_data(struct form *f)
{
	add(f, CELL_SHARE, "sampled_cycles", NULL, CYCLES, get_number);
	add(f, CELL_REAL, "average_percent", NULL, AVERAGE_PERCENT, get_number);
	add(f, CELL_REAL, "average_cycles", NULL, AVERAGE, get_number);
	add(f, CELL_TEXT, "symbol", NULL, SYMBOL, get_text);
	add(f, CELL_TEXT, "from", NULL, RANGE, get_place);
	add(f, CELL_TEXT, "to", NULL, RANGE, get_place)->nth = TO;
	add(f, CELL_TEXT, "from_line", NULL, RANGE, get_line);
	add(f, CELL_TEXT, "to_line", NULL, RANGE, get_line)->nth = TO;
	add(f, CELL_TEXT, "dso", NULL, DSO, get_text);
	add_counters(f);
}

static void add_columns(struct form *f)
{
	struct table_column *c;

	add(f, CELL_SHARE, "share", "Sampled Cycles%", CYCLES, get_number);
	add(f, CELL_COUNT, "cycles", "Sampled Cycles", CYCLES, get_number);
	add(f, CELL_REAL, "average_percent", "Avg Cycles%", AVERAGE_PERCENT, get_number)->percent = true;
	add(f, CELL_REAL, "average", "Avg Cycles", AVERAGE, get_number);
	if (f->blocks->nr_counted)
		add(f, CELL_TEXT, "counters", "Branch Counter", EVENTS, get_counters)->left = false;
	/* Many blocks may lie on one line. */
	c = add(f, CELL_TEXT, "symbol", "Symbol", SYMBOL, get_text);
	c->nth = WITH_OFFSET;
	c->left = c->name = true;
	c = add(f, CELL_TEXT, "range", "[Program Block Range]", RANGE, get_text);
	c->left = c->name = true;
	c = add(f, CELL_TEXT, "dso", "Shared Object", DSO, get_text);
	c->left = c->name = true;
}

static void put_counter_names(const struct cycles_of *c, struct json *j)
{
	json_set_list(j, "counters");
	for (u32 i = 0; i < c->blocks->nr_counted; i++) {
		const char *event = c->events->events.v[c->counters->v.v[i].event].name;
		struct bytes name = { 0 };

		branch_counter_name(i, &name);
		json_object(j);
		json_set_str(j, "name", (const char *)name.p, name.len);
		json_set_text(j, "event", event ? event : "[unknown]");
		json_set_u64(j, "most", branch_counter_most(c->counters));
		json_object_end(j);
		bytes_free(&name);
	}
	json_list_end(j);
}

static void write_head(const struct cycles_of *c, struct bytes *out)
{
	if (c->simulated.len) {
		bytes_str(out, "# Source: simulated (");
		bytes_plain(out, c->simulated.p, c->simulated.len);
		bytes_str(out, ")\n");
	}
	bytes_printf(
		out,
		"# Total Lost Samples: %llu\n"
		"# Samples with branches: %llu; cycles between their branches: %llu, %.1f%% of them in blocks of "
		"known code\n"
		"# A block is the code from the target of a branch to the next branch that was taken; its average "
		"is of one passage.\n#\n",
		(unsigned long long)c->lost, (unsigned long long)c->samples, (unsigned long long)c->blocks->cycles,
		share_of(c->blocks->known, c->blocks->cycles));
	if (c->blocks->nr_counted) {
		branch_counters_legend(c->counters, c->events, out);
		bytes_str(out, "#\n");
	}
}

void cycles_text(const struct cycles_of *c, struct dsos *dsos, const struct cycles_opts *o, struct bytes *out)
{
	const struct table_print how = { .room = o->room, .whole_names = o->whole_names, .workers = 1 };
	struct form f;

	begin(&f, c, dsos, o);
	add_columns(&f);
	if (!o->quiet)
		write_head(c, out);
	table_text(&f.table, &how, !o->quiet, out);
	table_free(&f.table);
}

void cycles_csv(const struct cycles_of *c, struct dsos *dsos, const struct cycles_opts *o, struct bytes *out)
{
	struct form f;

	begin(&f, c, dsos, o);
	add_data(&f);
	if (c->simulated.len)
		table_column_add(&f.table, CELL_TEXT, "simulated", NULL, get_core);
	table_csv_header(&f.table, out);
	table_csv_rows(&f.table, out);
	table_free(&f.table);
}

void cycles_json(const struct cycles_of *c, struct dsos *dsos, const struct cycles_opts *o, struct bytes *out)
{
	struct json j = { .out = out };
	struct form f;

	begin(&f, c, dsos, o);
	add_data(&f);
	json_object(&j);
	json_key(&j, "simulated");
	if (c->simulated.len)
		json_str(&j, c->simulated.p, c->simulated.len);
	else
		json_null(&j);
	json_set_u64(&j, "cycles", c->blocks->cycles);
	json_set_u64(&j, "samples", c->samples);
	json_set_u64(&j, "lost", c->lost);
	if (c->blocks->nr_counted)
		put_counter_names(c, &j);
	json_set_list(&j, "blocks");
	table_json_rows(&f.table, &j);
	json_list_end(&j);
	json_object_end(&j);
	bytes_char(out, '\n');
	table_free(&f.table);
}
