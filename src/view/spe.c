/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations. A row is one combination of keys; its parts are its loads by what had their data, its
 * stores, branches and others. All three forms have the same values, from one getter: c->what says which, and c->nth
 * of which kind (CSV, where a row is one line, has columns for each kind).
 */
#include "view/spe.h"

#include <string.h>

#include "agg/keys.h"
#include "base/pool.h"
#include "base/proportion.h"
#include "view/key_cell.h"
#include "view/table.h"

#define FEW_OPERATIONS 30 /* ratios of fewer are marked */

struct form {
	const struct profile *p;
	const struct profile_event *e;
	const struct spe_opts *o;
	const struct profile_operations *operations;
	struct table table;
};

enum stat { MEAN, P50, P95, P99, NR_STATS };

/* Values of a part: latencies and ratios come after the first two. */
enum {
	SHARE,
	COUNT,
	FIRST_LATENCY,
	FIRST_RATIO = FIRST_LATENCY + SPE_NR_COUNTERS * NR_STATS,
};

/* In the order in which tables show them. */
static const struct latency {
	u8 counter;
	const char *key, *header;
	const char *keys[NR_STATS];
} latencies[] = {
	{ SPE_ISSUE, "issue", "Issue", { "issue_mean", "issue_p50", "issue_p95", "issue_p99" } },
	{ SPE_TOTAL, "total", "Total", { "total_mean", "total_p50", "total_p95", "total_p99" } },
	{ SPE_TRANSLATION,
	  "translation",
	  "Transl.",
	  { "translation_mean", "translation_p50", "translation_p95", "translation_p99" } },
};
static const char *const stat_keys[NR_STATS] = { "mean", "p50", "p95", "p99" };

static const struct {
	const char *key, *header;
} ratios[NR_OPERATION_RATIOS] = {
	[OPERATION_L1D_MISS] = { "l1d_miss_percent", "L1D miss%" },
	[OPERATION_LLC_MISS] = { "llc_miss_percent", "LLC miss%" },
	[OPERATION_REMOTE] = { "remote_percent", "Remote%" },
	[OPERATION_TLB_WALK] = { "tlb_walk_percent", "TLB walk%" },
	[OPERATION_NOT_TAKEN] = { "not_taken_percent", "Not taken%" },
	[OPERATION_MISPREDICTED] = { "mispredicted_percent", "Mispred.%" },
};

/* CSV's columns of each kind begin with it. */
static const char *const prefixes[NR_OPERATION_KINDS] = {
	[SPE_FROM_L1] = "load_l1_",
	[SPE_FROM_L2] = "load_l2_",
	[SPE_FROM_PEER_CORE] = "load_peer_core_",
	[SPE_FROM_CLUSTER] = "load_local_cluster_",
	[SPE_FROM_SYSTEM_CACHE] = "load_system_cache_",
	[SPE_FROM_PEER_CLUSTER] = "load_peer_cluster_",
	[SPE_FROM_REMOTE] = "load_remote_",
	[SPE_FROM_DRAM] = "load_dram_",
	[SPE_FROM_BEYOND_L1] = "load_beyond_l1_",
	[SPE_FROM_LLC] = "load_llc_",
	[SPE_FROM_BEYOND_LLC] = "load_beyond_llc_",
	[SPE_FROM_UNKNOWN] = "load_unknown_",
	[OPERATION_STORE] = "store_",
	[OPERATION_BRANCH] = "branch_",
	[OPERATION_OTHER] = "other_",
};

static const char *kind_name(u32 kind)
{
	static const char *const names[] = { "store", "branch", "other" };

	return kind < SPE_NR_PLACES ? "load" : names[kind - OPERATION_STORE];
}

static const struct operation_part *part_of(const struct form *f, size_t at, u32 kind)
{
	u32 n;
	const struct operation_part *parts =
		profile_operations_parts(f->operations, at == TABLE_TOTAL ? f->e->rows.n : at, &n);

	for (u32 i = 0; i < n; i++)
		if (parts[i].kind == kind)
			return &parts[i];
	return NULL;
}

/* --- cells --- */

