/* SPDX-License-Identifier: Apache-2.0 */
/* The truth as JSON: one object whose lists have one entry per line. Zero counts are left out. */
#include <stdio.h>

#include "base/json.h"
#include "pass/truth_impl.h"

struct writer {
	struct truth_sums *u;
	struct json *j;
};

static void put_counts(struct json *j, const char *key, const u64 *counts)
{
	json_set_object(j, key);
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		if (counts[i] && vpmu_count_names[i])
			json_set_u64(j, vpmu_count_names[i], counts[i]);
	json_object_end(j);
}

static void begin_list(struct writer *w, const char *name)
{
	json_line(w->j, "");
	json_set_list(w->j, name);
}

static void begin_entry(struct writer *w)
{
	json_line(w->j, "");
	json_object(w->j);
}

/* symbol is null where there is none: then all such code of the object is meant, or what address says. */
static void put_place(struct writer *w, u32 dso, u32 sym)
{
	json_set_text(w->j, "dso", dsos_at(w->u->s->dsos, dso)->path);
	json_set_text(w->j, "symbol", sym == ID_NONE ? NULL : dsos_symbol_name(w->u->s->dsos, dso, sym));
}

static void put_models(u32 models, struct json *j)
{
	json_set_list(j, "models");
	if (models & VPMU_MODEL_BRANCH)
		json_text(j, "branch");
	if (models & VPMU_MODEL_CACHE)
		json_text(j, "cache");
	if (models & VPMU_MODEL_TLB)
		json_text(j, "tlb");
	json_list_end(j);
}

static void put_meta(struct writer *w, const struct truth_about *about)
{
	const struct vpmu_options *o = about->options;
	struct str core = vpmu_simulated(w->u->s->src->features.cpuid);
	struct json *j = w->j;

	json_set_object(j, "meta");
	json_set_text(j, "generator", "reticle " RETICLE_VERSION);
	json_set_u64(j, "version", 1);
	json_set_str(j, "simulated", core.p, core.len);
	json_set_text(j, "recording", about->recording);
	json_set_list(j, "command");
	for (u32 i = 0; about->command && about->command[i]; i++)
		json_text(j, about->command[i]);
	json_list_end(j);
	put_models(o->models, j);
	json_set_u64(j, "seed", o->seed);
	json_set_u64(j, "skid_min", o->skid_min);
	json_set_u64(j, "skid_max", o->skid_max);
	json_set_u64(j, "throttle", o->throttle);
	json_set_u64(j, "lose_every", o->lose_every);
	json_set_u64(j, "lose_count", o->lose_count);
	json_set_u64(j, "interrupt_cycles", o->interrupt_cycles);
	json_set_u64(j, "cpus", o->cpus);
	json_set_u64(j, "delay_ns", o->delay_ns);
	json_object_end(j);
}

static bool all_ended(const struct truth_sums *u)
{
	for (size_t i = 0; i < u->threads.n; i++)
		if (!u->threads.v[i].ended)
			return false;
	return true;
}

/* What keeps the counts from being all there is to count. */
static void put_completeness(struct writer *w, const struct truth_about *about)
{
	u64 lost = about->lost + w->u->damaged;
	char reason[128];

	json_line(w->j, "");
	json_set_bool(w->j, "complete", all_ended(w->u) && !about->escaped && !lost);
	json_set_list(w->j, "incomplete");
	for (size_t i = 0; i < w->u->threads.n; i++) {
		const struct truth_thread *th = &w->u->threads.v[i];

		if (th->ended)
			continue;
		snprintf(reason, sizeof(reason), "thread %u of process %u was killed before it reported its counts",
			 th->tid, th->pid);
		json_text(w->j, reason);
	}
	if (about->escaped) {
		snprintf(reason, sizeof(reason), "%u programs ran outside the virtual PMU", about->escaped);
		json_text(w->j, reason);
	}
	if (lost) {
		snprintf(reason, sizeof(reason), "%llu records were lost", (unsigned long long)lost);
		json_text(w->j, reason);
	}
	json_list_end(w->j);
}

static void put_threads(struct writer *w)
{
	begin_list(w, "threads");
	for (size_t i = 0; i < w->u->threads.n; i++) {
		const struct truth_thread *th = &w->u->threads.v[i];

		begin_entry(w);
		json_set_u64(w->j, "pid", th->pid);
		json_set_u64(w->j, "tid", th->tid);
		json_set_text(w->j, "comm", th->comm == ID_NONE ? NULL : strtab_get(&w->u->s->strings, th->comm));
		json_set_bool(w->j, "complete", th->ended);
		put_counts(w->j, "counts", th->counts);
		json_object_end(w->j);
	}
	json_list_end(w->j);
}

static void put_functions(struct writer *w)
{
	begin_list(w, "functions");
	for (size_t i = 0; i < w->u->functions.n; i++) {
		const struct truth_function *f = &w->u->functions.v[i];

		begin_entry(w);
		put_place(w, f->dso, f->sym);
		if (f->start)
			json_set_u64(w->j, "address", f->start);
		put_counts(w->j, "counts", f->counts);
		json_object_end(w->j);
	}
	json_list_end(w->j);
}

static void put_lines(struct writer *w)
{
	begin_list(w, "lines");
	for (size_t i = 0; i < w->u->lines.n; i++) {
		const struct truth_line *l = &w->u->lines.v[i];

		begin_entry(w);
		json_set_text(w->j, "dso", dsos_at(w->u->s->dsos, l->dso)->path);
		json_set_text(w->j, "file", strtab_get(&w->u->files, l->file));
		json_set_u64(w->j, "line", l->line);
		put_counts(w->j, "counts", l->counts);
		json_object_end(w->j);
	}
	json_list_end(w->j);
}

