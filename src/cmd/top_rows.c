/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables are text, and each is made anew: so a row whose call graph is shown is known by the texts of its keys, and
 * how many lines a row has is found by drawing its call graph once more. That is done when a key asks for it.
 */
#include "cmd/top_rows.h"

#include <stdlib.h>

#include "base/hash.h"

void top_open_all(struct top_open *o, bool all)
{
	o->all = all;
	o->but.n = 0;
}

void top_open_copy(struct top_open *to, const struct top_open *from)
{
	top_open_all(to, from->all);
	for (size_t i = 0; i < from->but.n; i++)
		vec_push(&to->but, from->but.v[i]);
}

void top_open_free(struct top_open *o)
{
	vec_free(&o->but);
}

/* Of what the row shows in its keys. */
static u64 row_id(const struct report_opts *o, const struct row_view *v)
{
	struct row_view whole = *v;
	struct bytes text = { 0 };
	u64 id;

	whole.long_names = true;
	for (u32 i = 0; i < o->nr_columns; i++)
		if (column_is_key(o->columns[i])) {
			column_label(o->columns[i], &whole, &text);
			bytes_char(&text, 0);
		}
	id = hash_bytes(text.p, text.len);
	bytes_free(&text);
	return id;
}

static size_t place_of(const struct top_open *o, u64 id)
{
	size_t i = 0;

	while (i < o->but.n && o->but.v[i] != id)
		i++;
	return i;
}

static bool is_open(void *ctx, const struct row_view *v)
{
	const struct top_rows *r = ctx;

	return !r->open.but.n ? r->open.all :
				r->open.all != (place_of(&r->open, row_id(&r->shown, v)) < r->open.but.n);
}

void top_rows_choose_graphs(struct top_rows *r)
{
	if (!r->open.all && !r->open.but.n)
		r->shown.graph = GRAPH_NONE;
	r->shown.draws = is_open;
	r->shown.draws_ctx = r;
}

static u32 lines_of_graph(const struct top_rows *r, const struct row_view *v, struct graph_room *room,
			  struct bytes *text)
{
	u32 n = 0;

	text->len = 0;
	if (r->shown.graph != GRAPH_NONE && !r->order)
		report_graph(v, &r->shown, room, text);
	for (size_t i = 0; i < text->len; i++)
		n += text->p[i] == '\n';
	return n;
}

bool top_row_at(const struct top_rows *r, const struct profile *p, u32 line, struct row_view *out, u32 *first)
{
	u32 event = r->shown.only_event - 1, at = 0; /* keys may have gone on to another one: the lines are of this */
	struct graph_room room = { 0 };
	struct bytes text = { 0 };
	bool found = false;

	if (!p || event >= p->events.n || r->shown.hierarchy || (r->shown.grouped && r->shown.graph != GRAPH_NONE))
		return false;
	*out = (struct row_view){ .profile = p, .event = &p->events.v[event], .long_names = r->shown.long_names };
	for (size_t i = 0; i < out->event->rows.n && at <= line; i++) {
		out->row = &out->event->rows.v[r->order ? r->order[i] : i];
		if (!report_wants(out, &r->shown))
			continue;
		*first = at;
		at += 1 + lines_of_graph(r, out, &room, &text);
		found = at > line;
	}
	bytes_free(&text);
	graph_room_free(&room);
	return found;
}

void top_open_flip(struct top_open *o, const struct top_rows *r, const struct row_view *v)
{
	u64 id = row_id(&r->shown, v);
	size_t i = place_of(o, id);

	if (i < o->but.n)
		o->but.v[i] = o->but.v[--o->but.n];
	else
		vec_push(&o->but, id);
}

void top_rows_free(struct top_rows *r)
{
	top_open_free(&r->open);
	free(r->order);
}
