/* SPDX-License-Identifier: Apache-2.0 */
/* The core's ends: making one, what follows from raw counts, and what armed events wait for. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "vpmu/branch_regs.h"
#include "vpmu/core_fast.h"

#define LOG_START 64
/* Slots that the horizon may be away: as many branches, or stall slots, fit into their sum. */
#define FAR_AWAY SUM_MAX

/* What "runs" when nothing does: control cannot go anywhere from it. */
const struct block core_nowhere = {
	.pc = NO_PC, .plain_next = NO_PC, .plain_other = NO_PC, .end = NO_PC, .next = NO_PC, .other = NO_PC
};

/* Of a misprediction. */
static u32 wrong_slots(const struct model *m)
{
	return m->mispredict * m->width;
}

/* Of a miss, in cycles. */
static u32 cost_of(const struct model *m, u32 kind)
{
	bool store = kind & MISS_STORE;

	if (kind & MISS_FETCH)
		return m->fetch[kind & 3];
	return (kind & MISS_PEER ? (store ? m->peer_store : m->peer_load) : (store ? m->store : m->load)[kind & 3]) +
	       (!(kind & MISS_WALK) ? 0 :
		store		    ? m->tlb_store :
				      m->tlb_load);
}

struct vthread *core_thread_new(struct vprocess *p)
{
	struct core *c = mem_alloc_lines(sizeof(*c));
	const struct model *m = p->model;

	memset(c, 0, sizeof(*c));
	c->thread.process = p;
	c->thread.core = c;
	c->thread.chunk = -1;
	c->model = m;
	c->models = p->control->options.models;
	c->walks = p->control->options.truth;
	c->log = c->next = (struct access *)mem_zalloc((1 + LOG_START + LOG_BEHIND) * sizeof(*c->log)) + 1;
	c->log[-1].told = TOLD_NONE;
	c->end = c->log + LOG_START;
	c->misses_room = LOG_START;
	c->misses = mem_alloc(c->misses_room * sizeof(*c->misses));
	c->block = &core_nowhere;
	for (u32 how = 0; how < ARRAY_LEN(c->ends); how++) {
		bool taken = how >= END_TAKEN, wrong = end_is_wrong(how);

		c->ends[how].sums[SUM_TAKEN] = taken;
		c->ends[how].sums[SUM_WRONG] = wrong;
		c->ends[how].slots = (taken ? m->taken_slots : 0) + (wrong ? wrong_slots(m) : 0);
	}
	for (u32 kind = 0; kind < NR_MISS_KINDS; kind++)
		c->miss_cost[kind] = cost_of(m, kind) * m->width;
	for (u32 kind = 0; kind < NR_MISS_KINDS; kind++)
		c->slow[kind] = !(kind & (MISS_STORE | MISS_FETCH)) &&
				VPMU_L1_CYCLES + cost_of(m, kind) >= p->control->options.ldlat;
	caches_new(&c->caches, m);
	predictor_new(&c->predictor, m);
	c->thread.branches = branch_regs_new(p->control);
	return &c->thread;
}

void core_thread_free(struct vthread *t)
{
	struct core *c = core_of(t);

	caches_free(&c->caches);
	predictor_free(&c->predictor);
	free(c->log - 1);
	free(c->misses);
	branch_regs_free(t->branches);
	bytes_free(&t->record);
	free(c);
}

