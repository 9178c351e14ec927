/* SPDX-License-Identifier: Apache-2.0 */
#include "state/timelines.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void timelines_free(struct timelines *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		vec_free(&t->threads.v[i].v);
	vec_free(&t->threads);
	vec_free(&t->all);
	vec_free(&t->noted);
	vec_free(&t->published);
	set_free(&t->known);
	set_free(&t->known_noted);
	map_free(&t->by_id);
	labels_free(&t->labels);
	arena_free(&t->made);
	*t = (struct timelines){ 0 };
}

static bool same_text(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || a.p == b.p || !memcmp(a.p, b.p, a.len));
}

static bool same(const struct activity *a, const struct activity *b)
{
	return a->pid == b->pid && a->image == b->image && a->status == b->status && a->keys == b->keys &&
	       same_text(a->record, b->record) && same_text(a->payload, b->payload);
}

static u64 hash_of(const struct activity *a)
{
	u64 of = hash_pair((u64)a->pid << 8 | a->status, a->image);

	return hash_pair(hash_pair(of, hash_bytes(a->record.p, a->record.len)),
			 hash_bytes(a->payload.p, a->payload.len));
}

/* As its thread said it, without what its process publishes. */
static u32 note(struct timelines *t, const struct activity *a)
{
	u64 hash = hash_of(a);
	u32 id, at;

	SET_FIND(id, &t->known_noted, hash, at, same(&t->noted.v[id], a));
	if (id != ID_NONE)
		return id;
	id = (u32)t->noted.n;
	vec_push(&t->noted, *a);
	if (a->keys)
		t->noted.v[id].record.p = arena_copy(&t->made, a->record.p, a->record.len);
	set_add(&t->known_noted, hash, id);
	return id;
}

static u32 note_labels(struct timelines *t, u32 pid, const struct activity_record *r)
{
	struct labelled made;

	labels_take(&t->labels, pid, r, &made);
	return note(t, &(struct activity){ .pid = pid,
					   .image = r->image,
					   .status = made.whole ? r->status : ACTIVITY_BARE,
					   .record = { (const char *)made.record, made.size },
					   .keys = made.keys });
}

static u32 number_of(struct timelines *t, const struct activity *a)
{
	u64 hash = hash_of(a);
	u32 id, at;

	SET_FIND(id, &t->known, hash, at, same(&t->all.v[id], a));
	if (id != ID_NONE)
		return id;
	if (!t->all.n)
		vec_push(&t->all, (struct activity){ 0 }); /* TIMELINE_UNKNOWN */
	id = (u32)t->all.n;
	vec_push(&t->all, *a);
	set_add(&t->known, hash, id);
	return id;
}

static u64 id_of(u32 pid, u32 tid)
{
	return (u64)pid << 32 | tid;
}

static struct timeline *thread_of(struct timelines *t, u32 pid, u32 tid)
{
	u32 *at = map_at(&t->by_id, id_of(pid, tid), (u32)t->threads.n);

	if (*at == t->threads.n)
		vec_push(&t->threads, (struct timeline){ .sorted = true });
	return &t->threads.v[*at];
}

static void add_entry(struct timelines *t, u32 pid, u32 tid, u64 time, u32 noted)
{
	struct timeline *line = thread_of(t, pid, tid);

	line->sorted &= !line->v.n || line->v.v[line->v.n - 1].time <= time;
	vec_push(&line->v, (struct timeline_entry){ time, noted, (u32)line->v.n });
}

void timelines_begin(struct timelines *t, u32 pid, u32 tid, u64 time)
{
	add_entry(t, pid, tid, time, ID_NONE);
}

void timelines_add(struct timelines *t, u32 pid, u32 tid, u64 time, struct cursor raw)
{
	struct activity_record r;
	u64 overwritten, refused;
	bool known;

	if (!activity_decode(raw, &r)) {
		t->broken++;
		return;
	}
	time = r.time ? r.time : time;
	if (r.what == ACTIVITY_PROCESS) {
		vec_push(&t->published, (struct publication){ pid, (u32)t->published.n, r.image, time, r.data });
		return;
	}
	if (activity_lost(&r, &overwritten, &refused)) {
		t->overwritten += overwritten;
		t->refused += refused;
		return;
	}
	known = r.status == ACTIVITY_KNOWN || r.status == ACTIVITY_BARE;
	if (known && r.what == ACTIVITY_LABELS) {
		add_entry(t, pid, tid, time, note_labels(t, pid, &r));
		return;
	}
	add_entry(t, pid, tid, time,
		  note(t, &(struct activity){ .pid = pid,
					      .image = r.image,
					      .status = r.status,
					      .record = known ? r.data : (struct str){ 0 } }));
}

