/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* key: parent << 32 | frame. node ID_NONE: empty. Frames of groups and of stacks never share a parent. */
struct tree_slot {
	u64 key;
	u64 self; /* not yet in the node; likewise samples */
	u32 node;
	u32 samples;
};

static struct tree_slot *find(const struct tree *t, u64 key)
{
	u32 i = (u32)hash_u64(key) & t->mask;

	while (t->slots[i].node != ID_NONE && t->slots[i].key != key)
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

static void grow(struct tree *t)
{
	struct tree_slot *old = t->slots;
	u32 size = old ? (t->mask + 1) * 2 : 1024, old_size = old ? t->mask + 1 : 0;

	t->slots = mem_realloc(NULL, size, sizeof(*t->slots));
	t->mask = size - 1;
	for (u32 i = 0; i < size; i++)
		t->slots[i] = (struct tree_slot){ .node = ID_NONE };
	for (u32 i = 0; i < old_size; i++)
		if (old[i].node != ID_NONE)
			*find(t, old[i].key) = old[i];
	free(old);
}

static void push_node(struct tree *t, u32 parent, u32 frame)
{
	vec_push(&t->nodes,
		 (struct tree_node){ .frame = frame, .parent = parent, .first_kid = ID_NONE, .next_kid = ID_NONE });
}

static struct tree_slot *kid_slot(struct tree *t, u32 node, u32 frame)
{
	u64 key = (u64)node << 32 | frame;
	struct tree_slot *s;

	if (!t->nodes.n)
		push_node(t, ID_NONE, ID_NONE);
	if (!t->slots || t->nodes.n >= (t->mask + 1) / 8 * 5)
		grow(t);
	s = find(t, key);
	if (s->node == ID_NONE) {
		*s = (struct tree_slot){ .key = key, .node = (u32)t->nodes.n };
		push_node(t, node, frame);
	}
	return s;
}

u32 tree_kid(struct tree *t, u32 node, u32 frame)
{
	return kid_slot(t, node, frame)->node;
}

void tree_add(struct tree *t, u32 node, u32 frame, u64 weight)
{
	struct tree_slot *s = kid_slot(t, node, frame);

	s->self += weight;
	s->samples++;
}

void tree_prefetch(const struct tree *t, u32 node, u32 frame)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[(u32)hash_u64((u64)node << 32 | frame) & t->mask], 1);
}

void tree_settle(struct tree *t)
{
	for (u32 i = 0; t->slots && i <= t->mask; i++) {
		struct tree_slot *s = &t->slots[i];

		if (s->node == ID_NONE || !s->samples)
			continue;
		t->nodes.v[s->node].self += s->self;
		t->nodes.v[s->node].samples += s->samples;
		s->self = 0;
		s->samples = 0;
	}
}

u32 tree_group(struct tree *t, const struct tree_group *g)
{
	u64 h = hash_bytes(g, sizeof(*g));
	u32 i;

	/* Two groups whose hashes are equal stand at successive keys. */
	while ((i = map_get(&t->group_ids, h)) != ID_NONE && memcmp(&t->groups.v[i], g, sizeof(*g)))
		h++;
	if (i == ID_NONE) {
		i = (u32)t->groups.n;
		vec_push(&t->groups, *g);
		map_set(&t->group_ids, h, i);
	}
	return tree_kid(t, 0, i);
}

void tree_merge(struct tree *t, const struct tree *from)
{
	u32 *at = mem_realloc(NULL, from->nodes.n + 1, sizeof(*at));

	at[0] = 0;
	for (size_t i = 1; i < from->nodes.n; i++) {
		const struct tree_node *n = &from->nodes.v[i];
		struct tree_node *to;

		at[i] = n->parent ? tree_kid(t, at[n->parent], n->frame) : tree_group(t, &from->groups.v[n->frame]);
		to = &t->nodes.v[at[i]];
		to->self += n->self;
		to->samples += n->samples;
	}
	free(at);
}

void tree_finish(struct tree *t)
{
	for (size_t i = 0; i < t->nodes.n; i++) {
		t->nodes.v[i].total = t->nodes.v[i].self;
		t->nodes.v[i].total_samples = t->nodes.v[i].samples;
	}
	for (size_t i = t->nodes.n; i-- > 1;) {
		struct tree_node *n = &t->nodes.v[i], *up = &t->nodes.v[n->parent];

		up->total += n->total;
		up->total_samples += n->total_samples;
		n->next_kid = up->first_kid;
		up->first_kid = (u32)i;
	}
	free(t->slots);
	t->slots = NULL;
}

void tree_free(struct tree *t)
{
	vec_free(&t->nodes);
	vec_free(&t->groups);
	map_free(&t->group_ids);
	free(t->slots);
	*t = (struct tree){ 0 };
}
