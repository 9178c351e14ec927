/* SPDX-License-Identifier: Apache-2.0 */
/* The truth as JSON: one object whose lists have one entry per line. Counts that are 0 are left out. */
#include <string.h>

#include "pass/truth_impl.h"

struct writer {
	struct truth_sums *u;
	struct bytes *out;
	bool first; /* of a list */
};

static void put_string(const char *s, struct bytes *out)
{
	bytes_char(out, '"');
	bytes_json(out, s, strlen(s));
	bytes_char(out, '"');
}

static void put_key(const char *key, struct bytes *out)
{
	bytes_printf(out, ",\"%s\":", key);
}

static void put_number(const char *key, u64 value, struct bytes *out)
{
	put_key(key, out);
	bytes_dec(out, value);
}

static void put_counts(const u64 *counts, struct bytes *out)
{
	bool first = true;

	bytes_char(out, '{');
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++) {
		if (!counts[i] || !vpmu_count_names[i])
			continue;
		bytes_printf(out, "%s\"%s\":", first ? "" : ",", vpmu_count_names[i]);
		bytes_dec(out, counts[i]);
		first = false;
	}
	bytes_char(out, '}');
}

static void begin_list(struct writer *w, const char *name)
{
	bytes_printf(w->out, ",\n\"%s\":[", name);
	w->first = true;
}

static void begin_entry(struct writer *w)
{
	bytes_str(w->out, w->first ? "\n{" : ",\n{");
	w->first = false;
}

/* symbol is null where there is none: then all such code of the object is meant, or what address says. */
static void put_place(struct writer *w, u32 dso, u32 sym)
{
	bytes_str(w->out, "\"dso\":");
	put_string(dsos_at(w->u->s->dsos, dso)->path, w->out);
	put_key("symbol", w->out);
	if (sym == ID_NONE)
		bytes_str(w->out, "null");
	else
		put_string(dsos_symbol_name(w->u->s->dsos, dso, sym), w->out);
}

static void put_comm(const struct writer *w, u32 comm)
{
	if (comm == ID_NONE)
		bytes_str(w->out, "null");
	else
		put_string(strtab_get(&w->u->s->strings, comm), w->out);
}

static void put_models(u32 models, struct bytes *out)
{
	bytes_printf(out, ",\"models\":[%s%s%s%s%s]", models & VPMU_MODEL_BRANCH ? "\"branch\"" : "",
		     models & VPMU_MODEL_BRANCH && models > VPMU_MODEL_BRANCH ? "," : "",
		     models & VPMU_MODEL_CACHE ? "\"cache\"" : "",
		     models & VPMU_MODEL_CACHE && models & VPMU_MODEL_TLB ? "," : "",
		     models & VPMU_MODEL_TLB ? "\"tlb\"" : "");
}

static void put_meta(struct writer *w, const struct truth_about *about)
{
	const struct vpmu_options *o = about->options;
	struct str core = vpmu_simulated(w->u->s->src->features.cpuid);
	struct bytes *out = w->out;

	bytes_str(out, "{\"meta\":{\"generator\":\"reticle " RETICLE_VERSION "\",\"version\":1,\"simulated\":");
	bytes_char(out, '"');
	if (core.len)
		bytes_json(out, core.p, core.len);
	bytes_char(out, '"');
	put_key("recording", out);
	put_string(about->recording, out);
	put_key("command", out);
	for (u32 i = 0; about->command && about->command[i]; i++) {
		bytes_char(out, i ? ',' : '[');
		put_string(about->command[i], out);
	}
	bytes_str(out, about->command && about->command[0] ? "]" : "[]");
	put_models(o->models, out);
	put_number("seed", o->seed, out);
	put_number("skid_min", o->skid_min, out);
	put_number("skid_max", o->skid_max, out);
	put_number("throttle", o->throttle, out);
	put_number("lose_every", o->lose_every, out);
	put_number("lose_count", o->lose_count, out);
	put_number("interrupt_cycles", o->interrupt_cycles, out);
	put_number("cpus", o->cpus, out);
	put_number("delay_ns", o->delay_ns, out);
	bytes_str(out, "}");
}

static void begin_reason(struct writer *w)
{
	bytes_str(w->out, w->first ? "" : ",");
	w->first = false;
}

/* What keeps the counts from being all there is to count. */
static void put_completeness(struct writer *w, const struct truth_about *about)
{
	struct bytes *out = w->out, reasons = { 0 };

	w->out = &reasons;
	w->first = true;
	for (size_t i = 0; i < w->u->threads.n; i++) {
		const struct truth_thread *th = &w->u->threads.v[i];

		if (th->ended)
			continue;
		begin_reason(w);
		bytes_printf(&reasons, "\"thread %u of process %u was killed before it told its counts\"", th->tid,
			     th->pid);
	}
	if (about->escaped) {
		begin_reason(w);
		bytes_printf(&reasons, "\"%u programs ran outside the virtual PMU\"", about->escaped);
	}
	if (about->lost || w->u->damaged) {
		begin_reason(w);
		bytes_printf(&reasons, "\"%llu records were lost\"",
			     (unsigned long long)(about->lost + w->u->damaged));
	}
	w->out = out;
	bytes_printf(out, ",\n\"complete\":%s,\"incomplete\":[", reasons.len ? "false" : "true");
	bytes_put(out, reasons.p, reasons.len);
	bytes_char(out, ']');
	bytes_free(&reasons);
}

