/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual PMU's sampler over a core of a few lines: each operation is one instruction, one cycle and one
 * nanosecond, and some cost more; ten make a block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "vpmu/regs.h"
#include "vpmu/sampler.h"

#define BLOCK 10
#define MAX_SEEN 100000
#define PC 0x1000
#define READ_ALL (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | 1 << 4)
#define FIELDS                                                                                                        \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD |                  \
	 PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)

struct core {
	struct armed armed[ARMED_MAX];
	u32 nr;
};

struct seen { /* a record that came out */
	u32 type;
	u64 event; /* by id */
	u64 ip, time, period;
	u32 chain;
	u64 enabled, value[2], lost; /* or what LOST tells */
};

struct rig {
	struct vpmu_control control;
	struct vprocess process;
	struct vthread t;
	struct core core;
	struct seen *seen;
	u32 nr_seen;
	bool registers;
	u64 stack_pointer;
	u64 others_time;   /* of the newest record of other threads */
	struct bytes last; /* record */
};

static struct rig *rig_of(const struct vthread *t)
{
	return (struct rig *)((u8 *)t - offsetof(struct rig, t));
}

struct armed *core_armed(struct vthread *t)
{
	return t->core->armed;
}
void core_set_armed(struct vthread *t, u32 nr)
{
	t->core->nr = nr;
}
u64 core_ns(const struct vthread *t, u64 cycles)
{
	(void)t;
	return cycles;
}
bool regs_available(const struct vprocess *p)
{
	return ((struct rig *)((u8 *)p - offsetof(struct rig, process)))->registers;
}
u32 regs_user(const struct vthread *t, u64 mask, u64 pc, u64 *out)
{
	u32 n = 0;

	(void)t;
	for (u32 i = 0; i < 64; i++)
		if (mask >> i & 1)
			out[n++] = pc + i;
	return n;
}
u64 regs_stack_pointer(const struct vthread *t)
{
	return rig_of(t)->stack_pointer;
}
void tasks_keep_totals(struct vthread *t)
{
	(void)t;
}

u32 callstack_chain(const struct vthread *t, u64 *chain, u32 max)
{
	(void)t;
	for (u32 i = 0; i < MIN(max, 200); i++)
		chain[i] = 0x9000 + i;
	return MIN(max, 200);
}
u64 tasks_time(const struct vthread *t)
{
	return MAX(sampler_clock(t), rig_of(t)->others_time);
}
void truth_operation(struct vthread *t, u64 id, u64 pc, const struct vpmu_truth_operation *o)
{
	(void)t;
	(void)id;
	(void)pc;
	(void)o;
}

void truth_window(struct vthread *t, const struct vpmu_event *e, u64 id, u64 pc)
{
	(void)t, (void)e, (void)id, (void)pc;
}

void channel_close(struct vthread *t)
{
	(void)t;
}

void channel_put(struct vthread *t, const struct bytes *record)
{
	struct rig *rig = rig_of(t);
	struct seen *s = &rig->seen[rig->nr_seen++];
	struct sample_layout layout;
	struct trailer_layout trailer;
	struct sample sample;
	struct record r;

	rig->last.len = 0;
	bytes_put(&rig->last, record->p, record->len);
	assert_true(rig->nr_seen < MAX_SEEN);
	memcpy(&s->type, record->p, 4);
	assert_int_equal(sample_layout_init(&layout, &rig->control.events[0].attr, NULL, NULL), 0);
	trailer = trailer_layout(&rig->control.events[0].attr);
	if (s->type == PERF_RECORD_SAMPLE) {
		assert_int_equal(sample_decode(&layout, cursor_over(record->p, record->len, false), &sample), 0);
		*s = (struct seen){ s->type, sample.id - 1, sample.ip, sample.time, sample.period, sample.chain.n };
		s->enabled = sample.read.time_enabled;
		for (u32 i = 0; i < MIN(sample.read.nr, 2); i++)
			s->value[i] = read_value(&sample.read, i);
		s->lost = sample.read.nr ? read_lost(&sample.read, 0) : 0;
		return;
	}
	assert_int_equal(record_decode(cursor_over(record->p, record->len, false), 0, &trailer, &r), 0);
	*s = (struct seen){ .type = s->type, .event = r.sid.id - 1, .time = r.sid.time };
	s->lost = s->type == PERF_RECORD_LOST || s->type == PERF_RECORD_LOST_SAMPLES ? r.lost.lost : 0;
	if (s->type == PERF_RECORD_READ) {
		struct read_values values = { 0 };

		read_values_decode(&layout, &r.read.values, &values);
		assert_false(r.read.values.bad);
		s->value[0] = read_value(&values, 0);
	}
}

