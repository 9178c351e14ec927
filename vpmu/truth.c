/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth of one thread.
 *
 * Per instruction: a block's operations have their counts in one array, made when the block first runs in this thread;
 * the same instruction in several blocks is several records, and whoever reads them adds them up.
 *
 * Per call path: a node is a call of a function (its first instruction) from a place (the call) in the node above.
 * Which node the thread is in is remembered with each frame of the call stack (callstack_mark), so that whatever takes
 * frames away - returns, longjmp, exceptions, another stack - leads back to the right node. A call often ends up
 * somewhere else than where it went: through an entry of a PLT, which jumps on, or a resolver that does. An indirect
 * jump that leaves for another function therefore moves the frame to a node of that function, with the same caller.
 * Which jumps do: those out of the first instructions behind a call (as a PLT's), to something that is also called, or
 * far away; others are jump tables within a function. Direct jumps to other functions (tail calls of one object) stay
 * in the node that was called.
 *
 * Windows: between two samples of one event in this thread. Functions in it are counted when the thread changes its
 * node, by a stamp per function and event. Those that are open at an exec go on in the next program, whose functions
 * are others.
 *
 * fork: the child has the parent's nodes, as its frames name them, with all counts 0; only what it counts is told.
 */
#include "vpmu/truth.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/set.h"
#include "base/vec.h"
#include "codec/vpmu_truth.h"

#define STUB_SIZE 16 /* bytes of a PLT entry: a jump from within is its */
/* Bytes: most functions are smaller. In a larger one a jump to itself makes a node more, which does no harm. */
#define FAR_AWAY 16384
#define ROOT 1

typedef u64 counts_t[NR_VPMU_COUNTS];

struct block_truth {
	u64 time;
	const struct block *block;
	counts_t *ops; /* NULL: it has not run here */
};

struct node {
	u64 pc, site, time;
	u32 parent, function;
	counts_t counts;
};

struct truth {
	counts_t told; /* how the counts stood after the last operation */
	VEC(struct block_truth) blocks;
	VEC(struct node) nodes; /* nodes.v[0] is none */
	struct set kids;	/* nodes, by (parent, site, pc) */
	struct map functions;	/* first instruction -> its number */
	u32 nr_functions;
	u32 root, node;
	counts_t entered; /* how the counts stood when the thread came to its node */
	u32 nr_events;
	struct truth_windows windows; /* counts: how they stood when it began */
	u32 window_stamps[VPMU_EVENTS_MAX];
	VEC(u32) stamps; /* nr_events per function: of the last window that it was in */
	struct bytes out;
};

static void add_since(counts_t to, const counts_t now, counts_t since)
{
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++) {
		to[i] += now[i] - since[i];
		since[i] = now[i];
	}
}

static bool is_zero(const counts_t c)
{
	u64 any = 0;

	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		any |= c[i];
	return !any;
}

static void put(struct vthread *t, struct vpmu_truth *r)
{
	struct bytes *out = &t->truth->out;

	r->pid = t->pid;
	r->tid = t->tid;
	out->len = 0;
	vpmu_truth_encode(r, out);
	channel_put(t, out);
}

/* --- nodes --- */

static u32 function_of(struct truth *u, u64 pc)
{
	u32 *f = map_at(&u->functions, pc, u->nr_functions);

	if (*f == u->nr_functions) {
		u->nr_functions++;
		for (u32 i = 0; i < u->nr_events; i++)
			vec_push(&u->stamps, 0);
	}
	return *f;
}

static bool is_node(const struct node *n, u32 parent, u64 site, u64 pc)
{
	return n->parent == parent && n->site == site && n->pc == pc;
}

static u32 kid_of(struct vthread *t, u32 parent, u64 site, u64 pc)
{
	struct truth *u = t->truth;
	u64 h = hash_finish(hash_mix(hash_mix(parent, site), pc));
	struct node n = { .pc = pc, .site = site, .parent = parent };
	u32 id, at;

	SET_FIND(id, &u->kids, h, at, is_node(&u->nodes.v[id], parent, site, pc));
	if (id != ID_NONE)
		return id;
	n.time = tasks_time(t);
	n.function = function_of(u, pc);
	id = (u32)u->nodes.n;
	vec_push(&u->nodes, n);
	set_add(&u->kids, h, id);
	return id;
}

static void stamp_function(struct truth *u, u32 function)
{
	for (u32 i = 0; i < u->nr_events; i++) {
		u32 *stamp = &u->stamps.v[function * u->nr_events + i];

		if (!u->windows.of[i].open || *stamp == u->window_stamps[i])
			continue;
		*stamp = u->window_stamps[i];
		u->windows.of[i].functions++;
	}
}