static void put_latency(const struct operation_latency *l, enum stat stat, struct cell *out)
{
	const u64 counts[NR_STATS] = { 0, l->p50, l->p95, l->p99 };

	if (!l->n)
		return;
	out->kind = stat == MEAN ? CELL_REAL : CELL_COUNT;
	if (stat == MEAN)
		out->real = (double)l->sum / (double)l->n;
	else
		out->count = counts[stat];
}

/* Operations are sampled independently of what happens to them. */
static void put_ratio(const struct operation_ratio_count *c, struct cell *out)
{
	const struct proportion p = proportion_of(c->n, c->of, c->of);

	if (!c->of)
		return;
	out->kind = CELL_RATIO;
	out->ratio = (struct metric_value){ .value = 100 * p.value,
					    .num = (double)c->n,
					    .den = (double)c->of,
					    .variance = 1e4 * p.value * (1 - p.value) / (double)c->of,
					    .half = 100 * p.half,
					    .low = 100 * p.low,
					    .high = 100 * p.high,
					    .doubtful = c->of < FEW_OPERATIONS };
}

static void get_value(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct operation_part *part = r->part ? r->part->of : part_of(f, r->at, c->nth), *whole;

	if (!part) {
		out->kind = c->what == COUNT ? CELL_COUNT : CELL_NONE;
		out->count = 0;
	} else if (c->what == SHARE) {
		whole = r->part ? part_of(f, r->at, OPERATION_ALL) : part_of(f, TABLE_TOTAL, OPERATION_ALL);
		out->kind = CELL_SHARE;
		out->share.part = part->n;
		out->share.percent = share_of(part->n, whole->n);
	} else if (c->what == COUNT) {
		out->kind = CELL_COUNT;
		out->count = part->n;
	} else if (c->what < FIRST_RATIO) {
		put_latency(&part->latency[(c->what - FIRST_LATENCY) / NR_STATS], (c->what - FIRST_LATENCY) % NR_STATS,
			    out);
	} else {
		put_ratio(&part->ratios[c->what - FIRST_RATIO], out);
	}
}

/* "9.5", "73": what a limit has room for. */
static void put_limit(double v, struct bytes *out)
{
	bytes_printf(out, "%.*f", v < 9.95, v);
}

/* In text: "4.2 [3.1, 5.6]". Intervals of few operations do not lie evenly around the value. */
static void get_interval(const struct table *t, const struct table_column *c, const struct table_row *r,
			 struct cell *out)
{
	const struct metric_value *v = &out->ratio;

	get_value(t, c, r, out);
	if (out->kind == CELL_RATIO) {
		bytes_printf(out->text, "%.1f [", v->value);
		put_limit(v->low, out->text);
		bytes_str(out->text, ", ");
		put_limit(v->high, out->text);
		bytes_char(out->text, ']');
	}
	out->kind = CELL_TEXT;
}

static struct row_view view_of(const struct form *f, size_t at)
{
	return (struct row_view){
		.profile = f->p, .event = f->e, .row = &f->e->rows.v[at], .long_names = f->o->long_names
	};
}

static void get_label(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	struct row_view v;

	out->kind = CELL_TEXT;
	if (r->at == TABLE_TOTAL) {
		bytes_str(out->text, c->nth ? "(all)" : "");
	} else if (!r->part) {
		v = view_of(t->form, r->at);
		column_label(c->what, &v, out->text);
	}
}

/* As programs read it. */
static void get_key(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	struct row_view v;

	if (r->at == TABLE_TOTAL)
		return;
	v = view_of(t->form, r->at);
	key_cell(c, &v, out);
}

/* --- parts --- */

static u32 parts(const struct table *t, size_t row, struct table_part *out)
{
	const struct form *f = t->form;
	u32 n;
	const struct operation_part *p = profile_operations_parts(f->operations, row, &n);

	_Static_assert(NR_OPERATION_KINDS <= TABLE_PARTS, "all fit");
	for (u32 i = 1; i < n; i++) /* the first one is the row */
		out[i - 1] = (struct table_part){ p[i].kind, &p[i] };
	return n ? n - 1 : 0;
}

static void part_text(const struct table *t, size_t row, const struct table_part *part, struct bytes *out)
{
	(void)t;
	(void)row;
	bytes_printf(out, "    %s", kind_name(part->id));
	if (part->id < SPE_NR_PLACES)
		bytes_printf(out, " from %s", spe_place_name(part->id));
}