static void add_event(struct rig *r, u32 count, u64 period, u32 leader)
{
	u32 i = r->control.nr_events++;

	r->control.events[i] = (struct vpmu_event){
		.attr = { .sample_period = period,
			  .sample_type = FIELDS,
			  .read_format = READ_ALL,
			  .flags = ATTR_SAMPLE_ID_ALL | ATTR_INHERIT },
		.schedule.period_long = period,
		.id = i + 1,
		.leader = leader,
		.count = count,
	};
}

static struct rig *rig_new(u32 count, u64 period)
{
	struct rig *r = calloc(1, sizeof(*r));

	r->seen = calloc(MAX_SEEN, sizeof(*r->seen));
	r->process.control = &r->control;
	r->control.options.seed = 1;
	r->t = (struct vthread){ .process = &r->process, .first = true, .pid = 1, .tid = 1, .core = &r->core };
	add_event(r, count, period, 0);
	return r;
}

static void rig_free(struct rig *r)
{
	sampler_stop(&r->t);
	bytes_free(&r->last);
	free(r->seen);
	free(r);
}

/* One operation after the other; each costs so many cycles. Its pc is PC plus its number within its block. */
static void run(struct rig *r, u64 n, u64 cycles)
{
	struct vthread *t = &r->t;

	for (u64 i = 0; i < n; i++) {
		struct core_at at = { PC + t->counts[VC_INSTRUCTIONS] % BLOCK, 0x77 };

		if (t->counts[VC_INSTRUCTIONS] % BLOCK == 0 && t->sampler_waits)
			sampler_entry(t, at.pc);
		t->counts[VC_INSTRUCTIONS]++;
		t->counts[VC_CYCLES] += cycles;
		t->counts[VC_TIME_NS] += cycles;
		for (u32 k = 0; k < r->core.nr; k++) {
			struct armed *a = &r->core.armed[k];

			if (t->counts[a->count] < a->at)
				continue;
			sampler_overflow(t, a, &at);
			assert_true(a->at > t->counts[a->count]);
		}
	}
}

static void test_periods(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 7);

	(void)state;
	sampler_start(&r->t);
	run(r, 700, 1);
	assert_int_equal(r->nr_seen, 100);
	for (u32 i = 0; i < 100; i++) {
		assert_int_equal(r->seen[i].value[0], 7 * (i + 1));
		assert_int_equal(r->seen[i].time, 7 * (i + 1));
		assert_int_equal(r->seen[i].enabled, 7 * (i + 1));
		assert_int_equal(r->seen[i].period, 7);
		assert_int_equal(r->seen[i].ip, PC + (7 * (i + 1) - 1) % BLOCK);
	}
	rig_free(r);
}

/* A thread that has waited for others goes on at their time. */
static void test_waited(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 7);

	(void)state;
	sampler_start(&r->t);
	run(r, 14, 1);
	r->others_time = 1000;
	run(r, 14, 1);
	assert_int_equal(r->nr_seen, 4);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(r->seen[i].time, ((u64[]){ 7, 14, 1000, 1007 })[i]);
	rig_free(r);
}

/* Costs that do not fit the period: it still begins where it was aimed; one that is passed altogether is skipped. */
static void test_overshoot(void **state)
{
	struct rig *r = rig_new(VC_CYCLES, 10);

	(void)state;
	sampler_start(&r->t);
	run(r, 1000, 3);
	assert_int_equal(r->nr_seen, 300);
	for (u32 i = 0; i < 300; i++)
		assert_in_range(r->seen[i].value[0], 10 * (i + 1), 10 * (i + 1) + 2);
	run(r, 1, 1000);
	assert_int_equal(r->nr_seen, 301);
	run(r, 10, 1);
	assert_int_equal(r->nr_seen, 302);
	assert_int_equal(r->seen[301].value[0], 4010);
	rig_free(r);
}

