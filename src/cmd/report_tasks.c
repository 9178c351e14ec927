/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle report --tasks` and `--mmaps`: the threads in a recording, and their mappings. */
#include "cmd/report_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/json.h"
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

#define NAME_ROOM 32 /* for a name that is made up */

typedef unsigned long long ull;

struct ref {
	u64 time, offset;
};

struct writer {
	const struct source *src;
	struct tasks tasks;
	bool maps, as_json;
	struct json json; /* of text, only where it goes to */
	u64 room;	  /* for mappings */
	u64 left_out;	  /* tasks whose mappings found none */
	task_maps seen;	  /* of the space that was looked at last */
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

static struct str map_name(const struct task_map *m, char room[NAME_ROOM])
{
	if (m->jit == ID_NONE)
		return m->name;
	return (struct str){ room, (u32)snprintf(room, NAME_ROOM, "/tmp/perf-%d.map", (s32)m->jit) };
}

static void write_map(struct writer *w, const struct task_map *m, u32 indent)
{
	char flags[] = { m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
			 m->prot & PROT_EXEC ? 'x' : '-', m->shared ? 's' : 'p', 0 };
	char room[NAME_ROOM];
	struct str name = map_name(m, room);
	struct bytes *out = w->json.out;

	if (w->as_json) {
		json_object(&w->json);
		json_set_u64(&w->json, "start", m->start);
		json_set_u64(&w->json, "end", m->end);
		json_set_text(&w->json, "flags", flags);
		json_set_u64(&w->json, "pgoff", m->pgoff);
		json_set_u64(&w->json, "ino", m->ino);
		json_set_str(&w->json, "name", name.p, name.len);
		json_object_end(&w->json);
		return;
	}
	bytes_repeat(out, ' ', (int)indent);
	bytes_printf(out, "  %llx-%llx %s %08llx %llu ", (ull)m->start, (ull)m->end, flags, (ull)m->pgoff,
		     (ull)m->ino);
	bytes_plain(out, name.p, name.len);
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
	for (size_t i = 0; i < w->seen.n; i++)
		write_map(w, &w->seen.v[i], indent);
}

static struct str task_name(const struct task *t, char room[NAME_ROOM])
{
	if (t->comm.p)
		return (struct str){ t->comm.p, MIN(t->comm.len, MAX_NAME) };
	return (struct str){ room, (u32)snprintf(room, NAME_ROOM, ":%d", (s32)t->tid) };
}

static void write_task_json(struct writer *w, const struct task *t, struct str name)
{
	struct json *j = &w->json;

	json_object(j);
	json_set_s64(j, "pid", (s32)t->pid);
	json_set_s64(j, "tid", (s32)t->tid);
	json_set_s64(j, "ppid", (s32)t->parent);
	json_set_str(j, "comm", name.p, name.len);
	if (w->maps) {
		json_set_list(j, "maps");
		write_maps(w, t, 0);
		json_list_end(j);
	}
	json_object_end(j);
	json_line(j, "");
}

static void write_task(struct writer *w, const struct task_line *line)
{
	const struct task *t = &w->tasks.all.v[line->task];
	u32 depth = MIN(line->depth, MAX_INDENT);
	struct bytes *out = w->json.out;
	char room[NAME_ROOM];
	struct str name = task_name(t, room);

	if (w->as_json) {
		write_task_json(w, t, name);
		return;
	}
	bytes_printf(out, "  %8d %8d %8d |", (s32)t->pid, (s32)t->tid, (s32)t->parent);
	bytes_repeat(out, ' ', (int)depth);
	bytes_plain(out, name.p, name.len);
	bytes_char(out, '\n');
	if (w->maps)
		write_maps(w, t, 30 + depth);
}

void report_tasks(const struct source *src, bool maps, bool json, struct bytes *out)
{
	struct writer w = {
		.src = src, .maps = maps, .as_json = json, .json.out = out, .room = MAPS_ROOM + src->size
	};
	struct task_line *lines;

	read_tasks(&w);
	lines = tasks_tree(&w.tasks);
	if (json)
		json_list(&w.json);
	else
		bytes_printf(out, "# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	for (u32 i = 0; i < w.tasks.all.n; i++)
		write_task(&w, &lines[i]);
	if (json) {
		json_list_end(&w.json);
		json_end(&w.json);
	}
	if (w.left_out)
		(void)notify_at(src->notify, NOTE_WARNING, ERR_LIMIT, src->path, NO_OFFSET,
				"it has more mappings than can be shown: those of %llu tasks are left out",
				(ull)w.left_out);
	free(lines);
	vec_free(&w.seen);
	tasks_free(&w.tasks);
}
