/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/cpu_modes.h"

#include <string.h>

#include "agg/profile.h"
#include "attrib/spe.h"
#include "codec/perf_abi.h"

bool cpu_modes_hold(const struct hit *h, void *held)
{
	struct mode_held *to = held;

	to->weight = h->s.period * spe_times(h);
	switch (h->cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		to->mode = MODE_KERNEL;
		return true;
	case PERF_RECORD_MISC_USER:
		to->mode = MODE_USER;
		return true;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		to->mode = MODE_GUEST_KERNEL;
		return true;
	case PERF_RECORD_MISC_GUEST_USER:
		to->mode = MODE_GUEST_USER;
		return true;
	default:
		return false;
	}
}

static struct mode_weights *weights_at(struct mode_sums *s, u32 node)
{
	size_t had = s->v.n;

	if (node >= had) {
		vec_reserve(&s->v, (size_t)node + 1);
		memset(s->v.v + had, 0, (node + 1 - had) * sizeof(*s->v.v));
		s->v.n = (size_t)node + 1;
	}
	return &s->v.v[node];
}

static bool is_empty(const struct mode_weights *w)
{
	return !(w->of[MODE_KERNEL] | w->of[MODE_USER] | w->of[MODE_GUEST_KERNEL] | w->of[MODE_GUEST_USER]);
}

static void add_all(struct mode_weights *to, const struct mode_weights *from)
{
	for (u32 i = 0; i < NR_CPU_MODES; i++)
		to->of[i] += from->of[i];
}

void cpu_modes_add(void *worker, const void *held, const struct hit_place *place, void *sums)
{
	const struct mode_held *h = held;

	(void)worker;
	weights_at(sums, place->node)->of[h->mode] += h->weight;
}

void mode_sums_merge(void *sums, void *from, const u32 *at)
{
	struct mode_sums *f = from;

	for (size_t i = 0; i < f->v.n; i++)
		if (!is_empty(&f->v.v[i]))
			add_all(weights_at(sums, at[i]), &f->v.v[i]);
	mode_sums_free(f);
}

void mode_sums_free(void *sums)
{
	struct mode_sums *s = sums;

	vec_free(&s->v);
}

void *profile_modes_new(const void *setup, u32 event, void *sums)
{
	struct profile_modes *m = mem_zalloc(sizeof(*m));

	(void)setup;
	(void)event;
	m->nodes = *(struct mode_sums *)sums;
	memset(sums, 0, sizeof(m->nodes));
	return m;
}

void profile_modes_rows(struct profile *p, struct profile_event *e)
{
	struct profile_modes *m = e->measured[MEASURE_CPU_MODES];

	m->rows = mem_zalloc((e->rows.n + 1) * sizeof(*m->rows));
	for (size_t i = 0; i < m->nodes.v.n; i++) {
		u32 row = is_empty(&m->nodes.v.v[i]) ? ID_NONE : profile_own_row(p, e, (u32)i);

		if (row != ID_NONE)
			add_all(&m->rows[row], &m->nodes.v.v[i]);
	}
	mode_sums_free(&m->nodes);
}

void profile_modes_free(void *modes)
{
	struct profile_modes *m = modes;

	mode_sums_free(&m->nodes);
	free(m->rows);
	free(m);
}