static void test_alternating(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 0);
	u64 at = 0;

	(void)state;
	r->control.events[0].attr.sample_period = 115;
	r->control.events[0].schedule = (struct schedule){ .period_long = 100, .period_short = 5, .batch_count = 3 };
	add_event(r, VC_CYCLES, 0, 0);
	for (u32 i = 0; i < 2; i++)
		r->control.events[i].attr.read_format |= PERF_FORMAT_GROUP;
	sampler_start(&r->t);
	run(r, 1150, 2);
	assert_int_equal(r->nr_seen, 40);
	for (u32 i = 0; i < 40; i++) {
		at += i % 4 ? 5 : 100;
		assert_int_equal(r->seen[i].value[0], at);
		assert_int_equal(r->seen[i].value[1], 2 * at);
		assert_int_equal(r->seen[i].enabled, 2 * at);
		assert_int_equal(r->seen[i].period, i % 4 ? 5 : 100);
	}
	rig_free(r);
}

/* Events that are due at one operation come in their order, each with its own period; a counter without one is silent.
 */
static void test_several(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 6);

	(void)state;
	add_event(r, VC_CYCLES, 4, 1);
	add_event(r, VC_BRANCHES, 0, 2);
	add_event(r, VC_INSTRUCTIONS, 3, 3);
	sampler_start(&r->t);
	run(r, 12, 1);
	assert_int_equal(r->nr_seen, 2 + 3 + 4);
	assert_int_equal(r->seen[6].time, 12);
	assert_int_equal(r->seen[6].event, 0);
	assert_int_equal(r->seen[7].event, 1);
	assert_int_equal(r->seen[8].event, 3);
	assert_int_equal(r->seen[8].period, 3);
	rig_free(r);
}

static void by_frequency(struct rig *r, u64 freq)
{
	r->control.events[0].attr.flags |= ATTR_FREQ;
	r->control.events[0].attr.sample_period = freq;
	r->control.events[0].schedule.period_long = 0;
}

static void test_frequency(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 0);
	u64 total = 0;

	(void)state;
	by_frequency(r, 10000); /* at a nanosecond each: one in 100,000 */
	sampler_start(&r->t);
	run(r, 10000000, 1);
	assert_int_equal(r->seen[0].value[0], 1);
	assert_in_range(r->nr_seen, 99, 105);
	for (u32 i = 0; i < r->nr_seen; i++) {
		total += r->seen[i].period;
		assert_int_equal(r->seen[i].value[0], total);
		if (i >= 5)
			assert_in_range(r->seen[i].period, 99000, 101000);
	}
	rig_free(r);
}

/* A thread that begins later starts where the process has come to. */
static void test_frequency_inherited(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 0);

	(void)state;
	by_frequency(r, 10000);
	sampler_start(&r->t);
	run(r, 10000000, 1);
	sampler_stop(&r->t);
	r->nr_seen = 0;
	sampler_start(&r->t);
	run(r, 1000000, 1);
	assert_in_range(r->nr_seen, 9, 10);
	assert_in_range(r->seen[0].period, 99000, 101000);
	rig_free(r);
}

/* An event that becomes rare is not waited for at the old period, and one that becomes frequent is sampled less. */
static void test_frequency_follows(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 0);
	u32 before, n;

	(void)state;
	by_frequency(r, 10000);
	sampler_start(&r->t);
	run(r, 20000000, 1);
	before = r->nr_seen;
	run(r, 1000000, 1000); /* a thousandth of the rate, for a second; an eighth of it is believed per tick */
	n = r->nr_seen - before;
	assert_in_range(n, 8000, 10000);
	before = r->nr_seen;
	run(r, 50000000, 1);
	assert_in_range(r->nr_seen - before, 480, 600);
	rig_free(r);
}

/* By frequency the long periods are adapted, so many turns per second; the short ones are what was asked for. */
static void test_frequency_alternating(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 0);
	u32 n_long = 0, n_short = 0;

	(void)state;
	by_frequency(r, 10000);
	r->control.events[0].schedule = (struct schedule){ .period_short = 300, .batch_count = 2 };
	sampler_start(&r->t);
	run(r, 10000000, 1);
	for (u32 i = 12; i < r->nr_seen; i++) {
		bool is_long = i % 3 == 0;

		n_long += is_long;
		n_short += !is_long;
		if (is_long)
			assert_in_range(r->seen[i].period, 98000, 100500);
		else
			assert_int_equal(r->seen[i].period, 300);
	}
	assert_in_range(n_long, 94, 101);
	assert_in_range(n_short, 2 * n_long - 2, 2 * n_long + 2);
	rig_free(r);
}

