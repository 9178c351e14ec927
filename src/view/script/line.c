/* SPDX-License-Identifier: Apache-2.0 */
/* One sample as text, laid out as perf does it. */
#include "agg/activity_keys.h"
#include "view/script/impl.h"

#include <string.h>
#include <time.h>

#include "attrib/chain.h"
#include "attrib/lbr.h"
#include "codec/perf_abi.h"

#define COMM_WIDTH 16
#define NSEC_PER_SEC 1000000000ull

/* A task's number, -1 where the sample has none. */
static void put_task(struct bytes *out, u32 id, u32 width)
{
	if (id == NO_TASK) {
		bytes_repeat(out, ' ', (int)width - 2);
		bytes_str(out, "-1");
	} else {
		bytes_dec_pad(out, id, width, ' ');
	}
}

static void put_comm(const char *comm, u32 len, bool padded, struct bytes *out)
{
	if (padded && len < COMM_WIDTH)
		bytes_repeat(out, ' ', (int)(COMM_WIDTH - len));
	bytes_put(out, comm, len);
	bytes_char(out, ' ');
}

static void put_tasks(u64 shown, const struct line_head *h, struct bytes *out)
{
	if (shown & SCRIPT_PID) {
		put_task(out, h->pid, 5);
		bytes_char(out, shown & SCRIPT_TID ? '/' : ' ');
	}
	if (shown & SCRIPT_PID && shown & SCRIPT_TID) {
		size_t start = out->len;

		put_task(out, h->tid, 1);
		bytes_repeat(out, ' ', 5 - (int)(out->len - start));
		bytes_char(out, ' ');
	} else if (shown & SCRIPT_TID) {
		put_task(out, h->tid, 5);
		bytes_char(out, ' ');
	}
}

