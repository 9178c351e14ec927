/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the side-band says about processes, kept by time.
 *
 * A thread has a list of names, each with the clock from which it holds. A process has a list of address spaces
 * likewise: fork begins a new one. exec does not: the new program's mappings hide the old ones, and samples taken within
 * execve still have the old program's callers. A process id that comes around again simply gets further entries. Threads
 * that no record introduces are made up when the first record names them; look-ups of unknown threads make up their
 * answer without changing anything, because look-ups run in parallel.
 */
#include "state/procs.h"

#include <stdio.h>
#include <string.h>

#define COPY_FREE (1u << 16)
#define COPY_PER_MAP 2

struct version {
	u64 clock;
	u32 value; /* comm: string id; space: index in spaces */
};

struct timeline {
	VEC(struct version) v; /* ascending clocks */
};

struct procs {
	struct strtab *strings;
	struct dsos *dsos;
	struct map threads;   /* tid -> index in comms */
	struct map processes; /* pid -> index in procs */
	VEC(struct timeline) comms;
	VEC(struct timeline) procs;
	VEC(struct space *) spaces;
	struct space *kernel;
	u64 may_copy; /* entries of parents' logs; grows with what is mapped, so memory stays linear in the recording */
};

void procs_free(struct procs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->comms.n; i++)
		vec_free(&p->comms.v[i].v);
	for (size_t i = 0; i < p->procs.n; i++)
		vec_free(&p->procs.v[i].v);
	for (size_t i = 0; i < p->spaces.n; i++)
		space_free(p->spaces.v[i]);
	vec_free(&p->comms);
	vec_free(&p->procs);
	vec_free(&p->spaces);
	map_free(&p->threads);
	map_free(&p->processes);
	space_free(p->kernel);
	free(p);
}

static void timeline_add(struct timeline *t, u64 clock, u32 value)
{
	if (t->v.n && t->v.v[t->v.n - 1].value == value)
		return;
	/* Tens of thousands of short-lived processes have one or two each. */
	if (!t->v.cap) {
		t->v.v = mem_alloc(2 * sizeof(*t->v.v));
		t->v.cap = 2;
	}
	vec_push(&t->v, (struct version){ clock, value });
}

/* The value that holds at clock, or ID_NONE before the first; narrows [*from, *until). */
static u32 timeline_at(const struct timeline *t, u64 clock, u64 *from, u64 *until)
{
	size_t lo = 0, hi = t->v.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v.v[mid].clock <= clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < t->v.n)
		*until = MIN(*until, t->v.v[lo].clock);
	if (!lo)
		return ID_NONE;
	*from = MAX(*from, t->v.v[lo - 1].clock);
	return t->v.v[lo - 1].value;
}

static u32 timeline_last(const struct timeline *t)
{
	return t->v.n ? t->v.v[t->v.n - 1].value : ID_NONE;
}

static struct timeline *thread_comms(struct procs *p, u32 tid)
{
	u32 *i = map_at(&p->threads, tid, (u32)p->comms.n);

	if (*i == p->comms.n)
		vec_push(&p->comms, (struct timeline){ 0 });
	return &p->comms.v[*i];
}

struct procs *procs_new(struct strtab *strings, struct dsos *dsos)
{
	struct procs *p = mem_zalloc(sizeof(*p));

	p->strings = strings;
	p->dsos = dsos;
	p->may_copy = COPY_FREE;
	p->kernel = space_new((struct maps){ 0 }, &p->may_copy);
	timeline_add(thread_comms(p, 0), 0, strtab_intern_z(strings, "swapper"));
	return p;
}

static struct timeline *process_spaces(struct procs *p, u32 pid)
{
	u32 *i = map_at(&p->processes, pid, (u32)p->procs.n);

	if (*i == p->procs.n)
		vec_push(&p->procs, (struct timeline){ 0 });
	return &p->procs.v[*i];
}

static struct space *begin_space(struct procs *p, u32 pid, struct maps parent, u64 clock)
{
	struct space *s = space_new(parent, &p->may_copy);

	timeline_add(process_spaces(p, pid), clock, (u32)p->spaces.n);
	vec_push(&p->spaces, s);
	return s;
}

static struct space *current_space(struct procs *p, u32 pid)
{
	u32 i = timeline_last(process_spaces(p, pid));

