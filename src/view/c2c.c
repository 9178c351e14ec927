/* SPDX-License-Identifier: Apache-2.0 */
#include "view/c2c.h"

#include <string.h>

#include "view/report.h"
#include "view/table.h"

static const char *const verdicts[NR_LINE_VERDICTS] = {
	[LINE_ALONE] = "one thread",
	[LINE_READ] = "only loads",
	[LINE_FALSE] = "false sharing",
	[LINE_TRUE] = "true sharing",
	[LINE_BOTH] = "false and true sharing",
};

static bool is_shown(const struct shared_line *l, const struct c2c_opts *o)
{
	return o->all || l->verdict >= LINE_FALSE;
}

/* The object of a use by name and place, as "counters+0x10"; else what it lies in, as "[heap]". */
static void put_object(const struct profile *p, const struct line_use *u, struct bytes *out)
{
	const struct frame *f = frames_get(p->frames, u->datum);
	const struct symbol *s = f->sym == ID_NONE ? NULL : dsos_symbol(p->dsos, f->dso, f->sym);
	const char *name = s ? dsos_symbol_name(p->dsos, f->dso, f->sym) : dsos_at(p->dsos, u->object)->short_name;

	bytes_plain(out, name, strlen(name));
	if (s)
		bytes_printf(out, "+0x%llx", (unsigned long long)(f->addr - s->start));
}

static void put_code(const struct profile *p, const struct line_use *u, struct bytes *out)
{
	char made_up[PROFILE_MADE_UP];
	const char *name = profile_frame_name(p, u->code, made_up, sizeof(made_up));

	bytes_plain(out, name, strlen(name));
}

/* "file.c:12"; false: no line is known. */
static bool put_source(const struct profile *p, const struct line_use *u, struct bytes *out)
{
	const struct frame *f = frames_get(p->frames, u->code);
	struct source_frame at;
	const char *slash;

	if (!f->addr || !dsos_source_at(p->dsos, f->dso, f->addr, &at, 1) || !at.file)
		return false;
	slash = strrchr(at.file, '/');
	bytes_plain(out, slash ? slash + 1 : at.file, strlen(slash ? slash + 1 : at.file));
	bytes_printf(out, ":%u", at.line);
	return true;
}

static void put_comm(const struct profile *p, const struct line_use *u, struct bytes *out)
{
	if (u->comm & 1u << 31) { /* a thread that no record named (agg/keys.h) */
		bytes_printf(out, ":%u", u->tid);
		return;
	}
	bytes_plain(out, strtab_get(p->strings, u->comm), strlen(strtab_get(p->strings, u->comm)));
}

/* --- text --- */

/* What a line's threads fight for, said by its two most contended uses of different threads. */
static const struct line_use *most_contended(const struct shared_line *l, const struct line_use *but)
{
	const struct line_use *most = NULL;

	for (size_t i = 0; i < l->uses.n; i++) {
		const struct line_use *u = &l->uses.v[i];
		u64 weight = u->handed + u->missed + u->stores;

		if (but && (u->tid == but->tid || (u->offset == but->offset && l->verdict == LINE_FALSE)))
			continue;
		if (!most || weight > most->handed + most->missed + most->stores)
			most = u;
	}
	return most;
}

static void write_does(const struct profile *p, const struct line_use *u, struct bytes *out)
{
	put_code(p, u, out);
	bytes_printf(out, " in thread %u %s ", u->tid, u->stores ? "stores to" : "loads from");
	put_object(p, u, out);
	if (frames_get(p->frames, u->datum)->sym == ID_NONE)
		bytes_printf(out, " (byte %u of the line)", u->offset);
}

static void write_verdict(const struct profile *p, const struct shared_line *l, struct bytes *out)
{
	const struct line_use *a = most_contended(l, NULL), *b = a ? most_contended(l, a) : NULL;

	bytes_printf(out, "#    Verdict: %s", verdicts[l->verdict]);
	if (l->verdict == LINE_BOTH)
		bytes_printf(out, ", %.0f %% of it false", 100 * l->false_share);
	bytes_str(out, ".");
	if (l->verdict >= LINE_FALSE && a && b) {
		bytes_char(out, ' ');
		write_does(p, a, out);
		bytes_str(out, ", and ");
		write_does(p, b, out);
		bytes_str(out, ".");
	}
	bytes_char(out, '\n');
	if ((l->verdict == LINE_FALSE || l->verdict == LINE_BOTH) && a && b) {
		u32 apart = a->offset > b->offset ? a->offset - b->offset : b->offset - a->offset;

		bytes_printf(out,
			     "#    They lie %u bytes apart in one line: give each its own line, by %u bytes of "
			     "padding between them or by alignment to %u.\n",
			     apart, SHARED_LINE_BYTES - apart % SHARED_LINE_BYTES, SHARED_LINE_BYTES);
	} else if (l->verdict == LINE_TRUE) {
		bytes_printf(out,
			     "#    The threads use the same data%s, so padding does not help: share less, or less "
			     "often.\n",
			     l->locked ? " with locked instructions, like a lock or an atomic counter" : "");
	}
}

