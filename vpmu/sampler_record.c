/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in the sampler's records: field by field what Linux gives for a sample of user space.
 *
 * Where Linux asks the PMU and a PMU has no answer, this one has none either: transaction is 0,
 * a raw field is 4 bytes of 0. What an access met (data_src, weight) is known of mem-loads
 * and mem-stores that do not skid, as on Intel's cores; else data_src is "not available" and weight 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "codec/vpmu_truth.h"
#include "vpmu/branch_regs.h"
#include "vpmu/cache.h"
#include "vpmu/regs.h"
#include "vpmu/sampler.h"

#define CHAIN_DEFAULT 127	      /* kernel.perf_event_max_stack */
#define DATA_SRC_NONE 0x1e05080021ull /* PERF_MEM_NA: each part says "not available" */
#define GUEST_PAGE 4096ull
#define HOST_PAGE 4096ull
#define RECORD_ROOM 65528ull /* the longest record whose size is a multiple of 8 */
#define WANTS_REGISTERS (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_STACK_USER)

static const struct vpmu_event *event_of(const struct vthread *t, u32 i)
{
	return &t->sampler->control->events[i];
}

bool sampler_wants_registers(const struct vthread *t, u32 event)
{
	return event_of(t, event)->attr.sample_type & WANTS_REGISTERS && regs_available(t->process);
}

int sampler_layouts(struct sampler *s)
{
	u32 stack = 0;

	s->layouts = mem_zalloc(sizeof(*s->layouts) * MAX(s->control->nr_events, 1));
	s->chain_max = CHAIN_DEFAULT;
	for (u32 i = 0; i < s->control->nr_events; i++) {
		const struct attr *a = &s->control->events[i].attr;
		int err = sample_layout_init(&s->layouts[i], a, NULL, NULL);

		if (err)
			return err;
		s->chain_max = MAX(s->chain_max, a->sample_max_stack);
		stack = MAX(stack, a->sample_stack_user);
	}
	s->chain = mem_alloc((s->chain_max + 1) * sizeof(u64));
	s->stack = mem_alloc(MAX(stack, 1));
	s->branches = mem_alloc(MAX(s->control->options.branch_depth, 1) * 4 * sizeof(u64));
	return 0;
}

void sampler_layouts_free(struct sampler *s)
{
	free(s->layouts);
	free(s->chain);
	free(s->stack);
	free(s->branches);
	bytes_free(&s->words);
	bytes_free(&s->packets);
	bytes_free(&s->out);
}

u64 sampler_id(const struct vthread *t, u32 event)
{
	const struct vpmu_control *c = t->sampler->control;

	return c->events[event].id + (c->options.cpus ? (u64)t->cpu * c->nr_events : 0);
}

/* --- read values --- */

static void put_times(const struct vthread *t, u64 format, struct bytes *b)
{
	u64 elapsed = sampler_elapsed(t);

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		bytes_u64(b, elapsed);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		bytes_u64(b, elapsed);
}

static void put_member(const struct vthread *t, u32 event, u64 format, struct bytes *b)
{
	bytes_u64(b, sampler_value(t, event));
	if (!(format & PERF_FORMAT_GROUP))
		put_times(t, format, b);
	if (format & PERF_FORMAT_ID)
		bytes_u64(b, sampler_id(t, event));
	if (format & PERF_READ_LOST)
		bytes_u64(b, t->sampler->state.events[event].lost);
}

/* The leader comes first, then its members as they were opened; the words of each, without what stands before them. */
static u32 put_members(const struct vthread *t, u32 event, u64 format, struct bytes *b)
{
	u32 leader = event_of(t, event)->leader, n = 1;

	if (!(format & PERF_FORMAT_GROUP)) {
		put_member(t, event, format, b);
		return 1;
	}
	put_member(t, leader, format, b);
	for (u32 i = 0; i < t->sampler->control->nr_events; i++) {
		if (i == leader || event_of(t, i)->leader != leader)
			continue;
		put_member(t, i, format, b);
		n++;
	}
	return n;
}