/* [[from, to, operations], ...] of each latency */
static void put_histograms(const struct form *f, size_t row, u32 kind, struct json *j)
{
	struct operation_bar *bars = mem_alloc(OPERATION_BARS * sizeof(*bars));

	json_set_object(j, "histograms");
	for (u32 i = 0; i < ARRAY_LEN(latencies); i++) {
		u32 n = profile_operations_histogram(f->operations, row, kind, latencies[i].counter, bars);

		json_set_list(j, latencies[i].key);
		for (u32 k = 0; k < n; k++) {
			json_list(j);
			json_u64(j, bars[k].from);
			json_u64(j, bars[k].to);
			json_u64(j, bars[k].n);
			json_list_end(j);
		}
		json_list_end(j);
	}
	json_object_end(j);
	free(bars);
}

static void part_json(const struct table *t, size_t row, const struct table_part *part, struct json *j)
{
	json_set_text(j, "kind", kind_name(part->id));
	if (part->id < SPE_NR_PLACES)
		json_set_text(j, "source", spe_place_name(part->id));
	put_histograms(t->form, row, part->id, j);
}

static void row_json(const struct table *t, size_t row, struct json *j)
{
	put_histograms(t->form, row, OPERATION_ALL, j);
}

/* --- columns --- */

static void begin(struct form *f, const struct profile *p, size_t event, const struct spe_opts *o)
{
	*f = (struct form){ .p = p, .o = o };
	f->table.form = f;
	if (event >= p->events.n)
		return;
	f->e = &p->events.v[event];
	f->operations = f->e->measured[MEASURE_OPERATIONS];
}

static bool wants(const struct table *t, size_t row)
{
	const struct form *f = t->form;
	const struct operation_part *part = part_of(f, row, OPERATION_ALL);

	return part && share_of(part->n, part_of(f, TABLE_TOTAL, OPERATION_ALL)->n) >= f->o->percent_limit;
}

/* The rows that are shown: those that are wanted, and of these the first ones. */
static void set_rows(struct form *f)
{
	size_t end = 0;

	f->table.nr_rows = f->operations ? f->e->rows.n : 0;
	f->table.wants = wants;
	for (u32 n = 0; f->o->most && end < f->table.nr_rows && n < f->o->most; end++)
		n += wants(&f->table, end);
	if (f->o->most)
		f->table.nr_rows = end;
}

static struct table_column *add(struct form *f, enum cell_kind kind, const char *key, const char *header, u32 what)
{
	struct table_column *c = table_column_add(&f->table, kind, key, header, get_value);

	c->what = what;
	c->nth = OPERATION_ALL;
	c->decimals = TABLE_ALL_DECIMALS;
	c->of_parts = true;
	return c;
}

static u32 latency_field(const struct latency *l, enum stat stat)
{
	return FIRST_LATENCY + l->counter * NR_STATS + stat;
}

/* Only those that some operation has. */
static void add_text_values(struct form *f)
{
	const struct operation_part *all = part_of(f, TABLE_TOTAL, OPERATION_ALL);

	add(f, CELL_SHARE, NULL, "Share", SHARE)->least = 7;
	add(f, CELL_COUNT, NULL, "Operations", COUNT);
	for (u32 i = 0; i < ARRAY_LEN(latencies); i++)
		for (u32 k = 0; k < NR_STATS && all && all->latency[latencies[i].counter].n; k++)
			add(f, k == MEAN ? CELL_REAL : CELL_COUNT, NULL,
			    k == MEAN ? latencies[i].header : stat_keys[k], latency_field(&latencies[i], k))
				->decimals = 1;
	for (u32 i = 0; i < NR_OPERATION_RATIOS; i++)
		if (all && all->ratios[i].of && (i != OPERATION_REMOTE || all->ratios[i].n)) {
			struct table_column *c = add(f, CELL_TEXT, NULL, ratios[i].header, FIRST_RATIO + i);

			c->get = get_interval;
			c->left = false;
		}
}