void core_forked(struct vthread *t)
{
	struct core *c = core_of(t);

	c->block = &core_nowhere;
	memset(c->accesses, 0, sizeof(c->accesses));
	c->known = 0;
	core_forget(c);
	c->continues = false;
	if (t->branches) {
		u64 slots = t->counts[VC_SLOTS] + (u64)(c->left_at - c->left);

		core_derive(c->model, c->models, t->counts);
		branch_regs_clear(t->branches, slots / c->model->width, t->counts);
	}
	core_retarget(c);
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

static NOINLINE void sync_misses(struct core *c)
{
	u64 *counts = c->thread.counts;

	for (u32 kind = 0; kind < NR_MISS_KINDS; kind++) {
		u64 times = c->nr_missed[kind];
		bool code = kind & MISS_FETCH, store = kind & MISS_STORE;
		u32 level = kind & 3;

		c->nr_missed[kind] = 0;
		if (c->slow[kind])
			counts[VC_SLOW_LOADS] += times;
		counts[code ? VC_SLOTS_FRONTEND : VC_SLOTS_BACKEND] += times * c->miss_cost[kind];
		if (kind & MISS_WALK)
			counts[store ? VC_DTLB_STORE_MISSES : VC_DTLB_LOAD_MISSES] += times;
		if (level >= IN_L2) {
			counts[code ? VC_L1I_MISSES : store ? VC_L1D_STORE_MISSES : VC_L1D_LOAD_MISSES] += times;
			counts[VC_L2_REFERENCES] += times;
		}
		if (level >= IN_LLC) {
			counts[VC_L2_MISSES] += times;
			counts[store ? VC_LLC_STORES : VC_LLC_LOADS] += times;
		}
		if (level == IN_MEMORY)
			counts[store ? VC_LLC_STORE_MISSES : VC_LLC_LOAD_MISSES] += times;
	}
	c->missed = false;
}

/* The horizon comes nearer by slots and by accesses: what was no access was a slot. */
static void sync_accesses(struct core *c)
{
	u64 *counts = c->thread.counts, *nr = c->accesses;
	u64 loads = c->known & ((1u << RUN_STORES) - 1), stores = c->known >> RUN_STORES;

	counts[VC_SLOTS] += (u64)(c->left_at - c->left) - loads - stores;
	for (u32 kind = 0; kind < NR_ACCESS_KINDS; kind++)
		counts[VC_SLOTS] -= nr[kind];
	c->left_at = c->left;
	counts[VC_L1D_LOADS] += loads + nr[ACCESS_LOAD] + nr[ACCESS_LOAD | ACCESS_STORE];
	counts[VC_L1D_STORES] += stores + nr[ACCESS_STORE] + nr[ACCESS_LOAD | ACCESS_STORE];
	memset(c->accesses, 0, sizeof(c->accesses));
	c->known = 0;
}

void core_sync(struct core *c)
{
	u64 *counts = c->thread.counts;

	if (c->missed)
		sync_misses(c);
	counts[VC_BRANCHES] += c->sums[SUM_BRANCH];
	counts[VC_CALLS] += c->sums[SUM_CALL];
	counts[VC_RETURNS] += c->sums[SUM_RETURN];
	counts[VC_BRANCH_MISSES] += c->sums[SUM_WRONG];
	counts[VC_SLOTS_BACKEND] += c->sums[SUM_STALL];
	counts[VC_SLOTS_FRONTEND] += (u64)c->sums[SUM_TAKEN] * c->model->taken_slots;
	counts[VC_SLOTS_BAD_SPECULATION] = counts[VC_BRANCH_MISSES] * wrong_slots(c->model);
	c->sums = (sums){ 0 };
	sync_accesses(c);
	counts[VC_INSTRUCTIONS] = counts[VC_SLOTS] - counts[VC_SLOTS_BAD_SPECULATION] - counts[VC_SLOTS_FRONTEND] -
				  counts[VC_SLOTS_BACKEND];
}

void core_look_ahead(struct core *c)
{
	u64 distance = FAR_AWAY;

	for (u32 i = 0; i < c->nr_armed; i++) {
		const struct watch *w = &c->watches[i];
		u64 count = watch_count(c, w);

		distance = MIN(distance, w->at > count ? w->at - count : 0);
	}
	/* Less the most that a block's end costs. */
	distance = (c->walks ? 0 : distance) - c->model->taken_slots - wrong_slots(c->model);
	c->left_at += (s64)distance - c->left;
	c->left = (s64)distance;
}

bool core_is_near(const struct core *c, const struct block *p)
{
	u64 accesses = (u64)(c->next - c->log);
	u64 slots = p->slots + c->model->taken_slots + wrong_slots(c->model), events = p->events_max + 2 * accesses;

	for (u32 i = 0; i < c->nr_misses; i++)
		slots += c->miss_cost[c->misses[i].kind];
	for (u32 i = 0; i < c->nr_armed; i++) {
		const struct watch *w = &c->watches[i];
		u64 most = w->slots ? slots : events;

		if (w->at != UINT64_MAX && watch_count(c, w) + most >= w->at)
			return true;
	}
	return c->walks;
}

/* What stays 0 although the raw count that it would follow from does not. */
static bool is_left_out(const struct core *c, u8 count)
{
	return (count == VC_DTLB_LOADS || count == VC_DTLB_STORES) && !(c->models & VPMU_MODEL_TLB);
}

void core_retarget(struct core *c)
{
	for (u32 i = 0; i < c->nr_armed; i++) {
		const struct armed *a = &c->armed[i];

		c->watches[i] = watch_of(c->model, a->count, a->at);
		if (a->at == UINT64_MAX || is_left_out(c, a->count))
			c->watches[i].at = UINT64_MAX;
	}
	core_look_ahead(c);
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
