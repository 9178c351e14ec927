/* SPDX-License-Identifier: Apache-2.0 */
/* What things cost. Private to core.c: each function asks the model, adds to the counts and returns slots. */
#ifndef VPMU_CORE_CHARGE_H
#define VPMU_CORE_CHARGE_H

#include "vpmu/core_impl.h"

static inline u32 add_stall(struct core *c, enum vpmu_count part, u32 slots)
{
	c->thread.counts[part] += slots;
	return slots;
}

static inline u32 charge_fetch(struct core *c, enum cache_level level)
{
	u64 *counts = c->thread.counts;

	if (level == IN_L1)
		return 0;
	counts[VC_L1I_MISSES]++;
	counts[VC_L2_REFERENCES]++;
	if (level >= IN_LLC) {
		counts[VC_L2_MISSES]++;
		counts[VC_LLC_LOADS]++;
	}
	if (level == IN_MEMORY)
		counts[VC_LLC_LOAD_MISSES]++;
	return add_stall(c, VC_SLOTS_FRONTEND, c->fetch[level]);
}

static inline u32 charge_data(struct core *c, enum cache_level level, bool store)
{
	u64 *counts = c->thread.counts;

	if (level == IN_L1)
		return 0;
	counts[store ? VC_L1D_STORE_MISSES : VC_L1D_LOAD_MISSES]++;
	counts[VC_L2_REFERENCES]++;
	if (level >= IN_LLC) {
		counts[VC_L2_MISSES]++;
		counts[store ? VC_LLC_STORES : VC_LLC_LOADS]++;
	}
	if (level == IN_MEMORY)
		counts[store ? VC_LLC_STORE_MISSES : VC_LLC_LOAD_MISSES]++;
	return add_stall(c, VC_SLOTS_BACKEND, (store ? c->store : c->load)[level]);
}

static inline u32 charge_line(struct core *c, u64 line, bool store)
{
	u64 page = line >> (PAGE_SHIFT - LINE_SHIFT);
	u32 slots = 0;

	if (c->models & VPMU_MODEL_CACHE && !cache_hits(&c->caches.l1d, line))
		slots = charge_data(c, caches_find(&c->caches, &c->caches.l1d, line), store);
	if (c->models & VPMU_MODEL_TLB && !cache_hits(&c->caches.dtlb, page) && !cache_touch(&c->caches.dtlb, page)) {
		c->thread.counts[store ? VC_DTLB_STORE_MISSES : VC_DTLB_LOAD_MISSES]++;
		slots += add_stall(c, VC_SLOTS_BACKEND, store ? c->tlb_store : c->tlb_load);
	}
	return slots;
}

static inline u64 access_end(const struct access *a)
{
	return a->addr + (1u << (a->info >> INFO_SIZE_SHIFT & 7));
}

/* Is a, which follows b, another part of the same wide access? */
static inline bool access_joins(const struct access *a, const struct access *b)
{
	return a->op == b->op && a->addr == access_end(b) && !((a->info ^ b->info) & (INFO_LOAD | INFO_STORE));
}

/* The lines of one access. */
static inline u32 charge_lines(struct core *c, const struct access *a)
{
	u64 line = a->addr >> LINE_SHIFT, last = (access_end(a) - 1) >> LINE_SHIFT;
	bool store = !(a->info & INFO_LOAD);
	u32 slots = charge_line(c, line, store);

	return last == line ? slots : slots + charge_line(c, last, store);
}

/* One access; what was written down before it stands before it. A read-modify-write is both. */
static inline u32 charge_access(struct core *c, const struct access *a)
{
	if (!access_joins(a, a - 1)) {
		c->thread.counts[VC_L1D_LOADS] += (a->info & INFO_LOAD) != 0;
		c->thread.counts[VC_L1D_STORES] += (a->info & INFO_STORE) != 0;
	}
	return charge_lines(c, a);
}

/* Was the predictor wrong about where the end of p goes? It learns. */
static ALWAYS_INLINE bool predict(struct predictor *r, const struct block *p, u64 to)
{
	bool wrong;

	if (p->kind == OP_COND)
		return predict_cond(r, p->branch, to != p->end);
	if (!p->frames)
		return false;
	if (p->returns)
		return predict_return(r, to);
	wrong = p->anywhere && predict_indirect(r, p->ops[p->nr - 1].pc, to);
	if (p->call)
		predictor_call(r, p->end);
	return wrong;
}

/* The end of p, which went to `to`. */
static ALWAYS_INLINE u32 charge_judged(struct core *c, const struct block *p, u64 to)
{
	u32 taken = to == p->end ? 0 : c->taken;

	c->packed += p->packed;
	c->thread.counts[VC_SLOTS_FRONTEND] += taken;
	if (LIKELY(!predict(&c->predictor, p, to)))
		return taken;
	c->thread.counts[VC_BRANCH_MISSES]++;
	return taken + add_stall(c, VC_SLOTS_BAD_SPECULATION, c->mispredict);
}

/* The same where branches may be no part of the model, or `to` is NO_PC: nobody knows. */
static inline u32 charge_end(struct core *c, const struct block *p, u64 to)
{
	if (c->models & VPMU_MODEL_BRANCH && to != NO_PC && p->kind >= OP_COND)
		return charge_judged(c, p, to);
	c->packed += p->packed;
	return 0;
}

#endif