enum what { OFFSET, OBJECT, THREAD, LOADS, HANDED, STORES, MISSED, CYCLES, FUNCTION, SOURCE };

/* The form: who uses a line. */
struct uses {
	const struct profile *p;
	const struct shared_line *l;
	struct table table;
};

static void get(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct uses *f = t->form;
	const struct line_use *u = &f->l->uses.v[r->at];
	const u64 counts[] = { [OFFSET] = u->offset, [THREAD] = u->tid,	   [LOADS] = u->loads,
			       [HANDED] = u->handed, [STORES] = u->stores, [MISSED] = u->missed };

	out->kind = c->kind;
	if (c->kind == CELL_COUNT)
		out->count = counts[c->what];
	else if (c->what == CYCLES)
		out->real = u->loads ? (double)u->cost / (double)u->loads : 0;
	else if (c->what == OBJECT)
		put_object(f->p, u, out->text);
	else if (c->what == FUNCTION)
		put_code(f->p, u, out->text);
	else
		(void)put_source(f->p, u, out->text);
}

static void write_uses(const struct profile *p, const struct shared_line *l, const struct c2c_opts *o,
		       struct bytes *out)
{
	static const struct {
		const char *header;
		enum cell_kind kind;
		u32 least;
	} columns[] = {
		[OFFSET] = { "Offset", CELL_COUNT, 6 },	   [OBJECT] = { "Object", CELL_TEXT, 6 },
		[THREAD] = { "Thread", CELL_COUNT, 7 },	   [LOADS] = { "Loads", CELL_COUNT, 9 },
		[HANDED] = { "Handed", CELL_COUNT, 9 },	   [STORES] = { "Stores", CELL_COUNT, 9 },
		[MISSED] = { "L1 miss", CELL_COUNT, 9 },   [CYCLES] = { "Cycles", CELL_REAL, 10 },
		[FUNCTION] = { "Function", CELL_TEXT, 8 }, [SOURCE] = { "Source", CELL_TEXT, 6 },
	};
	const struct table_print how = { .whole_names = true, .no_ruler = true, .workers = 1 };
	struct uses f = { p, l, { .form = &f, .nr_rows = l->uses.n } };

	for (u32 i = 0; i < ARRAY_LEN(columns); i++) {
		struct table_column *c;

		if (i == SOURCE && !o->sources)
			break;
		c = table_column_add(&f.table, columns[i].kind, NULL, columns[i].header, get);
		c->what = i;
		c->least = columns[i].least;
		c->decimals = 1;
	}
	table_text(&f.table, &how, !o->quiet, out);
	table_free(&f.table);
}

static void write_line(const struct profile *p, const struct shared_line *l, const struct shared_lines *s, u32 nr,
		       const struct c2c_opts *o, struct bytes *out)
{
	if (!o->quiet) {
		bytes_printf(out, "#\n# %u. Line 0x%llx of process %u: ", nr, (unsigned long long)l->address, l->pid);
		bytes_printf(out, "%u threads, %u of them store to it, on %u CPUs\n", l->nr_threads, l->nr_writers,
			     l->nr_cpus);
		bytes_printf(out,
			     "#    Handed over by another core: %llu loads (%.1f %% of all such); %llu stores "
			     "whose line was not in L1 (%.1f %%); %.1f %% of the cost of loads\n",
			     (unsigned long long)l->handed, share_of(l->handed, s->handed),
			     (unsigned long long)l->missed, share_of(l->missed, s->missed),
			     share_of(l->cost, s->cost));
		write_verdict(p, l, out);
		bytes_str(out, "#\n");
	}
	write_uses(p, l, o, out);
	bytes_char(out, '\n');
}

static u32 nr_shown(const struct shared_lines *s, const struct c2c_opts *o)
{
	u32 n = 0;

	for (size_t i = 0; i < s->lines.n; i++)
		n += is_shown(&s->lines.v[i], o);
	return n;
}

static void write_head(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o,
		       struct bytes *out)
{
	u32 of[NR_LINE_VERDICTS] = { 0 };