static u32 count_of(const struct rig *r, u32 type)
{
	u32 n = 0;

	for (u32 i = 0; i < r->nr_seen; i++)
		n += r->seen[i].type == type;
	return n;
}

static void throttled(u32 per_second)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 1000);
	u64 values = 0;

	r->control.options.throttle = per_second;
	add_event(r, VC_CYCLES, 0, 0);
	for (u32 i = 0; i < 2; i++)
		r->control.events[i].attr.read_format |= PERF_FORMAT_GROUP;
	sampler_start(&r->t);
	run(r, 40000000, 1);
	assert_int_equal(count_of(r, PERF_RECORD_THROTTLE), 10);
	assert_int_equal(count_of(r, PERF_RECORD_UNTHROTTLE), 10);
	assert_int_equal(count_of(r, PERF_RECORD_SAMPLE), 100);
	for (u32 i = 0; i < r->nr_seen; i++) {
		if (r->seen[i].type != PERF_RECORD_SAMPLE)
			continue;
		values += 1000;
		assert_int_equal(r->seen[i].value[0], values);
		assert_int_equal(r->seen[i].value[1], values);
	}
	assert_int_equal(r->seen[9].type, PERF_RECORD_THROTTLE);
	assert_int_equal(r->seen[11].type, PERF_RECORD_UNTHROTTLE);
	assert_int_equal(r->seen[11].time, 4000000);
	rig_free(r);
}

/* 2500 per second are 10 in a tick of 4 ms, and so is all that is more than 9. The group stands still for the rest of
 * it. */
static void test_throttle(void **state)
{
	(void)state;
	throttled(2500);
	throttled(2251);
}

/* Two of each ten vanish, and the next record says so first. */
static void test_lost(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 100);
	u64 told = 0;

	(void)state;
	r->control.options.lose_every = 10;
	r->control.options.lose_count = 2;
	sampler_start(&r->t);
	run(r, 10000, 1);
	sampler_stop(&r->t);
	for (u32 i = 0; i < r->nr_seen; i++)
		if (r->seen[i].type == PERF_RECORD_LOST)
			told += r->seen[i].lost;
	assert_int_equal(count_of(r, PERF_RECORD_SAMPLE), 80);
	assert_int_equal(count_of(r, PERF_RECORD_LOST), 10);
	assert_int_equal(told, 20);
	assert_int_equal(r->seen[8].type, PERF_RECORD_LOST);
	assert_int_equal(r->seen[9].lost, 2); /* by PERF_FORMAT_LOST */
	assert_int_equal(r->seen[r->nr_seen - 1].type, PERF_RECORD_LOST_SAMPLES);
	assert_int_equal(r->seen[r->nr_seen - 1].lost, 20);
	rig_free(r);
}

static void test_skid(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 100);
	u32 at[8] = { 0 };

	(void)state;
	r->control.options.skid_min = 2;
	r->control.options.skid_max = 5;
	sampler_start(&r->t);
	run(r, 400000, 1);
	assert_int_equal(r->nr_seen, 3999);
	for (u32 i = 0; i < r->nr_seen; i++) {
		u64 skid = r->seen[i].value[0] - 100 * (i + 1);

		assert_in_range(skid, 2, 5);
		assert_int_equal(r->seen[i].ip, PC + (99 + skid) % BLOCK);
		assert_int_equal(r->seen[i].period, 100);
		at[skid]++;
	}
	for (u32 i = 2; i <= 5; i++)
		assert_in_range(at[i], 900, 1100);
	/* The last still skids when the thread leaves for a syscall. */
	sampler_leave(&r->t, 0x4242);
	assert_int_equal(r->nr_seen, 4000);
	assert_int_equal(r->seen[3999].ip, 0x4242);
	run(r, 50, 1);
	assert_int_equal(r->nr_seen, 4000);
	rig_free(r);
}

