/* SPDX-License-Identifier: Apache-2.0 */
#include "state/tasks.h"

#include <string.h>
#include <sys/mman.h>

#include "codec/perf_abi.h"
#include "state/no_file.h"

/* perf keeps threads in as many tables, and prints one table after the other. */
#define TABLES 256

static u32 new_space(struct tasks *t)
{
	vec_push(&t->spaces, (struct task_space){ .parent = ID_NONE });
	return (u32)t->spaces.n - 1;
}

/* In place of who had that id. A thread shares what its process's first thread has mapped. */
static u32 new_task(struct tasks *t, u32 pid, u32 tid)
{
	u32 leader = ID_NONE, i, *at;

	if (pid != tid) {
		leader = map_get(&t->by_tid, pid);
		if (leader == ID_NONE)
			leader = new_task(t, pid, pid);
	}
	at = map_at(&t->by_tid, tid, (u32)t->all.n);
	i = *at;
	if (i == t->all.n)
		vec_push(&t->all, (struct task){ 0 });
	t->all.v[i] = (struct task){ .pid = pid, .tid = tid, .parent = ID_NONE };
	t->all.v[i].space = leader == ID_NONE ? new_space(t) : t->all.v[leader].space;
	return i;
}

static u32 find_task(struct tasks *t, u32 pid, u32 tid)
{
	u32 i = map_get(&t->by_tid, tid);

	return i == ID_NONE ? new_task(t, pid, tid) : i;
}

static void add_fork(struct tasks *t, const struct record *r)
{
	const struct rec_task *f = &r->task;
	u32 parent = find_task(t, f->ppid, f->ptid), child, space, known;
	const struct task_space *from;

	if (t->all.v[parent].pid != f->ppid)
		parent = new_task(t, f->ppid, f->ptid);
	if (f->tid == f->ptid) /* nobody is his own child */
		return;
	known = (u32)t->spaces.n;
	child = new_task(t, f->pid, f->tid);
	t->all.v[child].comm = t->all.v[parent].comm;
	t->all.v[child].parent = f->ptid;
	space = t->all.v[child].space;
	/* A thread of a process that has a space, made by another process, is told by no kernel: each process keeps
	 * its own. */
	if (f->pid == f->ppid || r->h.misc & PERF_RECORD_MISC_FORK_EXEC || space < known)
		return;
	from = &t->spaces.v[t->all.v[parent].space];
	t->spaces.v[space].parent = from->log.n ? t->all.v[parent].space : from->parent;
	t->spaces.v[space].parent_n = from->log.n ? (u32)from->log.n : from->parent_n;
}

static void add_map(struct tasks *t, const struct record *r)
{
	static const char vdso[] = "[vdso]";
	const struct rec_mmap *m = &r->mmap;
	struct task_map map = { .start = m->start,
				.end = m->start + m->len,
				.pgoff = m->pgoff,
				.ino = m->ino,
				.prot = m->prot,
				.jit = ID_NONE,
				.name = m->filename };
	u32 task, mode = r->h.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	if (mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL ||
	    mode == PERF_RECORD_MISC_GUEST_USER)
		return;
	task = find_task(t, m->pid, m->tid);
	if (map.end <= map.start)
		return;
	map.shared = r->h.type == PERF_RECORD_MMAP2 && m->flags & MAP_SHARED;
	if (r->h.type == PERF_RECORD_MMAP)
		map.prot = m->prot & PROT_EXEC; /* all that such a record says */
	if (map.prot & PROT_EXEC && mapping_has_no_file(m))
		map.jit = m->pid;
	if (m->filename.len == sizeof(vdso) - 1 && !memcmp(m->filename.p, vdso, sizeof(vdso) - 1))
		map.pgoff = 0; /* old kernels gave the address */
	vec_push(&t->spaces.v[t->all.v[task].space].log, map);
}

void tasks_apply(struct tasks *t, const struct record *r)
{
	switch (r->h.type) {
	case PERF_RECORD_COMM: {
		u32 task = find_task(t, r->comm.pid, r->comm.tid);

		t->all.v[task].comm = r->comm.comm;
		break;
	}
	case PERF_RECORD_FORK:
		add_fork(t, r);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		add_map(t, r);
		break;
	default:
		break;
	}
}

void tasks_init(struct tasks *t)
{
	static const char idle[] = "swapper";
	u32 task;

	*t = (struct tasks){ 0 };
	task = new_task(t, 0, 0);
	t->all.v[task].comm = (struct str){ idle, sizeof(idle) - 1 };
}

void tasks_free(struct tasks *t)
{
	for (size_t i = 0; i < t->spaces.n; i++)
		vec_free(&t->spaces.v[i].log);
	vec_free(&t->spaces);
	vec_free(&t->all);
	map_free(&t->by_tid);
}

/* The tree: who is below whom, in the order in which they were met. */
struct link {
	u32 parent, first, last, next; /* ID_NONE: none */
	u32 met;		       /* the task from which it was reached; ID_NONE: not yet */
};

struct place {
	u32 table, tid, task;
};

static int by_table(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return (s32)a->tid < (s32)b->tid ? -1 : (s32)a->tid > (s32)b->tid;
}

static void hang(struct link *links, u32 task, u32 parent)
{
	struct link *p = &links[parent];

	links[task].parent = parent;
	if (p->last == ID_NONE)
		p->first = task;
	else
		links[p->last].next = task;
	p->last = task;
}

/* From a task up to the first one that was met before. One that is its own ancestor, which no kernel tells, ends the
 * line. */
