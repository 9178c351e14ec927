/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a table as a tree of its sort keys, in perf's layout: a line per value of the first key, below it the
 * values of the second key among the rows with that value, and so on. The lines below a line add up to it. For a
 * group, each value is shown once for each member.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/strtab.h"
#include "view/key_cell.h"
#include "view/report_table.h"

struct level_node {
	const struct row *row; /* one that it holds */
	size_t line;	       /* its number in the form */
	u32 level, order;
	VEC(u32) kids;
};

struct level_value {
	u64 self, samples;
};

struct hierarchy {
	struct report_table *f;
	u32 members, first;		/* of the group, and which of them is f->e; 1 and 0 when there is none */
	VEC(struct level_node) nodes;	/* the first is the root, of level 0 */
	VEC(struct level_value) values; /* of each node, one per member */
	VEC(u32) shown;			/* nodes in the order of the lines, light ones, too */
	struct strtab names;
};

static const struct level_node *node_at(const struct table *t, size_t row)
{
	const struct hierarchy *h = t->form;

	return &h->nodes.v[h->shown.v[row]];
}

static const struct level_value *value_of(const struct hierarchy *h, u32 node, u32 member)
{
	return &h->values.v[(size_t)node * h->members + member];
}

static const struct profile_event *member_event(const struct hierarchy *h, u32 member)
{
	return h->f->group ? h->f->group->members[member] : h->f->e;
}

/* Each event of a group has its own first DSO of a short name. */
static u64 key_of(struct hierarchy *h, const struct row *r, u32 level)
{
	const struct profile *p = h->f->p;

	if (h->members > 1 && p->sort_order[level] == SORT_DSO)
		return strtab_intern_z(&h->names, dsos_at(p->dsos, (u32)r->keys[level])->short_name);
	return r->keys[level];
}

/* The child of a node for that row, made when it is new. */
static u32 kid_for(struct hierarchy *h, struct map *known, u32 parent, const struct row *r, size_t line)
{
	u32 level = h->nodes.v[parent].level;
	u64 key = hash_mix(hash_u64(parent), key_of(h, r, level)); /* trusted, as stacks' are */
	u32 *id = map_at(known, key, ID_NONE);

	if (*id == ID_NONE) {
		*id = (u32)h->nodes.n;
		vec_push(&h->nodes, (struct level_node){ r, line, level + 1, (u32)h->nodes.n, { 0 } });
		for (u32 i = 0; i < h->members; i++)
			vec_push(&h->values, (struct level_value){ 0, 0 });
		vec_push(&h->nodes.v[parent].kids, (u32)h->nodes.n - 1);
	}
	return *id;
}

static int heaviest_first(const void *va, const void *vb, void *ctx)
{
	const struct hierarchy *h = ctx;
	const u32 *a = va, *b = vb;

	for (u32 i = 0; i < h->members; i++)
		if (value_of(h, *a, i)->self != value_of(h, *b, i)->self)
			return value_of(h, *a, i)->self < value_of(h, *b, i)->self ? 1 : -1;
	return h->nodes.v[*a].order < h->nodes.v[*b].order ? -1 : 1;
}

static void add_row(struct hierarchy *h, struct map *known, size_t line)
{
	const struct group_line *g = h->f->group ? &h->f->group->lines[line] : NULL;
	const struct row *row = g ? g->shown : &h->f->e->rows.v[line];

	for (u32 at = 0, level = 0; level < h->f->p->nr_sort; level++) {
		at = kid_for(h, known, at, row, line);
		for (u32 i = 0; i < h->members; i++) {
			const struct row *r = g ? g->rows[i] : row;
			struct level_value *v = &h->values.v[(size_t)at * h->members + i];

			v->self += r ? r->self : 0;
			v->samples += r ? r->samples : 0;
		}
	}
}

static void list_nodes(struct hierarchy *h, u32 id)
{
	if (id)
		vec_push(&h->shown, id);
	for (size_t i = 0; i < h->nodes.v[id].kids.n; i++)
		list_nodes(h, h->nodes.v[id].kids.v[i]);
}

static void build(struct hierarchy *h)
{
	struct map known = { 0 };
	size_t lines = h->f->group ? h->f->group->n : h->f->e->rows.n;

	vec_push(&h->nodes, (struct level_node){ 0 });
	for (u32 i = 0; i < h->members; i++)
		vec_push(&h->values, (struct level_value){ 0, 0 });
	for (size_t i = 0; i < lines; i++)
		add_row(h, &known, i);
	for (size_t i = 0; i < h->nodes.n; i++)
		if (h->nodes.v[i].kids.n > 1)
			qsort_r(h->nodes.v[i].kids.v, h->nodes.v[i].kids.n, sizeof(u32), heaviest_first, h);
	list_nodes(h, 0);
	map_free(&known);
}

