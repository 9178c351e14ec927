/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MIN_SHARE 20000
#define LINE_MARK (1ull << 63) /* in the address of a frame that stands for a line: no code lies there */

/* Marks frames that are an address of a symbol and carry enough of an event. */
static bool *weigh_frames(const struct profile *p, u32 n)
{
	bool *heavy = mem_zalloc(n + 1);

	for (size_t i = 0; i < p->events.n; i++) {
		const struct tree *t = &p->events.v[i].tree;
		u64 *weight = mem_zalloc(sizeof(u64) * ((size_t)n + 1));

		for (size_t k = 1; k < t->nodes.n; k++)
			if (t->nodes.v[k].parent) /* else a group */
				weight[t->nodes.v[k].frame] += t->nodes.v[k].total;
		for (u32 k = 0; k < n; k++) {
			const struct frame *f = frames_get(p->frames, k);

			heavy[k] |= weight[k] && weight[k] >= p->events.v[i].weight / MIN_SHARE && f->sym != ID_NONE &&
				    f->addr;
		}
		free(weight);
	}
	return heavy;
}

/* "file.c:12", or ID_NONE where no line is known. */
static u32 line_at(const struct profile *p, const struct frame *f)
{
	struct source_frame at;
	char *text;
	u32 id;

	if (!dsos_source_at(p->dsos, f->dso, f->addr, &at, 1) || !at.file)
		return ID_NONE;
	text = mem_printf("%s:%u", strrchr(at.file, '/') ? strrchr(at.file, '/') + 1 : at.file, at.line);
	id = strtab_intern_z(p->strings, text);
	free(text);
	return id;
}

static void put_place(struct profile *p, u32 id, u32 shown, u32 line)
{
	for (u32 next; (next = (u32)p->places.n) <= MAX(id, shown);)
		vec_push(&p->places, (struct graph_place){ next, ID_NONE });
	p->places.v[id] = (struct graph_place){ shown, line };
	p->places.v[shown].line = line;
}

/* Frames that are an address of a function become one branch; those of inlined calls, too. */
static void join_functions(struct profile *p)
{
	u32 n = frames_count(p->frames);

	for (u32 i = 0; i < n; i++) {
		struct frame f = *frames_get(p->frames, i);

		if (f.sym == ID_NONE || !f.addr)
			continue;
		f.addr = 0;
		put_place(p, i, frames_intern(p->frames, &f), ID_NONE);
	}
}

static void name_places(struct profile *p, enum graph_key key)
{
	u32 n = frames_count(p->frames);
	bool *heavy = weigh_frames(p, n);

	for (u32 i = 0; i < n; i++) {
		struct frame f = *frames_get(p->frames, i);
		u32 line;

		if (f.sym == ID_NONE || !f.addr || f.inlined)
			continue;
		line = heavy[i] ? line_at(p, &f) : ID_NONE;
		f.addr = line == ID_NONE ? 0 : LINE_MARK | line;
		put_place(p, i, key == GRAPH_KEY_LINE ? frames_intern(p->frames, &f) : i, line);
	}
	free(heavy);
	dsos_drop_lines(p->dsos);
}

void profile_name_places(struct profile *p, enum graph_key key)
{
	p->graph_key = key;
	if (key != GRAPH_KEY_FUNCTION)
		name_places(p, key);
	else if (p->has_chains)
		join_functions(p);
}
