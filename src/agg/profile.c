/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agg/trace_keys.h"
#include "base/sort.h"

const char *profile_frame_name(const struct profile *p, u32 frame, char *buf, size_t size)
{
	const struct frame *f = frames_get(p->frames, frame);

	if (f->inlined)
		return strtab_get(p->strings, f->inlined);
	if (f->sym != ID_NONE)
		return dsos_symbol_name(p->dsos, f->dso, f->sym);
	return place_made_up_name(p->dsos, f->dso, f->addr, buf, size);
}

void profile_frame_place(const struct profile *p, u32 frame, char *buf, size_t size)
{
	const struct frame *f = frames_get(p->frames, frame);
	u32 line = frame < p->places.n ? p->places.v[frame].line : ID_NONE;
	int n = 0;

	*buf = 0;
	if (f->sym == ID_NONE || f->inlined)
		return;
	if (p->graph_key == GRAPH_KEY_ADDRESS)
		n = snprintf(buf, size, "+%#llx",
			     (unsigned long long)(f->addr - dsos_symbol(p->dsos, f->dso, f->sym)->start));
	if (p->graph_key != GRAPH_KEY_FUNCTION && line != ID_NONE)
		snprintf(buf + n, size - (size_t)n, " %s", strtab_get(p->strings, line));
}

/* By path: which of two files gets the smaller number is not the same in each run. */
static int compare_dsos(const struct profile *p, u32 x, u32 y)
{
	int c = x != ID_NONE && y != ID_NONE ? strcmp(dsos_at(p->dsos, x)->path, dsos_at(p->dsos, y)->path) : 0;

	return c ? c : compare_u64(x, y);
}

int profile_compare_frames(const struct profile *p, u32 x, u32 y)
{
	const struct frame *a = frames_get(p->frames, x), *b = frames_get(p->frames, y);
	bool a_named = a->sym != ID_NONE || a->inlined, b_named = b->sym != ID_NONE || b->inlined;
	int c;

	if (a_named != b_named)
		return a_named ? -1 : 1;
	c = a_named ? strcmp(profile_frame_name(p, x, NULL, 0), profile_frame_name(p, y, NULL, 0)) : 0;
	if (!c && a_named && !a->inlined && !b->inlined && a->dso == b->dso) /* two of one name */
		c = compare_u64(dsos_symbol(p->dsos, a->dso, a->sym)->start,
				dsos_symbol(p->dsos, b->dso, b->sym)->start);
	if (!c)
		c = compare_u64(a->addr, b->addr);
	if (!c && a->dso != b->dso)
		c = compare_dsos(p, a->dso, b->dso);
	return c ? c : compare_u64((u64)a->level, (u64)b->level); /* the same place, as seen from elsewhere */
}

u64 profile_frame_word(const struct profile *p, u32 frame)
{
	const struct frame *f = frames_get(p->frames, frame);

	return f->sym != ID_NONE || f->inlined ? 0 : f->addr == UINT64_MAX ? UINT64_MAX : f->addr + 1;
}

static bool is_inlined(const struct profile *p, const struct profile_event *e, u32 node)
{
	return profile_frame_inlined(p, e->tree.nodes.v[node].frame);
}

/* The first inlined frame among siblings, from `kid` on. */
static u32 inlined_kid(const struct profile *p, const struct profile_event *e, u32 kid)
{
	while (kid != ID_NONE && !is_inlined(p, e, kid))
		kid = e->tree.nodes.v[kid].next_kid;
	return kid;
}

u32 profile_next_own(const struct profile *p, const struct profile_event *e, u32 top, u32 node)
{
	const struct tree_node *nodes = e->tree.nodes.v;
	u32 next;

	if (!p->has_inlined)
		return ID_NONE;
	next = inlined_kid(p, e, nodes[node].first_kid);
	while (next == ID_NONE && node != top) {
		next = inlined_kid(p, e, nodes[node].next_kid);
		node = nodes[node].parent;
	}
	return next;
}

u32 profile_own_row(const struct profile *p, const struct profile_event *e, u32 node)
{
	const struct tree_node *nodes = e->tree.nodes.v;
	u32 row;

	while (nodes[node].parent && nodes[nodes[node].parent].parent &&
	       frames_get(p->frames, nodes[node].frame)->inlined)
		node = nodes[node].parent;
	row = e->row_of[node];
	while (nodes[node].parent)
		node = nodes[node].parent;
	return row != ID_NONE ? row : e->row_of[node];
}

void profile_measure_rows(struct profile *p)
{
	for (size_t i = 0; i < p->events.n; i++)
		for (u32 m = 0; m < NR_MEASURES; m++)
			if (p->events.v[i].measured[m] && p->measures[m].rows)
				p->measures[m].rows(p, &p->events.v[i]);
}

void profile_event_free(const struct profile *p, struct profile_event *e)
{
	tree_free(&e->tree);
	vec_free(&e->rows);
	arena_free(&e->keys);
	free(e->row_of);
	free(e->row_nodes);
	free(e->row_first);
	for (u32 m = 0; m < NR_MEASURES; m++)
		if (e->measured[m])
			p->measures[m].free_event(e->measured[m]);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->events.n; i++)
		profile_event_free(p, &p->events.v[i]);
	vec_free(&p->events);
	if (p->together)
		profile_event_free(p, p->together);
	free(p->together);
	vec_free(&p->places);
	stack_cuts_free(&p->cuts);
	trace_texts_free(p->texts);
	free(p);
}