static void fill_read(struct vthread *t, u32 event, struct sample *out)
{
	struct bytes *b = &t->sampler->words;
	u64 format = event_of(t, event)->attr.read_format;

	b->len = 0;
	out->read.nr = put_members(t, event, format, b);
	out->read.time_enabled = out->read.time_running = sampler_elapsed(t);
	out->read.raw = (struct u64s){ b->p, (u32)(b->len / sizeof(u64)), false };
}

/* --- samples --- */

/* The context mark, the sample's own pc, then return addresses: max_stack counts all but the mark. */
static void fill_chain(struct vthread *t, const struct attr *a, u64 pc, struct sample *out)
{
	struct sampler *s = t->sampler;
	u32 max = a->sample_max_stack ? a->sample_max_stack : CHAIN_DEFAULT, n = 0;

	if (!(a->flags & ATTR_EXCLUDE_CALLCHAIN_USER)) {
		s->chain[n++] = (u64)PERF_CONTEXT_USER;
		s->chain[n++] = pc;
		n += callstack_chain(t, s->chain + n, max - 1);
	}
	out->chain = (struct u64s){ (const u8 *)s->chain, n, false };
}

static void fill_branches(struct vthread *t, u32 event, struct sample *out)
{
	struct sampler *s = t->sampler;
	u64 *counters = s->branches + (size_t)s->control->options.branch_depth * 3;

	if (!t->branches)
		return;
	out->nr_branches = branch_regs_read(t->branches, event, s->branches, counters, &out->hw_idx);
	out->branches = (struct u64s){ (const u8 *)s->branches, out->nr_branches * 3, false };
	if (event_of(t, event)->attr.branch_sample_type & BRANCH_COUNTERS)
		out->branch_counters = (struct u64s){ (const u8 *)counters, out->nr_branches, false };
}

static void fill_registers(struct vthread *t, const struct attr *a, u64 pc, struct sample *out)
{
	struct sampler *s = t->sampler;

	if (a->sample_type & PERF_SAMPLE_REGS_USER) {
		u32 n = regs_user(t, a->sample_regs_user, pc, s->regs_user);

		out->regs_user_abi = PERF_SAMPLE_REGS_ABI_64;
		out->regs_user = (struct u64s){ (const u8 *)s->regs_user, n, false };
	}
	if (a->sample_type & PERF_SAMPLE_REGS_INTR) { /* user code was interrupted: they are the same */
		u32 n = regs_user(t, a->sample_regs_intr, pc, s->regs_intr);

		out->regs_intr_abi = PERF_SAMPLE_REGS_ABI_64;
		out->regs_intr = (struct u64s){ (const u8 *)s->regs_intr, n, false };
	}
}

/* Guest memory from addr on, up to what is not mapped or not readable. */
static u64 copy_guest(const struct vthread *t, u64 addr, u8 *to, u64 n)
{
	u64 done = 0;
	int keep = errno;

	/* Page by page: how much of one that cannot be read as a whole was copied is not promised. */
	while (done < n) {
		u64 host = addr + done + t->process->guest_base, part = MIN(n - done, HOST_PAGE - host % HOST_PAGE);
		struct iovec local = { to + done, part }, remote = { (void *)host, part };

		if (process_vm_readv(t->process->real_pid, &local, 1, &remote, 1, 0) != (ssize_t)part)
			break;
		done += part;
	}
	errno = keep;
	return done;
}

/* As the kernel does: as much as was asked for, less when the record would grow too long; what of it is there, in
 * dyn_size. */
