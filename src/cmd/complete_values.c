/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/complete_values.h"

#include <string.h>

#include "agg/columns.h"
#include "cmd/graph_spec.h"
#include "cmd/record_options.h"
#include "codec/record.h"
#include "codec/regs.h"
#include "events/catalog.h"
#include "events/spec.h"
#include "metric/metrics.h"
#include "view/script/fields.h"

static void put_line(const char *word, struct bytes *out)
{
	bytes_str(out, word);
	bytes_char(out, '\n');
}

/* Parted by blanks. */
static void put_words(const char *words, struct bytes *out)
{
	for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
		bytes_put(out, at, strcspn(at, " "));
		bytes_char(out, '\n');
		at += strcspn(at, " ");
	}
}

static void put_keys(struct bytes *out)
{
	for (u32 i = NR_VALUE_COLUMNS; i < column_of_key(SORT_FIELD); i++)
		put_line(column_get(i)->name, out);
}

static void put_metrics(struct bytes *out)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		put_line(metric_defs[i].name, out);
}

static void put_report_keys(struct bytes *out)
{
	put_line("sym", out);
	put_keys(out);
	put_metrics(out);
}

static void put_columns(struct bytes *out)
{
	for (u32 i = 0; i < NR_VALUE_COLUMNS; i++)
		put_line(column_get(i)->name, out);
	put_keys(out);
}

static void put_metric_sets(struct bytes *out)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if (!i || strcmp(metric_defs[i].set, metric_defs[i - 1].set))
			put_line(metric_defs[i].set, out);
	put_line("all", out);
}

static void put_counted_metrics(struct bytes *out)
{
	put_metric_sets(out);
	put_metrics(out);
}

static void put_script_fields(struct bytes *out)
{
	const char *name;

	for (u32 i = 0; (name = script_field_name(i)); i++)
		put_line(name, out);
}

static void put_graph_words(struct bytes *out)
{
	const char *word;

	for (u32 i = 0; (word = graph_spec_word(i)); i++)
		put_line(word, out);
}

static void put_branch_types(struct bytes *out)
{
	const char *word;

	for (u32 i = 0; (word = event_branch_type(i)); i++)
		put_line(word, out);
}

static void put_clocks(struct bytes *out)
{
	const char *word;

	for (u32 i = 0; (word = record_clock(i)); i++)
		put_line(word, out);
}

static void put_registers(struct bytes *out)
{
	struct bytes all = { 0 };

	regs_list(REGS_HERE, &all);
	bytes_char(&all, 0);
	put_words((char *)all.p, out);
	bytes_free(&all);
}

static void put_record_kinds(struct bytes *out)
{
	const struct record_kind *kind;

	for (u32 i = 0; (kind = record_kind_at(i)); i++)
		put_line(kind->name, out);
}

/* Nothing is opened for it: what is not usable here is a word of the language, too. */
static void put_events(struct bytes *out)
{
	struct event_catalog c = { 0 };

	event_catalog_load(&c, ((1u << CLASS_COUNT) - 1) & ~(1u << CLASS_PFM), NULL);
	for (size_t i = 0; i < c.v.n; i++) {
		bytes_plain(out, c.v.v[i].name, strlen(c.v.v[i].name));
		bytes_char(out, '\n');
		if (c.v.v[i].alias && !strchr(c.v.v[i].alias, ' '))
			put_line(c.v.v[i].alias, out);
	}
	event_catalog_free(&c);
}

static const struct {
	const char *command;
	char letter;
	const char *option; /* "": the first word that is none */
	const char *words;  /* parted by blanks; or NULL: */
	void (*put)(struct bytes *out);
} rows[] = {
	{ "record", 'e', "event", NULL, put_events },
	{ "record", 0, "pmu", "hw sim", NULL },
	{ "record", 0, "window", "short= burst= jitter= leader= mode=", NULL },
	{ "record", 'F', "freq", "max", NULL },
	{ "record", 'j', "branch-filter", NULL, put_branch_types },
	{ "record", 0, "user-regs", NULL, put_registers },
	{ "record", 'I', "intr-regs", NULL, put_registers },
	{ "record", 'k', "clockid", NULL, put_clocks },
	{ "record", 0, "control", "fifo: fd:", NULL },
	{ "record", 0, "switch-output", "signal", NULL },
	{ "record", 0, "activity", "bpf journal journal:", NULL },
	{ "record", 0, "push-format", "otlp pprof", NULL },
	{ "stat", 'e', "event", NULL, put_events },
	{ "stat", 0, "pmu", "hw sim", NULL },
	{ "stat", 'M', "metrics", NULL, put_counted_metrics },
	{ "record", 0, "call-graph", "fp dwarf unwind lbr no", NULL },
	{ "report", 's', "sort", NULL, put_report_keys },
	{ "report", 'F', "fields", NULL, put_columns },
	{ "report", 'g', "call-graph", NULL, put_graph_words },
	{ "report", 0, "percentage", "relative absolute", NULL },
	{ "report", 0, "attribution", "estimate discard keep callchain", NULL },
	{ "report", 0, "metrics", NULL, put_metric_sets },
	{ "report", 0, "columns", NULL, put_metrics },
	{ "mem", 0, "", "record report", NULL },
	{ "mem", 't', "type", "load store", NULL },
	{ "mem", 's', "sort", NULL, put_report_keys },
	{ "mem", 'F', "fields", NULL, put_columns },
	{ "c2c", 0, "", "record report", NULL },
	{ "activity", 0, "by", "trace_id span_id root_span_id service", NULL },
	{ "activity", 0, "table", "activities causes waits places", NULL },
	{ "top", 'e', "event", NULL, put_events },
	{ "top", 0, "pmu", "hw sim", NULL },
	{ "top", 0, "activity", "bpf journal journal:", NULL },
	{ "top", 0, "window", "short= burst= jitter= leader= mode=", NULL },
	{ "top", 'F', "freq", "max", NULL },
	{ "top", 'j', "branch-filter", NULL, put_branch_types },
	{ "top", 0, "percentage", "relative absolute", NULL },
	{ "top", 's', "sort", NULL, put_report_keys },
	{ "top", 0, "fields", NULL, put_columns },
	{ "top", 0, "call-graph", "fp unwind lbr no", NULL },
	{ "diff", 's', "sort", NULL, put_keys },
	{ "spe", 's', "sort", NULL, put_keys },
	{ "diff", 0, "percentage", "relative absolute", NULL },
	{ "diff", 'c', "compute", "delta-abs delta ratio wdiff:", NULL },
	{ "script", 'F', "fields", NULL, put_script_fields },
	{ "export", 0, "to", "svg folded csv json bolt fdata autofdo branches pprof otlp parquet", NULL },
	{ "export", 0, "rows", "samples memory", NULL },
	{ "export", 0, "colors", "hot cool gray", NULL },
	{ "dump", 0, "type", NULL, put_record_kinds },
};

bool complete_values(const char *command, const char *option, struct bytes *out)
{
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		bool by_letter = rows[i].letter && option[0] == rows[i].letter && !option[1];

		if (strcmp(rows[i].command, command) || (!by_letter && strcmp(rows[i].option, option)))
			continue;
		if (rows[i].put)
			rows[i].put(out);
		else
			put_words(rows[i].words, out);
		return true;
	}
	return false;
}
