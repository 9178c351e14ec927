/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PERF_RECORD_SAMPLE <-> struct sample.
 *
 * The layout of a sample follows from its event's attr alone (sample_type, read_format, branch_sample_type, register
 * masks). A bit that this version does not know would shift all fields after it, so such an event is refused as a
 * whole (sample_layout_init) and never misread.
 */
#ifndef CODEC_SAMPLE_H
#define CODEC_SAMPLE_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "codec/attr.h"

struct sample_layout {
	u64 sample_type, read_format, branch_sample_type;
	u32 nr_regs_user, nr_regs_intr; /* set bits of the masks */
	bool tls_defers;		/* samples have a cookie behind the thread's memory */
	u64 regs_user_mask, regs_intr_mask;
	s32 id_offset;	/* byte offset, from the record's start, of ID or IDENTIFIER; -1: none */
	s32 id_trailer; /* the same from the record's end in a trailer (negative); 0: none */
	/* Offsets of the fields with fixed places, from the record's start; 0: not in the sample. */
	u16 at_ip, at_tid, at_time, at_cpu, at_period;
	u16 fixed_end;	 /* after the last of them: the read values, or the chain, or the next field */
	u16 read_head;	 /* u64 words of read values before the members: [nr] [enabled] [running] of a group, else 0 */
	u16 read_stride; /* u64 words per member */
	u16 at_first_id; /* offset of the first member's id; 0: it has none */
};

/* ERR_UNSUPPORTED with the unknown bits in *unknown_bits (and in which word: "sample_type", ...); both may be NULL. */
int sample_layout_init(struct sample_layout *l, const struct attr *a, const char **word, u64 *unknown_bits);

struct read_values {
	u64 time_enabled, time_running; /* 0 when not asked for */
	u32 nr;				/* 1 unless PERF_FORMAT_GROUP */
	u32 stride;			/* u64 per member */
	/* nr * stride words. In a group: value [id] [lost]; alone: value [enabled] [running] [id] [lost]. */
	struct u64s raw;
	bool has_id, has_lost;
	u8 id_at; /* word of a member that holds its id; lost follows it */
};

static inline u64 read_value(const struct read_values *r, u32 i)
{
	return u64s_at(&r->raw, i * r->stride);
}
static inline u64 read_id(const struct read_values *r, u32 i)
{
	return r->has_id ? u64s_at(&r->raw, i * r->stride + r->id_at) : 0;
}
static inline u64 read_lost(const struct read_values *r, u32 i)
{
	return r->has_lost ? u64s_at(&r->raw, i * r->stride + r->id_at + r->has_id) : 0;
}

struct branch_entry {
	u64 from, to, flags; /* flags: the kernel's bit-field in this machine's order */
};

/* Since the branch before it; 0: the CPU does not tell. */
static inline u32 branch_cycles(u64 flags)
{
	return flags >> 4 & 0xffff;
}

struct sample {
	u64 has; /* sample_type of its event */
	u16 misc;
	u32 pid, tid, cpu;
	u64 ip, time, addr, id, stream_id, period;
	struct read_values read;
	struct u64s chain; /* with PERF_CONTEXT_* marks, innermost first */
	const u8 *raw;
	u32 raw_size;
	struct cursor raw_cursor;
	u32 nr_branches;
	bool has_hw_idx;
	u64 hw_idx;
	struct u64s branches;	     /* nr_branches x {from, to, flags}, newest first */
	struct u64s branch_counters; /* nr_branches, or empty */
	u64 regs_user_abi;
	struct u64s regs_user;
	const u8 *stack_user;
	u64 stack_user_size;
	u64 stack_user_dyn_size;
	u64 weight;
	u16 var2_w, var3_w; /* WEIGHT, or WEIGHT_STRUCT's parts (weight = var1_dw) */
	u64 data_src, transaction;
	u64 regs_intr_abi;
	struct u64s regs_intr;
	u64 phys_addr, cgroup, data_page_size, code_page_size;
	const u8 *tls_user; /* see sample_tls() */
	u64 tls_user_size;
	u64 tls_user_dyn_size;
	u64 tls_cookie; /* of the TLS_USER record that has what could not be read at once; 0: none */
	const u8 *aux;
	u64 aux_size;
};

