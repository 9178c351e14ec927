/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the sampler: its state, and what its two files share. sampler.c decides when a sample is taken,
 * sampler_record.c what stands in it.
 */
#ifndef VPMU_SAMPLER_H
#define VPMU_SAMPLER_H

#include "vpmu/rate.h"
#include "vpmu/vthread.h"

/* One event of a thread, or of a virtual CPU. "Value" is what the event has counted since it was enabled. */
struct sampler_event {
	u64 value;	   /* while it stands still */
	u64 base;	   /* while it counts: the thread's count less this is the value */
	u64 begun, period; /* the period that runs: the value at which it began; its length */
	struct schedule_state turn;
	struct rate rate; /* by frequency only */
	u64 lost;	  /* samples that were dropped */
	u32 taken;	  /* samples, for the event's limit */
	u64 tick;	  /* of the clock, in which */
	u32 in_tick;	  /* it took so many samples */
	bool counts, throttled, ended;
	bool waits;	 /* an overflow whose sample is still to be taken, */
	u64 wait_period; /* the period that it ended */
};

/* All that outlives the thread's leaving a virtual CPU, or an exec. No pointers: it may lie in shared memory. */
struct sampler_state {
	bool begun;	/* false: never loaded before; zeroed memory is such a state */
	bool first;	/* vthread's */
	bool enabled;	/* the delay is over */
	u64 elapsed_ns; /* the events have been enabled for so long, */
	u64 since_ns;	/* and since sampler_busy stood here */
	u64 random;	/* of skid */
	u64 seen;	/* samples, lost ones too */
	u64 lost;	/* records that no LOST record told of yet */
	u64 packets;	/* bytes of packets of SPE that were passed on */
	struct sampler_event events[VPMU_EVENTS_MAX];
};

struct sampler {
	const struct vpmu_control *control;
	struct sampler_state state;
	u32 nr_armed;
	u8 armed[VPMU_EVENTS_MAX]; /* event -> its place in the armed list; NOT_ARMED: takes no samples */
	u8 late[VPMU_EVENTS_MAX];  /* the same for the moment at which its late sample is taken */
	u64 interrupts_ns;	   /* what they have cost so far */
	u8 tick, quantum;	   /* places of the clock's tick and, with virtual CPUs, of the thread's time on one */
	struct sample_layout *layouts;
	u64 *chain; /* room for the longest chain and stack dump that an event wants */
	u32 chain_max;
	u64 *branches; /* for all branch records, and for their counters behind them */
	u8 *stack;
	u64 regs_user[64], regs_intr[64];
	struct bytes words;   /* read values that are being put together */
	struct bytes packets; /* of SPE, which were not passed on yet */
	struct bytes out;     /* the record */
};

#define NOT_ARMED 0xff

static inline u64 sampler_clock(const struct vthread *t)
{
	return t->time_base + t->counts[VC_TIME_NS];
}

/* How long the thread has run: other than its clock this does not go on while it waits for others. */
static inline u64 sampler_busy(const struct vthread *t)
{
	return t->counts[VC_TIME_NS] + t->sampler->interrupts_ns;
}

/* For how much of that the events have been enabled. */
static inline u64 sampler_elapsed(const struct vthread *t)
{
	const struct sampler_state *s = &t->sampler->state;

	return s->elapsed_ns + (s->enabled ? sampler_busy(t) - s->since_ns : 0);
}

static inline u64 sampler_value(const struct vthread *t, u32 event)
{
	const struct sampler_event *e = &t->sampler->state.events[event];

	return e->counts ? t->counts[t->sampler->control->events[event].count] - e->base : e->value;
}

/* The thread leaves its virtual CPU, or its program by exec: its events stand still and their state goes to *to. */
void sampler_save(struct vthread *t, struct sampler_state *to);
/* Without a word. */
void sampler_free(struct vthread *t);
/* It goes on from there. */
void sampler_load(struct vthread *t, const struct sampler_state *from);

/* --- sampler_record.c --- */
/* Of the event's samples. On virtual CPUs each event has an id per CPU. */
u64 sampler_id(const struct vthread *t, u32 event);
/* What the model knows of an operation's load or store, but for its latencies. */
struct vpmu_truth_operation;
void sampler_access_truth(const struct vthread *t, const struct core_at *at, bool store,
			  struct vpmu_truth_operation *out);
bool sampler_wants_registers(const struct vthread *t, u32 event);
int sampler_layouts(struct sampler *s);
void sampler_layouts_free(struct sampler *s);
/* The sample of an overflow that ended `period`. exact: at is where the overflow was. */
void sampler_put_sample(struct vthread *t, u32 event, u64 period, const struct core_at *at, bool exact);
void sampler_put_throttle(struct vthread *t, u32 event, bool on);
void sampler_put_lost(struct vthread *t, u32 event, u64 lost);
void sampler_put_lost_samples(struct vthread *t, u32 event, u64 lost);
void sampler_put_read(struct vthread *t, u32 event);
/* So many bytes are at that offset of the thread's AUX area. */
void sampler_put_aux(struct vthread *t, u32 event, u64 offset, u64 size);

/* --- sampler_spe.c --- */
/* The operation was chosen as a sample of arm_spe_0. */
void sampler_put_operation(struct vthread *t, u32 event, const struct core_at *at);
/* Passes on what is left of the packets. */
void sampler_flush_operations(struct vthread *t);

#endif