static void add_labels(struct form *f)
{
	for (u32 i = 0; i < f->p->nr_sort; i++) {
		u32 id = column_of_key(f->p->sort_order[i]);
		const struct column *of = column_get(id);
		struct table_column *c =
			table_column_add(&f->table, CELL_TEXT, of->key, column_header(f->p, id), get_label);

		c->what = id;
		c->nth = i + 1 == f->p->nr_sort;
		c->least = of->width;
		c->left = of->type == COLUMN_TEXT || of->label;
		c->name = of->type == COLUMN_TEXT;
		c->key_of_row = true;
	}
}

static void add_keys(struct form *f)
{
	for (u32 i = 0; i < f->p->nr_sort; i++) {
		u32 id = column_of_key(f->p->sort_order[i]);
		const struct column *of = column_get(id);
		struct table_column *c = table_column_add(&f->table, of->number ? CELL_COUNT : CELL_TEXT,
							  column_json(f->p, id), NULL, get_key);

		c->what = id;
		c->key_of_row = true;
		c->foreign = column_key(id) >= SORT_FIELD;
	}
}

static void add_csv_values(struct form *f)
{
	add(f, CELL_SHARE, "operations", NULL, SHARE);
	for (u32 i = 0; i < ARRAY_LEN(latencies); i++)
		for (u32 k = 0; k < NR_STATS; k++)
			add(f, CELL_REAL, latencies[i].keys[k], NULL, latency_field(&latencies[i], k));
	for (u32 i = 0; i < NR_OPERATION_RATIOS; i++)
		add(f, CELL_RATIO, ratios[i].key, NULL, FIRST_RATIO + i);
	for (u32 kind = 0; kind < NR_OPERATION_KINDS && !f->o->no_kinds; kind++) {
		struct table_column *c = add(f, CELL_COUNT, "operations", NULL, COUNT);

		c->nth = kind;
		c->key_prefix = prefixes[kind];
		for (u32 i = 0; i < ARRAY_LEN(latencies); i++)
			for (u32 k = 0; k < NR_STATS; k++) {
				c = add(f, CELL_REAL, latencies[i].keys[k], NULL, latency_field(&latencies[i], k));
				c->nth = kind;
				c->key_prefix = prefixes[kind];
			}
	}
}

static void add_json_values(struct form *f)
{
	add(f, CELL_COUNT, "operations", NULL, COUNT);
	for (u32 i = 0; i < ARRAY_LEN(latencies); i++)
		for (u32 k = 0; k < NR_STATS; k++)
			add(f, CELL_REAL, stat_keys[k], NULL, latency_field(&latencies[i], k))->in[0] =
				latencies[i].key;
	for (u32 i = 0; i < NR_OPERATION_RATIOS; i++)
		add(f, CELL_RATIO, ratios[i].key, NULL, FIRST_RATIO + i);
}

/* --- text --- */

static void write_head(const struct form *f, struct bytes *out)
{
	const char *event = report_event_name(f->p, f->e);
	u32 n;
	const struct operation_part *v = profile_operations_parts(f->operations, f->e->rows.n, &n);
	u64 of[NR_OPERATION_KINDS] = { 0 }, loads = 0;

	for (u32 i = 1; i < n; i++) {
		of[v[i].kind] = v[i].n;
		loads += v[i].kind < SPE_NR_PLACES ? v[i].n : 0;
	}
	bytes_printf(out, "# Operations: %llu of event '", (unsigned long long)(n ? v->n : 0));
	bytes_plain(out, event, strlen(event));
	bytes_printf(out, "': %llu loads, %llu stores, %llu branches, %llu others\n", (unsigned long long)loads,
		     (unsigned long long)of[OPERATION_STORE], (unsigned long long)of[OPERATION_BRANCH],
		     (unsigned long long)of[OPERATION_OTHER]);
}

static void write_cores(const struct profile *p, const struct spe_opts *o, struct bytes *out)
{
	bool n1 = false;

	for (u32 i = 0; i < o->cores.n; i++) {
		bytes_printf(out, "%s%s", i ? ", " : "# Cores: ", o->cores.v[i]);
		n1 |= !strcmp(o->cores.v[i], "Neoverse-N1");
	}
	bytes_str(out, o->cores.n ? "\n" : "");
	if (n1 && !p->simulated.len)
		bytes_str(out,
			  "# Some revisions of Neoverse-N1 do not say of stores whether they missed caches or the "
			  "TLB: do not compare stores with loads there.\n");
}

