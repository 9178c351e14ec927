/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define STACK_CACHE (1u << 16)

struct stack_slot {
	u64 hash; /* 0: empty */
	u32 node;
};

struct collector {
	struct collector_opts opts;
	const struct strtab *strings;
	const struct evlist *events;
	struct resolver *resolver;
	struct collected result;
	u32 nr_trees;
	struct stack_slot *stacks;
};

struct collector *collector_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
				const struct strtab *strings, const struct evlist *events,
				const struct collector_opts *opts)
{
	struct collector *c = mem_zalloc(sizeof(*c));
	struct resolver_opts ropts = { .by_address = opts->by_address };

	c->opts = *opts;
	c->strings = strings;
	c->events = events;
	c->resolver = resolver_new(procs, dsos, frames, &ropts);
	c->nr_trees = (u32)events->events.n;
	c->result.trees = mem_zalloc(c->nr_trees * sizeof(*c->result.trees));
	c->result.weights = mem_zalloc(c->nr_trees * sizeof(u64));
	c->result.samples = mem_zalloc(c->nr_trees * sizeof(u64));
	c->result.tally.first_time = UINT64_MAX;
	c->stacks = mem_zalloc(STACK_CACHE * sizeof(*c->stacks));
	return c;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	for (u32 i = 0; i < c->nr_trees; i++)
		tree_free(&c->result.trees[i]);
	free(c->result.trees);
	free(c->result.weights);
	free(c->result.samples);
	free(c->stacks);
	resolver_free(c->resolver);
	free(c);
}

struct collected *collector_result(struct collector *c)
{
	return &c->result;
}

static bool holds(const struct u32_list *l, u32 x)
{
	for (u32 i = 0; i < l->n; i++)
		if (l->v[i] == x)
			return true;
	return !l->n;
}

