/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the side-band says about processes, kept by time.
 *
 * A thread has a list of names, each with the clock from which it holds. A process has a list of address spaces
 * likewise: after a fork the child has the version that its parent had, and a space of its own once it maps something.
 * exec begins no space: the new program's mappings hide the old ones, and samples taken within execve still have the
 * old program's callers. A process id that comes around again simply gets further entries. Threads that no record
 * introduces are made up when the first record names them; look-ups of unknown threads make up their answer without
 * changing anything, because look-ups run in parallel.
 *
 * What a record makes us keep may be several times its size: the first mapping of a file makes a DSO, a fork a
 * process. In a recording of a real machine such records are few beside the others. Whoever makes a file of nothing
 * else gets no more than the room that it was given for all (procs_limit): COST_* are what things take, at most.
 */
#include "state/procs.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "state/no_file.h"

#define COPY_FREE (1u << 16)
#define COPY_PER_MAP 2

/* Each with its share of a hash table that has just grown. */
#define COST_TIMELINE 110
#define COST_VERSION 16
#define COST_SPACE 192
#define COST_MAP 60
#define COST_DSO 300
#define COST_NAME 90
#define COST_SYMBOL 24

#define ALL UINT32_MAX
#define INHERITED 1 /* a thread's first name, which its FORK brought along */

struct version {
	u64 clock;
	u32 value; /* comm: string id; space: index in spaces, or ID_NONE: nothing is mapped */
	u32 n; /* space: so many entries of its log, for ever; ALL: as many as there are by then; comm: INHERITED */
};

struct timeline {
	struct version *v; /* ascending clocks */
	u32 n, cap;
};

struct timelines {
	struct timeline *v; /* as a VEC */
	size_t n, cap;
};

struct procs {
	struct strtab *strings;
	struct dsos *dsos;
	struct map threads;	  /* tid -> index in comms */
	struct map in_namespaces; /* tid -> index in namespaces */
	struct map processes;	  /* pid -> index in procs */
	struct timelines comms;
	struct timelines namespaces; /* of cgroups: string ids of "DEVICE/0xINODE" */
	struct timelines procs;
	VEC(struct space *) spaces;
	struct space *kernel;
	u64 room, left_out;
	u64 may_copy; /* entries of parents' logs; grows with what is mapped, so memory stays linear in the recording
		       */
};

void procs_free(struct procs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->comms.n; i++)
		free(p->comms.v[i].v);
	for (size_t i = 0; i < p->namespaces.n; i++)
		free(p->namespaces.v[i].v);
	for (size_t i = 0; i < p->procs.n; i++)
		free(p->procs.v[i].v);
	for (size_t i = 0; i < p->spaces.n; i++)
		space_free(p->spaces.v[i]);
	vec_free(&p->comms);
	vec_free(&p->namespaces);
	vec_free(&p->procs);
	vec_free(&p->spaces);
	map_free(&p->threads);
	map_free(&p->in_namespaces);
	map_free(&p->processes);
	space_free(p->kernel);
	free(p);
}

/* Is there room for something that takes so much? */
static bool spend(struct procs *p, u64 bytes)
{
	if (p->room < bytes) {
		p->left_out++;
		return false;
	}
	p->room -= bytes;
	return true;
}

static const struct version *timeline_last(const struct timeline *t)
{
	return t->n ? &t->v[t->n - 1] : NULL;
}

static void timeline_add(struct timeline *t, struct version v)
{
	const struct version *last = timeline_last(t);

	if (last && last->value == v.value && last->n == v.n)
		return;
	/* Tens of thousands of short-lived threads have one each. */
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 1;
		t->v = mem_realloc(t->v, t->cap, sizeof(*t->v));
	}
	t->v[t->n++] = v;
}

/* What holds at clock, or NULL before the first; narrows [*from, *until). */
static const struct version *timeline_at(const struct timeline *t, u64 clock, u64 *from, u64 *until)
{
	u32 upto = (u32)SEARCH_UPTO(t->v, t->n, clock, 0, clock);

	if (upto < t->n)
		*until = MIN(*until, t->v[upto].clock);
	if (!upto)
		return NULL;
	*from = MAX(*from, t->v[upto - 1].clock);
	return &t->v[upto - 1];
}

