/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle report --tasks` and `--mmaps`: who there was in a recording, and what was mapped. */
#include "cmd/report_records.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/sort.h"
#include "state/tasks.h"

#define MAX_INDENT 256 /* of real trees none is deeper */

/*
 * A record of 32 bytes makes a task, which may show all that its ancestors have mapped: what is written of mappings is
 * bounded. Of a machine with thousands of threads, which show the same each, it may be one for each two or three
 * bytes.
 */
#define MAPS_ROOM (256u << 10) /* mappings, and one more for each byte of the recording */
#define LINE_COST 128	       /* bytes of output that cost as much as a mapping */
#define LINE_SIZE 64	       /* of a line without its name, about */
#define MAX_NAME 256	       /* bytes of a thread's name, which children inherit; the kernel's have 15 */

typedef unsigned long long ull;

struct ref {
	u64 time, offset;
};

struct writer {
	const struct source *src;
	struct tasks tasks;
	bool maps, json;
	struct bytes *out;
	u64 room;	/* for mappings */
	u64 left_out;	/* tasks whose mappings found none */
	task_maps seen; /* of the space that was looked at last */
};

static bool speaks_of_tasks(u32 type, bool maps)
{
	return type == PERF_RECORD_COMM || type == PERF_RECORD_FORK ||
	       (maps && (type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2));
}

static int by_time(const void *va, const void *vb, void *ctx)
{
	const struct ref *a = va, *b = vb;

	(void)ctx;
	return a->time < b->time ? -1 : a->time > b->time;
}

static bool decode(const struct source *src, const struct source_record *at, struct record *r)
{
	const struct trailer_layout *trailer = evlist_trailer(&src->events, at->p, at->h.size, src->swap);

	return !record_decode(cursor_over(at->p, at->h.size, src->swap), at->offset, trailer, r);
}

/* In order of time; where a recording has none, and among equal times, in the file's. */
static void read_tasks(struct writer *w)
{
	VEC(struct ref) refs = { 0 };
	struct source_record at;
	struct record r;
	u64 offset = 0, bad = NO_OFFSET;

	tasks_init(&w->tasks);
	while (source_next(w->src, &offset, &at, &bad))
		if (speaks_of_tasks(at.h.type, w->maps) && decode(w->src, &at, &r))
			vec_push(&refs,
				 (struct ref){ w->src->events.has_time && r.sid.time != UINT64_MAX ? r.sid.time : 0,
					       at.offset });
	report_broken_end(w->src, bad);
	sort_parallel(1, refs.v, refs.n, sizeof(*refs.v), by_time, NULL);
	for (size_t i = 0; i < refs.n; i++) {
		offset = refs.v[i].offset;
		if (source_next(w->src, &offset, &at, NULL) && decode(w->src, &at, &r))
			tasks_apply(&w->tasks, &r);
	}
	vec_free(&refs);
}

static void write_map_name(const struct writer *w, const struct task_map *m)
{
	if (m->jit != ID_NONE)
		bytes_printf(w->out, "/tmp/perf-%d.map", (s32)m->jit);
	else if (w->json)
		bytes_json(w->out, m->name.p, m->name.len);
	else
		bytes_plain(w->out, m->name.p, m->name.len);
}

static void write_map(struct writer *w, const struct task_map *m, u32 indent)
{
	struct bytes *out = w->out;
	char flags[] = { m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
			 m->prot & PROT_EXEC ? 'x' : '-', m->shared ? 's' : 'p', 0 };

	if (w->json) {
		bytes_printf(out,
			     "{\"start\":%llu,\"end\":%llu,\"flags\":\"%s\",\"pgoff\":%llu,\"ino\":%llu,\"name\":\"",
			     (ull)m->start, (ull)m->end, flags, (ull)m->pgoff, (ull)m->ino);
		write_map_name(w, m);
		bytes_str(out, "\"}");
		return;
	}
	bytes_repeat(out, ' ', (int)indent);
	bytes_printf(out, "  %llx-%llx %s %08llx %llu ", (ull)m->start, (ull)m->end, flags, (ull)m->pgoff,
		     (ull)m->ino);
	write_map_name(w, m);
	bytes_char(out, '\n');
}

/* Room for the lines, as far as the mappings' own does not cover them. */
static bool has_room(struct writer *w, u64 paid, u32 indent)
{
	u64 cost = 0;

	for (size_t i = 0; i < w->seen.n; i++)
		cost += LINE_SIZE + indent + w->seen.v[i].name.len;
	cost = cost / LINE_COST;
	cost -= MIN(cost, paid);
	if (cost > w->room)
		return false;
	w->room -= cost;
	return true;
}

static void write_maps(struct writer *w, const struct task *t, u32 indent)
{
	u64 room = w->room;

	if (!tasks_maps(&w->tasks, t->space, &w->room, &w->seen) || !has_room(w, room - w->room, indent)) {
		w->left_out++;
		return;
	}
	for (size_t i = 0; i < w->seen.n; i++) {
		if (w->json && i)
			bytes_char(w->out, ',');
		write_map(w, &w->seen.v[i], indent);
	}
}

static void write_name(const struct writer *w, const struct task *t)
{
	u32 len = MIN(t->comm.len, MAX_NAME);

	if (!t->comm.p)
		bytes_printf(w->out, ":%d", (s32)t->tid);
	else if (w->json)
		bytes_json(w->out, t->comm.p, len);
	else
		bytes_plain(w->out, t->comm.p, len);
}

static void write_task(struct writer *w, const struct task_line *line, bool first)
{
	const struct task *t = &w->tasks.all.v[line->task];
	u32 depth = MIN(line->depth, MAX_INDENT);

	if (w->json) {
		bytes_printf(w->out, "%s{\"pid\":%d,\"tid\":%d,\"ppid\":%d,\"comm\":\"", first ? "[" : ",\n",
			     (s32)t->pid, (s32)t->tid, (s32)t->parent);
		write_name(w, t);
		bytes_char(w->out, '"');
		if (w->maps) {
			bytes_str(w->out, ",\"maps\":[");
			write_maps(w, t, 0);
			bytes_char(w->out, ']');
		}
		bytes_char(w->out, '}');
		return;
	}
	bytes_printf(w->out, "  %8d %8d %8d |", (s32)t->pid, (s32)t->tid, (s32)t->parent);
	bytes_repeat(w->out, ' ', (int)depth);
	write_name(w, t);
	bytes_char(w->out, '\n');
	if (w->maps)
		write_maps(w, t, 30 + depth);
}

void report_tasks(const struct source *src, bool maps, bool json, struct bytes *out)
{
	struct writer w = { .src = src, .maps = maps, .json = json, .out = out, .room = MAPS_ROOM + src->size };
	struct task_line *lines;

	read_tasks(&w);
	lines = tasks_tree(&w.tasks);
	if (!json)
		bytes_printf(out, "# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	for (u32 i = 0; i < w.tasks.all.n; i++)
		write_task(&w, &lines[i], !i);
	if (json)
		bytes_str(out, "]\n");
	if (w.left_out)
		(void)notify_at(src->notify, NOTE_WARNING, ERR_LIMIT, src->path, NO_OFFSET,
				"it is told of more mappings than can be shown: those of %llu tasks are left out",
				(ull)w.left_out);
	free(lines);
	vec_free(&w.seen);
	tasks_free(&w.tasks);
}
