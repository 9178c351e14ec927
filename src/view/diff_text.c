/* SPDX-License-Identifier: Apache-2.0 */
/* The diff as text: its table, and the lines above and below it. */
#include <stdio.h>

#include "view/diff_table.h"
#include "view/names.h"

static void put_event_name(const struct diff *d, const struct diff_event *e, struct bytes *out)
{
	const char *name = strtab_get(&d->strings, e->name);

	bytes_str(out, "# Event '");
	bytes_plain(out, name, strlen(name));
	bytes_char(out, '\'');
}

static void put_table(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	struct table_print how = { .separator = o->separator, .room = o->room ? o->room : NAMES_ROOM, .workers = 1 };
	struct diff_table f;

	diff_table_begin(&f, d, e, o);
	diff_table_text(&f);
	if (!o->quiet) {
		put_event_name(d, e, out);
		bytes_str(out, "\n#\n");
	}
	table_text(&f.table, &how, !o->quiet, out);
	diff_table_end(&f);
}

static void put_total(const struct diff *d, const struct diff_event *e, u32 file, const struct diff_opts *o,
		      struct bytes *out)
{
	u64 old = e->of[0].whole, new = e->of[file].whole;
	const char *name = strtab_get(&d->strings, e->name), *path = o->files[file].path;
	char percent[32] = "";
	char sep = o->separator;

	if (old)
		snprintf(percent, sizeof(percent), "%+.2f%%", diff_growth_of_whole(e, file));
	bytes_printf(out, sep ? "%llu" : "  %18llu", (unsigned long long)old);
	bytes_printf(out, sep ? "%c%llu" : "%c%19llu", sep ? sep : ' ', (unsigned long long)new);
	bytes_printf(out, sep ? "%c%+lld" : "%c%19lld", sep ? sep : ' ', (long long)(new - old));
	bytes_printf(out, sep ? "%c%s" : "%c%10s", sep ? sep : ' ', percent);
	if (sep)
		bytes_char(out, sep);
	else
		bytes_str(out, "  ");
	bytes_plain(out, name, strlen(name));
	if (d->nr_files > 2) {
		bytes_str(out, " of ");
		bytes_plain(out, path, strlen(path));
	}
	bytes_char(out, '\n');
}

static void put_totals(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	if (!o->quiet)
		bytes_str(out, "#           Baseline               Total          Difference    Percent  Event\n");
	for (size_t i = 0; i < d->events.n; i++)
		for (u32 k = 1; k < d->nr_files; k++)
			put_total(d, &d->events.v[i], k, o, out);
}

/* How far the numbers below can be trusted. */
static void put_files(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	bytes_str(out, "# Data files:\n");
	for (u32 i = 0; i < d->nr_files; i++) {
		const struct diff_file *f = &o->files[i];

		bytes_printf(out, "#  [%u] ", i);
		bytes_plain(out, f->path, strlen(f->path));
		bytes_printf(out, "%s: %llu samples, %llu lost, %llu throttled", i ? "" : " (Baseline)",
			     (unsigned long long)f->tally.samples, (unsigned long long)tally_lost(&f->tally),
			     (unsigned long long)f->tally.throttled);
		if (f->core) {
			bytes_str(out, ", simulated (");
			bytes_plain(out, f->core, strlen(f->core));
			bytes_char(out, ')');
		}
		bytes_char(out, '\n');
	}
	bytes_str(out, "#\n");
}

/* Events that only some recordings have: nothing to compare. */
static void put_alone(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	put_event_name(d, e, out);
	bytes_str(out, " has samples in");
	for (u32 i = 0, n = 0; i < d->nr_files; i++)
		if (e->of[i].present) {
			bytes_str(out, n++ ? ", " : " ");
			bytes_plain(out, o->files[i].path, strlen(o->files[i].path));
		}
	bytes_str(out, " only\n");
}

void diff_text(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	u32 tables = 0;

	if (!o->quiet)
		put_files(d, o, out);
	if (o->totals) {
		put_totals(d, o, out);
		return;
	}
	for (size_t i = 0; i < d->events.n; i++) {
		const struct diff_event *e = &d->events.v[i];

		if (!diff_has_pair(d, e))
			continue;
		if (tables++)
			bytes_char(out, '\n');
		put_table(d, e, o, out);
	}
	for (size_t i = 0; i < d->events.n && !o->quiet; i++)
		if (!diff_has_pair(d, &d->events.v[i])) {
			bytes_str(out, "#\n");
			put_alone(d, &d->events.v[i], o, out);
		}
}
