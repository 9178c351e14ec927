/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as text, in the layout of `perf report --stdio`, so that users and scripts find what they are used to.
 * Lines that begin with # are the head; ours also says how far the recording can be trusted.
 */
#include <string.h>

#include "base/pool.h"
#include "view/report_table.h"

/* The table of an event; of a group, whose first event with samples it is, that of all members. */
static void write_event(const struct profile *p, size_t event, const struct group_rows *group,
			const struct report_opts *o, struct bytes *out)
{
	struct table_print how = { .separator = o->separator,
				   .room = o->room,
				   .screen = o->only_table,
				   .whole_names = o->whole_names,
				   .color = o->color,
				   .workers = o->workers ? o->workers : pool_default_workers() };
	struct report_table f;
	struct table_text *x;

	report_table_begin(&f, p, event, o);
	f.group = group;
	if (!o->quiet && (o->hierarchy || !o->only_table))
		report_event_head(p, f.e, group, out);
	if (!o->quiet && !o->only_table && f.metrics && !o->hierarchy)
		report_windows_head(p, f.e, o->whole_head, out);
	if (!o->quiet && (o->hierarchy || !o->only_table) && (!f.metrics || o->hierarchy || o->whole_head))
		bytes_str(out, "#\n");
	if (o->hierarchy) {
		report_hierarchy(&f, &how, out);
		report_table_end(&f);
		return;
	}
	report_table_text(&f, how.workers);
	if (!o->quiet && !o->separator)
		report_fit_empty(&f, out);
	x = table_text_new(&f.table, &how);
	do
		table_text_measure(x);
	while (!o->separator && report_fit_step(&f, x));
	if (!o->quiet && !o->only_table && f.metrics)
		report_fit_head(&f, out);
	if (!o->quiet)
		table_text_head(x, out);
	table_text_rows(x, out);
	if (!o->quiet && !o->only_table && f.metrics)
		report_windows_foot(p, f.e, &f.metrics->table, out);
	if (o->legend && !o->quiet && f.metrics)
		report_windows_legend(&f.metrics->table, out);
	table_text_free(x);
	report_table_end(&f);
}

/* Functions of one name may be of the kernel or not, inlined or called. */
static bool one_symbol(const struct profile *p)
{
	const struct frame *first = NULL;

	for (size_t i = 0; i < p->events.n; i++)
		for (size_t k = 0; k < p->events.v[i].rows.n; k++) {
			const struct row *r = &p->events.v[i].rows.v[k];
			const struct frame *f = frames_get(p->frames, (u32)profile_row_key(p, r, SORT_SYMBOL));

			if (first && (f->level != first->level || f->inlined != first->inlined))
				return false;
			first = f;
		}
	return true;
}

static bool says_one(const struct profile *p, const struct report_opts *o, enum column_id id)
{
	return o->only[id] && (id != COLUMN_SYMBOL || one_symbol(p));
}

/* A column in which all rows say the same is one line above the table, unless no key would be left or programs read
 * the fields. */
static void leave_out_columns(const struct profile *p, struct report_opts *o, struct bytes *out)
{
	struct report_opts left = *o;
	u32 keys = 0, said = 0;

	left.nr_columns = 0;
	for (u32 i = 0; i < o->nr_columns; i++) {
		enum column_id id = o->columns[i];

		keys += column_is_key(id);
		if (!says_one(p, o, id)) {
			left.widths[left.nr_columns] = o->widths[i];
			left.columns[left.nr_columns++] = o->columns[i];
			continue;
		}
		said++;
		bytes_printf(out, "# %s: ", column_get(id)->name);
		bytes_plain(out, o->only[id], strlen(o->only[id]));
		bytes_char(out, '\n');
	}
	if (said && !o->quiet)
		bytes_str(out, "#\n");
	if (said && said < keys && !o->hierarchy && !o->separator)
		*o = left;
}

struct text {
	const struct profile *p;
	const struct report_opts *o;
	bool any;
	struct bytes *out;
};

static void write_table(size_t event, const struct group_rows *group, u32 apart, void *ctx)
{
	struct text *t = ctx;
	const struct profile_event *e = &t->p->events.v[event];

	if (!group && !t->o->grouped && (e->helper || (t->o->only_event && event + 1 != t->o->only_event)))
		return;
	if (t->any)
		bytes_str(t->out, "\n\n");
	t->any = true;
	if (apart && !t->o->quiet)
		bytes_printf(t->out, "# %u events are too many for one table\n#\n", apart);
	write_event(t->p, event, group, t->o, t->out);
}

void report_text(const struct profile *p, const struct report_opts *opts, struct bytes *out)
{
	struct report_opts with = *opts, *o = &with;

	leave_out_columns(p, o, out);
	if (!o->quiet && !o->only_table)
		report_recording_head(p, out);
	if (!o->quiet && !o->only_table && o->left_out)
		bytes_printf(out, "# Metrics of functions are left out: %s\n", o->left_out);
	if (!o->quiet && !o->only_table && o->cuts)
		report_stack_cuts(p, out);
	report_each(p, o, true, write_table, &(struct text){ p, o, false, out });
	if (!p->events.n && !o->quiet)
		bytes_str(out, "# No samples.\n");
}
