/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the records of tasks and mappings, and knows the clock of their times. */
#include <string.h>

#include "vpmu/channel.h"
#include "vpmu/tasks_impl.h"

static const struct vpmu_event *tracking_event(const struct vprocess *p)
{
	return &p->control->events[p->control->tracking];
}

bool tasks_wants(const struct vprocess *p, u64 flag)
{
	return !p->control->options.totals_only && p->control->nr_events && tracking_event(p)->attr.flags & flag;
}

u64 tasks_time(const struct vthread *t)
{
	u64 own = t->time_base + t->counts[VC_TIME_NS], newest = atomic_load(&t->process->control->time_ns);

	return MAX(own, newest);
}

/* Samples that are taken behind a record must sort behind it, whichever chunk they are in. */
static u64 time_of_record(struct vthread *t)
{
	_Atomic u64 *newest = &t->process->control->time_ns;
	u64 now = tasks_time(t), seen = atomic_load(newest);

	while (seen <= now && !atomic_compare_exchange_weak(newest, &seen, now + 1))
		;
	return now;
}

void tasks_put(struct vthread *t, struct record *r, u64 *time)
{
	const struct vprocess *p = t->process;
	const struct vpmu_event *e = tracking_event(p);
	struct trailer_layout trailer = trailer_layout(&e->attr);
	struct bytes out = { 0 };
	u64 id = e->id + (p->control->options.cpus ? (u64)t->cpu * p->control->nr_events : 0);

	r->sid.time = time_of_record(t);
	r->sid.id = r->sid.stream_id = id;
	r->sid.cpu = t->cpu;
	if (!r->sid.pid) {
		r->sid.pid = t->pid;
		r->sid.tid = t->tid;
	}
	if (time)
		*time = r->sid.time;
	if (!record_encode(r, &trailer, &out))
		channel_put(t, &out);
	bytes_free(&out);
}

void tasks_put_comm(struct vthread *t, u32 tid, const char *comm, bool exec)
{
	struct record r = { .h = { .type = PERF_RECORD_COMM, .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0 } };

	if (!tasks_wants(t->process, ATTR_COMM))
		return;
	r.comm = (struct rec_comm){ t->pid, tid, { comm, (u32)strlen(comm) }, exec };
	tasks_put(t, &r, NULL);
}

void tasks_tell(struct vthread *t, u32 type, u32 pid, u32 of)
{
	struct bytes out = { 0 };

	bytes_u32(&out, type);
	bytes_u16(&out, 0);
	bytes_u16(&out, 16);
	bytes_u32(&out, pid);
	bytes_u32(&out, of);
	channel_put(t, &out);
	bytes_free(&out);
}

void tasks_keep_totals(struct vthread *t)
{
	/* Sixteen bytes of header and ids, then the counts. */
	if (t->totals)
		memcpy(t->totals + 16, t->counts, sizeof(t->counts));
}
