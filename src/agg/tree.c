/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* key: parent << 32 | frame. node 0: empty, as the root, which is nobody's child, is no slot's; fresh memory is a
 * table of empty slots as it comes. */
struct tree_slot {
	u64 key;
	u64 self;
	u32 node;
	u32 samples;
};

/*
 * The tables are most of what a large report takes in memory, so they are frugal with it: there are TREE_TABLES of
 * them, each with a share of the keys, so that growing one needs only its own size twice; and their sizes are no
 * powers of two.
 */
static u32 home(const struct tree_table *t, u64 hash)
{
	return (u32)((hash & UINT32_MAX) * t->size >> 32);
}

static struct tree_slot *find(const struct tree_table *t, u64 hash, u64 key)
{
	u32 i = home(t, hash);

	while (t->slots[i].node && t->slots[i].key != key)
		i = i + 1 < t->size ? i + 1 : 0;
	return &t->slots[i];
}

static void resize(struct tree_table *t, u32 size)
{
	struct tree_table old = *t;

	t->slots = mem_zalloc_used(size * sizeof(*t->slots));
	t->size = size;
	for (u32 i = 0; i < old.size; i++)
		if (old.slots[i].node)
			*find(t, hash_u64(old.slots[i].key), old.slots[i].key) = old.slots[i];
	free(old.slots);
}

static struct tree_table *table_of(const struct tree_builder *b, u64 hash)
{
	return (struct tree_table *)&b->tables[hash >> 32 & (TREE_TABLES - 1)];
}

static u32 new_node(struct tree_builder *b, u32 node, u32 frame)
{
	if (!b->links.n)
		vec_push(&b->links, (struct tree_link){ ID_NONE, ID_NONE });
	vec_push(&b->links, (struct tree_link){ frame, node });
	return (u32)b->links.n - 1;
}

static struct tree_slot *kid_slot(struct tree_builder *b, u32 node, u32 frame)
{
	u64 key = (u64)node << 32 | frame, hash = hash_u64(key);
	struct tree_table *t = table_of(b, hash);
	struct tree_slot *s;

	if (t->n >= t->size / 16 * 11)
		resize(t, t->size ? t->size / 2 * 3 : 128);
	s = find(t, hash, key);
	if (!s->node) {
		*s = (struct tree_slot){ .key = key, .node = new_node(b, node, frame) };
		t->n++;
	}
	return s;
}

/* Makes room for as much as there is in the other. The tables have a few more than an equal share: keys do not spread
 * quite evenly. */
static void reserve(struct tree_builder *b, const struct tree_builder *other)
{
	size_t groups = other->group_words ? other->groups.n / other->group_words : 0;
	u32 size = (u32)((other->links.n - groups) / TREE_TABLES / 10 * 16) + 128;

	for (u32 i = 0; i < TREE_TABLES; i++)
		if (b->tables[i].size < size)
			resize(&b->tables[i], size);
	vec_reserve(&b->links, other->links.n);
}

u32 tree_kid(struct tree_builder *b, u32 node, u32 frame)
{
	return kid_slot(b, node, frame)->node;
}

u32 tree_add(struct tree_builder *b, u32 node, u32 frame, u64 weight, u32 samples)
{
	struct tree_slot *s = kid_slot(b, node, frame);

	s->self += weight;
	s->samples += samples;
	return s->node;
}

void tree_prefetch(const struct tree_builder *b, u32 node, u32 frame)
{
	u64 hash = hash_u64((u64)node << 32 | frame);
	const struct tree_table *t = table_of(b, hash);

	if (t->size)
		__builtin_prefetch(&t->slots[home(t, hash)], 1);
}

u32 tree_group(struct tree_builder *b, const u64 *words, u32 n)
{
	size_t size = n * sizeof(*words);
	u64 h = hash_bytes(words, size);
	u32 i, at;

	SET_FIND(i, &b->group_ids, h, at, !memcmp(b->groups.v + (size_t)i * n, words, size));
	if (i == ID_NONE) {
		i = (u32)(b->groups.n / n);
		for (u32 k = 0; k < n; k++)
			vec_push(&b->groups, words[k]);
		set_add(&b->group_ids, h, i);
		vec_push(&b->group_nodes, new_node(b, 0, i));
		b->group_words = n;
	}
	return b->group_nodes.v[i];
}

#define MERGE_AHEAD 16 /* nodes; a later node's parent has nearly always been through */

struct tree_sums {
	u64 self;
	u32 samples;
};

void tree_settle(struct tree_builder *b)
{
	if (b->sums)
		return;
	set_free(&b->group_ids);
	vec_free(&b->group_nodes);
	b->sums = mem_realloc(NULL, b->links.n + 1, sizeof(*b->sums));
	memset(b->sums, 0, (b->links.n + 1) * sizeof(*b->sums));
	for (u32 i = 0; i < TREE_TABLES; i++) {
		struct tree_table *t = &b->tables[i];

		for (u32 k = 0; k < t->size; k++)
			if (t->slots[k].node)
				b->sums[t->slots[k].node] =
					(struct tree_sums){ t->slots[k].self, t->slots[k].samples };
		free(t->slots);
		*t = (struct tree_table){ 0 };
	}
}

