/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the side-band says of AUX data: which kind they are, where they lie, what their clock is, and which thread ran
 * on a CPU when. Filled in the file's order, then sealed; read by any thread from then on.
 */
#ifndef STATE_AUX_H
#define STATE_AUX_H

#include "base/map.h"
#include "base/vec.h"
#include "codec/record.h"

struct aux_buffer {
	u64 at, size;	/* of its bytes, in source.data */
	u64 aux_offset; /* where they stood in the AUX area */
	u64 clock;	/* of the AUX record of its CPU or thread before it: for data without a clock of their own */
	u32 cpu, tid;	/* (u32)-1: of any */
};

/* From then on this thread ran on the CPU. */
struct aux_switch {
	u64 time;
	u32 cpu, pid, tid;
	u32 order; /* in the file */
};

struct aux {
	u32 kind;	    /* enum auxtrace_kind; 0: the recording has none */
	u32 pmu_type;	    /* attr.type of the events that fill them; */
	VEC(u32) pmu_types; /* those of single CPUs, where they are named */
	bool has_conversion;
	struct rec_time_conv conversion;
	VEC(struct aux_buffer) buffers;	 /* by place */
	VEC(struct aux_switch) switches; /* by CPU and time once sealed */
	VEC(u64) midr;	      /* of CPUs, by number; 0: not said. All have the last one's when there are fewer */
	struct map processes; /* tid -> pid */
	u64 clock;	      /* of the last AUX record; */
	VEC(u64) clocks;      /* and of that of each place */
	struct map places;    /* CPU or thread -> index in clocks */
	u64 bytes;
};

/* at: where the record's payload lies, when it has one. AUXTRACE_INFO stands before what it makes matter. */
void aux_note(struct aux *a, const struct record *r, u64 at, u64 size);
/* Everything was noted. cpuid: of the recording's header, which has the MIDR where AUXTRACE_INFO does not; or NULL. */
void aux_seal(struct aux *a, const char *cpuid);
void aux_free(struct aux *a);
/* Bytes that it takes. */
u64 aux_memory(const struct aux *a);

/* The buffer that holds that place of source.data; NULL. */
const struct aux_buffer *aux_buffer_at(const struct aux *a, u64 offset);
/* The same, but a->buffers[*next] is tried first. *next becomes the number of the buffer behind the one found, or 0.
 */
static inline const struct aux_buffer *aux_buffer_next(const struct aux *a, u64 offset, u32 *next)
{
	const struct aux_buffer *b =
		*next < a->buffers.n && a->buffers.v[*next].at == offset && a->buffers.v[*next].size ?
			&a->buffers.v[*next] :
			aux_buffer_at(a, offset);

	*next = b ? (u32)(b - a->buffers.v) + 1 : 0;
	return b;
}
/* Nanoseconds of the recording's clock; 0 when it does not say how they follow. */
u64 aux_time(const struct aux *a, u64 ticks);
/* Who ran on that CPU then; false: nobody knows. */
bool aux_thread(const struct aux *a, u32 cpu, u64 time, u32 *pid, u32 *tid);
/* The process of a thread; its own number when no record named it. */
u32 aux_process(const struct aux *a, u32 tid);
u64 aux_midr(const struct aux *a, u32 cpu);

#endif
