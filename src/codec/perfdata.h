/* SPDX-License-Identifier: Apache-2.0 */
/* The perf.data file header and pipe header: magic, byte order, where the sections are. */
#ifndef CODEC_PERFDATA_H
#define CODEC_PERFDATA_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/err.h"

#define PERFDATA_HEADER_SIZE 104
#define PERFDATA_PIPE_HEADER_SIZE 16

struct section {
	u64 offset, size;
};

struct perfdata_header {
	bool swap;     /* the file's byte order is not this machine's */
	bool pipe;     /* pipe mode: records follow at once; the sections below are zero */
	u64 size;      /* of the header */
	u64 attr_size; /* of one entry of attrs: the attr and a struct section for its ids */
	struct section attrs, data, event_types;
	u64 features[4]; /* bitmap; feature sections stand at data.offset + data.size, in order of their ids */
};

/* file: the whole file, or at least its first 104 bytes. ERR_TRUNCATED, ERR_FORMAT (no magic: "not a perf.data file").
 */
int perfdata_header_decode(struct cursor file, struct perfdata_header *out);
void perfdata_header_encode(const struct perfdata_header *h, struct bytes *out);

#endif
