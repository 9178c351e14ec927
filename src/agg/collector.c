/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define CALLER_CACHE (1u << 15)
#define STACK_CACHE (1u << 14)
#define BATCH 16

/* The same callers are met with many leaf addresses. */
struct caller_slot {
	u64 hash; /* 0: empty */
	u32 node;
};

/* Resolved callers: garbage at the end of a raw chain differs each time, and is [unknown] each time. */
struct stack_slot {
	u64 hash; /* 0: empty */
	u32 node;
};

/* What one sample is, on its way to its node. */
struct hit {
	struct sample_core s;
	struct thread_view t;
	struct tree_group g;
	u32 tree, cpumode;
	bool at_leaf, ends_window;
	u64 callers_hash;
	u32 parent, frame;
};

struct collector {
	struct collector_opts opts;
	const struct strtab *strings;
	const struct evlist *events;
	struct resolver *resolver;
	struct collected result;
	u32 nr_trees;
	struct caller_slot *callers;
	struct stack_slot *stacks;
	struct hit batch[BATCH];
	struct window windows[BATCH]; /* of those hits that end one */
	u32 nr_batch;
};

struct collector *collector_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
				const struct strtab *strings, const struct evlist *events,
				const struct collector_opts *opts)
{
	struct collector *c = mem_zalloc(sizeof(*c));
	struct resolver_opts ropts = { .by_address = opts->by_address,
				       .every_address = opts->every_address,
				       .deferred = opts->deferred };

	c->opts = *opts;
	c->strings = strings;
	c->events = events;
	c->resolver = resolver_new(procs, dsos, frames, &ropts);
	c->nr_trees = (u32)events->events.n;
	collected_init(&c->result, c->nr_trees);
	c->callers = mem_zalloc(CALLER_CACHE * sizeof(*c->callers));
	c->stacks = mem_zalloc(STACK_CACHE * sizeof(*c->stacks));
	return c;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	collected_free(&c->result, c->nr_trees);
	free(c->callers);
	free(c->stacks);
	resolver_free(c->resolver);
	free(c);
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
		snprintf(made_up, sizeof(made_up), ":%d", (s32)t->tid);
	else
		name = strtab_get(c->strings, t->comm);
	for (u32 i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return false;
}

/* ID_NONE when the event's samples do not say. */
static u32 cpu_of(const struct collector *c, u32 event, const struct sample_core *s)
{
	return c->events->events.v[event].attr.sample_type & PERF_SAMPLE_CPU ? s->cpu : ID_NONE;
}

/* Samples of other CPUs and times are as if they had not been recorded; those of other threads are hidden, and their
 * weight still belongs to the whole. */
static bool inside(const struct collector *c, u32 event, const struct sample_core *s)
{
	const struct sample_filter *f = c->opts.filter;

	return !f || (holds(&f->cpus, cpu_of(c, event, s)) && (!f->times || timeranges_hold(f->times, s->time)));
}

static bool thread_kept(const struct collector *c, const struct sample_core *s, const struct thread_view *t)
{
	const struct sample_filter *f = c->opts.filter;

	return !f || (holds(&f->pids, s->pid) && holds(&f->tids, s->tid) && comm_kept(c, &f->comms, t));
}

static struct tree_group group_of(const struct collector *c, u32 event, const struct sample_core *s,
				  const struct thread_view *t)
{
	const struct collector_opts *o = &c->opts;
	struct tree_group g = { 0 };

	if (o->group_keys &
	    (1u << SORT_COMM | 1u << SORT_PID | 1u << SORT_TID)) /* the latter two are labelled with it */
		g.comm = t->comm != ID_NONE ? t->comm : COMM_UNNAMED | s->tid;
	if (o->group_keys >> SORT_PID & 1)
		g.pid = s->pid;
	if (o->group_keys >> SORT_TID & 1)
		g.tid = s->tid;
	if (o->group_keys >> SORT_CPU & 1)
		g.cpu = cpu_of(c, event, s);
	if (o->group_keys >> SORT_EVENT & 1)
		g.event = event;
	if (o->group_keys >> SORT_TIME & 1 && o->time_slice_ns && s->time >= o->first_time)
		g.time = (u32)((s->time - o->first_time) / o->time_slice_ns);
	return g;
}

/* Does the chain begin with the sample's own address, so that the rest are its callers? Nearly always. */
static bool starts_at_leaf(const struct sample_core *s, u32 cpumode)
{
	return s->chain.n >= 2 && u64s_at(&s->chain, 1) == s->ip && context_cpumode(u64s_at(&s->chain, 0)) == cpumode;
}

/* An address of a chain, as far as it matters: callers outside all mappings are one and the same. */
static u64 chain_word(const struct u64s *chain, u32 i, const struct space *space)
{
	u64 x;

	memcpy(&x, chain->p + (size_t)i * 8, 8);
	if (chain->swap)
		x = __builtin_bswap64(x);
	return x >> 63 || space_may_hold(space, x) ? x : 0;
}

/* Two runs side by side: the multiplication of one goes on while that of the other does. */
static u64 hash_chain(u64 h, const struct u64s *chain, u32 from, const struct space *space)
{
	u64 a = h, b = hash_u64(h);
	u32 i = from;

	for (; i + 2 <= chain->n; i += 2) {
		a = hash_mix(a, chain_word(chain, i, space));
		b = hash_mix(b, chain_word(chain, i + 1, space));
	}
	if (i < chain->n)
		a = hash_mix(a, chain_word(chain, i, space));
	/* What looks like an address there is a cookie (attrib/deferred.h). */
	if (chain->n >= 2 && u64s_at(chain, chain->n - 2) == PERF_CONTEXT_USER_DEFERRED)
		a = hash_mix(a, u64s_at(chain, chain->n - 1));
	return hash_mix(a, b);
}

/* Of everything that decides where the callers' node is. */
static u64 callers_hash(const struct collector *c, const struct tree_group *g, u32 tree, u32 cpumode,
			const struct sample_core *s, const struct thread_view *t, bool at_leaf)
{
	u64 h = hash_mix(hash_u64((u64)tree << 32 | cpumode), (u64)g->comm << 32 | g->pid);

	h = hash_mix(h, (u64)g->tid << 32 | g->cpu);
	h = hash_mix(h, (u64)g->event << 32 | g->time);
	h = hash_mix(h, (uintptr_t)t->maps.space);
	h = hash_mix(h, (u64)t->maps.n << 32 | t->kernel.n);
	if (c->opts.chains)
		h = hash_chain(h, &s->chain, at_leaf ? 2 : 0, t->maps.space);
	return h ? h : 1;
}

/* The node of these frames (innermost first) under the hit's group. */
static u32 climb(struct collector *c, const struct hit *h, const u32 *frames, u32 n)
{
	struct tree_builder *tree = &c->result.trees[h->tree];
	u32 node = tree_group(tree, &h->g);
	u64 hash = hash_mix((u64)h->tree << 32 | node, n);
	struct stack_slot *slot;

	for (u32 i = 0; i < n; i++)
		hash = hash_mix(hash, frames[i]);
	hash = hash ? hash : 1;
	slot = &c->stacks[hash % STACK_CACHE];
	if (slot->hash != hash) {
		while (n)
			node = tree_kid(tree, node, frames[--n]);
		*slot = (struct stack_slot){ hash, node };
	}
	return slot->node;
}

static u32 callers_node(struct collector *c, const struct hit *h)
{
	struct caller_slot *slot = &c->callers[h->callers_hash % CALLER_CACHE];
	u32 frames[MAX_STACK + 1], n = 0;

	if (slot->hash == h->callers_hash)
		return slot->node;
	if (c->opts.chains)
		n = resolver_callers(c->resolver, &h->t, &h->s, h->cpumode, frames);
	*slot = (struct caller_slot){ h->callers_hash, climb(c, h, frames, n) };
	return slot->node;
}

/* Sets parent and frame: where the sample belongs. */
static void place_hit(struct collector *c, struct hit *h)
{
	u32 frames[MAX_STACK + 1], n;

	if (h->at_leaf || !c->opts.chains) {
		h->parent = callers_node(c, h);
		h->frame = resolver_frame(c->resolver, &h->t, h->cpumode, h->s.ip, false);
		return;
	}
	n = resolver_stack(c->resolver, &h->t, &h->s, h->cpumode, frames);
	h->parent = climb(c, h, frames + 1, n - 1);
	h->frame = frames[0];
}

static void count(struct collected *r, u32 event, const struct sample_core *s)
{
	r->samples[event]++;
	r->weights[event] += s->period;
	r->tally.first_time = MIN(r->tally.first_time, s->time);
	r->tally.last_time = MAX(r->tally.last_time, s->time);
}

static void add_window(struct collector *c, u32 i, u32 node)
{
	const struct hit *h = &c->batch[i];

	window_hits_add(c->opts.windows, &c->windows[i], &(struct hit_place){ h->parent, h->frame, node },
			&c->result.windows[h->tree]);
}

/* In three steps over the whole batch, each bringing in what the next one reads. */
static void finish_batch(struct collector *c)
{
	for (u32 i = 0; i < c->nr_batch; i++) {
		struct hit *h = &c->batch[i];

		place_hit(c, h);
		tree_prefetch(&c->result.trees[h->tree], h->parent, h->frame);
	}
	for (u32 i = 0; i < c->nr_batch; i++) {
		struct hit *h = &c->batch[i];
		u32 node = tree_add(&c->result.trees[h->tree], h->parent, h->frame, h->s.period, 1);

		if (h->ends_window)
			add_window(c, i, node);
		count(&c->result, h->tree, &h->s);
	}
	c->nr_batch = 0;
}

void collector_add_window(struct collector *c, u32 event, u32 cpumode, const struct sample_core *s, u64 clock,
			  const struct window *w)
{
	const struct thread_view *t = resolver_thread(c->resolver, s->pid, s->tid, clock);
	struct hit *h = &c->batch[c->nr_batch];
	u32 tree = c->opts.group_keys >> SORT_EVENT & 1 ? 0 : event;
	bool in = inside(c, event, s);

	c->result.tally.samples++;
	if (!in || !thread_kept(c, s, t)) {
		c->result.tally.filtered++;
		c->result.hidden[tree] += in ? s->period : 0;
		return;
	}
	h->s = *s;
	h->t = *t;
	h->cpumode = cpumode;
	h->tree = tree;
	h->g = group_of(c, event, s, t);
	h->at_leaf = starts_at_leaf(s, cpumode);
	h->ends_window = w && c->opts.windows;
	if (h->ends_window)
		window_copy(&c->windows[c->nr_batch], w);
	h->callers_hash = callers_hash(c, &h->g, h->tree, cpumode, s, t, h->at_leaf);
	__builtin_prefetch(&c->callers[h->callers_hash % CALLER_CACHE]);
	resolver_prefetch(c->resolver, t, cpumode, s->ip);
	if (++c->nr_batch == BATCH)
		finish_batch(c);
}

void collector_add(struct collector *c, u32 event, u32 cpumode, const struct sample_core *s, u64 clock)
{
	collector_add_window(c, event, cpumode, s, clock, NULL);
}

struct collected *collector_result(struct collector *c)
{
	finish_batch(c);
	if (c->opts.windows)
		window_hits_flush(c->opts.windows);
	return &c->result;
}

void collected_init(struct collected *c, u32 nr_trees)
{
	*c = (struct collected){ .tally.first_time = UINT64_MAX };
	c->trees = mem_zalloc(nr_trees * sizeof(*c->trees));
	c->weights = mem_zalloc(nr_trees * sizeof(u64));
	c->hidden = mem_zalloc(nr_trees * sizeof(u64));
	c->samples = mem_zalloc(nr_trees * sizeof(u64));
	c->windows = mem_zalloc(nr_trees * sizeof(*c->windows));
}

void collected_free(struct collected *c, u32 nr_trees)
{
	for (u32 i = 0; i < nr_trees; i++)
		tree_builder_free(&c->trees[i]);
	for (u32 i = 0; i < nr_trees; i++)
		window_sums_free(&c->windows[i]);
	free(c->trees);
	free(c->windows);
	free(c->weights);
	free(c->hidden);
	free(c->samples);
}

void collected_merge(struct collected *to, struct collected *from, u32 nr_trees, const struct tree_rename *rename)
{
	for (u32 i = 0; i < nr_trees; i++) {
		if (from->windows[i].members) {
			u32 *at = tree_merge_nodes(&to->trees[i], &from->trees[i], rename);

			window_sums_merge(&to->windows[i], &from->windows[i], at);
			free(at);
		} else if (from->trees[i].links.n)
			tree_merge(&to->trees[i], &from->trees[i], rename);
		to->weights[i] += from->weights[i];
		to->hidden[i] += from->hidden[i];
		to->samples[i] += from->samples[i];
	}
	to->tally.samples += from->tally.samples;
	to->tally.filtered += from->tally.filtered;
	to->tally.first_time = MIN(to->tally.first_time, from->tally.first_time);
	to->tally.last_time = MAX(to->tally.last_time, from->tally.last_time);
}