/* The cpumode values are not bits; perf tests them as if they were, so a guest user sample shows all letters. */
static void put_misc(const struct line_head *h, struct bytes *out)
{
	static const struct {
		u16 mask;
		char letter;
	} modes[] = {
		{ PERF_RECORD_MISC_KERNEL, 'K' },     { PERF_RECORD_MISC_USER, 'U' },
		{ PERF_RECORD_MISC_HYPERVISOR, 'H' }, { PERF_RECORD_MISC_GUEST_KERNEL, 'G' },
		{ PERF_RECORD_MISC_GUEST_USER, 'g' },
	};
	size_t start = out->len;

	for (u32 i = 0; i < ARRAY_LEN(modes); i++)
		if ((h->misc & modes[i].mask) == modes[i].mask)
			bytes_char(out, modes[i].letter);
	if ((h->record_type == PERF_RECORD_MMAP || h->record_type == PERF_RECORD_MMAP2) &&
	    h->misc & PERF_RECORD_MISC_MMAP_DATA)
		bytes_char(out, 'M');
	if (h->record_type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC)
		bytes_char(out, 'E');
	if ((h->record_type == PERF_RECORD_SWITCH || h->record_type == PERF_RECORD_SWITCH_CPU_WIDE) &&
	    h->misc & PERF_RECORD_MISC_SWITCH_OUT) {
		bytes_char(out, 'S');
		if (h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
			bytes_char(out, 'p');
	}
	bytes_repeat(out, ' ', MAX(6 - (int)(out->len - start), 1));
}

static void put_time(struct script_worker *w, u64 time, struct bytes *out)
{
	const struct script_opts *o = &w->s->opts;
	u64 t = time, sec, frac;

	if (o->reltime) {
		if (!w->first_time)
			w->first_time = time;
		t = time - w->first_time;
	} else if (o->deltatime) {
		t = w->last_time ? time - w->last_time : 0;
		w->last_time = time;
	}
	sec = t / NSEC_PER_SEC;
	frac = t % NSEC_PER_SEC;
	bytes_dec_pad(out, sec, 5, ' ');
	bytes_char(out, '.');
	if (o->nanosecs)
		bytes_dec_pad(out, frac, 9, '0');
	else
		bytes_dec_pad(out, frac / 1000, 6, '0');
	bytes_put(out, ": ", 2);
}

/* Wall clock, from the pair of clocks that was read when the recording began. */
static void put_tod(const struct script *s, u64 time, struct bytes *out)
{
	const struct features *f = s->features;
	u64 wall = f->clock_data_wall_ns + (time - f->clock_data_clockid_ns), sec = wall / NSEC_PER_SEC;
	time_t t = (time_t)sec;
	struct tm tm;
	char text[64];

	if (!localtime_r(&t, &tm) || !strftime(text, sizeof(text), "%F %H:%M:%S", &tm))
		return;
	bytes_printf(out, "%s.", text);
	if (s->opts.nanosecs)
		bytes_dec_pad(out, wall % NSEC_PER_SEC, 9, '0');
	else
		bytes_dec_pad(out, wall % NSEC_PER_SEC / 1000, 6, '0');
	bytes_char(out, ' ');
}

static bool shows_chain(const struct script *s, const struct event *e)
{
	return s->chains && (e->attr.sample_type & PERF_SAMPLE_CALLCHAIN || lbr_event(e));
}

void script_put_head(struct script_worker *w, const struct event *e, const struct line_head *h,
		     const struct bytes *comm, struct bytes *out)
{
	u64 shown = w->s->opts.fields.shown[script_kind(e->attr.type)];

	if (shown & SCRIPT_COMM)
		put_comm((const char *)comm->p, (u32)comm->len, !(shown & SCRIPT_IP && shows_chain(w->s, e)), out);
	if (shown & (SCRIPT_PID | SCRIPT_TID))
		put_tasks(shown, h, out);
	if (shown & SCRIPT_CPU) {
		bytes_char(out, '[');
		if (h->cpu == NO_CPU)
			bytes_str(out, "-01");
		else
			bytes_dec_pad(out, h->cpu, 3, '0');
		bytes_put(out, "] ", 2);
	}
	if (shown & SCRIPT_MISC)
		put_misc(h, out);
	if (shown & SCRIPT_TOD)
		put_tod(w->s, h->time, out);
	if (shown & SCRIPT_TIME)
		put_time(w, h->time, out);
}

struct place_style script_style(const struct script *s, enum script_kind kind, bool chain)
{
	return (struct place_style){ .shown = s->opts.fields.shown[kind], .chain = chain, .json = s->opts.json };
}

/* The cache entries of a chain lie anywhere in memory: fetch them side by side, not one after the other. */
static void prefetch_part(const struct script_worker *w, const struct script_line *l, const struct chain_part *p,
			  u32 end, u32 style_id)
{
	for (u32 i = p->at; i < end; i++)
		place_prefetch(w->places, &l->thread->view, p->cpumode, u64s_at(p->words, i), style_id);
}

/* Is this word of the sample's chain one that was stitched on? */
static bool is_stitched(const struct script_line *l, const struct chain_part *p, u32 i)
{
	return l->stitched && p->words == &l->sample->chain && i >= l->sample->chain.n - l->stitched;
}

/* Behind what stands in the line that was written last; of JSON, into the object. */
static void mark_stitched(struct json *j, struct bytes *out)
{
	if (!out->len)
		return;
	out->len--;
	if (j) {
		json_set_bool(j, "stitched", true);
		json_object_end(j);
	} else {
		bytes_str(out, " (stitched)\n");
	}
}

void script_put_chain(struct script_worker *w, const struct script_line *l, struct json *j, struct bytes *out)
{
	enum script_kind kind = script_kind(l->event->attr.type);
	struct place_style style = script_style(w->s, kind, true);
	bool defers = l->event->attr.flags & ATTR_DEFER_CALLCHAIN, stop = false;
	u32 left = w->s->opts.max_stack;
	struct chain_part part;
	struct chain_walk walk;

	chain_start(&walk, &l->sample->chain, 0, PERF_RECORD_MISC_USER, defers ? w->s->deferred : NULL);
	while (left && !stop && chain_next(&walk, &part)) {
		u32 end = part.end - part.at > left ? part.at + left : part.end;

		left -= end - part.at;
		prefetch_part(w, l, &part, end, STYLE_ID(kind, true));
		for (u32 i = part.at; i < end && !stop; i++) {
			struct str text = place_text(w->places, &l->thread->view, part.cpumode, u64s_at(part.words, i),
						     &style, STYLE_ID(kind, true), &stop);

			if (j)
				json_rendered(j, text.p, text.len);
			else
				bytes_put(out, text.p, text.len);
			if (text.len && is_stitched(l, &part, i))
				mark_stitched(j, out);
		}
	}
}

void script_ahead(struct script_worker *w, const struct hit *h)
{
	enum script_kind kind = script_kind(h->e->attr.type);
	const struct thread_view *t = &script_thread(w, h->s.pid, h->s.tid, h->clock)->view;
	bool defers = h->e->attr.flags & ATTR_DEFER_CALLCHAIN;
	u32 left = w->s->opts.max_stack;
	struct chain_part part;
	struct chain_walk walk;

	place_ahead(w->places, t, h->cpumode, h->s.ip, STYLE_ID(kind, false));
	if (!shows_chain(w->s, h->e))
		return;
	chain_start(&walk, &h->full->chain, 0, PERF_RECORD_MISC_USER, defers ? w->s->deferred : NULL);
	while (left && chain_next(&walk, &part))
		for (u32 i = part.at; i < part.end && left; i++, left--)
			place_ahead(w->places, t, part.cpumode, u64s_at(part.words, i), STYLE_ID(kind, true));
}

static void put_ip(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	enum script_kind kind = script_kind(l->event->attr.type);
	struct place_style style = script_style(w->s, kind, false);

	if (shows_chain(w->s, l->event)) {
		bytes_char(out, '\n');
		script_put_chain(w, l, NULL, out);
		return;
	}
	bytes_char(out, ' ');
	bytes_hex_pad(out, l->sample->ip, 16, ' ');
	if (shown & (SCRIPT_SYM | SCRIPT_DSO | SCRIPT_SRCLINE)) {
		bool stop;
		struct str text = place_text(w->places, &l->thread->view, l->cpumode, l->sample->ip, &style,
					     STYLE_ID(kind, false), &stop);

		bytes_put(out, text.p, text.len);
	}
}

/* perf looks data addresses up only where they are sure to belong to the task's address space. */
static bool addr_has_symbol(const struct attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_PAGE_FAULTS || a->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		a->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

static void put_addr(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	struct place place;

	bytes_hex_pad(out, l->sample->addr, 16, ' ');
	if (!addr_has_symbol(&l->event->attr))
		return;
	place_find(w->s->dsos, &l->thread->view, l->cpumode, l->sample->addr, &place);
	/* A page fault in the kernel may be for a user's page. */
	if (!place.map && l->cpumode == PERF_RECORD_MISC_KERNEL)
		place_find(w->s->dsos, &l->thread->view, PERF_RECORD_MISC_USER, l->sample->addr, &place);
	if (shown & SCRIPT_SYM) {
		bytes_char(out, ' ');
		place_put_symbol(w->s, &place, shown & SCRIPT_SYMOFF, out);
	}
	if (shown & SCRIPT_DSO) {
		bytes_str(out, " (");
		place_put_dso(w->s, &place, shown & SCRIPT_DSOFF, out);
		bytes_char(out, ')');
	}
}

/* Kernel functions for %ps in tracepoint formats. */
static const char *kernel_symbol(void *ctx, u64 addr, u64 *start, const char **module)
{
	struct script_worker *w = ctx;

	return place_kernel_function(w->s->dsos, &w->kernel, addr, start, module);
}

void script_trace_text(struct script_worker *w, const struct script_line *l)
{
	const struct features *f = w->s->features;
	const struct sample *s = l->sample;

	if (!w->tracepoints)
		w->tracepoints =
			tracepoints_new(f->tracing_data, f->tracing_data_size, kernel_symbol, w, w->s->notify);
	w->kernel = l->thread->view.kernel;
	w->scratch.len = 0;
	tracepoints_print(w->tracepoints, (u32)l->event->attr.config, s->raw, s->raw_size, &w->scratch);
}

/* Fields that stand between the event's name and the address. */
static void put_memory(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	const struct sample *s = l->sample;

	if (shown & SCRIPT_ADDR)
		put_addr(w, l, shown, out);
	if (shown & SCRIPT_DATA_SRC)
		w->data_src_width = script_put_data_src(s->data_src, w->data_src_width, out);
	if (shown & SCRIPT_WEIGHT)
		bytes_dec_pad(out, s->weight, 16, ' ');
	if (shown & SCRIPT_INS_LAT)
		bytes_dec_pad(out, s->var2_w, 16, ' ');
}

/* Fields that stand behind it. */
static void put_rest(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	const struct sample *s = l->sample;
	const struct attr *a = &l->event->attr;
	enum regs_arch arch = script_regs_arch(w->s);
	bool dso = shown & SCRIPT_DSO;

	if (shown & SCRIPT_IREGS)
		script_put_regs(&s->regs_intr, a->sample_regs_intr, s->regs_intr_abi, arch, out);
	if (shown & SCRIPT_UREGS)
		script_put_regs(&s->regs_user, a->sample_regs_user, s->regs_user_abi, arch, out);
	if (shown & SCRIPT_BRSTACK)
		script_put_branches(w, l, SCRIPT_BRSTACK, dso, out);
	else if (shown & SCRIPT_BRSTACKSYM)
		script_put_branches(w, l, SCRIPT_BRSTACKSYM, dso, out);
	else if (shown & SCRIPT_BRSTACKOFF)
		script_put_branches(w, l, SCRIPT_BRSTACKOFF, dso, out);
	if (shown & SCRIPT_BRCNTR)
		script_put_counters(w, l, out);
	if (shown & SCRIPT_BPF_OUTPUT && a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_BPF_OUTPUT)
		script_put_bpf_output(s->raw, s->raw_size, out);
	if (shown & SCRIPT_CODE)
		script_put_code(w, l, shown, out);
	if (shown & SCRIPT_PHYS_ADDR)
		bytes_hex_pad(out, s->phys_addr, 16, ' ');
	if (shown & SCRIPT_DATA_PAGE_SIZE)
		script_put_page_size(s->data_page_size, out);
	if (shown & SCRIPT_CODE_PAGE_SIZE)
		script_put_page_size(s->code_page_size, out);
	if (shown & SCRIPT_CGROUP) {
		bytes_char(out, ' ');
		bytes_dec(out, s->cgroup);
	}
	if (shown & SCRIPT_ACTIVITY && w->s->timelines) {
		bytes_char(out, ' ');
		w->scratch.len = 0;
		activity_text(w->s->timelines, l->activity, &w->scratch);
		bytes_plain(out, (char *)w->scratch.p, w->scratch.len);
	}
	if (shown & SCRIPT_TLS)
		script_put_tls(w, l, out);
}

#define RARE_BEFORE (SCRIPT_ADDR | SCRIPT_DATA_SRC | SCRIPT_WEIGHT | SCRIPT_INS_LAT)
#define RARE_AFTER                                                                                                    \
	(SCRIPT_IREGS | SCRIPT_UREGS | SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF | SCRIPT_BRCNTR |       \
	 SCRIPT_BPF_OUTPUT | SCRIPT_PHYS_ADDR | SCRIPT_DATA_PAGE_SIZE | SCRIPT_CODE_PAGE_SIZE | SCRIPT_CGROUP |       \
	 SCRIPT_TLS | SCRIPT_CODE | SCRIPT_ACTIVITY)
#define FLAGS_WIDTH 24 /* of the branch flags, which only instruction traces fill */

void script_put_line(struct script_worker *w, const struct script_line *l, struct bytes *out)
{
	const struct sample *s = l->sample;
	u64 shown = w->s->opts.fields.shown[script_kind(l->event->attr.type)];
	struct line_head head = { s->pid, s->tid, s->cpu, s->time, s->misc, PERF_RECORD_SAMPLE };

	script_put_head(w, l->event, &head, &l->thread->comm, out);
	if (shown & SCRIPT_PERIOD) {
		bytes_dec_pad(out, l->period, 10, ' ');
		bytes_char(out, ' ');
	}
	if (shown & SCRIPT_EVENT) {
		const struct bytes *name = &w->names[l->event_index];

		bytes_put(out, name->p, name->len);
	}
	if (shown & SCRIPT_FLAGS)
		bytes_repeat(out, ' ', FLAGS_WIDTH);
	if (shown & SCRIPT_TRACE && s->raw_size) {
		script_trace_text(w, l);
		bytes_plain(out, (char *)w->scratch.p, w->scratch.len);
	}
	if (shown & RARE_BEFORE)
		put_memory(w, l, shown, out);
	if (shown & SCRIPT_IP)
		put_ip(w, l, shown, out);
	if (shown & RARE_AFTER)
		put_rest(w, l, shown, out);
	bytes_char(out, '\n');
}
