/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader: the records in a buffer of SPE packets, one after the other.
 */
#ifndef CODEC_SPE_READER_H
#define CODEC_SPE_READER_H

#include "codec/spe.h"

struct spe_shapes;

/* Which records are looked for. */
struct spe_wanted {
	u64 events;    /* those that have one of these events, */
	bool accesses; /* that load or store, */
	bool all;      /* or each one */
};

/* Goes through a buffer. The caller sets the first six fields and zeroes the rest. */
struct spe_reader {
	const u8 *data;
	u64 len, aux_offset;	   /* as those of spe_packet_decode */
	struct spe_shapes *shapes; /* of records read before (codec/spe_shapes.h), also from other buffers; or NULL */
	u64 spare;		   /* bytes behind the buffer that may be read, though they are not part of it */
	/* Other records are passed over where they are of a known shape; NULL: none is. */
	const struct spe_wanted *wanted;
	u64 passed;	/* so many records */
	bool has_ticks; /* one of those that were passed over since the record before had a time: */
	u64 ticks;	/* the last one */
	u64 at;
	u64 bad_bytes; /* that are not a packet, and were skipped */
	u64 broken;    /* records with such bytes, left out */
	u64 unknown;   /* packets of reserved headers */
};
/* The next record; false at the end. Packets after the last timestamp are a record that was cut off, and are left
 * out. */
bool spe_next(struct spe_reader *r, struct spe_record *out);

#endif