static int by_time(const void *va, const void *vb)
{
	const struct timeline_entry *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Those of one process in one image stand together, in the order of time. */
static int by_process(const void *va, const void *vb)
{
	const struct publication *a = va, *b = vb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_of(const struct publication *p, const struct activity *a)
{
	return p->pid == a->pid && p->image == a->image;
}

/* The last one until then; if there is none, the first one after that, because the recorder may find late where a
 * process publishes. ID_NONE: its process publishes nothing. */
static u32 publication_at(const struct timelines *t, const struct activity *a, u64 time)
{
	const struct publication key = { a->pid, UINT32_MAX, a->image, time, { 0 } };
	size_t from = 0, to = t->published.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (by_process(&t->published.v[mid], &key) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	if (from && is_of(&t->published.v[from - 1], a))
		return (u32)from - 1;
	return from < t->published.n && is_of(&t->published.v[from], a) ? (u32)from : ID_NONE;
}

/* final: of noted << 32 | publication. */
static void settle(struct timelines *t, struct timeline_entry *e, struct map *final)
{
	struct activity a;
	u32 at, *number;

	if (e->activity == ID_NONE) {
		e->activity = TIMELINE_UNKNOWN;
		return;
	}
	a = t->noted.v[e->activity];
	at = publication_at(t, &a, e->time);
	number = map_at(final, (u64)e->activity << 32 | at, TIMELINE_UNKNOWN);
	if (*number == TIMELINE_UNKNOWN) {
		if (at != ID_NONE)
			a.payload = t->published.v[at].payload;
		*number = number_of(t, &a);
	}
	e->activity = *number;
}

void timelines_seal(struct timelines *t)
{
	struct map final = { 0 };

	if (t->published.n)
		qsort(t->published.v, t->published.n, sizeof(*t->published.v), by_process);
	for (size_t i = 0; i < t->threads.n; i++) {
		struct timeline *line = &t->threads.v[i];

		if (!line->sorted)
			qsort(line->v.v, line->v.n, sizeof(*line->v.v), by_time);
		for (size_t k = 0; k < line->v.n; k++)
			settle(t, &line->v.v[k], &final);
	}
	map_free(&final);
	vec_free(&t->noted);
	set_free(&t->known_noted);
}

u32 timelines_at(const struct timelines *t, u32 pid, u32 tid, u64 time)
{
	u32 at = map_get(&t->by_id, id_of(pid, tid));
	const struct timeline *line = at == ID_NONE ? NULL : &t->threads.v[at];
	size_t from = 0, to = line ? line->v.n : 0;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (line->v.v[mid].time <= time)
			from = mid + 1;
		else
			to = mid;
	}
	return from ? line->v.v[from - 1].activity : TIMELINE_UNKNOWN;
}

static u32 find_key(const struct activity_process *p, const char *name)
{
	size_t len = strlen(name);

	for (u32 i = 0; i < p->nr_keys; i++)
		if (p->keys[i].len == len && !memcmp(p->keys[i].p, name, len))
			return i;
	return ID_NONE;
}

void activity_process_of(const struct activity *a, struct activity_process *out)
{
	activity_process_decode(a->payload, out);
	if (!a->keys)
		return;
	out->nr_keys = (u32)a->keys->names.n;
	for (u32 i = 0; i < out->nr_keys; i++)
		out->keys[i] = a->keys->names.v[i];
}

bool activity_attribute_named(const struct activity *a, const char *name, struct str *value)
{
	struct activity_process p;
	u32 key;

	activity_process_of(a, &p);
	key = find_key(&p, name);
	return key != ID_NONE && activity_attribute_of(a->record, key, value);
}

bool timelines_has_attribute(const struct timelines *t, const char *name)
{
	for (size_t i = 0; i < t->published.n; i++) {
		struct activity_process p;

		activity_process_decode(t->published.v[i].payload, &p);
		if (find_key(&p, name) != ID_NONE)
			return true;
	}
	for (size_t i = 0; i < t->labels.processes.n; i++)
		for (size_t k = 0; k < t->labels.processes.v[i]->names.n; k++) {
			struct str key = t->labels.processes.v[i]->names.v[k];

			if (key.len == strlen(name) && !memcmp(key.p, name, key.len))
				return true;
		}
	return false;
}
