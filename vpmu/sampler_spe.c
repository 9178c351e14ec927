/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm SPE: a sampled operation becomes packets, as those of a Neoverse-N1 that runs Linux with the process's id in
 * CONTEXTIDR.
 *
 * Latencies. The simulated core executes in order, and what slows an operation down is charged to it in slots. So
 * issue latency is one cycle, and what the operation before it in its block took beyond its slot; total latency is
 * that and its own cycles: those that its kind always takes (a division), and those of its load (4 if L1 answers) or
 * store. Translation takes one cycle, or what a page walk costs.
 *
 * As in hardware, filters leave out operations that were sampled. Packets are passed on in pieces, so a thread that is
 * killed loses its last ones.
 */
#include "codec/spe.h"
#include "codec/vpmu_truth.h"
#include "vpmu/cache.h"
#include "vpmu/decode.h"
#include "vpmu/sampler.h"

#define PIECE 2048u /* bytes */
#define LATENCY_MAX 4095u
#define NOT_SECURE (1ull << 63) /* with exception level 0: as the packets of user code have it */
#define TIME_BYTES 9
#define NOWHERE UINT64_MAX /* NO_PC */
#define ATOMIC 6	   /* beside load or store */
enum { SOURCE_L1 = 0, SOURCE_L2 = 8, SOURCE_PEER = 9, SOURCE_SYSTEM_CACHE = 11, SOURCE_DRAM = 14 };

struct operation {
	u64 events;
	u32 issue, total, translation;
	bool load, store, branch;
};

static u64 events_of(const struct core_at *at, const struct operation *o)
{
	const struct core_met *met = o->store ? &at->store : &at->load;
	u64 events = SPE_EV_RETIRED;

	if (o->branch)
		events |= (at->wrong ? SPE_EV_MISPREDICTED : 0) | (at->to == at->behind ? SPE_EV_NOT_TAKEN : 0);
	if (!o->load && !o->store)
		return events;
	events |= SPE_EV_L1D_ACCESS | SPE_EV_TLB_ACCESS | (met->walk ? SPE_EV_TLB_WALK : 0);
	events |= met->level > IN_L1 ? SPE_EV_L1D_REFILL : 0;
	events |= met->level >= IN_LLC ? SPE_EV_LLC_ACCESS : 0;
	return events | (met->level == IN_MEMORY ? SPE_EV_LLC_REFILL : 0);
}

static struct operation operation_of(const struct vthread *t, const struct core_at *at)
{
	struct operation o = { .store = at->store.cycles, .branch = at->kind >= OP_COND };
	const struct core_met *met;

	o.load = !o.store && at->load.cycles;
	met = o.store ? &at->store : &at->load;
	o.events = events_of(at, &o);
	o.issue = 1 + at->waits;
	/* Stores are done when a buffer has them, unless they wait: what the model charges beyond L1. */
	o.total = o.issue + at->stalls + (o.load ? met->cycles : o.store ? 1 + met->cycles - VPMU_L1_CYCLES : 1);
	if (o.load || o.store)
		o.translation = 1 + (!met->walk ? 0 :
				     o.store	? t->process->model->tlb_store :
						  t->process->model->tlb_load);
	return o;
}

/* As the event's config says, which is of Linux's driver. */
static bool passes(const struct attr *a, const struct operation *o)
{
	u64 kinds = a->config & (1ull << VPMU_SPE_LOAD | 1ull << VPMU_SPE_STORE | 1ull << VPMU_SPE_BRANCH);
	u64 is = (u64)o->load << VPMU_SPE_LOAD | (u64)o->store << VPMU_SPE_STORE | (u64)o->branch << VPMU_SPE_BRANCH;

	return (!kinds || kinds & is) && (o->events & a->config1) == a->config1 && !(o->events & a->config3) &&
	       o->total >= a->config2;
}

static void put_latency(enum spe_counter which, u32 cycles, struct bytes *out)
{
	spe_packet_encode(SPE_COUNTER, which, MIN(cycles, LATENCY_MAX), out);
}

static bool is_indirect(u8 kind)
{
	return kind == OP_JUMP_INDIRECT || kind == OP_CALL_INDIRECT || kind == OP_RETURN;
}

static void put_kind(const struct core_at *at, const struct operation *o, struct bytes *out)
{
	if (o->branch)
		spe_packet_encode(SPE_OPERATION, SPE_BRANCH,
				  at->kind == OP_COND	? 1 :
				  is_indirect(at->kind) ? 2 :
							  0,
				  out);
	else if (o->load || o->store)
		spe_packet_encode(SPE_OPERATION, SPE_LOAD_STORE, (o->store ? 1 : 0) | (at->locked ? ATOMIC : 0), out);
	else
		spe_packet_encode(SPE_OPERATION, SPE_OTHER, 0, out);
}

