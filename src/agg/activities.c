/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/activities.h"

#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "agg/trace_keys.h"
#include "base/hash.h"

static u32 text_of(const struct profile *p, const struct row *r)
{
	return (u32)profile_row_key(p, r, SORT_FIELD);
}

/* In a table of texts, as they differ from run to run. */
static int heavier(const void *va, const void *vb, void *ctx)
{
	const struct activity_sum *a = va, *b = vb;
	const struct trace_texts *texts = ctx;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return strcmp(trace_texts_get(texts, a->text), trace_texts_get(texts, b->text));
}

void activities_sum(const struct profile *p, const struct profile_event *e, struct activity_sums *out)
{
	struct map at = { 0 };

	*out = (struct activity_sums){ 0 };
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		u32 *known = map_at(&at, text_of(p, r), (u32)out->v.n);
		struct activity_sum *s;

		if (*known == out->v.n)
			vec_push(&out->v, (struct activity_sum){ .text = text_of(p, r) });
		s = &out->v.v[*known];
		s->self += r->self;
		s->samples += r->samples;
		if (s->nr_top == ACTIVITY_TOP)
			continue;
		s->top[s->nr_top].frame = r->frame;
		s->top[s->nr_top++].self = r->self;
	}
	map_free(&at);
	if (out->v.n)
		qsort_r(out->v.v, out->v.n, sizeof(*out->v.v), heavier, p->texts);
}

void activities_free(struct activity_sums *s)
{
	vec_free(&s->v);
}

/* Of names, as numbers of texts and frames differ from run to run. */
static u64 seed_of(const struct profile *p, const struct row *r)
{
	const char *text = trace_texts_get(p->texts, text_of(p, r));
	char made_up[PROFILE_MADE_UP];
	const char *name = profile_frame_name(p, r->frame, made_up, sizeof(made_up));

	return hash_stable(text, strlen(text)) ^ hash_finish(hash_stable(name, strlen(name)));
}

void activities_compare(const struct profile *p, const struct profile_event *e, double share,
			struct activity_causes *out)
{
	struct map activity = { 0 }, function = { 0 };
	VEC(struct activity_part) parts = { 0 };
	VEC(u32) frames = { 0 };
	u32 activities = 0;

	for (size_t i = 0; i < e->rows.n; i++) {
		const struct row *r = &e->rows.v[i];
		struct activity_part part = { .weight = r->self, .samples = r->samples };

		if (!strcmp(trace_texts_get(p->texts, text_of(p, r)), ACTIVITY_NOTHING))
			continue;
		part.activity = *map_at(&activity, text_of(p, r), activities);
		activities += part.activity == activities;
		part.function = *map_at(&function, r->frame, (u32)frames.n);
		if (part.function == frames.n)
			vec_push(&frames, r->frame);
		part.seed = seed_of(p, r);
		vec_push(&parts, part);
	}
	activity_causes_find(parts.v, parts.n, activities, (u32)frames.n, share, out);
	for (size_t i = 0; i < out->v.n; i++)
		out->v.v[i].function = frames.v[out->v.v[i].function];
	vec_free(&parts);
	vec_free(&frames);
	map_free(&activity);
	map_free(&function);
}
