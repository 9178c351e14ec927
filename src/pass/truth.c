/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/truth.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "pass/truth_impl.h"
#include "read/spool.h"

struct truth {
	struct spool spool; /* until truth_finish */
	bool finished;
	void *records; /* afterwards, mapped */
	struct truth_sums sums;
};

int truth_new(struct truth **out, const struct notify *to)
{
	struct truth *t = mem_zalloc(sizeof(*t));
	int err = spool_open(&t->spool, "exact counts", to);

	if (err) {
		free(t);
		t = NULL;
	}
	*out = t;
	return err;
}

static void sums_free(struct truth_sums *u)
{
	strtab_free(&u->files);
	vec_free(&u->threads);
	vec_free(&u->functions);
	vec_free(&u->lines);
	vec_free(&u->addresses);
	vec_free(&u->nodes);
	if (u->s)
		session_close(u->s);
}

void truth_free(struct truth *t)
{
	if (!t)
		return;
	if (!t->finished)
		spool_close(&t->spool);
	sums_free(&t->sums);
	if (t->records)
		munmap(t->records, t->sums.size);
	free(t);
}

void truth_take(struct truth *t, const u8 *record, u16 size)
{
	spool_put(&t->spool, record, size);
}

/* --- adding up --- */

struct adding {
	struct truth_sums *u;
	struct map threads;   /* tid -> the newest with that tid */
	struct set functions; /* by (dso, symbol or start) */
	struct set lines;     /* by (dso, file, line) */
	struct set addresses; /* by (dso, address) */
	struct map nodes;     /* thread << 32 | its node -> merged node */
	struct set kids;      /* merged nodes, by (parent, dso, symbol or address) */
};

static void add(u64 *to, const u64 *counts)
{
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		to[i] += counts[i];
}

static void thread_begins(struct adding *a, const struct vpmu_truth *r)
{
	struct truth_thread th = { .pid = r->pid, .tid = r->tid, .comm = ID_NONE, .begun = r->time };

	map_set(&a->threads, r->tid, (u32)a->u->threads.n);
	vec_push(&a->u->threads, th);
}

/* The thread that the record is about; made when its beginning was lost. */
static u32 thread_of(struct adding *a, const struct vpmu_truth *r)
{
	u32 id = map_get(&a->threads, r->tid);

	if (id != ID_NONE && a->u->threads.v[id].pid == r->pid)
		return id;
	thread_begins(a, r);
	return (u32)a->u->threads.n - 1;
}

static void thread_ends(struct adding *a, const struct vpmu_truth *r)
{
	struct truth_thread *th = &a->u->threads.v[thread_of(a, r)];
	struct thread_view view;

	/* At its end the thread may have its next program's name already. */
	procs_thread_at(a->u->s->procs, r->pid, r->tid, r->time > th->begun ? r->time - 1 : th->begun, &view);
	th->comm = view.comm;
	th->ended = true;
	add(th->counts, r->counts);
	add(a->u->totals, r->counts);
}

static void add_function(struct adding *a, const struct place *at, const u64 *counts)
{
	struct truth_sums *u = a->u;
	struct truth_function f = { .dso = at->dso, .sym = at->sym };
	u32 id, slot;
	u64 h;

	if (at->sym == ID_NONE && at->map)
		(void)dsos_unnamed_function(u->s->dsos, at->dso, at->addr, &f.start);
	h = hash_finish(hash_mix(hash_pair(f.dso, f.sym), f.start));
	SET_FIND(id, &a->functions, h, slot,
		 u->functions.v[id].dso == f.dso && u->functions.v[id].sym == f.sym &&
			 u->functions.v[id].start == f.start);
	if (id == ID_NONE) {
		id = (u32)u->functions.n;
		set_add(&a->functions, h, id);
		vec_push(&u->functions, f);
	}
	add(u->functions.v[id].counts, counts);
}

static void add_line(struct adding *a, const struct place *at, const u64 *counts)
{
	struct truth_sums *u = a->u;
	struct source_frame src;
	struct truth_line l = { .dso = at->dso };
	u64 h;
	u32 id, slot;

	if (!at->map || !dsos_source_at(u->s->dsos, at->dso, at->addr, &src, 1) || !src.file)
		return;
	l.file = strtab_intern_z(&u->files, src.file);
	l.line = src.line;
	h = hash_finish(hash_mix(hash_mix(l.dso, l.file), l.line));
	SET_FIND(id, &a->lines, h, slot,
		 u->lines.v[id].dso == l.dso && u->lines.v[id].file == l.file && u->lines.v[id].line == l.line);
	if (id == ID_NONE) {
		id = (u32)u->lines.n;
		set_add(&a->lines, h, id);
		vec_push(&u->lines, l);
	}
	add(u->lines.v[id].counts, counts);
}

static void add_address(struct adding *a, const struct place *at, const u64 *counts)
{
	struct truth_sums *u = a->u;
	struct truth_address n = { .dso = at->dso, .sym = at->sym, .addr = at->addr };
	u64 h = hash_finish(hash_mix(n.dso, n.addr));
	u32 id, slot;

	SET_FIND(id, &a->addresses, h, slot, u->addresses.v[id].dso == n.dso && u->addresses.v[id].addr == n.addr);
	if (id == ID_NONE) {
		id = (u32)u->addresses.n;
		set_add(&a->addresses, h, id);
		vec_push(&u->addresses, n);
	}
	add(u->addresses.v[id].counts, counts);
}

static bool same_node(const struct truth_node *a, const struct truth_node *b)
{
	return a->parent == b->parent && a->dso == b->dso && a->sym == b->sym && a->addr == b->addr;
}