static u32 source_of(const struct core_met *met)
{
	static const u8 sources[] = {
		[IN_L1] = SOURCE_L1, [IN_L2] = SOURCE_L2, [IN_LLC] = SOURCE_SYSTEM_CACHE, [IN_MEMORY] = SOURCE_DRAM
	};

	return met->peer ? SOURCE_PEER : sources[met->level];
}

static void put_packets(const struct vthread *t, const struct core_at *at, const struct operation *o, u64 config,
			struct bytes *out)
{
	bool timed = config >> VPMU_SPE_TIME & 1, physical = config >> VPMU_SPE_PHYSICAL & 1;
	const struct core_met *met = o->store ? &at->store : &at->load;
	size_t begun = out->len;

	spe_packet_encode(SPE_ADDRESS, SPE_PC, at->pc | NOT_SECURE, out);
	spe_packet_encode(SPE_CONTEXT, 0, t->tid, out);
	put_latency(SPE_ISSUE, o->issue, out);
	put_latency(SPE_TOTAL, o->total, out);
	spe_packet_encode(SPE_EVENTS, 0, o->events, out);
	put_kind(at, o, out);
	if (o->branch && at->to != NOWHERE)
		spe_packet_encode(SPE_ADDRESS, SPE_TARGET, at->to | NOT_SECURE, out);
	if (o->load || o->store) {
		spe_packet_encode(SPE_ADDRESS, SPE_VIRTUAL, met->addr, out);
		if (physical)
			spe_packet_encode(SPE_ADDRESS, SPE_PHYSICAL, vpmu_physical(t->pid, met->addr) | NOT_SECURE,
					  out);
		put_latency(SPE_TRANSLATION, o->translation, out);
	}
	if (o->load)
		spe_packet_encode(SPE_SOURCE, 0, source_of(&at->load), out);
	/* Records begin at multiples of 4. */
	spe_packet_encode(SPE_PAD, 0, -(out->len - begun + (timed ? TIME_BYTES : 1)) % 4, out);
	if (timed)
		spe_packet_encode(SPE_TIMESTAMP, 0, tasks_time(t), out);
	else
		spe_packet_encode(SPE_END, 0, 0, out);
}

static void flush(struct vthread *t, u32 event)
{
	struct sampler *s = t->sampler;
	struct bytes *out = &s->out;
	u32 type = VPMU_RECORD_AUX;
	u16 misc = 0, size;

	if (!s->packets.len)
		return;
	bytes_zero(&s->packets, -s->packets.len % 8);
	sampler_put_aux(t, event, s->state.packets, s->packets.len);
	size = (u16)(sizeof(type) + sizeof(misc) + sizeof(size) + 2 * sizeof(u32) + sizeof(u64) + s->packets.len);
	out->len = 0;
	bytes_u32(out, type);
	bytes_put(out, &misc, sizeof(misc));
	bytes_put(out, &size, sizeof(size));
	bytes_u32(out, t->cpu);
	bytes_u32(out, t->tid);
	bytes_u64(out, s->state.packets);
	bytes_put(out, s->packets.p, s->packets.len);
	channel_put(t, out);
	s->state.packets += s->packets.len;
	s->packets.len = 0;
}

/* The truth of it: what the model knows, whatever the packets say. */
static void tell(struct vthread *t, u32 event, const struct core_at *at, const struct operation *o)
{
	const struct vpmu_event *e = &t->sampler->control->events[event];
	struct vpmu_truth_operation told = { .issue = o->issue, .total = o->total, .translation = o->translation };

	if (o->load || o->store) {
		sampler_access_truth(t, at, o->store, &told);
		if (!(e->attr.config >> VPMU_SPE_PHYSICAL & 1))
			told.physical = 0;
	} else if (o->branch) {
		told.kind = VPMU_OP_BRANCH;
		told.to = at->to;
		told.flags = (at->kind == OP_COND ? VPMU_OP_CONDITIONAL : 0) | (at->wrong ? VPMU_OP_MISPREDICTED : 0) |
			     (is_indirect(at->kind) ? VPMU_OP_INDIRECT : 0) |
			     (at->to == at->behind ? VPMU_OP_NOT_TAKEN : 0);
	}
	truth_operation(t, sampler_id(t, event), at->pc, &told);
}

void sampler_put_operation(struct vthread *t, u32 event, const struct core_at *at)
{
	const struct attr *a = &t->sampler->control->events[event].attr;
	struct operation o = operation_of(t, at);

	if (!passes(a, &o))
		return;
	tell(t, event, at, &o);
	put_packets(t, at, &o, a->config, &t->sampler->packets);
	if (t->sampler->packets.len >= PIECE)
		flush(t, event);
}

void sampler_flush_operations(struct vthread *t)
{
	for (u32 i = 0; i < t->sampler->control->nr_events; i++)
		if (vpmu_is_spe(&t->sampler->control->events[i].attr))
			flush(t, i);
}
