/* SPDX-License-Identifier: Apache-2.0 */
/* What `reticle dump` shows of one record, as text and as JSON. */
#ifndef CMD_DUMP_H
#define CMD_DUMP_H

#include "read/source.h"

struct dump_record {
	struct source_record at;
	u32 aux_kind;		   /* what AUXTRACE records hold, from the last AUXTRACE_INFO; 0: none */
	u64 offset;		   /* as it is shown: in the file, or in the unpacked records */
	int err;		   /* why it could not be decoded, or 0; if not 0, the members below are empty */
	struct record r;	   /* any record that is not a sample */
	const struct event *event; /* of a sample; NULL when its id is unknown */
	bool is_sample;		   /* s holds one */
	struct sample s;
};

/* Prints the record on one line. With verbose, indented lines follow for its call chain, branches, registers and raw
 * bytes. */
void dump_text(const struct source *src, const struct dump_record *d, bool verbose, struct bytes *out);
/* Prints the packets of an Arm SPE AUXTRACE record, one on each line. aux_offset is the place of data in the AUX area.
 */
void dump_packets(const u8 *data, u64 len, u64 aux_offset, struct bytes *out);
/* Prints the record as one JSON object on one line. */
void dump_json(const struct source *src, const struct dump_record *d, struct bytes *out);

#endif
