/* SPDX-License-Identifier: Apache-2.0 */
/* What `reticle dump` shows of one record, as text and as JSON. */
#ifndef CMD_DUMP_H
#define CMD_DUMP_H

#include "read/source.h"

struct dump_record {
	struct source_record at;
	u32 aux_kind;		   /* AUXTRACE_INFO said so far what AUXTRACE records hold; 0: nothing did */
	u64 offset;		   /* for people: in the file, or in the unpacked records */
	int err;		   /* of decoding: what follows is then empty */
	struct record r;	   /* all but samples */
	const struct event *event; /* of a sample; NULL when its id is unknown */
	bool is_sample;		   /* s holds one */
	struct sample s;
};

/* One line, and with verbose more behind it, indented, for chains, branches, registers, raw bytes. */
void dump_text(const struct source *src, const struct dump_record *d, bool verbose, struct bytes *out);
/* The packets that an AUXTRACE record of Arm SPE holds, a line each; aux_offset is where data stood in the AUX area.
 */
void dump_packets(const u8 *data, u64 len, u64 aux_offset, struct bytes *out);
/* One object on one line. */
void dump_json(const struct source *src, const struct dump_record *d, struct bytes *out);

#endif
