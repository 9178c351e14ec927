/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader: the records in a buffer of SPE packets, one after the other.
 */
#ifndef CODEC_SPE_READER_H
#define CODEC_SPE_READER_H

#include "codec/spe.h"

struct spe_shapes;

/* Goes through a buffer. The caller sets the first five fields and zeroes the rest. */
struct spe_reader {
	const u8 *data;
	u64 len, aux_offset;	   /* as those of spe_packet_decode */
	struct spe_shapes *shapes; /* of records read before (codec/spe_shapes.h), also from other buffers; or NULL */
	u64 spare;		   /* bytes behind the buffer that may be read, though they are not part of it */
	u64 at;
	u64 bad_bytes; /* that are not a packet, and were skipped */
	u64 broken;    /* records with such bytes, left out */
	u64 unknown;   /* packets of reserved headers */
};
/* The next record; false at the end. Packets after the last timestamp are a record that was cut off, and are left
 * out. */
bool spe_next(struct spe_reader *r, struct spe_record *out);

#endif