static bool node_wanted(const struct hierarchy *h, u32 node)
{
	const struct report_opts *o = h->f->o;

	return share_of(value_of(h, node, h->first)->self, report_whole(h->f->e, o)) >= o->percent_limit;
}

static bool wants(const struct table *t, size_t row)
{
	const struct hierarchy *h = t->form;

	return node_wanted(h, h->shown.v[row]);
}

static u32 level_of(const struct table *t, size_t row)
{
	return node_at(t, row)->level;
}

static struct row_view view_of(const struct hierarchy *h, const struct level_node *n)
{
	return (struct row_view){ h->f->p, h->f->e, n->row, h->f->o->long_names };
}

static void get_value(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct hierarchy *h = t->form;
	u32 member = report_table_member(h->f, c);
	const struct profile_event *e;
	const struct level_value *v;

	if (member == ID_NONE)
		return;
	v = value_of(h, h->shown.v[r->at], member);
	e = member_event(h, member);
	out->kind = c->kind;
	if (c->kind == CELL_SHARE) {
		out->share.part = v->self;
		out->share.percent = e ? share_of(v->self, report_whole(e, h->f->o)) : 0;
		return;
	}
	out->count = c->what == COLUMN_SAMPLES ? v->samples : v->self;
}

static void get_label(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct hierarchy *h = t->form;
	const struct level_node *n = node_at(t, r->at);
	const struct row_view v = view_of(h, n);
	struct bytes *text = out->text;
	size_t blank = 0;

	(void)c;
	out->kind = CELL_TEXT;
	column_label(column_of_key(h->f->p->sort_order[n->level - 1]), &v, text);
	while (blank < text->len && text->p[blank] == ' ')
		blank++;
	if (blank)
		memmove(text->p, text->p + blank, text->len - blank);
	text->len -= blank;
}

/* Below the last key the graph; below another whose rows are all too light, that there are none. */
static void draw(const struct table *t, size_t row, u32 worker, struct bytes *out)
{
	const struct hierarchy *h = t->form;
	const struct level_node *n = node_at(t, row);
	const struct row_view v = view_of(h, n);

	if (n->level == t->levels) {
		if (h->f->rooms && (!h->f->group || n->row == h->f->group->lines[n->line].rows[h->first]))
			report_graph(&v, h->f->o, &h->f->rooms[worker], out);
		return;
	}
	for (size_t i = 0; i < n->kids.n; i++)
		if (node_wanted(h, n->kids.v[i]))
			return;
	bytes_repeat(out, ' ', (int)table_tree_indent(t, n->level + 1));
	bytes_printf(out, "no entry >= %.2f%%\n", h->f->o->percent_limit);
}

static void add_columns(struct hierarchy *h, struct table *t, struct bytes *names)
{
	const struct report_table *f = h->f;

	for (u32 k = 0; k < f->o->nr_columns; k++) {
		const struct column *of = column_get(f->o->columns[k]);

		for (u32 i = 0; i < h->members && !column_is_key(f->o->columns[k]); i++) {
			struct table_column *c =
				table_column_add(t, of->type == COLUMN_PERCENT ? CELL_SHARE : CELL_COUNT, of->key,
						 of->header, get_value);

			c->what = f->o->columns[k];
			c->nth = i;
			c->joined = i > 0;
			c->least = of->width;
		}
	}
	for (u32 i = 0; i < f->p->nr_sort; i++) {
		const char *header = column_header(f->p, column_of_key(f->p->sort_order[i]));

		bytes_printf(names, "%s%s", i ? " / " : "", header + strspn(header, " "));
	}
	bytes_char(names, 0);
	table_column_add(t, CELL_TEXT, "keys", (const char *)names->p, get_label);
}

static void begin(struct hierarchy *h, struct table *t, struct report_table *f)
{
	*h = (struct hierarchy){ .f = f, .members = f->group ? f->group->nr_members : 1 };
	*t = (struct table){ .form = h, .levels = f->p->nr_sort, .wants = wants, .level = level_of };
	h->first = f->group ? f->e->event - f->group->leader : 0;
	if (f->e)
		build(h);
	t->nr_rows = h->shown.n;
}

static void end(struct hierarchy *h, struct table *t)
{
	for (size_t i = 0; i < h->nodes.n; i++)
		vec_free(&h->nodes.v[i].kids);
	vec_free(&h->nodes);
	vec_free(&h->values);
	vec_free(&h->shown);
	strtab_free(&h->names);
	table_free(t);
}

void report_hierarchy(struct report_table *f, const struct table_print *how, struct bytes *out)
{
	struct bytes names = { 0 };
	struct hierarchy h;
	struct table t;

	report_table_rooms(f, 1);
	begin(&h, &t, f);
	t.draw = draw;
	add_columns(&h, &t, &names);
	table_tree_text(&t, how, !f->o->quiet, out);
	bytes_free(&names);
	end(&h, &t);
}

