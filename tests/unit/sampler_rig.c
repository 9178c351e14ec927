/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler_rig.h"

#include "vpmu/regs.h"
#include "vpmu/truth.h"

#define RECORD_HEAD 24 /* bytes of VPMU_RECORD_AUX before its packets */

static struct rig *rig_of(const struct vthread *t)
{
	return (struct rig *)((u8 *)t - offsetof(struct rig, t));
}

struct armed *core_armed(struct vthread *t)
{
	return rig_of(t)->armed;
}
void core_set_armed(struct vthread *t, u32 nr)
{
	rig_of(t)->nr_armed = nr;
}
u64 core_ns(const struct vthread *t, u64 cycles)
{
	(void)t;
	return cycles;
}
bool regs_available(const struct vprocess *p)
{
	(void)p;
	return false;
}
u32 regs_user(const struct vthread *t, u64 mask, u64 pc, u64 *out)
{
	(void)t, (void)mask, (void)pc, (void)out;
	return 0;
}
u64 regs_stack_pointer(const struct vthread *t)
{
	(void)t;
	return 0;
}
void tasks_keep_totals(struct vthread *t)
{
	rig_of(t)->totals++;
}
u32 callstack_chain(const struct vthread *t, u64 *chain, u32 max)
{
	(void)t, (void)chain, (void)max;
	return 0;
}
u64 tasks_time(const struct vthread *t)
{
	return sampler_clock(t);
}
void truth_operation(struct vthread *t, u64 id, u64 pc, const struct vpmu_truth_operation *o)
{
	struct rig *r = rig_of(t);

	r->told = *o;
	r->told_id = id;
	r->told_pc = pc;
	r->nr_told++;
}
void truth_window(struct vthread *t, const struct vpmu_event *e, u64 id, u64 pc)
{
	(void)t, (void)e, (void)id, (void)pc;
}
/* The truth itself is not there; its windows are, where a test says so. */
void truth_save_windows(const struct vthread *t, struct truth_windows *to)
{
	(void)t;
	*to = (struct truth_windows){ 0 };
	to->of[1] = (struct truth_window){ .open = true, .time = 77 };
}
void channel_close(struct vthread *t)
{
	(void)t;
}

static void put_aux(struct rig *r, const struct bytes *record)
{
	u16 size;
	u32 ids[2];
	u64 offset;

	memcpy(&size, record->p + 6, sizeof(size));
	memcpy(ids, record->p + 8, sizeof(ids));
	memcpy(&offset, record->p + 16, sizeof(offset));
	assert_int_equal(size, record->len);
	assert_int_equal(ids[0], r->t.cpu);
	assert_int_equal(ids[1], r->t.tid);
	/* What was told of before is exactly this, and it goes on where the last one has ended. */
	assert_int_equal(offset, r->packets.len);
	assert_int_equal(r->aux.offset, offset);
	assert_int_equal(r->aux.size, size - RECORD_HEAD);
	assert_int_equal(r->aux.size % 8, 0);
	bytes_put(&r->packets, record->p + RECORD_HEAD, size - RECORD_HEAD);
	r->pieces++;
}

void channel_put(struct vthread *t, const struct bytes *record)
{
	struct rig *r = rig_of(t);
	struct trailer_layout trailer = trailer_layout(&r->control.events[0].attr);
	struct sample_layout layout;
	struct record rec;
	u32 type;

	memcpy(&type, record->p, sizeof(type));
	if (type == VPMU_RECORD_AUX) {
		put_aux(r, record);
		return;
	}
	r->last.len = 0;
	bytes_put(&r->last, record->p, record->len);
	if (type == PERF_RECORD_SAMPLE) {
		assert_int_equal(sample_layout_init(&layout, &r->control.events[0].attr, NULL, NULL), 0);
		assert_int_equal(sample_decode(&layout, cursor_over(r->last.p, r->last.len, false), &r->sample), 0);
		r->samples++;
		return;
	}
	assert_int_equal(record_decode(cursor_over(r->last.p, r->last.len, false), 0, &trailer, &rec), 0);
	if (type == PERF_RECORD_AUX)
		r->aux = rec.aux;
	if (type == PERF_RECORD_READ)
		r->read = rec.read;
}

void rig_add_event(struct rig *r, const struct attr *a, u32 leader, u32 count)
{
	u32 i = r->control.nr_events++;

	r->control.events[i] = (struct vpmu_event){ .attr = *a, .id = 10 + i, .leader = leader, .count = count };
	r->control.events[i].attr.flags |= ATTR_SAMPLE_ID_ALL | ATTR_INHERIT;
	r->control.events[i].schedule.period_long = a->sample_period;
}

struct rig *rig_new(const struct attr *a, u32 count)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->process.control = &r->control;
	r->process.model = &core_models[VPMU_NEOVERSE_N1];
	r->control.options.seed = 1;
	r->t = (struct vthread){ .process = &r->process, .first = true, .pid = 3, .tid = 4, .cpu = 5 };
	rig_add_event(r, a, 0, count);
	return r;
}

void rig_free(struct rig *r)
{
	sampler_stop(&r->t);
	bytes_free(&r->last);
	bytes_free(&r->packets);
	free(r);
}

struct core_met met_at(u32 cycles, u8 level, bool walk, bool peer)
{
	return (struct core_met){ .addr = DATA, .cycles = cycles, .level = level, .walk = walk, .peer = peer };
}
