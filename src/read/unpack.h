/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking: plain and COMPRESSED records in, one spooled run of plain records out. Not for others than io/source*.c.
 */
#ifndef READ_UNPACK_H
#define READ_UNPACK_H

#include "read/source.h"

struct unpack;

/* ERR_IO when there is no place for the spool. */
int unpack_begin(struct unpack **out, struct source *s);
/*
 * Adds the records in in->data, of which the first `plain` bytes are known not to be compressed. They are one zstd
 * stream of their own. in says where they come from, for messages. What cannot be read is noted, counted in the
 * source's left_out, and left out with all that follows it in this piece. ERR_IO when the spool cannot be written.
 */
int unpack_add(struct unpack *u, const struct source *in, u64 plain);
/* Maps what came together as the source's data. Frees u, also on failure. */
int unpack_end(struct unpack *u);
void unpack_free(struct unpack *u);

#endif