static void put_addresses(struct writer *w)
{
	begin_list(w, "addresses");
	for (size_t i = 0; i < w->u->addresses.n; i++) {
		const struct truth_address *a = &w->u->addresses.v[i];

		begin_entry(w);
		put_place(w, a->dso, a->sym);
		json_set_u64(w->j, "address", a->addr);
		put_counts(w->j, "counts", a->counts);
		json_object_end(w->j);
	}
	json_list_end(w->j);
}

/* A node's number is its place in the list. */
static void put_paths(struct writer *w)
{
	begin_list(w, "paths");
	for (size_t i = 0; i < w->u->nodes.n; i++) {
		const struct truth_node *n = &w->u->nodes.v[i];

		begin_entry(w);
		json_key(w->j, "caller");
		if (n->parent == ID_NONE)
			json_null(w->j);
		else
			json_u64(w->j, n->parent);
		put_place(w, n->dso, n->sym);
		if (n->sym == ID_NONE)
			json_set_u64(w->j, "address", n->addr);
		put_counts(w->j, "counts", n->counts);
		json_object_end(w->j);
	}
	json_list_end(w->j);
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
	json_set_object(w->j, key);
	put_place(w, at.dso, at.sym);
	json_set_u64(w->j, "pc", pc);
	json_object_end(w->j);
}

/* Begins an entry: which thread, when, and for which event. */
static void begin_sampled(struct writer *w, const struct vpmu_truth *r)
{
	begin_entry(w);
	json_set_u64(w->j, "pid", r->pid);
	json_set_u64(w->j, "tid", r->tid);
	json_set_u64(w->j, "time", r->time);
	json_set_u64(w->j, "id", r->id);
	json_set_text(w->j, "event", event_name(&w->u->s->src->events, r->id));
}

static void put_windows(struct writer *w)
{
	struct vpmu_truth r;

	begin_list(w, "windows");
	for (u64 offset = 0; truth_next(w->u, &offset, &r);) {
		if (r.type != VPMU_RECORD_TRUTH_WINDOW)
			continue;
		begin_sampled(w, &r);
		put_side(w, "start", &r, r.begun, r.pc);
		put_side(w, "end", &r, r.time, r.other_pc);
		json_set_u64(w->j, "calls", r.calls);
		json_set_u64(w->j, "returns", r.returns);
		json_set_u64(w->j, "functions", r.functions);
		put_counts(w->j, "counts", r.counts);
		json_object_end(w->j);
	}
	json_list_end(w->j);
}

static void put_access(struct writer *w, const struct vpmu_truth_operation *o)
{
	json_set_u64(w->j, "address", o->addr);
	if (o->physical)
		json_set_u64(w->j, "physical", o->physical);
	json_set_text(w->j, "level", vpmu_level_names[o->level]);
	json_set_bool(w->j, "peer", o->flags & VPMU_OP_PEER);
	json_set_bool(w->j, "walk", o->flags & VPMU_OP_WALK);
	json_set_bool(w->j, "atomic", o->flags & VPMU_OP_ATOMIC);
}

static void put_branch(struct writer *w, const struct vpmu_truth_operation *o)
{
	if (o->to != UINT64_MAX)
		json_set_u64(w->j, "to", o->to);
	json_set_bool(w->j, "conditional", o->flags & VPMU_OP_CONDITIONAL);
	json_set_bool(w->j, "indirect", o->flags & VPMU_OP_INDIRECT);
	json_set_bool(w->j, "taken", !(o->flags & VPMU_OP_NOT_TAKEN));
	json_set_bool(w->j, "mispredicted", o->flags & VPMU_OP_MISPREDICTED);
}

static void put_operation(struct writer *w, const struct vpmu_truth *r)
{
	static const char *const kinds[] = { "other", "load", "store", "branch" };
	const struct vpmu_truth_operation *o = &r->op;

	json_set_text(w->j, "kind", kinds[o->kind]);
	if (o->kind == VPMU_OP_BRANCH)
		put_branch(w, o);
	else if (o->kind != VPMU_OP_OTHER)
		put_access(w, o);
	if (o->issue)
		json_set_u64(w->j, "issue", o->issue);
	if (o->total)
		json_set_u64(w->j, "total", o->total);
	if (o->translation)
		json_set_u64(w->j, "translation", o->translation);
}

/* Each as sampled, in no order between threads. */
static void put_operations(struct writer *w)
{
	struct vpmu_truth r;

	begin_list(w, "operations");
	for (u64 offset = 0; truth_next(w->u, &offset, &r);) {
		if (r.type != VPMU_RECORD_TRUTH_OPERATION)
			continue;
		begin_sampled(w, &r);
		put_side(w, "at", &r, r.time, r.pc);
		put_operation(w, &r);
		json_object_end(w->j);
	}
	json_list_end(w->j);
}

void truth_json(struct truth_sums *u, const struct truth_about *about, struct bytes *out)
{
	struct json json = { .out = out };
	struct writer w = { u, &json };

	json_object(&json);
	put_meta(&w, about);
	put_completeness(&w, about);
	json_line(&json, "");
	put_counts(&json, "totals", u->totals);
	put_threads(&w);
	put_functions(&w);
	put_lines(&w);
	put_addresses(&w);
	put_paths(&w);
	put_windows(&w);
	put_operations(&w);
	json_object_end(&json);
	json_end(&json);
}
