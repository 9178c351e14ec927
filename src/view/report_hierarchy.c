/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a table as a tree of its sort keys, in perf's layout: a line per value of the first key, below it those
 * of the second among the rows that have it, and so on. What stands below a line adds up to it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "view/names.h"
#include "view/report.h"

#define INDENT 3

struct level_node {
	u64 self, samples;
	u32 row; /* one that it holds */
	u32 level, order;
	VEC(u32) kids;
};

struct hierarchy {
	struct row_view view;
	const struct report_opts *o;
	struct bytes *out;
	struct bytes label, raw;
	struct graph_room room;
	VEC(struct level_node) nodes; /* the first is the root, of level 0 */
	u32 label_width;
};

static void make_label(struct hierarchy *h, const struct level_node *n)
{
	const struct profile *p = h->view.profile;
	size_t blank = 0;

	h->view.row = &h->view.event->rows.v[n->row];
	h->raw.len = h->label.len = 0;
	column_label(column_of_key(p->sort_order[n->level - 1]), &h->view, &h->raw);
	while (blank < h->raw.len && h->raw.p[blank] == ' ')
		blank++;
	if (h->raw.len > blank)
		bytes_plain(&h->label, (const char *)h->raw.p + blank, h->raw.len - blank);
}

/* The child of a node for that row, made when it is new. */
static u32 kid_for(struct hierarchy *h, struct map *known, u32 parent, u32 row)
{
	u32 level = h->nodes.v[parent].level;
	u64 key = hash_mix(hash_u64(parent), h->view.event->rows.v[row].keys[level]); /* trusted, as stacks' are */
	u32 *id = map_at(known, key, ID_NONE);

	if (*id == ID_NONE) {
		*id = (u32)h->nodes.n;
		vec_push(&h->nodes, (struct level_node){ .row = row, .level = level + 1, .order = (u32)h->nodes.n });
		vec_push(&h->nodes.v[parent].kids, (u32)h->nodes.n - 1);
	}
	return *id;
}

static int heaviest_first(const void *va, const void *vb, void *ctx)
{
	const struct hierarchy *h = ctx;
	const struct level_node *a = &h->nodes.v[*(const u32 *)va], *b = &h->nodes.v[*(const u32 *)vb];

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return a->order < b->order ? -1 : 1;
}

static void build(struct hierarchy *h)
{
	const struct profile_event *e = h->view.event;
	struct map known = { 0 };

	vec_push(&h->nodes, (struct level_node){ 0 });
	for (u32 row = 0; row < e->rows.n; row++)
		for (u32 at = 0, level = 0; level < h->view.profile->nr_sort; level++) {
			at = kid_for(h, &known, at, row);
			h->nodes.v[at].self += e->rows.v[row].self;
			h->nodes.v[at].samples += e->rows.v[row].samples;
		}
	for (size_t i = 0; i < h->nodes.n; i++)
		if (h->nodes.v[i].kids.n > 1)
			qsort_r(h->nodes.v[i].kids.v, h->nodes.v[i].kids.n, sizeof(u32), heaviest_first, h);
	map_free(&known);
}

static double share(const struct hierarchy *h, const struct level_node *n)
{
	return share_of(n->self, report_whole(h->view.event, h->o));
}

static int values_width(const struct report_opts *o)
{
	int width = 0;

	for (u32 k = 0; k < o->nr_columns; k++)
		width += !column_is_key(o->columns[k]) ? column_get(o->columns[k])->width + 2 : 0;
	return width;
}

static void write_values(struct hierarchy *h, const struct level_node *n)
{
	const struct report_opts *o = h->o;

	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_get(o->columns[k]);

		if (column_is_key(o->columns[k]))
			continue;
		bytes_str(h->out, "  ");
		if (c->type == COLUMN_PERCENT)
			report_percent(share(h, n), c->width, o->color, h->out);
		else
			bytes_printf(h->out, "%*llu", c->width,
				     (unsigned long long)(o->columns[k] == COLUMN_SAMPLES ? n->samples : n->self));
	}
}

