/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the core tells of an operation, and of a block's entry: the truth, the sampler, virtual CPUs. */
#include "vpmu/core_fast.h"
#include "vpmu/cpus.h"
#include "vpmu/truth.h"

static bool is_due(const struct core *c, const struct watch *w)
{
	return watch_count(c, w) >= w->at && w->at != UINT64_MAX;
}

static bool any_is_due(const struct core *c)
{
	for (u32 i = 0; i < c->nr_armed; i++)
		if (is_due(c, &c->watches[i]))
			return true;
	return false;
}

void core_after_op(struct core *c, const struct block *p, u32 i)
{
	bool last = i + 1 == p->nr;
	struct core_at at = { .pc = p->ops[i].pc,
			      .addr = c->addr,
			      .load = c->load,
			      .store = c->store,
			      .locked = p->ops[i].access & OP_LOCKED,
			      .kind = last ? p->kind : OP_PLAIN,
			      .wrong = c->wrong,
			      .to = last ? c->to : NO_PC,
			      .behind = p->ops[i].pc + p->ops[i].size,
			      .waits = c->waits / c->model->width,
			      .stalls = c->stalls / c->model->width };

	if (c->walks) {
		core_derive(c->model, c->models, c->thread.counts);
		truth_op(&c->thread, p, i);
	}
	/* A sampler that does not move its event on must not keep the thread here. */
	for (u32 turns = 0; turns < ARMED_MAX && any_is_due(c); turns++) {
		core_sync(c);
		core_derive(c->model, c->models, c->thread.counts);
		for (u32 k = 0; k < c->nr_armed; k++)
			if (is_due(c, &c->watches[k])) {
				sampler_overflow(&c->thread, &c->armed[k], &at);
				core_retarget(c);
			}
	}
}

void core_tell_entry(struct core *c, u64 pc)
{
	core_derive(c->model, c->models, c->thread.counts);
	sampler_entry(&c->thread, pc);
	if (c->thread.leaves)
		cpus_pass(&c->thread);
	core_retarget(c);
}
