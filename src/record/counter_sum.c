/* SPDX-License-Identifier: Apache-2.0 */
#include "record/counter_sum.h"

struct count_key count_key_of(enum count_by by, const struct count_cell *cell, const struct cpu_place *place)
{
	static const struct cpu_place nowhere;
	struct count_key k = { -1, -1, -1, -1, -1, -1, -1 };

	place = place ? place : &nowhere;
	switch (by) {
	case COUNT_BY_ALL:
		break;
	case COUNT_BY_CPU:
		k.cpu = cell->cpu;
		break;
	case COUNT_BY_CORE:
		k.core = place->core;
		k.die = place->die;
		k.socket = place->socket;
		break;
	case COUNT_BY_DIE:
		k.die = place->die;
		k.socket = place->socket;
		break;
	case COUNT_BY_SOCKET:
		k.socket = place->socket;
		break;
	case COUNT_BY_NODE:
		k.node = place->node;
		break;
	case COUNT_BY_THREAD:
		k.pid = cell->pid;
		k.tid = cell->tid;
		break;
	}
	return k;
}

int count_key_cmp(const struct count_key *a, const struct count_key *b)
{
	const s32 x[] = { a->socket, a->die, a->core, a->node, a->cpu, a->pid, a->tid };
	const s32 y[] = { b->socket, b->die, b->core, b->node, b->cpu, b->pid, b->tid };

	for (u32 i = 0; i < ARRAY_LEN(x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

u64 count_scaled(const struct count_reading *r)
{
	if (!r->running_ns || r->running_ns >= r->enabled_ns)
		return r->value;
	return (u64)((double)r->value * ((double)r->enabled_ns / (double)r->running_ns) + 0.5);
}

static void take(struct count_sum *sum, const struct count_cell *c, bool interval)
{
	struct count_reading from = { 0 };

	if (interval)
		from = c->base;
	sum->cells++;
	sum->all.value += c->now.value - from.value;
	sum->all.enabled_ns += c->now.enabled_ns - from.enabled_ns;
	sum->all.running_ns += c->now.running_ns - from.running_ns;
}

/* Of the sum, not of each cell: one whose task had no counter at all is made up for by the others, as in perf. */
static void conclude(struct count_sum *sum)
{
	sum->value = count_scaled(&sum->all);
	sum->counted = sum->all.running_ns > 0;
}

void count_add(struct count_sum *sum, const struct counted *e, enum count_by by, const struct count_key *key,
	       const struct cpu_place *places, bool interval)
{
	*sum = (struct count_sum){ 0 };
	for (size_t i = 0; i < e->cells.n; i++) {
		const struct count_cell *c = &e->cells.v[i];
		struct count_key k = count_key_of(by, c, c->cpu >= 0 ? &places[c->cpu] : NULL);

		if (!count_key_cmp(&k, key))
			take(sum, c, interval);
	}
	conclude(sum);
}

void count_add_all(struct count_sum *sum, const struct counted *e, bool interval)
{
	*sum = (struct count_sum){ 0 };
	for (size_t i = 0; i < e->cells.n; i++)
		take(sum, &e->cells.v[i], interval);
	conclude(sum);
}
