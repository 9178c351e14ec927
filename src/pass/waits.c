/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes. The first one goes through the records as they are in the file, where those of one CPU are in order, and
 * finds out in which times records are missing: LOST records say so, and a CPU that goes from one thread to another
 * has to go on from that one. The second one goes through the samples in the order of time.
 */
#include "pass/waits.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "codec/tracefmt.h"
#include "pass/feed.h"
#include "pass/order.h"

/* prev_state in sched_switch, since Linux 4.14. */
#define STATE_SLEEPING 0x01
#define STATE_BLOCKED 0x02
#define STATE_STOPPED (0x04 | 0x08)
#define STATE_ENDED (0x10 | 0x20)
#define STATE_ASLEEP (0x40 | 0x80) /* parked; threads of the kernel that are idle */
#define STATE_PREEMPTED 0x100

/* common_flags of tracepoints. */
#define FLAG_HARDIRQ 0x08
#define FLAG_SOFTIRQ 0x10
#define FLAG_NMI 0x40

/* Fields of the raw data. */
struct fields {
	struct trace_field prev_pid, prev_state, next_pid, pid, flags;
};

struct cpu {
	u64 last; /* the time of the last record; 0: none yet */
	u64 seen; /* when it was last seen to run `next`; 0: no switch has said yet what it runs */
	u32 next;
	u64 told, counted; /* records that are missing: as LOST records say, and as counters did at the end */
	u32 number;
};

struct reader {
	struct session *s;
	struct session_waits *out;
	struct fields fields;
	bool big_endian;
	const struct sample_filter *filter;
	const char *key;
	VEC(u32) keys; /* of activities, by number: texts, or WAIT_NOBODY */
	struct bytes text;
	struct resolver *resolver;
	struct feed feed;
	/* The first pass: of each CPU what it did last. */
	struct map cpu_of; /* -> cpus */
	VEC(struct cpu) cpus;
	u64 latest;
	u64 told, counted; /* as in struct cpu: of all CPUs, and of none that is known */
};

static bool find_field(const struct trace_event *e, const char *name, struct trace_field *out)
{
	for (size_t i = 0; i < e->fields.n; i++) {
		const struct trace_field *f = &e->fields.v[i];

		if (f->name.len == strlen(name) && !memcmp(f->name.p, name, f->name.len) && f->kind == TRACE_NUMBER) {
			*out = *f;
			return true;
		}
	}
	return false;
}

static u64 value(const struct reader *r, const struct sample *s, const struct trace_field *f)
{
	u64 v = 0;

	if (f->offset > s->raw_size || f->size > s->raw_size - f->offset)
		return 0;
	for (u32 i = 0; i < f->size && i < 8; i++)
		v |= (u64)s->raw[f->offset + i] << 8 * (r->big_endian ? MIN(f->size, 8u) - 1 - i : i);
	return v;
}

static bool is_called(struct str s, const char *name)
{
	return s.len == strlen(name) && !memcmp(s.p, name, s.len);
}

/* An event of which each occurrence is a sample. */
static bool takes_all(const struct event *e)
{
	const u64 needed = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;

	return e->attr.type == PERF_TYPE_TRACEPOINT && !(e->attr.flags & ATTR_FREQ) && e->attr.sample_period == 1 &&
	       (e->attr.sample_type & needed) == needed && !e->unsupported && !e->activity;
}

/* Recorded on at least so many CPUs: a thread may run on any. */
static u32 find_event(const struct evlist *l, const struct tracefmt *formats, const char *name, u32 nr_cpus,
		      const struct trace_event **format)
{
	for (u32 i = 0; i < l->events.n; i++) {
		const struct event *e = &l->events.v[i];

		*format = takes_all(e) ? tracefmt_find(formats, (u32)e->attr.config) : NULL;
		if (*format && is_called((*format)->system, "sched") && is_called((*format)->name, name) &&
		    e->ids.n >= nr_cpus)
			return i;
	}
	return ID_NONE;
}

static bool find_events(const struct session *s, u32 *on_switch, u32 *on_waking, struct fields *f, bool *big_endian)
{
	const struct features *features = &s->src->features;
	struct tracefmt formats = { 0 };
	const struct trace_event *e;
	bool found;

	if (!s->clock_is_time || !features->tracing_data_size)
		return false;
	(void)tracefmt_decode(cursor_over(features->tracing_data, features->tracing_data_size, false), &formats);
	*big_endian = formats.big_endian;
	*on_switch = find_event(&s->src->events, &formats, "sched_switch", features->nr_cpus_online, &e);
	found = *on_switch != ID_NONE && find_field(e, "prev_pid", &f->prev_pid) &&
		find_field(e, "prev_state", &f->prev_state) && find_field(e, "next_pid", &f->next_pid);
	*on_waking = find_event(&s->src->events, &formats, "sched_waking", features->nr_cpus_online, &e);
	found = found && *on_waking != ID_NONE && find_field(e, "pid", &f->pid) &&
		find_field(e, "common_flags", &f->flags);
	tracefmt_free(&formats);
	return found;
}

