/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/call_sites.h"

#include <stdlib.h>

#include "attrib/lbr.h"
#include "base/mem.h"
#include "base/pool.h"
#include "codec/perf_abi.h"
#include "pass/feed.h"

struct calls_pass {
	struct session *s;
	struct caller_reader **readers; /* one per worker */
};

static void read_sample(const struct session *s, const struct source_record *at, struct caller_reader *r)
{
	const struct event *e = feed_event(s->src, at);
	struct sample_stack stack;

	if (!e || e->unsupported || !lbr_event(e) ||
	    sample_stack_decode(&e->layout, at->p, at->h.size, s->src->swap, &stack))
		return;
	callers_read(r, &stack, s->src->events.has_time ? stack.time : at->offset,
		     (at->h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER);
}

static void read_block(void *ctx, u32 worker, u32 unit)
{
	struct calls_pass *p = ctx;
	const struct block *b = &p->s->data.blocks.v[unit];
	u64 offset = b->offset;
	struct source_record at;

	if (p->s->opts.stop && *p->s->opts.stop)
		return;
	while (offset < b->end && source_next(p->s->src, &offset, &at, NULL))
		if (at.h.type == PERF_RECORD_SAMPLE)
			read_sample(p->s, &at, p->readers[worker]);
	if (!worker && unit % 16 == 0)
		session_progress(p->s, "reading calls", unit, p->s->data.blocks.n);
}

u32 call_sites_workers(const struct session *s)
{
	return MAX(1u, MIN(s->opts.workers, (u32)s->data.blocks.n));
}

struct callers *call_sites(struct session *s, bool stitches)
{
	u32 workers = call_sites_workers(s), depth = features_branch_depth(&s->src->features);
	struct calls_pass p = { .s = s };
	struct callers *c;

	c = callers_new(s->data.nr_samples, depth, stitches && (!depth || depth >= LBR_FEWEST));
	p.readers = mem_zalloc(workers * sizeof(struct caller_reader *));
	for (u32 i = 0; i < workers; i++)
		p.readers[i] = caller_reader_new(c, s->procs, s->dsos);
	pool_run(workers, (u32)s->data.blocks.n, read_block, &p);
	for (u32 i = 0; i < workers; i++)
		caller_reader_free(p.readers[i]);
	free(p.readers);
	return c;
}
