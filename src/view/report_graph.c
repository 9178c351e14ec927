/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row's call graph as text, in perf's layout:
 *
 *            |
 *            ---main               the only stack above, without its share (it is the row's own)
 *               |
 *               |--57.10%--a       branches, heaviest first
 *               |          b       frames that all of the branch goes through stand below each other
 *               |
 *                --9.57%--c        the last one of its level
 *
 * A branch is a run of nodes of which each has one kid that weighs as much as itself.
 */
#include <math.h>
#include <string.h>

#include "view/branch_notes.h"
#include "view/names.h"
#include "view/report.h"
#include "view/table.h"

#define MARGIN 12

struct drawing {
	const struct row_view *v;
	const struct report_opts *o;
	struct bytes *out;
	struct bytes prefix; /* what stands left of the current level */
	struct bytes name;   /* the one that is put together */
	struct bytes notes;  /* behind it */
	u64 whole;
	u32 limit; /* of branches per level, and of frames in a trunk */
};

/* Of the line that is written, without its colors. */
static u32 width_of_line(const struct bytes *out)
{
	size_t start = out->len;
	u32 width = 0;

	while (start && out->p[start - 1] != '\n')
		start--;
	for (size_t at = start; at < out->len; at++) {
		size_t from = at;

		while (at < out->len && out->p[at] != '\033')
			at++;
		width += name_width(out->p + from, at - from);
		while (at < out->len && out->p[at] != 'm')
			at++;
	}
	return width;
}

/* On a terminal it fits into the line, as a name in a column does, with what stands behind it. Folded stacks are for
 * programs. */
static void put_name(struct drawing *d, u32 frame, size_t behind)
{
	char made_up[PROFILE_MADE_UP];
	const char *name = profile_frame_name(d->v->profile, frame, made_up, sizeof(made_up));
	bool cuts = d->o->room && !d->o->whole_names && d->o->graph != GRAPH_FOLDED;
	u32 used;

	d->name.len = 0;
	bytes_plain(&d->name, name, strlen(name));
	if (d->v->profile->graph_key != GRAPH_KEY_FUNCTION) {
		profile_frame_place(d->v->profile, frame, made_up, sizeof(made_up));
		bytes_plain(&d->name, made_up, strlen(made_up));
	}
	if (frames_get(d->v->profile->frames, frame)->inlined)
		bytes_str(&d->name, " (inlined)");
	if (!cuts || d->name.len <= NAMES_LEAST) {
		bytes_put(d->out, d->name.p, d->name.len);
		return;
	}
	used = width_of_line(d->out) + (u32)behind;
	name_put(d->name.p, d->name.len, MAX(d->o->room - MIN(used, d->o->room), (u32)NAMES_LEAST), d->out);
}

/* With what branch records say of it. */
static void put_frame(struct drawing *d, const struct graph_node *n)
{
	d->notes.len = 0;
	branch_notes_text(n->branches, d->v->profile->arm64, &d->notes);
	put_name(d, n->frame, d->notes.len);
	bytes_put(d->out, d->notes.p, d->notes.len);
}

static void put_prefix(struct drawing *d)
{
	bytes_put(d->out, d->prefix.p, d->prefix.len);
}

static void put_value(struct drawing *d, u64 weight, u64 whole)
{
	if (d->o->graph_value != GRAPH_PERCENT)
		bytes_dec(d->out, weight);
	else
		table_percent(share_of(weight, whole), 0, d->o->color, d->out);
}

static const struct graph_node *next_of_run(const struct graph_node *n)
{
	return n->nr_kids == 1 && n->kids[0]->total == n->total ? n->kids[0] : NULL;
}

/* At most `most` names of a run below its first one; returns its last node. */
static const struct graph_node *draw_run(struct drawing *d, const struct graph_node *n, u32 most)
{
	const struct graph_node *next;

	while ((next = next_of_run(n))) {
		n = next;
		if (!most)
			continue;
		most--;
		put_prefix(d);
		put_frame(d, n);
		bytes_char(d->out, '\n');
	}
	return n;
}

/* How many of the kids are shown. Fractal graphs weigh them against each other, the others come pruned. */
static u32 shown_kids(const struct drawing *d, const struct graph_node *n, u64 among)
{
	u32 shown = n->nr_kids;
	double least = ceil((double)among * d->o->graph_min / 100);

	if (d->o->graph == GRAPH_FRACTAL)
		while (shown && (double)n->kids[shown - 1]->total < least)
			shown--;
	return MIN(shown, d->limit);
}

static void draw_branch_line(struct drawing *d, char bar, u64 weight, u64 whole)
{
	put_prefix(d);
	bytes_char(d->out, bar);
	bytes_str(d->out, "--");
	put_value(d, weight, whole);
	bytes_str(d->out, "--");
}

/* The kids of a node; `among` is what fractal shares are of. */
static void draw_kids(struct drawing *d, const struct graph_node *n, u64 among)
{
	bool fractal = d->o->graph == GRAPH_FRACTAL;
	u64 whole = fractal ? among : d->whole, rest = among;
	u32 shown = shown_kids(d, n, among);
	size_t at = d->prefix.len;

	for (u32 i = 0; i < shown; i++)
		rest -= MIN(rest, n->kids[i]->total);
	rest = fractal && rest != among ? rest : 0;
	for (u32 i = 0; i < shown; i++) {
		const struct graph_node *kid = n->kids[i];
		bool last = i + 1 == shown && !rest;

		put_prefix(d);
		bytes_str(d->out, "|          \n");
		draw_branch_line(d, last ? ' ' : '|', kid->total, whole);
		put_frame(d, kid);
		bytes_char(d->out, '\n');
		bytes_printf(&d->prefix, "%c          ", last ? ' ' : '|');
		kid = draw_run(d, kid, UINT32_MAX);
		draw_kids(d, kid, kid->total - kid->self);
		d->prefix.len = at;
	}
	if (rest) {
		draw_branch_line(d, ' ', rest, whole);
		bytes_str(d->out, "[...]\n");
	}
}

/* The only stack there is carries no share of its own. Its first name is left out where the row's line just said it.
 */
static const struct graph_node *draw_trunk(struct drawing *d, const struct graph_node *n, bool skip_first)
{
	if (skip_first)
		n = next_of_run(n);
	if (!n)
		return NULL;
	put_prefix(d);
	bytes_str(d->out, "|\n");
	put_prefix(d);
	bytes_str(d->out, "---");
	put_frame(d, n);
	bytes_char(d->out, '\n');
	bytes_str(&d->prefix, "   ");
	return draw_run(d, n, d->limit - 1);
}

static void draw_graph(struct drawing *d, const struct graph_node *root)
{
	const struct report_opts *o = d->o;
	bool skip_first = !o->repeat_name && d->v->profile->sort_order[0] == SORT_SYMBOL;
	const struct graph_node *n = root, *trunk;
	size_t before = d->out->len;
	u64 among = root->total;

	if (root->nr_kids == 1 && root->kids[0]->total == root->total) {
		trunk = draw_trunk(d, root->kids[0], skip_first);
		n = trunk ? trunk : root->kids[0];
		among = n->total - n->self;
	}
	draw_kids(d, n, among);
	if (d->out->len != before)
		bytes_char(d->out, '\n');
}

/* Stacks one by one, heaviest first: what flat and folded graphs list. As in perf, flat says what went through the
 * stack, folded what ended there. */
struct stack {
	const struct graph_node *leaf;
	u32 at, depth; /* its frames in path.v, from the first printed level */
};

struct stacks {
	VEC(struct stack) v;
	VEC(u32) frames, path;
};

static void list_stacks(struct stacks *s, const struct graph_node *n, u64 least)
{
	if (n->self && n->self >= least) {
		vec_push(&s->v, (struct stack){ n, (u32)s->frames.n, (u32)s->path.n });
		for (size_t i = 0; i < s->path.n; i++)
			vec_push(&s->frames, s->path.v[i]);
	}
	for (u32 i = 0; i < n->nr_kids; i++) {
		if (n->kids[i]->total < least)
			continue;
		vec_push(&s->path, n->kids[i]->frame);
		list_stacks(s, n->kids[i], least);
		s->path.n--;
	}
}

static int heaviest_first(const void *va, const void *vb)
{
	const struct stack *a = va, *b = vb;

	if (a->leaf->self != b->leaf->self)
		return a->leaf->self < b->leaf->self ? 1 : -1;
	return a->at < b->at ? -1 : 1;
}

static void draw_stack(struct drawing *d, const u32 *frames, u32 n, const struct graph_node *leaf)
{
	bool folded = d->o->graph == GRAPH_FOLDED;

	if (!folded)
		bytes_repeat(d->out, ' ', MARGIN - 1);
	put_value(d, folded ? leaf->self : leaf->total, d->whole);
	bytes_char(d->out, folded ? ' ' : '\n');
	for (u32 i = 0; i < n; i++) {
		if (!folded)
			bytes_repeat(d->out, ' ', MARGIN + 4);
		else if (i)
			bytes_char(d->out, ';');
		put_name(d, frames[i], 0);
		if (!folded)
			bytes_char(d->out, '\n');
	}
	bytes_char(d->out, '\n');
}

static void draw_stacks(struct drawing *d, const struct graph_node *root)
{
	struct stacks s = { 0 };

	list_stacks(&s, root, (u64)ceil((double)d->whole * d->o->graph_min / 100));
	if (s.v.n > 1)
		qsort(s.v.v, s.v.n, sizeof(*s.v.v), heaviest_first);
	for (size_t i = 0; i < MIN(s.v.n, (size_t)d->limit); i++)
		if (s.v.v[i].depth)
			draw_stack(d, s.frames.v + s.v.v[i].at, s.v.v[i].depth, s.v.v[i].leaf);
	vec_free(&s.v);
	vec_free(&s.frames);
	vec_free(&s.path);
}

void report_graph(const struct row_view *v, const struct report_opts *o, struct graph_room *room, struct bytes *out)
{
	bool draws = !o->draws || o->draws(o->draws_ctx, v);
	const struct graph_node *root = draws ? report_row_graph(v, o, room) : NULL;
	struct drawing d = { .v = v, .o = o, .out = out };

	d.whole = report_graph_whole(v->event, o);
	d.limit = o->graph_limit ? o->graph_limit : UINT32_MAX;
	if (root && (o->graph == GRAPH_FLAT || o->graph == GRAPH_FOLDED)) {
		draw_stacks(&d, root);
	} else if (root) {
		bytes_repeat(&d.prefix, ' ', MARGIN);
		draw_graph(&d, root);
	}
	bytes_free(&d.prefix);
	bytes_free(&d.name);
	bytes_free(&d.notes);
}

static void put_kids(const struct profile *p, const struct graph_node *n, struct json *j)
{
	for (u32 i = 0; i < n->nr_kids; i++) {
		const struct graph_node *kid = n->kids[i];
		char made_up[PROFILE_MADE_UP];

		json_object(j);
		json_set_text(j, "frame", profile_frame_name(p, kid->frame, made_up, sizeof(made_up)));
		if (p->graph_key != GRAPH_KEY_FUNCTION) {
			profile_frame_place(p, kid->frame, made_up, sizeof(made_up));
			json_set_text(j, "place", made_up + (*made_up == ' '));
		}
		json_set_u64(j, "self", kid->self);
		json_set_u64(j, "total", kid->total);
		branch_notes_json(kid->branches, p->arm64, j);
		if (kid->nr_kids) {
			json_set_list(j, "kids");
			put_kids(p, kid, j);
			json_list_end(j);
		}
		json_object_end(j);
	}
}

void report_graph_json(const struct row_view *v, const struct report_opts *o, struct graph_room *room, struct json *j)
{
	const struct graph_node *root = report_row_graph(v, o, room);

	if (!root || !root->nr_kids)
		return;
	json_set_list(j, "graph");
	put_kids(v->profile, root, j);
	json_list_end(j);
}
