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
	vec_free(&t->published);
	set_free(&t->known);
	map_free(&t->by_tid);
	map_free(&t->by_pid);
	*t = (struct timelines){ 0 };
}

static bool same(const struct activity *a, const struct activity *b)
{
	return a->pid == b->pid && a->status == b->status && a->record.len == b->record.len &&
	       (!a->record.len || !memcmp(a->record.p, b->record.p, a->record.len));
}

static u32 number_of(struct timelines *t, const struct activity *a)
{
	u64 hash = hash_pair((u64)a->pid << 8 | a->status, hash_bytes(a->record.p, a->record.len));
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

static struct timeline *thread_of(struct timelines *t, u32 tid)
{
	u32 *at = map_at(&t->by_tid, tid, (u32)t->threads.n);

	if (*at == t->threads.n)
		vec_push(&t->threads, (struct timeline){ .sorted = true });
	return &t->threads.v[*at];
}

static void publish(struct timelines *t, u32 pid, struct str payload)
{
	u32 *at = map_at(&t->by_pid, pid, (u32)t->published.n);

	if (*at == t->published.n)
		vec_push(&t->published, payload);
	t->published.v[*at] = payload;
}

void timelines_add(struct timelines *t, u32 pid, u32 tid, u64 time, struct cursor raw)
{
	struct activity_record r;
	struct timeline *line;
	bool known;

	if (!activity_decode(raw, &r)) {
		t->broken++;
		return;
	}
	if (r.what == ACTIVITY_PROCESS) {
		publish(t, pid, r.data);
		return;
	}
	known = r.status == ACTIVITY_KNOWN || r.status == ACTIVITY_BARE;
	time = r.time ? r.time : time;
	line = thread_of(t, tid);
	line->sorted &= !line->v.n || line->v.v[line->v.n - 1].time <= time;
	vec_push(&line->v,
		 (struct timeline_entry){
			 time, number_of(t, &(struct activity){ pid, r.status, known ? r.data : (struct str){ 0 } }),
			 (u32)line->v.n });
}

static int by_time(const void *va, const void *vb)
{
	const struct timeline_entry *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void timelines_seal(struct timelines *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct timeline *line = &t->threads.v[i];

		if (!line->sorted)
			qsort(line->v.v, line->v.n, sizeof(*line->v.v), by_time);
	}
}

u32 timelines_at(const struct timelines *t, u32 tid, u64 time)
{
	u32 at = map_get(&t->by_tid, tid);
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

struct str timelines_published(const struct timelines *t, const struct activity *a)
{
	u32 at = map_get(&t->by_pid, a->pid);

	return at == ID_NONE ? (struct str){ "", 0 } : t->published.v[at];
}

static u32 find_key(const struct activity_process *p, const char *name)
{
	size_t len = strlen(name);

	for (u32 i = 0; i < p->nr_keys; i++)
		if (p->keys[i].len == len && !memcmp(p->keys[i].p, name, len))
			return i;
	return ID_NONE;
}

bool timelines_attribute(const struct timelines *t, const struct activity *a, const char *name, struct str *value)
{
	struct activity_process p;
	u32 key;

	activity_process_decode(timelines_published(t, a), &p);
	key = find_key(&p, name);
	return key != ID_NONE && activity_attribute_of(a->record, key, value);
}

bool timelines_has_attribute(const struct timelines *t, const char *name)
{
	for (size_t i = 0; i < t->published.n; i++) {
		struct activity_process p;

		activity_process_decode(t->published.v[i], &p);
		if (find_key(&p, name) != ID_NONE)
			return true;
	}
	return false;
}