/* Precise events stay where they are. */
static void test_precise(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 100);

	(void)state;
	r->control.options.skid_min = r->control.options.skid_max = 5;
	r->control.events[0].attr.flags |= 2ull << ATTR_PRECISE_IP_SHIFT;
	sampler_start(&r->t);
	run(r, 1000, 1);
	assert_int_equal(r->nr_seen, 10);
	assert_int_equal(r->seen[9].value[0], 1000);
	rig_free(r);
}

/* With registers: at the entry of the block that follows. */
static void test_registers(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 13);

	(void)state;
	r->registers = true;
	for (u32 i = 0; i < 2; i++) {
		r->control.events[0].attr.sample_type |= PERF_SAMPLE_REGS_USER;
		r->control.events[0].attr.sample_regs_user = 3;
	}
	sampler_start(&r->t);
	run(r, 31, 1);
	assert_int_equal(r->nr_seen, 2);
	assert_int_equal(r->seen[0].value[0], 20);
	assert_int_equal(r->seen[1].value[0], 30);
	assert_int_equal(r->seen[1].ip, PC);
	assert_int_equal(r->seen[1].period, 13);
	rig_free(r);
}

/* The stack dump: what is mapped of it. */
static void test_stack(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 13);
	struct attr *a = &r->control.events[0].attr;
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	u8 *stack = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sample_layout layout;
	struct sample s;

	(void)state;
	memset(stack, 0x5a, 3 * page);
	mprotect(stack + 2 * page, page, PROT_NONE);
	r->registers = true;
	r->process.real_pid = getpid();
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_regs_user = 0x15;
	for (u32 i = 0; i < 3; i++) {
		static const u64 sizes[] = { 8192, 512, 65528 };
		const u64 begin = ((u64[]){ 0, page / 2, page / 4 })[i];
		u64 whole = i == 2 ? 64000 : sizes[i], there;

		a->sample_stack_user = sizes[i];
		r->stack_pointer = (u64)(uintptr_t)stack + begin;
		there = MIN(sizes[i], 2 * page - begin);
		sampler_start(&r->t);
		run(r, 20, 1);
		sampler_leave(&r->t, 0x1234);
		assert_int_equal(sample_layout_init(&layout, a, NULL, NULL), 0);
		assert_int_equal(sample_decode(&layout, cursor_over(r->last.p, r->last.len, false), &s), 0);
		assert_int_equal(s.regs_user_abi, PERF_SAMPLE_REGS_ABI_64);
		assert_int_equal(s.regs_user.n, 3);
		assert_int_equal(u64s_at(&s.regs_user, 2), s.ip + 4);
		assert_in_range(s.stack_user_size, MIN(whole, sizes[i]), sizes[i]);
		assert_int_equal(s.stack_user_dyn_size, there);
		for (u64 k = 0; k < s.stack_user_size; k++)
			assert_int_equal(s.stack_user[k], k < there ? 0x5a : 0);
	}
	munmap(stack, 3 * page);
	rig_free(r);
}

static void test_delay(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 100);

	(void)state;
	r->control.options.delay_ns = 1000;
	sampler_start(&r->t);
	run(r, 2000, 1);
	assert_int_equal(r->nr_seen, 10);
	assert_int_equal(r->seen[0].value[0], 100);
	assert_int_equal(r->seen[0].time, 1100);
	assert_int_equal(r->seen[0].enabled, 100);
	rig_free(r);
}

/* Interrupts take time that no event counts. */
static void test_interrupt_cost(void **state)
{
	struct rig *r = rig_new(VC_CYCLES, 100);

	(void)state;
	r->control.options.interrupt_cycles = 50;
	sampler_start(&r->t);
	run(r, 1000, 1);
	assert_int_equal(r->nr_seen, 10);
	assert_int_equal(r->seen[9].value[0], 1000);
	assert_int_equal(r->seen[9].time, 1000 + 9 * 50);
	assert_int_equal(r->seen[9].enabled, 1000 + 9 * 50); /* the thread has run, and its events were there */
	rig_free(r);
}

/* A thread that was not there when the events were opened has those that are inherited; its end says what it counted.
 */