	report_recording_head(p, out);
	for (size_t i = 0; i < s->lines.n; i++)
		of[s->lines.v[i].verdict]++;
	bytes_printf(out,
		     "# Sampled: %llu loads, %llu of them handed over by another core; %llu stores, %llu of them "
		     "not in L1; %llu samples without an address\n",
		     (unsigned long long)s->loads, (unsigned long long)s->handed, (unsigned long long)s->stores,
		     (unsigned long long)s->missed, (unsigned long long)s->nowhere);
	bytes_printf(out, "# Lines:   %zu", s->lines.n);
	for (u32 v = 0; v < NR_LINE_VERDICTS; v++)
		bytes_printf(out, "%s %u %s", v ? "," : ":", of[v], verdicts[v]);
	bytes_char(out, '\n');
	if (!nr_shown(s, o) && !o->totals)
		bytes_str(out, "#\n# No line is shared by threads that change it, as far as samples tell.\n");
}

void c2c_text(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o, struct bytes *out)
{
	u32 nr = 0, shown = nr_shown(s, o);

	if (!o->quiet)
		write_head(p, s, o, out);
	for (size_t i = 0; i < s->lines.n && !o->totals && (!o->most || nr < o->most); i++)
		if (is_shown(&s->lines.v[i], o))
			write_line(p, &s->lines.v[i], s, ++nr, o, out);
	if (nr < shown && !o->totals && !o->quiet)
		bytes_printf(out, "# %u more lines are shared: --lines says how many are shown.\n", shown - nr);
}

/* --- JSON --- */

static void set_bytes(struct json *j, const char *key, struct bytes *text)
{
	json_set_str(j, key, (const char *)text->p, text->len);
	text->len = 0;
}

static void put_use(const struct profile *p, const struct line_use *u, const struct c2c_opts *o, struct json *j)
{
	struct bytes text = { 0 };

	json_object(j);
	json_set_u64(j, "offset", u->offset);
	json_set_u64(j, "tid", u->tid);
	put_comm(p, u, &text);
	set_bytes(j, "comm", &text);
	put_object(p, u, &text);
	set_bytes(j, "object", &text);
	json_set_text(j, "dso", dsos_at(p->dsos, u->object)->short_name);
	put_code(p, u, &text);
	set_bytes(j, "symbol", &text);
	if (o->sources && put_source(p, u, &text))
		set_bytes(j, "source", &text);
	json_set_u64(j, "loads", u->loads);
	json_set_u64(j, "handed_over", u->handed);
	json_set_u64(j, "stores", u->stores);
	json_set_u64(j, "store_misses", u->missed);
	json_set_u64(j, "locked", u->locked);
	json_set_u64(j, "load_cycles", u->cost);
	json_object_end(j);
	bytes_free(&text);
}

static void put_line(const struct profile *p, const struct shared_line *l, const struct c2c_opts *o, struct json *j)
{
	json_object(j);
	json_set_addr(j, "address", l->address);
	json_set_u64(j, "pid", l->pid);
	json_set_u64(j, "threads", l->nr_threads);
	json_set_u64(j, "writers", l->nr_writers);
	json_set_u64(j, "cpus", l->nr_cpus);
	json_set_text(j, "verdict", verdicts[l->verdict]);
	json_key(j, "false_share");
	json_fixed(j, l->false_share, 4);
	json_set_u64(j, "loads", l->loads);
	json_set_u64(j, "handed_over", l->handed);
	json_set_u64(j, "stores", l->stores);
	json_set_u64(j, "store_misses", l->missed);
	json_set_u64(j, "locked", l->locked);
	json_set_u64(j, "load_cycles", l->cost);
	json_set_list(j, "uses");
	for (size_t i = 0; i < l->uses.n; i++) {
		json_line(j, "   ");
		put_use(p, &l->uses.v[i], o, j);
	}
	json_list_end(j);
	json_object_end(j);
}

void c2c_json(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o, struct bytes *out)
{
	struct json j = { .out = out };
	u32 nr = 0;

	json_object(&j);
	json_key(&j, "simulated");
	if (p->simulated.len)
		json_str(&j, p->simulated.p, p->simulated.len);
	else
		json_null(&j);
	json_set_u64(&j, "samples", p->tally.samples);
	json_set_u64(&j, "lost", p->tally.lost);
	json_set_u64(&j, "loads", s->loads);
	json_set_u64(&j, "handed_over", s->handed);
	json_set_u64(&j, "stores", s->stores);
	json_set_u64(&j, "store_misses", s->missed);
	json_set_u64(&j, "load_cycles", s->cost);
	json_set_u64(&j, "without_address", s->nowhere);
	json_set_list(&j, "lines");
	for (size_t i = 0; i < s->lines.n && !o->totals && (!o->most || nr < o->most); i++) {
		if (!is_shown(&s->lines.v[i], o))
			continue;
		nr++;
		json_line(&j, "  ");
		put_line(p, &s->lines.v[i], o, &j);
	}
	json_list_end(&j);
	json_object_end(&j);
	json_end(&j);
}