bool session_has_waits(const struct session *s)
{
	struct fields f;
	u32 on_switch, on_waking;
	bool big_endian;

	return find_events(s, &on_switch, &on_waking, &f, &big_endian);
}

/* --- what is missing --- */

static struct cpu *cpu_of(struct reader *r, u32 cpu)
{
	u32 *at = map_at(&r->cpu_of, cpu, (u32)r->cpus.n);

	if (*at == r->cpus.n)
		vec_push(&r->cpus, (struct cpu){ .number = cpu });
	return &r->cpus.v[*at];
}

static void add_loss(struct reader *r, u64 from, u64 to, u32 cpu, bool switches)
{
	wait_losses_add(&r->out->losses, &(struct wait_loss){ from, to, cpu, switches });
}

static void check_switch(struct reader *r, const struct sample *s, struct cpu *c)
{
	u32 prev = (u32)value(r, s, &r->fields.prev_pid);

	if (c->seen && c->next != prev)
		add_loss(r, c->seen, s->time, s->cpu, true);
	c->seen = s->time;
	c->next = (u32)value(r, s, &r->fields.next_pid);
}

static void check_sample(struct reader *r, const struct source_record *at)
{
	const struct event *e = feed_event(r->s->src, at);
	struct sample_core core;
	struct sample full;
	struct cpu *c;

	if (!e || !feed_core(r->s->src, at, &core))
		return;
	r->latest = MAX(r->latest, core.time);
	if (!e->layout.at_cpu)
		return;
	c = cpu_of(r, core.cpu);
	if (e == &r->s->src->events.events.v[r->out->on_switch] &&
	    !sample_decode(&e->layout, cursor_over(at->p, at->h.size, r->s->src->swap), &full))
		check_switch(r, &full, c);
	else if (c->seen && core.tid == c->next)
		c->seen = core.time;
	c->last = core.time;
}

/*
 * A LOST record is written with the next record for which there is room again, so of what was lost after the last one
 * that a CPU wrote none of them tells. The counters do, which were read at the end: such a LOST_SAMPLES record has no
 * time, and those of perf 6.1 do not say of which counter they are.
 */
static void take_loss(struct reader *r, const struct source_record *at)
{
	const u64 needed = PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	struct record record;
	struct cpu *c = NULL;

	if (session_decode(r->s, at, &record))
		return;
	if ((record.sid.has & needed) == needed && (record.sid.time || record.sid.id))
		c = cpu_of(r, record.sid.cpu);
	if (record.h.type == PERF_RECORD_LOST_SAMPLES && !record.sid.time) {
		*(c ? &c->counted : &r->counted) += record.lost.lost;
		return;
	}
	if (!c) {
		add_loss(r, 0, UINT64_MAX, ANY_CPU, false);
		return;
	}
	if (record.h.type == PERF_RECORD_LOST) {
		r->told += record.lost.lost;
		c->told += record.lost.lost;
	}
	add_loss(r, c->last, record.sid.time, record.sid.cpu, false);
}

static void find_losses(struct reader *r)
{
	struct source_record at;
	u64 offset = 0;

	while (source_next(r->s->src, &offset, &at, NULL)) {
		if (at.h.type == PERF_RECORD_SAMPLE)
			check_sample(r, &at);
		else if (at.h.type == PERF_RECORD_LOST || at.h.type == PERF_RECORD_LOST_SAMPLES)
			take_loss(r, &at);
	}
	for (size_t i = 0; i < r->cpus.n; i++) {
		const struct cpu *c = &r->cpus.v[i];

		if (c->counted > c->told || r->counted > r->told)
			add_loss(r, c->last, UINT64_MAX, c->number, false);
	}
	r->out->gaps = r->out->losses.v.n;
	wait_losses_seal(&r->out->losses);
}

/* --- what threads did --- */

static u32 text_of(struct reader *r, u32 activity)
{
	while (r->keys.n <= activity)
		vec_push(&r->keys, WAIT_NOBODY);
	if (r->keys.v[activity] == WAIT_NOBODY) {
		r->text.len = 0;
		activity_key_text(&r->s->timelines, activity, r->key, &r->text);
		r->keys.v[activity] = strtab_intern(&r->out->names.keys, (const char *)r->text.p, r->text.len);
	}
	return r->keys.v[activity];
}

/* The activity of a sample, by its key. */
static u32 activity_of(struct reader *r, const struct hit *h)
{
	const struct thread_view *t;

	if (!sample_filter_activity(r->filter, h->activity))
		return WAIT_HIDDEN;
	if (r->filter->comms.n || r->filter->pids.n || r->filter->tids.n) {
		t = resolver_thread(r->resolver, h->s.pid, h->s.tid, h->clock);
		if (!sample_filter_thread(r->filter, h->s.pid, h->s.tid, t, &r->s->strings))
			return WAIT_HIDDEN;
	}
	return text_of(r, h->activity);
}