/* A function below another: the same one however it was reached from there. */
static u32 merged_node(struct adding *a, u32 parent, const struct place *at)
{
	struct truth_sums *u = a->u;
	struct truth_node n = { .parent = parent, .dso = at->dso, .sym = at->sym };
	u64 h;
	u32 id, slot;

	n.addr = at->sym == ID_NONE ? at->addr : 0;
	h = hash_finish(hash_mix(hash_mix(hash_mix(parent, n.dso), n.sym), n.addr));
	SET_FIND(id, &a->kids, h, slot, same_node(&u->nodes.v[id], &n));
	if (id != ID_NONE)
		return id;
	id = (u32)u->nodes.n;
	set_add(&a->kids, h, id);
	vec_push(&u->nodes, n);
	return id;
}

static void add_node(struct adding *a, const struct vpmu_truth *r)
{
	u64 thread = (u64)thread_of(a, r) << 32;
	struct place at;
	u32 id;

	truth_place(a->u, r, r->time, r->pc, &at);
	id = merged_node(a, r->parent ? map_get(&a->nodes, thread | r->parent) : ID_NONE, &at);
	map_set(&a->nodes, thread | r->node, id);
	add(a->u->nodes.v[id].counts, r->counts);
}

static void add_record(struct adding *a, const struct vpmu_truth *r)
{
	struct place at;

	switch (r->type) {
	case VPMU_RECORD_TRUTH_BEGIN:
		thread_begins(a, r);
		break;
	case VPMU_RECORD_TRUTH_PC:
		truth_place(a->u, r, r->time, r->pc, &at);
		add_function(a, &at, r->counts);
		add_line(a, &at, r->counts);
		add_address(a, &at, r->counts);
		break;
	case VPMU_RECORD_TRUTH_NODE:
		add_node(a, r);
		break;
	case VPMU_RECORD_TRUTH_END:
		thread_ends(a, r);
		break;
	default:
		break;
	}
}

static void add_up(struct truth_sums *u)
{
	struct adding a = { .u = u };
	struct vpmu_truth r;

	for (u64 offset = 0; truth_next(u, &offset, &r);)
		add_record(&a, &r);
	map_free(&a.threads);
	set_free(&a.functions);
	set_free(&a.lines);
	set_free(&a.addresses);
	map_free(&a.nodes);
	set_free(&a.kids);
}

static const char *symbol_name(struct dsos *dsos, u32 dso, u32 sym)
{
	return sym == ID_NONE ? "" : dsos_symbol_name(dsos, dso, sym);
}

/* Most instructions first; ties by name, so that the same run gives the same file. */
static int compare_functions(const void *va, const void *vb, void *ctx)
{
	const struct truth_function *a = va, *b = vb;
	struct dsos *dsos = ctx;
	int c;

	if (a->counts[VC_INSTRUCTIONS] != b->counts[VC_INSTRUCTIONS])
		return a->counts[VC_INSTRUCTIONS] < b->counts[VC_INSTRUCTIONS] ? 1 : -1;
	c = strcmp(dsos_at(dsos, a->dso)->path, dsos_at(dsos, b->dso)->path);
	if (!c)
		c = strcmp(symbol_name(dsos, a->dso, a->sym), symbol_name(dsos, b->dso, b->sym));
	if (!c)
		c = a->dso != b->dso ? (a->dso < b->dso ? -1 : 1) : a->sym < b->sym ? -1 : a->sym > b->sym;
	if (!c)
		c = a->start < b->start ? -1 : a->start > b->start;
	return c;
}

/* By file and line. */
static int compare_lines(const void *va, const void *vb, void *ctx)
{
	const struct truth_line *a = va, *b = vb;
	const struct truth_sums *u = ctx;
	int c = strcmp(strtab_get(&u->files, a->file), strtab_get(&u->files, b->file));

	if (!c)
		c = a->line != b->line ? (a->line < b->line ? -1 : 1) : a->dso < b->dso ? -1 : a->dso > b->dso;
	return c;
}

static int compare_addresses(const void *va, const void *vb, void *ctx)
{
	const struct truth_address *a = va, *b = vb;
	struct dsos *dsos = ctx;
	int c = a->dso == b->dso ? 0 : strcmp(dsos_at(dsos, a->dso)->path, dsos_at(dsos, b->dso)->path);

	if (!c && a->dso != b->dso)
		c = a->dso < b->dso ? -1 : 1;
	return c ? c : a->addr < b->addr ? -1 : a->addr > b->addr;
}

int truth_finish(struct truth *t, const struct truth_about *about, const struct notify *to)
{
	struct session_opts opts = { .symbols = { .demangle = true }, .every_thread = true };
	struct truth_sums *u = &t->sums;
	int err = spool_map(&t->spool, &t->records, to);

	t->finished = true;
	if (err)
		return err;
	u->records = t->records;
	u->size = t->records ? t->spool.size : 0;
	err = session_open(&u->s, about->recording, &opts, to);
	if (err) {
		u->s = NULL;
		return err;
	}
	add_up(u);
	if (u->functions.n)
		qsort_r(u->functions.v, u->functions.n, sizeof(*u->functions.v), compare_functions, u->s->dsos);
	if (u->addresses.n)
		qsort_r(u->addresses.v, u->addresses.n, sizeof(*u->addresses.v), compare_addresses, u->s->dsos);
	if (u->lines.n)
		qsort_r(u->lines.v, u->lines.n, sizeof(*u->lines.v), compare_lines, u);
	return 0;
}

void truth_write(struct truth *t, const struct truth_about *about, struct bytes *out)
{
	truth_json(&t->sums, about, out);
}