static void go_to(struct truth *u, u32 node)
{
	if (node == u->node)
		return;
	if (u->node)
		add_since(u->nodes.v[u->node].counts, u->told, u->entered);
	u->node = node;
	stamp_function(u, u->nodes.v[node].function);
}

/* The node of the innermost frame. One that is new is a call's, or that of a signal's handler. */
static u32 node_of_stack(struct vthread *t, const struct frame_event *e)
{
	struct truth *u = t->truth;
	u32 mark = callstack_mark(t);

	if (mark == ID_NONE)
		return u->root;
	if (!mark) {
		mark = kid_of(t, u->node, e->from, e->to);
		callstack_set_mark(t, mark);
	}
	return mark;
}

/* Does the jump leave the function that n stands for? */
static bool leaves(const struct truth *u, const struct node *n, const struct frame_event *e)
{
	u64 distance = e->from < e->to ? e->to - e->from : e->from - e->to;

	return e->from - n->pc < STUB_SIZE || distance >= FAR_AWAY || map_get(&u->functions, e->to) != ID_NONE;
}

void truth_transfer(struct vthread *t, const struct frame_event *e, bool jump)
{
	struct truth *u = t->truth;
	const struct node *n;
	u32 node;

	if (!u || !u->node)
		return;
	node = node_of_stack(t, e);
	n = &u->nodes.v[node];
	/* Another node than before: a longjmp took frames away, and the jump went to the function of the one that is
	 * left. */
	if (jump && node == u->node && leaves(u, n, e)) {
		node = kid_of(t, n->parent, n->site, e->to);
		if (callstack_mark(t) == ID_NONE)
			u->root = node;
		else
			callstack_set_mark(t, node);
	}
	go_to(u, node);
}

/* --- instructions --- */

static void block_begins(struct vthread *t, const struct block *b)
{
	struct truth *u = t->truth;

	while (u->blocks.n <= b->id)
		vec_push(&u->blocks, (struct block_truth){ 0 });
	u->blocks.v[b->id] = (struct block_truth){ tasks_time(t), b, mem_zalloc(b->nr * sizeof(counts_t)) };
	if (!u->node) {
		u->root = kid_of(t, 0, 0, b->pc);
		u->node = u->root;
		stamp_function(u, u->nodes.v[u->root].function);
	}
}

void truth_op(struct vthread *t, const struct block *b, u32 op)
{
	struct truth *u = t->truth;

	if (!u)
		return;
	if (UNLIKELY(b->id >= u->blocks.n || !u->blocks.v[b->id].ops))
		block_begins(t, b);
	add_since(u->blocks.v[b->id].ops[op], t->counts, u->told);
}

/* --- windows --- */

void truth_window(struct vthread *t, const struct vpmu_event *e, u64 id, u64 pc)
{
	struct vpmu_truth r = { .type = VPMU_RECORD_TRUTH_WINDOW, .id = id, .other_pc = pc };
	size_t event = (size_t)(e - t->process->control->events);
	struct truth *u = t->truth;
	struct truth_window *w;

	if (!u)
		return;
	w = &u->windows.of[event];
	r.time = tasks_time(t);
	if (w->open) {
		r.begun = w->time;
		r.pc = w->pc;
		r.functions = w->functions;
		for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
			r.counts[i] = t->counts[i] - w->counts[i];
		r.calls = (u32)r.counts[VC_CALLS];
		r.returns = (u32)r.counts[VC_RETURNS];
		put(t, &r);
	}
	*w = (struct truth_window){ .open = true, .time = r.time, .pc = pc };
	memcpy(w->counts, t->counts, sizeof(counts_t));
	u->window_stamps[event]++;
	if (u->node)
		stamp_function(u, u->nodes.v[u->node].function);
}

void truth_operation(struct vthread *t, u64 id, u64 pc, const struct vpmu_truth_operation *o)
{
	if (t->truth)
		put(t, &(struct vpmu_truth){ .type = VPMU_RECORD_TRUTH_OPERATION,
					     .time = tasks_time(t),
					     .pc = pc,
					     .id = id,
					     .op = *o });
}

/* From how the counts stood when each began to what came since, or back. */
static void turn_counts(const struct vthread *t, struct truth_windows *w)
{
	for (u32 e = 0; e < t->process->control->nr_events; e++)
		for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
			w->of[e].counts[i] = t->counts[i] - w->of[e].counts[i];
}