/* p: the whole record, header included. Fields that are not in the sample are 0. ERR_TRUNCATED, ERR_FORMAT. */
int sample_decode_bytes(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample *out);
/* This is inline because a cursor that is passed on is in memory, and is read in wider words than it was written in,
 * for which the processor has to wait. */
static inline int sample_decode(const struct sample_layout *l, struct cursor c, struct sample *out)
{
	return sample_decode_bytes(l, c.p, cursor_left(&c), c.swap, out);
}

/* The read values at c; also those of a READ record. Sets c->bad on failure. */
void read_values_decode(const struct sample_layout *l, struct cursor *c, struct read_values *out);

/* Identifies the counters that a sample reads: the id of the first one, and the thread (0: not in the sample). False:
 * it reads none that has an id. The rest is not decoded. */
static inline bool sample_first_member(const struct sample_layout *l, struct cursor c, u64 *id, u32 *tid)
{
	struct cursor nr = c, thread = c;

	cursor_skip(&nr, l->fixed_end);
	if (!l->at_first_id || (l->read_head && !cursor_u64(&nr)))
		return false;
	cursor_skip(&c, l->at_first_id);
	*id = cursor_u64(&c);
	*tid = 0;
	if (l->at_tid) {
		cursor_skip(&thread, l->at_tid + 4u);
		*tid = cursor_u32(&thread);
	}
	return !c.bad;
}

/* The kernel's bit-field of a branch as a machine of the other byte order wrote it, in this machine's order. */
u64 branch_flags_turn(u64 v);

static inline struct branch_entry sample_branch(const struct sample *s, u32 i)
{
	const struct u64s entry = { s->branches.p + (size_t)i * sizeof(struct branch_entry), 3, s->branches.swap };
	u64 flags = u64s_at(&entry, 2);

	return (struct branch_entry){ u64s_at(&entry, 0), u64s_at(&entry, 1),
				      entry.swap ? branch_flags_turn(flags) : flags };
}

/*
 * The thread's memory at the place that the event names (attr.sample_tls_*): *n bytes, in the order of its memory, and
 * unaligned. *n is 0 if nothing could be read, or if the event names no place.
 */
static inline const u8 *sample_tls(const struct sample *s, u32 *n)
{
	*n = (u32)MIN(s->tls_user_dyn_size, s->tls_user_size);
	return s->tls_user;
}

/* Appends the record, header included. Arrays must be in this machine's order. ERR_LIMIT over 65535 bytes. */
int sample_encode(const struct sample_layout *l, const struct sample *s, struct bytes *out);

/*
 * Appends the record p with another call chain, and without the registers and the copy of the stack of user space:
 * what the recording of an event without PERF_SAMPLE_REGS_USER and _STACK_USER has. Where the chain is too long for a
 * record, its outermost words are left out. In this machine's byte order. ERR_TRUNCATED: nothing is appended.
 */
int sample_put_unwound(const struct sample_layout *l, const u8 *p, u64 size, const u64 *words, u32 n,
		       struct bytes *out);

/*
 * The few fields that the fast paths need, without decoding the rest. sample_type says which are present; others stay
 * 0. After the chain there is nothing that fast paths need.
 */
struct sample_core {
	u64 ip, time, period;
	u32 pid, tid, cpu;
	struct u64s chain;
};
/* p: the whole record. */
int sample_core_decode_bytes(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample_core *out);
static inline int sample_core_decode(const struct sample_layout *l, struct cursor c, struct sample_core *out)
{
	return sample_core_decode_bytes(l, c.p, cursor_left(&c), c.swap, out);
}

/* The core of a decoded sample: what sample_core_decode makes of its record. */
static inline struct sample_core sample_core_of(const struct sample *s)
{
	return (struct sample_core){ s->ip, s->time, s->period, s->pid, s->tid, s->cpu, s->chain };
}

#endif
