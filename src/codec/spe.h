/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of Arm's Statistical Profiling Extension, and the records that they make up (Arm ARM, DDI 0487, chapter
 * "Statistical Profiling Extension sample record specification").
 *
 * A packet is a header of one byte, or of two if the first is 0x20 to 0x23, and a payload. The header gives the
 * payload's size, so unknown packets can be skipped. A record consists of the packets of one sampled operation, and
 * ends with a timestamp or an end packet. Everything is little-endian, whatever machine reads it.
 */
#ifndef CODEC_SPE_H
#define CODEC_SPE_H

#include "base/bytes.h"
#include "base/types.h"

enum spe_packet_type {
	SPE_BAD, /* no packet begins here */
	SPE_PAD, /* filling, of any length */
	SPE_END,
	SPE_TIMESTAMP,
	SPE_ADDRESS,   /* index: enum spe_address */
	SPE_COUNTER,   /* index: enum spe_counter */
	SPE_CONTEXT,   /* index: 0 for EL1, 1 for EL2 */
	SPE_OPERATION, /* index: enum spe_class */
	SPE_EVENTS,    /* payload: SPE_EV_* */
	SPE_SOURCE,    /* payload: the core's own numbers (codec/spe_source.h) */
	SPE_UNKNOWN,   /* its header is reserved in the Arm ARM, but its size is known */
	SPE_NR_TYPES
};

enum spe_address { SPE_PC, SPE_TARGET, SPE_VIRTUAL, SPE_PHYSICAL, SPE_PREVIOUS_TARGET, SPE_NR_ADDRESSES };
enum spe_counter { SPE_TOTAL, SPE_ISSUE, SPE_TRANSLATION, SPE_NR_COUNTERS };
enum spe_class { SPE_OTHER, SPE_LOAD_STORE, SPE_BRANCH };

/* Bits of the events packet. From bit 8 on they depend on the implementation, except those that later versions have
 * defined. */
enum {
	SPE_EV_EXCEPTION = 1u << 0,
	SPE_EV_RETIRED = 1u << 1,
	SPE_EV_L1D_ACCESS = 1u << 2,
	SPE_EV_L1D_REFILL = 1u << 3,
	SPE_EV_TLB_ACCESS = 1u << 4,
	SPE_EV_TLB_WALK = 1u << 5,
	SPE_EV_NOT_TAKEN = 1u << 6,
	SPE_EV_MISPREDICTED = 1u << 7,
	SPE_EV_LLC_ACCESS = 1u << 8,
	SPE_EV_LLC_REFILL = 1u << 9,
	SPE_EV_REMOTE_ACCESS = 1u << 10,
};

struct spe_packet {
	u8 type;      /* enum spe_packet_type */
	u8 index;     /* says more about it, as above */
	u8 header[2]; /* header[1] is 0 where there is one */
	u16 size;     /* bytes, header included; 1 for SPE_BAD */
	u64 payload;
};

/*
 * Decodes the packet at data[at] of a buffer of len bytes; at < len. offset is the place of the buffer's first byte in
 * the AUX area, because alignment packets fill up to a multiple of the offset there. A packet that does not fit is
 * SPE_BAD, as is anything else that cannot be skipped; a caller that continues tries the next byte. Up to 16 zero
 * bytes in a row are one packet.
 */
void spe_packet_decode(const u8 *data, u64 len, u64 at, u64 aux_offset, struct spe_packet *out);
/* Appends a packet of that type. The payload has as many bytes as the type needs, and for events as few as possible.
 * Not for SPE_BAD and SPE_UNKNOWN. For SPE_PAD, payload is the number of bytes. */
void spe_packet_encode(enum spe_packet_type type, u32 index, u64 payload, struct bytes *out);
/* As perf report -D prints it: "PC 0xaaaae4a9b600 el0 ns=1". */
void spe_packet_print(const struct spe_packet *p, struct bytes *out);

/* Bits of an events packet by perf's names, with blanks between them: "RETIRED L1D-ACCESS". */
void spe_events_put(u64 events, struct bytes *out);

/* One sampled operation. Fields for which there was no packet are 0. */
struct spe_record {
	u64 has;     /* bits: SPE_HAS, SPE_HAS_ADDRESS and SPE_HAS_LATENCY */
	u64 at, end; /* offsets of its first packet, and behind its last one */
	u64 time;    /* ticks of the generic timer */
	u64 pc;	     /* an address as programs use it: without the level, and sign-extended for the kernel */
	u64 target;  /* of a branch */
	u64 previous_target;
	u64 virtual, physical;
	u64 source, events;
	u32 context; /* CONTEXTIDR: the thread's id, where the kernel writes it there */
	u16 latency[SPE_NR_COUNTERS];
	u8 operation_class, operation; /* enum spe_class, and its payload */
	u8 level;		       /* exception level of pc */
	u8 unused[3];		       /* 0: records can be compared as bytes */
};
_Static_assert(sizeof(struct spe_record) == 11 * 8 + 4 + 3 * 2 + 6, "no padding");
#define SPE_HAS(type) (1ull << (type))
#define SPE_HAS_ADDRESS(a) (1ull << (32 + (a)))
#define SPE_HAS_LATENCY(c) (1ull << (40 + (c)))

/* Addresses in packets. Programs of EL1 and EL2 run in the upper half; the top byte holds the level instead. */
#define SPE_KERNEL_HALF (0xffull << 56)
static inline u64 spe_code_address(u64 payload, u8 *level)
{
	bool not_secure = payload >> 63;

	*level = payload >> 61 & 3;
	return not_secure && (*level == 1 || *level == 2) ? payload | SPE_KERNEL_HALF : payload & ~SPE_KERNEL_HALF;
}
/* The top byte holds the pointer's tag. */
static inline u64 spe_data_address(u64 payload)
{
	return (payload >> 52 & 0xf) == 0xf ? payload | SPE_KERNEL_HALF : payload & ~SPE_KERNEL_HALF;
}
static inline u64 spe_physical_address(u64 payload)
{
	return payload & ~SPE_KERNEL_HALF;
}

static inline bool spe_is_load(const struct spe_record *r)
{
	return r->has & SPE_HAS(SPE_OPERATION) && r->operation_class == SPE_LOAD_STORE && !(r->operation & 1);
}
static inline bool spe_is_store(const struct spe_record *r)
{
	return r->has & SPE_HAS(SPE_OPERATION) && r->operation_class == SPE_LOAD_STORE && r->operation & 1;
}

#endif