static void write_event(const struct profile *p, size_t event, const struct spe_opts *o, struct bytes *out)
{
	const struct table_print how = { .room = o->room,
					 .whole_names = o->whole_names,
					 .color = o->color,
					 .workers = o->workers ? o->workers : pool_default_workers() };
	struct form f;

	begin(&f, p, event, o);
	set_rows(&f);
	f.table.has_total = true;
	f.table.parts = o->no_kinds ? NULL : parts;
	f.table.part_text = part_text;
	add_text_values(&f);
	add_labels(&f);
	if (!o->quiet) {
		write_head(&f, out);
		bytes_str(out,
			  "# Latencies are in cycles, mean and percentiles: until the operation was issued, until "
			  "it was done, and to translate its address.\n"
			  "# Behind each ratio is its 95 % interval.");
		bytes_str(out,
			  o->no_kinds ? "\n#\n" : " Below each row are its parts, whose shares are of the row.\n#\n");
	}
	table_text(&f.table, &how, !o->quiet, out);
	table_free(&f.table);
}

void spe_text(const struct profile *p, const struct spe_opts *o, struct bytes *out)
{
	u32 n = 0;

	if (!o->quiet) {
		report_recording_head(p, out);
		write_cores(p, o, out);
	}
	for (size_t i = 0; i < p->events.n; i++) {
		if (!p->events.v[i].measured[MEASURE_OPERATIONS])
			continue;
		if (n++)
			bytes_str(out, "\n\n");
		write_event(p, i, o, out);
	}
	if (!n && !o->quiet)
		bytes_str(out, "# No operations.\n");
}

/* --- CSV and JSON --- */

void spe_csv(const struct profile *p, const struct spe_opts *o, struct bytes *out)
{
	struct form f;

	begin(&f, p, p->events.n, o); /* all events' tables have these columns */
	add_keys(&f);
	add_csv_values(&f);
	table_csv_header(&f.table, out);
	table_free(&f.table);
	for (size_t i = 0; i < p->events.n; i++) {
		begin(&f, p, i, o);
		set_rows(&f);
		add_keys(&f);
		add_csv_values(&f);
		table_csv_rows(&f.table, out);
		table_free(&f.table);
	}
}

static void json_event(const struct profile *p, size_t event, const struct spe_opts *o, struct json *j)
{
	struct form f;

	begin(&f, p, event, o);
	set_rows(&f);
	f.table.parts = o->no_kinds ? NULL : parts;
	f.table.part_json = part_json;
	f.table.draw_json = row_json;
	f.table.parts_key = "kinds";
	add_keys(&f);
	add_json_values(&f);
	json_object(j);
	json_set_text(j, "name", report_event_name(p, f.e));
	json_set_object(j, "total");
	table_json_members(&f.table, &(struct table_row){ .at = TABLE_TOTAL }, f.p->nr_sort, j);
	put_histograms(&f, f.e->rows.n, OPERATION_ALL, j);
	json_object_end(j);
	json_set_list(j, "rows");
	table_json_rows(&f.table, j);
	json_list_end_line(j);
	json_object_end(j);
	table_free(&f.table);
}

void spe_json(const struct profile *p, const struct spe_opts *o, struct bytes *out)
{
	struct json j = { .out = out };

	json_object(&j);
	json_set_object(&j, "meta");
	json_set_text(&j, "generator", "reticle " RETICLE_VERSION);
	json_set_list(&j, "sort");
	for (u32 i = 0; i < p->nr_sort; i++)
		json_text(&j, column_json(p, column_of_key(p->sort_order[i])));
	json_list_end(&j);
	json_set_list(&j, "cores");
	for (u32 i = 0; i < o->cores.n; i++)
		json_text(&j, o->cores.v[i]);
	json_list_end(&j);
	json_object_end(&j);
	report_tally_json(p, &j);
	json_line(&j, "");
	json_set_list(&j, "events");
	for (size_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].measured[MEASURE_OPERATIONS])
			json_event(p, i, o, &j);
	json_list_end(&j);
	json_object_end(&j);
	json_end(&j);
}