/* The timeline of an id, made when it is new; NULL when there is no room for it. */
static struct timeline *timeline_of(struct procs *p, struct map *ids, struct timelines *in, u32 id)
{
	u32 i = map_get(ids, id);

	if (i != ID_NONE)
		return spend(p, COST_VERSION) ? &in->v[i] : NULL;
	if (!spend(p, COST_TIMELINE))
		return NULL;
	map_set(ids, id, (u32)in->n);
	vec_push(in, (struct timeline){ 0 });
	return &in->v[in->n - 1];
}

static const struct version *last_of(const struct map *ids, const struct timelines *in, u32 id)
{
	u32 i = map_get(ids, id);

	return i == ID_NONE ? NULL : timeline_last(&in->v[i]);
}

static void set_comm(struct procs *p, u32 tid, u64 clock, u32 comm, bool by_fork)
{
	struct timeline *t = timeline_of(p, &p->threads, &p->comms, tid);

	if (t)
		timeline_add(t, (struct version){ clock, comm, by_fork && !t->n ? INHERITED : 0 });
}

/* A thread that was sampled before its first COMM had that name: recorders write COMM of what they find running when
 * they get to it. What was there before a FORK was another thread. */
static u32 first_comm(const struct timeline *t)
{
	return t->n && t->v[0].n != INHERITED ? t->v[0].value : ID_NONE;
}

struct procs *procs_new(struct strtab *strings, struct dsos *dsos)
{
	struct procs *p = mem_zalloc(sizeof(*p));

	p->strings = strings;
	p->dsos = dsos;
	p->room = UINT64_MAX;
	p->may_copy = COPY_FREE;
	p->kernel = space_new((struct maps){ 0 }, &p->may_copy);
	set_comm(p, 0, 0, strtab_intern_z(strings, "swapper"), false);
	return p;
}

void procs_limit(struct procs *p, u64 bytes)
{
	p->room = bytes;
}

u64 procs_left_out(const struct procs *p)
{
	return p->left_out;
}

/* What is copied of the parent's log takes room as well. */
static struct space *new_space(struct procs *p, struct maps parent)
{
	u64 most = MIN(p->may_copy, p->room / COST_MAP), left = most;
	struct space *s = space_new(parent, &left);

	s->id = (u32)p->spaces.n + 1;
	p->may_copy -= most - left;
	p->room -= (most - left) * COST_MAP;
	return s;
}

/* The space that the process maps into; NULL when there is no room for it. */
static struct space *current_space(struct procs *p, u32 pid)
{
	const struct version *last = last_of(&p->processes, &p->procs, pid);
	/* Mapped before any record introduced the process: it was there all the time. */
	struct version own = { last ? last->clock : 0, (u32)p->spaces.n, ALL };
	struct maps parent = { 0 };
	struct timeline *t;

	if (last && last->n == ALL)
		return p->spaces.v[last->value];
	if (last && last->value != ID_NONE)
		parent = (struct maps){ p->spaces.v[last->value], last->n };
	t = spend(p, COST_SPACE) ? timeline_of(p, &p->processes, &p->procs, pid) : NULL;
	if (!t)
		return NULL;
	if (last)
		t->v[t->n - 1] = own;
	else
		timeline_add(t, own);
	vec_push(&p->spaces, new_space(p, parent));
	return p->spaces.v[own.value];
}

static void apply_comm(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_comm *c = &r->comm;

	if (strtab_find(p->strings, c->comm.p, c->comm.len) != ID_NONE || spend(p, COST_NAME + c->comm.len))
		set_comm(p, c->tid, clock, strtab_intern(p->strings, c->comm.p, c->comm.len), false);
}

static void apply_fork(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_task *t = &r->task;
	const struct version *comm = last_of(&p->threads, &p->comms, t->ptid), *maps;
	struct version inherited = { clock, ID_NONE, 0 };
	struct timeline *child;

	if (comm)
		set_comm(p, t->tid, clock, comm->value, true);
	if (t->pid == t->ppid)
		return;
	maps = last_of(&p->processes, &p->procs, t->ppid);
	if (maps && maps->value != ID_NONE) {
		inherited.value = maps->value;
		inherited.n = maps->n == ALL ? (u32)p->spaces.v[maps->value]->log.n : maps->n;
	}
	child = timeline_of(p, &p->processes, &p->procs, t->pid);
	if (child)
		timeline_add(child, inherited);
}