static bool comm_kept(const struct collector *c, const struct name_list *l, const struct thread_view *t)
{
	char made_up[16];
	const char *name = made_up;

	if (!l->n)
		return true;
	if (t->comm == ID_NONE)
		snprintf(made_up, sizeof(made_up), ":%u", t->tid);
	else
		name = strtab_get(c->strings, t->comm);
	for (u32 i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return false;
}

static bool kept(const struct collector *c, const struct sample_core *s, const struct thread_view *t)
{
	const struct sample_filter *f = c->opts.filter;

	return !f || (holds(&f->pids, s->pid) && holds(&f->tids, s->tid) && holds(&f->cpus, s->cpu) &&
		      (!f->times || timeranges_hold(f->times, s->time)) && comm_kept(c, &f->comms, t));
}

static struct tree_group group_of(const struct collector *c, u32 event, const struct sample_core *s,
				  const struct thread_view *t)
{
	const struct collector_opts *o = &c->opts;
	struct tree_group g = { 0 };

	if (o->group_keys >> SORT_COMM & 1)
		g.comm = t->comm != ID_NONE ? t->comm : COMM_UNNAMED | s->tid;
	if (o->group_keys >> SORT_PID & 1) {
		g.pid = s->pid;
		g.comm = t->comm != ID_NONE ? t->comm : COMM_UNNAMED | s->tid;
	}
	if (o->group_keys >> SORT_TID & 1)
		g.tid = s->tid;
	if (o->group_keys >> SORT_CPU & 1)
		g.cpu = s->cpu;
	if (o->group_keys >> SORT_EVENT & 1)
		g.event = event;
	if (o->group_keys >> SORT_TIME & 1 && o->time_slice_ns && s->time >= o->first_time)
		g.time = (u32)((s->time - o->first_time) / o->time_slice_ns);
	return g;
}

/* Two chains at a time: the multiplications of one run while those of the other are under way. */
static u64 hash_chain(u64 h, const struct u64s *chain)
{
	u64 a = h, b = ~h, x, y;
	u32 i = 0;

	for (; i + 2 <= chain->n; i += 2) {
		memcpy(&x, chain->p + (size_t)i * 8, 8);
		memcpy(&y, chain->p + (size_t)i * 8 + 8, 8);
		a = hash_mix(a, x);
		b = hash_mix(b, y);
	}
	if (i < chain->n) {
		memcpy(&x, chain->p + (size_t)i * 8, 8);
		a = hash_mix(a, x);
	}
	return hash_mix(a, b);
}

static u64 sample_hash(const struct collector *c, const struct tree_group *g, u32 tree, u32 cpumode,
		       const struct sample_core *s, const struct thread_view *t)
{
	u64 h = hash_mix((u64)tree << 32 | cpumode, s->ip);

	h = hash_mix(h, (u64)g->comm << 32 | g->pid);
	h = hash_mix(h, (u64)g->tid << 32 | g->cpu);
	h = hash_mix(h, (u64)g->event << 32 | g->time);
	h = hash_mix(h, (uintptr_t)t->maps.space);
	h = hash_mix(h, (u64)t->maps.n << 32 | t->kernel.n);
	if (c->opts.chains)
		h = hash_chain(h, &s->chain);
	return h ? h : 1;
}

static u32 stack_node(struct collector *c, struct tree *tree, const struct tree_group *g, u32 cpumode,
		      const struct sample_core *s, const struct thread_view *t)
{
	u32 frames[MAX_STACK + 1], n = 1, node = tree_group(tree, g);

	if (c->opts.chains)
		n = resolver_stack(c->resolver, t, s, cpumode, frames);
	else
		frames[0] = resolver_frame(c->resolver, t, cpumode, s->ip, false);
	while (n)
		node = tree_kid(tree, node, frames[--n]);
	return node;
}

static void count(struct collected *r, u32 event, const struct sample_core *s)
{
	r->samples[event]++;
	r->weights[event] += s->period;
	r->tally.first_time = MIN(r->tally.first_time, s->time);
	r->tally.last_time = MAX(r->tally.last_time, s->time);
}

void collector_add(struct collector *c, u32 event, u32 cpumode, const struct sample_core *s, u64 clock)
{
	const struct thread_view *t = resolver_thread(c->resolver, s->pid, s->tid, clock);
	u32 index = c->opts.group_keys >> SORT_EVENT & 1 ? 0 : event;
	struct tree *tree = &c->result.trees[index];
	struct stack_slot *slot;
	struct tree_group g;
	u64 hash;

	c->result.tally.samples++;
	if (!kept(c, s, t)) {
		c->result.tally.filtered++;
		return;
	}
	g = group_of(c, event, s, t);
	hash = sample_hash(c, &g, index, cpumode, s, t);
	slot = &c->stacks[hash % STACK_CACHE];
	if (slot->hash != hash)
		*slot = (struct stack_slot){ hash, stack_node(c, tree, &g, cpumode, s, t) };
	tree->nodes.v[slot->node].self += s->period;
	tree->nodes.v[slot->node].samples++;
	count(&c->result, index, s);
}

void collector_merge(struct collector *c, struct collector *from)
{
	struct collected *to = &c->result, *add = &from->result;

	for (u32 i = 0; i < c->nr_trees; i++) {
		if (!to->trees[i].nodes.n) {
			struct tree none = to->trees[i];

			to->trees[i] = add->trees[i];
			add->trees[i] = none;
		} else if (add->trees[i].nodes.n) {
			tree_merge(&to->trees[i], &add->trees[i]);
			tree_free(&add->trees[i]);
		}
		to->weights[i] += add->weights[i];
		to->samples[i] += add->samples[i];
	}
	to->tally.samples += add->tally.samples;
	to->tally.filtered += add->tally.filtered;
	to->tally.first_time = MIN(to->tally.first_time, add->tally.first_time);
	to->tally.last_time = MAX(to->tally.last_time, add->tally.last_time);
}
