/* SPDX-License-Identifier: Apache-2.0 */
/* What decides whether a hit is shown, and by whom. */
#include "view/script/script.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/lbr.h"
#include "attrib/place.h"
#include "base/hash.h"
#include "base/mem.h"
#include "view/script/impl.h"

static bool any_chain(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN || lbr_event(&l->events.v[i]))
			return true;
	return false;
}

/* Of the kinds of events that the recording holds, is the field shown for some? */
static bool any_shows(const struct script *s, u64 field)
{
	for (size_t i = 0; i < s->events->events.n; i++)
		if (s->opts.fields.shown[script_kind(s->events->events.v[i].attr.type)] & field)
			return true;
	return false;
}

/* The formats stand behind the samples, so that a recording that was cut short lacks them: an error only for who
 * asked. */
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

static int check_counters(struct script *s)
{
	branch_counters_init(&s->counters, s->events, s->features);
	if (!any_shows(s, SCRIPT_BRCNTR) || s->counters.v.n)
		return 0;
	return notify_error(s->notify, ERR_USAGE,
			    "-F brcntr: no samples count events between branches (record -j any,counter, with "
			    "--pmu=sim if the CPU has no branch counters)");
}

void script_put_legend(const struct script *s, struct bytes *out)
{
	if (s->counters.v.n && any_shows(s, SCRIPT_BRCNTR) && !s->opts.json)
		branch_counters_legend(&s->counters, s->events, out);
}

int script_init(struct script *s)
{
	int err;

	s->chains = !s->opts.hide_chains && any_chain(s->events);
	err = script_fields_settle(&s->opts.fields, s->events, s->chains, s->notify);
	if (err)
		return err;
	err = check_formats(s);
	if (err)
		return err;
	if (any_shows(s, SCRIPT_TOD) && !s->features->clock_data_wall_ns)
		return notify_error(
			s->notify, ERR_USAGE,
			"-F tod: the recording does not tie its clock to the time of day (record with -k)");
	err = check_code(s);
	if (!err)
		err = check_counters(s);
	if (err)
		return err;
	for (size_t i = 0; i < s->events->events.n; i++) {
		const struct event *e = &s->events->events.v[i];

		s->name_width = MAX(s->name_width, e->name ? (u32)strlen(e->name) : 0);
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
	branch_counters_free(&s->counters);
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
	for (size_t i = 0; i < THREAD_SLOTS; i++)
		bytes_free(&w->threads[i].comm);
	free(w->threads);
	free(w);
}

static bool place_passes(const struct script *s, const struct script_line *l)
{
	const struct place_filter *f = &s->opts.places;
	struct place p;

	if (!place_filter_used(f))
		return true;
	place_find(s->dsos, &l->thread->view, l->cpumode, l->sample->ip, &p);
	return place_filter_keeps_code(f, s->dsos, p.dso, p.map ? p.sym : ID_NONE, p.addr);
}

#define ALWAYS_SHOWN (PERF_SAMPLE_TID | PERF_SAMPLE_CPU | PERF_SAMPLE_TIME)

/* Fields that were not sampled read as perf has them. */
static void fill_absent(struct sample *sample)
{
	if (!(sample->has & PERF_SAMPLE_TID))
		sample->pid = sample->tid = NO_TASK;
	if (!(sample->has & PERF_SAMPLE_CPU))
		sample->cpu = NO_CPU;
	if (!(sample->has & PERF_SAMPLE_TIME))
		sample->time = UINT64_MAX;
}

void script_hit(struct script_worker *w, const struct hit *h, struct bytes *out)
{
	const struct script *s = w->s;
	struct script_line line = {
		.event = h->e,
		.event_index = h->event,
		.sample = h->full,
		.period = h->s.period,
		.activity = h->activity,
		.clock = h->clock,
		.cpumode = h->cpumode,
		.stitched = h->stitched,
	};
	struct sample filled;

	if (!sample_filter_inside(&s->opts.samples, &h->s) ||
	    !s->opts.fields.shown[script_kind(line.event->attr.type)])
		return;
	if (UNLIKELY(~h->full->has & ALWAYS_SHOWN)) {
		filled = *h->full;
		fill_absent(&filled);
		line.sample = &filled;
	}
	line.thread = script_thread(w, line.sample->pid, line.sample->tid, h->clock);
	if (!sample_filter_thread(&s->opts.samples, line.thread->pid, line.thread->tid, &line.thread->view,
				  s->strings) ||
	    !sample_filter_activity(&s->opts.samples, h->activity) || !place_passes(s, &line))
		return;
	if (s->opts.json)
		script_put_json(w, &line, out);
	else
		script_put_line(w, &line, out);
}
