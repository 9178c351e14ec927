/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group reads: one sample of a leader that reads its group ({..}:S) stands for one sample of each member, whose weight
 * is what the member counted since the counter's previous sample (the first time: since it was opened), as in perf.
 *
 * Counters are identified by their id: one per event and CPU or thread (and additionally by thread if events are
 * inherited). Feed samples in file order: those of one counter come from one ring, so they are in order.
 */
#ifndef ATTRIB_GROUP_READ_H
#define ATTRIB_GROUP_READ_H

#include "base/map.h"
#include "codec/evlist.h"

struct group_read {
	struct map index; /* id -> in last */
	VEC(u64) last;
};

struct member_sample {
	u32 event;
	u64 weight;
};

/* Does any event have such samples? */
bool group_read_used(const struct evlist *l);

/* Makes the members' samples of one record; returns how many were written, at most max. Members that counted nothing
 * have none. */
u32 group_read_explode(struct group_read *g, const struct evlist *l, const struct sample *s, struct member_sample *out,
		       u32 max);
void group_read_free(struct group_read *g);

#endif
