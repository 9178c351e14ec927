/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/collector.h"

#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "agg/trace_keys.h"
#include "base/hash.h"

#define LEAST_STACKS (1u << 8) /* slots for callers, and for stacks */
#define MOST_CALLERS (1u << 17)
#define MOST_STACKS (1u << 16)
#define MOST_GROUPS (1u << 14) /* without chains a group has nothing but itself */
#define PATHS 64u
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

/* Where the last stack of a thread went: the next one mostly has the same outer callers. Outermost first. */
struct path {
	u32 tree, group, n; /* group 0: empty, as that is the root of all groups */
	u32 frames[MAX_STACK + 1], nodes[MAX_STACK + 1];
};

#define TOGETHER ID_NONE

/* A hit on its way to its node. */
struct pending {
	struct hit h; /* without what is valid only while it is handed on */
	struct thread_view t;
	u64 g[MAX_KEYS + 2]; /* the group's words */
	u64 times, last;     /* equal hits, and when the last one was */
	u32 tree;	     /* of an event, or TOGETHER */
	bool at_leaf;
	u32 measured; /* bits: measures that hold something of it */
	u64 group_hash, callers_hash;
	u32 parent, frame;
	struct address_lookup leaf; /* its own address, begun; only if finds_leaf */
};

/* The callers of a pending hit whose node is not at hand. */
struct stack {
	u64 hash;	   /* of the group and the frames; 0: the node is known */
	u32 group, n;	   /* the group's node; frames */
	const u32 *frames; /* in room, innermost first */
	u32 room[MAX_STACK + 1];
};

struct collector {
	struct collector_opts opts;
	const struct strtab *strings;
	struct dsos *dsos;
	struct resolver *resolver;
	struct collected result;
	u32 nr_trees;
	u8 keys[MAX_KEYS]; /* those that have a value of the hit */
	u32 nr_keys;
	struct hit_keys ask;
	bool one_table; /* of all events */
	bool named;	/* groups have the names of threads, be they a key or not */
	u32 caller_mask, stack_mask;
	struct caller_slot *callers;
	struct stack_slot *stacks;
	struct path *paths; /* by thread */
	struct pending batch[BATCH];
	struct stack found[BATCH]; /* of each of the batch */
	u8 *held[NR_MEASURES];	   /* of measures in use: what they hold of each of the batch */
	u32 nr_batch;
};

struct collector *collector_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
				const struct strtab *strings, const struct evlist *events,
				const struct collector_opts *opts)
{
	struct collector *c = mem_zalloc(sizeof(*c));
	struct resolver_opts ropts = { .by_address = opts->by_address,
				       .functions = opts->functions,
				       .every_address = opts->every_address,
				       .samples = opts->samples,
				       .code = opts->code,
				       .deferred = opts->deferred };
	u32 callers = hash_slots(opts->samples, LEAST_STACKS, opts->chains ? MOST_CALLERS : MOST_GROUPS);
	u32 stacks = hash_slots(opts->samples, LEAST_STACKS, opts->chains ? MOST_STACKS : MOST_GROUPS);

	c->opts = *opts;
	c->strings = strings;
	c->dsos = dsos;
	c->resolver = resolver_new(procs, dsos, frames, &ropts);
	c->nr_trees = (u32)events->events.n;
	collected_init(&c->result, c->nr_trees);
	c->one_table = opts->keys->sort_keys >> SORT_EVENT & 1;
	c->named = opts->keys->sort_keys & KEYS_NAMED;
	c->ask = (struct hit_keys){ opts->features, opts->time_slice_ns, opts->first_time, c->resolver, NULL, 0 };
	for (u32 i = 0; i < opts->keys->nr_sort; i++)
		if (sort_key_row(opts->keys->sort_order[i])->of_hit)
			c->keys[c->nr_keys++] = opts->keys->sort_order[i];
	if (opts->keys->texts)
		c->ask.trace = trace_keys_new(opts->keys->texts, opts->features, dsos, opts->keys->timelines,
					      opts->keys->fields, opts->keys->nr_fields, opts->notify);
	c->caller_mask = callers - 1;
	c->callers = hash_room(opts->samples, callers, sizeof(*c->callers));
	c->stack_mask = stacks - 1;
	c->stacks = hash_room(opts->samples, stacks, sizeof(*c->stacks));
	c->paths = mem_zalloc(PATHS * sizeof(*c->paths));
	for (u32 i = 0; i < NR_MEASURES; i++)
		if (opts->measuring.used & MEASURE_BIT(i))
			c->held[i] = mem_alloc(BATCH * measures[i].held);
	return c;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	collected_free(&c->result, c->nr_trees);
	free(c->callers);
	free(c->stacks);
	free(c->paths);
	for (u32 i = 0; i < NR_MEASURES; i++)
		free(c->held[i]);
	resolver_free(c->resolver);
	trace_keys_free(c->ask.trace);
	free(c);
}