/* --- for programs: the key of each level in a field of its own, null below the row's --- */

/* The row's event, if that is a key of its level or one above. */
static void get_name(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct hierarchy *h = t->form;
	const struct level_node *n = node_at(t, r->at);
	const struct profile *p = h->f->p;
	const struct row_view v = view_of(h, n);

	(void)c;
	if (!(p->sort_keys >> SORT_EVENT & 1)) {
		out->kind = CELL_TEXT;
		report_table_name(h->f, out->text);
	} else if (p->key_at[SORT_EVENT] < n->level) {
		out->kind = CELL_TEXT;
		column_text(COLUMN_EVENT, &v, out->text);
	}
}

/* The weight that percentages are of. */
static void get_whole(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct hierarchy *h = t->form;
	u32 member = report_table_member(h->f, c);
	const struct profile_event *e;

	(void)r;
	if (member == ID_NONE)
		return;
	e = member_event(h, member);
	out->kind = CELL_COUNT;
	out->count = e ? report_whole(e, h->f->o) : 0;
}

static void get_core(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct hierarchy *h = t->form;

	(void)c;
	(void)r;
	out->kind = CELL_TEXT;
	bytes_put(out->text, h->f->p->simulated.p, h->f->p->simulated.len);
}

static void get_level(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	(void)c;
	out->kind = CELL_COUNT;
	out->count = level_of(t, r->at);
}

/* c->what: the column of the key; c->nth: its level. */
static void get_key(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct hierarchy *h = t->form;
	const struct level_node *n = node_at(t, r->at);
	const struct row_view v = view_of(h, n);

	if (c->nth > n->level)
		return;
	key_cell(c, &v, out);
}

static struct table_column *add_value(struct table *t, u32 column, u32 nth)
{
	const struct column *of = column_get(column);
	struct table_column *c =
		table_column_add(t, of->type == COLUMN_PERCENT ? CELL_SHARE : CELL_COUNT, of->key, NULL, get_value);

	c->what = column;
	c->nth = nth;
	return c;
}

/* event: as CSV has it in front, that key is left out. */
static void add_keys(const struct profile *p, bool event, struct table *t)
{
	for (u32 i = 0; i < p->nr_sort; i++) {
		u32 column = column_of_key(p->sort_order[i]);
		const struct column *of = column_get(column);
		struct table_column *c;

		if (column == COLUMN_EVENT && !event)
			continue;
		c = table_column_add(t, of->number ? CELL_COUNT : CELL_TEXT,
				     of->number ? of->key : column_json(p, column), NULL, get_key);
		c->what = column;
		c->nth = i + 1;
		c->foreign = p->sort_order[i] >= SORT_FIELD;
	}
}

/* A field of the event, or with --group one of each event. column: NR_COLUMNS stands for the whole. */
static void add_fields(const struct report_table *f, u32 column, struct table *t)
{
	u32 n = report_table_events(f->p, f->o);

	for (u32 i = 0; i < MAX(n, 1u); i++) {
		struct table_column *c = column == NR_COLUMNS ?
						 table_column_add(t, CELL_COUNT, "whole", NULL, get_whole) :
						 add_value(t, column, i);

		c->what = column;
		c->nth = i;
		if (n)
			report_table_name_field(f->p, i, c);
	}
}

void report_hierarchy_csv(struct report_table *f, struct bytes *out)
{
	struct hierarchy h;
	struct table t;

	begin(&h, &t, f);
	table_column_add(&t, CELL_TEXT, "event", NULL, get_name);
	add_fields(f, NR_COLUMNS, &t);
	table_column_add(&t, CELL_COUNT, "level", NULL, get_level);
	for (u32 k = 0; k < f->o->nr_columns; k++)
		if (!column_is_key(f->o->columns[k]))
			add_fields(f, f->o->columns[k], &t);
	add_keys(f->p, false, &t);
	report_table_simulated(f->p, &t, get_core);
	if (f->e)
		table_csv_rows(&t, out);
	else
		table_csv_header(&t, out);
	end(&h, &t);
}

void report_hierarchy_json(struct report_table *f, struct json *j)
{
	struct hierarchy h;
	struct table t;

	begin(&h, &t, f);
	table_column_add(&t, CELL_COUNT, "level", NULL, get_level);
	for (u32 k = 0; k < f->o->nr_columns; k++)
		for (u32 i = 0; i < h.members && !column_is_key(f->o->columns[k]); i++)
			add_value(&t, f->o->columns[k], i)->listed = f->group != NULL;
	add_keys(f->p, true, &t);
	table_json_rows(&t, j);
	end(&h, &t);
}