static void link_up(const struct tasks *t, struct link *links, u32 root, u32 task)
{
	u32 from = task;

	while (links[task].met == ID_NONE) {
		u32 parent = t->all.v[task].parent;

		links[task].met = from;
		parent = parent == ID_NONE ? ID_NONE : map_get(&t->by_tid, parent);
		if (parent == ID_NONE || links[parent].met == from) {
			hang(links, task, root);
			return;
		}
		hang(links, task, parent);
		task = parent;
	}
}

struct task_line *tasks_tree(const struct tasks *t)
{
	u32 n = (u32)t->all.n, root = n, at = root, depth = 0, out = 0;
	struct task_line *lines = mem_alloc((n + 1) * sizeof(*lines));
	struct link *links = mem_alloc((n + 1) * sizeof(*links));
	struct place *order = mem_alloc((n + 1) * sizeof(*order));

	for (u32 i = 0; i <= n; i++)
		links[i] = (struct link){ ID_NONE, ID_NONE, ID_NONE, ID_NONE, ID_NONE };
	for (u32 i = 0; i < n; i++)
		order[i] = (struct place){ t->all.v[i].tid % TABLES, t->all.v[i].tid, i };
	qsort(order, n, sizeof(*order), by_table);
	for (u32 i = 0; i < n; i++)
		link_up(t, links, root, order[i].task);
	while (true) {
		if (at != root)
			lines[out++] = (struct task_line){ at, depth - 1 };
		if (links[at].first != ID_NONE) {
			at = links[at].first;
			depth++;
			continue;
		}
		while (at != root && links[at].next == ID_NONE) {
			at = links[at].parent;
			depth--;
		}
		if (at == root)
			break;
		at = links[at].next;
	}
	free(links);
	free(order);
	return lines;
}

/* Where mappings begin and end, in order; and those that hold at the present place, the newest on top of a heap. */
struct sweep {
	struct piece {
		u64 at;
		u32 map;
	} * starts;
	u64 *ends;
	const struct task_map **maps; /* by age, the oldest first */
	u32 n;
	u32 *heap, held; /* indices in maps */
};

static int by_start(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static int by_value(const void *va, const void *vb)
{
	const u64 *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

static void heap_push(struct sweep *s, u32 map)
{
	u32 i = s->held++;

	for (; i && s->heap[(i - 1) / 2] < map; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = map;
}

static void heap_pop(struct sweep *s)
{
	u32 last = s->heap[--s->held], i = 0;

	for (u32 kid = 1; kid < s->held; kid = 2 * i + 1) {
		if (kid + 1 < s->held && s->heap[kid + 1] > s->heap[kid])
			kid++;
		if (s->heap[kid] < last)
			break;
		s->heap[i] = s->heap[kid];
		i = kid;
	}
	s->heap[i] = last;
}

static void put_piece(const struct task_map *m, u64 from, u64 until, task_maps *out)
{
	struct task_map *last = out->n ? &out->v[out->n - 1] : NULL, piece = *m;

	if (last && last->end == from && last->name.p == m->name.p) {
		last->end = until; /* of the same record */
		return;
	}
	piece.start = from;
	piece.end = until;
	piece.pgoff += from - m->start;
	vec_push(out, piece);
}

/* From each start or end to the next one the newest mapping there is seen. */
static void sweep(struct sweep *s, task_maps *out)
{
	u32 start = 0, end = 0;

	while (end < s->n) {
		u64 at = start < s->n ? MIN(s->starts[start].at, s->ends[end]) : s->ends[end], next;

		while (start < s->n && s->starts[start].at == at)
			heap_push(s, s->starts[start++].map);
		while (end < s->n && s->ends[end] == at)
			end++;
		while (s->held && s->maps[s->heap[0]]->end <= at)
			heap_pop(s);
		if (!s->held || end == s->n)
			continue;
		next = start < s->n ? MIN(s->starts[start].at, s->ends[end]) : s->ends[end];
		put_piece(s->maps[s->heap[0]], at, next, out);
	}
}

static u32 log_seen(const struct tasks *t, u32 space, u32 n)
{
	return MIN(n, (u32)t->spaces.v[space].log.n);
}

bool tasks_maps(const struct tasks *t, u32 space, u64 *room, task_maps *out)
{
	struct sweep s = { 0 };
	u64 n = 0, steps = 0;
	u32 left;

	out->n = 0;
	for (u32 i = space, until = ID_NONE; i != ID_NONE;
	     until = t->spaces.v[i].parent_n, i = t->spaces.v[i].parent) {
		n += log_seen(t, i, until);
		steps++;
		if (n > *room || n >= ID_NONE) {
			*room -= MIN(*room, steps);
			return false;
		}
	}
	*room -= n;
	s.n = left = (u32)n;
	s.maps = mem_alloc((n + 1) * sizeof(*s.maps));
	s.starts = mem_alloc((n + 1) * sizeof(*s.starts));
	s.ends = mem_alloc((n + 1) * sizeof(*s.ends));
	s.heap = mem_alloc((n + 1) * sizeof(*s.heap));
	for (u32 i = space, until = ID_NONE; i != ID_NONE; until = t->spaces.v[i].parent_n, i = t->spaces.v[i].parent)
		for (u32 k = log_seen(t, i, until); k--;)
			s.maps[--left] = &t->spaces.v[i].log.v[k];
	for (u32 i = 0; i < s.n; i++) {
		s.starts[i] = (struct piece){ s.maps[i]->start, i };
		s.ends[i] = s.maps[i]->end;
	}
	qsort(s.starts, s.n, sizeof(*s.starts), by_start);
	qsort(s.ends, s.n, sizeof(*s.ends), by_value);
	sweep(&s, out);
	free((void *)s.maps);
	free(s.starts);
	free(s.ends);
	free(s.heap);
	return true;
}