static struct tree_builder *tree_of(struct collector *c, u32 tree)
{
	return tree == TOGETHER ? &c->result.together : &c->result.trees[tree];
}

static u32 nr_words(const struct collector *c, u32 tree)
{
	return c->opts.keys->group_words + (tree == TOGETHER);
}

static void group_of(struct collector *c, const struct hit *h, const struct thread_view *t, u64 *words)
{
	words[0] = c->named ? key_comm(h, t) : 0;
	for (u32 i = 0; i < c->nr_keys; i++) {
		c->ask.key = c->keys[i];
		words[c->opts.keys->word_of[c->keys[i]]] = sort_key_row(c->keys[i])->of_hit(&c->ask, h, t);
	}
}

/* Does the chain begin with the sample's own address, so that the rest are its callers? Nearly always. */
static bool starts_at_leaf(const struct hit *h)
{
	const struct u64s *chain = &h->s.chain;

	return chain->n >= 2 && u64s_at(chain, 1) == h->s.ip && context_cpumode(u64s_at(chain, 0)) == h->cpumode;
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

/* Of all words of the group, whatever keys it has. */
static u64 group_hash(const struct collector *c, const struct pending *p)
{
	u64 h = hash_u64(0);

	for (u32 i = 0; i < nr_words(c, p->tree); i++)
		h = hash_mix(h, p->g[i]);
	return h;
}

/* Of everything that decides where the callers' node is: the tree, the group and, where there are chains, the chain's
 * addresses and what was mapped there. */
static u64 callers_hash(const struct collector *c, const struct pending *p)
{
	u64 h = hash_mix(p->group_hash, p->tree);

	if (c->opts.chains) {
		h = hash_mix(hash_mix(h, p->h.cpumode), (uintptr_t)p->t.maps.space);
		h = hash_mix(h, (u64)p->t.maps.n << 32 | p->t.kernel.n);
		h = hash_chain(h, &p->h.s.chain, p->at_leaf ? 2 : 0, p->t.maps.space);
	}
	return h ? h : 1;
}

/* The node of these frames (innermost first) under the group's: where they part from the thread's last stack, the
 * tree is asked. */
static u32 walk_down(struct collector *c, const struct pending *p, u32 group, const u32 *frames, u32 n)
{
	struct path *path = &c->paths[p->h.s.tid % PATHS];
	u32 node = group, i = 0;

	if (path->group == group && path->tree == p->tree)
		for (; i < MIN(n, path->n) && path->frames[i] == frames[n - 1 - i]; i++)
			node = path->nodes[i];
	for (; i < n; i++) {
		node = tree_kid(tree_of(c, p->tree), node, frames[n - 1 - i]);
		path->frames[i] = frames[n - 1 - i];
		path->nodes[i] = node;
	}
	path->tree = p->tree;
	path->group = group;
	path->n = n;
	return node;
}

/* These frames (innermost first) under the hit's group: which slot has their node, if any. */
static void climb_begin(struct collector *c, const struct pending *p, struct stack *s)
{
	u64 hash;

	s->group = tree_group(tree_of(c, p->tree), p->g, nr_words(c, p->tree));
	hash = hash_mix((u64)p->tree << 32 | s->group, s->n);
	for (u32 i = 0; i < s->n; i++)
		hash = hash_mix(hash, s->frames[i]);
	s->hash = hash ? hash : 1;
	__builtin_prefetch(&c->stacks[s->hash & c->stack_mask], 1);
}

/* Their node. */
static u32 climb_end(struct collector *c, const struct pending *p, const struct stack *s)
{
	struct stack_slot *slot = &c->stacks[s->hash & c->stack_mask];

	if (slot->hash != s->hash)
		*slot = (struct stack_slot){ s->hash, walk_down(c, p, s->group, s->frames, s->n) };
	return slot->node;
}

/* Is the frame of its own address apart from those of its callers? */
static bool finds_leaf(const struct collector *c, const struct pending *p)
{
	return p->at_leaf || !c->opts.chains;
}

/* Sets the frame of the hit's own address, and parent if the callers' node is known; else the callers are found. New
 * callers that are in one batch more than once are found each time. */
static void find_frames(struct collector *c, struct pending *p, struct stack *s)
{
	const struct caller_slot *slot = &c->callers[p->callers_hash & c->caller_mask];

	s->hash = 0;
	if (!finds_leaf(c, p)) {
		s->n = resolver_stack(c->resolver, &p->t, &p->h, s->room) - 1;
		s->frames = s->room + 1;
		p->frame = s->room[0];
		climb_begin(c, p, s);
		return;
	}
	p->frame = resolver_end(c->resolver, &p->leaf);
	p->parent = slot->node;
	if (slot->hash == p->callers_hash)
		return;
	s->n = c->opts.chains ? resolver_callers(c->resolver, &p->t, &p->h, s->room) : 0;
	s->frames = s->room;
	climb_begin(c, p, s);
}

/* Sets parent, where it is not. */
static void find_parent(struct collector *c, struct pending *p, const struct stack *s)
{
	if (!s->hash)
		return;
	p->parent = climb_end(c, p, s);
	if (finds_leaf(c, p))
		c->callers[p->callers_hash & c->caller_mask] = (struct caller_slot){ p->callers_hash, p->parent };
}

static void count_for(struct collected *r, const struct pending *p, u32 event)
{
	const struct sample_core *s = &p->h.s;

	r->samples[event] += p->times;
	r->weights[event] += s->period * p->times;
	r->exact[event] += p->h.exact * p->times;
	r->squares[event] += (double)s->period * (double)s->period * (double)p->times;
}

static void count(struct collector *c, const struct pending *p)
{
	const struct sample_core *s = &p->h.s;
	struct collected *r = &c->result;

	if (p->tree != TOGETHER)
		count_for(r, p, p->tree);
	for (u64 left = p->tree == TOGETHER ? p->h.together : 0; left; left &= left - 1)
		count_for(r, p, c->opts.together->made[__builtin_ctzll(left)].event);
	r->tally.first_time = MIN(r->tally.first_time, s->time);
	r->tally.last_time = MAX(r->tally.last_time, p->last);
}

/* Which measures hold something of the hit, of those in use. */
static u32 hold(struct collector *c, const struct hit *h)
{
	u32 held = 0;

	for (u32 left = c->opts.measuring.used; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);

		if (measures[i].hold(h, c->held[i] + c->nr_batch * measures[i].held))
			held |= MEASURE_BIT(i);
	}
	return held;
}

