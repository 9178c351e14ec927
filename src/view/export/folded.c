/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: what stackcollapse-perf.pl makes of perf script, and flame graph programs read. */
#include <string.h>

#include "view/export/stacks.h"

struct folding {
	struct stacks stacks;
	const struct folded_opts *o;
	struct bytes path;
	struct bytes *out;
};

/* A name must not hold what parts frames or lines. */
static void put_name(struct folding *f, u32 node)
{
	const char *name = stacks_name(&f->stacks, node);
	size_t at = f->path.len;

	bytes_plain(&f->path, name, strlen(name));
	for (; at < f->path.len; at++)
		if (f->path.p[at] == ';')
			f->path.p[at] = ':';
	if (f->o->mark_kernel && !stacks_is_group(&f->stacks, node) &&
	    frames_get(f->stacks.profile->frames, f->stacks.event->tree.nodes.v[node].frame)->level == 'k')
		bytes_str(&f->path, "_[k]");
}

static void fold(struct folding *f, u32 node)
{
	u64 self = stacks_self(&f->stacks, node);
	size_t first, at = f->path.len;
	u32 n;

	if (node && self) {
		bytes_put(f->out, f->path.p, f->path.len);
		bytes_char(f->out, ' ');
		bytes_dec(f->out, self);
		bytes_char(f->out, '\n');
	}
	n = stacks_kids(&f->stacks, node, &first);
	for (u32 i = 0; i < n; i++) {
		u32 kid = f->stacks.pending.v[first + i].node;

		if (node)
			bytes_char(&f->path, ';');
		put_name(f, kid);
		fold(f, kid);
		f->path.len = at;
	}
	f->stacks.pending.n = first;
}

void view_folded(const struct profile *p, const struct profile_event *e, const struct folded_opts *o,
		 struct bytes *out)
{
	struct folding f = { .o = o, .out = out };

	stacks_init(&f.stacks, p, e, o->samples);
	if (e->tree.nodes.n)
		fold(&f, 0);
	stacks_free(&f.stacks);
	bytes_free(&f.path);
}