static void fill_stack(struct vthread *t, u32 event, struct sample *out)
{
	struct sampler *s = t->sampler;
	u64 size = event_of(t, event)->attr.sample_stack_user, rest;

	s->out.len = 0;
	if (sample_encode(&s->layouts[event], out, &s->out))
		return;
	rest = RECORD_ROOM - s->out.len - sizeof(u64); /* dyn_size comes with a stack only */
	size = MIN(size, rest) & ~7ull;
	out->stack_user = s->stack;
	out->stack_user_size = size;
	out->stack_user_dyn_size = copy_guest(t, regs_stack_pointer(t), s->stack, size);
	memset(s->stack + out->stack_user_dyn_size, 0, size - out->stack_user_dyn_size);
}

/* Of the access that the event is about. Of a store these cores say only whether L1 had it. */
static u64 source_of(const struct core_met *met, bool store)
{
	static const u64 levels[] = {
		[IN_L1] = PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVLNUM, L1),
		[IN_L2] = PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVLNUM, L2),
		[IN_LLC] = PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVLNUM, L3),
		[IN_MEMORY] = PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVLNUM, RAM),
	};
	u64 tlb = PERF_MEM_S(TLB, HIT) | (met->walk ? PERF_MEM_S(TLB, WK) : PERF_MEM_S(TLB, L1) | PERF_MEM_S(TLB, L2));

	if (store)
		return PERF_MEM_S(OP, STORE) | levels[IN_L1] | tlb | PERF_MEM_S(SNOOP, NA) |
		       (met->level == IN_L1 ? PERF_MEM_S(LVL, HIT) : PERF_MEM_S(LVL, MISS));
	return PERF_MEM_S(OP, LOAD) | levels[met->level] | PERF_MEM_S(LVL, HIT) | tlb |
	       (met->peer ? PERF_MEM_S(SNOOP, HITM) : PERF_MEM_S(SNOOP, NONE));
}

static void fill_access(const struct attr *a, const struct core_at *at, struct sample *out)
{
	bool store = a->config == VPMU_MEM_STORES;
	const struct core_met *met = store ? &at->store : &at->load;

	if (!met->cycles)
		return;
	out->addr = met->addr;
	out->data_src = source_of(met, store) | (at->locked ? PERF_MEM_S(LOCK, LOCKED) : 0);
	out->data_page_size = GUEST_PAGE;
	out->weight = store ? 0 : met->cycles;
}

void sampler_access_truth(const struct vthread *t, const struct core_at *at, bool store,
			  struct vpmu_truth_operation *out)
{
	const struct core_met *met = store ? &at->store : &at->load;

	out->kind = store ? VPMU_OP_STORE : VPMU_OP_LOAD;
	out->flags =
		(at->locked ? VPMU_OP_ATOMIC : 0) | (met->walk ? VPMU_OP_WALK : 0) | (met->peer ? VPMU_OP_PEER : 0);
	out->level = met->level;
	out->addr = met->addr;
	out->physical = vpmu_physical(t->pid, met->addr);
}

/* Of mem-loads and mem-stores, whose samples say no more than the cycles of loads. */
static void tell_access(struct vthread *t, const struct attr *a, const struct core_at *at, u64 id)
{
	bool store = a->config == VPMU_MEM_STORES;
	struct vpmu_truth_operation told = { .total = store ? 0 : at->load.cycles };

	if (!(store ? &at->store : &at->load)->cycles)
		return;
	sampler_access_truth(t, at, store, &told);
	if (!(a->sample_type & PERF_SAMPLE_PHYS_ADDR))
		told.physical = 0;
	truth_operation(t, id, at->pc, &told);
}

