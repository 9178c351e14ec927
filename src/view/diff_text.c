/* SPDX-License-Identifier: Apache-2.0 */
/* The diff as text: its table, and the lines above and below it. */
#include "view/diff_table.h"
#include "view/names.h"

static void put_event_name(const struct diff *d, const struct diff_event *e, struct bytes *out)
{
	const char *name = strtab_get(&d->strings, e->name);

	bytes_str(out, "# Event '");
	bytes_plain(out, name, strlen(name));
	bytes_char(out, '\'');
}

/* e NULL: a line for each event. */
static void put_table(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	struct table_print how = {
		.separator = o->separator, .room = o->room ? o->room : NAMES_ROOM, .no_ruler = !e, .workers = 1
	};
	struct diff_table f;

	diff_table_begin(&f, d, e, o);
	if (e)
		diff_table_text(&f);
	else
		diff_table_text_totals(&f);
	if (e && !o->quiet) {
		put_event_name(d, e, out);
		bytes_str(out, "\n#\n");
	}
	table_text(&f.table, &how, !o->quiet, out);
	diff_table_end(&f);
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
		put_table(d, NULL, o, out);
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
