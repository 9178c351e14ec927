/* SPDX-License-Identifier: Apache-2.0 */
/* The core's ends: making one, what follows from raw counts, and what armed events wait for. */
#include <stdlib.h>

#include "base/mem.h"
#include "vpmu/core_impl.h"
#include "vpmu/truth.h"

#define LOG_START 64

static void in_slots(u32 *to, const u32 *cycles, const struct model *m)
{
	for (u32 i = 0; i < 4; i++)
		to[i] = cycles[i] * m->width;
}

struct vthread *core_thread_new(struct vprocess *p)
{
	struct core *c = mem_zalloc(sizeof(*c));
	const struct model *m = p->model;

	c->thread.process = p;
	c->thread.core = c;
	c->thread.chunk = -1;
	c->model = m;
	c->models = p->control->options.models;
	c->walks = p->control->options.truth;
	c->log = c->next = mem_alloc(LOG_START * sizeof(*c->log));
	c->end = c->log + LOG_START;
	c->slots_at = UINT64_MAX;
	c->mispredict = m->mispredict * m->width;
	c->taken = m->taken_slots;
	c->tlb_load = m->tlb_load * m->width;
	c->tlb_store = m->tlb_store * m->width;
	in_slots(c->fetch, m->fetch, m);
	in_slots(c->load, m->load, m);
	in_slots(c->store, m->store, m);
	/* Two lines, each on a page of its own. */
	c->access_max = 2 * (MAX(c->load[3], c->store[3]) + MAX(c->tlb_load, c->tlb_store));
	caches_new(&c->caches, m);
	predictor_new(&c->predictor, m);
	return &c->thread;
}

void core_thread_free(struct vthread *t)
{
	struct core *c = core_of(t);

	caches_free(&c->caches);
	predictor_free(&c->predictor);
	free(c->log);
	bytes_free(&t->record);
	free(c);
}

void core_forked(struct vthread *t)
{
	struct core *c = core_of(t);

	c->block = NULL;
	c->next = c->log;
	c->continues = c->interrupted = false;
}

static u64 ns_of(const struct model *m, u64 cycles)
{
	return (u64)((unsigned __int128)cycles * 1000 / m->mhz);
}

u64 core_ns(const struct vthread *t, u64 cycles)
{
	return ns_of(t->process->model, cycles);
}

void core_derive(const struct model *m, u32 vpmu_models, u64 counts[NR_VPMU_COUNTS])
{
	counts[VC_SLOTS_RETIRING] = counts[VC_INSTRUCTIONS];
	counts[VC_CYCLES] = counts[VC_SLOTS] / m->width;
	counts[VC_STALL_FRONTEND] = counts[VC_SLOTS_FRONTEND] / m->width;
	counts[VC_STALL_BACKEND] = counts[VC_SLOTS_BACKEND] / m->width;
	counts[VC_TIME_NS] = ns_of(m, counts[VC_CYCLES]);
	counts[VC_LLC_REFERENCES] = counts[VC_LLC_LOADS] + counts[VC_LLC_STORES];
	counts[VC_LLC_MISSES] = counts[VC_LLC_LOAD_MISSES] + counts[VC_LLC_STORE_MISSES];
	if (vpmu_models & VPMU_MODEL_TLB) {
		counts[VC_DTLB_LOADS] = counts[VC_L1D_LOADS];
		counts[VC_DTLB_STORES] = counts[VC_L1D_STORES];
	}
}

/* at * times, or what is never reached. */
static u64 times(u64 at, u64 times)
{
	u64 all;

	return __builtin_mul_overflow(at, times, &all) ? UINT64_MAX : all;
}

/* The cycles in which so many ns have passed: core_derive rounds down. */
static u64 cycles_of(u64 ns, u32 mhz)
{
	unsigned __int128 cycles = ((unsigned __int128)ns * mhz + 999) / 1000;

	return cycles > UINT64_MAX ? UINT64_MAX : (u64)cycles;
}