void tree_keep(struct tree_builder *b)
{
	tree_settle(b);
	b->links.v = mem_realloc(b->links.v, b->links.n + 1, sizeof(*b->links.v));
	b->links.cap = b->links.n + 1;
	b->groups.v = mem_realloc(b->groups.v, b->groups.n + 1, sizeof(*b->groups.v));
	b->groups.cap = b->groups.n + 1;
}

/* The node that a frame, or what it becomes, has below `node`; its sums are added to. */
static u32 add_renamed(struct tree_builder *b, u32 node, u32 frame, const struct tree_sums *sums,
		       const struct tree_rename *rename)
{
	const u32 *frames = rename ? rename->frames + rename->of[frame].first : &frame;
	u32 n = rename ? rename->of[frame].n : 1;

	for (u32 i = 0; i + 1 < n; i++)
		node = tree_kid(b, node, frames[i]);
	return tree_add(b, node, frames[n - 1], sums->self, sums->samples);
}

/* from is settled. */
static u32 *add_nodes(struct tree_builder *b, const struct tree_builder *from, const struct tree_rename *rename)
{
	u32 *at = mem_realloc(NULL, from->links.n + 1, sizeof(*at));

	at[0] = 0;
	for (size_t i = 1; i < from->links.n; i++) {
		const struct tree_link *l = &from->links.v[i], *later = l + MERGE_AHEAD;

		if (i + MERGE_AHEAD < from->links.n && later->parent < i && later->parent)
			tree_prefetch(b, at[later->parent],
				      rename ? rename->frames[rename->of[later->frame].first] : later->frame);
		at[i] = l->parent ? add_renamed(b, at[l->parent], l->frame, &from->sums[i], rename) :
				    tree_group(b, from->groups.v + (size_t)l->frame * from->group_words,
					       from->group_words);
	}
	return at;
}

u32 *tree_merge_nodes(struct tree_builder *b, struct tree_builder *from, const struct tree_rename *rename)
{
	u32 *at;

	tree_settle(from);
	at = add_nodes(b, from, rename);
	tree_builder_free(from);
	return at;
}

void tree_add_tree(struct tree_builder *b, const struct tree_builder *from, const struct tree_rename *rename)
{
	reserve(b, from);
	free(add_nodes(b, from, rename));
}

void tree_merge(struct tree_builder *b, struct tree_builder *from, const struct tree_rename *rename)
{
	free(tree_merge_nodes(b, from, rename));
}

void tree_weigh_frames(const struct tree_builder *b, u64 *weight)
{
	u64 *total = mem_zalloc((b->links.n + 1) * sizeof(*total));

	for (size_t i = 0; i < b->links.n; i++)
		total[i] = b->sums[i].self;
	for (size_t i = b->links.n; i-- > 1;) {
		const struct tree_link *l = &b->links.v[i];

		if (!l->parent)
			continue; /* a group */
		weight[l->frame] += total[i];
		total[l->parent] += total[i];
	}
	free(total);
}

static void sum_totals(struct tree *t)
{
	for (size_t i = t->nodes.n; i-- > 1;) {
		struct tree_node *n = &t->nodes.v[i], *up = &t->nodes.v[n->parent];

		up->total += n->total;
		up->total_samples += n->total_samples;
		n->next_kid = up->first_kid;
		up->first_kid = (u32)i;
	}
}

void tree_finish(struct tree_builder *b, struct tree *out)
{
	tree_settle(b);
	*out = (struct tree){ 0 };
	vec_reserve(&out->nodes, b->links.n);
	for (size_t i = 0; i < b->links.n; i++)
		vec_push(&out->nodes, (struct tree_node){ .frame = b->links.v[i].frame,
							  .parent = b->links.v[i].parent,
							  .first_kid = ID_NONE,
							  .next_kid = ID_NONE,
							  .self = b->sums[i].self,
							  .total = b->sums[i].self,
							  .samples = b->sums[i].samples,
							  .total_samples = b->sums[i].samples });
	sum_totals(out);
	out->groups.v = b->groups.v;
	out->groups.n = b->groups.n;
	out->groups.cap = b->groups.cap;
	out->group_words = b->group_words;
	memset(&b->groups, 0, sizeof(b->groups));
	tree_builder_free(b);
}

void tree_builder_free(struct tree_builder *b)
{
	vec_free(&b->links);
	vec_free(&b->groups);
	set_free(&b->group_ids);
	vec_free(&b->group_nodes);
	for (u32 i = 0; i < TREE_TABLES; i++)
		free(b->tables[i].slots);
	free(b->sums);
	*b = (struct tree_builder){ 0 };
}

void tree_free(struct tree *t)
{
	vec_free(&t->nodes);
	vec_free(&t->groups);
}