static bool starts_with(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && !memcmp(s.p, prefix, n);
}

static bool equals(struct str s, const char *text)
{
	return s.len == strlen(text) && starts_with(s, text);
}

/* Newer kernels have names for what programs name. */
static bool is_anonymous(const struct rec_mmap *m)
{
	return mapping_has_no_file(m) || !m->filename.len || starts_with(m->filename, "[anon:");
}

#define PROT_EXECUTE 4u

/* 0 when it is new and there is no room for it. */
static u32 get_dso(struct procs *p, const struct dso_key *key)
{
	return dsos_is_new(p->dsos, key) && !spend(p, COST_DSO + 2 * (u64)key->path.len) ? 0 : dsos_get(p->dsos, key);
}

static void add_map(struct procs *p, struct space *s, const struct vmap *m, u64 clock)
{
	if (s && m->end > m->start && spend(p, COST_MAP))
		space_add(s, m, clock);
}

static u32 user_dso(struct procs *p, const struct rec_mmap *m)
{
	struct dso_key key = {
		.kind = DSO_FILE, .path = m->filename, .pid = m->pid, .build_id_size = m->build_id_size
	};
	char name[48];

	key.build_id = m->build_id_size ? m->build_id : NULL;
	if (is_anonymous(m)) {
		key.kind = DSO_PERFMAP;
		if (m->prot & PROT_EXECUTE) {
			snprintf(name, sizeof(name), "/tmp/perf-%u.map", m->pid);
			key.path = (struct str){ name, (u32)strlen(name) };
		}
	} else if (equals(m->filename, "[vdso]")) {
		key.kind = DSO_VDSO;
	} else if (dsos_is_recorded_code(p->dsos, m->filename)) {
		key.kind = DSO_JIT;
	}
	return get_dso(p, &key);
}

static u32 kernel_dso(struct procs *p, const struct rec_mmap *m)
{
	static const char kallsyms[] = "[kernel.kallsyms]";
	struct dso_key key = {
		.kind = DSO_MODULE, .path = m->filename, .build_id_size = m->build_id_size, .base = m->start
	};

	key.build_id = m->build_id_size ? m->build_id : NULL;
	if (starts_with(m->filename, kallsyms)) {
		u32 skip = sizeof(kallsyms) - 1;

		dsos_set_kernel_map(p->dsos, (struct str){ m->filename.p + skip, m->filename.len - skip }, m->start,
				    m->pgoff);
		key.kind = DSO_KERNEL;
		key.path.len = skip;
	}
	return get_dso(p, &key);
}

void procs_add_code(struct procs *p, u32 pid, u64 start, u64 len, u32 dso, u64 clock)
{
	struct vmap m = { .start = start, .end = start + len, .dso = dso, .prot = PROT_EXECUTE };

	add_map(p, current_space(p, pid), &m, clock);
}

/*
 * The record of the kernel's map ends with its ordinary text. Init text (the boot CPU's idle task comes from there)
 * lies behind the data that follows. Modules and BPF programs are added later, so they hide what this covers of them.
 */
#define KERNEL_IMAGE_SIZE (512ull << 20)

static void apply_mmap(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_mmap *m = &r->mmap;
	u32 mode = r->h.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool kernel = mode == PERF_RECORD_MISC_KERNEL;
	struct vmap v = { .start = m->start, .end = m->start + m->len, .pgoff = m->pgoff, .prot = m->prot };

	/* In guests nothing is looked up, and what is mapped there must not hide what the host has at that address. */
	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER)
		return;
	if (v.end < v.start)
		v.end = UINT64_MAX;
	v.dso = kernel ? kernel_dso(p, m) : user_dso(p, m);
	if (kernel && dsos_at(p->dsos, v.dso)->kind == DSO_KERNEL && v.end < v.start + KERNEL_IMAGE_SIZE)
		v.end = v.start + KERNEL_IMAGE_SIZE;
	if (m->prot & PROT_EXECUTE || r->h.type == PERF_RECORD_MMAP)
		dsos_note_mapped(p->dsos, v.dso, m->len, m->pgoff);
	add_map(p, kernel ? p->kernel : current_space(p, m->pid), &v, clock);
	p->may_copy += COPY_PER_MAP;
}

#define CGROUP_NAMESPACE 6 /* among those of a record, in the kernel's order */