static void test_inherit(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 100);

	(void)state;
	r->control.events[0].attr.flags |= ATTR_INHERIT_STAT;
	add_event(r, VC_INSTRUCTIONS, 10, 1);
	r->control.events[1].attr.flags &= ~ATTR_INHERIT;
	r->t.first = false;
	sampler_start(&r->t);
	run(r, 250, 1);
	sampler_stop(&r->t);
	assert_int_equal(r->nr_seen, 3);
	assert_int_equal(r->seen[2].type, PERF_RECORD_READ);
	assert_int_equal(r->seen[2].value[0], 250);
	rig_free(r);
}

static void test_limit(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 10);

	(void)state;
	r->control.events[0].limit = 3;
	sampler_start(&r->t);
	run(r, 1000, 1);
	assert_int_equal(r->nr_seen, 3);
	rig_free(r);
}

static void test_chain(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 10);

	(void)state;
	r->control.events[0].attr.sample_max_stack = 5;
	sampler_start(&r->t);
	run(r, 10, 1);
	assert_int_equal(r->seen[0].chain, 6);
	rig_free(r);
	r = rig_new(VC_INSTRUCTIONS, 10);
	sampler_start(&r->t);
	run(r, 10, 1);
	assert_int_equal(r->seen[0].chain, 128);
	rig_free(r);
	r = rig_new(VC_INSTRUCTIONS, 10);
	r->control.events[0].attr.flags |= ATTR_EXCLUDE_CALLCHAIN_USER;
	sampler_start(&r->t);
	run(r, 10, 1);
	assert_int_equal(r->seen[0].chain, 0);
	rig_free(r);
}

/* A program that another replaces: counts begin anew, the events do not. What did not count does not begin to. */
static void test_exec(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 100);
	struct sampler_state *saved = calloc(1, sizeof(*saved));

	(void)state;
	add_event(r, VC_CYCLES, 60, 1);
	add_event(r, VC_CYCLES, 60, 2);
	r->control.events[2].attr.flags |= ATTR_EXCLUDE_USER;
	sampler_start(&r->t);
	run(r, 250, 1);
	assert_int_equal(r->nr_seen, 2 + 4);
	sampler_save(&r->t, saved);
	sampler_stop(&r->t);
	r->t.time_base += 250;
	memset(r->t.counts, 0, sizeof(r->t.counts));
	r->nr_seen = 0;
	sampler_start(&r->t);
	sampler_load(&r->t, saved);
	run(r, 50, 1);
	assert_int_equal(r->nr_seen, 2); /* the third of 100, and the fifth of 60 */
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(r->seen[i].event, i);
		assert_int_equal(r->seen[i].value[0], 300);
		assert_int_equal(r->seen[i].enabled, 300);
		assert_int_equal(r->seen[i].period, i ? 60 : 100);
	}
	assert_false(r->t.sampler->state.events[2].counts);
	free(saved);
	rig_free(r);
}

/* An event that stands still until the tick's end does so in the next program, too, and goes on then. */
static void test_exec_while_throttled(void **state)
{
	struct rig *r = rig_new(VC_INSTRUCTIONS, 1000);
	struct sampler_state *saved = calloc(1, sizeof(*saved));

	(void)state;
	r->control.options.throttle = 2500; /* 10 in a tick of 4 ms */
	sampler_start(&r->t);
	run(r, 20000, 1);
	assert_int_equal(count_of(r, PERF_RECORD_SAMPLE), 10);
	sampler_save(&r->t, saved);
	sampler_stop(&r->t);
	r->t.time_base += 20000;
	memset(r->t.counts, 0, sizeof(r->t.counts));
	r->nr_seen = 0;
	r->t.carried.events = saved;
	sampler_start(&r->t);
	run(r, 3979999, 1);
	assert_int_equal(r->nr_seen, 0);
	run(r, 20000, 1);
	assert_int_equal(r->seen[0].type, PERF_RECORD_UNTHROTTLE);
	assert_int_equal(r->seen[0].time, 4000000);
	assert_int_equal(count_of(r, PERF_RECORD_SAMPLE), 10);
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_overshoot),
		cmocka_unit_test(test_alternating),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_frequency),
		cmocka_unit_test(test_frequency_inherited),
		cmocka_unit_test(test_frequency_follows),
		cmocka_unit_test(test_frequency_alternating),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_skid),
		cmocka_unit_test(test_precise),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_interrupt_cost),
		cmocka_unit_test(test_waited),
		cmocka_unit_test(test_inherit),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exec_while_throttled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