/* Of the values of all keys that may come from activities; those of tracepoints are the same for all windows. */
static u64 activity_hash(const struct profile *keys, const struct pending *p)
{
	u64 hash = 0;

	for (u32 i = 0; i < keys->nr_sort && keys->timelines; i++)
		if (keys->sort_order[i] >= SORT_ACTIVITY && !key_is_frames(keys->sort_order[i]))
			hash = hash_mix(hash, p->g[keys->word_of[keys->sort_order[i]]]);
	return hash;
}

/* The nth hit of the batch, now that it has a node. */
static void measure(struct collector *c, u32 nth, u32 node)
{
	const struct pending *p = &c->batch[nth];
	bool ends_window = p->measured & MEASURE_BIT(MEASURE_WINDOWS);
	const struct hit_place place = { p->parent, p->frame, node, p->h.s.ip,
					 ends_window ? activity_hash(c->opts.keys, p) : 0 };

	for (u32 left = p->measured; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);

		measures[i].add(c->opts.measuring.of[i], c->held[i] + nth * measures[i].held, &place,
				measured_sums(&c->result.measured[p->tree], i));
	}
}

/* In steps over the whole batch, each bringing in what the next one reads. */
static void finish_batch(struct collector *c)
{
	for (u32 i = 0; i < c->nr_batch; i++) {
		struct pending *p = &c->batch[i];

		if (finds_leaf(c, p))
			resolver_begin(c->resolver, &p->t, p->h.cpumode, p->h.s.ip, false, &p->leaf);
	}
	for (u32 i = 0; i < c->nr_batch; i++)
		find_frames(c, &c->batch[i], &c->found[i]);
	for (u32 i = 0; i < c->nr_batch; i++) {
		struct pending *p = &c->batch[i];

		find_parent(c, p, &c->found[i]);
		tree_prefetch(tree_of(c, p->tree), p->parent, p->frame);
	}
	for (u32 i = 0; i < c->nr_batch; i++) {
		struct pending *p = &c->batch[i];
		u32 node = tree_add(tree_of(c, p->tree), p->parent, p->frame, p->h.s.period * p->times, (u32)p->times);

		if (p->measured)
			measure(c, i, node);
		count(c, p);
	}
	c->nr_batch = 0;
}