	/* Mapped before any record introduced the process: it was there all the time. */
	return i != ID_NONE ? p->spaces.v[i] : begin_space(p, pid, (struct maps){ 0 }, 0);
}

static void apply_comm(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_comm *c = &r->comm;

	timeline_add(thread_comms(p, c->tid), clock, strtab_intern(p->strings, c->comm.p, c->comm.len));
}

static void apply_fork(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_task *t = &r->task;
	u32 comm = timeline_last(thread_comms(p, t->ptid));

	if (comm != ID_NONE)
		timeline_add(thread_comms(p, t->tid), clock, comm);
	if (t->pid != t->ppid) {
		struct space *parent = current_space(p, t->ppid);

		begin_space(p, t->pid, (struct maps){ parent, (u32)parent->log.n }, clock);
	}
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

/* Memory that no file backs: code in it can only be named by a perf map. */
static bool is_anonymous(struct str path)
{
	return equals(path, "//anon") || starts_with(path, "/dev/zero") || starts_with(path, "/anon_hugepage") ||
	       starts_with(path, "[stack") || starts_with(path, "/SYSV") || equals(path, "[heap]") || !path.len ||
	       starts_with(path, "[anon:");
}

#define PROT_EXECUTE 4u

static u32 user_dso(struct procs *p, const struct rec_mmap *m)
{
	struct dso_key key = {
		.kind = DSO_FILE, .path = m->filename, .pid = m->pid, .build_id_size = m->build_id_size
	};
	char name[48];

	key.build_id = m->build_id_size ? m->build_id : NULL;
	if (is_anonymous(m->filename)) {
		key.kind = DSO_PERFMAP;
		if (m->prot & PROT_EXECUTE) {
			snprintf(name, sizeof(name), "/tmp/perf-%u.map", m->pid);
			key.path = (struct str){ name, (u32)strlen(name) };
		}
	} else if (equals(m->filename, "[vdso]")) {
		key.kind = DSO_VDSO;
	}
	return dsos_get(p->dsos, &key);
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
	return dsos_get(p->dsos, &key);
}

void procs_add_code(struct procs *p, u32 pid, u64 start, u64 len, u32 dso, u64 clock)
{
	struct vmap m = { .start = start, .end = start + len, .dso = dso, .prot = PROT_EXECUTE };

	if (m.end > m.start)
		space_add(current_space(p, pid), &m, clock);
}

/*
 * The record of the kernel's map ends with its ordinary text. Init text (the boot CPU's idle task comes from there) lies
 * behind the data that follows. Modules and BPF programs are added later, so they hide what this covers of them.
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
	space_add(kernel ? p->kernel : current_space(p, m->pid), &v, clock);
	p->may_copy += COPY_PER_MAP;
}

#define KSYMBOL_UNREGISTER 1u

static void apply_ksymbol(struct procs *p, const struct record *r, u64 clock)
{
	const struct rec_ksymbol *k = &r->ksymbol;
	struct dso_key key = { .kind = DSO_BPF, .path = k->name };
	struct vmap v = { .start = k->addr, .end = k->addr + k->len, .prot = PROT_EXECUTE };

	if (v.end < v.start)
		return;
	if (!(k->flags & KSYMBOL_UNREGISTER)) {
		v.dso = dsos_get(p->dsos, &key);
		dsos_add_symbol(p->dsos, v.dso, v.start, v.end, k->name);
	}
	space_add(p->kernel, &v, clock);
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

void procs_thread_at(const struct procs *p, u32 pid, u32 tid, u64 clock, struct thread_view *out)
{
	u32 i = map_get(&p->threads, tid), comm = ID_NONE, space = ID_NONE;

	*out = (struct thread_view){ .from = 0, .until = UINT64_MAX, .pid = pid, .tid = tid, .comm = ID_NONE };
	if (i != ID_NONE)
		comm = timeline_at(&p->comms.v[i], clock, &out->from, &out->until);
	out->comm = comm;
	i = map_get(&p->processes, pid);
	if (i != ID_NONE)
		space = timeline_at(&p->procs.v[i], clock, &out->from, &out->until);
	if (space != ID_NONE)
		out->maps = space_at(p->spaces.v[space], clock, &out->from, &out->until);
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