void truth_save_windows(const struct vthread *t, struct truth_windows *to)
{
	*to = t->truth->windows;
	turn_counts(t, to);
}

static void take_over_windows(struct vthread *t)
{
	struct truth *u = t->truth;

	u->windows = *t->carried.windows;
	turn_counts(t, &u->windows);
	for (u32 i = 0; i < u->nr_events; i++)
		u->window_stamps[i] =
			MAX(u->window_stamps[i], 1u); /* after an exec that failed the functions are the same */
	free(t->carried.windows);
	t->carried.windows = NULL;
}

/* --- life --- */

/* The child of a fork: what its parent counted is not its own. Behind an exec that failed it has been told. */
static void forget_counts(struct vthread *t)
{
	struct truth *u = t->truth;

	for (size_t i = 0; i < u->blocks.n; i++) {
		free(u->blocks.v[i].ops);
		u->blocks.v[i].ops = NULL;
	}
	for (size_t i = 0; i < u->nodes.n; i++) {
		memset(u->nodes.v[i].counts, 0, sizeof(counts_t));
		u->nodes.v[i].time = tasks_time(t); /* earlier there was no such process */
	}
	for (u32 i = 0; i < u->nr_events; i++)
		u->windows.of[i].open = false;
}

void truth_start(struct vthread *t)
{
	const struct vpmu_control *control = t->process->control;
	struct truth *u = t->truth;

	if (!control->options.truth)
		return;
	if (u) {
		forget_counts(t);
	} else {
		u = t->truth = mem_zalloc(sizeof(*u));
		u->nr_events = control->nr_events;
		vec_push(&u->nodes, (struct node){ 0 });
	}
	if (t->carried.windows)
		take_over_windows(t);
	memcpy(u->told, t->counts, sizeof(counts_t));
	memcpy(u->entered, t->counts, sizeof(counts_t));
	put(t, &(struct vpmu_truth){ .type = VPMU_RECORD_TRUTH_BEGIN, .time = tasks_time(t) });
}

static void tell_blocks(struct vthread *t)
{
	struct truth *u = t->truth;

	for (size_t i = 0; i < u->blocks.n; i++) {
		const struct block_truth *b = &u->blocks.v[i];

		for (u32 k = 0; b->ops && k < b->block->nr; k++) {
			struct vpmu_truth r = { .type = VPMU_RECORD_TRUTH_PC,
						.time = b->time,
						.pc = b->block->ops[k].pc };

			if (is_zero(b->ops[k]))
				continue;
			memcpy(r.counts, b->ops[k], sizeof(r.counts));
			put(t, &r);
		}
	}
}

/* Those that counted something, and what is above them. Parents have smaller numbers. */
static void tell_nodes(struct vthread *t)
{
	struct truth *u = t->truth;
	bool *wanted = mem_zalloc(u->nodes.n);

	for (size_t i = u->nodes.n; i-- > 1;) {
		wanted[i] |= !is_zero(u->nodes.v[i].counts);
		wanted[u->nodes.v[i].parent] |= wanted[i];
	}
	for (u32 i = 1; i < u->nodes.n; i++) {
		const struct node *n = &u->nodes.v[i];
		struct vpmu_truth r = { .type = VPMU_RECORD_TRUTH_NODE,
					.time = n->time,
					.pc = n->pc,
					.other_pc = n->site,
					.node = i,
					.parent = n->parent };

		memcpy(r.counts, n->counts, sizeof(r.counts));
		if (wanted[i])
			put(t, &r);
	}
	free(wanted);
}

static void truth_free(struct truth *u)
{
	for (size_t i = 0; i < u->blocks.n; i++)
		free(u->blocks.v[i].ops);
	vec_free(&u->blocks);
	vec_free(&u->nodes);
	vec_free(&u->stamps);
	set_free(&u->kids);
	map_free(&u->functions);
	bytes_free(&u->out);
	free(u);
}

void truth_tell(struct vthread *t)
{
	struct vpmu_truth r = { .type = VPMU_RECORD_TRUTH_END };
	struct truth *u = t->truth;

	if (!u)
		return;
	if (u->node)
		add_since(u->nodes.v[u->node].counts, u->told, u->entered);
	tell_blocks(t);
	tell_nodes(t);
	r.time = tasks_time(t);
	memcpy(r.counts, u->told, sizeof(r.counts));
	put(t, &r);
}

void truth_end(struct vthread *t)
{
	if (!t->truth)
		return;
	truth_tell(t);
	truth_free(t->truth);
	t->truth = NULL;
}