static void count_activity(struct collector *c, const struct hit *h)
{
	const struct timelines *t = c->opts.keys->timelines;

	c->result.tally.activities[h->activity ? t->all.v[h->activity].status : NR_ACTIVITY_STATUS] += hit_samples(h);
}

static bool is_kept(struct collector *c, u32 tree, const struct hit *h, const struct thread_view *t)
{
	const struct sample_filter *f = c->opts.filter;
	u64 samples = hit_samples(h);

	c->result.tally.samples += samples;
	if (c->opts.keys->timelines)
		count_activity(c, h);
	if (!f)
		return true;
	if (!sample_filter_inside(f, &h->s)) {
		c->result.tally.filtered += samples;
		return false;
	}
	if (sample_filter_thread(f, h->s.pid, h->s.tid, t, c->strings) && sample_filter_activity(f, h->activity))
		return true;
	c->result.tally.filtered += samples;
	if (tree != TOGETHER)
		c->result.hidden[tree] += h->s.period * spe_times(h);
	for (u64 left = h->together; left; left &= left - 1)
		c->result.hidden[c->opts.together->made[__builtin_ctzll(left)].event] += h->s.period * spe_times(h);
	return false;
}

/* An operation of SPE is a sample of several events, with the same values for all keys but that of the event. Only
 * they come one after the other with the same place in the file. */
static bool is_same_operation(const struct collector *c, const struct hit *h)
{
	const struct pending *before = c->nr_batch ? &c->batch[c->nr_batch - 1] : NULL;

	return before && h->operation && h->nth && !c->one_table && before->h.offset == h->offset &&
	       before->h.nth + 1 == h->nth;
}

static void take_group(struct collector *c, const struct hit *h, const struct thread_view *t, struct pending *p)
{
	bool again = is_same_operation(c, h);

	p->h = *h;
	if (again)
		memcpy(p->g, p[-1].g, c->opts.keys->group_words * sizeof(*p->g));
	else
		group_of(c, h, t, p->g);
	p->g[c->opts.keys->group_words] = h->together;
	p->t = *t;
	if (h->branch)
		p->h.cpumode = place_mode(t, h->s.ip);
	p->group_hash = again ? p[-1].group_hash : group_hash(c, p);
}

void collector_add(struct collector *c, const struct hit *h)
{
	const struct thread_view *t = resolver_thread(c->resolver, h->s.pid, h->s.tid, h->clock);
	u32 tree = c->one_table ? 0 : h->together ? TOGETHER : h->event;
	struct pending *p = &c->batch[c->nr_batch];

	if (!is_kept(c, tree, h, t))
		return;
	p->tree = tree;
	take_group(c, h, t, p);
	if (c->opts.costs) /* as perf: no sample weighs nothing */
		p->h.s.period = MAX(h->full->weight, 1);
	p->measured = hold(c, h);
	p->times = spe_times(h);
	p->last = p->times > 1 ? h->operation->last : h->s.time;
	p->h.full = NULL;
	p->h.branch = NULL;
	p->h.past = NULL;
	p->h.operation = NULL;
	p->h.window = NULL;
	p->at_leaf = c->opts.chains && starts_at_leaf(h);
	p->callers_hash = callers_hash(c, p);
	__builtin_prefetch(&c->callers[p->callers_hash & c->caller_mask]);
	resolver_prefetch(c->resolver, t, h->cpumode, h->s.ip);
	if (++c->nr_batch == BATCH)
		finish_batch(c);
}