void sampler_put_sample(struct vthread *t, u32 event, u64 period, const struct core_at *at, bool exact)
{
	static const u8 no_raw[4];
	struct sampler *s = t->sampler;
	const struct vpmu_event *v = event_of(t, event);
	const struct attr *a = &v->attr;
	struct sample sample = {
		.has = a->sample_type,
		.misc = PERF_RECORD_MISC_USER | (exact ? PERF_RECORD_MISC_EXACT_IP : 0),
		.pid = t->pid,
		.tid = t->tid,
		.cpu = t->cpu,
		.ip = at->pc,
		.addr = at->addr,
		.id = sampler_id(t, event),
		.period = period,
		.raw = no_raw,
		.raw_size = sizeof(no_raw),
		.data_src = DATA_SRC_NONE,
		.data_page_size = at->addr ? GUEST_PAGE : 0,
		.code_page_size = GUEST_PAGE,
	};

	if (exact && vpmu_is_memory(a))
		fill_access(a, at, &sample);
	if (sample.addr)
		sample.phys_addr = vpmu_physical(t->pid, sample.addr);
	sample.stream_id = sample.id;
	sample.time = tasks_time(t);
	if (a->sample_type & PERF_SAMPLE_READ)
		fill_read(t, event, &sample);
	if (a->sample_type & PERF_SAMPLE_CALLCHAIN)
		fill_chain(t, a, at->pc, &sample);
	if (a->sample_type & PERF_SAMPLE_BRANCH_STACK)
		fill_branches(t, event, &sample);
	if (sampler_wants_registers(t, event)) {
		fill_registers(t, a, at->pc, &sample);
		if (a->sample_type & PERF_SAMPLE_STACK_USER)
			fill_stack(t, event, &sample);
	}
	s->out.len = 0;
	if (sample_encode(&s->layouts[event], &sample, &s->out))
		return;
	channel_put(t, &s->out);
	truth_window(t, v, sample.id, at->pc);
	if (exact && vpmu_is_memory(a))
		tell_access(t, a, at, sample.id);
}

/* --- the others --- */

static void put_record(struct vthread *t, u32 event, struct record *r)
{
	struct bytes *out = &t->sampler->out;
	struct trailer_layout trailer = trailer_layout(&event_of(t, event)->attr);
	u64 id = sampler_id(t, event);

	r->sid = (struct sample_id){
		.time = tasks_time(t), .id = id, .stream_id = id, .pid = t->pid, .tid = t->tid, .cpu = t->cpu
	};
	out->len = 0;
	if (!record_encode(r, &trailer, out))
		channel_put(t, out);
}

void sampler_put_throttle(struct vthread *t, u32 event, bool on)
{
	struct record r = { .h.type = on ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE };

	r.throttle = (struct rec_throttle){ tasks_time(t), sampler_id(t, event), sampler_id(t, event) };
	put_record(t, event, &r);
}

void sampler_put_lost(struct vthread *t, u32 event, u64 lost)
{
	struct record r = { .h.type = PERF_RECORD_LOST, .lost = { sampler_id(t, event), lost } };

	put_record(t, event, &r);
}

void sampler_put_lost_samples(struct vthread *t, u32 event, u64 lost)
{
	struct record r = { .h.type = PERF_RECORD_LOST_SAMPLES, .lost = { 0, lost } };

	put_record(t, event, &r);
}

void sampler_put_aux(struct vthread *t, u32 event, u64 offset, u64 size)
{
	struct record r = { .h.type = PERF_RECORD_AUX };

	r.aux.offset = offset;
	r.aux.size = size;
	put_record(t, event, &r);
}

void sampler_put_read(struct vthread *t, u32 event)
{
	struct bytes *b = &t->sampler->words;
	u64 format = event_of(t, event)->attr.read_format;
	struct record r = { .h.type = PERF_RECORD_READ };

	b->len = 0;
	if (format & PERF_FORMAT_GROUP) {
		bytes_u64(b, 0); /* how many; known below */
		put_times(t, format, b);
	}
	u64 n = put_members(t, event, format, b);

	if (format & PERF_FORMAT_GROUP)
		memcpy(b->p, &n, sizeof(n));
	r.read = (struct rec_read){ t->pid, t->tid, cursor_over(b->p, b->len, false) };
	put_record(t, event, &r);
}