static struct watch watch_of(const struct model *m, u8 count, u64 at)
{
	switch ((enum vpmu_count)count) {
	case VC_CYCLES:
		return (struct watch){ times(at, m->width), VC_SLOTS, VC_NONE, true };
	case VC_TIME_NS:
		return (struct watch){ times(cycles_of(at, m->mhz), m->width), VC_SLOTS, VC_NONE, true };
	case VC_STALL_FRONTEND:
		return (struct watch){ times(at, m->width), VC_SLOTS_FRONTEND, VC_NONE, true };
	case VC_STALL_BACKEND:
		return (struct watch){ times(at, m->width), VC_SLOTS_BACKEND, VC_NONE, true };
	case VC_SLOTS_RETIRING:
		return (struct watch){ at, VC_INSTRUCTIONS, VC_NONE, false };
	case VC_LLC_REFERENCES:
		return (struct watch){ at, VC_LLC_LOADS, VC_LLC_STORES, false };
	case VC_LLC_MISSES:
		return (struct watch){ at, VC_LLC_LOAD_MISSES, VC_LLC_STORE_MISSES, false };
	case VC_DTLB_LOADS:
		return (struct watch){ at, VC_L1D_LOADS, VC_NONE, false };
	case VC_DTLB_STORES:
		return (struct watch){ at, VC_L1D_STORES, VC_NONE, false };
	case VC_SLOTS:
	case VC_SLOTS_BAD_SPECULATION:
	case VC_SLOTS_FRONTEND:
	case VC_SLOTS_BACKEND:
		return (struct watch){ at, count, VC_NONE, true };
	default:
		return (struct watch){ at, count, VC_NONE, false };
	}
}

void core_retarget(struct core *c)
{
	c->slots_at = UINT64_MAX;
	c->nr_rare = 0;
	for (u32 i = 0; i < c->nr_armed; i++) {
		const struct armed *a = &c->armed[i];
		struct watch *w = &c->watches[i];

		*w = watch_of(c->model, a->count, a->at);
		if (a->at == UINT64_MAX)
			w->at = UINT64_MAX;
		else if (w->a == VC_SLOTS)
			c->slots_at = MIN(c->slots_at, w->at);
		else
			c->rare[c->nr_rare++] = (u8)i;
	}
}

struct armed *core_armed(struct vthread *t)
{
	return core_of(t)->armed;
}

void core_set_armed(struct vthread *t, u32 nr)
{
	core_of(t)->nr_armed = MIN(nr, ARMED_MAX);
	core_retarget(core_of(t));
}

static bool is_due(const struct core *c)
{
	if (c->thread.counts[VC_SLOTS] >= c->slots_at)
		return true;
	for (u32 i = 0; i < c->nr_rare; i++)
		if (watch_count(c, &c->watches[c->rare[i]]) >= c->watches[c->rare[i]].at)
			return true;
	return false;
}

void core_after_op(struct core *c, const struct block *p, u32 i)
{
	struct core_at at;

	if (c->walks) {
		core_derive(c->model, c->models, c->thread.counts);
		truth_op(&c->thread, p, i);
	}
	/* A sampler that does not move its event on would keep the thread here. */
	for (u32 turns = 0; is_due(c) && turns < ARMED_MAX; turns++) {
		if (!turns) {
			at = (struct core_at){ .pc = p->ops[i].pc, .addr = c->addr };
			core_derive(c->model, c->models, c->thread.counts);
		}
		for (u32 k = 0; k < c->nr_armed; k++)
			if (watch_count(c, &c->watches[k]) >= c->watches[k].at && c->armed[k].at != UINT64_MAX) {
				sampler_overflow(&c->thread, &c->armed[k], &at);
				core_retarget(c);
			}
	}
}

void core_tell_entry(struct core *c, u64 pc)
{
	core_derive(c->model, c->models, c->thread.counts);
	sampler_entry(&c->thread, pc);
	core_retarget(c);
}
