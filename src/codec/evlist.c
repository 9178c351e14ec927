/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/evlist.h"

u32 evlist_add(struct evlist *l, const struct attr *a, const char *name, const struct notify *to)
{
	u32 index = (u32)l->events.n;
	struct event e = {
		.attr = *a,
		.trailer = trailer_layout(a),
		.name = name ? mem_strdup(name) : attr_name(a),
		.leader = index,
		.silent = a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY,
		.group_members = 1,
	};
	const char *word = NULL;
	u64 bits = 0;

	if (sample_layout_init(&e.layout, a, &word, &bits)) {
		e.unsupported = true;
		(void)notify_at(to, NOTE_WARNING, ERR_UNSUPPORTED, NULL, NO_OFFSET,
				"event %s has %s bits that this version does not know (%#llx): its samples are "
				"counted but not read; a newer version of reticle may read them",
				e.name, word, (unsigned long long)bits);
	}
	vec_push(&l->events, e);
	return index;
}

void evlist_rename(struct evlist *l, u32 event, struct str name)
{
	struct event *e = &l->events.v[event];

	free(e->name);
	e->name = mem_strndup(name.p, MIN(name.len, EVENT_NAME_MAX));
}

void evlist_add_id(struct evlist *l, u32 event, u64 id)
{
	vec_push(&l->events.v[event].ids, id);
	map_set(&l->by_id, id, event);
	l->near.n = 0;
}

#define NEAR_IDS 4 /* so many numbers for each id, at most */

static void seal_ids(struct evlist *l)
{
	u64 first = UINT64_MAX, last = 0, n = 0;

	l->near.n = 0;
	for (size_t i = 0; i < l->events.n; i++)
		for (size_t k = 0; k < l->events.v[i].ids.n; k++, n++) {
			first = MIN(first, l->events.v[i].ids.v[k]);
			last = MAX(last, l->events.v[i].ids.v[k]);
		}
	if (!n || last - first >= n * NEAR_IDS)
		return;
	l->first_id = first;
	for (u64 id = first; id - first <= last - first; id++)
		vec_push(&l->near, map_get(&l->by_id, id));
}

int evlist_seal(struct evlist *l, const struct notify *to, const char *file)
{
	const struct event *first = l->events.v;
	bool agree = true, same_fields = true;

	if (!l->events.n)
		return 0;
	seal_ids(l);
	l->trailer = first->trailer;
	l->id_offset = first->layout.id_offset;
	l->id_trailer = first->layout.id_trailer;
	l->has_time = true;
	l->trailers_differ = false;
	for (size_t i = 0; i < l->events.n; i++) {
		const struct event *e = &l->events.v[i];

		if (e->layout.id_offset != l->id_offset || e->layout.id_trailer != l->id_trailer)
			agree = false;
		if (e->attr.sample_type != first->attr.sample_type)
			same_fields = false;
		if (e->trailer.fields != l->trailer.fields)
			l->trailers_differ = true;
		if (!(e->trailer.fields & PERF_SAMPLE_TIME))
			l->has_time = false;
	}
	if (!agree || (l->id_offset < 0 && !same_fields))
		return notify_at(
			to, NOTE_ERROR, ERR_FORMAT, file, NO_OFFSET,
			"its events disagree on the place of the event's id in a record: it is not known which "
			"event a record belongs to");
	if (l->id_offset < 0 && l->events.n > 1)
		notify_warn(to, "%s: several events, but no ids in the samples: all samples are counted for %s",
			    file ? file : "recording", first->name);
	return 0;
}

void evlist_free(struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++) {
		struct event *e = &l->events.v[i];

		free(e->name);
		free(e->unit);
		free(e->group_name);
		vec_free(&e->ids);
	}
	vec_free(&l->events);
	map_free(&l->by_id);
	vec_free(&l->near);
	*l = (struct evlist){ 0 };
}

u32 evlist_find(const struct evlist *l, const u8 *record, u16 size, bool is_sample, bool swap)
{
	s64 at = is_sample ? l->id_offset : l->id_trailer ? size + l->id_trailer : -1;
	u64 id;

	if (l->events.n <= 1)
		return l->events.n ? 0 : ID_NONE;
	if (at < 0) /* ids are nowhere: evlist_seal has said so */
		return 0;
	if (at < 8 || at + 8 > size)
		return ID_NONE;
	memcpy(&id, record + at, 8);
	if (!id) /* what perf made up itself, about processes that ran already */
		return 0;
	return evlist_of_id(l, swap ? __builtin_bswap64(id) : id);
}

const struct trailer_layout *evlist_trailer(const struct evlist *l, const u8 *record, u16 size, bool swap)
{
	u32 event;

	if (!l->trailers_differ)
		return &l->trailer;
	event = evlist_find(l, record, size, false, swap);
	return event == ID_NONE ? &l->trailer : &l->events.v[event].trailer;
}
