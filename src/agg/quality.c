/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quality of stacks: how many frames have no name, and how many user stacks do not reach the function in which a
 * thread begins. A stack that was cut or misread ends somewhere else, so the share of broken stacks tells whether the
 * program's code has frame pointers, before anybody trusts a call graph.
 *
 * The kernel does not say why it could not follow frame pointers any further. If it stopped before it had all frames
 * that it may record, a frame pointer led to nothing: some function used the register for something else. Which one
 * is not known, but it is one of the stack; the stack is counted in the file of the outermost frame that is in one.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/profile.h"
#include "attrib/lbr.h"
#include "attrib/thread_start.h"
#include "attrib/unwind.h"

#define USUAL_DEPTH 127 /* frames that the kernel records unless it is told otherwise */

/* Where threads of the usual run-time systems begin. */
static const char *const beginnings[] = {
	"_start",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_main_alias_2",
	"__libc_start_main@@GLIBC_2.34",
	"__libc_start_call_main",
	"generic_start_main",
	"main",
	"start_thread",
	"thread_start",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"__clone_internal",
	"_dl_start",
	"_dl_start_user",
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.mstart",
	"runtime.rt0_go",
	"runtime.rt0_go.abi0",
	"_rt0_amd64_linux",
	"_rt0_arm64_linux",
};

static bool begins(const struct profile *p, const struct frame *f)
{
	const char *name;

	if (f->sym == ID_NONE)
		return false;
	name = dsos_symbol_name(p->dsos, f->dso, f->sym);
	for (u32 i = 0; i < ARRAY_LEN(beginnings); i++)
		if (!strcmp(name, beginnings[i]))
			return !thread_start_named(name) || thread_start_is(p->dsos, f->dso, f->sym);
	return false;
}

/* known: frame -> what was found out; each group of rows has the same frames. */
static bool is_beginning(const struct profile *p, struct map *known, u32 frame)
{
	u32 *is = map_at(known, frame, 2);

	if (*is == 2)
		*is = begins(p, frames_get(p->frames, frame));
	return *is;
}

/* What is known of a node from its callers. */
struct way {
	u32 dso;   /* of the outermost frame that is in a file; 0: none yet */
	u16 depth; /* recorded frames */
	bool cut;  /* the stack does not begin where threads do */
};

/* Why stacks of an event, so many frames deep, are cut. */
static enum stack_end why_cut(const struct event *event, u32 depth)
{
	u32 most = event->attr.sample_max_stack ? event->attr.sample_max_stack : USUAL_DEPTH;

	if (lbr_event(event))
		return STACK_LBR;
	return depth >= most ? STACK_DEEP : STACK_NO_FP;
}

static void count_ends(struct profile *p, const struct profile_event *e, struct map *known)
{
	const struct event *event = &p->evlist->events.v[e->event];
	const struct tree_node *nodes = e->tree.nodes.v;
	struct way *ways = mem_zalloc(e->tree.nodes.n * sizeof(*ways));
	struct stack_cuts cuts = { 0 };

	for (size_t i = 1; i < e->tree.nodes.n; i++) {
		const struct tree_node *n = &nodes[i];
		struct way *way = &ways[i];
		const struct frame *f;
		enum stack_end why;

		if (!n->parent)
			continue;
		f = frames_get(p->frames, n->frame);
		*way = ways[n->parent];
		way->depth = (u16)MIN(way->depth + !f->inlined, UINT16_MAX);
		if (!nodes[n->parent].parent) {
			way->cut = f->level == '.' && !is_beginning(p, known, n->frame);
			p->tally.ends.stacks += f->level == '.' ? n->total_samples : 0;
			p->tally.ends.ends[STACK_WHOLE] += f->level == '.' && !way->cut ? n->total_samples : 0;
		}
		if (!way->dso)
			way->dso = f->dso;
		if (!way->cut || !n->samples)
			continue;
		why = why_cut(event, way->depth);
		p->tally.ends.ends[why] += n->samples;
		stack_cuts_count(&cuts, way->dso, why, n->samples);
	}
	profile_add_cuts(p, &cuts);
	stack_cuts_free(&cuts);
	free(ways);
}

void profile_add_cuts(struct profile *p, const struct stack_cuts *by_dso)
{
	for (size_t i = 0; i < by_dso->v.n; i++) {
		const struct stack_cut *c = &by_dso->v.v[i];

		stack_cuts_count(&p->cuts, c->file | CUT_IN_DSO, c->end, c->stacks);
	}
}

void profile_count_frame(struct profile *p, u32 frame, u64 times)
{
	p->tally.frames += times;
	p->tally.unresolved += frames_get(p->frames, frame)->sym == ID_NONE ? times : 0;
}

void profile_count_stacks(struct profile *p, const struct profile_event *e)
{
	const struct tree_node *nodes = e->tree.nodes.v;
	const struct event *event = &p->evlist->events.v[e->event];
	struct map known = { 0 };
	bool chains = p->has_chains && (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN || lbr_event(event));

	for (size_t i = 1; i < e->tree.nodes.n; i++) {
		const struct tree_node *n = &nodes[i];
		const struct frame *f;

		if (!n->parent)
			continue; /* a group */
		f = frames_get(p->frames, n->frame);
		profile_count_frame(p, n->frame, n->total_samples);
		/* The outermost frame decides; one of the kernel has no user stack behind it. */
		if (nodes[n->parent].parent || !chains || f->level != '.')
			continue;
		p->tally.stacks += n->total_samples;
		if (!is_beginning(p, &known, n->frame))
			p->tally.broken += n->total_samples;
	}
	if (chains && !unwind_event(event) && (lbr_event(event) || !p->stacks_told))
		count_ends(p, e, &known);
	map_free(&known);
}
