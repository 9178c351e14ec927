/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quality of stacks: how many frames have no name, and how many user stacks do not reach the function in which a
 * thread begins. A stack that was cut or misread ends somewhere else, so the share of broken stacks tells whether the
 * program's code has frame pointers, before anybody trusts a call graph.
 */
#include <string.h>

#include "agg/profile.h"

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

static bool is_beginning(const struct profile *p, u32 frame)
{
	const struct frame *f = frames_get(p->frames, frame);
	const char *name;

	if (f->sym == ID_NONE)
		return false;
	name = dsos_symbol_name(p->dsos, f->dso, f->sym);
	for (u32 i = 0; i < ARRAY_LEN(beginnings); i++)
		if (!strcmp(name, beginnings[i]))
			return true;
	return false;
}

void profile_count_stacks(struct profile *p, const struct profile_event *e)
{
	const struct tree_node *nodes = e->tree.nodes.v;
	bool chains = p->has_chains && p->evlist->events.v[e->event].attr.sample_type & PERF_SAMPLE_CALLCHAIN;

	for (size_t i = 1; i < e->tree.nodes.n; i++) {
		const struct tree_node *n = &nodes[i];
		const struct frame *f;

		if (!n->parent)
			continue; /* a group */
		f = frames_get(p->frames, n->frame);
		p->tally.frames += n->total_samples;
		if (f->sym == ID_NONE)
			p->tally.unresolved += n->total_samples;
		/* The outermost frame decides; one of the kernel has no user stack behind it. */
		if (nodes[n->parent].parent || !chains || f->level != '.')
			continue;
		p->tally.stacks += n->total_samples;
		if (!is_beginning(p, n->frame))
			p->tally.broken += n->total_samples;
	}
}