static void write_node(struct hierarchy *h, u32 id)
{
	struct level_node *n = &h->nodes.v[id];
	u32 levels = h->view.profile->nr_sort, shown = 0;

	if (n->level) {
		bytes_repeat(h->out, ' ', (int)(n->level - 1) * INDENT);
		write_values(h, n);
		bytes_repeat(h->out, ' ', (int)(levels - 1) * INDENT + 2);
		make_label(h, n);
		name_put(h->label.p, h->label.len, h->label_width - (n->level - 1) * INDENT, h->out);
		bytes_char(h->out, '\n');
	}
	if (n->level == levels) {
		h->view.row = &h->view.event->rows.v[n->row];
		report_graph(&h->view, h->o, &h->room, h->out);
		return;
	}
	for (size_t i = 0; i < n->kids.n; i++)
		if (share(h, &h->nodes.v[n->kids.v[i]]) >= h->o->percent_limit) {
			write_node(h, n->kids.v[i]);
			shown++;
		}
	if (!shown && n->level) {
		bytes_repeat(h->out, ' ', (int)(levels + n->level) * INDENT + values_width(h->o) - 1);
		bytes_printf(h->out, "no entry >= %.2f%%\n", h->o->percent_limit);
	}
}

static void write_header(struct hierarchy *h)
{
	const struct profile *p = h->view.profile;
	const struct report_opts *o = h->o;
	int dots = (int)(p->nr_sort - 1) * INDENT - 2;
	struct bytes names = { 0 };

	bytes_char(h->out, '#');
	bytes_repeat(h->out, ' ', (int)(p->nr_sort - 1) * INDENT - 1);
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_get(o->columns[k]);

		if (!column_is_key(o->columns[k])) {
			bytes_printf(h->out, "%s%*s", k || p->nr_sort > 1 ? "  " : " ", c->width, c->header);
			dots += c->width + 2;
		}
	}
	for (u32 i = 0; i < p->nr_sort; i++) {
		const char *header = column_header(p, column_of_key(p->sort_order[i]));

		bytes_printf(&names, "%s%s", i ? " / " : "", header + strspn(header, " "));
	}
	bytes_str(h->out, "  ");
	bytes_put(h->out, names.p, names.len);
	bytes_str(h->out, "\n# ");
	bytes_repeat(h->out, '.', dots);
	bytes_str(h->out, "  ");
	bytes_repeat(h->out, '.', (int)MAX(h->label_width, (u32)names.len));
	bytes_str(h->out, "\n#\n");
	bytes_free(&names);
}

/* Labels are narrowed to the room that the values leave; the deepest one keeps some of it. */
static void fit_labels(struct hierarchy *h)
{
	u32 levels = h->view.profile->nr_sort, widths[2] = { 0, h->label_width };

	widths[0] = (u32)values_width(h->o) + (levels - 1) * INDENT;
	names_fit(widths, 2, 1u << 1, h->o->room ? h->o->room : NAMES_ROOM);
	h->label_width = MAX(widths[1], MIN(h->label_width, (levels - 1) * INDENT + NAMES_LEAST));
}

void report_hierarchy(struct profile *p, struct profile_event *e, const struct report_opts *o, struct bytes *out)
{
	struct hierarchy h = { .view = { .profile = p, .event = e, .long_names = o->long_names }, .o = o, .out = out };

	build(&h);
	for (size_t i = 1; i < h.nodes.n; i++) {
		make_label(&h, &h.nodes.v[i]);
		h.label_width =
			MAX(h.label_width, name_width(h.label.p, h.label.len) + (h.nodes.v[i].level - 1) * INDENT);
	}
	if (!o->whole_names)
		fit_labels(&h);
	if (!o->quiet)
		write_header(&h);
	write_node(&h, 0);
	for (size_t i = 0; i < h.nodes.n; i++)
		vec_free(&h.nodes.v[i].kids);
	vec_free(&h.nodes);
	bytes_free(&h.label);
	bytes_free(&h.raw);
	graph_room_free(&h.room);
}