static struct wait_stack stack_of(struct reader *r, const struct hit *h)
{
	const struct thread_view *t = resolver_thread(r->resolver, h->s.pid, h->s.tid, h->clock);
	u32 frames[MAX_STACK + 1];

	return wait_names_stack(&r->out->names, frames, resolver_stack(r->resolver, t, h, frames));
}

static enum wait_state state_of(u64 prev_state)
{
	if (prev_state & STATE_PREEMPTED)
		return WAIT_RUNNABLE;
	if (prev_state & STATE_ENDED)
		return WAIT_ENDED;
	if (prev_state & STATE_STOPPED)
		return WAIT_STOPPED;
	if (prev_state & STATE_BLOCKED)
		return WAIT_BLOCKED;
	return prev_state & (STATE_SLEEPING | STATE_ASLEEP) ? WAIT_SLEEPING : WAIT_RUNNABLE;
}

static void take_switch(struct reader *r, const struct hit *h)
{
	struct wait_switch s = { .time = h->clock, .cpu = h->s.cpu, .activity = activity_of(r, h) };

	s.prev = (u32)value(r, h->full, &r->fields.prev_pid);
	s.next = (u32)value(r, h->full, &r->fields.next_pid);
	s.state = state_of(value(r, h->full, &r->fields.prev_state));
	if (s.prev && s.state != WAIT_RUNNABLE && s.state != WAIT_ENDED && s.activity != WAIT_HIDDEN)
		s.place = wait_names_place(&r->out->names, stack_of(r, h));
	waits_switch(&r->out->waits, &s);
}

static u32 name_of(struct reader *r, const struct hit *h)
{
	const struct thread_view *t = resolver_thread(r->resolver, h->s.pid, h->s.tid, h->clock);
	char made_up[THREAD_NAME_SIZE];

	return t->comm == ID_NONE ? strtab_intern_z(&r->s->strings, thread_made_up_name(h->s.tid, made_up)) : t->comm;
}

static void take_waking(struct reader *r, const struct hit *h)
{
	u64 flags = value(r, h->full, &r->fields.flags);
	struct wait_waker w = { .context = flags & (FLAG_HARDIRQ | FLAG_NMI) ? WAIT_BY_INTERRUPT :
					   flags & FLAG_SOFTIRQ		     ? WAIT_BY_SOFTIRQ :
									       WAIT_BY_THREAD };

	w.at = stack_of(r, h);
	if (w.context == WAIT_BY_THREAD) {
		w.comm = name_of(r, h);
		w.activity = text_of(r, h->activity);
	} else {
		w.at.user = ID_NONE; /* the thread was interrupted, no more */
	}
	waits_waking(&r->out->waits, h->clock, (u32)value(r, h->full, &r->fields.pid),
		     wait_names_waker(&r->out->names, &w));
}

static void take_hit(void *ctx, const struct hit *h)
{
	struct reader *r = ctx;

	if (h->made != HIT_MEASURED)
		return;
	if (h->event == r->out->on_switch) {
		take_switch(r, h);
		return;
	}
	/* In idle CPUs, and while a thread is interrupted, it is the thread that runs. */
	waits_sample(&r->out->waits, h->clock, h->e->layout.at_cpu ? h->s.cpu : ANY_CPU, h->s.tid, activity_of(r, h));
	if (h->event == r->out->on_waking)
		take_waking(r, h);
}

static void take_record(void *ctx, const struct source_record *at)
{
	struct reader *r = ctx;

	(void)feed_sample(&r->feed, at, take_hit, r);
}

struct session_waits *session_waits(struct session *s, const struct sample_filter *filter, const char *key)
{
	struct session_waits *out = mem_zalloc(sizeof(*out));
	struct resolver_opts ropts = { .samples = s->data.nr_samples, .deferred = &s->deferred };
	struct reader r = { .s = s, .out = out, .filter = filter, .key = key };

	if (!find_events(s, &out->on_switch, &out->on_waking, &r.fields, &r.big_endian)) {
		session_waits_free(out);
		return NULL;
	}
	out->waits.losses = &out->losses;
	out->names.dsos = s->dsos;
	out->names.frames = s->frames;
	find_losses(&r);
	r.resolver = resolver_new(s->procs, s->dsos, s->frames, &ropts);
	r.feed = (struct feed){ .src = s->src, .full = true, .timelines = session_timelines(s) };
	if (unwind_used(&s->src->events))
		r.feed.unwind = unwinder_new(s->procs, s->dsos, s->src->features.arch);
	out->late = session_in_order(s, take_record, &r);
	waits_end(&out->waits, r.latest);
	out->undecodable = r.feed.undecodable;
	unwinder_free(r.feed.unwind);
	feed_free(&r.feed);
	resolver_free(r.resolver);
	vec_free(&r.keys);
	vec_free(&r.cpus);
	map_free(&r.cpu_of);
	bytes_free(&r.text);
	return out;
}

void session_waits_free(struct session_waits *w)
{
	if (!w)
		return;
	waits_free(&w->waits);
	wait_losses_free(&w->losses);
	wait_names_free(&w->names);
	free(w);
}
