/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind read/source.h share. Not for others. */
#ifndef READ_SOURCE_IMPL_H
#define READ_SOURCE_IMPL_H

#include "read/source.h"

/* More events than any machine has names for, and ids (one per event and CPU or thread) than recorders open. They are
 * kept several times over, so that without a bound a file could make us take many times its size. */
#define SOURCE_MAX_EVENTS 8192u
#define SOURCE_IDS_FREE (128u << 10) /* of any file; */
#define SOURCE_BYTES_PER_ID 64	     /* larger ones have one more for each of these */

/* File mode: finds the data section, reads attrs and their ids, and the features behind the data. dir: the directory
 * that the file is a part of, or -1. */
int source_read_file(struct source *s, int dir);

/* Pipe mode: one pass over all records, applying those that describe the recording. */
int source_read_pipe(struct source *s);

/* Replaces data by a spooled copy in which the COMPRESSED records, the first at data offset `first`, are unpacked.
 * What cannot be unpacked is noted and left out with all that follows. ERR_IO when the copy cannot be written. */
int source_unpack(struct source *s, u64 first);
/* Hops to the first COMPRESSED record, if any, and unpacks from there. Only for what may have one: it touches all. */
int source_find_compressed(struct source *s);
/* Takes the HEADER_FEATURE records that the data of a file begin with; returns whether there are any. */
bool source_read_head(struct source *s);

/* In a file whose header has no formats of tracepoints, takes those of a TRACING_DATA record before the first sample:
 * so simpleperf writes them. */
void source_find_formats(struct source *s);

/* The same for a recording that is a directory: data is put together from the main file's and that of its neighbours.
 */
int source_gather(struct source *s, int dir);

/* Takes n more ids for an event. ERR_LIMIT. */
int source_add_ids(struct source *s, u32 event, const struct u64s *ids, u64 offset);
/* Adds an event that was recorded with this attr, under the name that perf gives such an attr. ERR_LIMIT. */
int source_add_event(struct source *s, const struct attr *a, u64 offset);

#endif