static void apply_namespaces(struct procs *p, const struct record *r, u64 clock)
{
	const struct u64s *pairs = &r->namespaces.dev_inode;
	struct timeline *t;
	char text[48];
	u32 len;

	if (pairs->n < 2 * (CGROUP_NAMESPACE + 1))
		return;
	len = (u32)snprintf(text, sizeof(text), "%llu/0x%llx",
			    (unsigned long long)u64s_at(pairs, 2 * CGROUP_NAMESPACE),
			    (unsigned long long)u64s_at(pairs, 2 * CGROUP_NAMESPACE + 1));
	if (strtab_find(p->strings, text, len) == ID_NONE && !spend(p, COST_NAME + len))
		return;
	t = timeline_of(p, &p->in_namespaces, &p->namespaces, r->namespaces.tid);
	if (t)
		timeline_add(t, (struct version){ clock, strtab_intern(p->strings, text, len), 0 });
}

#define KSYMBOL_UNREGISTER 1u

static void apply_ksymbol(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_ksymbol *k = &r->ksymbol;
	struct dso_key key = { .kind = DSO_BPF, .path = k->name };
	struct vmap v = { .start = k->addr, .end = k->addr + k->len, .prot = PROT_EXECUTE };

	if (v.end < v.start || !k->name.len)
		return;
	if (!(k->flags & KSYMBOL_UNREGISTER)) {
		v.dso = spend(p, COST_SYMBOL) ? get_dso(p, &key) : 0;
		if (!v.dso)
			return;
		dsos_add_symbol(p->dsos, v.dso, v.start, v.end, k->name);
	}
	add_map(p, p->kernel, &v, clock);
}

void procs_apply(struct procs *p, const struct record *r, u64 clock)
{
	switch (r->h.type) {
	case PERF_RECORD_COMM:
		apply_comm(p, r, clock);
		break;
	case PERF_RECORD_FORK:
		apply_fork(p, r, clock);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		apply_mmap(p, r, clock);
		break;
	case PERF_RECORD_NAMESPACES:
		apply_namespaces(p, r, clock);
		break;
	case PERF_RECORD_KSYMBOL:
		apply_ksymbol(p, r, clock);
		break;
	default:
		break;
	}
}

void procs_seal(struct procs *p)
{
	for (size_t i = 0; i < p->spaces.n; i++)
		space_seal(p->spaces.v[i]);
	space_seal(p->kernel);
}

static struct maps maps_at(const struct procs *p, const struct version *v, u64 clock, u64 *from, u64 *until)
{
	if (!v || v->value == ID_NONE)
		return (struct maps){ 0 };
	if (v->n != ALL)
		return (struct maps){ p->spaces.v[v->value], v->n };
	return space_at(p->spaces.v[v->value], clock, from, until);
}

void procs_thread_at(const struct procs *p, u32 pid, u32 tid, u64 clock, struct thread_view *out)
{
	u32 thread = map_get(&p->threads, tid), process = map_get(&p->processes, pid);
	u32 in_ns = map_get(&p->in_namespaces, tid);
	const struct version *v = NULL;

	*out = (struct thread_view){ .from = 0, .until = UINT64_MAX, .pid = pid, .tid = tid, .comm = ID_NONE };
	out->cgroup_ns = ID_NONE;
	if (thread != ID_NONE)
		v = timeline_at(&p->comms.v[thread], clock, &out->from, &out->until);
	if (v)
		out->comm = v->value;
	else if (thread != ID_NONE)
		out->comm = first_comm(&p->comms.v[thread]);
	out->named_later = !v && out->comm != ID_NONE;
	v = in_ns == ID_NONE ? NULL : timeline_at(&p->namespaces.v[in_ns], clock, &out->from, &out->until);
	if (v)
		out->cgroup_ns = v->value;
	v = process == ID_NONE ? NULL : timeline_at(&p->procs.v[process], clock, &out->from, &out->until);
	out->maps = maps_at(p, v, clock, &out->from, &out->until);
	out->kernel = space_at(p->kernel, clock, &out->from, &out->until);
}

u64 vmap_addr(const struct vmap *m, const struct dsos *dsos, u64 addr)
{
	switch (dsos_at(dsos, m->dso)->kind) {
	case DSO_FILE:
	case DSO_VDSO:
		return addr - m->start + m->pgoff;
	default:
		return addr;
	}
}
