/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic.h"

#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"

static void init(struct synthetic *s, bool children, const u8 *sort, u32 nr_sort)
{
	static const u8 usual[] = { SORT_COMM, SORT_DSO, SORT_SYMBOL };
	struct profile *p = mem_zalloc(sizeof(*p));

	*s = (struct synthetic){ .profile = p };
	p->strings = &s->strings;
	p->dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	p->frames = frames_new();
	p->evlist = &s->events;
	p->children = children;
	p->has_chains = true;
	profile_sort_by(p, nr_sort ? sort : usual, nr_sort ? nr_sort : ARRAY_LEN(usual));
}

/* The DSO of one frame's text, and the place of its symbol in it: one page per name. */
static u32 take_dso(struct synthetic *s, const char *text, size_t len, struct str *name, u64 *addr)
{
	const char *tick = memchr(text, '`', len);
	struct dso_key key = { .kind = DSO_BPF, .path = { text, (u32)(tick - text) } };

	*name = (struct str){ tick + 1, (u32)(text + len - tick - 1) };
	*addr = *name->p == '+' ? strtoull(name->p + 1, NULL, 16) :
				  0x1000 * (1 + (u64)strtab_intern(&s->strings, name->p, name->len));
	return dsos_get(s->profile->dsos, &key);
}

static void add_symbol(struct synthetic *s, const char *text, size_t len)
{
	struct str name;
	u64 addr;
	u32 dso = take_dso(s, text, len, &name, &addr);

	if (*name.p == '+' || map_get(&s->known, (u64)dso << 40 | addr) != ID_NONE)
		return;
	map_set(&s->known, (u64)dso << 40 | addr, 1);
	dsos_add_symbol(s->profile->dsos, dso, addr, addr + 0x1000, name);
}

static u32 make_frame(struct synthetic *s, const char *text, size_t len)
{
	struct frame f = { .sym = ID_NONE, .level = *text == '[' ? 'k' : '.' };
	struct str name;
	u64 addr;

	f.dso = take_dso(s, text, len, &name, &addr);
	if (*name.p == '+')
		f.addr = addr;
	else
		f.sym = dsos_symbol_at(s->profile->dsos, f.dso, addr);
	return frames_intern(s->profile->frames, &f);
}

static void add_stack(struct synthetic *s, const struct synthetic_stack *stack)
{
	struct profile_event *e = &s->profile->events.v[stack->event];
	u64 g = strtab_intern_z(&s->strings, stack->comm);
	struct tree_builder *tree = &s->trees[stack->event];
	u32 node = tree_group(tree, &g, 1);

	for (const char *at = stack->frames, *end; *at; at = *end ? end + 1 : end) {
		end = at + strcspn(at, "|");
		node = tree_add(tree, node, make_frame(s, at, (size_t)(end - at)), *end ? 0 : stack->weight,
				*end ? 0 : stack->samples);
	}
	e->weight += stack->weight;
	e->samples += stack->samples;
	s->profile->tally.samples += stack->samples;
}

void synthetic_make(struct synthetic *s, const char *const *events, const struct synthetic_stack *stacks, u32 n,
		    bool children, const u8 *sort, u32 nr_sort)
{
	struct profile *p;
	size_t kept = 0;

	init(s, children, sort, nr_sort);
	p = s->profile;
	for (u32 i = 0; events[i] && i < SYNTHETIC_EVENTS; i++) {
		struct event e = { .name = mem_strdup(events[i]), .group_members = 1 };

		e.attr.sample_type = PERF_SAMPLE_CALLCHAIN;
		vec_push(&s->events.events, e);
		vec_push(&p->events, (struct profile_event){ .event = i });
	}
	for (u32 i = 0; i < n; i++)
		for (const char *at = stacks[i].frames, *end; *at; at = *end ? end + 1 : end) {
			end = at + strcspn(at, "|");
			add_symbol(s, at, (size_t)(end - at));
		}
	for (u32 i = 0; i < n; i++)
		add_stack(s, &stacks[i]);
	for (size_t i = 0; i < p->events.n; i++) {
		struct profile_event e = p->events.v[i];

		if (!e.samples)
			continue;
		tree_finish(&s->trees[i], &e.tree);
		profile_count_stacks(p, &e);
		profile_make_rows(p, &e, &(struct row_filter){ 0 }, 2);
		p->events.v[kept++] = e;
	}
	p->events.n = kept;
}

void synthetic_free(struct synthetic *s)
{
	struct dsos *dsos = s->profile->dsos;
	struct frames *frames = s->profile->frames;

	profile_free(s->profile);
	frames_free(frames);
	dsos_free(dsos);
	evlist_free(&s->events);
	strtab_free(&s->strings);
	map_free(&s->known);
}
