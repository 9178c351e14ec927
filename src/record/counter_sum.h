/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the cells of an event, by place. */
#ifndef RECORD_COUNTER_SUM_H
#define RECORD_COUNTER_SUM_H

#include "record/counter.h"
#include "sys/topology.h"

enum count_by {
	COUNT_BY_ALL,
	COUNT_BY_CPU,
	COUNT_BY_CORE,
	COUNT_BY_DIE,
	COUNT_BY_SOCKET,
	COUNT_BY_NODE,
	COUNT_BY_THREAD
};

/* The common place of the cells of one sum; members that count_by does not use are -1. */
struct count_key {
	s32 socket, die, core, node, cpu, pid, tid;
};

struct count_sum {
	u32 cells;		  /* how many there are */
	struct count_reading all; /* as the kernel counted */
	u64 value;		  /* scaled up by enabled / running */
	bool counted;		  /* it ran at all */
};

struct count_key count_key_of(enum count_by by, const struct count_cell *cell, const struct cpu_place *place);
int count_key_cmp(const struct count_key *a, const struct count_key *b);
/* The value scaled up to the whole time. */
u64 count_scaled(const struct count_reading *r);
/* Sums the cells with this key: since the interval began, or from the start. places: by the number of the CPU. */
void count_add(struct count_sum *sum, const struct counted *e, enum count_by by, const struct count_key *key,
	       const struct cpu_place *places, bool interval);
void count_add_all(struct count_sum *sum, const struct counted *e, bool interval);

#endif