struct collected *collector_result(struct collector *c)
{
	finish_batch(c);
	for (u32 i = 0; i < NR_MEASURES; i++)
		if (c->opts.measuring.used & MEASURE_BIT(i) && measures[i].flush)
			measures[i].flush(c->opts.measuring.of[i]);
	return &c->result;
}

/* What remembers nodes has to forget them. */
void collector_take(struct collector *c, struct collected *out)
{
	finish_batch(c);
	*out = c->result;
	for (u32 i = 0; i < c->nr_trees; i++)
		tree_keep(&out->trees[i]);
	collected_init(&c->result, c->nr_trees);
	memset(c->callers, 0, (c->caller_mask + (size_t)1) * sizeof(*c->callers));
	memset(c->stacks, 0, (c->stack_mask + (size_t)1) * sizeof(*c->stacks));
	for (u32 i = 0; i < PATHS; i++)
		c->paths[i].group = 0;
}

void collected_init(struct collected *c, u32 nr_trees)
{
	*c = (struct collected){ .tally.first_time = UINT64_MAX };
	c->trees = mem_zalloc(nr_trees * sizeof(*c->trees));
	c->weights = mem_zalloc(nr_trees * sizeof(u64));
	c->hidden = mem_zalloc(nr_trees * sizeof(u64));
	c->samples = mem_zalloc(nr_trees * sizeof(u64));
	c->exact = mem_zalloc(nr_trees * sizeof(u64));
	c->squares = mem_zalloc(nr_trees * sizeof(double));
	c->measured = mem_zalloc(nr_trees * sizeof(*c->measured));
}

void collected_free(struct collected *c, u32 nr_trees)
{
	for (u32 i = 0; i < nr_trees; i++)
		tree_builder_free(&c->trees[i]);
	tree_builder_free(&c->together);
	for (u32 i = 0; i < nr_trees; i++)
		measured_free(&c->measured[i]);
	free(c->trees);
	free(c->measured);
	free(c->weights);
	free(c->hidden);
	free(c->samples);
	free(c->exact);
	free(c->squares);
}

/* Those of whole events. */
static void add_sums(struct collected *to, const struct collected *from, u32 nr_trees)
{
	for (u32 i = 0; i < nr_trees; i++) {
		to->weights[i] += from->weights[i];
		to->hidden[i] += from->hidden[i];
		to->samples[i] += from->samples[i];
		to->exact[i] += from->exact[i];
		to->squares[i] += from->squares[i];
	}
	to->tally.samples += from->tally.samples;
	to->tally.filtered += from->tally.filtered;
	for (u32 i = 0; i <= NR_ACTIVITY_STATUS; i++)
		to->tally.activities[i] += from->tally.activities[i];
	to->tally.first_time = MIN(to->tally.first_time, from->tally.first_time);
	to->tally.last_time = MAX(to->tally.last_time, from->tally.last_time);
}

void collected_merge(struct collected *to, struct collected *from, u32 nr_trees, const struct tree_rename *rename)
{
	for (u32 i = 0; i < nr_trees; i++) {
		if (measured_any(&from->measured[i])) {
			u32 *at = tree_merge_nodes(&to->trees[i], &from->trees[i], rename);

			measured_merge(&to->measured[i], &from->measured[i], at);
			free(at);
		} else if (from->trees[i].links.n)
			tree_merge(&to->trees[i], &from->trees[i], rename);
	}
	if (from->together.links.n)
		tree_merge(&to->together, &from->together, rename);
	add_sums(to, from, nr_trees);
}

void collected_add(struct collected *to, const struct collected *from, u32 nr_trees, const struct tree_rename *rename)
{
	for (u32 i = 0; i < nr_trees; i++)
		if (from->trees[i].links.n)
			tree_add_tree(&to->trees[i], &from->trees[i], rename);
	add_sums(to, from, nr_trees);
}
