/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/stacks.h"

#include <string.h>

#include "base/sort.h"

struct named {
	const char *name;
	u64 tie[2]; /* decide between equal names, the same in each run */
	u32 id;
};

static int by_name(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;
	int c = strcmp(a->name, b->name);

	c = c ? c : compare_u64(a->tie[0], b->tie[0]);
	c = c ? c : compare_u64(a->tie[1], b->tie[1]);
	return c ? c : compare_u64(a->id, b->id);
}

/* ranks[id] = place of id's name among all. */
static void rank(struct named *v, size_t n, u32 *ranks)
{
	if (n > 1)
		qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++)
		ranks[v[i].id] = (u32)i;
}

static const char *frame_name(struct stacks *s, u32 frame)
{
	char made_up[PROFILE_MADE_UP];
	const char *name = profile_frame_name(s->profile, frame, made_up, sizeof(made_up));

	return name == made_up ? arena_strndup(&s->arena, name, strlen(name)) : name;
}

static void name_frames(struct stacks *s)
{
	const struct tree *t = &s->event->tree;
	u32 n = frames_count(s->profile->frames);
	VEC(struct named) used = { 0 };

	s->names = mem_zalloc(sizeof(*s->names) * ((size_t)n + 1));
	s->ranks = mem_zalloc(sizeof(*s->ranks) * ((size_t)n + 1));
	for (size_t i = 1; i < t->nodes.n; i++) {
		u32 frame = t->nodes.v[i].frame;
		const struct frame *f;

		if (!t->nodes.v[i].parent || s->names[frame])
			continue;
		s->names[frame] = frame_name(s, frame);
		f = frames_get(s->profile->frames, frame);
		vec_push(&used, (struct named){ s->names[frame], { f->dso, f->addr }, frame });
	}
	rank(used.v, used.n, s->ranks);
	vec_free(&used);
}

static const char *group_name(struct stacks *s, const u64 *words)
{
	const struct profile *p = s->profile;
	struct bytes name = { 0 };
	const char *copy;

	bytes_str(&name, strtab_get(p->strings, (u32)words[0]));
	if (p->sort_keys >> SORT_PID & 1)
		bytes_printf(&name, "-%u", (u32)words[p->word_of[SORT_PID]]);
	if (p->sort_keys >> SORT_TID & 1)
		bytes_printf(&name, "%c%u", p->sort_keys >> SORT_PID & 1 ? '/' : '-',
			     (u32)words[p->word_of[SORT_TID]]);
	copy = name.len ? arena_strndup(&s->arena, (const char *)name.p, name.len) : "";
	bytes_free(&name);
	return copy;
}

static u32 activity_of(const struct profile *p, const u64 *words)
{
	return p->sort_keys >> SORT_ACTIVITY & 1 ? (u32)words[p->word_of[SORT_ACTIVITY]] : TIMELINE_UNKNOWN;
}

static void name_groups(struct stacks *s)
{
	u32 n = tree_groups(&s->event->tree);
	struct named *all = mem_alloc(((size_t)n + 1) * sizeof(*all));

	s->group_names = mem_zalloc(sizeof(*s->group_names) * ((size_t)n + 1));
	s->group_ranks = mem_zalloc(sizeof(*s->group_ranks) * ((size_t)n + 1));
	for (u32 i = 0; i < n; i++) {
		const u64 *words = tree_group_at(&s->event->tree, i);

		s->group_names[i] = group_name(s, words);
		all[i] = (struct named){ s->group_names[i], { activity_of(s->profile, words) }, i };
	}
	rank(all, n, s->group_ranks);
	free(all);
}

void stacks_init(struct stacks *s, const struct profile *p, const struct profile_event *e, bool samples)
{
	*s = (struct stacks){ .profile = p, .event = e, .samples = samples };
	name_frames(s);
	name_groups(s);
}

void stacks_group(const struct stacks *s, u32 node, struct stacks_group *out)
{
	const struct profile *p = s->profile;
	const u64 *words = tree_group_at(&s->event->tree, s->event->tree.nodes.v[node].frame);
	u32 activity = activity_of(p, words);

	*out = (struct stacks_group){ .comm = strtab_get(p->strings, (u32)words[0]) };
	if (p->sort_keys >> SORT_PID & 1)
		out->pid = (u32)words[p->word_of[SORT_PID]];
	if (p->sort_keys >> SORT_TID & 1)
		out->tid = (u32)words[p->word_of[SORT_TID]];
	if (p->timelines && activity)
		out->activity = &p->timelines->all.v[activity];
}

void stacks_free(struct stacks *s)
{
	free(s->names);
	free(s->ranks);
	free(s->group_names);
	free(s->group_ranks);
	vec_free(&s->pending);
	vec_free(&s->path);
	arena_free(&s->arena);
}

const char *stacks_name(const struct stacks *s, u32 node)
{
	u32 frame = s->event->tree.nodes.v[node].frame;

	return stacks_is_group(s, node) ? s->group_names[frame] : s->names[frame];
}

static int by_rank(const void *va, const void *vb)
{
	const struct stacks_kid *a = va, *b = vb;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

u32 stacks_kids(struct stacks *s, u32 node, size_t *first)
{
	const struct tree_node *nodes = s->event->tree.nodes.v;
	const u32 *ranks = node ? s->ranks : s->group_ranks;
	size_t n;

	*first = s->pending.n;
	if (!s->event->tree.nodes.n)
		return 0;
	for (u32 kid = nodes[node].first_kid; kid != ID_NONE; kid = nodes[kid].next_kid)
		vec_push(&s->pending, (struct stacks_kid){ kid, ranks[nodes[kid].frame] });
	n = s->pending.n - *first;
	if (n > 1)
		qsort(s->pending.v + *first, n, sizeof(*s->pending.v), by_rank);
	return (u32)n;
}

void stacks_each(struct stacks *s, u32 node, void (*take)(void *ctx, const struct stacks_one *stack), void *ctx)
{
	const struct tree_node *n = &s->event->tree.nodes.v[node];
	size_t first, at = s->path.n;
	u32 kids;

	if (!stacks_is_group(s, node)) {
		vec_push(&s->path, n->frame);
		if (n->samples)
			take(ctx, &(struct stacks_one){ s->path.v, (u32)s->path.n, n->samples, n->self });
	}
	kids = stacks_kids(s, node, &first);
	for (u32 i = 0; i < kids; i++)
		stacks_each(s, s->pending.v[first + i].node, take, ctx);
	s->pending.n = first;
	s->path.n = at;
}
