/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm SPE's sampled operations as samples of events: of each event that an operation caused and, if it accessed
 * memory, of "memory". The events and names are the same as in the perf tool.
 */
#ifndef ATTRIB_SPE_H
#define ATTRIB_SPE_H

#include "attrib/hit.h"
#include "codec/spe_reader.h"
#include "state/aux.h"

enum spe_event {
	SPE_EVENT_L1D_MISS,
	SPE_EVENT_L1D_ACCESS,
	SPE_EVENT_LLC_MISS,
	SPE_EVENT_LLC_ACCESS,
	SPE_EVENT_TLB_MISS,
	SPE_EVENT_TLB_ACCESS,
	SPE_EVENT_BRANCH_MISS,
	SPE_EVENT_REMOTE_ACCESS,
	SPE_EVENT_MEMORY,
	SPE_EVENT_INSTRUCTIONS, /* every operation */
	SPE_NR_EVENTS
};

/* The events that are made, as bits. */
#define SPE_EVENTS_USUAL ((1u << SPE_NR_EVENTS) - 1 - (1u << SPE_EVENT_INSTRUCTIONS))
/*
 * perf's --itrace: f (L1D), m (LLC), t (TLB), b (branch misses), a (remote accesses), M (memory), i1i (every
 * operation); letters for other hardware are accepted. ERR_USAGE, noted.
 */
int spe_events_parse(const char *text, u32 *events, const struct notify *to);

/* Of which operations an event is. */
struct spe_made {
	u32 event;  /* in the evlist */
	u8 what;    /* enum spe_event; SPE_NR_EVENTS: those that a counter of the PMU counts (attrib/spe_counted.h): */
	u8 kinds;   /* of one of these kinds (SPE_KIND), */
	bool user;  /* of user space, */
	u64 events; /* with each of these events */
};
#define SPE_KIND_LOAD 1u
#define SPE_KIND_STORE 2u
#define SPE_KIND_BRANCH 4u
#define SPE_KIND_ANY 0xffu

#define SPE_COUNTED_MAX 32
struct spe {
	const struct aux *aux;
	u32 of[SPE_NR_EVENTS]; /* index in the evlist; ID_NONE: not made */
	u32 nr_made;
	struct spe_made made[SPE_NR_EVENTS + SPE_COUNTED_MAX]; /* the events that are, in order */
};
_Static_assert(SPE_NR_EVENTS + SPE_COUNTED_MAX <= 64, "a word has a bit for each (hit.together)");
/* Adds events to a sealed list, whose records they do not change. */
void spe_add_events(struct spe *s, u32 events, const struct aux *aux, struct evlist *l);

/* An operation. Of equal ones that were counted (pass/equal_operations.h) it is one, with the time of the first. */
struct spe_operation {
	const struct spe_record *record;
	u64 midr;	/* MIDR_EL1 of its core; 0: not known */
	u64 more, last; /* so many equal ones beside it, and if there are any, the time of the last one */
};
/* How many operations a hit stands for. */
static inline u64 spe_times(const struct hit *h)
{
	return h->operation ? h->operation->more + 1 : 1;
}

/* What the hit adds to the number of samples. A record of several members, and an operation that is a sample of
 * several events, is one sample, however many hits it gives; but a branch is counted as what it is. */
static inline u64 hit_samples(const struct hit *h)
{
	return h->nth && h->made != HIT_BRANCH ? 0 : spe_times(h);
}

/* The time of the operation in ns; before: the time of the previous operation, for those that have no time. */
u64 spe_time(const struct spe *s, const struct spe_record *r, u64 before);
/* The operation as a hit, except for event, e and nth. o: its record is given; midr is filled in. *time: spe_time's
 * `before`, and its result. full: becomes its whole sample; it is zeroed, or was that of another operation. Or NULL.
 */
void spe_hit(const struct spe *s, const struct aux_buffer *b, struct spe_operation *o, u64 *time, struct hit *h,
	     struct sample *full);
/* The part of it that comes after the thread was found; o: complete, h->s: cpu, pid, tid and time are there. offset:
 * of the operation in source.data. */
void spe_hit_of(const struct spe_operation *o, u64 offset, const struct sample_core *s, struct hit *h,
		struct sample *full);
/* Who ran on that CPU then, for data that do not say it themselves. */
void spe_thread(const struct spe *s, const struct aux_buffer *b, u64 time, u32 *pid, u32 *tid);
/* The operations that are samples of any event. */
struct spe_wanted spe_wanted(const struct spe *s);
/* Is the operation a sample of this event? */
bool spe_counts(const struct spe_record *r, enum spe_event event);
bool spe_made_counts(const struct spe_record *r, const struct spe_made *made);

#endif