static void put_threads(struct writer *w)
{
	begin_list(w, "threads");
	for (size_t i = 0; i < w->u->threads.n; i++) {
		const struct truth_thread *th = &w->u->threads.v[i];

		begin_entry(w);
		bytes_printf(w->out, "\"pid\":%u,\"tid\":%u,\"comm\":", th->pid, th->tid);
		put_comm(w, th->comm);
		bytes_printf(w->out, ",\"complete\":%s,\"counts\":", th->ended ? "true" : "false");
		put_counts(th->counts, w->out);
		bytes_char(w->out, '}');
	}
	bytes_char(w->out, ']');
}

static void put_functions(struct writer *w)
{
	begin_list(w, "functions");
	for (size_t i = 0; i < w->u->functions.n; i++) {
		const struct truth_function *f = &w->u->functions.v[i];

		begin_entry(w);
		put_place(w, f->dso, f->sym);
		put_key("counts", w->out);
		put_counts(f->counts, w->out);
		bytes_char(w->out, '}');
	}
	bytes_char(w->out, ']');
}

static void put_lines(struct writer *w)
{
	begin_list(w, "lines");
	for (size_t i = 0; i < w->u->lines.n; i++) {
		const struct truth_line *l = &w->u->lines.v[i];

		begin_entry(w);
		bytes_str(w->out, "\"dso\":");
		put_string(dsos_at(w->u->s->dsos, l->dso)->path, w->out);
		put_key("file", w->out);
		put_string(strtab_get(&w->u->files, l->file), w->out);
		put_number("line", l->line, w->out);
		put_key("counts", w->out);
		put_counts(l->counts, w->out);
		bytes_char(w->out, '}');
	}
	bytes_char(w->out, ']');
}

static void put_addresses(struct writer *w)
{
	begin_list(w, "addresses");
	for (size_t i = 0; i < w->u->addresses.n; i++) {
		const struct truth_address *a = &w->u->addresses.v[i];

		begin_entry(w);
		put_place(w, a->dso, a->sym);
		put_number("address", a->addr, w->out);
		put_key("counts", w->out);
		put_counts(a->counts, w->out);
		bytes_char(w->out, '}');
	}
	bytes_char(w->out, ']');
}

/* A node's number is its place in the list. */
static void put_paths(struct writer *w)
{
	begin_list(w, "paths");
	for (size_t i = 0; i < w->u->nodes.n; i++) {
		const struct truth_node *n = &w->u->nodes.v[i];

		begin_entry(w);
		bytes_str(w->out, "\"caller\":");
		if (n->parent == ID_NONE)
			bytes_str(w->out, "null");
		else
			bytes_dec(w->out, n->parent);
		bytes_char(w->out, ',');
		put_place(w, n->dso, n->sym);
		if (n->sym == ID_NONE)
			put_number("address", n->addr, w->out);
		put_key("counts", w->out);
		put_counts(n->counts, w->out);
		bytes_char(w->out, '}');
	}
	bytes_char(w->out, ']');
}

static const char *event_name(const struct evlist *l, u64 id)
{
	u32 event = map_get(&l->by_id, id);

	return event == ID_NONE ? NULL : l->events.v[event].name;
}

static void put_side(struct writer *w, const char *key, const struct vpmu_truth *r, u64 time, u64 pc)
{
	struct place at;

	truth_place(w->u, r, time, pc, &at);
	put_key(key, w->out);
	bytes_char(w->out, '{');
	put_place(w, at.dso, at.sym);
	put_number("pc", pc, w->out);
	bytes_char(w->out, '}');
}

static void put_windows(struct writer *w)
{
	const struct evlist *events = &w->u->s->src->events;
	struct vpmu_truth r;

	begin_list(w, "windows");
	for (u64 offset = 0; truth_next(w->u, &offset, &r);) {
		const char *name = event_name(events, r.id);

		if (r.type != VPMU_RECORD_TRUTH_WINDOW)
			continue;
		begin_entry(w);
		bytes_printf(w->out, "\"pid\":%u,\"tid\":%u,\"time\":%llu,\"id\":%llu,\"event\":", r.pid, r.tid,
			     (unsigned long long)r.time, (unsigned long long)r.id);
		if (name)
			put_string(name, w->out);
		else
			bytes_str(w->out, "null");
		put_side(w, "start", &r, r.begun, r.pc);
		put_side(w, "end", &r, r.time, r.other_pc);
		put_number("calls", r.calls, w->out);
		put_number("returns", r.returns, w->out);
		put_number("functions", r.functions, w->out);
		put_key("counts", w->out);
		put_counts(r.counts, w->out);
		bytes_char(w->out, '}');
	}
	bytes_char(w->out, ']');
}

void truth_json(struct truth_sums *u, const struct truth_about *about, struct bytes *out)
{
	struct writer w = { .u = u, .out = out };

	put_meta(&w, about);
	put_completeness(&w, about);
	bytes_str(out, ",\n\"totals\":");
	put_counts(u->totals, out);
	put_threads(&w);
	put_functions(&w);
	put_lines(&w);
	put_addresses(&w);
	put_paths(&w);
	put_windows(&w);
	bytes_str(out, "}\n");
}
