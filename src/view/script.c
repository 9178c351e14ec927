/* SPDX-License-Identifier: Apache-2.0 */
/* What decides whether a record is shown, and takes it apart for those who print it. */
#include "view/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "view/script_impl.h"

#define THREAD_SLOTS 1024u /* a power of two */

static bool any_chain(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

static int check_cpus(const struct script *s)
{
	for (size_t i = 0; s->opts.samples.cpus.n && i < s->events->events.n; i++)
		if (!(s->events->events.v[i].attr.sample_type & PERF_SAMPLE_CPU))
			return notify_error(s->notify, ERR_USAGE,
					    "-C: samples of '%s' do not say on which CPU they were taken",
					    s->events->events.v[i].name);
	return 0;
}

/* Of the kinds of events that the recording holds, is the field shown for some? */
static bool any_shows(const struct script *s, u64 field)
{
	for (size_t i = 0; i < s->events->events.n; i++)
		if (s->opts.fields.shown[script_kind(s->events->events.v[i].attr.type)] & field)
			return true;
	return false;
}

/* The formats stand behind the samples, so that a recording that was cut short lacks them: an error only for who asked. */
static int check_formats(struct script *s)
{
	const struct script_fields *f = &s->opts.fields;
	const struct event *e = NULL;

	for (size_t i = 0; i < s->events->events.n && !e; i++)
		if (s->events->events.v[i].attr.type == PERF_TYPE_TRACEPOINT)
			e = &s->events->events.v[i];
	if (!e || s->features->tracing_data_size || !any_shows(s, SCRIPT_TRACE))
		return 0;
	if ((f->set[script_kind(e->attr.type)] ? f->shown : f->asked)[script_kind(e->attr.type)] & SCRIPT_TRACE)
		return notify_error(
			s->notify, ERR_USAGE,
			"'%s' is a tracepoint, and the recording lacks the formats of tracepoints: choose other "
			"fields (-F -trace)",
			e->name);
	notify_warn(s->notify, "the recording lacks the formats of tracepoints: their fields are not shown");
	for (u32 k = 0; k < NR_SCRIPT_KINDS; k++)
		s->opts.fields.shown[k] &= ~SCRIPT_TRACE;
	return 0;
}

static int check_code(const struct script *s)
{
	struct insn_decoder *d;
	const char *why = NULL;

	if (!any_shows(s, SCRIPT_CODE))
		return 0;
	d = insn_decoder_new(&why);
	if (!d)
		return notify_error(s->notify, ERR_UNSUPPORTED, "-F insn, insnlen, disasm: %s", why);
	insn_decoder_free(d);
	return 0;
}

int script_init(struct script *s)
{
	int err;

	s->chains = !s->opts.hide_chains && any_chain(s->events);
	err = script_fields_settle(&s->opts.fields, s->events, s->chains, s->notify);
	if (!err)
		err = check_cpus(s);
	if (err)
		return err;
	err = check_formats(s);
	if (err)
		return err;
	if (any_shows(s, SCRIPT_TOD) && !s->features->clock_data_wall_ns)
		return notify_error(s->notify, ERR_USAGE,
				    "-F tod: the recording does not tie its clock to the time of day (record with -k)");
	err = check_code(s);
	if (err)
		return err;
	for (size_t i = 0; i < s->events->events.n; i++) {
		const struct event *e = &s->events->events.v[i];

		s->name_width = MAX(s->name_width, e->name ? (u32)strlen(e->name) : 0);
		s->has_reads |= (e->attr.sample_type & PERF_SAMPLE_READ) != 0;
	}
	for (u32 i = 0; i < s->features->build_ids.n; i++) {
		struct str name = s->features->build_ids.v[i].filename;

		map_at(&s->listed, hash_bytes(name.p, name.len), i);
	}
	s->in_order = s->opts.reltime || s->opts.deltatime || (!s->opts.json && any_shows(s, SCRIPT_DATA_SRC));
	return 0;
}

void script_free(struct script *s)
{
	map_free(&s->listed);
}

static void name_event(const struct script *s, const struct event *e, struct bytes *out)
{
	const char *name = e->name ? e->name : "[unknown]";
	u32 len = (u32)strlen(name);

	if (len < s->name_width)
		bytes_repeat(out, ' ', (int)(s->name_width - len));
	bytes_plain(out, name, len);
	bytes_str(out, ": ");
}

struct script_worker *script_worker_new(const struct script *s)
{
	struct script_worker *w = mem_zalloc(sizeof(*w));

	w->s = s;
	w->places = place_cache_new(s);
	w->threads = mem_zalloc(sizeof(*w->threads) * THREAD_SLOTS);
	w->names = mem_zalloc(sizeof(*w->names) * s->events->events.n);
	for (size_t i = 0; i < s->events->events.n; i++)
		name_event(s, &s->events->events.v[i], &w->names[i]);
	return w;
}

void script_worker_free(struct script_worker *w)
{
	if (!w)
		return;
	place_cache_free(w->places);
	tracepoints_free(w->tracepoints);
	for (size_t i = 0; i < w->s->events->events.n; i++)
		bytes_free(&w->names[i]);
	free(w->names);
	bytes_free(&w->scratch);
	insn_decoder_free(w->insns);
	free(w->threads);
	free(w);
}

u64 script_worker_skipped(const struct script_worker *w)
{
	return w->skipped;
}

const char *script_comm(const struct script *s, const struct thread_view *view)
{
	return view->comm == ID_NONE ? NULL : strtab_get(s->strings, view->comm);
}

static void name_thread(const struct script_worker *w, struct thread_slot *t)
{
	const char *comm = script_comm(w->s, &t->view);
	struct bytes plain = { 0 };

	if (comm)
		bytes_plain(&plain, comm, strlen(comm));
	else
		bytes_printf(&plain, ":%d", (s32)t->tid);
	t->comm_len = (u32)MIN(plain.len, sizeof(t->buf));
	memcpy(t->buf, plain.p, t->comm_len);
	t->comm = t->buf;
	bytes_free(&plain);
}

const struct thread_slot *script_thread(struct script_worker *w, u32 pid, u32 tid, u64 clock)
{
	struct thread_slot *t = &w->threads[hash_u64((u64)pid << 32 | tid) & (THREAD_SLOTS - 1)];

	if (t->used && t->pid == pid && t->tid == tid && clock >= t->view.from && clock < t->view.until)
		return t;
	*t = (struct thread_slot){ .pid = pid, .tid = tid, .used = true };
	procs_thread_at(w->s->procs, pid, tid, clock, &t->view);
	name_thread(w, t);
	return t;
}

bool script_has_number(const struct u32_list *list, u32 n)
{
	for (u32 i = 0; i < list->n; i++)
		if (list->v[i] == n)
			return true;
	return !list->n;
}

static bool has_name(const struct name_list *list, const char *name)
{
	for (u32 i = 0; i < list->n; i++)
		if (!strcmp(list->v[i], name))
			return true;
	return !list->n;
}

static bool thread_passes(const struct script *s, const struct thread_slot *t)
{
	const struct sample_filter *o = &s->opts.samples;
	const char *comm = script_comm(s, &t->view);

	return script_has_number(&o->pids, t->pid) && script_has_number(&o->tids, t->tid) &&
	       (!o->comms.n || has_name(&o->comms, comm ? comm : t->buf));
}

/* --symbols and --dsos look at where the sample itself lies, not at its callers. */
static bool place_passes(const struct script *s, const struct script_line *l)
{
	const struct script_opts *o = &s->opts;
	const struct dso *dso;
	struct place p;

	if (!o->symbols.n && !o->dsos.n)
		return true;
	place_find(s->dsos, &l->thread->view, l->cpumode, l->sample->ip, &p);
	dso = dsos_at(s->dsos, p.map ? p.dso : 0);
	if (o->dsos.n && !has_name(&o->dsos, dso->short_name) && !has_name(&o->dsos, dso->path))
		return false;
	if (!o->symbols.n)
		return true;
	return p.map && p.sym != ID_NONE && has_name(&o->symbols, dsos_symbol_name(s->dsos, p.dso, p.sym));
}

/* Fields that were not sampled read as perf has them. */
static void fill_absent(struct sample *sample, const struct attr *a)
{
	if (!(sample->has & PERF_SAMPLE_TID))
		sample->pid = sample->tid = NO_TASK;
	if (!(sample->has & PERF_SAMPLE_CPU))
		sample->cpu = NO_CPU;
	if (!(sample->has & PERF_SAMPLE_TIME))
		sample->time = UINT64_MAX;
	if (!(sample->has & PERF_SAMPLE_PERIOD))
		sample->period = a->sample_period;
}

static void show(struct script_worker *w, u32 event, struct sample *sample, u64 period, u64 clock, struct bytes *out)
{
	const struct script *s = w->s;
	struct script_line line = {
		.event = &s->events->events.v[event],
		.event_index = event,
		.sample = sample,
		.period = period,
		.clock = clock,
		.cpumode = sample->misc & PERF_RECORD_MISC_CPUMODE_MASK,
	};

	if (!s->opts.fields.shown[script_kind(line.event->attr.type)])
		return;
	line.thread = script_thread(w, sample->pid, sample->tid, clock);
	if (!thread_passes(s, line.thread) || !place_passes(s, &line))
		return;
	if (s->opts.json)
		script_put_json(w, &line, out);
	else
		script_put_line(w, &line, out);
}

/* The event and the decoded fields of the sample at offset. False: it cannot be had. */
static bool decode_sample(const struct script *s, u64 offset, u16 size, u32 *event, struct sample *sample)
{
	const u8 *p = s->data + offset;

	*event = evlist_find(s->events, p, size, true, s->swap);
	if (*event == ID_NONE || s->events->events.v[*event].unsupported)
		return false;
	return !sample_decode(&s->events->events.v[*event].layout, cursor_over(p, size, s->swap), sample);
}

static bool passes_early(const struct script *s, const struct sample *sample)
{
	const struct sample_filter *f = &s->opts.samples;

	if (f->times && !timeranges_hold(f->times, sample->time))
		return false;
	return sample->cpu == NO_CPU || script_has_number(&f->cpus, sample->cpu);
}

static u32 show_sample(struct script_worker *w, u64 clock, u64 offset, u16 size, const struct member_sample *parts,
		       struct bytes *out)
{
	const struct script *s = w->s;
	struct sample sample;
	u32 event, used = 0;

	if (!decode_sample(s, offset, size, &event, &sample)) {
		w->skipped++;
		return parts ? 1 : 0;
	}
	fill_absent(&sample, &s->events->events.v[event].attr);
	if (!parts) {
		if (passes_early(s, &sample))
			show(w, event, &sample, sample.period, clock, out);
		return 0;
	}
	for (; parts[used].event != ID_NONE; used++)
		if (passes_early(s, &sample))
			show(w, parts[used].event, &sample, parts[used].weight, clock, out);
	return used + 1;
}

u32 script_record(struct script_worker *w, u64 clock, u64 offset, const struct member_sample *parts, struct bytes *out)
{
	const struct script *s = w->s;
	struct cursor c = cursor_over(s->data + offset, s->size - offset, s->swap);
	struct record_header h;
	struct record r;

	if (record_header_decode(&c, &h) || h.size > s->size - offset) {
		w->skipped++;
		return parts ? 1 : 0;
	}
	if (h.type == PERF_RECORD_SAMPLE)
		return show_sample(w, clock, offset, h.size, parts, out);
	c = cursor_over(s->data + offset, h.size, s->swap);
	if (script_shows(&s->opts, h.type) &&
	    !record_decode(c, s->data_offset + offset, evlist_trailer(s->events, s->data + offset, h.size, s->swap),
			   &r))
		script_put_event(w, &r, clock, out);
	return parts ? 1 : 0;
}

/* --- groups that sample their counters --- */

void script_reads_split(struct group_read *r, const struct script *s, u64 offset, struct script_parts *out)
{
	struct cursor c = cursor_over(s->data + offset, s->size - offset, s->swap);
	struct record_header h;
	struct sample sample;
	u32 event;

	if (!record_header_decode(&c, &h) && h.type == PERF_RECORD_SAMPLE && h.size <= s->size - offset &&
	    decode_sample(s, offset, h.size, &event, &sample)) {
		const struct attr *a = &s->events->events.v[event].attr;

		if (!(a->sample_type & PERF_SAMPLE_READ) || !sample.read.has_id) {
			fill_absent(&sample, a);
			vec_push(&out->v, (struct member_sample){ event, sample.period });
		} else {
			vec_reserve(&out->v, out->v.n + sample.read.nr + 1);
			out->v.n += group_read_explode(r, s->events, &sample, out->v.v + out->v.n, sample.read.nr);
		}
	}
	vec_push(&out->v, (struct member_sample){ ID_NONE, 0 });
}
